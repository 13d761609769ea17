"""Why one answer is wrong: `CauseFinder`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from assay.diagnosis.data import DataWitness
from assay.diagnosis.failures import cause_of_failure
from assay.diagnosis.kinds import CAUSES
from assay.diagnosis.naming import Named, name_causes
from assay.diagnosis.signs import Sign, signs
from assay.diagnosis.wording import message_of
from assay.model import DatabaseSchema, DatabaseUrl, Evidence, Row
from assay.model.diagnosis import Cause, Diagnosis, Repair, RepairStep
from assay.ports import QueryExecutor
from assay.sql.clauses import Difference, SchemaNames, differences, read_pair, read_parts, repaired_queries

MOST_REPAIRS = 40
"""At most this many repairs of an answer are executed."""
_LEAST_S = 1.0
"""Repairs of an answer begin for so long, or for as long as gold and the answer took; probes of its data, too."""

SchemaOf = Callable[[DatabaseUrl], DatabaseSchema | None]
_BESIDE = {"JOIN": "FROM", "HAVING": "HAVING"}


class CauseFinder:
    """Implements `assay.ports.Diagnoser` by comparing clauses and executing repairs.

    ``schema_of`` gives a database's schema, or None where it cannot be read: names are then resolved as far as the
    queries themselves tell.
    """

    def __init__(self, executor: QueryExecutor, schema_of: SchemaOf) -> None:
        self._executor = executor
        self._schema_of = schema_of

    def diagnose(self, evidence: Evidence, url: DatabaseUrl, is_right: Callable[[str], bool]) -> Diagnosis | None:
        """The causes of an incorrect answer; None for any other. ``is_right`` executes and judges a repaired query."""
        if evidence.outcome != "incorrect":
            return None
        found = self._diagnosis(evidence, url, is_right)
        return replace(found, title=title_of(found.causes[0]) if found.causes else None)

    def _diagnosis(self, evidence: Evidence, url: DatabaseUrl, is_right: Callable[[str], bool]) -> Diagnosis:
        dialect = self._executor.dialect(url)
        schema = self._schema_of(url)
        notes = (
            () if schema is not None else ("the database's schema cannot be read: names are taken from the queries",)
        )
        failure = evidence.verdict.failure
        query = evidence.prediction.query
        if failure is not None or query is None:
            causes: list[Cause] = []
            if failure is not None:
                causes = cause_of_failure(failure, query, dialect, schema)
            causes = causes or [Cause(kind="unanswered", message="the system gave no query")]
            return Diagnosis(causes=tuple(causes), notes=notes)
        found = self._of_results(evidence, _Pair.of(evidence, dialect, schema), url, is_right)
        return replace(found, notes=(*notes, *found.notes))

    def _of_results(
        self,
        evidence: Evidence,
        pair: _Pair,
        url: DatabaseUrl,
        is_right: Callable[[str], bool],
    ) -> Diagnosis:
        """The causes of an answer whose rows differ from gold's."""
        if pair.unread:
            causes = (Cause(kind="other", message=evidence.verdict.reason),)
            return Diagnosis(causes=(*causes, *_ambiguity(evidence)), notes=(pair.unread,))
        repair, tried = self._repair(evidence, pair, is_right)
        if not pair.signs:
            return Diagnosis(causes=self._alike(evidence), repair=repair, tried=tried)
        named = _settled(pair.signs, repair)
        witness = DataWitness(self._asks(url, time.monotonic() + self._time_for(evidence)), pair.schema, pair.dialect)
        proved_clauses = _clauses_of(repair)
        found = []
        for one in named:
            cause = Cause(
                kind=one.kind,
                message=_message(one, named),
                clause=one.sign.difference.clause,
                gold=one.sign.difference.gold,
                predicted=one.sign.difference.predicted,
                proved=_clause(one.sign.difference) in proved_clauses,
            )
            found.append(
                witness.supported(
                    cause,
                    one.sign.difference,
                    comparison=evidence.comparison,
                    repair=repair,
                    predicted=pair.predicted,
                )
            )
        if repair is None and len({_clause(sign.difference) for sign in pair.signs}) > _SEVERAL:
            words = f"no repair of up to three clauses makes the answer right ({tried} tried)"
            found = [Cause(kind="rewrite", message=words), *found[:2]]
        return Diagnosis(causes=(*found, *_ambiguity(evidence)), repair=repair, tried=tried)

    def _alike(self, evidence: Evidence) -> tuple[Cause, ...]:
        """The causes where both queries say the same, as far as is read."""
        known = _ambiguity(evidence)
        if known:
            return known
        words = f"{evidence.verdict.reason}; clause by clause both queries say the same"
        return (Cause(kind="other", message=words),)

    def _repair(self, evidence: Evidence, pair: _Pair, is_right: Callable[[str], bool]) -> tuple[Repair | None, int]:
        """The smallest repair that makes the answer right, and how many were executed."""
        ends = time.monotonic() + self._time_for(evidence)
        tried = 0
        for repaired in repaired_queries(pair.gold, pair.predicted, pair.dialect, pair.names):
            if tried >= MOST_REPAIRS or time.monotonic() > ends:
                break
            tried += 1
            if is_right(repaired.query):
                steps = tuple(RepairStep(clause=s.clause, before=s.before, after=s.after) for s in repaired.steps)
                return Repair(steps=steps, query=repaired.query), tried
        return None, tried

    def _time_for(self, evidence: Evidence) -> float:
        """Seconds: causes cost at most about as much as the verdict did."""
        executions = (*evidence.gold_executions, *filter(None, [evidence.predicted_execution]))
        return max(_LEAST_S, sum(execution.took_s or 0.0 for execution in executions))

    def _asks(self, url: DatabaseUrl, ends: float) -> Callable[[str], tuple[Row, ...] | None]:
        def ask(query: str) -> tuple[Row, ...] | None:
            if time.monotonic() > ends:
                return None
            result = self._executor.execute(url, query).result
            return None if result is None else tuple(result.rows)

        return ask


