"""How numbers, cells and text from outside read in every report.

Questions, queries, cells and error messages come from outside. Before any format draws them, what
a reader could not see (control characters, bidirectional overrides, lone surrogates) becomes a
visible mark such as ⟨U+202E⟩; escaping for HTML or Markdown is left to the format.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import zip_longest
from typing import Literal
from unicodedata import east_asian_width

from msgspec import Struct

from assay.errors import plural as plural  # noqa: PLC0414 - reports import it from here
from assay.model import Cell, Cost, Rate
from assay.model.results.times import Clock, Interval, Moment

CellKind = Literal["null", "text", "number", "bytes", "boolean", "time", "other"]

_HIDDEN_IN_PROSE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# Joiners shape Persian and emoji, so prose keeps them; in a cell they would be an invisible difference.
_HIDDEN_IN_CELL = re.compile(_HIDDEN_IN_PROSE.pattern[:-1] + "\t\n\u200c\u200d]")
_SHORT_MARKS = {"\n": "⏎", "\t": "⇥"}
_LOOKS_LIKE_NUMBER = re.compile(r"[+-]?(\d|\.\d|inf|nan)", re.IGNORECASE)
_MODEL = re.compile(r"/deployments/([^/ ]+)/| model=(\S+)")
_CELL_LENGTH = 80
_SHORT, _LONGEST_FLOAT = 10**9, 24
_TENTH, _HUNDREDTH = Decimal("0.1"), Decimal("0.01")
_NAMED = frozenset({"null", "none", "true", "false"})
_DOUBTFUL_STARTS = frozenset(["", *" '\"+-.0123456789iInNtTfF"])
"""How text begins that may look like another kind of cell, and empty text."""


class CellText(Struct, frozen=True, array_like=True, gc=False):
    """One cell as a reader sees it. ``cut`` counts the characters (bytes, for bytes) that are not shown."""

    kind: CellKind
    text: str
    cut: int = 0

    @property
    def whole(self) -> str:
        """The text, and how much of it is missing."""
        return f"{self.text}… +{self.cut:,}" if self.cut else self.text


def visible(text: str) -> str:
    """Prose, queries and messages with every hidden character shown as a mark; line breaks and tabs stay."""
    if text.isascii() and text.isprintable():  # nearly every text of a report is, and reports have millions
        return text
    text = text.replace("\r\n", "\n")
    return _HIDDEN_IN_PROSE.sub(_mark, text) if _HIDDEN_IN_PROSE.search(text) else text


def one_line(text: str, *, limit: int | None = None) -> str:
    """As `visible`, on one line and cut at ``limit`` characters, with an ellipsis if it was cut."""
    flat = text
    if not (text.isascii() and text.isprintable()) or "  " in text or text[:1] == " " or text[-1:] == " ":
        flat = " ".join(visible(text).split())
    return flat if limit is None or len(flat) <= limit else flat[: max(0, limit - 1)].rstrip() + "…"


def distinct(names: Sequence[str]) -> list[str]:
    """The same names, made different: the first keeps its name, later ones read ``name~2``.

    A name that occurs once is never changed. The result has as many names, all different.
    """
    taken = set(names)
    seen: dict[str, int] = {}
    made = []
    for name in names:
        number = seen.get(name, 0) + 1
        chosen = name
        while number > 1 and (chosen := f"{name}~{number}") in taken:
            number += 1
        seen[name] = number
        taken.add(chosen)
        made.append(chosen)
    return made


def clipped(text: str, *, limit: int) -> str:
    """As `visible`, cut at ``limit`` characters, saying how many are missing."""
    shown = visible(text[: limit + 1])
    return shown if len(text) <= limit else f"{visible(text[:limit])}\n… {len(text) - limit:,} more characters"


def cell_text(cell: Cell, *, limit: int = _CELL_LENGTH) -> CellText:
    """The text of a cell: NULL is a marked word, dates are ISO, bytes hexadecimal, long cells cut with a count.

    Text is in quotes if it could be taken for something else: empty, like a number, like
    NULL, with spaces at an end, or with characters that do not show.
    """
    # The most frequent types first.
    if type(cell) is str:
        return _text_cell(cell, limit)
    if (type(cell) is int and -_SHORT < cell < _SHORT) or (type(cell) is float and limit >= _LONGEST_FLOAT):
        return CellText("number", repr(cell))
    match cell:
        case None:
            return CellText("null", "NULL")
        case bool():
            return CellText("boolean", "true" if cell else "false")
        case str():
            return _text_cell(cell, limit)
        case int() | float() | Decimal():
            return _cut("number", _number(cell), limit)
        case bytes() | bytearray() | memoryview():
            raw = bytes(cell)
            shown = raw[: limit // 2]
            return CellText("bytes", f"x'{shown.hex()}'", len(raw) - len(shown))
        case datetime():
            return CellText("time", cell.isoformat(sep=" "))
        case date() | time():
            return CellText("time", cell.isoformat())
        case timedelta() | Moment() | Clock() | Interval():
            return CellText("time", str(cell))
        case _:
            return _cut("other", _HIDDEN_IN_CELL.sub(_mark, str(cell)[: 4 * limit]), limit)


def percent(value: float | None, *, share: bool = True) -> str:
    """``71.2 %``; without ``share`` ``1.25``; ``n/a`` for None. Only a full 1 reads 100.0 %, only a 0 reads 0.0 %."""
    return "n/a" if value is None else f"{_percent_digits(value)} %" if share else number(value)


def hundredths(value: float | None) -> str:
    """``0.75``. Only a full 1 reads 1.00 and only a 0 reads 0.00. None reads ``n/a``."""
    if value is None:
        return "n/a"
    # Halves go up, on the decimal that a reader sees, as in all reports.
    shown = str(Decimal(f"{value:.12g}").quantize(_HUNDREDTH, ROUND_HALF_UP))
    if shown == "1.00" and value < 1.0:
        return "0.99"
    return "0.01" if shown == "0.00" and value > 0.0 else shown


def interval(rate: Rate, *, share: bool = True) -> str:
    """``[68.4, 73.9]`` in percent, or nothing if the rate has no interval."""
    if rate.low is None or rate.high is None:
        return ""
    digits = _percent_digits if share else number
    return f"[{digits(rate.low)}, {digits(rate.high)}]"


def number(value: float) -> str:
    """A count or sum: ``1,034``, or ``750.25`` if it is not whole."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def seconds(value: float | None) -> str:
    """A duration: ``< 0.1 ms``, ``12 ms``, ``3.4 s``, ``2 min 5 s``; ``n/a`` for None."""
    if value is None:
        return "n/a"
    if value < 0.9995:
        milliseconds = value * 1000
        if 0 < milliseconds < 0.05:
            return "< 0.1 ms"
        return f"{milliseconds:.1f} ms" if milliseconds < 9.95 else f"{milliseconds:.0f} ms"
    if value < 59.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes:,} min {rest} s"


