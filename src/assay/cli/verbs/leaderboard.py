"""`assay leaderboard`: rank systems on one question set, by every metric and group, and show where they disagree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from assay.cli.messages import tell
from assay.cli.options.declared import Full, JsonFile, Markdown, ReviewsFile
from assay.cli.options.stored_runs import A_RUN, check_different
from assay.cli.parsing.parameters import argument, option
from assay.errors import InputError, UsageError
from assay.model import HistoryPoint, Leaderboard
from assay.reports.text.plain import visible

_NAMED = 3
"""The most runs that are named if they are left out."""


def leaderboard(
    runs: Annotated[
        list[Path], argument(metavar="RUN...", help="Finished runs, or a folder that contains them."), A_RUN
    ],
    *,
    metric: Annotated[str | None, option(metavar="NAME", help="Metric that ranks the runs. [default: match]")] = None,
    cases: Annotated[
        str | None, option(metavar="NAME", help="Question set of the runs to take from a folder, e.g. dev.jsonl.")
    ] = None,
    html: Annotated[
        Path | None, option(metavar="FILE", help="Write an HTML file with every case of every run.")
    ] = None,
    md: Markdown = None,
    csv: Annotated[Path | None, option(metavar="FILE", help="Write every rate as a line of CSV; - prints it.")] = None,
    latex: Annotated[
        Path | None, option(metavar="FILE", help="Write a table for LaTeX (booktabs); - prints it.")
    ] = None,
    xlsx: Annotated[
        Path | None, option(metavar="FILE", help="Write an Excel workbook with ranking, rates and cases.")
    ] = None,
    json: JsonFile = None,
    reviews: ReviewsFile = None,
    confidence: Annotated[float, option(metavar="SHARE", help="Confidence of the intervals.")] = 0.95,
    alpha: Annotated[float, option(metavar="LEVEL", help="Significance level over all pairs.")] = 0.05,
    resamples: Annotated[int, option(metavar="N", least=1, help="Random draws per estimate.")] = 2000,
    seed: Annotated[int, option(metavar="N", help="Seed of the random draws.")] = 0,
    by: Annotated[
        str,
        option(metavar="UNIT", help="Unit that tests resample: database, or case for a fixed benchmark."),
    ] = "database",
    full: Full = False,
) -> None:
    """Rank runs over their common cases, with every metric and group.

    Example:  assay leaderboard runs/one runs/two runs/three --html leaderboard.html

    All finished runs of a folder:  assay leaderboard runs --md leaderboard.md

    For a paper:  assay leaderboard runs --latex table.tex --csv rates.csv
    """
    from assay.api.diffing import leaderboard as ranked
    from assay.api.diffing import sampling_unit
    from assay.cli.output import check_targets, deliver, say_written
    from assay.reports.diff_formats import render_leaderboard

    targets = {"html": html, "md": md, "csv": csv, "tex": latex, "xlsx": xlsx, "json": json}
    printed = check_targets(targets) is not None
    folders, told = _finished(runs, cases, metric)
    if len(folders) == 1:
        check_different(runs)
    record = ranked(
        folders,
        metric=metric,
        confidence=confidence,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
        by=sampling_unit(by),
        reviews=reviews,
        optional=set(folders) - set(runs),  # what was found in a folder, and not named
    ).record
    written = deliver(targets.items(), lambda name: render_leaderboard(record, name))
    if not printed:
        show_ranking(record, full=full, told=[*told, *(f"wrote {path}" for path in written.values())])
    say_written(written, on_stderr=printed)


def show_ranking(record: Leaderboard, *, full: bool, told: Sequence[str] = ()) -> None:
    """Print the ranking in full, or a summary that fits one screen together with the lines printed before it."""
    if full:
        from assay.reports.console.printing import print_leaderboard as print_all

        print_all(record)
        return
    from assay.reports.screen.printing import print_leaderboard

    print_leaderboard(record, others=told)


def _finished(given: Sequence[Path], cases: str | None, metric: str | None) -> tuple[list[Path], list[str]]:
    """The runs that were given, each once, and the finished ones of folders over one question set.

    Says on standard error what is omitted, and returns that, too. Raises InputError if nothing is left.
    """
    from assay.runs.store.folder import RUN_FILE
    from assay.runs.store.history import scan_runs

    if cases is not None and all((folder / RUN_FILE).exists() for folder in given):
        raise UsageError(f"--cases {cases} chooses among the runs of a folder, and runs are given: omit it")
    found: list[Path] = []
    notes: list[str] = []
    for folder in given:
        if (folder / RUN_FILE).exists():
            found.append(folder)
            continue
        points = scan_runs(folder, metric=metric)
        finished = [point for point in points if point.status == "finished"]
        for why, left in _by_reason(points):
            notes.append(f"left out, {why}: {_some(left)}")
        measured = [point for point in finished if metric is None or point.headline is not None]
        if measured and len(measured) < len(finished):
            notes.append(f"left out, without {metric}: {_some([one for one in finished if one not in measured])}")
        chosen, others = _of_one_set(folder, measured or finished, cases)
        found += [Path(point.folder) for point in chosen]
        if others:
            notes.append(f"left out, over other questions: {_some(others)}; to rank them too, name every run")
    notes = [f"assay: {visible(note)}" for note in notes]
    for note in notes:
        tell(note)
    return list({path.resolve(): path for path in found}.values()), notes


def _by_reason(points: Sequence[HistoryPoint]) -> list[tuple[str, list[HistoryPoint]]]:
    """The runs that are not finished, by the reason: the damaged ones together if they are several."""
    damaged = [point for point in points if point.status != "finished" and point.trouble]
    running = [point for point in points if point.status != "finished" and not point.trouble]
    why = damaged[0].trouble if len(damaged) == 1 else "damaged"
    return [(said or "", group) for said, group in ((why, damaged), ("not finished", running)) if group]


def _some(points: Sequence[HistoryPoint]) -> str:
    """The folders of the first few runs, and how many more there are."""
    more = f" and {len(points) - _NAMED:,} more" if len(points) > _NAMED else ""
    return ", ".join(point.folder for point in points[:_NAMED]) + more


def _of_one_set(
    folder: Path, points: Sequence[HistoryPoint], cases: str | None
) -> tuple[Sequence[HistoryPoint], list[HistoryPoint]]:
    """The runs over the question set that most of them share, or over the one that is asked for; and the others."""
    from assay.runs.store.history import question_set, select_runs

    chosen = select_runs(points, cases=cases) if cases is not None else tuple(points)
    if not chosen:
        names = sorted({one.name for point in points if (one := question_set(point))})
        raise InputError(
            f"{folder}: no finished run {f'over {cases!r}' if cases else 'is there'}"
            + (f"; the question sets are {', '.join(names)}" if names and cases else "")
        )
    sets: dict[object, list[HistoryPoint]] = {}
    for point in chosen:
        sets.setdefault(question_set(point), []).append(point)
    *others, most = sorted(sets.values(), key=len)
    return most, [point for group in others for point in group]
