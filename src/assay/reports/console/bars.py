"""Bars of shares, ranges and differences, drawn with signs for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from assay.reports.blocks.values import DiffFigure, Direction, Figure

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.text import Text

LEAST_BAR, GOOD_BAR = 10, 20
WIDEST_BAR = 40
_AXIS: Final = ("─", "bright_black")
COLOURS: Final[dict[Direction, str]] = {"better": "green", "worse": "red", "unclear": "yellow", "unknown": "default"}


class Stretched:
    """Text that is drawn to the width that a column of a rich table has, within the bounds of a bar."""

    def __init__(self, draw: Callable[[int], Text]) -> None:
        self._draw = draw

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import Measurement

        return Measurement(min(LEAST_BAR, options.max_width), min(WIDEST_BAR, options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield self._draw(min(WIDEST_BAR, options.max_width))


class Bars:
    """The bars of one column, all on one scale.

    ``ranged``: the scale is that of the intervals, and not 0 to 1; differences always have zero in the middle.
    """

    def __init__(self, figures: Sequence[Figure | DiffFigure], *, ranged: bool) -> None:
        ends = [end for one in figures if (found := _ends(one)) is not None for end in found]
        self.signed = any(isinstance(one, DiffFigure) for one in figures)
        self.marked = self.signed or ranged
        """Whether a bar is its interval on an axis, and not filled up to the value."""
        self.low, self.high = 0.0, 1.0
        if self.signed:
            self.high = max([0.01, *map(abs, ends)])
            self.low = -self.high
        elif ranged and ends:  # all intervals, rounded outwards to whole tenths
            self.low = int(min(ends) * 10 // 1) / 10
            self.high = max(-int(-max(ends) * 10 // 1) / 10, self.low + 0.1)

    def head(self) -> Stretched:
        """The ends of the scale."""
        return Stretched(self._head)

    def drawn(self, figure: Figure | DiffFigure) -> Stretched:
        """The bar of one figure."""
        if self.marked or isinstance(figure, DiffFigure):
            return Stretched(lambda cells: self._mark(figure, cells))
        return Stretched(lambda cells: bar(figure, cells))

    def _cells(self, cells: int) -> int:
        return cells - 1 + cells % 2 if self.signed else cells  # an odd number has a middle

    def _head(self, cells: int) -> Text:
        from rich.text import Text

        if not self.marked:
            return Text()
        cells, form = self._cells(cells), "+.1f" if self.signed else ".3g"
        low, high = (f"{end * 100:{form}}" for end in (self.low, self.high))
        half = cells // 2
        if self.signed and half < len(high) + 1:
            return Text("0".center(cells), style="dim")
        middle = low.ljust(half) + "0" if self.signed else low
        return Text(middle + high.rjust(cells - len(middle)), style="dim")

    def _mark(self, figure: Figure | DiffFigure, cells: int) -> Text:
        """The interval as a thick line on the axis, the value as a dot on it."""
        from rich.text import Text

        cells, ends = self._cells(cells), _ends(figure)
        colour = COLOURS[figure.direction] if isinstance(figure, DiffFigure) else "cyan"
        signs, zero = [_AXIS] * cells, cells // 2
        places = [
            round(min(1.0, max(0.0, (end - self.low) / (self.high - self.low))) * (cells - 1)) for end in ends or ()
        ]
        for cell in range(min(places), max(places) + 1) if places else ():
            signs[cell] = ("━", colour)
        if self.signed:
            signs[zero] = ("┼", "bright_black") if signs[zero] == _AXIS else ("┿", colour)
        if places:
            signs[places[1]] = ("●", f"bold {colour}")
        return Text.assemble(*signs)


def _ends(one: Figure | DiffFigure) -> tuple[float, float, float] | None:
    """The low end, the value and the high end; None for a metric that is not a share: only its axis is drawn."""
    numbers, value = (one.diff, one.diff.difference) if isinstance(one, DiffFigure) else (one.rate, one.rate.value)
    if value is None or not one.share:
        return None
    return value if numbers.low is None else numbers.low, value, value if numbers.high is None else numbers.high


def shade(figure: Figure) -> str:
    """The colour of a share: good, middling, poor."""
    value = figure.rate.value
    if value is None:
        return "default"
    return "green" if value >= 0.8 else "yellow" if value >= 0.5 else "red"


def bar(figure: Figure, cells: int) -> Text:
    """A bar up to the value: solid to the interval's lower end, thin to its upper one."""
    from rich.text import Text

    return Text.assemble(*bar_pieces(figure, cells), no_wrap=True)


def bar_pieces(figure: Figure, cells: int) -> list[tuple[str, str]]:
    """The pieces of that bar, each with its style."""
    if (ends := _ends(figure)) is None:
        return [("·" * cells, "dim")]
    colour = shade(figure)
    sure, value, possible = (round(min(1.0, max(0.0, part)) * cells) for part in ends)
    pieces = (
        ("━" * sure, colour),
        ("━" * (value - sure), f"{colour} dim"),
        ("╌" * (possible - value), colour),
        ("─" * (cells - possible), "bright_black"),
    )
    return [piece for piece in pieces if piece[0]]
