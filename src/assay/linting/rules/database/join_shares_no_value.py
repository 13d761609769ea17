"""A join over columns that have no value in common."""

from collections.abc import Iterator

from assay.linting.gold import ColumnValues, Found, Gold
from assay.linting.root_causes import BLANKS, letter_case_of
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="join-shares-no-value",
    severity="error",
    needs="database",
    finds="an equality of two tables' columns that have no value in common",
    why="The join never finds a partner: the wrong columns are joined, or their values are spelt differently.",
    remedy="Join over the columns that refer to each other.",
    bad="SELECT s.name FROM singer AS s JOIN concert AS c ON s.id = c.year",
    good="SELECT s.name FROM singer AS s JOIN concert AS c ON s.id = c.singer_id",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    if gold.database is None:
        return
    seen: set[tuple[str, str]] = set()
    for pair in (pair for select in query.selects for pair in select.join_pairs):
        first, second = query.stored(pair.left), query.stored(pair.right)
        names = (str(first), str(second))
        if first is None or second is None or names in seen:
            continue
        seen.add(names)
        left, right = gold.database.values(first), gold.database.values(second)
        if left is None or right is None or not left.counts or not right.counts:
            continue  # an empty table is another error
        if not (left.whole and right.whole) or left.counts.keys() & right.counts.keys():
            continue
        if gold.database.shares(first, second) is False:
            a, b = (repr(next(iter(one.counts)))[:40] for one in (left, right))
            yield Found(
                evidence=f"{names[0]} (for example {a}) and {names[1]} (for example {b}) have no value in common.",
                place=query.span(pair.node),
                root_cause=_root_cause(names, left, right),
            )


def _root_cause(names: tuple[str, str], left: ColumnValues, right: ColumnValues) -> str:
    """Why the columns have no value in common: their texts differ only in blanks or letter case, or other columns are
    meant."""
    sides = [[value for value in one.counts if isinstance(value, str)] for one in (left, right)]
    by_words = [{" ".join(value.split()) for value in side} for side in sides]
    if not by_words[0].isdisjoint(by_words[1]):
        return BLANKS
    first, second = sorted(names)
    if not {value.casefold() for value in by_words[0]}.isdisjoint(value.casefold() for value in by_words[1]):
        return letter_case_of(f"{first} and {second}")
    return f"{first} and {second} have no value in common"
