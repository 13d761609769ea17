"""A question for a number that the gold query does not count."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import has
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="how-many",
    severity="note",
    needs="question",
    finds="'how many' in the question, and neither a count nor a number in the outputs of the gold query",
    why="The gold query lists what it should count.",
    remedy="Select COUNT(*), or ask for the list.",
    bad="Q: How many singers are there?\nSELECT name FROM singer",
    good="Q: How many singers are there?\nSELECT COUNT(*) FROM singer",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    top = query.top
    if top is None or not has(gold.question, "how many"):
        return
    if any(query.all_of(exp.AggFunc, exp.Window)) or any(source.table is None for source in top.sources.values()):
        return
    if any(query.type_of(output) in ("integer", "real", "numeric", None) for output in top.outputs):
        return  # the number is stored, or its type is unknown
    if re.search(r"\bcount\b", gold.text, re.IGNORECASE):
        return
    shown = ", ".join(map(query.shown, top.outputs))
    yield Found(
        evidence=f"The question asks how many, but the query selects {shown}.", place=query.span(top.outputs[0])
    )
