"""A run on disk: run.json, the journal and results.parquet."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Literal, TypeVar
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from assay.errors import InputError, RunError
from assay.model import Aggregates, CaseSummary, GateResult, Provenance, Run, RunSettings
from assay.model.lint import LintReport
from assay.model.verdicts.retrieval import RETRIEVAL_METRICS
from assay.model.witness import AFTER_WITNESSES
from assay.platform.shell import command_line
from assay.platform.spool import Spool
from assay.platform.surface import flag
from assay.runs.aggregate.summarize import Summarizer
from assay.runs.store import journal
from assay.runs.store.codec import decode_evidence, decode_value, encode_evidence, encode_value
from assay.runs.store.journal import LazyEvidence
from assay.runs.store.results_table import write_parquet
from assay.runs.store.writing import temporary, write_value

_Kept = TypeVar("_Kept")

FORMAT = 1
"""Raised whenever an older Assay could not read what this one writes."""
RUN_FILE = "run.json"
_PARQUET_FILE = "results.parquet"
LINT_FILE = "lint.json"
RUN_FILES = (RUN_FILE, journal.NAME, journal.ANSWERS, _PARQUET_FILE, LINT_FILE)
"""What a run writes into its folder, run.json first."""
LOCK = ".lock"
"""The file that marks a folder as being written by a process."""
_RUNS_SHOWN = 5
_HELD_BYTES = 4 * 1024 * 1024
"""The size up to which a journal stays in memory: hundreds of such runs may be read."""
MAY_DIFFER = ("workers", "name", "tags", "metric_infos", "timing_budget_s", "timing_extra_s", "witness", "penalties")
"""Settings that change nothing in the evidence."""


_COME_LATER = frozenset({AFTER_WITNESSES, *RETRIEVAL_METRICS})
"""Metrics that a run gets by itself: from witnesses, and from predictions that say what the system was given."""


class RunFile(Struct, frozen=True, kw_only=True):
    """What run.json holds. ``aggregates`` and ``order`` are there once the run is finished."""

    format: int
    status: Literal["running", "finished"]
    settings: RunSettings
    provenance: Provenance
    order: tuple[str, ...] = ()
    """Digests of the cases' journal lines, in the question set's order."""
    aggregates: Aggregates | None = None
    gates: tuple[GateResult, ...] = ()
    """What was last demanded of the run when it was made, and whether it was reached."""


class FinishedRunFile(RunFile, frozen=True, kw_only=True):
    """What run.json holds for a finished run."""

    aggregates: Aggregates


def check_folder(folder: Path, settings: RunSettings, *, overwrite: bool = False) -> RunFile | None:
    """Check that the run can be written there, and read the part of it that exists already. Writes nothing.

    Raises RunError if the folder contains something else, or, unless ``overwrite``, a run with other settings.
    """
    if not (folder / RUN_FILE).exists():
        check_place(folder)
        return None
    if overwrite:
        return None
    stored = read_run_file(folder)
    if not _same_work(stored.settings, settings):
        shown = "; ".join(_differences(stored.settings, settings))
        kept = ""
        if asked_metrics(stored.settings) != asked_metrics(settings) or (folder / journal.ANSWERS).exists():
            kept = f", or {flag('--rescore')} to score its answers again"
        raise RunError(
            f"{folder} contains a run with other settings ({shown}): choose another folder, or add "
            f"{flag('--overwrite')}{kept}"
        )
    return stored


def check_place(folder: Path, *, locked: bool = True) -> None:
    """Check that a run may be written there: a run's folder, an empty or a missing one. Raises RunError.

    ``locked``: this process holds the folder's lock, or no process does. Otherwise a folder with a lock in it passes:
    what else is in it may come and go meanwhile.
    """
    try:
        names = set(os.listdir(folder))  # at once: a look at one name after the other would see several moments
    except FileNotFoundError:
        return
    except NotADirectoryError:
        names = None
    except OSError as error:
        raise unwritable(folder, error) from error
    if names is not None:
        if names & {RUN_FILE, aside(RUN_FILE)} or (LOCK in names and not locked):
            return
        if all(_is_first_trace(folder / name) for name in names):
            return
    raise RunError(f"{folder} exists and contains no run: choose another folder, or remove it")


def _is_first_trace(path: Path) -> bool:
    """Whether the path is something that a run leaves if it is killed in its first moment."""
    if path.name in (temporary(Path(RUN_FILE)).name, LOCK):
        return True
    return path.name in (journal.NAME, journal.ANSWERS) and path.is_file() and path.stat().st_size == 0


def aside(name: str) -> str:
    """The name of an earlier run's file until the next run has finished something."""
    return f".before-{name}"


