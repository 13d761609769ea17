"""`assay view`: a run's report in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.cli.view_server import ReportServer


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Listen on this port. [default: a free one]")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in a browser.")] = True,
    idle: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="End after this long without a request.")
    ] = None,
) -> None:
    """Show a run's HTML report in a browser, on 127.0.0.1 only, until Ctrl-C. A reload shows the run as it then is.

    Example:  assay view runs/first
    """
    if idle is not None and not idle > 0:
        raise UsageError(f"--idle {idle:g}: expected a number of seconds above 0, or no --idle at all")
    try:
        _serve(run, port=port, browser=browser, idle=idle)
    except KeyboardInterrupt:
        typer.echo("", err=True)  # the terminal has written ^C


def _serve(run: Path, *, port: int, browser: bool, idle: float | None) -> None:
    from assay.cli.view_server import LivePage, ReportServer

    page = LivePage((run,), lambda: _report(run))
    # Drawn before anybody is told of an address: a run that cannot be shown ends here.
    page.current()
    with ReportServer(page, port) as server:
        print(server.url, flush=True)
        typer.echo(f"assay: the report of {run} is at this address; Ctrl-C ends it", err=True)
        if browser:
            _open(server)
        server.serve_until_idle(idle)
    typer.echo(f"assay: ended after {idle:g} s without a request", err=True)


def _report(run: Path) -> bytes:
    from assay import registry
    from assay.api import load_run

    return registry.reporter("html").render(load_run(run).record)


def _open(server: ReportServer) -> None:
    """Open the address, from a thread: some browsers keep their caller until they are closed."""
    import threading
    import webbrowser

    def opened() -> None:
        if not webbrowser.open(server.url):
            print("assay: no browser was found here: open the address in one", file=sys.stderr)

    threading.Thread(target=opened, daemon=True, name="assay-view-browser").start()
