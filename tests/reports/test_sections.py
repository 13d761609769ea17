"""A section that no format has heard of stands in all of them, by the kinds of its blocks and cells alone."""

from __future__ import annotations

import io
from collections.abc import Callable

from pages import Page as Read
from python_calamine import CalamineWorkbook

from assay.model import Rate
from assay.reports.blocks.lines import text_columns
from assay.reports.blocks.values import (
    CaseLink,
    Column,
    Description,
    Figure,
    Name,
    Number,
    Query,
    Row,
    Section,
    Status,
    Table,
    Text,
    columns,
    matrix,
    rows,
    sections_in,
)
from assay.reports.console.drawn import drawn_sections
from assay.reports.console.plain import plain_sections
from assay.reports.excel.page import Page
from assay.reports.excel.sections import write_sections
from assay.reports.html.page import template
from assay.reports.html.tables import for_page
from assay.reports.markdown.blocks import section_lines
from drawing import drawn_by
from many_cases import each

FIGURE = Figure(
    rate=Rate(n=4, numerator=3.0, unscored=1, value=0.75, low=0.3, high=0.95),
    text="75.0 %",
    interval="[30.0, 95.0]",
    tally="3 of 4",
)
TABLE = Table(
    columns=columns("witness", Column(title="rate", bar="share"), Column(title="rows"), "which", "why", "query"),
    rows=rows(
        (
            Name(text=f"w_{place}", strong=not place, link=(("flag", "vacuous"),)),
            FIGURE,
            Number(value=1000 + place, text=f"{1000 + place:,}"),
            (CaseLink(id=f"case-{place}", anchor=f"case-{place}"),),
            Description(meaning=f"meant {place}"),
            Query(text=f"SELECT {place}"),
        )
        for place in range(4)
    ),
    foot="a foot",
    most_in_lines=3,
    most=3,
)
MATRIX = matrix(("a1", "b1"), ((None, Number(value=7, text="7")), (Number(value=0, text="0"), None)), "a caption")
SECTION = Section(
    key="witnesses",
    title="Witnesses",
    aside="4 of them",
    blocks=(
        TABLE,
        Table(columns=columns("state", "what"), rows=rows([(Status(text="at odds", good=False), Name(text="<evil>"))])),
        MATRIX,
        Text(lines=("a sentence",)),
    ),
)


def plain() -> str:
    return "\n".join(plain_sections([SECTION]))


def terminal() -> str:
    drawn = drawn_sections([SECTION], 140)
    return drawn_by(lambda console: console.print(*drawn, sep="\n", highlight=False, markup=False), width=150)


def markdown() -> str:
    return "\n".join(section_lines(SECTION, lambda _: ()))


def html() -> str:
    page = template("sections.html").module
    return str(page.drawn_section(SECTION))  # type: ignore[attr-defined]


def book() -> str:
    import xlsxwriter

    content = io.BytesIO()
    with xlsxwriter.Workbook(content) as workbook:
        after = write_sections(Page(workbook, "One"), 0, [SECTION])
    content.seek(0)
    with CalamineWorkbook.from_filelike(content) as read:
        written = read.get_sheet_by_name("One").to_python(skip_empty_area=False)
    assert len(written) == after
    return "\n".join(str(cell) for row in written for cell in row)


@each("draw", [plain, terminal, markdown, html, book])
def test_a_new_section_stands_in_every_format(draw: Callable[[], str]) -> None:
    text = draw()
    for part in ("Witnesses", "4 of them", "w_0", "w_2", "case-1", "meant 1", "SELECT 2", "at odds", "a foot"):
        assert part in text, part
    if draw is book:
        assert all(str(part) in text for part in (0.75, 0.3, 0.95, 1002.0))
    else:
        assert all(part in text for part in ("75.0 %", "[30.0, 95.0]", "3 of 4", "1,002"))
    for part in ("a1", "b1", "7", "a caption", "a sentence"):
        assert part in text, part
    assert ("w_3" in text) is (draw is book), "the workbook has every row"
    assert ("1 more" in text) is (draw is not book), "what is left out is counted"


def test_a_part_says_itself_that_it_stands_in_one_form_alone() -> None:
    assert sections_in([SECTION], "summary") == sections_in([SECTION], "full") == [SECTION]
    full = Section(key="x", title="x", blocks=(Text(lines=("x",), detail="full"),))
    assert sections_in([full], "summary") == []
    assert sections_in([full], "full") == [full]
    titles = columns("a", Column(title="b", detail="full"), Column(title="c", detail="summary"), "d")
    table = Table(columns=titles, rows=rows([("1", "2", "3", Number(value=4, text=""))]))
    assert [column.title for column in text_columns(table, "plain")[0]] == ["a", "c"]
    assert [column.title for column in text_columns(table, "comment")[0]] == ["a", "b"]
    assert [column.title for column in for_page(table).columns] == ["a", "b"], "a number without a text is not read"


@each("look", ["figures", "counts", "grouped"])
def test_a_page_folds_long_tables_and_leaves_no_row_out(look: str) -> None:
    many = Table(
        columns=columns("name"), rows=rows((Name(text=f"r{place}"),) for place in range(40)), look=look, most=3
    )
    section = Section(key="x", title="x", blocks=(many,))
    drawn = str(template("sections.html").module.drawn_section(section))  # type: ignore[attr-defined]
    assert all(f">r{place}<" in drawn for place in range(40))
    assert "<details" in drawn


@each("limit", [0, 1, 3, 10])
def test_of_many_rows_those_of_most_weight_stay_in_their_order(limit: int) -> None:
    weights = (3, 9, 1, 9, 5)
    made = tuple(Row(cells=(str(place),), weight=weight) for place, weight in enumerate(weights))
    shown, hidden = Table(columns=columns("x"), rows=made).shown(limit)
    assert sorted([*shown, *hidden], key=made.index) == list(made)
    assert [made.index(row) for row in shown] == sorted(made.index(row) for row in shown)
    assert len(shown) == min(limit, len(made))
    assert not shown or not hidden or min(row.weight for row in shown) >= max(row.weight for row in hidden)


def test_a_blank_cell_shifts_no_other_on_the_page() -> None:
    """Remarks stand beneath the row's name, in no column of their own, also where one row has none."""
    made = Table(
        columns=columns("name", "", Column(title="rows")),
        rows=rows(
            (
                Name(text=f"r{place}"),
                Description(meaning="said") if place else None,
                Number(value=place, text=str(place)),
            )
            for place in range(2)
        ),
        look="grid",
    )
    section = Section(key="x", title="x", blocks=(made,))
    drawn = Read(f"<html>{template('sections.html').module.drawn_section(section)}</html>")  # type: ignore[attr-defined]
    cells = [tag for tag, _ in drawn.tags if tag in ("tr", "th", "td")]
    assert cells == ["tr", "th", "th", *["tr", "th", "td"] * 2]