def make_folder(folder: Path) -> None:
    """Make the folder of a run. Raises RunError if that is impossible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def unwritable(folder: Path, error: OSError) -> RunError:
    """The error for a folder that cannot be written."""
    return RunError(f"{folder}: the run cannot be written there ({error.strerror}): choose another folder")


def begin_folder(
    folder: Path, settings: RunSettings, provenance: Provenance, *, lint: LintReport | None = None
) -> None:
    """Write into the folder which run it is for, that it is unfinished, and what is doubtful about its gold queries."""
    write_value(folder / RUN_FILE, RunFile(format=FORMAT, status="running", settings=settings, provenance=provenance))
    (folder / _PARQUET_FILE).unlink(missing_ok=True)
    if lint is None:
        (folder / LINT_FILE).unlink(missing_ok=True)
    else:
        write_value(folder / LINT_FILE, lint)


def read_lint(folder: Path) -> LintReport | None:
    """The findings about the run's gold queries; None if there are none, or they cannot be read: they are found
    again."""
    try:
        return decode_value((folder / LINT_FILE).read_bytes(), LintReport)
    except (OSError, RunError):
        return None


def _same_work(stored: RunSettings, wanted: RunSettings) -> bool:
    """Whether both give the same verdicts. Witnesses may be looked for later, and bring a metric of their own."""
    neutral = {name: getattr(wanted, name) for name in MAY_DIFFER}
    before, now = asked_metrics(stored), asked_metrics(wanted)
    if wanted.database and set((stored.database or "").split(", ")) <= {"", *wanted.database.split(", ")}:
        # A run for several engines is given a further database: the cases on it have other digests than without.
        neutral["database"] = wanted.database
    return replace(stored, **neutral, metrics=before) == replace(wanted, metrics=now)


def asked_metrics(settings: RunSettings) -> tuple[str, ...]:
    """The metrics that were asked for, without those that a run adds by itself."""
    return tuple(name for name in settings.metrics if name not in _COME_LATER)


def _differences(stored: Struct, wanted: Struct) -> Iterator[str]:
    for name in stored.__struct_fields__:
        was, now = getattr(stored, name), getattr(wanted, name)
        if name == "metrics" and isinstance(stored, RunSettings) and isinstance(wanted, RunSettings):
            was, now = asked_metrics(stored), asked_metrics(wanted)
        if was == now or name in MAY_DIFFER:
            continue
        if isinstance(was, Struct) and type(was) is type(now):
            yield from _differences(was, now)
        else:
            yield f"{name} was {_shown(was)}, now {_shown(now)}"


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else repr(value)


def finish_folder(folder: Path, run: Run, digests: Iterable[str]) -> None:
    """Write the files of a finished run besides its journal. ``digests`` are its cases', in order."""
    order = tuple(digests)
    write_parquet(folder / _PARQUET_FILE, folder / journal.NAME, order, run.settings, run.lint)
    write_value(folder / RUN_FILE, _finished(run, order))


def _finished(run: Run, digests: Iterable[str] = ()) -> RunFile:
    return RunFile(
        format=FORMAT,
        status="finished",
        settings=run.settings,
        provenance=run.provenance,
        order=tuple(digests),
        aggregates=run.aggregates,
    )


def finished_file(run: Run) -> bytes:
    """The run.json of a finished run without the order of its journal: its settings, provenance and numbers."""
    return msgspec.json.format(encode_value(_finished(run)), indent=2)


def relabel(folder: Path, stored: RunFile, settings: RunSettings) -> None:
    """Give a finished run the name and tags of ``settings``; its provenance stays unchanged."""
    labelled = replace(stored.settings, name=settings.name, tags=settings.tags)
    if labelled != stored.settings:
        write_value(folder / RUN_FILE, replace(stored, settings=labelled))


