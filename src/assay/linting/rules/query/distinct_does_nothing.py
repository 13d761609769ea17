"""A DISTINCT that removes no row."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

RULE = LintRule(
    name="distinct-does-nothing",
    severity="note",
    needs="query",
    finds="a DISTINCT over one table's key, over one aggregate's row, or beside a GROUP BY of the same columns",
    why="It says that rows may repeat, which they cannot: a sign that another query was meant.",
    remedy="Remove the DISTINCT, or check what it was meant for.",
    bad="SELECT DISTINCT id, name FROM singer  -- id is the key",
    good="SELECT id, name FROM singer",
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None:
        return
    for level in gold.facts.levels:
        if not level.distinct or not level.sources:
            continue
        chosen = {one.term.column.key for one in level.outputs if one.term.column is not None}
        source = level.sources[0]
        table = None if source.table is None or gold.names is None else gold.names.table(source.table)
        if level.aggregated and not level.group and all(one.term.aggregated for one in level.outputs):
            why = "the query gives one row"
        elif level.group and all(key.column is not None and key.column.key in chosen for key in level.group):
            why = "its groups differ already"
        elif (
            len(level.sources) == 1
            and table is not None
            and table.primary_key
            and all((source.alias, one.lower()) in chosen for one in table.primary_key)
        ):
            why = f"the key of {table.name} is among the columns"
        else:
            continue
        yield Found(evidence=f"DISTINCT removes nothing: {why}.", place=level.outputs[0].term.place)
