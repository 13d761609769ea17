"""The output of a verb at its end.

A report whose path is ``-`` goes to standard output, and the summary then goes to standard error.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay import registry
from assay.api.run import Run
from assay.cli.messages import say, tell
from assay.cli.options.gates import concluding, exit_for
from assay.cli.options.report_files import check_files, option_of
from assay.cli.progress import progress
from assay.cli.streams import print_bytes
from assay.errors import InputError, Interrupted, UsageError
from assay.reports.files import replace_file
from assay.runs.progress import Progress

if TYPE_CHECKING:
    from assay.api.gates import GateKeeper
    from assay.settings import Settings

STANDARD_OUTPUT = Path("-")


def check_targets(targets: Mapping[str, Path | None], settings: Settings | None = None) -> str | None:
    """Check the files of reports before any work is done. Returns the format that goes to standard output, if any.

    Raises UsageError for two outputs on standard output or in one file, for a folder, for a suffix of another
    format, for a file that a run needs or that ``settings`` read, and for a place that cannot be written.
    """
    printed = [name for name, path in targets.items() if path == STANDARD_OUTPUT]
    if len(printed) > 1:
        options = [option_of(name, "-") for name in printed]
        raise UsageError(
            f"{' and '.join(options)} would be mixed on standard output: name a file for all but one of them"
        )
    files = {name: path for name, path in targets.items() if path is not None and path != STANDARD_OUTPUT}
    check_files(files, settings=settings)
    return printed[0] if printed else None


def show(
    run: Run,
    *,
    folder: Path | None,
    written: Mapping[str, Path] | None = None,
    on_stderr: bool = False,
    full: bool = False,
    unkept: str = "",
    others: Sequence[str] = (),
    earlier: Path | None = None,
) -> None:
    """Print the summary of a run, in full if ``full``, on standard output.

    With ``on_stderr`` standard output is for a report, and the summary goes to standard error. ``unkept`` says that the
    run is stored nowhere, ``others`` are the lines that the command prints besides, ``earlier`` is
    the run to compare it with, by default the latest one next to it.
    """
    console = None
    if on_stderr:
        from rich.console import Console

        console = Console(stderr=True, highlight=False)
    paths = {name: str(path) for name, path in (written or {}).items()}
    compared = None if folder is None else str(earlier) if earlier is not None else _earlier(folder, run)
    run_path = str(folder) if folder is not None else None
    if full:
        from assay.reports.console.run import print_summary

        print_summary(run.record, console=console, run_path=run_path, written=paths, earlier=compared)
        if unkept:
            tell(f"\n{unkept}", err=on_stderr)
        return
    from assay.reports.screen.printing import print_run

    print_run(
        run.record, console=console, run_path=run_path, written=paths, earlier=compared, unkept=unkept, others=others
    )


def _earlier(folder: Path, run: Run) -> str | None:
    """The folder of an earlier run over the same questions next to this one, named as this one was."""
    from assay.runs.store.history import run_beside

    beside = run_beside(folder, run.record)
    if beside is None:
        return None
    return str(folder.with_name(Path(beside.folder).name)) if folder.name not in ("", "..") else beside.folder


@contextmanager
def keeping(folder: Path | None, *, made: str = "finished", kept: str = "finished cases are in {}") -> Iterator[None]:
    """A context for making a run: an interruption says what its folder keeps, a disk error what was not written."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is None:
            raise Interrupted("interrupted; nothing is stored, since no folder was given (-o RUN)") from None
        if not folder.exists():
            raise Interrupted(f"interrupted before anything was {made}: nothing is stored") from None
        raise Interrupted(f"interrupted; {kept.format(folder)}: the same command resumes") from None
    except OSError as error:
        if error.strerror is None:
            raise
        raise InputError(f"{error.filename or folder}: {error.strerror}") from error


