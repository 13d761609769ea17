"""Write cells of a workbook: text stays text, NaN and infinities are left out, a text that is cut says so."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from assay.reports.text.plain import visible

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

Value = str | float | None
CELL_LIMIT: Final = 32_767
"""How much text an Excel cell holds, in UTF-16 code units."""
_LONGEST_NOTICE = 80
_FORMULA_STARTS = frozenset("=+-@\t\n|%")
LINE_POINTS: Final = 15.0
_NAME_WIDTH, WIDEST_NAME = 22.0, 40.0
"""Height of a line of text, in points."""

_TITLE_LENGTH: Final = 80
"""Excel has 255 characters for a page's header."""
_PAGE_WIDTH: Final = 215.0
"""The width of columns on a page in landscape: at about two thirds of its size, text is still legible."""
_PAPER_WIDTH, _PAPER_HEIGHT = 1010, 660
"""Pixels of A4 in landscape within its margins, a little less than there are."""
_LEAST_SCALE, _SPLIT_SCALE = 50, 65
"""The least scale at which text is legible, and that of a sheet that needs several pages side by side."""

INK, HEAD, RULE, SOFT = "#1F2933", "#1F3A5F", "#D5DCE4", "#F3F6FA"
DARK_BAR, LIGHT_BAR, TIME_BAR = "#1F5FA8", "#9CC0E7", "#5B8C5A"
VERDICT_COLOURS: Final = {
    "correct": ("#D9F0DD", "#1E6B34"),
    "incorrect": ("#FBDCDC", "#9B1C1C"),
    "unscored": ("#FFF0CC", "#7A5300"),
}
_TEXT = {"valign": "top", "font_color": INK}
_TABLE = {**_TEXT, "bottom": 1, "bottom_color": RULE}
_INDENT = {"align": "left", "indent": 1}
_HEAD = {
    "bold": True,
    "font_color": "#FFFFFF",
    "bg_color": HEAD,
    "text_wrap": True,
    "valign": "vcenter",
    "border": 1,
    "border_color": "#3D5A80",
}
SHARE_BANDS: Final = ((0, 0.5, "#F8CBAD"), (0.5, 0.7, "#FFE699"), (0.7, 0.9, "#E2EFDA"), (0.9, 9, "#A9D08E"))
"""Low end, high end and colour of shares, as in Denodo's own workbook: the ends are 50, 70 and 90 %."""
MARKS: Final[dict[str, list[tuple[str | dict[str, Any], dict[str, Any]]]]] = {
    "verdicts": [
        ({"type": "cell", "criteria": "==", "value": f'"{verdict}"'}, {"bg_color": background, "font_color": ink})
        for verdict, (background, ink) in VERDICT_COLOURS.items()
    ],
    # 1 has the colour of correct and 0 that of incorrect; a blank cell keeps its own.
    "yes_no": [
        (f"{{0}}={value}", {"font_color": VERDICT_COLOURS[verdict][1], "bold": True})
        for value, verdict in ((1, "correct"), (0, "incorrect"))
    ],
    "bands": [(f"{{0}}>={low},{{0}}<{high}", {"bg_color": colour}) for low, high, colour in SHARE_BANDS],
    # Redder towards 0: in tall rows bars would be huge blocks.
    "shades": [
        (
            {
                "type": "2_color_scale",
                "min_type": "num",
                "min_value": 0,
                "min_color": VERDICT_COLOURS["incorrect"][0],
                "max_type": "num",
                "max_value": 1,
                "max_color": "#FFFFFF",
            },
            {},
        )
    ],
    "times": [({"type": "2_color_scale", "min_color": "#FFFFFF", "max_color": "#F6C48B"}, {})],
}
"""What colours the cells of a column: rules of Excel, or formulas on a number in the cell ``{0}``; and the look."""
_STYLES: Final[dict[str, dict[str, Any]]] = {
    "head": _HEAD,
    "head_right": {**_HEAD, "align": "right"},
    "head_rest": {"bg_color": HEAD},
    "title": {"bold": True, "font_size": 14, "font_color": HEAD, "valign": "vcenter"},
    "section": {"bold": True, "font_size": 12, "font_color": HEAD, "valign": "vcenter"},
    "note": {"font_color": "#52606D", "valign": "top"},
    "plain": _TEXT,
    "beside": {**_TEXT, **_INDENT},
    "text": _TABLE,
    "indented": {**_TABLE, **_INDENT},
    "wrapped": {**_TABLE, **_INDENT, "text_wrap": True},
    "sql": {**_TABLE, **_INDENT, "text_wrap": True, "font_name": "Consolas", "font_size": 10},
    "name": {**_TABLE, "bold": True},
    "count": {**_TABLE, "num_format": "#,##0"},
    "id": {**_TABLE, "bold": True, "num_format": "0", "align": "left"},
    "name_wrapped": {**_TABLE, "bold": True, "text_wrap": True},
    "yes_no": {**_TABLE, "num_format": "0", "align": "center"},
    "number": {**_TABLE, "num_format": "0.000"},
    "score": {**_TABLE, "num_format": "0.000"},
    "seconds": {**_TABLE, "num_format": "0.00"},
    "fine_seconds": {**_TABLE, "num_format": "0.000"},
    "money": {**_TABLE, "num_format": "0.0000"},
    "percent": {**_TABLE, "num_format": "0.0 %"},
    # Only a full 1 reads 100.0 % and only a 0 reads 0.0 %, as in every other report.
    "percent_near_one": {**_TABLE, "num_format": '"99.9 %"'},
    "percent_near_zero": {**_TABLE, "num_format": '"0.1 %"'},
}


