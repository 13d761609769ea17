"""A database on which two queries differ, for a reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.model import Cell, Comparison, Proof, Result, Row, Unproved, quoted
from assay.model.witness import Assumption, WhyUnknown, Witness, WitnessTable, WitnessTag
from assay.ports import ScratchDatabase
from assay.witness.difference import Judged, value_key
from assay.witness.plan import Plan


def make_witness(plan: Plan, scratch: ScratchDatabase, judged: Judged, queries: Sequence[str]) -> Witness:
    """The witness in the current scratch database."""
    assert judged.first is not None
    assert judged.second is not None
    tables = []
    for table, rows in zip(plan.tables, scratch.content(), strict=True):
        if not table.read and not rows:
            continue
        columns = tuple(column.name for column in table.columns)
        hidden = tuple(name for name in scratch.columns(table.name) if name not in columns)
        tables.append(WitnessTable(name=table.name, columns=columns, rows=tuple(map(tuple, rows)), hidden=hidden))
    only_first, only_second = _unshared(judged.first, judged.second, judged.comparison)
    return Witness(
        tables=tuple(tables),
        statements=_statements(plan, scratch, tables, queries),
        first=judged.first,
        second=judged.second,
        only_first=only_first,
        only_second=only_second,
        difference=told_difference(judged),
    )


def told_difference(judged: Judged) -> str:
    """The difference of the results in a clause, the first query's before the second's."""
    if judged.first is None or judged.second is None:
        return "a query fails"
    first, second = judged.first, judged.second
    if len(first.rows) == len(second.rows) == 1 and first.column_count == second.column_count == 1:
        return f"{_short(first.rows[0][0])} against {_short(second.rows[0][0])}"
    if judged.comparison is not None and judged.comparison.equal:
        return "another choice of tied rows gives another result"
    if len(first.rows) != len(second.rows):
        return f"{_rows(first)} against {_rows(second)}"
    reason = "" if judged.comparison is None else judged.comparison.reason
    return reason or "the rows differ"


def tags_of(witness: Witness, judged: Judged) -> tuple[WitnessTag, ...]:
    """The kind of the difference."""
    first, second = witness.first, witness.second
    tags: list[WitnessTag] = []
    ours, theirs = Counter(map(_row_key, first.rows)), Counter(map(_row_key, second.rows))
    if first.rows and second.rows and first.column_count != second.column_count:
        tags.append("column_count")
    elif ours == theirs:
        tags.append("order_only")
    elif set(ours) == set(theirs):
        tags.append("multiplicity_only")
    if judged.comparison is not None and any(miss.kind == "type_only" for miss in judged.comparison.near_misses):
        tags.append("typing")
    if not first.rows or not second.rows:
        tags.append("needs_empty_result")
    if any(not table.rows for table in witness.tables):
        tags.append("needs_empty_table")
    if any(cell is None for table in witness.tables for row in table.rows for cell in row):
        tags.append("needs_null")
    return tuple(tags)


def _row_key(row: Row) -> tuple[str, ...]:
    return tuple(map(value_key, row))


def _unshared(first: Result, second: Result, comparison: Comparison | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The indexes of rows that the other result lacks, with columns paired as the comparison paired them."""
    mapping = list(comparison.column_mapping) if comparison is not None else []
    if first.column_count != second.column_count or None in mapping or len(mapping) != first.column_count:
        mapping = list(range(second.column_count))
    theirs = [tuple(row[index] for index in mapping if index is not None) for row in second.rows]
    left = Counter(map(_row_key, theirs))
    only_first = []
    for place, row in enumerate(first.rows):
        key = _row_key(row)
        if left[key] > 0:
            left[key] -= 1
        else:
            only_first.append(place)
    only_second = []
    for place in reversed(range(len(theirs))):
        key = _row_key(theirs[place])
        if left[key] > 0:
            left[key] -= 1
            only_second.append(place)
    return tuple(only_first), tuple(reversed(only_second))


def _statements(
    plan: Plan, scratch: ScratchDatabase, tables: Sequence[WitnessTable], queries: Sequence[str]
) -> tuple[str, ...]:
    """The statements that create the witness. A table that no query reads is included if another one refers to it: with
    foreign keys enforced, SQLite refuses rows of a table whose parent does not exist."""
    made = scratch.statements_for({table.name for table in plan.tables}, queries)
    inserts = []
    for table in tables:
        if table.rows:
            names = ", ".join(map(quoted, table.columns))
            rows = ", ".join(f"({', '.join(map(sql_literal, row))})" for row in table.rows)
            inserts.append(f"INSERT INTO {table.name} ({names}) VALUES {rows}")
    if scratch.dialect == "sqlite" and _refer_ahead(plan, {table.name for table in tables if table.rows}):
        inserts = ["BEGIN", "PRAGMA defer_foreign_keys = ON", *inserts, "COMMIT"]
    return (*made, *inserts)


