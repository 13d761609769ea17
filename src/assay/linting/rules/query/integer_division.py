"""A quotient whose fraction is cut off."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

_CUTS = frozenset({"sqlite", "postgres", "tsql", "redshift", "denodo", "presto", "trino", "athena"})

RULE = LintRule(
    name="integer-division",
    severity="warning",
    needs="query",
    finds="a division of whole numbers in a dialect that cuts off the fraction",
    why="1 / 2 is 0 there: ratios and percentages come out as 0 or too small.",
    remedy="Make one side a real number before dividing: CAST(a AS REAL) / b, or 1.0 * a / b.",
    bad="SELECT SUM(wins) / COUNT(*) FROM team",
    good="SELECT CAST(SUM(wins) AS REAL) / COUNT(*) FROM team",
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None or gold.dialect not in _CUTS:
        return
    for one in gold.facts.divisions:
        if one.left.type == one.right.type == "integer":
            both = one.left.kind == "literal" and one.right.kind == "literal"
            if not both or int(one.left.value or 0) % (int(one.right.value or 1) or 1):
                yield Found(
                    evidence=f"Both {one.left.text} and {one.right.text} are whole numbers, and so is their quotient.",
                    place=one.place,
                )
