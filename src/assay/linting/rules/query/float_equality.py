"""Equality of numbers that are computed."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.facts import Term

RULE = LintRule(
    name="float-equality",
    severity="warning",
    needs="query",
    finds="an equality with an average or a quotient of real numbers",
    why="Computed fractions are rounded: two that ought to be equal may differ in the last digit, "
    "and which do so differs between databases.",
    remedy="Compare with a range, round both sides, or compare whole numbers.",
    bad="SELECT name FROM team WHERE wins / 3.0 = 0.1",
    good="SELECT name FROM team WHERE ABS(wins / 3.0 - 0.1) < 1e-9",
)

_QUALIFIER = re.compile(r"\b[A-Za-z_]\w*\.")


def check(gold: Gold) -> Iterator[Found]:
    for one in gold.facts.conditions if gold.facts is not None else ():
        if one.operator not in ("=", "<>") or one.clause == "output":
            continue
        sides = (one.left, one.right[0])
        if _is_own_value(*sides):
            continue
        if any(_is_computed(gold, side) for side in sides) and not any(side.kind == "subquery" for side in sides):
            yield Found(evidence=f"{gold.shown(one.place)} compares computed fractions for equality.", place=one.place)


def _is_own_value(left: Term, right: Term) -> bool:
    """Whether a fraction is compared with its own MIN or MAX, or with another row's: computed alike, it is the same."""
    if any(side.extreme and other.kind != "literal" for side, other in ((left, right), (right, left))):
        return True
    plain = [_QUALIFIER.sub("", side.text).casefold() for side in (left, right)]
    return plain[0] == plain[1]


def _is_computed(gold: Gold, term: Term) -> bool:
    if term.kind not in ("computed", "aggregate") or term.type != "real" or gold.facts is None or term.place is None:
        return False
    divided = any(
        one.place is not None and term.place.start <= one.place.start and one.place.end <= term.place.end
        for one in gold.facts.divisions
    )
    average = any(
        one.function == "avg" and one.place is not None and term.place.start <= one.place.start < term.place.end
        for one in gold.facts.aggregates
    )
    return (divided or average) and "round" not in term.text.lower()