def _refer_ahead(plan: Plan, filled: set[str]) -> bool:
    """Whether rows refer to rows of a table that is filled later: tables refer to each other."""
    waiting = {table.schema.name.lower() for table in plan.tables if table.name in filled}
    for table in plan.tables:
        if table.name not in filled:
            continue
        waiting.discard(table.schema.name.lower())
        if any(key.table.lower() in waiting for key in table.schema.foreign_keys):
            return True
    return False


def sql_literal(value: Cell) -> str:
    """A value as a literal for SQLite and DuckDB."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return repr(value)
        case bytes():
            return f"X'{value.hex()}'"
        case list() | tuple():
            return f"[{', '.join(map(sql_literal, value))}]"
        case dict():
            return f"{{{', '.join(f'{sql_literal(str(key))}: {sql_literal(cell)}' for key, cell in value.items())}}}"
        case _:
            return "'" + str(value).replace("'", "''") + "'"


def _short(value: Cell) -> str:
    text = sql_literal(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _rows(result: Result) -> str:
    count = len(result.rows)
    return "no row" if not count else "one row" if count == 1 else f"{count} rows"


_UNKNOWN: dict[WhyUnknown, str] = {
    "unreadable": "a query is not one valid query of this dialect",
    "no_schema": "there is no schema to generate databases from",
    "nondeterministic": "a query uses chance, the clock, or an aggregate of any value: it may differ from itself",
    "no_engine": "the queries cannot be tried: this engine has no in-memory databases",
    "lost": "the queries ended the process that executed them",
}

_MOST_TOLD = 2
"""Alternatives in a sentence; all are in the list below it."""


def refuted_sentence(witness: Witness, *, real: bool) -> str:
    """A sentence: they differ, and on which database."""
    where = "on data like the database's own" if real else "on data that satisfies every declared constraint"
    return f"they differ {where} ({_size(witness)}): {witness.difference}"


def conditional_sentence(
    broken: Sequence[Assumption], witness: Witness, alternatives: Sequence[Sequence[Assumption]] = ()
) -> str:
    """Under which conditions they differ; each one is enough."""
    what = ", or if ".join(map(_together, (broken, *alternatives[:_MOST_TOLD])))
    return f"they differ if {what}, which the data never shows; for example ({_size(witness)}): {witness.difference}"


def _together(broken: Sequence[Assumption]) -> str:
    told = [one.broken for one in broken[:2]]
    rest = len(broken) - len(told)
    return " and ".join(told) + (f" (and {rest} more)" if rest else "")


def proved_sentence(proof: Proof) -> str:
    """A sentence: they are equivalent, and how far."""
    if proof.rules == ("same text",):
        return "the queries have the same text, so every result of one is a possible result of the other"
    return f"the queries give {proof.text}"


def not_proved_sentence(found: Unproved) -> str:
    """What prevented the proof."""
    query = "" if found.where == "both" else f"in the {found.where} query: "
    return f"{query}{found.reason}"


def not_found_sentence(trials: int, *, out_of_time: bool) -> str:
    """A sentence: no difference was found."""
    until = ", until the time limit" if out_of_time else ""
    return f"no difference on any of {trials:,} small databases{until}"


def unknown_sentence(why: WhyUnknown, failures: Sequence[str | None]) -> str:
    """Why the outcome is undecided."""
    said = [
        f"the {which} query fails: {message}"
        for which, message in zip(("first", "second"), failures, strict=False)
        if message is not None
    ]
    if why == "fails":
        return "; ".join(said) or "a query fails, or takes too long, on every small database that was tried"
    if why == "one_fails":
        where = (
            "on every database that could show a difference, "
            if said
            else "on every database that could show a difference, one query fails"
        )
        return where + "; ".join(said)
    return _UNKNOWN.get(why, why.replace("_", " "))


def _size(witness: Witness) -> str:
    count = witness.row_count
    return "no rows at all" if not count else "one row" if count == 1 else f"{count} rows"
