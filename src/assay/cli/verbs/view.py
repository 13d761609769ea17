"""`assay view`: the report of a run, or of two, in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from assay.cli.options.declared import duration_option
from assay.cli.options.stored_runs import A_RUN, check_different
from assay.cli.parsing.parameters import argument, option


def view(
    run: Annotated[Path, argument(metavar="RUN", help="Folder of a finished run, or of several runs."), A_RUN],
    candidate: Annotated[Path | None, argument(metavar="RUN_B", help="Second run to compare with RUN."), A_RUN] = None,
    port: Annotated[
        int,
        option(
            metavar="PORT", least=0, most=65535, help="Port to listen on. [default: a free one]", show_default=False
        ),
    ] = 0,
    browser: Annotated[bool, option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    idle: Annotated[float | None, duration_option("--idle", "Time without a request after which to end.")] = None,
) -> None:
    """Show a run's HTML report in a browser, on 127.0.0.1 only, until Ctrl-C. A reload shows the run as it then is.

    Example:  assay view runs/first

    Two runs, the same cases side by side:  assay view runs/main runs/new

    A folder of runs, with their leaderboard and every comparison; new runs come by themselves:  assay view runs
    """
    runs = [run, candidate] if candidate is not None else [run]
    check_different(runs)
    from assay.cli.view.folder import FolderSite, draw_report, holds_runs
    from assay.cli.view.server import LivePage, OnePage, ReportServer, Site
    from assay.cli.view.serving import serve

    try:
        many = len(runs) == 1 and holds_runs(runs[0])
        site: Site = FolderSite(runs[0]) if many else OnePage(LivePage(runs, lambda: draw_report(runs)))
        # Drawn before the address is printed: a run that cannot be shown ends here.
        site.find("/", "")
        with ReportServer(site, port) as server:
            what = f"the runs in {runs[0]} are" if many else f"the report of {' and '.join(map(str, runs))} is"
            serve(server, server.url, f"{what} at this address; Ctrl-C ends it", browser=browser, idle=idle)
    except KeyboardInterrupt:
        click.echo("", err=True)  # the terminal has written ^C
