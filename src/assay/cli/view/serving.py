"""Serve a site until it is ended, with its address printed and opened."""

from __future__ import annotations

import click

from assay.cli.messages import say
from assay.cli.view.server import ReportServer


def serve(server: ReportServer, address: str, said: str, *, browser: bool, idle: float | None) -> None:
    """Print the address, open it, and answer until Ctrl-C, or until nothing was asked for ``idle`` seconds."""
    try:
        print(address, flush=True)
        say(said)
        if browser:
            # Open the address, from a thread: some browsers keep their caller until they are closed.
            import threading
            import webbrowser

            def opened() -> None:
                if not webbrowser.open(address):
                    say("no browser was found here: open the address in one")

            threading.Thread(target=opened, daemon=True, name="assay-view-browser").start()
        server.serve_until_idle(idle)
        say(f"ended after {idle:g} s without a request")
    except KeyboardInterrupt:
        click.echo("", err=True)  # the terminal has written ^C
