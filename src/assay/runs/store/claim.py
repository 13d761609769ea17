"""Hold a run's folder for one writing process: lock it first, and restore it where the run finishes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.errors import AssayError, RunError
from assay.model import Prediction, Provenance, RunSettings
from assay.runs.store import journal
from assay.runs.store.codec import decode_value
from assay.runs.store.folder import (
    LOCK,
    RUN_FILES,
    aside,
    begin_folder,
    check_folder,
    check_place,
    read_run_file,
    unwritable,
)


@contextmanager
def hold_folder(
    folder: Path, settings: RunSettings, *, overwrite: bool = False, forget: bool = False
) -> Iterator[None]:
    """Hold a folder for one run: no other process writes into it from the first question to the last file.

    ``overwrite``: the folder may hold a run with other settings. ``forget`` sets an earlier run aside, and
    drops it once something of this one is finished. Where the run ends by an exception before that, the
    folder is restored: the earlier run is back, and a folder that was made for this one is removed.
    Raises RunError where the folder holds something else, or another process holds it.
    """
    check_place(folder)
    made = _make(folder)
    try:
        descriptor = _lock(folder)
    except BaseException:
        _remove(made)
        raise
    try:
        _settle(folder, fresh=_is_running(folder))
        fresh = check_folder(folder, settings, overwrite=overwrite) is None and not overwrite
        if forget:
            _move(folder, back=False)
        try:
            yield
        except BaseException:
            if _is_held(descriptor, folder):
                _settle(folder, fresh=fresh or forget)
            raise
        _drop_aside(folder)
    finally:
        # Another process may have replaced the folder: then neither it nor its content is ours to remove.
        held = _is_held(descriptor, folder)
        _unlock(descriptor, folder if held else None)
        if held:
            _remove(made)


def claim_folder(folder: Path, settings: RunSettings, provenance: Provenance, *, overwrite: bool = False) -> None:
    """Write into a held folder which run it is for, before a live system is asked."""
    if overwrite or check_folder(folder, settings) is None:
        begin_folder(folder, settings, provenance)


def _is_running(folder: Path) -> bool:
    """Whether the folder holds an unfinished run, such as one that was killed."""
    try:
        return read_run_file(folder).status == "running"
    except AssayError:
        return False  # none, or a damaged one, which the next reader reports


def _make(folder: Path) -> list[Path]:
    """Make the folder, and return all folders that were made for it, the deepest first."""
    made = []
    for path in (folder, *folder.parents):
        if path.exists():
            break
        made.append(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _remove(made)
        raise unwritable(folder, error) from error
    return made


def _remove(made: Sequence[Path]) -> None:
    """Remove the folders that were made, if they are empty."""
    for path in made:
        with suppress(OSError):
            path.rmdir()


def _settle(folder: Path, *, fresh: bool = False) -> None:
    """Keep the new run if anything of it is finished, else bring back the earlier run that was set aside.

    ``fresh``: there was no earlier run; then a new run without anything finished is removed.
    """
    if _anything_finished(folder):
        _drop_aside(folder)
    elif any((folder / aside(name)).exists() for name in RUN_FILES):
        _move(folder, back=True)
    elif fresh:
        for name in RUN_FILES:
            with suppress(OSError):
                (folder / name).unlink(missing_ok=True)


def _anything_finished(folder: Path) -> bool:
    """Whether the folder holds a judged case, or an answer that would not be asked for again."""
    try:
        if any(True for _ in journal.read_lines(folder / journal.NAME)):
            return True
    except FileNotFoundError:
        pass
    except (OSError, RunError):
        return True  # damaged or unreadable: not ours to delete
    try:
        return any(_is_answer(line.content) for line in journal.read_lines(folder / journal.ANSWERS))
    except FileNotFoundError:
        return False
    except (OSError, RunError):
        return True


def _is_answer(content: bytes) -> bool:
    failure = decode_value(content, Prediction).failure
    return failure is None or failure.kind != "ask_failed"


def _move(folder: Path, *, back: bool) -> None:
    """Set the folder's run aside, or bring back the one set aside in place of the present one."""
    for name in RUN_FILES:
        here, there = folder / name, folder / aside(name)
        try:
            if not back:
                with suppress(FileNotFoundError):
                    os.replace(here, there)
            elif there.exists():
                os.replace(there, here)
            else:
                here.unlink(missing_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from error


def _drop_aside(folder: Path) -> None:
    for name in RUN_FILES:
        with suppress(OSError):
            (folder / aside(name)).unlink(missing_ok=True)


def _lock(folder: Path) -> int | None:
    """Lock the folder's lock file; None where the system has no such locks. Raises RunError where it is held."""
    try:
        import fcntl
    except ImportError:  # Windows has no flock: there two runs in one folder are not noticed
        return None
    path = folder / LOCK
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise unwritable(folder, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise journal.written_by_another(folder) from error
        # The previous holder removed the file with its lock: a lock on a removed file keeps no other process out.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def _is_held(descriptor: int | None, folder: Path) -> bool:
    """Whether the folder is still the one that was locked."""
    if descriptor is None:
        return True
    try:
        return os.path.samestat(os.fstat(descriptor), (folder / LOCK).stat())
    except OSError:
        return False


def _unlock(descriptor: int | None, folder: Path | None) -> None:
    """Release the lock, and remove its file from ``folder``."""
    if descriptor is None:
        return
    if folder is not None:
        with suppress(OSError):
            (folder / LOCK).unlink(missing_ok=True)
    os.close(descriptor)
