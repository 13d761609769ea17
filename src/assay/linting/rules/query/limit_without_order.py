"""A LIMIT that takes any rows."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.facts import Level

RULE = LintRule(
    name="limit-without-order",
    severity="warning",
    needs="query",
    finds="a LIMIT without an ORDER BY that leaves rows out",
    why="Which rows come back is the database's choice: a right answer may get others, and be called wrong.",
    remedy="Order by what the question asks for, or drop the LIMIT.",
    bad="SELECT name FROM singer LIMIT 3",
    good="SELECT name FROM singer ORDER BY age LIMIT 3",
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None:
        return
    for level in gold.facts.levels:
        if not level.limited or level.order or level.limit == 0 or not level.sources:
            continue
        if level.aggregated and not level.group:
            continue  # a single row in any case
        if all(source.single_row for source in level.sources):
            continue
        if level.outermost and (seen := _left_out(gold, level)) is not None:
            if seen:
                yield Found(
                    evidence=f"LIMIT keeps {level.limit} of {seen:,} rows, whichever come first.",
                    place=level.limit_place,
                )
            continue
        where = "" if level.outermost else " in a subquery"
        yield Found(evidence=f"The LIMIT{where} has no ORDER BY.", place=level.limit_place)


def _left_out(gold: Gold, level: Level) -> int | None:
    """How many rows there are without the LIMIT, 0 where it cuts none; None where that cannot be seen."""
    from assay.sql import tie_probes

    if gold.database is None or level.limit is None:
        return None
    rows = gold.rows
    if rows is None:
        return None
    if len(rows) < level.limit:
        return 0
    for probe in tie_probes(gold.query, gold.dialect):
        seen = gold.database.rows(probe.query)
        if seen is not None:
            # Where all rows are alike, it does not matter which come back.
            return len(seen) if len(seen) > len(rows) and len({repr(row) for row in seen}) > 1 else 0
    return None
