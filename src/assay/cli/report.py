"""`assay report`: draw a stored run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one self-contained HTML file.")] = None,
    md: Annotated[Path | None, typer.Option(metavar="FILE", help="Write Markdown, fit for a pull request.")] = None,
    xlsx: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an Excel workbook: summary, charts, every case.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML, for a CI server.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all numbers and cases as JSON.")] = None,
    history: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="With --html: draw the trend since the folder's earlier runs.")
    ] = None,
) -> None:
    """Draw a stored run: on the terminal, or as files. Nothing is asked or executed again.

    Example:  assay report runs/first --html report.html
    """
    from assay.api import load_run
    from assay.cli.output import show, write_reports

    stored = load_run(run)
    if history is not None:
        from assay.api.history import with_history

        stored = with_history(stored, history)
    written = write_reports(stored, [("html", html), ("md", md), ("xlsx", xlsx), ("junit", junit), ("json", json)])
    if not written:
        show(stored, as_json=False, folder=run)
    for path in written.values():
        typer.echo(f"wrote {path}")
