"""The gold query returns nothing."""

from collections.abc import Iterator

from assay.linting.column_probes import table_name
from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql import empty_input_probe

RULE = LintRule(
    name="empty-result",
    severity="warning",
    needs="database",
    finds="a gold query that returns no rows, or only NULL and 0 computed over an empty input",
    why="Any wrong query that finds nothing matches this result, so the case tests next to nothing.",
    remedy="Check the conditions against the data. If no data fits, ask for something that exists.",
    bad="SELECT name FROM singer WHERE country = 'Atlantis'",
    good="SELECT name FROM singer WHERE country = 'France'",
)


def check(gold: Gold) -> Iterator[Found]:
    rows = gold.rows
    if rows is None or gold.database is None:
        return
    empty = _empty_tables(gold)
    because = f": {' and '.join(empty)} {'hold' if len(empty) > 1 else 'holds'} no row" if empty else ""
    root = "tables without rows" if empty else ""
    if not rows:
        yield Found(evidence=f"The query returns no row{because}.", root_cause=root)
    elif len(rows) == 1 and all(cell is None or cell == 0 for cell in rows[0]):
        probe = gold.database.rows(empty_input_probe(gold.text, gold.dialect))
        if probe is not None and len(probe) == 1 and probe[0][:-1] == rows[0] and probe[0][-1] == 1:
            shown = ", ".join("NULL" if cell is None else str(cell) for cell in rows[0])
            yield Found(evidence=f"Its only row ({shown}) was computed over an empty input{because}.", root_cause=root)


def _empty_tables(gold: Gold) -> list[str]:
    """The query's tables without rows, at most three."""
    if gold.query is None or gold.database is None or gold.names is None:
        return []
    found: list[str] = []
    for select in gold.query.selects:
        for source in select.sources.values():
            table = None if source.table is None else gold.names.table(source.table)
            if table is None or table.name in found or len(found) == 3:
                continue
            counted = gold.database.rows(f"SELECT COUNT(*) FROM {table_name(table, gold.dialect)}")
            if counted and counted[0][0] == 0:
                found.append(table.name)
    return found
