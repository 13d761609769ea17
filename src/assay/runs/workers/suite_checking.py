"""Hold answers against the databases of a suite, in the worker that scores them: milliseconds for each case."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from assay.comparison.answer import Answer
from assay.engines.pool import heartbeat
from assay.errors import plural
from assay.model import Case, Comparison, ComparisonOptions, Execution, Limits, Prediction, Result, Row
from assay.model.databases.suite import Suite, SuiteDatabase, SuiteFinding, SuiteLayout
from assay.ports import ScratchDatabase
from assay.runs.workers.trials import label_of, memory_scratch_maker, watched
from assay.scoring.queries.gold_answers import GoldAnswer, ScratchAnswers, read_answers
from assay.sql.query import Unreadable
from assay.witness.query_facts import read_pair
from assay.witness.showing import sql_literal

_KEPT = 8
_MOST_SECONDS = 5.0
_SHOWN_ROWS = 8
_SHOWN_CHARACTERS = 300


class SuiteChecker:
    """Implements `assay.ports.ChecksSuite`. The empty databases of the last few layouts are kept."""

    def __init__(self, suite: Suite, engines: dict[str, str], limits: Limits) -> None:
        self._suite = suite
        self._maker = memory_scratch_maker(engines, suite.engine)
        self._timeout_s = min(limits.timeout_s, _MOST_SECONDS)
        self._scratches: dict[str | None, ScratchDatabase] = {}

    def check(self, case: Case, prediction: Prediction, options: ComparisonOptions) -> SuiteFinding:
        """How the answer fares on the databases of its case."""
        entry = self._suite.cases.get(case.id)
        if entry is None:
            return SuiteFinding(problem=f"the suite has no case {case.id}")
        if case.results and not case.golds:
            return SuiteFinding(problem="the gold query is a given result: there is no query to execute on the suite")
        if entry.golds != case.golds or entry.database != case.database:
            return SuiteFinding(problem="the suite was built for another gold query of this case")
        layout = self._suite.layouts.get(entry.database)
        if not entry.databases or layout is None or self._maker is None:
            return SuiteFinding(
                problem=f"the suite has no database for this case: {entry.why or 'its tables are gone'}"
            )
        count, query = len(entry.databases), prediction.query
        if query is None:
            if prediction.result is not None:
                return SuiteFinding(problem="the prediction is rows: there is no query to execute on the suite")
            return SuiteFinding(databases=count, difference="there is no query")
        if query in case.golds:
            return SuiteFinding(databases=count, agreed=count)
        label = label_of("suite", case.id, query)
        if (loss := heartbeat.lost(label)) is not None:
            names = tuple(one.name for one in entry.databases)
            told = f"the prediction hung or crashed there: its process {loss.message}"
            return SuiteFinding(databases=count, parted_by=names, difference=told)
        with watched(label, self._timeout_s * (len(case.golds) + 1) * count):
            scratch = self._scratch(layout)
            agreed: list[list[bool]] = [[] for _ in case.golds]
            first: tuple[SuiteDatabase, str] | None = None
            for database in entry.databases:
                if not scratch.fill(database.rows):
                    why = "; ".join(scratch.refused) or "a constraint refuses a row"
                    return SuiteFinding(problem=f"database {database.name} of the suite cannot be made here: {why}")
                predicted = scratch.execute(query)
                for number, gold in enumerate(case.golds):
                    right = scratch.execute(gold)
                    if right.result is None:
                        why = right.failure.message if right.failure is not None else ""
                        return SuiteFinding(problem=f"the gold query fails on suite database {database.name}: {why}")
                    comparison = _compared(scratch, case, gold, right.result, predicted, options)
                    equal = comparison is not None and comparison.equal
                    agreed[number].append(equal)
                    if not equal and first is None:
                        first = (database, _told(right.result, predicted, comparison))
            best = max(agreed, key=sum)
            parted = tuple(one.name for one, equal in zip(entry.databases, best, strict=True) if not equal)
            if not parted or first is None:
                return SuiteFinding(databases=len(best), agreed=sum(best))
            return SuiteFinding(
                databases=len(best),
                agreed=sum(best),
                parted_by=parted,
                difference=first[1],
                witness=shown_rows(layout, first[0], (case.golds[agreed.index(best)], query)),
            )

    def close(self) -> None:
        """Release the databases. Closing twice is harmless."""
        for scratch in self._scratches.values():
            scratch.close()
        self._scratches.clear()

    def _scratch(self, layout: SuiteLayout) -> ScratchDatabase:
        found = self._scratches.pop(layout.database, None)
        if found is None:
            assert self._maker is not None
            found = self._maker.scratch(layout.schema, timeout_s=self._timeout_s)
            found.prepare(dict(layout.tables))
        self._scratches[layout.database] = found
        if len(self._scratches) > _KEPT:
            self._scratches.pop(next(iter(self._scratches))).close()
        return found


def _compared(  # noqa: PLR0917 - one caller
    scratch: ScratchDatabase, case: Case, gold: str, right: Result, predicted: Execution, options: ComparisonOptions
) -> Comparison | None:
    """By the verdict's own rules; None if the answer has no result."""
    if predicted.result is None:
        return None
    options = replace(options, boolean_is_integer=not scratch.has_boolean_type, near_misses=False, sample_rows=0)
    if case.options.ordered is None:
        answers = read_answers(scratch, gold, right)
    else:
        answer = Answer.strict(right) if case.options.ordered else Answer.bag(right)
        answers = ScratchAnswers(GoldAnswer(answer=answer))
    return answers.compare(predicted.result, options)


