"""Hold a run's folder for one writing process: lock it first, and restore it if the run finishes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.errors import AssayError, RunError
from assay.model import Prediction, Provenance, RunSettings
from assay.model.failure import has_no_answer
from assay.platform.safeguards import has_locks
from assay.runs.store import journal
from assay.runs.store.codec import decode_value
from assay.runs.store.folder import (
    LOCK,
    RUN_FILE,
    RUN_FILES,
    aside,
    begin_folder,
    check_folder,
    check_place,
    read_run_file,
    unwritable,
)

_RUN_FILE_LAST = RUN_FILES[::-1]
_ASIDE = tuple(map(aside, _RUN_FILE_LAST))
_TRIES = 100
"""How often to make a folder that another process removes; some file systems say for ever that it is gone."""


@contextmanager
def run_lock(folder: Path, settings: RunSettings, *, overwrite: bool = False, forget: bool = False) -> Iterator[None]:
    """Hold a folder for one run: no other process writes into it from the first question to the last file.

    ``overwrite``: the folder may contain a run with other settings. ``forget`` sets an earlier run aside, and
    drops it once something of this one is finished. If the run ends by an exception before that, the
    folder is restored: the earlier run is back, and a folder that was made for this one is removed.
    Raises RunError if the folder contains something else, or another process holds it.
    """
    check_place(folder, locked=False)
    made, descriptor, ours = _enter(folder)
    try:
        check_place(folder)
        ours = True
        _settle(folder, fresh=_has_status(folder, "running"))
        fresh = check_folder(folder, settings, overwrite=overwrite) is None and not overwrite
        if forget:
            _back_up(folder)
        try:
            yield
        except BaseException:
            if _is_held(descriptor, folder):
                _settle(folder, fresh=fresh or forget)
            raise
        with suppress(OSError):  # who comes next goes on with it
            _remove_files(folder, _ASIDE)
    finally:
        # Another process may have replaced the folder: then neither it nor its content is ours to remove.
        held = _is_held(descriptor, folder)
        if held and ours:
            with suppress(OSError):
                (folder / LOCK).unlink(missing_ok=True)
        if descriptor is not None:
            os.close(descriptor)
        if held:
            _remove(made)


def claim_folder(folder: Path, settings: RunSettings, provenance: Provenance, *, overwrite: bool = False) -> None:
    """Write into a held folder which run it is for, before a live system is asked."""
    if overwrite or check_folder(folder, settings) is None:
        begin_folder(folder, settings, provenance)


def _has_status(folder: Path, status: str) -> bool:
    """Whether the folder holds a run that is ``running``, such as one that was killed, or ``finished``."""
    try:
        return read_run_file(folder).status == status
    except (AssayError, OSError):
        return False  # none, or a damaged one, which the next reader reports


def _enter(folder: Path) -> tuple[list[Path], int | None, bool]:
    """Make the folder and lock it. Returns all folders that were made for it, the lock, and whether its file is new."""
    for _ in range(_TRIES):
        made: list[Path] = []
        try:
            made = _make(folder)
            return made, *_lock(folder)
        except BaseException as error:
            _remove(made)
            if not isinstance(error, FileNotFoundError):
                raise
            gone = error  # the process that had made the folder removed it again, with its run that came to nothing
    raise unwritable(folder, gone) from gone


def _make(folder: Path) -> list[Path]:
    """Make the folder, and return all folders that were made for it, the deepest first."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _remove(made)
        if isinstance(error, FileNotFoundError):
            raise
        raise unwritable(folder, error) from error
    return made


def _remove(made: Sequence[Path]) -> None:
    """Remove the folders that were made, if they are empty."""
    for path in made:
        with suppress(OSError):
            path.rmdir()


# run.json is the last file of a run to go aside, the first to come back and the last to be dropped. So the names show
# when a process # was killed: with run.json aside, all of the earlier run was, and what stands in its place is the
# new run's; with other files aside alone, the earlier run was on its way, and no other is there.


def _settle(folder: Path, *, fresh: bool = False) -> None:
    """Keep the new run if anything of it is finished, else bring back the earlier run that was set aside.

    ``fresh``: there was no earlier run; then a new run without anything finished is removed.
    Raises RunError if the folder cannot be written.
    """
    try:
        if not (folder / aside(RUN_FILE)).exists():
            _restore(folder)
            if fresh and not _anything_finished(folder):
                _remove_files(folder)
        elif _anything_finished(folder):
            _remove_files(folder, _ASIDE)
        else:
            _remove_files(folder, [name for name in _RUN_FILE_LAST if not (folder / aside(name)).exists()])
            _restore(folder)
    except OSError as error:
        raise unwritable(folder, error) from error


def _back_up(folder: Path) -> None:
    """Set the folder's run aside. Nothing is aside before; if it cannot be done, nothing is afterwards."""
    try:
        if not (folder / RUN_FILE).exists():
            _remove_files(folder)  # a process that was killed in its first moment left them, empty
            return
        for name in _RUN_FILE_LAST:
            with suppress(FileNotFoundError):
                os.replace(folder / name, folder / aside(name))
    except BaseException as error:
        _settle(folder)
        if isinstance(error, OSError):
            raise unwritable(folder, error) from error
        raise


def _restore(folder: Path) -> None:
    """Put the files that were set aside in the place of the present ones."""
    for name in RUN_FILES:
        with suppress(FileNotFoundError):
            os.replace(folder / aside(name), folder / name)


def _remove_files(folder: Path, names: Iterable[str] = _RUN_FILE_LAST) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)


def _anything_finished(folder: Path) -> bool:
    """Whether the folder holds a whole run, a scored case, or an answer that would not be asked for again."""

    def any_line(name: str, counts: Callable[[bytes], bool]) -> bool:
        try:
            return any(counts(line.content) for line in journal.read_lines(folder / name))
        except FileNotFoundError:
            return False
        except (OSError, RunError):
            return True  # damaged or unreadable: not ours to delete

    if _has_status(folder, "finished") or any_line(journal.NAME, bool):
        return True
    return any_line(journal.ANSWERS, _is_answer)


def _is_answer(content: bytes) -> bool:
    return not has_no_answer(decode_value(content, Prediction).failure)


def _lock(folder: Path) -> tuple[int | None, bool]:
    """Lock the folder's lock file, and say whether it is new; None if the system has no such locks.

    Raises RunError if it is held, and FileNotFoundError if the folder is gone.
    """
    if not has_locks():
        return None, False
    path = folder / LOCK
    while True:
        new = not path.exists()
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise unwritable(folder, error) from error
        journal.lock(descriptor, folder)
        # The previous holder removed the file with its lock: a lock on a removed file keeps no other process out.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor, new
        os.close(descriptor)


def _is_held(descriptor: int | None, folder: Path) -> bool:
    """Whether the folder is still the one that was locked."""
    if descriptor is None:
        return True
    try:
        return os.path.samestat(os.fstat(descriptor), (folder / LOCK).stat())
    except OSError:
        return False
