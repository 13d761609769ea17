"""Gold queries of one case that agree on the database by chance."""

from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.model.lint import LintRule

RULE = LintRule(
    name="golds-parted",
    severity="warning",
    needs="cases",
    finds="gold queries of one case that agree on this database, but differ on another one like it",
    why="They are not equivalent, so an answer that follows one of them is right today and may be wrong tomorrow. "
    "`assay refute` shows the small counterexample. If it violates an undeclared regularity of the data, the "
    "finding is a note. For SQLite and DuckDB only; half a second of computing per pair.",
    remedy="Remove the gold query that does not answer the question.",
    bad="gold queries: SELECT name FROM singer ORDER BY age LIMIT 1; SELECT name FROM singer WHERE age = (SELECT "
    "MIN(age) FROM singer)",
    good="gold query: SELECT name FROM singer WHERE age = (SELECT MIN(age) FROM singer)",
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    for one in cases:
        for index, found in one.parted:
            yield (
                one.case.id,
                index,
                Found(
                    evidence=f"Gold queries 1 and {index + 1} agree here, but {found.reason}.",
                    severity=None if found.kind == "refuted" else "note",
                ),
            )
