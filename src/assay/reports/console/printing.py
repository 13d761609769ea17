"""Print the drawn form to a terminal, plain lines to anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def print_either(
    drawn: Callable[[int], Iterable[RenderableType]], plain: Callable[[], str], console: Console | None
) -> None:
    """Print what ``drawn`` gives for the terminal's width, without colour where NO_COLOR is set; else ``plain``."""
    from rich.console import Console

    console = console or Console(highlight=False)
    if console.is_terminal and not console.options.ascii_only:
        console.print(*drawn(console.width), sep="\n", highlight=False, markup=False)
        return
    # A terminal or pipe that is not UTF-8 gets question marks rather than a traceback.
    console.file.write(plain().encode(console.encoding, "replace").decode(console.encoding))
