"""Tables joined by nothing."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

RULE = LintRule(
    name="join-without-condition",
    severity="error",
    needs="query",
    finds="tables in one FROM that no condition ties together",
    why="Every row of one meets every row of the other: values are repeated, sums and counts are multiples.",
    remedy="Add the join's condition, or remove the table that is not needed.",
    bad="SELECT s.name FROM singer AS s JOIN concert AS c WHERE c.year = 2014",
    good="SELECT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id WHERE c.year = 2014",
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None:
        return
    for level in gold.facts.levels:
        if level.unlinked:
            first = next(one for one in level.sources if one not in level.unlinked and not one.single_row)
            others = ", ".join(one.table or one.alias for one in level.unlinked)
            yield Found(
                evidence=f"Nothing ties {others} to {first.table or first.alias}: "
                "each row of the one meets all of the other.",
                place=level.unlinked[0].place,
            )