class Page:
    """One sheet, written row by row from the top: earlier rows are already on disk and cannot be written again."""

    def __init__(self, workbook: Workbook, name: str, *, centred: bool = False) -> None:
        """``centred`` puts text at the middle of its row's height, for sheets whose rows hold one line."""
        self.centred = centred
        self.name = name
        self.workbook = workbook
        self.sheet: Worksheet = workbook.add_worksheet(name)
        self._formats: dict[tuple[str, bool, bool, bool], Format] = {}
        self._charts: list[tuple[int, int, int]] = []
        """The row of each chart, and where it ends: the pixels from there down, and from the first column."""

    def prepare(self, names: Sequence[str]) -> None:
        """Make this a sheet of tables, printed in landscape, whose first column fits the names up to a limit."""
        self.sheet.hide_gridlines(2)
        self.sheet.set_default_row(LINE_POINTS + 2)
        self.sheet.set_column(0, 0, min(WIDEST_NAME, max(_NAME_WIDTH, 1.15 * max(map(len, names), default=0) + 2)))
        self.print_readably([1])

    def print_readably(self, widths: Sequence[float]) -> None:
        """Print in landscape on A4, on as many pages side by side as columns of these widths need to be legible."""
        self.sheet.set_landscape()
        self.sheet.set_paper(9)
        self.sheet.fit_to_pages(max(1, math.ceil(sum(widths) / _PAGE_WIDTH)), 0)
        self.sheet.set_margins(0.4, 0.4, 0.5, 0.6)
        self.sheet.set_footer("&L&A&RPage &P of &N")

    def insert_chart(self, row: int, chart: Any, *, right: int, down: int, left: int = 0, below: int = 0) -> None:
        """Insert a chart, ``left`` and ``below`` pixels from its row's start; it ends at ``right`` and ``down``."""
        self.sheet.insert_chart(row, 0, chart, {"x_offset": left, "y_offset": below, "object_position": 2})
        self._charts.append((row, down, right))

    def print_charts_whole(self) -> None:
        """Print at a scale at which no chart is wider than a page, and begin a page where one would break."""
        if not self._charts:
            return
        sheet, charts = self.sheet, sorted(self._charts)
        # Without the font of the workbook, columns and the charts on them become up to a third wider.
        widest = max(right for *_, right in charts) * 4 // 3
        whole = max(widest, sum(sheet._size_col(place) for place in range((sheet.dim_colmax or 0) + 1)))
        fitting = min(100, 100 * _PAPER_WIDTH // whole)
        scale = fitting if fitting >= _LEAST_SCALE else min(_SPLIT_SCALE, 100 * _PAPER_WIDTH // widest)
        sheet.set_print_scale(scale)
        room, used, row, breaks = 100 * _PAPER_HEIGHT // scale, 0, 0, list[int]()
        for place, down, _ in charts:
            for height in map(sheet._size_row, range(row, place)):
                used = height if used + height > room else used + height
            row = place
            if used and used + down > room:
                breaks.append(place)
                used = 0
        sheet.set_h_pagebreaks(breaks)

    def printed_title(self, *parts: str) -> None:
        """Print these texts above the sheet, as far as Excel has room for them."""
        shown = " · ".join(cell_text(one)[:_TITLE_LENGTH] for one in parts).replace("&", "&&")
        self.sheet.set_header(f"&L&B{shown}")

    def style(self, name: str, *, total: bool = False, quoted: bool = False, left: bool = False) -> Format:
        """The format of that name.

        ``total`` is for a row that sums up, ``quoted`` for text that looks like a formula, ``left``
        for a number in a column of mixed values.
        """
        key = (name, total, quoted, left)
        if key not in self._formats:
            properties = dict(_STYLES[name])
            if total:
                properties |= {"bold": True, "top": 2, "top_color": HEAD, "bg_color": SOFT}
            if quoted:
                properties["quote_prefix"] = True
            if self.centred:
                properties["valign"] = "vcenter"
            if left:
                properties |= _INDENT
            self._formats[key] = self.workbook.add_format(properties)
        return self._formats[key]

    def cell(
        self, row: int, column: int, value: Value, style: str = "text", *, total: bool = False, left: bool = False
    ) -> None:
        """Write a text as text, whatever it looks like, or a number.

        None, the empty text, NaN and the infinities leave the cell blank: Excel has no such numbers.
        """
        if isinstance(value, str) and value:
            text = cell_text(value)
            # The mark that Excel itself sets on '=1: the text stays text after the cell is edited.
            look = self.style(style, total=total, quoted=text[0] in _FORMULA_STARTS, left=left)
            self.sheet.write_string(row, column, text, look)
        elif isinstance(value, float | int) and math.isfinite(value):
            look = self.style(_BY_VALUE.get(style, lambda _: style)(value), total=total, left=left)
            self.sheet.write_number(row, column, value, look)
        else:
            self.sheet.write_blank(row, column, None, self.style(style, total=total, left=left))

    def head(self, row: int, names: Sequence[str], *, numbers: Collection[int] = (), lines: int = 1) -> None:
        """A row of column names; those over columns of ``numbers`` are at the right, as numbers are."""
        self.sheet.set_row(row, LINE_POINTS * lines + 6)
        for column, name in enumerate(names):
            if not name:
                self.sheet.write_blank(row, column, None, self.style("head_rest"))
                continue
            style = self.style("head_right" if column in numbers else "head")
            self.sheet.write_string(row, column, cell_text(name), style)

    def mark(self, marks: str, first_row: int, last_row: int, column: int) -> None:
        """Let Excel colour the cells of a column by their values (`MARKS`)."""
        from xlsxwriter.utility import xl_col_to_name

        top = f"{xl_col_to_name(column)}{first_row + 1}"
        for rule, look in MARKS[marks]:
            if isinstance(rule, str):
                criteria = f"=AND(ISNUMBER({top}),{rule.format(top)})"
                made = {"type": "formula", "criteria": criteria}
            else:
                made = dict(rule)
            if look:
                made["format"] = self.workbook.add_format(look)
            self.sheet.conditional_format(first_row, column, last_row, column, made)


def cell_text(text: str) -> str:
    """Text that any program can read from the workbook: hidden characters as marks, cut at Excel's limit.

    A cut text ends with how many of its characters are missing.
    """
    text = visible(text)
    if 2 * len(text) > CELL_LIMIT and _units(text) > CELL_LIMIT:
        kept = _cut(text, CELL_LIMIT - _LONGEST_NOTICE)
        text = f"{kept}\n… {len(text) - len(kept):,} more characters: a cell of Excel contains no more"
    # XlsxWriter takes a text between these two tags for markup of its own and would not escape it.
    return text + " " if text.startswith("<r>") and text.endswith("</r>") else text


def lines_of(text: str | None, width: float) -> int:
    """About how many lines a text takes if a line has ``width`` characters."""
    if not text:
        return 1
    if len(text) <= width and "\n" not in text:
        return 1
    return sum(max(1, math.ceil(len(line) / width)) for line in text[:2000].split("\n"))


def word_width(name: str) -> float:
    """The width at which a bold column name wraps between its words only."""
    return 1.2 * max(map(len, name.split()), default=0) + 2


def _percent_style(value: float) -> str:
    if 0.9995 <= value < 1.0:
        return "percent_near_one"
    return "percent_near_zero" if 0.0 < value < 0.0005 else "percent"


def _score_style(value: float) -> str:
    return "yes_no" if value in (0, 1) else "number"


_BY_VALUE: Final = {"percent": _percent_style, "score": _score_style}
"""The styles that depend on the number."""


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _cut(text: str, units: int) -> str:
    """As much of a text as fits, never half a character."""
    return text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore")
