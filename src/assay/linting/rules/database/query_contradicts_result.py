"""A gold query that does not give the results that are gold."""

from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.model.lint import LintRule

RULE = LintRule(
    name="query-contradicts-result",
    severity="warning",
    needs="database",
    finds="a gold query that fails, or gives none of the results that are the case's gold",
    why="Answers are compared with the results. If the query is right, right answers are wrong: the database has "
    "changed since, or the results were made by another query.",
    remedy="Execute the query again and keep its result, or correct the query.",
    bad="gold/sql/q7.sql: SELECT COUNT(*) FROM singer  -- and gold/exec_result/q7.csv has 5, the database 6",
    good="gold/sql/q7.sql: SELECT COUNT(*) FROM singer  -- and gold/exec_result/q7.csv has 6",
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    for one in cases:
        if one.contradiction is not None:
            yield one.case.id, 0, Found(evidence=f"{one.contradiction}.")