def store_gates(folder: Path, gates: tuple[GateResult, ...]) -> None:
    """Keep with a finished run whether it reached its gates. Nothing is written if that is known already."""
    stored = read_run_file(folder)
    if stored.gates != gates:
        write_value(folder / RUN_FILE, replace(stored, gates=gates))


def is_same_run(stored: RunFile, settings: RunSettings, provenance: Provenance, digests: Iterable[str]) -> bool:
    """Whether the stored run is finished, and differs from the one to be made only in its name and tags."""
    then = stored.provenance
    now = replace(provenance, started_at=then.started_at, wall_time_s=then.wall_time_s, cache=then.cache)
    return (
        stored.status == "finished"
        and stored.order == tuple(digests)
        and _same_work(stored.settings, settings)
        and stored.provenance == now
    )


def save_run(run: Run, folder: Path) -> None:
    """Write a run that was made in memory. Raises RunError if the folder contains something already."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise RunError(f"{folder} is not an empty folder: choose another")
    make_folder(folder)
    begin_folder(folder, run.settings, run.provenance, lint=run.lint)
    digests = journal.write_whole(folder / journal.NAME, map(encode_evidence, run.evidence))
    finish_folder(folder, run, digests)
    store_gates(folder, run.gates)


def load_run(folder: Path) -> Run:
    """Read a finished run. Raises InputError if there is none, RunError if it is unfinished or damaged.

    Each line is decoded once now, for its summary, and so that damage is reported at once; the evidence is decoded
    again when it is read.
    """
    stored, path = read_finished(folder), folder / journal.NAME
    # The lines of a small journal stay in memory, and no file stays open; of a large one only their offsets and
    # checksums.
    is_small = not path.exists() or path.stat().st_size <= _HELD_BYTES
    lines = Spool[bytes](bytes, path=None if is_small else path, buffer_bytes=_HELD_BYTES)
    checksums = array("I")
    summary = Summarizer().stored

    def summarized(line: journal.JournalLine) -> tuple[CaseSummary, int]:
        if is_small:
            lines.append_line(line.content)
        else:
            lines.note(line.start, len(line.content))
        checksums.append(crc32(line.content))
        return summary(line.content), len(checksums) - 1

    cases = read_cases(folder, stored, summarized)
    line_at = array("I", [index for _, index in cases])

    def checked(content: bytes, index: int) -> bytes:
        if crc32(content) != checksums[index]:
            raise rewritten()
        return content

    def rewritten() -> RunError:
        return RunError(
            f"{path}: was written again while its run was being read: read the run again once it is finished"
        )

    def line(place: int) -> bytes:
        index = line_at[place]
        with suppress(OSError, EOFError):
            return checked(lines.line(index), index)
        raise rewritten()

    def all_lines() -> Iterator[bytes]:
        with suppress(OSError, EOFError):
            yield from map(checked, lines.lines(line_at), line_at)
            return
        raise rewritten()

    return Run(
        settings=stored.settings,
        provenance=stored.provenance,
        summaries=[case for case, _ in cases],
        evidence=LazyEvidence(len(cases), lambda place: decode_evidence(line(place)), line=line, lines=all_lines),
        aggregates=stored.aggregates,
        gates=stored.gates,
        lint=read_lint(folder),
    )


def read_finished(folder: Path) -> FinishedRunFile:
    """Read run.json of a finished run. Raises as `load_run` does, and reads no case."""
    stored = read_run_file(folder)
    if stored.status != "finished" or stored.aggregates is None:
        raise RunError(f"{folder} is not finished: run its command again to resume")
    return FinishedRunFile(**asdict(stored))


def read_cases(folder: Path, stored: FinishedRunFile, keep: Callable[[journal.JournalLine], _Kept]) -> list[_Kept]:
    """What ``keep`` makes of each answer's line, in the run's order; the lines themselves are not kept.

    ``keep`` raises RunError for a line that it cannot read. Raises RunError if the journal is absent or damaged.
    """
    path = folder / journal.NAME
    if not path.exists():
        raise RunError(f"{path} is missing: the run is damaged. Run its command again to score its cases again")
    # The journal may also have lines for earlier predictions.
    wanted = set(stored.order)
    kept: dict[str, _Kept] = {}
    for line in journal.read_lines(path):
        if line.digest not in wanted:
            continue
        try:
            kept[line.digest] = keep(line)
        except RunError as error:
            raise journal.damaged(path, line.number) from error
    missing = sum(digest not in kept for digest in stored.order)
    if missing:
        raise RunError(
            f"{path}: {missing} of {len(stored.order)} cases of the run are missing; "
            "run its command again to score them again"
        )
    return [kept[digest] for digest in stored.order]


def run_folder(path: Path) -> Path:
    """The folder of a run, also from the path of one of its files, such as run.json; any other path as it is."""
    return path.parent if path.name in RUN_FILES and path.is_file() and (path.parent / RUN_FILE).exists() else path


def missing_run(folder: Path) -> str:
    """Why there is no run in a folder, with the runs that were probably meant."""
    if folder.is_file():
        if (own := folder.with_suffix(".run")) != folder and (own / RUN_FILE).exists():
            return f"it is a file. Its run is {own}"
        if folder.suffix.lower() in (".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".parquet", ".yaml", ".yml", ".txt"):
            target = Path("runs") / folder.stem
            command = command_line(["-p", str(folder), "-o", target.as_posix()])
            return (
                f"it is a file{_nearest(folder)}. If it contains predictions, run it first:  "
                f"assay run questions.jsonl --db URL {command}"
            )
    what = f"{RUN_FILE} is missing" if folder.is_dir() else "it is a file" if folder.exists() else "it does not exist"
    return f"{what}{_nearest(folder)}"


def _nearest(folder: Path) -> str:
    """The runs below a folder, or else the run with the closest path, or of the same name one folder below."""
    with suppress(OSError):
        if below := _runs_in(folder):
            return f". It contains {', '.join(map(str, below[:_RUNS_SHOWN]))}: name one of them"
        found = _existing(folder.parent if folder.name in RUN_FILES else folder)
        if found is not None and found != folder and ((found / RUN_FILE).exists() or _runs_in(found)):
            return f" (did you mean {str(found)!r}?)"
        moved = [one / folder for one in sorted(Path().iterdir()) if not folder.is_absolute() and one.is_dir()]
        if near := next((path for path in moved if (path / RUN_FILE).exists()), None):
            return f" (did you mean {str(near)!r}?)"
        if others := sorted(_runs_in(folder.parent), key=lambda one: -_likeness(one.name, folder.name)):
            return f". Runs next to it: {', '.join(map(str, others[:_RUNS_SHOWN]))}"
    return ""


def _likeness(name: str, wanted: str) -> float:
    """How like two names are; one that begins with the other's stem is most like it."""
    begins = name.lower().startswith(wanted.rpartition(".")[0].lower() or wanted.lower())
    return begins + SequenceMatcher(None, name.lower(), wanted.lower()).ratio()


