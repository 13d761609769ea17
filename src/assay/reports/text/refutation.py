"""Two queries on other databases, for a person: the tables, both results with what differs, or the proof's rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent

from assay.diagnosis import CAUSES
from assay.model import Result, Row
from assay.model.witness import Refutation, Witness
from assay.reports.text.parts import MARGIN
from assay.reports.text.plain import cell_text, grid_lines, one_line, visible

_TITLES = {
    "refuted": "REFUTED",
    "conditional": "CONDITIONAL",
    "tie": "A TIE",
    "proved": "PROVED EQUIVALENT",
    "bounded": "EQUIVALENT ON SMALL TABLES",
    "unknown": "UNKNOWN",
}
_TAGS = {
    "multiplicity_only": "the same rows, some more often",
    "order_only": "the same rows in another order",
    "column_count": "the numbers of columns differ",
    "needs_empty_result": "one result is empty",
    "needs_empty_table": "a table is empty",
    "needs_null": "only with a NULL",
    "typing": "the values differ only in type",
}
_WIDEST = 40
_LENGTH = 300
_QUERIES = "the first query", "the second query"


def refutation_text(outcome: Refutation, *, gold: bool = False) -> str:
    """The whole outcome. ``gold``: the first is the gold query, the second the prediction."""
    return "\n".join(_lines(outcome, ("the gold query", "the prediction") if gold else _QUERIES)) + "\n"


def refutation_parts(outcome: Refutation) -> Iterator[str]:
    """The outcome for a gold query and a prediction, and the SQL that makes its database, each under a heading."""
    yield f"\non other databases:\n{indent(refutation_text(outcome, gold=True).rstrip(), MARGIN)}"
    if outcome.witness is not None:
        yield f"\nSQL that makes this database:\n{indent(witness_sql(outcome.witness).rstrip(), MARGIN)}"


def remarks(outcome: Refutation) -> Iterator[str]:
    """The lines below the tables: assumptions, tags, the proof's rules, notes, the number of trials."""
    yield from differs_where(outcome)
    for one in outcome.broken:
        yield f"it assumes that {one_line(one.broken)}; in the data, {one_line(one.text)}"
    for others in outcome.alternatives:
        told = " and ".join(one_line(one.broken) for one in others)
        yield f"also enough: {told}; in the data, {' and '.join(one_line(one.text) for one in others)}"
    if outcome.tags and outcome.witness is not None:
        yield "; ".join(_TAGS[tag] for tag in outcome.tags)
    if outcome.proof is not None:
        yield from (f"it follows from: {one_line(rule)}" for rule in outcome.proof.rules)
    if outcome.not_proved:
        yield f"not proved either: {one_line(outcome.not_proved)}"
    yield from (one_line(note) for note in outcome.notes)
    if outcome.engine and outcome.trials:
        yield f"{outcome.trials:,} databases tried on {outcome.engine}, seed {outcome.seed}"


def differs_where(outcome: Refutation) -> Iterator[str]:
    """How a match differs from the gold query, a line each, and which of its clauses would make them agree."""
    for cause in outcome.causes:
        proved = ", as the witness shows" if cause.proved else ""
        yield f"differs: {one_line(cause.message, limit=_LENGTH)} ({CAUSES[cause.kind].title.lower()}{proved})"
    if outcome.repair is not None:
        steps = (
            f"{one_line(step.after, limit=_LENGTH) or 'nothing'} in place of "
            f"{one_line(step.before, limit=_LENGTH) or 'nothing'}"
            for step in outcome.repair.steps
        )
        yield f"no counterexample was found with {'; '.join(steps)} as in the gold query"


def witness_sql(witness: Witness) -> str:
    """The statements that make the witness."""
    return "".join(f"{visible(statement)};\n" for statement in witness.statements)


def _lines(outcome: Refutation, names: tuple[str, str]) -> Iterator[str]:
    yield f"{_TITLES[outcome.kind]}: {one_line(outcome.reason)}"
    if outcome.causes:
        yield ""
        yield from differs_where(outcome)
    if outcome.witness is not None:
        yield from _witness(outcome.witness, names)
    if outcome.broken:
        yield ""
        yield "It assumes something that does not occur in the data:"
        for one in outcome.broken:
            yield f"  {one_line(one.broken)}  (in the data, {one_line(one.text)})"
    for others in outcome.alternatives:
        yield "Also enough by itself:"
        for one in others:
            yield f"  {one_line(one.broken)}  (in the data, {one_line(one.text)})"
    if outcome.tags and outcome.witness is not None:
        yield ""
        yield "Note: " + "; ".join(_TAGS[tag] for tag in outcome.tags)
    if outcome.proof is not None and outcome.proof.rules:
        yield ""
        yield "It follows from:"
        for rule in outcome.proof.rules:
            yield f"  {one_line(rule)}"
    if outcome.not_proved:
        yield f"not proved either: {one_line(outcome.not_proved)}"
    for note in outcome.notes:
        yield f"note: {one_line(note)}"
    if outcome.engine and outcome.trials:
        yield f"({outcome.trials:,} databases tried on {outcome.engine}, seed {outcome.seed})"


def _witness(witness: Witness, names: tuple[str, str]) -> Iterator[str]:
    for table in witness.tables:
        yield ""
        yield f"{one_line(table.name)}{'' if table.rows else ' (no rows)'}"
        if table.rows:
            yield from _grid(table.columns, table.rows, ())
    for title, result, only in (
        (names[0], witness.first, witness.only_first),
        (names[1], witness.second, witness.only_second),
    ):
        yield ""
        yield f"{title} returns {'no rows' if not result.rows else ''}".rstrip()
        if result.rows:
            yield from _of_result(result, only)


def _of_result(result: Result, only: Sequence[int]) -> Iterator[str]:
    columns = result.columns or tuple(f"column {place + 1}" for place in range(result.column_count))
    yield from _grid(columns, result.rows, only)


def _grid(columns: Sequence[str], rows: Sequence[Row], marked: Sequence[int]) -> Iterator[str]:
    names = [one_line(name, limit=_WIDEST) for name in columns]
    head, rule, *lines = grid_lines([names, *([_cell(value) for value in row] for row in rows)], rule="-+-")
    yield from (f"  {head}", f"  {rule}")
    yield from (f"{'>' if number in marked else ' '} {line}" for number, line in enumerate(lines))


def _cell(value: object) -> str:
    return one_line(cell_text(value).whole, limit=_WIDEST)
