"""A comparison with NULL."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

RULE = LintRule(
    name="null-comparison",
    severity="error",
    needs="query",
    finds="a comparison with NULL by =, <>, < or IN",
    why="Such a comparison is never true, whatever the data.",
    remedy="Write IS NULL or IS NOT NULL.",
    bad="SELECT name FROM singer WHERE country = NULL",
    good="SELECT name FROM singer WHERE country IS NULL",
)


def check(gold: Gold) -> Iterator[Found]:
    for one in gold.facts.conditions if gold.facts is not None else ():
        if one.operator in ("is", "like") or one.clause == "output":
            continue
        if any(term.kind == "null" for term in (one.left, *one.right)):
            yield Found(
                evidence=f"{gold.shown(one.place) or one.left.text} compares with NULL, which is never true.",
                place=one.place,
            )
