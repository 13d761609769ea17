"""The workbooks of `assay denodo`: what is computed for them, and the steps that ask no AI SDK.

One step evaluates the queries that a workbook contains (``--generated-col``), for the F1 part, the VES part or the
whole. Another merges the two parts into the whole (``--merge``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import click

from assay.cli.options.declared import with_named
from assay.cli.options.report_files import check_files
from assay.errors import UsageError

METRICS = (
    "match",
    "results_match",
    "same_row_count",
    "percent_subset",
    "percent_overlap",
    "bird_soft_f1",
    "ves",
    "non_empty_match",
    "bird_ex",
    "same_column_count",
)
DIFFICULTIES = (("1", "simple"), ("2", "moderate"), ("3", "challenging"))
"""What Denodo's own evaluator calls them."""
_OF_VES = ("match", "results_match", "ves")
"""The metrics of the VES part alone."""
_PARTS = frozenset({"xlsx", "xlsx-f1", "xlsx-ves"})
_AS_DENODO = {"percent_subset": "denodo_percent_subset", "percent_overlap": "denodo_percent_overlap"}
"""The metric that replaces another to get the numbers of Denodo's own workbook."""
_CAME_LATER = frozenset({"same_column_count"})
"""Metrics added to this verb later: older run folders lack them."""
WHOLE = Path("combined_results.xlsx")
"""The workbook if no option names one."""
_ASKING = ("--api-url", "--api-password", "--param", "--system-timeout", "--retries", "--concurrency", "--repeat")
"""The options that concern the AI SDK alone."""
_MERGING = ("--merge", "--output", "--as-denodo", "--quiet")
"""The options of merging."""


def check_step(*, generated: str | None, merge: object) -> None:
    """Raise UsageError for options that the step does not use."""
    context = click.get_current_context()
    given = [
        next((name for name in one.opts if name.startswith("--")), one.opts[0])
        for one in context.command.params
        if (source := context.get_parameter_source(str(one.name))) is not None and source.name == "COMMANDLINE"
    ]
    if merge is not None:
        _leave_out(given, set(given).difference(_MERGING), "--merge joins two workbooks that are finished")
    elif generated is not None:
        _leave_out(given, _ASKING, "--generated-col evaluates the queries of the workbook and asks no AI SDK")


def _leave_out(given: Sequence[str], unused: Collection[str], step: str) -> None:
    if unused := [option for option in given if option in unused]:
        raise UsageError(f"{step}: omit {', '.join(unused)}")


def whole_of(output: Path | None, *parts: Path | None, generated: str | None) -> Path | None:
    """The whole workbook; None if only parts of it are wanted, which is possible without asking an AI SDK."""
    alone = output is None and generated is not None and any(parts)
    return None if alone else output or WHOLE


def merge_parts(parts: tuple[Path, Path], output: Path | None, *, as_denodo: bool) -> None:
    """Write the whole workbook of an F1 part and a VES part."""
    from assay.api.part_workbooks import read_parts
    from assay.cli.output import deliver, say_written
    from assay.reports.excel.merged import merged_workbook

    first, second = parts
    whole = output or WHOLE
    for option, path in (("--merge", second), ("--output", whole)):
        if path.resolve() in {one.resolve() for one in parts if one is not path}:
            raise UsageError(f"{option} is {path}, which --merge names, too: name another file")
    title = f"{first.name} and {second.name}"
    merged = read_parts(first, second, difficulty_names=dict(DIFFICULTIES))
    say_written(deliver([("xlsx", whole)], lambda _: merged_workbook(merged, title, as_denodo=as_denodo)))


def metrics_of(written: Iterable[str], *, ves: bool, as_denodo: bool, goes_on: Path | None) -> tuple[str, ...]:
    """The metrics of a run for these reports: nothing is timed for the F1 part alone.

    No option names the metrics, so a run continued in the folder ``goes_on`` keeps its own.
    """
    parts = _PARTS.intersection(written)
    timed = ves and parts != {"xlsx-f1"}
    wanted = [name for name in (_OF_VES if parts == {"xlsx-ves"} else METRICS) if timed or name != "ves"]
    metrics = tuple(_AS_DENODO.get(name, name) if as_denodo else name for name in wanted)
    began_with = () if goes_on is None else _metrics_in(goes_on)
    missing = set(metrics).difference(began_with)
    if missing <= _CAME_LATER and began_with == tuple(name for name in metrics if name not in missing):
        return began_with
    return metrics


def _metrics_in(folder: Path) -> tuple[str, ...]:
    """The metrics of the run in the folder; none if it has no readable run."""
    from assay.errors import RunError
    from assay.runs.store.folder import RUN_FILE, asked_metrics, read_run_file

    if not (folder / RUN_FILE).is_file():
        return ()
    try:
        return asked_metrics(read_run_file(folder).settings)
    except RunError:  # reported later, where the folder is claimed
        return ()


def targets_of(reports: Mapping[str, Path | None], questions: Path, to: Sequence[str] | None) -> dict[str, Path | None]:
    """The files to write. Raises UsageError if one of them would be written twice, or over the questions."""
    taken = {questions.resolve(): "the questions"}
    targets = with_named(reports, to)
    for name, path in targets.items():
        if path is None or str(path) == "-":
            continue
        what = _FLAG_OF.get(name, f"--{name}") if reports.get(name) is path else f"--report {name}"
        if (other := taken.setdefault(path.resolve(), what)) != what:
            raise UsageError(f"{what} is {path}, which is {other}, too: name another file")
    check_files({name: path for name, path in targets.items() if path is not None and str(path) != "-"}, _FLAG_OF)
    return targets


_FLAG_OF = {
    "xlsx": "--output",
    "xlsx-f1": "--f1-output",
    "xlsx-ves": "--ves-output",
    "xlsx-answers": "--output-original",
}