def _told(right: Result, predicted: Execution, comparison: Comparison | None) -> str:
    if predicted.result is None:
        return (
            f"the prediction fails: {predicted.failure.message if predicted.failure is not None else predicted.status}"
        )
    ours, theirs = right.rows, predicted.result.rows
    if max(len(ours), len(theirs)) <= 3 and ours != theirs:
        return f"the gold query gives {_rows(ours)}, the prediction {_rows(theirs)}"
    if len(ours) != len(theirs):
        return f"row counts differ: gold query {len(ours)}, prediction {len(theirs)}"
    return (comparison.reason if comparison is not None else "") or "the rows differ"


def _rows(rows: Sequence[Row]) -> str:
    text = ", ".join(f"({', '.join(map(sql_literal, row))})" for row in rows) or "no row"
    return text if len(text) <= 120 else f"{text[:119]}…"


def shown_rows(layout: SuiteLayout, database: SuiteDatabase, queries: tuple[str, str] | None = None) -> tuple[str, ...]:
    """The rows of a database, a line for each table; of two queries, what these read."""
    facts = None if queries is None else read_pair(*queries, layout.schema, layout.schema.dialect)
    if isinstance(facts, Unreadable):
        facts = None
    names = {table.quoted_name: table.name.lower() for table in layout.schema.tables}
    lines = []
    for (table, columns), rows in zip(layout.tables, database.rows, strict=True):
        name = names.get(table, "")
        wanted = [
            place for place, column in enumerate(columns) if facts is None or (name, column.lower()) in facts.columns
        ]
        if facts is not None and name not in facts.read:
            continue
        shown = [f"({', '.join(sql_literal(row[place]) for place in wanted)})" for row in rows[:_SHOWN_ROWS]]
        more = f" and {len(rows) - _SHOWN_ROWS} more" if len(rows) > _SHOWN_ROWS else ""
        if facts is not None and not wanted:
            lines.append(f"{table}: {plural(len(rows), 'row')}")
            continue
        line = f"{table} ({', '.join(columns[place] for place in wanted)}): {', '.join(shown) or 'no row'}{more}"
        lines.append(line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…")
    return tuple(lines)
