"""Bars of shares, ranges and differences, drawn with signs for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from assay.reports.blocks.values import DiffFigure, Direction, Figure

if TYPE_CHECKING:
    from rich.text import Text

LEAST_BAR, GOOD_BAR = 11, 21
_WIDEST_BAR = 40
_GOOD, _MIDDLING, _POOR = "green", "yellow", "red"
COLOURS: Final[dict[Direction, str]] = {"better": "green", "worse": "red", "unclear": "yellow", "unknown": "default"}


def column_of_bars(
    figures: Sequence[Figure | DiffFigure], room: int, *, ranged: bool
) -> tuple[Text, list[Text]] | None:
    """A head and a bar per figure, as wide as there is room, all on one scale; None where the bars would say nothing.

    ``ranged``: the scale is that of the intervals, and not 0 to 1; differences always have zero in the middle.
    """
    from rich.text import Text

    rates = [one for one in figures if isinstance(one, Figure)]
    differences = [one for one in figures if isinstance(one, DiffFigure)]
    if differences:
        cells = min(_WIDEST_BAR + 1, room) // 2 * 2 - 1
        if cells < LEAST_BAR - 2:
            return None
        scale = max([0.01, *(abs(end) for one in differences for end in _ends(one))])
        return _axis(cells, scale), [_interval_bar(one, cells, scale) for one in differences]
    if not ranged:
        cells = max(LEAST_BAR - 1, min(_WIDEST_BAR, room))
        return Text(), [bar(one, cells) for one in rates]
    if room < LEAST_BAR - 1:
        return None
    cells = min(_WIDEST_BAR, room)
    low, high = range_of(rates)
    ends = [f"{end * 100:.3g}" for end in (low, high)]
    head = Text(ends[0].ljust(cells - len(ends[1])) + ends[1], style="dim")
    return head, [range_bar(one, cells, low, high) for one in rates]


def shade(figure: Figure) -> str:
    """The colour of a share: good, middling, poor."""
    value = figure.rate.value
    if value is None:
        return "default"
    return _GOOD if value >= 0.8 else _MIDDLING if value >= 0.5 else _POOR


def bar(figure: Figure, cells: int) -> Text:
    """A bar up to the value: solid to the interval's lower end, thin to its upper one."""
    from rich.text import Text

    rate = figure.rate
    drawn = Text(no_wrap=True)
    if rate.value is None or not figure.share:
        return drawn.append("·" * cells, style="dim")
    low = rate.value if rate.low is None else rate.low
    high = rate.value if rate.high is None else rate.high
    sure, value, possible = (round(min(1.0, max(0.0, part)) * cells) for part in (low, rate.value, high))
    drawn.append("━" * sure, style=shade(figure))
    drawn.append("━" * (value - sure), style=f"{shade(figure)} dim")
    drawn.append("╌" * (possible - value), style=shade(figure))
    return drawn.append("─" * (cells - possible), style="bright_black")


def range_of(figures: Sequence[Figure]) -> tuple[float, float]:
    """The span of range bars: all intervals, rounded outwards to whole tenths."""
    rates = [figure.rate for figure in figures]
    ends = [end for rate in rates for end in (rate.low, rate.value, rate.high) if end is not None]
    if not ends:
        return 0.0, 1.0
    low, high = int(min(ends) * 10 // 1) / 10, -int(-max(ends) * 10 // 1) / 10
    return low, max(high, low + 0.1)


def range_bar(figure: Figure, cells: int, low: float, high: float) -> Text:
    """The interval as a thick line, the value as a dot on it."""
    from rich.text import Text

    def place(value: float) -> int:
        return round(min(1.0, max(0.0, (value - low) / (high - low))) * (cells - 1))

    signs = [("─", "bright_black")] * cells
    rate = figure.rate
    if rate.value is not None:
        for cell in range(place(rate.value if rate.low is None else rate.low), place(rate.high or rate.value) + 1):
            signs[cell] = ("━", "cyan")
        signs[place(rate.value)] = ("●", "bold cyan")
    return Text.assemble(*signs)


def _ends(one: DiffFigure) -> list[float]:
    """The numbers that the bar shows; none for a metric that is not a share: only its axis is drawn."""
    return [end for end in (one.diff.low, one.diff.high, one.diff.difference) if end is not None and one.share]


def _interval_bar(one: DiffFigure, cells: int, scale: float) -> Text:
    """The interval as a thick line on an axis whose middle is zero, the difference as a dot on it."""
    from rich.text import Text

    def place(value: float) -> int:
        return round((value / scale + 1) / 2 * (cells - 1))

    signs = [("─", "bright_black")] * cells
    colour = COLOURS[one.direction]
    ends = [place(end) for end in _ends(one)]
    for cell in range(min(ends), max(ends) + 1) if ends else ():
        signs[cell] = ("━", colour)
    zero = cells // 2
    signs[zero] = ("┿", colour) if ends and min(ends) <= zero <= max(ends) else ("┼", "bright_black")
    if ends and one.diff.difference is not None:
        signs[place(one.diff.difference)] = ("●", f"bold {colour}")
    return Text.assemble(*signs)


def _axis(cells: int, scale: float) -> Text:
    from rich.text import Text

    end = f"{scale * 100:.1f}"
    low, high = f"-{end}", f"+{end}"
    half = cells // 2
    if half < len(high) + 1:
        return Text("0".center(cells), style="dim")
    return Text(low.ljust(half) + "0" + high.rjust(cells - half - 1), style="dim")
