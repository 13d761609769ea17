"""A slow gold query."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

_SHARE = 0.2

RULE = LintRule(
    name="slow-gold",
    severity="warning",
    needs="database",
    finds="a gold query that takes more than a fifth of the time limit",
    why="On a busier machine it may exceed the limit, and the case then stays unscored.",
    remedy="Rewrite the query or add an index, or raise --timeout for this set.",
    bad="SELECT COUNT(*) FROM orders AS a, orders AS b WHERE a.day < b.day",
    good="SELECT SUM(n) FROM orders_per_day",
)


def check(gold: Gold) -> Iterator[Found]:
    done = gold.execution
    if done is None or gold.database is None or not done.succeeded or done.wall_time_s is None:
        return
    limit = gold.database.limits.timeout_s
    if done.wall_time_s > limit * _SHARE:
        yield Found(evidence=f"It took {done.wall_time_s:.1f} s; the limit is {limit:g} s.")
