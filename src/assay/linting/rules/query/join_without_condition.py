"""Tables joined by nothing."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.facts import Level, QueryFacts, Source

RULE = LintRule(
    name="join-without-condition",
    severity="error",
    needs="query",
    finds="tables in one FROM that no condition ties together",
    why="Every row of one meets every row of the other: values are repeated, sums and counts are multiples.",
    remedy="Add the join's condition, or remove the table that is not needed.",
    bad="SELECT s.name FROM singer AS s JOIN concert AS c WHERE c.year = 2014",
    good="SELECT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id WHERE c.year = 2014",
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None:
        return
    for level in gold.facts.levels:
        if level.unlinked and not _is_harmless(gold, level):
            first = next(one for one in level.sources if one not in level.unlinked and not one.single_row)
            others = ", ".join(one.table or one.alias for one in level.unlinked)
            yield Found(
                evidence=f"Nothing ties {others} to {first.table or first.alias}: "
                "each row of the one meets all of the other.",
                place=level.unlinked[0].place,
                severity="note" if all(one.crossed for one in level.unlinked) else None,
            )


def _is_harmless(gold: Gold, level: Level) -> bool:
    """Whether repeated rows change nothing, or the tables are two named things of one kind that are compared."""
    assert gold.facts is not None
    aggregates = [one for one in gold.facts.aggregates if one.level == level.index]
    if aggregates and not level.group and all(one.distinct or one.function in ("min", "max") for one in aggregates):
        return not any(output.term.bare for output in level.outputs)
    pins = {_pin(gold.facts, level, source) for source in level.sources if not source.single_row}
    return len(pins) == 1 and None not in pins


def _pin(facts: QueryFacts, level: Level, source: Source) -> tuple[str, str] | None:
    """The table and its column by whose value a source is chosen: ``mountain.name = 'Everest'``."""
    for one in facts.conditions:
        column = one.left.column
        if column is None or column.table is None or one.operator != "=" or one.negated or not one.certain:
            continue
        inside = (
            source.place is not None
            and one.place is not None
            and source.place.start <= one.place.start < source.place.end
        )
        own = one.level == level.index and column.source == source.alias
        if one.right[0].kind == "literal" and not one.right[0].is_number and (own or inside):
            return column.table.lower(), column.column.lower()
    return None
