"""Two executions, two results."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql import is_nondeterministic

RULE = LintRule(
    name="unstable-result",
    severity="error",
    needs="database",
    finds="a gold query whose result changes from one execution to the next, or with the date",
    why="Whether an answer is right depends on when the gold query is run.",
    remedy="Replace the clock by a fixed date and randomness by an order; say the date in the question.",
    bad="SELECT name FROM singer ORDER BY RANDOM() LIMIT 1",
    good="SELECT name FROM singer ORDER BY name LIMIT 1",
)


def check(gold: Gold) -> Iterator[Found]:
    done = gold.execution
    if done is None or gold.database is None or done.result is None:
        return
    lucky = is_nondeterministic(gold.text, gold.dialect)
    remote = not gold.database.url.text.startswith(("sqlite:", "duckdb:"))
    if not lucky and not remote:
        return  # a file does not change, and its engine reads it the same way
    again = gold.database.run_anew(gold.text)
    if again is not None and again.result is not None:
        first, second = (sorted(map(repr, one.rows)) for one in (done.result, again.result))
        if first != second:
            yield Found(evidence="Two executions in a row gave different rows.")
            return
    if lucky:
        yield Found(evidence="The query uses randomness or the clock.", severity="warning")
