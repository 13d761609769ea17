"""OR beside AND without parentheses."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

RULE = LintRule(
    name="mixed-and-or",
    severity="warning",
    needs="query",
    finds="alternatives for one column of which only one is tied to the other conditions",
    why="AND binds before OR: in a AND b = 1 OR b = 2, rows with b = 2 come back whatever a is.",
    remedy="Put parentheses around the alternatives, or write IN.",
    bad="SELECT name FROM singer WHERE age > 20 AND country = 'France' OR country = 'Japan'",
    good="SELECT name FROM singer WHERE age > 20 AND (country = 'France' OR country = 'Japan')",
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None:
        return
    conditions = [one for one in gold.facts.conditions if one.clause in ("where", "having", "on") and not one.certain]
    for lone in conditions:
        # The lone side of an OR: alone in its conjunction, with an alternative of several conditions beside it.
        if not lone.disjunction or lone.left.column is None or lone.operator not in ("=", "like"):
            continue
        if sum(one.conjunction == lone.conjunction and one.level == lone.level for one in conditions) > 1:
            continue
        for other in conditions:
            if other.left.column is None or other is lone or other.level != lone.level:
                continue
            if other.branch != lone.disjunction or other.left.column.key != lone.left.column.key:
                continue
            rest = [one for one in conditions if one.conjunction == other.conjunction and one is not other]
            same = [one for one in rest if one.left.column is not None and one.left.column.key == lone.left.column.key]
            if rest and not same and other.operator == lone.operator:
                yield Found(
                    evidence=f"{gold.shown(lone.place)} stands alone beside OR: "
                    f"{gold.shown(rest[0].place)} does not hold for it.",
                    place=lone.place,
                )
                break
