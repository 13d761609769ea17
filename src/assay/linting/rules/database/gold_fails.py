"""The gold query fails."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

RULE = LintRule(
    name="gold-fails",
    severity="error",
    needs="database",
    finds="a gold query that fails, is refused, or does not end within the limits",
    why="Every answer to the question stays unscored, because there is no gold result to compare with.",
    remedy="Correct the query, or remove the case.",
    bad="SELECT nam FROM singer",
    good="SELECT name FROM singer",
)


def check(gold: Gold) -> Iterator[Found]:
    done = gold.execution
    if done is None or done.succeeded:
        return
    failure = done.failure
    if failure is not None and failure.kind in ("unreadable_database", "unreadable_value"):
        return  # the gold query is not the cause, and the report says so once
    message = failure.message if failure is not None else done.status
    yield Found(evidence=f"The query has no result: {message}")
