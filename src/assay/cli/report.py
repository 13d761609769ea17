"""`assay report`: draw a stored run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.gate_options import (
    AlphaOption,
    BaselineOption,
    FailOnRegressionOption,
    MaxDropOption,
    MinAccuracyOption,
    MinOption,
    MustPassOption,
    exit_for,
    gathered,
    print_gates,
)
from assay.cli.inputs import ToOption


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one self-contained HTML file.")] = None,
    md: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write Markdown, fit for a pull request; - prints it.")
    ] = None,
    xlsx: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an Excel workbook: summary, charts, every case.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML, for a CI server.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all numbers and cases as JSON.")] = None,
    to: ToOption = None,
    minimum: MinOption = None,
    min_accuracy: MinAccuracyOption = None,
    max_drop: MaxDropOption = None,
    fail_on_regression: FailOnRegressionOption = False,
    alpha: AlphaOption = None,
    must_pass: MustPassOption = None,
    baseline: BaselineOption = None,
    history: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="With --html: draw the trend since the folder's earlier runs.")
    ] = None,
) -> None:
    """Draw a stored run: on the terminal, or as files ('-': standard output). Nothing is asked or executed again.

    With gates it also says whether the run reaches them, and ends with status 1 where it does not.

    Example:  assay report runs/first --html report.html
    """
    from assay.api import Run, load_run
    from assay.api.gates import keeper_of
    from assay.cli.output import printed_report, say_written, show, with_targets, write_reports
    from assay.runs.metric_infos import knowing

    targets = with_targets({"html": html, "md": md, "xlsx": xlsx, "junit": junit, "json": json}, to)
    printed = printed_report(targets)
    stored = load_run(run)
    gates = gathered(
        minimum=minimum,
        min_accuracy=min_accuracy,
        max_drop=max_drop,
        fail_on_regression=fail_on_regression,
        alpha=alpha,
        must_pass=must_pass,
        run=stored.settings,
    )
    infos = knowing(stored.settings)
    keeper = keeper_of(gates, stored.settings.metrics, baseline=baseline, output=run, infos=infos)
    stored = Run(keeper.judged(stored.record))
    if history is not None:
        from assay.api.history import with_history

        stored = with_history(stored, history)
    written = write_reports(stored, targets.items())
    if not written and printed is None:
        show(stored, as_json=False, folder=run)
    say_written(written, on_stderr=printed is not None)
    if written and printed is None:
        print_gates(stored.record.gates)
    exit_for(stored.record.gates)
