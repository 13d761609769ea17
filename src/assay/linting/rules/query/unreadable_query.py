"""A gold query that cannot be read."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.query import Unreadable
from assay.sql.statement import statement_kind

RULE = LintRule(
    name="unreadable-query",
    severity="warning",
    needs="query",
    finds="a gold query that cannot be parsed as one query",
    why="It may still run, since databases accept more than parsers, but no rule can read it, and its text cannot "
    "show row order, ties and LIMIT.",
    remedy="Check its syntax. Split several statements into several gold queries, or keep one.",
    bad="SELECT name FROM singer WHERE age > 20 AND",
    good="SELECT name FROM singer WHERE age > 20",
)


def check(gold: Gold) -> Iterator[Found]:
    if not gold.text.strip():
        yield Found(evidence="The gold query is blank.", severity="error")
    elif isinstance(gold.reading, Unreadable) and not _is_values(gold):
        done = gold.execution
        runs = done is not None and done.succeeded
        yield Found(
            evidence=f"The query was not checked: it {gold.reading.reason}"
            + (", although the database runs it." if runs else "."),
            severity="note" if runs else None,
        )


def _is_values(gold: Gold) -> bool:
    """Whether it is a list of values, in which no rule can find anything."""
    return gold.text.lstrip().lower().startswith("values") and statement_kind(gold.text, gold.dialect) == "query"
