"""Evidence with a condition that the gold query lacks."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import stated_conditions
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="evidence-ignored",
    severity="warning",
    needs="question",
    finds="a condition in the evidence (column = value) on a column that the gold query does not use",
    why="Either the gold query lacks a condition, or the evidence misleads every system that reads it.",
    remedy="Add the condition, or remove the evidence.",
    bad="evidence: magnet schools refers to Magnet = 1\nSELECT name FROM schools",
    good="evidence: magnet schools refers to Magnet = 1\nSELECT name FROM schools WHERE Magnet = 1",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    if not gold.evidence or gold.names is None:
        return
    known = {name for table in gold.names.tables.values() for name in table.columns}
    text = gold.text.lower()
    literals = {value.lower() for value in query.literals}
    for stated in stated_conditions(gold.evidence):
        if stated.column not in known or stated.column in text or stated.value.lower() in literals:
            continue
        yield Found(evidence=f"The evidence says {stated.text}, but the query does not use {stated.column}.")
