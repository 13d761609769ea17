"""The entry point: whether two queries differ on some database, or are proved equivalent."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Protocol

from msgspec.structs import replace

from assay.errors import did_you_mean
from assay.model import ComparisonOptions, DatabaseSchema, Proof, Unproved
from assay.model.witness import Refutation, Witness
from assay.ports import ReadsAnswers, ScratchDatabase
from assay.sql import same_text
from assay.sql.query import Unreadable
from assay.witness.assumed import assume, without_references
from assay.witness.clock import Clock
from assay.witness.pair import Budget, PairSearch, ReadReal, unknown
from assay.witness.proof import prove
from assay.witness.query_facts import PairFacts, read_pair
from assay.witness.showing import not_proved_sentence, proved_sentence


class MakeScratch(Protocol):
    """Makes an empty database with a schema's tables."""

    def __call__(self, schema: DatabaseSchema, *, without_keys: bool = False) -> ScratchDatabase: ...


_TABLES_SHOWN = 8
_ATTACKED = 20
"""The share of the budget for the first search, which also attacks every proof: rules may be wrong, and the engine may
refuse what the proof accepted."""


class Refuter:
    """Decides pairs of queries. It caches the empty databases of the last few schemas. Used by one thread."""

    def __init__(
        self,
        make_scratch: MakeScratch,
        reads_answers: ReadsAnswers,
        *,
        options: ComparisonOptions | None = None,
        kept: int = 4,
    ) -> None:
        """``kept`` is the number of schemas whose databases are cached."""
        self._kept = kept
        self._make_scratch = make_scratch
        self._reads_answers = reads_answers
        self._options = options or ComparisonOptions()
        self._scratches: OrderedDict[DatabaseSchema, tuple[ScratchDatabase, ScratchDatabase]] = OrderedDict()

    def refute(
        self,
        first: str,
        second: str,
        schema: DatabaseSchema,
        *,
        dialect: str,
        read_real: ReadReal | None = None,
        budget: Budget | None = None,
        seed: int = 0,
        proves: bool = True,
        max_rows: int = 2,
    ) -> Refutation:
        """Look for a database on which the queries differ, and for a proof that there is none.

        Never raises because of a query. ``first`` is the reference: its ORDER BY decides whether row order
        counts. Without ``read_real`` only the declared constraints are assumed. ``proves`` is off if only
        the search is wanted. Pairs that no rule decides are checked on all tables of ``max_rows`` rows.
        """
        began = time.monotonic()
        budget = budget or Budget()
        facts = _readable(first, second, schema, dialect)
        if isinstance(facts, Refutation):
            return facts
        scratch, without_keys = self._databases(schema)
        pair = PairSearch(
            queries=(first, second),
            facts=facts,
            schema=schema,
            scratch=scratch,
            without_keys=without_keys,
            clock=Clock(budget.seconds),
            seed=seed,
        )
        pair.prepare(self._reads_answers, self._options, read_real)
        found = (
            _decided(pair, budget, _Prover(first, second, pair, facts, dialect, max_rows))
            if proves
            else pair.look(trials=budget.trials)
        )
        return replace(found, engine=scratch.engine, seconds=time.monotonic() - began, seed=seed)

    def made_again(self, schema: DatabaseSchema, witness: Witness) -> ScratchDatabase | None:
        """The database of a witness, valid until the next pair; None if it cannot be made."""
        scratch, _ = self._databases(schema)
        scratch.prepare({table.name: table.columns for table in witness.tables})
        return scratch if scratch.fill([table.rows for table in witness.tables]) else None

    def close(self) -> None:
        """Release the databases. Closing twice is harmless."""
        while self._scratches:
            for scratch in self._scratches.popitem()[1]:
                scratch.close()

    def _databases(self, schema: DatabaseSchema) -> tuple[ScratchDatabase, ScratchDatabase]:
        found = self._scratches.pop(schema, None)
        if found is None:
            while len(self._scratches) >= self._kept:
                for scratch in self._scratches.popitem(last=False)[1]:
                    scratch.close()
            first = self._make_scratch(schema)
            try:
                found = first, self._make_scratch(schema, without_keys=True)
            except BaseException:
                first.close()
                raise
        self._scratches[schema] = found
        return found


