"""How sure each match is, in words: the counts of a run, and a counterexample to one answer."""

from __future__ import annotations

from msgspec import Struct

from assay.model import Evidence, Result
from assay.model.witness import Refutation, Witness
from assay.reports.text.meanings import SETTLED, STRENGTHS
from assay.reports.text.plain import CellText, cell_text, clipped, one_line, plural, visible, words
from assay.reports.text.refutation import refutation_text, remarks, witness_sql

_SENTENCE = 600
_ROWS, _COLUMNS, _CELL = 40, 20, 200
_SQL, _TEXT = 20_000, 20_000


class ShownTable(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A table of a witness, or the result of a query on it."""

    name: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[CellText, ...], ...] = ()
    marked: tuple[int, ...] = ()
    """The rows that only this result has."""
    left: int = 0
    """How many rows are not shown."""


class WitnessView(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The result of the counterexample search for an answer."""

    title: str
    said: str
    tables: tuple[ShownTable, ...] = ()
    results: tuple[ShownTable, ...] = ()
    """That of the gold query, then the prediction's; none without a witness."""
    sql: str = ""
    """What makes the database."""
    remarks: tuple[str, ...] = ()
    """What is assumed, how the results differ, what the proof follows from, what was left out of account."""


def strength_name(item: Evidence) -> str:
    """The strength of a match in words; empty for any other verdict, and without a search."""
    found = item.verdict.strength
    return words(found) if item.outcome == "correct" and item.refutation is not None else ""


def strength_said(item: Evidence) -> tuple[str, str] | None:
    """The strength of a verdict, and what it means for this answer."""
    strength = item.verdict.strength
    if strength == "none":
        return None
    if item.outcome != "correct":
        return "certain", SETTLED
    return words(strength), sentence(item) or STRENGTHS.get(strength, "")


def sentence(item: Evidence) -> str:
    """The result of the counterexample search in a sentence; empty if there was none."""
    found = item.refutation
    if found is None:
        return ""
    tried = f" ({plural(found.trials, 'database')} tried)" if item.verdict.strength == "survived" else ""
    where = f"; differs: {found.causes[0].message}" if found.causes else ""
    return one_line(found.reason + where, limit=_SENTENCE) + tried


def witness_view(item: Evidence) -> WitnessView | None:
    """Tables, results and SQL of what was found; None without a search, and if both queries have the same text."""
    found = item.refutation
    if found is None or item.verdict.strength == "same_text":
        return None
    told = tuple(one_line(line, limit=_SENTENCE) for line in remarks(found))
    if found.witness is None:
        return WitnessView(title=words(item.verdict.strength), said=sentence(item), remarks=told)
    witness = found.witness
    return WitnessView(
        title=words(item.verdict.strength),
        said=sentence(item),
        tables=tuple(_table(_unquoted(one.name), one.columns, one.rows) for one in witness.tables),
        results=_results(witness),
        sql=clipped(witness_sql(witness), limit=_SQL),
        remarks=told,
    )


def witness_text(found: Refutation) -> str:
    """The whole outcome as text, for a cell or a code block."""
    return clipped(visible(refutation_text(found, gold=True).rstrip()), limit=_TEXT)


def _results(witness: Witness) -> tuple[ShownTable, ...]:
    def result(name: str, found: Result, only: tuple[int, ...]) -> ShownTable:
        columns = found.columns or tuple(f"column {place + 1}" for place in range(found.column_count))
        return _table(name, columns, tuple(found.rows), only)

    return (
        result("Gold", witness.first, witness.only_first),
        result("Predicted", witness.second, witness.only_second),
    )


def _unquoted(name: str) -> str:
    """A table's name without the quotes that SQL needs."""
    bare = name.removeprefix('"').removesuffix('"').replace('""', '"')
    return bare if '"."' not in name and len(bare) <= len(name) - 2 else name


def _table(
    name: str, columns: tuple[str, ...], rows: tuple[tuple[object, ...], ...], marked: tuple[int, ...] = ()
) -> ShownTable:
    return ShownTable(
        name=one_line(name, limit=80),
        columns=tuple(one_line(column, limit=60) for column in columns[:_COLUMNS]),
        rows=tuple(tuple(cell_text(cell, limit=_CELL) for cell in row[:_COLUMNS]) for row in rows[:_ROWS]),
        marked=tuple(place for place in marked if place < _ROWS),
        left=max(0, len(rows) - _ROWS),
    )
