"""Both of two, and a gold that takes either."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

RULE = LintRule(
    name="both-against-or",
    severity="warning",
    needs="question",
    finds="'both … and' in the question, and one of two values in the gold",
    why="The gold also returns those that have only one of the two.",
    remedy="Use INTERSECT, two joins, or GROUP BY … HAVING COUNT(DISTINCT …) = 2.",
    bad="Q: years with both cats and dogs\nSELECT year FROM pets WHERE kind = 'cat' OR kind = 'dog'",
    good="Q: years with both cats and dogs\nSELECT year FROM pets WHERE kind = 'cat' INTERSECT "
    "SELECT year FROM pets WHERE kind = 'dog'",
)
_BOTH = re.compile(r"\bboth\b.*?\band\b", re.IGNORECASE)


def check(gold: Gold) -> Iterator[Found]:
    facts = gold.facts
    if facts is None or not _BOTH.search(gold.question) or "intersect" in facts.set_operations:
        return
    if re.search(r"\beither\b|\bdistinct\s+\w*\)\s*=\s*2", f"{gold.question} {gold.query}", re.IGNORECASE):
        return
    if any(one.clause == "having" for one in facts.conditions) or len(facts.levels) > 2:
        return
    for one in facts.conditions:
        if one.disjunction and one.operator == "=" and one.left.column is not None and one.right[0].kind == "literal":
            for other in facts.conditions:
                if other is one or other.disjunction != one.disjunction or other.left.column is None:
                    continue
                if other.left.column.key == one.left.column.key and other.operator == "=" and not other.branch:
                    yield Found(
                        evidence=f"The question says 'both', and {gold.shown(one.place)} OR {gold.shown(other.place)} "
                        "takes either.",
                        place=one.place,
                    )
                    return