def billed(cost: Cost) -> str:
    """``1.2 GiB by 40 queries``: what a warehouse bills."""
    parts = [] if cost.bytes_billed is None else [binary_size(cost.bytes_billed)]
    parts += [] if cost.credits is None else [f"{cost.credits:,.4g} credits"]
    amount = ", ".join(parts) or "an amount that the service does not tell"
    return f"{amount} by {plural(cost.queries, 'query', 'queries')}"


def binary_size(size: float) -> str:
    """``1.2 GiB``: a number of bytes."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:,.4g} {unit}"
        size /= 1024
    return f"{size:,.4g} TiB"


def left_out(rows: int, columns: int) -> list[str]:
    """The line below a cut table: ``… and 3 more rows and 1 more column``; none if nothing is left out."""
    parts = [plural(count, f"more {noun}") for count, noun in ((rows, "row"), (columns, "column")) if count > 0]
    return [f"… and {' and '.join(parts)}"] if parts else []


def unscored(rate: Rate) -> str:
    """``3 unscored``; empty if nothing is."""
    return f"{rate.unscored:,} unscored" if rate.unscored else ""


def words(name: str) -> str:
    """A name of the vocabulary as words: ``superset_columns`` reads ``superset columns``."""
    return one_line(name.replace("_", " "))


def source_name(path: str) -> str:
    """A file's name without folders and suffix, a model's name, or a live system's host and path."""
    if path.startswith("chat:") and (model := _MODEL.search(path)):
        return model[1] or model[2]
    if "://" in path:
        path = path.split(" ", 1)[0]  # the address of a live system is followed by how it is asked
        return path.partition("://")[2].removesuffix("/chat/completions").partition("?")[0].rstrip("/") or path
    name = re.split(r"[/\\]", path.rstrip("/\\"))[-1]
    return name.rsplit(".", 1)[0] or name


def grid_lines(
    rows: Sequence[Sequence[str]], *, right: Collection[int] = (), gap: str = " | ", rule: str = ""
) -> list[str]:
    """Rows as lines of aligned cells, those of the columns in ``right`` to the right; wide letters take two places.

    ``rule`` joins the lines of dashes under the first row; without it there are none.
    """
    widths = [max(map(columns_of, column)) for column in zip_longest(*rows, fillvalue="")]
    lines = []
    for row in rows:
        cells = []
        for place, (text, width) in enumerate(zip(row, widths, strict=False)):
            blanks = " " * (width - columns_of(text))
            cells.append(blanks + text if place in right else text + blanks)
        lines.append(gap.join(cells).rstrip())
    if rule:
        lines.insert(1, rule.join("-" * width for width in widths))
    return lines


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """Rows in aligned and indented columns, those in ``right`` to the right."""
    return [f"  {line}" for line in grid_lines(rows, right=right, gap="  ")]


