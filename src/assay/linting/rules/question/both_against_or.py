"""A question for both of two values, and a gold query for either."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.predicates import Predicate
from assay.sql.query import Query

RULE = LintRule(
    name="both-against-or",
    severity="warning",
    needs="question",
    finds="'both … and' in the question, and one of two values in the gold query",
    why="The gold query also returns those that have only one of the two.",
    remedy="Use INTERSECT, two joins, or GROUP BY … HAVING COUNT(DISTINCT …) = 2.",
    bad="Q: years with both cats and dogs\nSELECT year FROM pets WHERE kind = 'cat' OR kind = 'dog'",
    good="Q: years with both cats and dogs\nSELECT year FROM pets WHERE kind = 'cat' INTERSECT "
    "SELECT year FROM pets WHERE kind = 'dog'",
)
_BOTH = re.compile(r"\bboth\b.*?\band\b", re.IGNORECASE)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    if not _BOTH.search(gold.question) or any(query.all_of(exp.Intersect)):
        return
    if re.search(r"\beither\b|\bdistinct\s+\w*\)\s*=\s*2", f"{gold.question} {gold.text}", re.IGNORECASE):
        return
    if any(one.clause == "having" for one in query.predicates) or len(query.selects) > 2:
        return
    for one in query.predicates:
        if query.column_of(one.left) is None or one.is_negated or one.clause == "output":
            continue
        values = [query.value_of(side) for side in one.right]
        either = ""
        if one.operator == "in" and len(values) == 2 and _joined(gold.question, values):
            either = query.shown(one.node)
        elif one.operator == "=" and one.disjunction is not None:
            other = next((other for other in query.predicates if _is_meant(gold, query, one, other)), None)
            either = "" if other is None else f"{query.shown(one.node)} OR {query.shown(other.node)}"
        if either:
            yield Found(evidence=f"The question says 'both', and {either} accepts either.", place=query.span(one.node))
            return


def _is_meant(gold: Gold, query: Query, one: Predicate, other: Predicate) -> bool:
    """Whether another condition tests the same column for another value as an alternative, and the question asks for
    both."""
    if other is one or other.disjunction is not one.disjunction or other.operator != "=":
        return False
    columns = [query.column_of(side) for side in (one.left, other.left)]
    if len({None if column is None else query.identity(column) for column in columns}) != 1:
        return False
    return _joined(gold.question, [query.value_of(side.right[0]) for side in (one, other)])


def _joined(question: str, values: list[str | None]) -> bool:
    """Whether 'both' is about these two literals: 'and' is between them, or there is no 'or'."""
    first, second = values
    if first is None or second is None:
        return False
    lowered = question.lower()
    _, _, after = lowered.partition("both")
    places = sorted((after.find(value.lower()), len(value)) for value in (first, second))
    if places[0][0] < 0:
        return not re.search(r"\bor\b", lowered)
    between = after[places[0][0] + places[0][1] : places[1][0]]
    return re.search(r"\bor\b", between) is None and re.search(r"\band\b|&|,", between) is not None
