"""The same answer in another shape is a near miss of its own, and no match unless that is declared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from itertools import permutations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.comparison.answer import Answer
from assay.comparison.compare import compare
from assay.comparison.lenient import compare_leniently
from assay.model import Cell, ComparisonOptions, Leniency, Result
from many_cases import each

SHAPES = {"pivoted", "unpivoted", "totals_row"}
Table = tuple[Sequence[str], Sequence[Sequence[Cell]]]


def misses(gold: Table, predicted: Table) -> set[str]:
    """The shapes among the near misses of a comparison that must not be a match."""
    found = compare(_result(predicted), _result(gold))
    assert not found.equal
    return {miss.kind for miss in found.near_misses} & SHAPES


def declared(gold: Table, predicted: Table, *, ordered: bool = False) -> bool:
    """Whether they match where any shape is declared to be right."""
    answer = Answer.strict(_result(gold)) if ordered else Answer.bag(_result(gold))
    found = compare_leniently(_result(predicted), answer, ComparisonOptions(leniency=Leniency(shape="any")))
    assert found.lenient == found.equal
    return found.equal


def _result(table: Table) -> Result:
    return Result.of(table[1], columns=table[0])


LONG: Table = (
    ("city", "year", "sales"),
    [("Porto", 2023, 5), ("Porto", 2024, 7.5), ("Faro", 2023, 1), ("Faro", 2024, 2)],
)
WIDE: Table = (("city", "2024", "2023"), [("Faro", 2, 1), ("Porto", 7.5, 5)])


def test_a_dimension_across_the_heads_is_told_both_ways_round() -> None:
    assert misses(LONG, WIDE) == {"pivoted"}
    assert misses(WIDE, LONG) == {"unpivoted"}
    assert declared(LONG, WIDE)
    assert declared(WIDE, LONG)
    assert not declared(LONG, WIDE, ordered=True)


@each(
    ("gold", "predicted"),
    [
        # names that hold the values, or say nothing of them
        (LONG, (("sales_2023", "town", "sales_2024"), [(1, "Faro", 2), (5, "Porto", 7.5)])),
        (LONG, (("c0", "c1", "c2"), [("Faro", 2, 1), ("Porto", 7.5, 5)])),
        # what the long table does not have is NULL in the wide one
        ((LONG[0], LONG[1][:3]), (("city", "2023", "2024"), [("Porto", 5, 7.5), ("Faro", 1, None)])),
        # a NULL that is there, and one that is not; a key that is there twice
        (
            (*LONG[:1], [*LONG[1], ("Braga", 2023, None), ("Braga", 2024, 3)]),
            (("city", "2023", "2024"), [("Porto", 5, 7.5), ("Faro", 1, 2), ("Braga", None, 3), ("Evora", None, None)]),
        ),
        (
            (
                ("k", "q", "v"),
                [("a", "x", 1), ("a", "y", 2), ("a", "x", 2), ("a", "y", 2), ("b", "x", 2), ("b", "y", 1)],
            ),
            (("k", "first", "second"), [("a", 1, 2), ("a", 2, 2), ("b", 2, 1)]),
        ),
        # no key, and two keys
        ((("status", "n"), [("open", 3), ("closed", 4)]), (("open", "closed"), [(3, 4)])),
        (
            (("a", "b", "m", "v"), [(1, 1, "x", 5), (1, 1, "y", 6), (1, 2, "x", 7), (1, 2, "y", 8)]),
            (("b", "y", "x", "a"), [(1, 6, 5, 1), (2, 8, 7, 1)]),
        ),
        # a row for each measure, with its name or without
        ((("least", "most"), [(1, 9)]), (("measure", "value"), [("most", 9), ("least", 1)])),
        ((("least", "most"), [(1, 9)]), (("value",), [(9,), (1,)])),
    ],
)
def test_the_same_cells_in_another_shape_are_found(gold: Table, predicted: Table) -> None:
    assert misses(gold, predicted) in ({"pivoted"}, {"unpivoted"})
    assert misses(predicted, gold) in ({"pivoted"}, {"unpivoted"})
    assert declared(gold, predicted)


@each(
    ("gold", "predicted"),
    [
        (LONG, (("city", "2023", "2024"), [("Faro", 2, 1), ("Porto", 7.5, 5)])),  # under each other's heads
        (LONG, (("city", "a", "b"), [("Faro", 2, 1), ("Porto", 5, 7.5)])),  # no bijection fits both rows
        (LONG, (("city", "2024", "2023"), [("Faro", 2, 1), ("Porto", 7.5, 6)])),
        (LONG, (("city", "2024", "2023"), [("Faro", 2, 1), ("Braga", 7.5, 5)])),
        (LONG, (("city", "2024", "2023"), [("Faro", 2, 1)])),
        (LONG, (("city", "2024", "2023"), [("Faro", 2, 1), ("Porto", 7.5, 5), ("Porto", 7.5, 5)])),
        ((("status", "n"), [("open", 3), ("closed", 4)]), (("open", "closed"), [(4, 3)])),
        ((("a", "b"), [(1, 2)]), (("c", "d"), [(1, 2), (3, 4)])),
    ],
)
def test_cells_that_do_not_agree_are_no_other_shape(gold: Table, predicted: Table) -> None:
    assert not misses(gold, predicted)
    assert not misses(predicted, gold)
    assert not declared(gold, predicted)


PLAIN: Table = (("city", "sales", "mean"), [("Porto", 5, 2.5), ("Faro", 7, 3.5)])


@each("row", [(None, 12, None), ("Total", 12, 3.0), ("GRAND TOTAL", 12, 6.0), ("", 12, 3), ("All", 12, 6)])
def test_a_row_that_adds_up_the_others_is_a_row_of_totals(row: Sequence[Cell]) -> None:
    more = (PLAIN[0], [*PLAIN[1], row])
    turned = (("s", "m", "c"), [(row[1], row[2], row[0]), (7, 3.5, "Faro"), (5, 2.5, "Porto")])
    assert misses(PLAIN, more) == misses(more, PLAIN) == misses(PLAIN, turned) == {"totals_row"}
    assert declared(PLAIN, more)
    assert declared(more, PLAIN)


@each("row", [("Braga", 12, 3.0), (None, 13, None), ("Total", 0, 0), ("Braga", 12, None), (None, None, None)])
def test_a_row_that_is_something_else_is_none(row: Sequence[Cell]) -> None:
    assert not declared(PLAIN, (PLAIN[0], [*PLAIN[1], row]))
    years: Table = (("year", "sales"), [(2023, 5), (2024, 7)])
    assert not declared(years, (years[0], [*years[1], (2025, 12)]))


@each(
    ("less", "row"),
    [
        # a total that is wrong beside one that is right
        ([("a", 1, 10), ("b", 2, 20)], ("Total", 99, 30)),
        ([("a", 1, 10), ("b", 2, 20)], (None, 3, 31)),
        ([("a", 1, 10), ("b", 2, 20)], ("Total", "3", 30)),
        ([("a", 1, 10), ("b", 2, 20)], ("Total", 2, 30)),
        ([("a", 2**60), ("b", 1)], ("Total", 2**60)),
        # no cell says that it is one, or a name only holds the word
        ([(1,), (2,)], (3,)),
        ([(1, 2), (3, 4)], (4, 6)),
        ([(2020, 5), (2021, 6)], (4041, 11)),
        ([("Apple", 10), ("Pear", 20)], ("Total Wine", 30)),
        ([("Apple", 10), ("Pear", 20)], ("Summer", 30)),
        # the label is no news in its column, or a number stands beside a column without any
        ([("Total", 10), ("Pear", 20)], ("Total", 30)),
        ([("a", None, 10), ("b", None, 20)], ("Total", 0, 30)),
        ([("a", "x"), ("b", "y")], ("Total", None)),
        ([("a", 10), ("b", 20)], ("Total", 15)),
    ],
)
def test_a_wrong_cell_or_no_label_is_no_row_of_totals(less: list[Sequence[Cell]], row: Sequence[Cell]) -> None:
    names = ("p", "q", "r")[: len(row)]
    assert not declared((names, less), (names, [row, *less]))
    assert not declared((names, [*less, row]), (names, less))


def test_a_largest_value_is_no_total_unless_its_head_says_so() -> None:
    rows = [("a", 1, 10), ("b", 2, 20)]
    for head, fits in (("max_price", True), ("min_price", False), ("price", False)):
        names = ("city", head, "sales")
        assert declared((names, rows), (names, [*rows, ("Total", 2, 30)])) == fits


OTHER_HEADS = [
    ((2021, 2022), ("sales_2023", "sales_2024")),
    ((2021, 2023), ("2022 sales", "2021 sales")),
    ((2021, 2022), ("sales_2022", "sales_2021")),
    ((2021, 2022), ("sales", "sales_2021")),
    (("Q1", "Q2"), ("q3", "q4")),
    (("open", "closed"), ("open", "pending")),
    (("open", "closed"), ("closedCount", "openCount")),
    (("North Region", "South Region"), ("east_region", "west_region")),
    (("January", "February"), ("mar", "apr")),
    (("New York", "Los Angeles"), ("losangeles", "newyork")),
    ((True, False), ("no", "yes")),
    (("a", "b"), ("a", "c")),
    ((1, -1), ("minus_1", "plus_1")),
    ((-1, 2), ("1", "2")),
    ((5, 1), ("0.5", "1")),
    (("F", "M"), ("male", "female")),
    (("Germany", "France"), ("fra", "ger")),
    ((b"Q1", b"Q2"), ("q2", "q1")),
]
SPELT_HEADS = [
    ((2021, 2022), ("sales_2021", "FY2022")),
    ((2021.0, 2022.0), ("2021", "2022")),
    ((1, 11), ("m01", "m11")),
    ((-1, 1), ("-1", "1")),
    ((0.5, 1.5), ("0.5", "rate_1.5")),
    ((date(2021, 1, 11), date(2021, 11, 1)), ("2021-01-11", "2021-11-01")),
    (("north", "northeast"), ("sales_north", "sales_north_east")),
    (("open", None), ("open", "NULL")),
    ((2021, 2022), ("last", "this")),
    (("open", "closed"), ("first_1", "second_2")),
]


@each(
    "values,names,is_shape", [*((*heads, False) for heads in OTHER_HEADS), *((*heads, True) for heads in SPELT_HEADS)]
)
def test_heads_that_spell_the_values_or_nothing_are_another_shape(
    values: Sequence[Cell], names: Sequence[str], is_shape: bool
) -> None:
    long: Table = (("k", "dimension", "v"), [("c", values[0], 4), ("c", values[1], 3)])
    wide: Table = (("k", *names), [("c", 4, 3)])
    assert declared(long, wide) == declared(wide, long) == is_shape


@each(
    "odd",
    [math.inf, math.nan, Decimal("1e999999"), Decimal("1e-999999"), 10**5000, b"\xff", [1, "a"], "y" * 10**5, "", -0.0],
    ids=lambda cell: str(type(cell).__name__),
)
def test_no_cell_however_odd_breaks_the_search_for_a_shape(odd: Cell) -> None:
    heads: Table = (("k", "d", "v"), [("a", odd, 5), ("a", "z", 6)])
    assert misses(heads, (("k", "p", "q"), [("a", 5, 7)])) == set()
    assert misses((("k", "v"), [("a", odd), ("b", 1)]), (("k", "v"), [("a", odd), ("b", 1), ("Total", 2)])) == set()


def test_names_count_as_none_only_where_they_number_the_columns_in_their_places() -> None:
    long: Table = (("year", "v"), [(2021, 4), (2022, 3)])
    assert declared(long, (("c0", "c1"), [(4, 3)]))
    assert not declared(long, (("c2023", "c2024"), [(4, 3)]))


def test_years_in_heads_are_held_by_trying_every_table_of_them() -> None:
    years, heads = (2021, 2022, 2023), ("{}", "sales_{}", "{} sales", "y{}")
    for form, said, meant in product(heads, permutations(years, 2), permutations(years, 2)):
        wide: Table = (("k", *(form.format(year) for year in said)), [("a", 4, 3), ("b", 3, 5)])
        long: Table = (
            ("k", "year", "v"),
            [(row[0], year, cell) for row in wide[1] for year, cell in zip(meant, row[1:], strict=True)],
        )
        assert declared(long, wide) == (said == meant)


@settings(max_examples=40)
@given(st.data())
def test_a_random_table_is_found_in_its_other_shape_and_not_with_a_changed_cell(data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.integers(0, 50), min_size=2, max_size=4, unique=True))
    heads = data.draw(st.lists(st.sampled_from(["Q1", "Q2", "Q3", "Q4", "Q5"]), min_size=2, max_size=4, unique=True))
    number = st.integers(100, 10_000) | st.floats(0.5, 99.5)
    cells = {(key, head): data.draw(number) for key in keys for head in heads}
    long = [(key, head, cell) for (key, head), cell in cells.items()]
    order = data.draw(st.permutations(heads))
    named = data.draw(st.booleans())
    wide = [(key, *(cells[key, head] for head in order)) for key in data.draw(st.permutations(keys))]
    heading = ("k", *(order if named else "vwxyz"[: len(order)]))
    gold: Table = (("k", "q", "n"), long)
    assert misses(gold, (heading, wide)) == {"pivoted"}
    at = data.draw(st.integers(0, len(wide) - 1))
    wrong = [row if place != at else (*row[:-1], -1) for place, row in enumerate(wide)]
    assert not misses(gold, (heading, wrong))
