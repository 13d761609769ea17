"""What a terminal of some width shows."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console

from assay.model import Run
from assay.reports.console.run import print_summary


def drawn_by(printed: Callable[[Console], None], *, width: int, colour: bool = False) -> str:
    """What is printed, as a terminal of that width shows it."""
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        no_color=not colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
    )
    with console.capture() as captured:
        printed(console)
    return captured.get()


def draw_summary(run: Run, *, width: int, colour: bool = False, run_path: str | None = None) -> str:
    """The summary of a run as a terminal of that width shows it."""
    return drawn_by(lambda console: print_summary(run, console=console, run_path=run_path), width=width, colour=colour)
