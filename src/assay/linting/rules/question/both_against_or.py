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
        if one.left.column is None or one.negated or one.clause == "output":
            continue
        if one.operator == "in" and len(one.right) == 2 and all(term.kind == "literal" for term in one.right):
            if _joined(gold.question, [term.value or "" for term in one.right]):
                yield Found(
                    evidence=f"The question says 'both', and {gold.shown(one.place)} takes either.", place=one.place
                )
                return
        elif one.disjunction and one.operator == "=" and one.right[0].kind == "literal":
            for other in facts.conditions:
                if other is one or other.disjunction != one.disjunction or other.left.column is None:
                    continue
                if other.left.column.key != one.left.column.key or other.operator != "=" or other.branch:
                    continue
                if _joined(gold.question, [one.right[0].value or "", other.right[0].value or ""]):
                    yield Found(
                        evidence=f"The question says 'both', and {gold.shown(one.place)} OR {gold.shown(other.place)} "
                        "takes either.",
                        place=one.place,
                    )
                    return


def _joined(question: str, values: list[str]) -> bool:
    """Whether 'both' is about these two values: 'and' stands between them, or no 'or' anywhere."""
    lowered = question.lower()
    _, _, after = lowered.partition("both")
    places = sorted((after.find(value.lower()), len(value)) for value in values)
    if places[0][0] < 0:
        return not re.search(r"\bor\b", lowered)
    between = after[places[0][0] + places[0][1] : places[1][0]]
    return re.search(r"\bor\b", between) is None and re.search(r"\band\b|&|,", between) is not None