_SEVERAL = 2
"""With more clauses that differ than this, and no repair that works, the prediction is almost a rewrite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Gold and a prediction, read."""

    gold: str
    predicted: str
    dialect: str
    schema: DatabaseSchema | None
    names: SchemaNames
    signs: Sequence[Sign] = ()
    unread: str = ""
    """Why the clauses could not be compared."""

    @classmethod
    def of(cls, evidence: Evidence, dialect: str, schema: DatabaseSchema | None) -> _Pair:
        """The prediction beside the gold that it has fewest differences from."""
        names = SchemaNames(schema)
        query = evidence.prediction.query or ""
        best: _Pair | None = None
        for gold in evidence.case.golds:
            pair = read_pair(gold, query, dialect, names)
            if pair is None:
                continue
            found = signs(differences(*pair), *pair)
            if best is None or len(found) < len(best.signs):
                best = cls(gold=gold, predicted=query, dialect=dialect, schema=schema, names=names, signs=found)
        if best is not None:
            return best
        if read_parts(query, dialect, names) is None:
            unread = (
                "the prediction cannot be compared clause by clause: it cannot be parsed, or is too long or too deep"
            )
            return cls(gold="", predicted=query, dialect=dialect, schema=schema, names=names, unread=unread)
        unread = "gold cannot be compared clause by clause: it cannot be parsed, or is too long or too deep"
        return cls(gold="", predicted=query, dialect=dialect, schema=schema, names=names, unread=unread)


def _settled(found: Sequence[Sign], repair: Repair | None) -> list[Named]:
    """The causes; those of the repair's clauses first, one for each clause that needs repair."""
    clauses = _clauses_of(repair)
    proved = [sign for sign in found if _clause(sign.difference) in clauses]
    if not proved:
        return name_causes(found)
    primary = name_causes(found, proved=frozenset(place for place, sign in enumerate(found) if sign in proved))
    for clause in clauses if repair is not None and len(repair.steps) > 1 else ():
        if any(_clause(one.sign.difference) == clause for one in primary):
            continue
        own = name_causes([sign for sign in found if _clause(sign.difference) == clause])
        primary = [*primary[:1], *own[:1], *primary[1:]] if own else primary
    once = {one.kind: one for one in reversed(primary)}
    return [once[kind] for kind in dict.fromkeys(one.kind for one in primary)][:4]


def _message(one: Named, named: Sequence[Named]) -> str:
    """The evidence, which says so where an earlier cause rests on the same difference."""
    message = message_of(one.sign.difference)
    first = next(other for other in named if other.sign is one.sign)
    return message if first is one else f"{message}; the same difference, read as {CAUSES[one.kind].title.lower()}"


def _clauses_of(repair: Repair | None) -> list[str]:
    return [] if repair is None else [step.clause for step in repair.steps]


def _clause(difference: Difference) -> str:
    return _BESIDE.get(difference.clause, difference.clause)


def _ambiguity(evidence: Evidence) -> tuple[Cause, ...]:
    ambiguity = evidence.verdict.ambiguity
    if ambiguity is None:
        return ()
    return (Cause(kind="ambiguous_gold", message=ambiguity.text),)


def title_of(cause: Cause) -> str:
    """The name under which reports count a cause."""
    return CAUSES[cause.kind].title
