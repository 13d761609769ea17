"""A value that SQLite reads from any row of several."""

from collections.abc import Iterator, Sequence

from assay.errors import plural
from assay.linting.gold import Found, Gold
from assay.linting.rules.query import bare_column
from assay.model.lint import LintRule
from assay.sql.probes.any_row import AnyRow, any_rows
from assay.sql.shape import read_shape

RULE = LintRule(
    name="any-row",
    severity="warning",
    needs="database",
    finds="a value that is read from any row of several, or that shows the order of stored rows, if another row or "
    "order gives another result",
    why="Engines read the tied rows of windows, the values of GROUP_CONCAT and the row of ANY_VALUE in the order of "
    "the rows. SQLite also reads the first row that a subquery happens to return, and SQLite and MySQL read a bare "
    "column from any row of its group. So the gold result depends on how rows are stored.",
    remedy="Compare with IN or an aggregate, group by the column too, choose the row with ORDER BY and LIMIT, or order "
    "the rows in a subquery or by a unique column.",
    bad="SELECT name FROM singer WHERE id = (SELECT singer_id FROM concert WHERE year = 2014)",
    good="SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert WHERE year = 2014)",
)
_SHOWN = 80
_READS = {
    "scalar subquery": "the subquery {} has several rows to choose from",
    "bare column": "{} is read from a group with several rows to choose from",
    "row order": "{} depends on the order in which rows are stored",
}


def check(gold: Gold) -> Iterator[Found]:
    rows = gold.rows
    if rows is None or gold.database is None:
        return
    bare = () if gold.query is None else bare_column.check_query(gold, gold.query)
    told = any(found.severity is None for found in bare)
    for place in any_rows(gold.text, gold.dialect):
        if place.kind == "bare column" and told:
            continue
        other = _other_result(gold, place, rows)
        if other is not None:
            text = " ".join(place.text.split())
            shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
            what = _READS[place.kind].format(shown)
            own, others = (plural(len(one), "row") for one in (rows, other))
            result = f"gives {others} instead of {own}" if len(rows) != len(other) else "gives another result"
            yield Found(evidence=f"{what}, and another one {result}.")


def _other_result(gold: Gold, place: AnyRow, rows: Sequence[tuple[object, ...]]) -> Sequence[tuple[object, ...]] | None:
    """What the query returns if another row is read; None if that changes nothing."""
    assert gold.database is not None
    query = place.check()
    if query is not None and gold.database.rows(query) == ():
        return None
    columns = gold.execution.columns if gold.execution is not None else ()
    in_order = read_shape(gold.text, gold.dialect).ordered and place.kind == "bare column"

    def told(rows: Sequence[tuple[object, ...]]) -> list[str]:
        return list(map(repr, rows)) if in_order else sorted(map(repr, rows))

    own = told(rows)
    for way in place.ways(columns):
        other = gold.database.rows(way)
        if other is not None and told(other) != own:
            again = gold.database.rows(place.again)
            return other if again is not None and told(again) == own else None
    return None