def finish(
    run: Run,
    *,
    keeper: GateKeeper | None,
    reports: Mapping[str, Path | None],
    folder: Path | None,
    advice: str | None,
    quiet: bool,
    full: bool = False,
    told: Sequence[str] = (),
    baseline: Path | None = None,
) -> None:
    """Check a run's gates, write its reports, show it, and end with the exit status that follows.

    ``advice`` names what else could be stored, if nothing was; None: no hint. ``quiet``: no progress.
    ``full``: the whole report is printed instead of a summary. ``told``: the lines printed before it.
    ``baseline``: the run to compare it with.
    """
    if keeper is not None:
        run = Run(keeper.judged(run.record))
        if folder is not None and run.record.gates:
            from assay.runs.store.folder import store_gates

            store_gates(folder, run.record.gates)
    written = write_reports(run, reports.items(), quiet=quiet)
    on_stderr = STANDARD_OUTPUT in reports.values()
    is_lost = advice is not None and folder is None and not written and not on_stderr
    unkept = f"Nothing is stored: -o RUN stores the run, {advice}." if is_lost else ""
    tolerates = keeper is not None and keeper.gates.max_unscored is not None
    if reports.get("json") != STANDARD_OUTPUT:
        others = [*told, *concluding(run.record.gates), *unfinished_text(run)]
        show(
            run,
            folder=folder,
            written=written,
            on_stderr=on_stderr,
            full=full,
            unkept=unkept,
            others=others,
            earlier=baseline,
        )
    exit_for(run.record.gates, unfinished=tell_unfinished(run) and not tolerates)


def tell_cache_use(run: Run) -> list[str]:
    """Say on standard error how many executions came from the cache, if the run has one. Returns what was said."""
    use = run.record.provenance.cache
    if use is None:
        return []
    text = f"{use.from_cache:,} of {use.executions:,} executions came from the cache"
    sys.stdout.flush()
    tell(text)
    return [text]


def tell_unfinished(run: Run) -> bool:
    """Print on standard error how many cases the same command would evaluate again. False, without a line, if none."""
    texts = unfinished_text(run)
    for text in texts:
        sys.stdout.flush()
        say(text)
    return bool(texts)


def unfinished_text(run: Run) -> list[str]:
    """The line that `tell_unfinished` prints, if any. Only failures that are not the answer's own count."""
    from assay.reports.blocks.unscored import causes
    from assay.scoring.queries.verdicts import undone, unfinished

    cases = run.record.summaries
    failures, what = unfinished(cases), "nothing could be scored"
    left = undone(cases)
    if not failures and left:
        failures = Counter(case.failure for case in left if case.failure is not None)
        what = f"{len(left):,} of {len(cases):,} could not be scored"
    if not failures:
        return []
    of_setup = any(failure.blame == "setup" for failure in failures)
    again = "run the same command again to resume"
    advice = f"correct the cause, then {again}" if of_setup else f"{again}; if the failure persists, correct its cause"
    return [f"unfinished: {what} ({causes(failures)}): {advice}"]


def write_reports(run: Run, targets: Iterable[tuple[str, Path | None]], *, quiet: bool = False) -> dict[str, Path]:
    """Write each report of a run that has a path, as `deliver` does, with progress unless ``quiet``."""
    wanted = [(name, path) for name, path in targets if path is not None]
    if not wanted:
        return {}
    total = len(run.record.evidence)
    with progress(quiet=quiet) as tell:

        def drawn(finished: int) -> None:
            tell(Progress(stage="writing", total=total, finished=finished))

        def render(name: str) -> Iterator[bytes]:
            drawn(0)
            return registry.pieces(name, run.record, drawn=drawn)

        return deliver(wanted, render)


def deliver(
    targets: Iterable[tuple[str, Path | None]], render: Callable[[str], bytes | Iterable[bytes]]
) -> dict[str, Path]:
    """Write each format that has a path, and return the paths of the files by format; ``-`` is standard output.

    ``render`` gives a format whole or in pieces, which are written as they are made.

    Raises InputError if a file cannot be written.
    """
    written: dict[str, Path] = {}
    for name, path in targets:
        if path is None:
            continue
        content = render(name)
        if path == STANDARD_OUTPUT:
            pieces = [content] if isinstance(content, bytes) else content
            print_bytes(_with_line_break(pieces) if name == "json" else pieces)
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content)
        except OSError as error:
            raise InputError(f"{path}: the report cannot be written there ({error.strerror})") from error
        written[name] = path
    return written


def _with_line_break(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a JSON document, with a line break at its end."""
    last = b""
    for piece in pieces:
        last = piece or last
        yield piece
    if not last.endswith(b"\n"):
        yield b"\n"


def write_json(path: Path, content: bytes) -> None:
    """Write a JSON document to a file, or to standard output for ``-``. Raises as `deliver` does."""
    say_written(deliver([("json", path)], lambda _: content), on_stderr=True)


def say_written(written: Mapping[str, Path], *, on_stderr: bool = False) -> None:
    """Print the paths of the written files."""
    from assay.reports.text.plain import visible

    for path in written.values():
        click.echo(visible(f"wrote {path}"), err=on_stderr)
