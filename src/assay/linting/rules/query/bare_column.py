"""A selected column that its group does not decide."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.facts import ColumnRef, Level, column_name, probe_of_level

RULE = LintRule(
    name="bare-column",
    severity="warning",
    needs="query",
    finds="a selected column that is neither grouped by nor aggregated",
    why="Where a group holds several values of it, the database shows any one; most databases refuse the query.",
    remedy="Group by the column too, or say which of its values is meant (MIN, MAX).",
    bad="SELECT country, name, COUNT(*) FROM singer GROUP BY country",
    good="SELECT country, COUNT(*) FROM singer GROUP BY country",
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None:
        return
    for level in gold.facts.levels:
        if not (level.group or (level.aggregated and any(one.term.aggregated for one in level.outputs))):
            continue
        if any(one.windowed for one in (output.term for output in level.outputs)):
            continue
        if gold.dialect == "sqlite" and _picks_a_row(gold, level):
            continue  # SQLite takes such columns from the row that holds the extreme
        if gold.names is None and (level.group or level.sources[1:] or _has_condition(gold, level)):
            continue  # a key that decides all columns cannot be told from others
        decided = _decided(gold, level)
        for output in level.outputs:
            bare = [
                one
                for one in output.term.bare
                if one.level == level.index and one.key not in decided and not _is_selected_key(level, one)
            ]
            for column in bare[:1]:
                yield from _doubted(gold, level, column)


def _has_condition(gold: Gold, level: Level) -> bool:
    return gold.facts is not None and any(one.level == level.index for one in gold.facts.conditions)


def _picks_a_row(gold: Gold, level: Level) -> bool:
    own = (
        [one for one in gold.facts.aggregates if one.level == level.index and one.clause == "output"]
        if gold.facts
        else []
    )
    return len(own) == 1 and own[0].function in ("min", "max")


def _is_selected_key(level: Level, column: ColumnRef) -> bool:
    return any(column.key in {one.key for one in key.columns} for key in level.group if key.column is None)


def _decided(gold: Gold, level: Level) -> set[tuple[str | None, str]]:
    """The columns that the keys decide: the keys, what equals them, and all of a table with its key among them."""
    known = {key.column.key for key in level.group if key.column is not None}
    for condition in gold.facts.conditions if gold.facts is not None else ():
        column = condition.left.column
        is_fixed = (
            condition.operator == "=" and condition.certain and condition.right[0].kind in ("literal", "subquery")
        )
        if column is not None and is_fixed and condition.level == level.index:
            known.add(column.key)
    while True:
        before = len(known)
        for pair in level.joins:
            if pair.left.key in known or pair.right.key in known:
                known |= {pair.left.key, pair.right.key}
        for source in level.sources:
            table = None if source.table is None or gold.names is None else gold.names.table(source.table)
            if table is None or not table.primary_key:
                continue
            if all((source.alias, one.lower()) in known for one in table.primary_key):
                known |= {(source.alias, one.name.lower()) for one in table.columns}
        if len(known) == before:
            return known


def _doubted(gold: Gold, level: Level, column: ColumnRef) -> Iterator[Found]:
    keys = ", ".join(key.text for key in level.group)
    grouped = f"GROUP BY {keys}" if keys else "the whole is one group"
    told = f"{column.name} is selected bare beside {'GROUP BY ' + keys if keys else 'an aggregate'}"
    if gold.database is not None and level.outermost and gold.execution is not None and gold.execution.succeeded:
        name = column_name(column, gold.dialect)
        groups = gold.database.rows(probe_of_level(gold.query, gold.dialect, [f"COUNT(DISTINCT {name})"]))
        if groups is not None:
            several = sum(1 for row in groups if isinstance(row[0], int) and row[0] > 1)
            if several:
                share = f"{several} of {len(groups)} groups hold" if len(groups) > 1 else "the group holds"
                yield Found(evidence=f"{told}, and {share} several values of it.", place=column.place)
            return
    yield Found(evidence=f"{told}; {grouped} need not decide it.", place=column.place, severity="note")
