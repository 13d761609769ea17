"""A run's folder while one process writes it: locked first of all, and left as it was by a run that came to nothing."""

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
    """Hold a folder for one run: no other process writes into it meanwhile, from the first question to the last file.

    ``overwrite``: the folder may hold a run with other settings. ``forget`` sets an earlier run aside, and
    drops it once something of this one is finished. Where the run ends by an exception before that, the
    folder is as it was before: the earlier run is back, and a folder that was made for this one is gone.
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
        # Where somebody put another folder in this one's place, it and what is in it are not ours to remove.
        held = _is_held(descriptor, folder)
        _unlock(descriptor, folder if held else None)
        if held:
            _remove(made)


def claim_folder(folder: Path, settings: RunSettings, provenance: Provenance, *, overwrite: bool = False) -> None:
    """Say in a folder that is held what run it is for, before a live system is asked for it."""
    if overwrite or check_folder(folder, settings) is None:
        begin_folder(folder, settings, provenance)


def _is_running(folder: Path) -> bool:
    """Whether the folder is of a run that was never finished, as one is that was killed."""
    try:
        return read_run_file(folder).status == "running"
    except AssayError:
        return False  # none, or a damaged one: whoever reads it next says so


def _make(folder: Path) -> list[Path]:
    """Make the folder, and give what had to be made for that, the deepest first."""
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
    """Remove the folders that were made, as far as nothing is in them."""
    for path in made:
        with suppress(OSError):
            path.rmdir()


def _settle(folder: Path, *, fresh: bool = False) -> None:
    """Where an earlier run was set aside, keep that one of the two of which something is finished, the later one first.

    ``fresh``: there was none; then what came to nothing is removed.
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
        return True  # damaged, or not to be read: not ours to throw away
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
    """Set the run aside that the folder holds, or bring back the one that was, in place of what is there."""
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
    """Lock the folder's lock file; None where a system has no such locks. Raises RunError where another has it."""
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
        # Whoever held it before removed the file with its lock: a lock on a file that is gone keeps nobody out.
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
    """Let go of the lock, and remove its file from ``folder``."""
    if descriptor is None:
        return
    if folder is not None:
        with suppress(OSError):
            (folder / LOCK).unlink(missing_ok=True)
    os.close(descriptor)
