"""`assay diff`: is the new version better, and which of several is best."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from assay.cli.options.declared import (
    Full,
    JsonFile,
    Markdown,
    ReviewsFile,
)
from assay.cli.options.gates import CandidateGateFlags, concluding, exit_for, gathered
from assay.cli.options.stored_runs import A_RUN, check_different
from assay.cli.parsing.parameters import argument, option
from assay.errors import UsageError
from assay.model import Gates

if TYPE_CHECKING:
    from assay.model import Leaderboard


def diff(  # one parameter an option
    runs: Annotated[
        list[Path] | None,
        argument(
            metavar="RUN_A RUN_B",
            help="Finished runs: the baseline, then the candidate. Three or more are ranked.",
        ),
        A_RUN,
    ] = None,
    *,
    metric: Annotated[
        str | None, option(metavar="NAME", help="Metric that ranks three or more runs. [default: match]")
    ] = None,
    html: Annotated[
        Path | None, option(metavar="FILE", help="Write an HTML file with every case of both runs.")
    ] = None,
    md: Markdown = None,
    json: JsonFile = None,
    reviews: ReviewsFile = None,
    max_cases: Annotated[
        int | None,
        option(metavar="N", least=0, help="Maximum number of cases per kind. [default: 5; 20 in Markdown]"),
    ] = None,
    confidence: Annotated[float, option(metavar="SHARE", help="Confidence of the intervals.")] = 0.95,
    power: Annotated[float, option(metavar="SHARE", help="Power: probability of detecting a difference.")] = 0.80,
    resamples: Annotated[int, option(metavar="N", least=1, help="Random draws per estimate.")] = 2000,
    seed: Annotated[int, option(metavar="N", help="Seed of the random draws.")] = 0,
    alpha: Annotated[
        float | None, option(metavar="LEVEL", help="Significance level of differences and gates. [default: 0.05]")
    ] = None,
    flags: CandidateGateFlags,
    full: Full = False,
) -> None:
    """Compare the candidate RUN_B with the baseline RUN_A: better or worse, how certain, and on which cases.

    Example:  assay diff runs/main runs/new --fail-on-regression --md diff.md

    Gates apply to RUN_B if two runs are compared; a missed gate makes the exit status 1.

    Rank several:  assay diff runs/one runs/two runs/three --metric bird_ex
    """
    from assay.runs.store.folder import read_finished

    folders = runs or []
    check_different(folders)
    asks_values = len(folders) == 2 and (flags.minimum or flags.max_drop or flags.min_accuracy)
    run = read_finished(folders[1]).settings if asks_values else None
    gates = gathered(flags, alpha=alpha, alpha_alone=True, run=run)
    settings: dict[str, Any] = {"confidence": confidence, "alpha": gates.alpha, "power": power}
    settings |= {"resamples": resamples, "seed": seed, "reviews": reviews}
    from assay.cli.output import check_targets

    targets = {"html": html, "md": md, "json": json}
    check_targets(targets)
    if len(folders) < 2:
        given = f"only {folders[0]} was given" if folders else "none was given"
        raise UsageError(f"assay diff compares two runs or more, and {given}: write  assay diff RUN_A RUN_B")
    if len(folders) == 2:
        if metric is not None:
            raise UsageError(f"--metric {metric} ranks three or more runs: of two, every metric is compared")
        _compare(folders[0], folders[1], gates, settings, targets=targets, cases=max_cases, full=full)
        return
    if gates.any:
        raise UsageError(f"gates compare a candidate with a baseline: give two runs, not {len(folders)}")
    if max_cases is not None:
        raise UsageError(f"--max-cases is for a comparison of two runs, and {len(folders)} are given: omit it")
    if html is not None:
        raise UsageError("--html shows two runs side by side: of several,  assay leaderboard RUN... --html FILE")
    _rank(folders, metric, settings, targets=targets, full=full)


def _compare(
    baseline: Path,
    candidate: Path,
    gates: Gates,
    settings: dict[str, Any],
    *,
    targets: dict[str, Path | None],
    cases: int | None,
    full: bool,
) -> None:
    from assay.api.diffing import diff as compare
    from assay.api.gates import DiffGates
    from assay.sdmx.gc_pause import collector_paused

    asked = DiffGates(gates, baseline, candidate) if gates.any else None
    # Paused for the whole, not only the comparison, whose objects are kept and would be scanned right after it.
    with collector_paused():
        compared = compare(baseline, candidate, **settings)
        if asked is not None:
            compared.record = asked.judged(compared.record)
        from assay.reports.console.diff import print_diff as print_diff_full
        from assay.reports.diff_formats import render_diff
        from assay.reports.screen.printing import print_diff

        record = compared.record
        wrote = [f"wrote {path}" for path in targets.values() if path is not None]
        _deliver(
            targets,
            lambda name: render_diff(record, name, runs=compared.runs, cases=cases),
            # In full every case is named, unless their number is given.
            lambda: (
                print_diff_full(record, cases=len(record.changes) if cases is None else cases)
                if full
                else print_diff(record, cases=cases, others=[*concluding(record.gates), *wrote])
            ),
        )
    exit_for(compared.record.gates)


def _deliver(targets: dict[str, Path | None], render: Callable[[str], bytes], show: Callable[[], None]) -> None:
    """Write the reports that were asked for, and show the comparison unless one goes to standard output."""
    from assay.cli.output import check_targets, deliver, say_written

    written = deliver(targets.items(), render)
    printed = check_targets(targets) is not None
    if not printed:
        show()
    say_written(written, on_stderr=printed)


def _rank(
    folders: list[Path], metric: str | None, settings: dict[str, Any], *, targets: dict[str, Path | None], full: bool
) -> None:
    from assay.api.diffing import leaderboard
    from assay.cli.verbs.leaderboard import show_ranking
    from assay.reports.diff_formats import render_leaderboard

    record: Leaderboard = leaderboard(folders, metric=metric, detailed=False, **settings).record
    _deliver(targets, lambda name: render_leaderboard(record, name), lambda: show_ranking(record, full=full))
