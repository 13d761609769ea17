"""Why one answer is wrong: `CauseFinder`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.diagnosis.data import Ask, DataEvidence
from assay.diagnosis.failures import cause_of_failure
from assay.diagnosis.kinds import CAUSES
from assay.diagnosis.naming import MOST_NAMED, RankedCause, default_cause, name_causes
from assay.diagnosis.near import agreeing, near_miss_of
from assay.diagnosis.signs import Sign, signs
from assay.diagnosis.traits import traits
from assay.diagnosis.wording import message_of
from assay.model import DatabaseSchema, DatabaseUrl, Evidence, Row
from assay.model.verdicts.diagnosis import Cause, Diagnosis, Repair, RepairStep
from assay.ports import QueryExecutor
from assay.sql.differences import Difference, ReadPair, differences, read_pair, read_parts, repaired_queries
from assay.sql.query import Unreadable
from assay.sql.schema import SchemaNames, names_of
from assay.sql.schema_items import nearest_use

MOST_REPAIRS = 40
"""Maximum number of executed repairs per answer. A count, not a time, so that two runs find the same."""
MOST_PROBES = 20
"""Maximum number of small queries on the data per answer."""
_GUARD_S = 10.0
_GUARD_TIMES = 5.0
"""No repair starts after this many seconds, or this many times the execution time of the gold query and the prediction.
A guard for slow queries, which the diagnosis reports. Repairs of a fast query take milliseconds."""

SchemaOf = Callable[[DatabaseUrl], DatabaseSchema | None]
_BESIDE = {"JOIN": "FROM", "HAVING": "HAVING"}


class CauseFinder:
    """Implements `assay.ports.Diagnoser` by comparing clauses and executing repairs.

    ``schema_of`` gives a database's schema, or None if it cannot be read. Names are then resolved as far as the queries
    themselves allow. ``clock`` gives seconds.
    """

    def __init__(
        self, executor: QueryExecutor, schema_of: SchemaOf, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._executor = executor
        self._schema_of = schema_of
        self._clock = clock

    def diagnose(self, evidence: Evidence, url: DatabaseUrl, is_right: Callable[[str], bool]) -> Diagnosis | None:
        """The causes of an incorrect answer; None for any other. ``is_right`` executes and scores a repaired query."""
        if evidence.outcome != "incorrect":
            return None
        schema, query = self._schema_of(url), evidence.prediction.query
        found = self._diagnosis(evidence, url, schema, is_right)
        schema_use = None
        if schema is not None and query is not None and all(cause.kind != "syntax" for cause in found.causes):
            schema_use = nearest_use(evidence.case.golds, query, self._executor.dialect(url), names_of(schema))
        return replace(found, title=CAUSES[found.causes[0].kind].title, schema_use=schema_use)

    def _diagnosis(
        self, evidence: Evidence, url: DatabaseUrl, schema: DatabaseSchema | None, is_right: Callable[[str], bool]
    ) -> Diagnosis:
        dialect = self._executor.dialect(url)
        notes = (
            () if schema is not None else ("the database's schema cannot be read: names are taken from the queries",)
        )
        failure = evidence.verdict.failure
        query = evidence.prediction.query
        if failure is None and evidence.prediction.result is not None:
            return Diagnosis(causes=_of_rows(evidence), notes=(_GIVEN_ANSWER,))
        if failure is not None or query is None:
            causes: list[Cause] = []
            if failure is not None:
                causes = cause_of_failure(failure, query, dialect, schema)
            causes = causes or [Cause(kind="unanswered", message="the system returned no query")]
            return Diagnosis(causes=tuple(causes), notes=notes)
        if not evidence.case.golds:
            return Diagnosis(causes=_of_rows(evidence), notes=(*notes, _GIVEN_GOLD))
        pair = _Pair.of(evidence, dialect, schema)
        found = self._of_results(evidence, pair, url, is_right)
        return replace(found, notes=(*notes, *found.notes), alike=pair.alike)

    def _of_results(
        self,
        evidence: Evidence,
        pair: _Pair,
        url: DatabaseUrl,
        is_right: Callable[[str], bool],
    ) -> Diagnosis:
        """The causes of an answer whose rows differ from the gold result."""
        if pair.unread:
            return Diagnosis(causes=_of_rows(evidence), notes=(pair.unread,))
        executions = (*evidence.gold_executions, *filter(None, [evidence.predicted_execution]))
        took_s = sum(execution.took_s or 0.0 for execution in executions)
        guard = self._clock() + max(_GUARD_S, _GUARD_TIMES * took_s)
        search = self._repair(pair, is_right, guard)
        repair, tried, notes = search.repair, search.tried, search.notes
        if not pair.signs:
            words = f"{evidence.verdict.reason}; the two queries have the same clauses"
            alone = _ambiguity(evidence) or (Cause(kind="other", message=words),)
            causes = agreeing(alone, near_miss_of(evidence), repair=repair, selected=pair.selected)
            return Diagnosis(causes=tuple(causes), repair=repair, tried=tried, notes=notes)
        asks = self._asks(url, guard)
        changes = _Changes.of(pair, repair, self._dependent(search, pair, asks, evidence))
        witness = DataEvidence(asks, pair.schema, pair.dialect)
        found = []
        seen: list[Sign] = []
        for ranked in changes.causes(pair.traits):
            difference = ranked.sign.difference
            message, is_first = message_of(difference), not any(sign is ranked.sign for sign in seen)
            if not is_first:  # an earlier cause rests on the same difference
                message = f"{message}; the same difference may also be: {CAUSES[ranked.kind].title.lower()}"
            elif repair is not None and any(sign is ranked.sign for sign in changes.others):
                message = f"{message}; the repair does not change this"
            seen.append(ranked.sign)
            cause = Cause(
                kind=ranked.kind,
                message=message,
                clause=difference.clause,
                gold=difference.gold,
                predicted=difference.predicted,
                proved=is_first and any(sign is ranked.sign for sign in changes.repaired),
            )
            found.append(
                witness.supported(
                    cause, difference, comparison=evidence.comparison, repair=repair, predicted=pair.predicted
                )
            )
        if repair is None and len({_clause(sign.difference) for sign in pair.signs}) > _SEVERAL:
            words = f"no repair of up to three clauses corrects the prediction ({tried} tried)"
            found = [*found[:2], Cause(kind="rewrite", message=words)]
        found = agreeing(found, near_miss_of(evidence), pair.signs, repair, selected=pair.selected)
        return Diagnosis(causes=(*found, *_ambiguity(evidence)), repair=repair, tried=tried, notes=notes)

    def _repair(self, pair: _Pair, is_right: Callable[[str], bool], guard: float) -> _Search:
        """The smallest repair that corrects the prediction."""
        tried = 0
        alone: dict[str, str] = {}

        def corrects(query: str) -> bool:
            nonlocal tried
            if tried >= MOST_REPAIRS or self._clock() > guard:
                return False
            tried += 1
            return is_right(query)

        for repaired in repaired_queries(pair.read) if pair.read is not None else ():
            if tried >= MOST_REPAIRS:
                return _Search(tried=tried, notes=(f"only the {tried} smallest repairs were tried",))
            if self._clock() > guard:
                return _Search(tried=tried, notes=(f"the time limit ended the search for repairs after {tried}",))
            tried += not repaired.is_gold
            if repaired.is_gold or is_right(repaired.query):
                smallest = repaired.narrowed(corrects)
                steps = tuple(RepairStep(clause=s.clause, before=s.before, after=s.after) for s in smallest.steps)
                return _Search(repair=Repair(steps=steps, query=smallest.query), tried=tried, alone=alone)
            if len(repaired.clauses) == 1:
                alone[repaired.clauses[0]] = repaired.query
        return _Search(tried=tried)

    def _dependent(self, search: _Search, pair: _Pair, ask: Ask, evidence: Evidence) -> frozenset[str]:
        """The clauses of the repair that change nothing on their own, so that they are wrong only with the others.

        With an inner join, COUNT(*) and the count of a column are equal; with the gold query's LEFT JOIN, they are not.
        """
        steps = () if search.repair is None else search.repair.steps
        before = ask(pair.predicted) if len(steps) > 1 else None
        if before is None:
            return frozenset()
        ordered = evidence.comparison is not None and evidence.comparison.ordered
        after = {step.clause: ask(search.alone[step.clause]) for step in steps if step.clause in search.alone}
        dependent = {
            clause for clause, rows in after.items() if rows is not None and _same_rows(before, rows, ordered=ordered)
        }
        return frozenset() if len(dependent) == len(steps) else frozenset(dependent)

    def _asks(self, url: DatabaseUrl, guard: float) -> Callable[[str], tuple[Row, ...] | None]:
        asked = 0

        def ask(query: str) -> tuple[Row, ...] | None:
            nonlocal asked
            asked += 1
            if asked > MOST_PROBES or self._clock() > guard:
                return None
            result = self._executor.execute(url, query).result
            return None if result is None else tuple(result.rows)

        return ask


_GIVEN_GOLD = "the gold query is a given result: only the results are compared, not the clauses"
_GIVEN_ANSWER = "the prediction consists of rows: only the results are compared, not the clauses"


def _of_rows(evidence: Evidence) -> tuple[Cause, ...]:
    """The causes that the two results alone show."""
    near = evidence.comparison.near_misses if evidence.comparison is not None else ()
    words = [evidence.verdict.reason, *(miss.detail for miss in near[:2])]
    other = Cause(kind="other", message="; ".join(filter(None, words)))
    return (*agreeing([other], near_miss_of(evidence)), *_ambiguity(evidence))


_SEVERAL = 2
"""With more different clauses than this, and no repair that works, the prediction is almost a rewrite."""


class _Pair(Struct, frozen=True, kw_only=True):
    """The gold query and a prediction, parsed."""

    predicted: str
    dialect: str
    schema: DatabaseSchema | None
    names: SchemaNames
    read: ReadPair | None = None
    signs: Sequence[Sign] = ()
    traits: frozenset[str] = frozenset()
    alike: tuple[str, ...] = ()
    """The clauses without a difference, if each query has only one SELECT."""
    unread: str = ""
    """Why the clauses could not be compared."""

    def selected(self) -> tuple[str, str]:
        """The select lists of the gold query and the prediction, as text."""
        sides = () if self.read is None else (self.read.gold, self.read.predicted)
        texts = [", ".join(term.shown for term in side.selects[0].outputs) for side in sides]
        return (texts[0], texts[1]) if texts else ("", "")

    def signs_of(self, gold: str, predicted: str) -> list[Sign] | None:
        """The signs in the differences of two queries of the same database; None if one of them cannot be read."""
        read = read_pair(gold, predicted, self.dialect, self.names)
        return None if read is None else signs(differences(read.gold, read.predicted), read.gold, read.predicted)

    @classmethod
    def of(cls, evidence: Evidence, dialect: str, schema: DatabaseSchema | None) -> _Pair:
        """The prediction, paired with the gold query from which it has the fewest differences."""
        names = _NO_NAMES if schema is None else names_of(schema)
        query = evidence.prediction.query or ""
        read = filter(None, (read_pair(gold, query, dialect, names) for gold in evidence.case.golds))
        pairs = [(one, signs(differences(one.gold, one.predicted), one.gold, one.predicted)) for one in read]
        if not pairs:
            sides = [("the prediction", query), *(("the gold query", gold) for gold in evidence.case.golds)]
            parts = ((side, read_parts(text, dialect, names)) for side, text in sides)
            why = (f"{side} {found.reason}" for side, found in parts if isinstance(found, Unreadable))
            unread = f"not explained: {next(why, 'the two queries are nested too deeply to be compared')}"
            return cls(predicted=query, dialect=dialect, schema=schema, names=names, unread=unread)
        best, found = min(pairs, key=lambda pair: len(pair[1]))
        alike: tuple[str, ...] = ()
        if all(len(side.all_selects) == 1 for side in (best.gold, best.predicted)):
            differ = {_WRITTEN_WITH.get(sign.difference.clause, sign.difference.clause) for sign in found}
            alike = tuple(clause for clause in _WRITTEN if clause not in differ)
        return cls(
            predicted=query,
            dialect=dialect,
            schema=schema,
            names=names,
            read=best,
            signs=found,
            traits=traits(found, best.gold, best.predicted, names),
            alike=alike,
        )


def _same_rows(before: Sequence[Row], after: Sequence[Row], *, ordered: bool) -> bool:
    """Whether two results have the same rows; in the same order if that counts."""
    if ordered or len(before) != len(after):
        return list(before) == list(after)
    try:
        return Counter(before) == Counter(after)
    except TypeError:  # a list in a cell
        return list(before) == list(after)


_NO_NAMES = SchemaNames()
_WRITTEN = ("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT")
_WRITTEN_WITH = {"JOIN": "FROM", "DISTINCT": "SELECT"}


class _Search(Struct, frozen=True, kw_only=True):
    """The search for a repair."""

    repair: Repair | None = None
    tried: int = 0
    """The number of executed repairs."""
    notes: tuple[str, ...] = ()
    """Why the search stopped."""
    alone: Mapping[str, str] = {}
    """The executed repairs of one clause, by clause."""


class _Changes(Struct, frozen=True, kw_only=True):
    """The differences between a prediction and the gold query, on both sides of the repair.

    What distinguishes the prediction from its repair is the cause. What distinguishes the repair from the gold query
    does not matter here. For example, with the repair ``ORDER BY CAST(age AS REAL)``:

    - prediction ``ORDER BY CAST(age AS REAL) DESC``: the direction is the cause,
    - gold query ``ORDER BY age``: the other key is a further difference.
    """

    repaired: Sequence[Sign] = ()
    """Between the prediction and its repair."""
    others: Sequence[Sign] = ()
    """Between the repair and the gold query; all differences if there is no repair."""
    clauses: Sequence[str] = ()
    """The clauses that the repair changes."""
    dependent: frozenset[str] = frozenset()
    """Those of them that change nothing on their own."""

    @classmethod
    def of(cls, pair: _Pair, repair: Repair | None, dependent: frozenset[str]) -> _Changes:
        """The differences of a pair."""
        if repair is None or pair.read is None:
            return cls(others=pair.signs)
        clauses = [step.clause for step in repair.steps]
        gold = pair.read.bound[0].bound.text
        before, after = pair.signs_of(repair.query, pair.predicted), pair.signs_of(gold, repair.query)
        if before is None or after is None:
            before = list(pair.signs)
            after = [sign for sign in before if _clause(sign.difference) not in clauses]
        repaired = [sign for sign in before if sign.difference.inside or _clause(sign.difference) in clauses]
        if not repaired:
            return cls(others=pair.signs)
        repaired = [_as_in_gold(sign, pair.signs) for sign in repaired]
        return cls(repaired=repaired, others=after, clauses=clauses, dependent=dependent)

    def causes(self, traits: frozenset[str]) -> list[RankedCause]:
        """The causes; those of the repair first, one per clause that needs repair, then further differences."""
        signs = [*self.repaired, *self.others]
        primary = name_causes(signs, traits, proved=frozenset(range(len(self.repaired))))
        if len(self.clauses) > 1:
            first = _clause(primary[0].sign.difference)
            in_order = sorted(dict.fromkeys(self.clauses), key=lambda one: (one in self.dependent, one != first))
            by_clause = ([sign for sign in self.repaired if _clause(sign.difference) == one] for one in in_order)
            primary = [*(name_causes(some, traits)[0] for some in by_clause if some), *primary]
        if self.repaired:
            further = [sign for sign in self.others if not any(one.sign is sign for one in primary)]
            primary += [RankedCause(kind=default_cause(sign.name), probability=0.0, sign=sign) for sign in further]
        once = {one.kind: one for one in reversed(primary)}
        return [once[kind] for kind in dict.fromkeys(one.kind for one in primary)][:MOST_NAMED]


def _as_in_gold(sign: Sign, signs: Sequence[Sign]) -> Sign:
    """The sign of a repair with the gold query's text instead of the repair's, which may be between the two."""
    difference = sign.difference
    for one in (other.difference for other in signs):
        if one.clause == difference.clause and one.predicted == difference.predicted and one.gold and difference.gold:
            return replace(sign, difference=replace(difference, gold_text=one.gold))
    return sign


def _clause(difference: Difference) -> str:
    return _BESIDE.get(difference.clause, difference.clause)


def _ambiguity(evidence: Evidence) -> tuple[Cause, ...]:
    ambiguity = evidence.verdict.ambiguity
    if ambiguity is None:
        return ()
    return (Cause(kind="ambiguous_gold", message=ambiguity.text),)
