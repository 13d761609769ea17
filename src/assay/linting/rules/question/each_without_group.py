"""A figure for each, and a gold that gives one for all."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

RULE = LintRule(
    name="each-without-group",
    severity="warning",
    needs="question",
    finds="'for each' or 'per' in the question, and one aggregate over everything in the gold",
    why="The gold gives one number where the question asks for one of each.",
    remedy="Add GROUP BY, and select what the groups are.",
    bad="Q: the number of singers in each country\nSELECT COUNT(*) FROM singer",
    good="Q: the number of singers in each country\nSELECT country, COUNT(*) FROM singer GROUP BY country",
)
_EACH = re.compile(r"\b(?:for|in|of|by|to|from|does|do|with|on|at) (?:each|every)\b|\beach of the\b", re.IGNORECASE)


def check(gold: Gold) -> Iterator[Found]:
    facts, top = gold.facts, gold.top
    found = _EACH.search(gold.question)
    if facts is None or top is None or found is None or facts.windowed or facts.set_operations:
        return
    if any(level.group for level in facts.levels) or not top.aggregated or not top.outputs:
        return
    if not all(output.term.aggregated and not output.term.bare for output in top.outputs):
        return
    if len(top.outputs) > 3:
        return  # one column for each
    yield Found(
        evidence=f"The question says {found[0].lower()!r}, and the query gives one row over everything.",
        place=top.outputs[0].term.place,
    )
