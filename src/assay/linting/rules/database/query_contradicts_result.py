"""A gold query that does not return the expected results."""

from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.model.lint import LintRule

RULE = LintRule(
    name="query-contradicts-result",
    severity="warning",
    needs="database",
    finds="a gold query that fails, or returns none of the case's expected results",
    why="Answers are compared with the expected results. If the query is right, right answers are marked wrong: the "
    "database has changed since, or another query made the results.",
    remedy="Execute the query again and store its result, or correct the query.",
    bad="gold/sql/q7.sql: SELECT COUNT(*) FROM singer  -- and gold/exec_result/q7.csv has 5, the database 6",
    good="gold/sql/q7.sql: SELECT COUNT(*) FROM singer  -- and gold/exec_result/q7.csv has 6",
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    for one in cases:
        if one.contradiction is not None:
            yield one.case.id, 0, Found(evidence=f"{one.contradiction}.")
