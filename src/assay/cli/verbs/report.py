"""`assay report`: reports of a stored run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from assay.cli.messages import tell
from assay.cli.options.declared import Penalty, ReportFlags, ReviewsFile
from assay.cli.options.gates import GateFlags, concluding, exit_for, print_gates
from assay.cli.options.stored_runs import A_RUN
from assay.cli.parsing.parameters import argument, option


def report(
    run: Annotated[Path, argument(metavar="RUN", help="Folder of a finished run."), A_RUN],
    *,
    reports: ReportFlags,
    gates: GateFlags,
    penalty: Penalty = None,
    reviews: ReviewsFile = None,
    history: Annotated[
        Path | None, option(metavar="FOLDER", help="Folder of earlier runs, for a trend in --html.")
    ] = None,
) -> None:
    """Write reports of a stored run, on the terminal or as files ('-': standard output).

    With gates, the exit status is 1 if the run misses one. Without any, the gates of the run are shown.

    Example:  assay report runs/first --html report.html
    """
    from assay.api.gates import keeper_of
    from assay.api.run import Run, load_run
    from assay.cli.output import check_targets, say_written, show, write_reports
    from assay.runs.aggregate.metric_infos import knowing

    targets = reports.targets()
    printed = check_targets(targets)
    stored = load_run(run, reviews=reviews)
    if history is not None:
        from assay.api.history import with_history

        stored = with_history(stored, history)
    if penalty:
        stored = stored.with_penalties(penalty)
    asked = gates.gathered(run=stored.settings)
    infos = knowing(stored.settings)
    keeper = keeper_of(asked, stored.settings.metrics, baseline=gates.baseline, output=run, infos=infos)
    stored = Run(keeper.judged(stored.record))
    written = write_reports(stored, targets.items())
    if not written and printed is None:
        others = concluding(stored.record.gates)
        if others and not asked.any:
            others = [f"{others[0]} (as stored; the status is 0, since no gate is given)"]
        show(
            stored,
            folder=run,
            full=reports.full,
            earlier=Path(gates.baseline) if gates.baseline else None,
            others=others,
        )
        for line in () if asked.any else others:
            sys.stdout.flush()
            tell(line)
    say_written(written, on_stderr=printed is not None)
    if written and printed is None:
        print_gates(stored.record.gates)
    if asked.any:
        exit_for(stored.record.gates)
