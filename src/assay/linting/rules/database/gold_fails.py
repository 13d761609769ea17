"""The gold does not run."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

RULE = LintRule(
    name="gold-fails",
    severity="error",
    needs="database",
    finds="a gold that fails, is refused, or does not end within the limits",
    why="Every answer to the question stays unscored: nothing can be compared with a gold without a result.",
    remedy="Mend the query, or remove the case.",
    bad="SELECT nam FROM singer",
    good="SELECT name FROM singer",
)


def check(gold: Gold) -> Iterator[Found]:
    done = gold.execution
    if done is None or done.succeeded:
        return
    failure = done.failure
    if failure is not None and failure.kind == "unreadable_database":
        return  # the gold is not to blame, and the report says it once
    message = failure.message if failure is not None else done.status
    yield Found(evidence=f"The query has no result: {message}")