def columns_of(text: str) -> int:
    """How many columns of a fixed-width line a text takes."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _percent_digits(value: float) -> str:
    # Halves go up, on the decimal that a reader sees, as in spreadsheets: 31.25 reads 31.3 in all reports.
    if abs(value) < 1e9:
        shown = str(Decimal(f"{value * 100:.12g}").quantize(_TENTH, ROUND_HALF_UP))
    else:
        shown = f"{value * 100:.1f}"
    if shown == "100.0" and value < 1.0:
        return "99.9"
    if shown in ("0.0", "-0.0"):
        return "0.1" if value > 0.0 else "0.0"
    return shown


def _text_cell(text: str, limit: int) -> CellText:
    if (
        len(text) <= limit
        and text.isascii()
        and text.isprintable()
        and text[:1] not in _DOUBTFUL_STARTS
        and text[-1] != " "
        and "  " not in text
    ):
        return CellText("text", text)
    shown = text[:limit]
    marked = _HIDDEN_IN_CELL.sub(_mark, shown)
    doubtful = (
        not text
        or marked != shown
        or text != text.strip()
        or "  " in shown
        or text.lower() in _NAMED
        or shown[0] in "'\"⟨"
        or _LOOKS_LIKE_NUMBER.match(shown) is not None
    )
    return CellText("text", f"'{marked}'" if doubtful else marked, len(text) - len(shown))


def _number(value: float | Decimal) -> str:
    if isinstance(value, int) and value.bit_length() > 1000:
        # Python refuses to print integers of more than 4,300 digits, and 300 digits are already too many to read.
        return f"{'-' if value < 0 else ''}an integer of {value.bit_length():,} bits"
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    return str(value)


def _cut(kind: CellKind, text: str, limit: int) -> CellText:
    return CellText(kind, text[:limit], max(0, len(text) - limit))


def _mark(found: re.Match[str]) -> str:
    character = found.group()
    return _SHORT_MARKS.get(character) or f"⟨U+{ord(character):04X}⟩"


_DIGITS = range(2, 7)


def points(value: float | None, *, signed: bool = True, share: bool = True) -> str:
    """A difference of shares in percentage points: ``+2.3``, ``-0.04`` if a tenth would hide it, ``0.0``.

    None reads ``n/a``. Without ``signed`` only the size; without ``share`` the difference itself.
    """
    if value is None:
        return "n/a"
    exact = Decimal(f"{value * (100 if share else 1):.12g}")
    shown = exact.quantize(_TENTH, ROUND_HALF_UP)
    if exact and not shown:
        shown = exact.quantize(_HUNDREDTH, ROUND_HALF_UP)
    size = f"{abs(shown):,}"
    if not signed:
        return size
    return f"+{size}" if exact > 0 else f"-{size}" if exact < 0 else size


def points_interval(low: float | None, high: float | None, *, share: bool = True) -> str:
    """``[-9.8, +0.7]``, or nothing without an interval: signed like the difference, candidate minus baseline."""
    return "" if low is None or high is None else f"[{points(low, share=share)}, {points(high, share=share)}]"


def p_text(value: float | None, *, alpha: float) -> str:
    """``0.003``, ``0.27``, ``< 0.001``, never rounded across ``alpha``; nothing for None."""
    if value is None:
        return ""
    if value < 0.001 and alpha > 0.001:
        return "< 0.001"
    for digits in _DIGITS:
        shown = f"{value:.{digits}f}"
        if (digits > 2 or value >= 0.1) and _side(float(shown), alpha) == _side(value, alpha):
            return shown
    return f"{value:.1g}"


def _side(value: float, alpha: float) -> int:
    """-1, 0 or 1: below, at or above ``alpha``."""
    return (value > alpha) - (value < alpha)


def p_said(value: float | None, *, alpha: float) -> str:
    """``p = 0.003``, ``p < 0.001``; nothing for None."""
    shown = p_text(value, alpha=alpha)
    return shown and (f"p {shown}" if shown.startswith("<") else f"p = {shown}")


def some(count: int) -> str:
    """An estimated count of cases, rounded up to two digits: 873 reads ``880``, 12,345 reads ``13,000``."""
    step = 10 ** max(0, len(str(count)) - 2)
    return f"{-(-count // step) * step:,}"
