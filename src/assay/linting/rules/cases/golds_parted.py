"""Golds of one case that agree on the database by luck."""

from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.model.lint import LintRule

RULE = LintRule(
    name="golds-parted",
    severity="warning",
    needs="cases",
    finds="golds of one case that agree on this database, and differ on another one like it",
    why="They ask for different things, so that an answer that follows either is right today and may not be tomorrow. "
    "The database that parts them is small; `assay refute` shows it. Where it breaks a regularity that nothing "
    "declares, the finding is a note. SQLite's and DuckDB's databases, half a second of computing a pair.",
    remedy="Remove the gold that does not say what the question asks.",
    bad="golds: SELECT name FROM singer ORDER BY age LIMIT 1; "
    "SELECT name FROM singer WHERE age = (SELECT MIN(age) FROM singer)",
    good="golds: SELECT name FROM singer WHERE age = (SELECT MIN(age) FROM singer)",
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    for one in cases:
        for index, found in one.parted:
            yield (
                one.case.id,
                index,
                Found(
                    evidence=f"Golds 1 and {index + 1} agree here, but {found.reason}.",
                    severity=None if found.kind == "refuted" else "note",
                ),
            )