def prove_alone(
    first: str, second: str, schema: DatabaseSchema, *, dialect: str, trusted: bool, why: str
) -> Refutation:
    """The result without executing anything, for engines without in-memory databases; ``why`` there are none.

    ``trusted``: the foreign keys are known to hold, or there is only the schema.
    """
    facts = _readable(first, second, schema, dialect)
    if isinstance(facts, Refutation):
        return facts if facts.kind == "proved" or facts.why != "unreadable" else unknown("no_engine", why)
    known = assume(schema, {}).schema if trusted else without_references(schema)
    found = prove(first, second, known, dialect=dialect, ordered=facts.first.ordered)
    if isinstance(found, Unproved):
        return replace(unknown("no_engine", why), not_proved=not_proved_sentence(found))
    notes = () if trusted else ("foreign keys are not assumed: it was not checked whether the data satisfies them",)
    return replace(_proved(found), notes=notes)


def _readable(first: str, second: str, schema: DatabaseSchema, dialect: str) -> PairFacts | Refutation:
    """The facts of the queries; an outcome if it is already decided, or cannot be."""
    if not schema.tables and "from" in f"{first}{second}".lower():
        return unknown("no_schema", "the schema has no tables")
    facts = read_pair(first, second, schema, dialect)
    if isinstance(facts, Unreadable):
        told: dict[str, list[str]] = {}
        for name, text in (("first", first), ("second", second)):
            alone = read_pair(text, text, schema, dialect)
            if isinstance(alone, Unreadable):
                told.setdefault(alone.reason, []).append(name)
        return unknown(
            "unreadable", " and ".join(f"the {' and the '.join(those)} query {why}" for why, those in told.items())
        )
    if facts.unknown:
        tables = [table.name for table in schema.tables]
        known = did_you_mean(facts.unknown[0], tables) or f"; its tables are {', '.join(tables[:_TABLES_SHOWN])}"
        return unknown("no_schema", f"the schema has no table {', '.join(facts.unknown)}{known}")
    if facts.first.by_luck or facts.second.by_luck:
        return unknown("nondeterministic")
    if same_text(first, second, dialect):
        return _proved(Proof(rules=("same text",), up_to_choice=True))
    return facts


class _Prover:
    """Proves one pair under the assumptions of its search."""

    def __init__(  # noqa: PLR0917 - one caller
        self, first: str, second: str, pair: PairSearch, facts: PairFacts, dialect: str, max_rows: int
    ) -> None:
        self._queries = first, second
        self._pair = pair
        self._ordered = facts.first.ordered
        self._dialect = dialect
        self._max_rows = max_rows

    def prove(self, *, small: bool = False) -> Proof | Unproved:
        """By rules; ``small``: also on small tables."""
        assumed = self._pair.assumed
        if assumed.untyped:
            return Unproved(reason=assumed.untyped)
        return prove(
            *self._queries,
            assumed.schema,
            dialect=self._dialect,
            ordered=self._ordered,
            max_rows=self._max_rows if small else 0,
        )


def _decided(pair: PairSearch, budget: Budget, prover: _Prover) -> Refutation:
    """A quick search, which finds most differences and attacks every proof; the proof; the search; all tables of a few
    rows.

    A proof that left a choice open explains a difference, so it is looked for if a query may leave one.
    """
    few = max(1, budget.trials // _ATTACKED)
    quick_search = pair.quick_search(trials=few, of=budget.trials)
    if quick_search.why == "fails" or (quick_search.differs and not pair.may_leave_choice):
        return quick_search  # execution is trusted over reasoning
    proof = prover.prove()
    if quick_search.differs and not (isinstance(proof, Proof) and proof.up_to_choice):
        return quick_search
    if isinstance(proof, Proof):
        return replace(_proved(proof), notes=quick_search.notes, trials=quick_search.trials)
    found = pair.look(trials=max(1, budget.trials - few), of=budget.trials)
    if found.kind != "unknown" or found.why not in ("no_difference", "out_of_time"):
        return found if found.differs else replace(found, not_proved=not_proved_sentence(proof))
    checked = prover.prove(small=True)
    if isinstance(checked, Proof):
        return replace(_proved(checked), notes=found.notes, trials=found.trials)
    if checked.model:
        suggested = pair.look_at(dict(checked.model))
        if suggested is not None:
            return suggested
        checked = replace(proof, reason=f"{proof.reason}; they agree on the tables that the solver (z3) suggests")
    return replace(found, not_proved=not_proved_sentence(checked))


def _proved(proof: Proof) -> Refutation:
    return Refutation(kind=proof.strength, reason=proved_sentence(proof), proof=proof)
