"""Choose the databases for one gold query: search for many, and select the fewest that distinguish the most queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from assay.model import ComparisonOptions, DatabaseSchema, Proof, Row
from assay.model.databases.suite import SuiteAssumption
from assay.ports import ReadsAnswers, ScratchDatabase
from assay.sql.query import Unreadable
from assay.witness.assumed import Assumed, assume
from assay.witness.clock import Clock
from assay.witness.difference import Difference
from assay.witness.generation import DatabaseGenerator
from assay.witness.observed import ObservedConstraint, RealTable
from assay.witness.plan import Plan, fillable_columns, make_plan
from assay.witness.profiling import mine, sample
from assay.witness.proof import prove
from assay.witness.query_facts import PairFacts, read_pair
from assay.witness.search import Rules, finds_nothing, make_rules
from assay.witness.suites.completing import Completer, united, widened

Database = list[list[Row]]
_MOST_CANDIDATES = 24
_IDLE = 120
"""After this many databases without a new distinction, further ones are unlikely to add any."""
_MOST_JUDGED = 40
_SHUFFLES = 4


class Target(Struct, frozen=True, kw_only=True):
    """A query that the databases should distinguish from the gold query."""

    query: str
    kind: Literal["answer", "neighbour"]


class Chosen(Struct, frozen=True, kw_only=True):
    """A selected database."""

    rows: tuple[tuple[Row, ...], ...]
    told: frozenset[int]
    """The indexes of the targets that it distinguishes from the gold query."""
    keeps: SuiteAssumption


class Distilled(Struct, frozen=True, kw_only=True):
    """The result for one gold query."""

    tables: tuple[tuple[str, tuple[str, ...]], ...] = ()
    chosen: tuple[Chosen, ...] = ()
    told: frozenset[int] = frozenset()
    proved: frozenset[int] = frozenset()
    """The indexes of the targets that are proved equivalent to the gold query."""
    why: str = ""


class _Candidate(Struct):
    database: Database
    keeps: SuiteAssumption
    told: set[int] = field(default_factory=set)


class SuiteBuilder:
    """Works for one gold query. Both in-memory databases have the schema's tables; ``without_keys`` has no keys."""

    def __init__(
        self,
        gold: str,
        targets: Sequence[Target],
        schema: DatabaseSchema,
        *,
        dialect: str,
        scratch: ScratchDatabase,
        without_keys: ScratchDatabase,
        reads_answers: ReadsAnswers,
        options: ComparisonOptions,
        real: Mapping[str, RealTable],
        selects: bool,
        seed: int,
        clock: Clock,
    ) -> None:
        self._gold = gold
        self._targets = targets
        self._schema = schema
        self._dialect = dialect
        self._scratch = scratch
        self._without_keys = without_keys
        self._reads_answers = reads_answers
        self._options = replace(
            options, boolean_is_integer=not scratch.has_boolean_type, sample_rows=0, near_misses=False
        )
        self._real = real
        self._selects = selects
        self._seed = seed
        self._clock = clock
        self._facts: dict[int, PairFacts] = {}
        self._judges: dict[int, Difference] = {}
        self._candidates: list[_Candidate] = []

    def distil(self, *, most: int, trials: int, keeps: SuiteAssumption) -> Distilled:
        """At most ``most`` databases, from ``trials`` of them and a few more per answer."""
        own = read_pair(self._gold, self._gold, self._schema, self._dialect)
        if isinstance(own, Unreadable):
            return Distilled(why=f"the gold query {own.reason}")
        if own.unknown:
            return Distilled(why=f"the schema has no table {', '.join(own.unknown)}")
        if own.first.by_luck:
            return Distilled(why="the gold query depends on chance or on the clock")
        absent = [name for name in own.tables if not self._fillable(name)]
        if absent or not own.tables:
            return Distilled(
                why="; ".join(self._scratch.refused) or "the gold query does not read a table that can get rows"
            )
        self._read_targets()
        self._lay_out(own)
        self._look(trials, keeps)
        chosen = self._cover(most) or self._any()
        told = (
            frozenset().union(*[candidate.told for candidate in self._candidates]) if self._candidates else frozenset()
        )
        why = "" if chosen else self._why_none()
        proved = frozenset(self._proved(number for number in self._facts if number not in told))
        tables = tuple(self._whole.filled.items())
        return Distilled(tables=tables, chosen=tuple(chosen), told=told, proved=proved, why=why)

    def _why_none(self) -> str:
        if self._unsteady and not self._steady_seen:
            return "the gold query is ambiguous on every database that was tried"
        if not self._ran:
            return "the gold query fails, or returns nothing, on every database that was tried"
        return "no database was found that keeps the regularities of the real data"

    def _fillable(self, name: str) -> bool:
        return bool(fillable_columns(self._schema, self._scratch, name))

    def _read_targets(self) -> None:
        for number, target in enumerate(self._targets):
            facts = read_pair(self._gold, target.query, self._schema, self._dialect)
            if isinstance(facts, Unreadable) or facts.unknown or facts.second.by_luck:
                continue
            if all(map(self._fillable, facts.tables)):
                self._facts[number] = facts

    def _lay_out(self, own: PairFacts) -> None:
        """The plan of what the queries read, and that of everything; both databases are prepared for the latter."""
        answers = [facts for number, facts in self._facts.items() if self._targets[number].kind == "answer"]
        changed = [facts for number, facts in self._facts.items() if self._targets[number].kind == "neighbour"]
        facts = united(own, answers, changed)
        self._united = facts
        self._own = own
        self._assumed: Assumed = assume(self._schema, self._real)
        schema = self._assumed.schema
        self._plan: Plan = make_plan(schema, facts, self._scratch)
        kept = tuple(table for table in schema.tables if table.kind == "table" and self._fillable(table.name.lower()))
        everything = replace(schema, tables=kept)
        self._whole = make_plan(everything, widened(facts, everything), self._scratch)
        self._completer = Completer(self._whole, self._plan, self._real)
        for database in (self._scratch, self._without_keys):
            database.prepare(self._whole.filled)
        self._held: list[ObservedConstraint] = mine(self._plan, facts, self._real)
        self._values, self._rows = sample(self._plan, self._real)
        self._ran = self._steady_seen = self._unsteady = 0

    def _rules(self, facts: PairFacts, held: Sequence[ObservedConstraint]) -> Rules:
        selects = self._selects and bool(held), False
        return make_rules(self._plan, facts, self._values, held, selects=selects)

    def _look(self, trials: int, keeps: SuiteAssumption) -> None:
        alive = set(self._facts)
        steps: list[tuple[SuiteAssumption, Sequence[ObservedConstraint]]] = [("observed", self._held)]
        if keeps == "declared" and self._held:
            steps.append(("declared", ()))
        for step, held in steps:
            self._search(self._rules(self._united, held), self._united.counts, alive, trials, step)
            for number in sorted(alive):
                # An answer is worth its own search, with the values that matter to it and to the gold query.
                facts = self._facts[number]
                share = trials if self._targets[number].kind == "answer" else trials // 8
                if number in alive and not self._clock.is_over:
                    rules = self._rules(facts, held)
                    self._search(rules, facts.counts, alive, share, step, wanted=number)

    def _search(
        self,
        rules: Rules,
        counts: Sequence[int],
        alive: set[int],
        trials: int,
        step: SuiteAssumption,
        *,
        wanted: int | None = None,
    ) -> None:
        """Try databases, and select each that distinguishes something new. Ends when ``wanted`` is distinguished."""
        maker = DatabaseGenerator(rules.plan, rules.pools, counts, self._rows, Random(self._seed))
        idle = judged = 0
        for _ in range(trials):
            if not alive or self._clock.is_over or idle > _IDLE or (wanted is not None and wanted not in alive):
                return
            idle += 1
            made = maker.make()
            if made is None or any(one.broken_by(made) is not None for one in rules.held):
                continue
            seen = self._seen_on(self._completer.complete(made), rules, alive if wanted is None else {wanted})
            if not seen:
                continue
            database = self._scratch.content()
            if not rules.kept_by(self._completer.given(database)) or not self._steady(database):
                continue
            judged += 1
            told = {number for number in seen if self._genuine(number, database)}
            if wanted is not None and told:
                told |= {number for number in alive - told if self._genuine(number, database)}
            if told:
                idle = 0
                alive -= told
                self._candidates.append(_Candidate(database, step, told))
            if judged > _MOST_JUDGED:
                return

    def _seen_on(self, database: Database, rules: Rules, alive: Iterable[int]) -> list[int]:
        """The targets with obviously different results, on a database on which the gold query returns something."""
        scratch = self._scratch
        scratch.fill(database)
        first = scratch.rows(self._gold)
        if first is None or (rules.selects[0] and finds_nothing(first)):
            return []
        self._ran += 1
        found = []
        for number in sorted(alive):
            second = scratch.rows(self._targets[number].query)
            if second is not None and second != first and self._judge(number).seen(first, second) != "none":
                found.append(number)
        return found

    def _judge(self, number: int) -> Difference:
        if number not in self._judges:
            self._judges[number] = Difference(
                (self._gold, self._targets[number].query),
                self._facts[number],
                scratch=self._scratch,
                without_keys=self._without_keys,
                reads_answers=self._reads_answers,
                options=self._options,
                seed=self._seed,
                clock=self._clock,
            )
        return self._judges[number]

    def _genuine(self, number: int, database: Database) -> bool:
        return self._judge(number).judge(database).finding == "genuine"

    def _steady(self, database: Database) -> bool:
        """Whether the gold query gives one answer in any order of stored and scanned rows."""
        result = self._scratch.execute(self._gold).result
        if result is None:
            return False
        answers = self._reads_answers(self._scratch, self._gold, result)
        steady = not answers.open
        for arranged in _orders(database, self._seed) if steady else ():
            self._without_keys.fill(arranged)
            for turned in (False, True):
                if turned and not self._without_keys.reverse_scan(on=True):
                    continue
                found = self._without_keys.execute(self._gold).result
                if turned:
                    self._without_keys.reverse_scan(on=False)
                if found is None or not answers.compare(found, self._options).equal:
                    steady = False
            if not steady:
                break
        self._steady_seen += steady
        self._unsteady += not steady
        self._scratch.fill(database)
        return steady

    def _any(self) -> list[Chosen]:
        """A database that distinguishes nothing known: unknown answers may still fail on it."""
        rules = self._rules(self._united, self._held)
        maker = DatabaseGenerator(rules.plan, rules.pools, self._united.counts, self._rows, Random(self._seed))
        for _ in range(_IDLE):
            made = maker.make()
            if made is None or self._clock.is_over or any(one.broken_by(made) is not None for one in rules.held):
                continue
            self._seen_on(self._completer.complete(made), rules, ())
            database = self._scratch.content()
            result = self._scratch.rows(self._gold)
            found = result is not None and not (rules.selects[0] and finds_nothing(result))
            if found and rules.kept_by(self._completer.given(database)) and self._steady(database):
                rows = tuple(tuple(map(tuple, table)) for table in database)
                return [Chosen(rows=rows, told=frozenset(), keeps="observed")]
        return []

    def _cover(self, most: int) -> list[Chosen]:
        """Greedily, the database that distinguishes the most new targets: answers first, the smaller of two."""
        candidates = sorted(self._candidates, key=lambda one: (-len(one.told), _size(one.database)))[:_MOST_CANDIDATES]
        for one in candidates:
            for number in self._seen_on(one.database, self._rules(self._united, ()), self._facts):
                if number not in one.told and self._genuine(number, one.database):
                    one.told.add(number)
        answers = {number for number in self._facts if self._targets[number].kind == "answer"}
        missing = set().union(*[candidate.told for candidate in candidates]) if candidates else set()
        chosen: list[Chosen] = []
        while missing and len(chosen) < most:
            best = max(candidates, key=partial(_gain, missing=frozenset(missing), answers=answers))
            missing -= best.told
            rows = tuple(tuple(map(tuple, table)) for table in best.database)
            chosen.append(Chosen(rows=rows, told=frozenset(best.told), keeps=best.keeps))
        return chosen

    def _proved(self, numbers: Iterable[int]) -> Iterator[int]:
        if self._assumed.untyped:
            return
        for number in numbers:
            query = self._targets[number].query
            ordered = self._own.first.ordered
            found = prove(self._gold, query, self._assumed.schema, dialect=self._dialect, ordered=ordered)
            if isinstance(found, Proof):
                yield number


def _gain(one: _Candidate, *, missing: frozenset[int], answers: set[int]) -> tuple[int, int, int]:
    """The gain of a candidate: answers, all queries, and, if these are equal, its size."""
    new = one.told & missing
    return len(new & answers), len(new), -_size(one.database)


def _size(database: Sequence[Sequence[Row]]) -> int:
    return sum(map(len, database))


def _orders(database: Database, seed: int) -> Iterator[Database]:
    yield [list(reversed(rows)) for rows in database]
    yield [sorted(rows, key=repr) for rows in database]
    rng = Random(seed)
    for _ in range(_SHUFFLES):
        yield [rng.sample(rows, len(rows)) for rows in database]
