"""The runs in a folder, each by its run.json alone: hundreds are read in a second."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from hashlib import blake2b
from itertools import islice
from pathlib import Path, PurePath
from stat import S_ISREG
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import InputError, RunError
from assay.model import GateResult, Group, HistoryPoint, Provenance, Run, RunSettings
from assay.platform.surface import flag
from assay.runs.aggregate.metric_infos import leading_metric
from assay.runs.store.codec import decode_value, encode_value
from assay.runs.store.folder import FORMAT, MAY_DIFFER, RUN_FILE, missing_run

LEVELS = 4
"""How deep below the folder a run may lie."""


_MOST_NEAR = 20
"""How many neighbours of a run are read to find one over the same questions."""
_MOST_LISTED = 2_000


class QuestionSet(Struct, frozen=True, kw_only=True):
    """The cases of a run: runs must share them to be points of one trend."""

    name: str
    digest: str | None
    """The hash of the question set's content; None if it was not a file: then only its name identifies it."""
    cases: int
    """How many of its cases were scored; with ``--limit`` these are the first ones."""


class _Numbers(Struct, frozen=True, kw_only=True):
    """The part of `Aggregates` that a list needs."""

    cases: int
    correct: int
    incorrect: int
    unscored: int
    overall: Group


class _Head(Struct, frozen=True, kw_only=True):
    """The part of run.json that a list needs. The rest is not decoded."""

    format: int
    status: Literal["running", "finished"]
    settings: RunSettings
    provenance: Provenance
    aggregates: _Numbers | None = None
    gates: tuple[GateResult, ...] = ()


