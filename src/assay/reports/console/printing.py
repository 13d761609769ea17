"""Print the drawn form to a terminal, plain lines to anything else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def print_either(
    drawn: Callable[[int], Iterable[RenderableType]], plain: Callable[[], str], console: Console | None
) -> None:
    """Print what ``drawn`` gives for the terminal's width, without colour where NO_COLOR is set; else ``plain``."""
    if console is None and is_surely_plain():
        _write_plain(sys.stdout, getattr(sys.stdout, "encoding", None) or "utf-8", plain)
        return
    from rich.console import Console

    console = console or Console(highlight=False)
    if console.is_terminal and not console.options.ascii_only:
        console.print(*drawn(console.width), sep="\n", highlight=False, markup=False)
        return
    _write_plain(console.file, console.encoding, plain)


_FORCING = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Environment variables by which a user can have what is no terminal treated as one."""


def is_surely_plain() -> bool:
    """Whether standard output is no terminal, and nothing says otherwise: then rich need not be imported to know it."""
    if any(name in os.environ for name in _FORCING):
        return False
    try:
        return not sys.stdout.isatty()
    except (AttributeError, ValueError):  # replaced, or closed
        return False


def _write_plain(file: IO[str], encoding: str, plain: Callable[[], str]) -> None:
    # A terminal or pipe that is not UTF-8 gets question marks rather than a traceback.
    file.write(plain().encode(encoding, "replace").decode(encoding))
