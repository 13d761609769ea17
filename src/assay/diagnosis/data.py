"""Evidence for a cause in the data: values that never occur, joins that multiply rows, dropped fractions."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from msgspec.structs import replace

from assay.model import Cell, Comparison, DatabaseSchema, Row
from assay.model.verdicts.diagnosis import Cause, Repair
from assay.sql.differences import Difference, Term, count_of_joined_rows, place_of, quoted_for

_MOST_VALUES = 2_000
_SHOWN = 3

Ask = Callable[[str], tuple[Row, ...] | None]
"""Executes one query under the run's limits; None if it fails."""


class DataEvidence:
    """Searches the database for evidence of a cause."""

    def __init__(self, ask: Ask, schema: DatabaseSchema | None, dialect: str) -> None:
        self._ask = ask
        self._tables = {table.name.lower(): table for table in schema.tables} if schema is not None else {}
        self._dialect = dialect
        self._joined_rows: dict[str, Cell] = {}
        """Query → number of rows after its joins."""

    def supported(
        self,
        cause: Cause,
        difference: Difference,
        *,
        comparison: Comparison | None,
        repair: Repair | None,
        predicted: str,
    ) -> Cause:
        """The cause, with the evidence from the data."""
        term = difference.gold_term or difference.predicted_term
        table, column = place_of(next(iter(term.columns), "") if term is not None else "")
        if difference.kind.startswith("table_"):
            table, column = place_of(f"{difference.gold or difference.predicted}.*")[0], ""
        cause = replace(cause, table=table, column=column)
        if cause.kind in ("value_mismatch", "data_format_mismatch", "attribute_mismatch") and difference.predicted_term:
            told = self._never_occurs(difference.predicted_term, difference.gold_term)
            if told and "the same difference" not in cause.message:
                return replace(cause, message=told, symptom="value_never_occurs")
        if difference.kind in ("table_extra", "join_condition", "table_changed", "table_missing"):
            return self._fanned_out(cause, comparison, repair, predicted)
        if _drops_fraction(difference):
            words = f"{cause.message}: dividing whole numbers drops the fraction"
            return replace(cause, message=words, symptom="integer_division")
        if cause.proved and _counts_null(difference):
            words = f"{cause.message}: NULLs make the difference"
            return replace(cause, message=words, symptom="null_handling")
        if difference.kind == "null_condition_missing" and cause.proved:
            return replace(cause, symptom="null_handling")
        return cause

    def _never_occurs(self, term: Term, gold: Term | None) -> str:
        """A sentence for a compared value that never occurs in its column, with values that do; otherwise empty."""
        if term.operator not in ("=", "IN") or len(set(term.columns)) != 1 or term.functions or term.inner:
            return ""
        own_table, own_column = place_of(term.columns[0])
        table = self._tables.get(own_table)
        columns = () if table is None else table.columns
        column = next((one.name for one in columns if one.name.lower() == own_column), None)
        if table is None or column is None:
            return ""
        name = f"{table.name}.{column}"
        quoted_table, quoted_column = table.quoted_name, quoted_for(column, self._dialect)
        if self._dialect in ("mysql", "bigquery", "hive", "spark"):
            quoted_table = quoted_for(table.name, self._dialect)
        for literal in term.literals:
            rows = self._ask(f"SELECT COUNT(*) FROM {quoted_table} WHERE {quoted_column} = {literal}")
            if not rows or rows[0][0] != 0:
                continue
            values = self._ask(
                f"SELECT {quoted_column}, COUNT(*) AS n FROM {quoted_table} WHERE {quoted_column} IS NOT NULL "
                f"GROUP BY {quoted_column} ORDER BY n DESC, {quoted_column} LIMIT {_MOST_VALUES}"
            )
            return f"{literal} never occurs in {name}{_which_do(literal, values, gold)}"
        return ""

    def _fanned_out(self, cause: Cause, comparison: Comparison | None, repair: Repair | None, predicted: str) -> Cause:
        """The cause, with a note if the prediction's joins give more rows than those of the repaired query.

        If the two results differ in duplicates only, the join multiplied the rows, too.
        """
        if repair is None or not any(step.clause in ("FROM", "DISTINCT") for step in repair.steps):
            return cause
        for query in (predicted, repair.query):
            if query not in self._joined_rows:
                count = count_of_joined_rows(query, self._dialect)
                rows = None if count is None else self._ask(count)
                self._joined_rows[query] = rows[0][0] if rows else None
        repeated = comparison is not None and any(miss.kind == "duplicates_only" for miss in comparison.near_misses)
        before, after = self._joined_rows[predicted], self._joined_rows[repair.query]
        if isinstance(before, int) and isinstance(after, int) and before > after:
            words = f"{cause.message}: the join gives {before:,} rows instead of {after:,}"
            return replace(cause, message=words, symptom="fan_out")
        if repeated:
            return replace(cause, message=f"{cause.message}: the join duplicates rows", symptom="fan_out")
        return cause


def _which_do(literal: str, values: tuple[Row, ...] | None, gold: Term | None) -> str:
    """The closest values and that of the gold query, with their counts."""
    if not values:
        return ""
    text = literal.strip("'%").replace("''", "'").lower()
    known = {str(value).lower(): (value, count) for value, count in values}
    wanted = [one.strip("'%").replace("''", "'").lower() for one in (gold.literals if gold is not None else ())]
    near = [one for one in wanted if one in known]
    near += [one for one in get_close_matches(text, list(known), n=_SHOWN, cutoff=0.5) if one not in near]
    if not near and len(known) <= _SHOWN * 2:
        near = list(known)
    shown = []
    for value, count in (known[name] for name in near[:_SHOWN]):
        times = "once" if count == 1 else f"{count:,} times" if isinstance(count, int) else f"{count} times"
        shown.append(f"{_literal(value)} does, {times}")
    return "; " + ", ".join(shown) if shown else f"; the column contains {len(values):,} other values"


def _literal(value: Cell) -> str:
    if isinstance(value, str):
        shown = value if len(value) <= 60 else value[:59] + "…"
        return "'" + shown.replace("'", "''") + "'"
    return str(value)


def _drops_fraction(difference: Difference) -> bool:
    """Whether both divide, and only the gold query converts the numbers to fractions first."""
    gold, predicted = difference.gold_term, difference.predicted_term
    if gold is None or predicted is None or "Div" not in gold.arithmetic or "Div" not in predicted.arithmetic:
        return False
    return _is_fractional(gold) and not _is_fractional(predicted)


def _is_fractional(term: Term) -> bool:
    return any("CAST" in name for name in term.functions) or any("." in one for one in term.literals)


def _counts_null(difference: Difference) -> bool:
    """Whether one side counts rows and the other the values of a column."""
    sides = (difference.gold_term, difference.predicted_term)
    if any(term is None or term.aggregates != ("COUNT",) or term.distinct for term in sides):
        return False
    return len({bool(term.columns) for term in sides if term is not None}) == 2