def _runs_in(folder: Path) -> list[Path]:
    return [one for one in sorted(folder.iterdir()) if (one / RUN_FILE).exists()] if folder.is_dir() else []


def _existing(path: Path) -> Path | None:
    """The path with each part that does not exist replaced by the closest name there; None if none is close."""
    if path.exists() or path == path.parent:
        return path
    parent = _existing(path.parent)
    if parent is None or not parent.is_dir():
        return None
    if (parent / path.name).exists():
        return parent / path.name
    close = get_close_matches(path.name, [one.name for one in parent.iterdir() if one.is_dir()], n=1)
    return parent / close[0] if close else None


def read_run_file(folder: Path) -> RunFile:
    """Read run.json. Raises InputError if there is no run, RunError if it is damaged."""
    path = folder / RUN_FILE
    if not path.exists():
        raise InputError(f"{folder} is not a run folder: {missing_run(folder)}")
    if not path.is_file():
        raise RunError(f"{path} is not a file: run the command again with another folder")
    try:
        stored = decode_value(path.read_bytes(), RunFile)
    except RunError as error:
        raise RunError(f"{path} is damaged ({error}): run it again with {flag('--overwrite')}") from error
    if stored.format > FORMAT:
        raise RunError(f"{path} was written by a newer Assay (format {stored.format}): update this one to read it")
    return stored
