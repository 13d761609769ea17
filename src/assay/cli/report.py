"""`assay report`: draw a stored run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


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
) -> None:
    """Draw a stored run: on the terminal, or as files. Nothing is asked or executed again.

    Example:  assay report runs/first --html report.html
    """
    from assay.api import load_run
    from assay.cli.output import printed_report, show, write_reports

    targets = {"html": html, "md": md, "xlsx": xlsx, "junit": junit, "json": json}
    printed = printed_report(targets)
    stored = load_run(run)
    written = write_reports(stored, targets.items())
    if not written and printed is None:
        show(stored, as_json=False, folder=run)
    for path in written.values():
        typer.echo(f"wrote {path}", err=printed is not None)