def scan_runs(folder: Path, *, metric: str | None = None) -> tuple[HistoryPoint, ...]:
    """The runs in a folder and up to four levels below, oldest first, those of unknown time last.

    A folder that is a run itself gives only that run. ``metric`` replaces each run's own headline metric;
    a run without it has no headline. Unfinished and damaged runs are included. Links to folders
    and folders whose name begins with a dot are not followed. Raises InputError if the folder does not exist
    or contains no run.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is neither a run nor a folder of runs: {missing_run(folder)}")
    points = [read_point(one, metric=metric) for one in _run_folders(folder, LEVELS)]
    if not points:
        raise InputError(
            f"{folder} contains no run, down to {LEVELS} levels below it: a run is a folder with a {RUN_FILE}, "
            "as  assay run … -o RUN  writes it"
        )
    return by_time(points)


def _run_folders(folder: Path, levels: int) -> Iterator[Path]:
    """Folders with a run.json; their subfolders are not searched."""
    if (folder / RUN_FILE).exists():
        yield folder
        return
    if levels <= 0:
        return
    try:
        with os.scandir(folder) as entries:
            below = sorted(
                entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
            )
    except OSError:  # a folder without read permission is not one of the user's own runs
        return
    for name in below:
        yield from _run_folders(folder / name, levels - 1)


def read_point(folder: Path, *, metric: str | None = None) -> HistoryPoint:
    """One run by its run.json. Damage is noted in the point, never raised."""
    path = folder / RUN_FILE
    try:
        if not S_ISREG(path.stat().st_mode) and not path.is_dir():  # reading a pipe would wait for its writer
            return _damaged(folder, f"{RUN_FILE} is not a file")
        head = decode_value(path.read_bytes(), _Head)
    except OSError as error:
        return _damaged(folder, f"{RUN_FILE} cannot be read ({error.strerror})")
    except RunError as error:  # its cause is the decoder's message, without the bytes that it could not read
        return _damaged(
            folder,
            f"{RUN_FILE} is damaged ({error.__cause__ or error}): run its command again with {flag('--overwrite')}",
        )
    if head.format > FORMAT:
        return _damaged(folder, f"written by a newer Assay (format {head.format}): update this one to read it")
    if head.status == "finished" and head.aggregates is None:
        return _damaged(
            folder,
            f"{RUN_FILE} says that the run is finished, but has no numbers: {_again()}",
        )
    return _point(str(folder), head, metric)


def point_of(run: Run, folder: str = "", *, metric: str | None = None) -> HistoryPoint:
    """The list entry of a loaded run."""
    return _point(folder, run, metric)


def _point(folder: str, head: _Head | Run, metric: str | None) -> HistoryPoint:
    name, numbers = metric, head.aggregates
    if name is None and head.settings.metrics:
        name = leading_metric(head.settings.metrics)
    known = HistoryPoint(
        folder=folder,
        status=head.status if isinstance(head, _Head) else "finished",
        settings=head.settings,
        provenance=head.provenance,
        headline_metric=name,
        gates=head.gates,
    )
    if numbers is None:
        return known
    return replace(
        known,
        cases=numbers.cases,
        correct=numbers.correct,
        incorrect=numbers.incorrect,
        unscored=numbers.unscored,
        headline=None if name is None else numbers.overall.rate(name),
    )


def _again() -> str:
    return f"run its command again with {flag('--overwrite')}"


def _damaged(folder: Path, trouble: str) -> HistoryPoint:
    return HistoryPoint(folder=str(folder), status="damaged", settings=None, provenance=None, trouble=trouble)


def by_time(points: Sequence[HistoryPoint]) -> tuple[HistoryPoint, ...]:
    """Oldest first; those of unknown time last, by folder."""
    never = datetime.max.replace(tzinfo=UTC)
    return tuple(sorted(points, key=lambda point: (started_at(point) or never, point.folder)))


def started_at(point: HistoryPoint) -> datetime | None:
    """When the run was started, in UTC; None if unknown."""
    text = point.provenance.started_at if point.provenance is not None else None
    try:
        at = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    if at is None:
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def earlier_runs(points: Sequence[HistoryPoint], run: Run) -> tuple[HistoryPoint, ...]:
    """The finished runs that were started before this one or in the same second, without the run itself."""
    own = point_of(run)
    until = started_at(own)

    def earlier(point: HistoryPoint) -> bool:
        at = started_at(point)
        itself = (point.settings, point.provenance) == (run.settings, run.provenance)
        return point.status == "finished" and not itself and (until is None or at is None or at <= until)

    return by_time([point for point in points if earlier(point)])


def run_beside(folder: Path, run: Run) -> HistoryPoint | None:
    """The latest finished run in a neighbouring folder that was started before this one, over the same questions.

    Only the neighbours that were written last are read if there are many.
    """
    own = point_of(run)
    wanted = question_set(own)
    if wanted is None or wanted.digest is None:
        return None
    try:
        with os.scandir(folder.resolve().parent) as entries:
            near = [Path(one.path) for one in islice(entries, _MOST_LISTED) if one.is_dir(follow_symlinks=False)]
        dated = [(one.stat().st_mtime, one) for path in near if (one := path / RUN_FILE).is_file()]
    except OSError:
        return None
    last = sorted(dated, reverse=True)[:_MOST_NEAR]
    points = [read_point(file.parent) for _, file in last if file.parent != folder.resolve()]
    fitting = [one for one in earlier_runs(points, run) if question_set(one) == wanted]
    return fitting[-1] if fitting else None


def question_set(point: HistoryPoint) -> QuestionSet | None:
    """The cases that a run is over, by the fingerprint of their file; None if the run is damaged."""
    if point.settings is None or point.provenance is None:
        return None
    name = PurePath(point.settings.cases).name or point.settings.cases
    digest = next((entry.digest for entry in point.provenance.inputs if entry.name == name), None)
    return QuestionSet(name=name, digest=digest, cases=point.cases)


def run_name(point: HistoryPoint) -> str:
    """The run's name in lists: its own, or else its folder's."""
    named = point.settings.name if point.settings is not None else None
    return named or PurePath(point.folder).name or point.folder


def select_runs(
    points: Sequence[HistoryPoint], *, tags: Sequence[str] = (), name: str | None = None, cases: str | None = None
) -> tuple[HistoryPoint, ...]:
    """The runs that have all these tags, this name or folder, and this question set.

    Each is a pattern with ``*`` and ``?``, case-sensitive. ``cases`` is a file's name, with or without its
    suffix, or the whole path. A damaged run is known by its folder only.
    """

    def fits(point: HistoryPoint) -> bool:
        settings = point.settings
        own = settings.tags if settings is not None else ()
        path = PurePath(settings.cases if settings is not None else "")
        return (
            all(any(fnmatchcase(tag, wanted) for tag in own) for wanted in tags)
            and (name is None or any(fnmatchcase(one, name) for one in (run_name(point), PurePath(point.folder).name)))
            and (cases is None or any(fnmatchcase(one, cases) for one in (path.name, path.stem, str(path))))
        )

    return tuple(point for point in points if fits(point))


def identity_of(run: Run) -> str:
    """A hash that distinguishes this run from every other, even from a repetition of it; labels do not count."""
    plain = RunSettings(cases="", predictions="", database="", metrics=(), limits=run.settings.limits)
    settings = replace(run.settings, **{name: getattr(plain, name) for name in MAY_DIFFER})
    content = encode_value(settings) + encode_value(run.provenance)
    return blake2b(content, digest_size=16).hexdigest()
