"""A joined table that changes nothing."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.facts import ColumnRef, Level

RULE = LintRule(
    name="unused-join",
    severity="note",
    needs="query",
    finds="a table that is joined over its key by a foreign key, and of which nothing else is used",
    why="Every row has exactly one partner there: the join adds nothing, and often stands where another was meant.",
    remedy="Remove the table, or use what it was joined for.",
    bad="SELECT c.year FROM concert AS c JOIN singer AS s ON c.singer_id = s.id",
    good="SELECT year FROM concert",
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None or gold.names is None:
        return
    for level in gold.facts.levels:
        if len(level.sources) < 2 or any(one.term.kind == "star" for one in level.outputs):
            continue
        for source in level.sources:
            pairs = [pair for pair in level.joins if source.alias in (pair.left.source, pair.right.source)]
            if len(pairs) != 1 or source.table is None:
                continue
            own, other = pairs[0].left, pairs[0].right
            if own.source != source.alias:
                own, other = other, own
            if _refers(gold, other, own) and not _used(gold, level, source.alias):
                yield Found(
                    evidence=f"{source.table} is joined by the foreign key {other.name}, "
                    "and nothing else of it is used.",
                    place=source.place,
                )


def _refers(gold: Gold, foreign: ColumnRef, key: ColumnRef) -> bool:
    assert gold.names is not None
    table = None if foreign.table is None else gold.names.table(foreign.table)
    if table is None or key.table is None or not gold.names.is_key(key.table, key.column):
        return False
    return any(
        [one.lower() for one in found.columns] == [foreign.column.lower()] and found.table.lower() == key.table.lower()
        for found in table.foreign_keys
    )


def _used(gold: Gold, level: Level, alias: str) -> bool:
    assert gold.facts is not None
    places = {pair.place for pair in level.joins}
    mentioned = [
        column
        for one in gold.facts.conditions
        for term in (one.left, *one.right)
        for column in term.columns
        if one.place not in places
    ]
    mentioned += [column for one in level.outputs for column in one.term.columns]
    mentioned += [column for term in level.group for column in term.columns]
    mentioned += [column for one in level.order for column in one.term.columns]
    mentioned += [column for one in gold.facts.aggregates if one.argument for column in one.argument.columns]
    return any(column.source == alias and column.level in (level.index, -1) for column in mentioned)
