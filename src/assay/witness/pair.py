"""The search for one pair of queries: a database on which they differ, as high on the ladder as possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from assay.model import Cell, ComparisonOptions, DatabaseSchema, Row
from assay.model.witness import Assumption, AssumptionKind, AssumptionLevel, Refutation, WhyUnknown, Witness
from assay.ports import ReadsAnswers, ScratchDatabase
from assay.witness.assumed import assume, without_references
from assay.witness.clock import Clock
from assay.witness.difference import Difference, Judged
from assay.witness.observed import ObservedConstraint, RealTable
from assay.witness.plan import Plan, fillable_columns, make_plan
from assay.witness.profiling import mine, sample
from assay.witness.query_facts import ColumnKey, PairFacts
from assay.witness.search import Database, Rules, Search, finds_nothing, make_rules
from assay.witness.showing import (
    conditional_sentence,
    make_witness,
    not_found_sentence,
    refuted_sentence,
    tags_of,
    told_difference,
    unknown_sentence,
)

_MOST_EXPLAINED = 6
_OTHERS = 1 << 32
"""Added to the seed after the quick search, so that the full search tries other databases."""
_LEVELS: tuple[tuple[AssumptionLevel, frozenset[AssumptionKind]], ...] = (
    ("observed", frozenset()),
    ("without_ranges", frozenset({"range"})),
    ("without_never_null", frozenset({"range", "never_null"})),
)
_STEPS: tuple[frozenset[AssumptionKind], ...] = (
    frozenset({"range"}),
    frozenset({"never_null"}),
    frozenset({"unique"}),
    frozenset({"selects"}),
    frozenset({"not_empty", "selects"}),
    frozenset({"inclusion"}),
    frozenset({"unique", "dependency"}),
    frozenset({"range", "never_null"}),
    frozenset({"unique", "dependency", "never_null"}),
    frozenset({"unique", "dependency", "inclusion", "not_empty", "selects"}),
)
"""The regularities that are given up, one kind at a time: a witness that breaks one kind is the most informative."""
_ALTERNATIVES = _STEPS[:7]
_MOST_ALTERNATIVES = 3
_LONGEST_ALTERNATIVE = 2


class Budget(Struct, frozen=True, kw_only=True):
    """The limits of the search for one pair."""

    seconds: float = 1.0
    """Computing time of this process, so that a busy machine finds no less."""
    trials: int = 4_000
    """Databases at each step of the ladder. This ends most searches, so that equal inputs give equal outcomes."""


class RealData(Struct, frozen=True, kw_only=True):
    """What is known of the real database."""

    tables: Mapping[str, RealTable] = field(default_factory=dict)
    """By name, in lower case."""
    selects: tuple[bool, bool] = (False, False)
    """Whether each query returns rows there."""


ReadReal = Callable[[Mapping[str, Sequence[str]]], RealData]
"""Reads these columns of these tables, given by their names as a query writes them."""


class PairSearch:
    """Looks for a witness for one pair of queries: `prepare` once, then `look` any number of times."""

    def __init__(
        self,
        *,
        queries: tuple[str, str],
        facts: PairFacts,
        schema: DatabaseSchema,
        scratch: ScratchDatabase,
        without_keys: ScratchDatabase,
        clock: Clock,
        seed: int,
    ) -> None:
        self._queries = queries
        self._facts = facts
        self._schema = schema
        self.assumed = assume(schema, {})
        """The assumptions of both the search and the proof; complete after `prepare`."""
        self._unmade = ""
        self._trials = 1
        self._scratch = scratch
        self._without_keys = without_keys
        self._clock = clock
        self._seed = seed
        self._glanced = 0
        self._real = RealData()
        self._held: list[ObservedConstraint] = []
        self._values: dict[ColumnKey, list[Cell]] = {}
        self._rows: list[list[Row]] = []

    def prepare(self, reads_answers: ReadsAnswers, options: ComparisonOptions, read_real: ReadReal | None) -> None:
        """Read the real data, and derive the assumptions. Without ``read_real`` only the declared constraints are
        assumed."""
        absent = [name for name in self._facts.tables if not fillable_columns(self._schema, self._scratch, name)]
        if absent:
            self._unmade = "; ".join(self._scratch.refused) or f"rows cannot be inserted into {absent[0]}"
            if read_real is not None:  # without data it is unknown whether they hold
                self.assumed = replace(self.assumed, schema=without_references(self._schema))
            return
        self._plan = self._planned(read_real)
        for database in (self._scratch, self._without_keys):
            database.prepare(self._plan.filled)
        difference = Difference(
            self._queries,
            self._facts,
            scratch=self._scratch,
            without_keys=self._without_keys,
            reads_answers=reads_answers,
            options=options,
            seed=self._seed,
            clock=self._clock,
        )
        self._search = Search(
            self._queries, self._facts, scratch=self._scratch, difference=difference, clock=self._clock
        )

    @property
    def may_leave_choice(self) -> bool:
        """Whether something in the queries, or a view that they may read, can make the result depend on the engine."""
        doubts = self._facts.first.doubts | self._facts.second.doubts
        return bool(doubts) or any(table.kind == "view" for table in self._schema.tables)

    def quick_search(self, *, trials: int, of: int) -> Refutation:
        """Try a few databases, a third of them like the real data; a difference is placed on the ladder as in `look`.

        ``of`` is the number that `look` would try.
        """
        alike = 0 if self._unmade or not self._real.tables else trials // 3
        if alike:
            self._trials = of
            observed = self._observed()
            if (higher := self._find(observed, alike)) is not None:
                return self._told(self._outcome(observed, self._search.shrink(observed, higher)))
        found = self.look(trials=trials - alike, of=of)
        self._glanced = _OTHERS
        return found

    def look(self, *, trials: int, of: int | None = None) -> Refutation:
        """Try ``trials`` databases, and ``of`` (default: as many) at the steps of the ladder."""
        if self._unmade:
            return unknown("constraints", self._unmade)
        self._trials = of or trials
        declared = self._rules(self._plan, ())
        found = self._find(declared, trials)
        return self._told(self._nothing(self._plan) if found is None else self._climb(self._plan, declared, found))

    def look_at(self, tables: Mapping[str, Sequence[Row]]) -> Refutation | None:
        """Execute the queries on a suggested database; None if they do not genuinely differ there.

        ``tables`` has the rows of tables by their names in lower case, each with all of the schema's columns.
        """
        if self._unmade:
            return None
        database: Database = []
        for table in self._plan.tables:
            names = [column.name.lower() for column in table.schema.columns]
            places = [names.index(column.key[1]) for column in table.columns]
            rows = tables.get(table.schema.name.lower(), ())
            database.append([tuple([row[index] for index in places]) for row in rows])
            truths = [index for index, column in enumerate(table.columns) if column.truth]
            if any(row[index] not in (None, 0, 1) for row in database[-1] for index in truths):
                return None
        declared = self._rules(self._plan, ())
        if not self._search.stands(declared, database):
            return None
        return self._told(self._climb(self._plan, declared, database))

    def _told(self, outcome: Refutation) -> Refutation:
        notes = (*self._scratch.refused, *self.assumed.notes, *self._plan.notes)
        if self._clock.is_over and outcome.differs:
            notes = (*notes, "the time limit was reached: a smaller witness, or one with fewer assumptions, may exist")
        return replace(outcome, notes=notes, trials=self._search.tally.trials)

    def _planned(self, read_real: ReadReal | None) -> Plan:
        plan = make_plan(self.assumed.schema, self._facts, self._scratch)
        if read_real is None:
            self._values = {
                (table.schema.name.lower(), column.name.lower()): [_literal(value) for value in column.values]
                for table in plan.tables
                for column in table.schema.columns
            }
            return plan
        self._real = real = read_real(plan.filled)
        self.assumed = assume(self._schema, real.tables)
        plan = make_plan(self.assumed.schema, self._facts, self._scratch)
        self._held = mine(plan, self._facts, real.tables)
        self._values, self._rows = sample(plan, real.tables)
        return plan

    def _rules(
        self, plan: Plan, held: Sequence[ObservedConstraint], *, selects: tuple[bool, bool] = (False, False)
    ) -> Rules:
        return make_rules(plan, self._facts, self._values, held, selects=selects)

    def _find(self, rules: Rules, trials: int) -> Database | None:
        return self._search.find(rules, self._rows, trials=trials, seed=self._seed + self._glanced)

    def _climb(self, plan: Plan, declared: Rules, found: Database) -> Refutation:
        """The highest step of the ladder with a witness."""
        if not self._real.tables:
            telling = replace(declared, selects=(True, True))
            if (other := self._find(telling, self._trials // 4)) is not None:
                declared, found = telling, other
            witness, judged = self._shown(declared, self._search.shrink(declared, found))
            return Refutation(
                kind="refuted",
                reason=refuted_sentence(witness, real=False),
                witness=witness,
                tags=tags_of(witness, judged),
            )
        trials = max(1, self._trials // 3)
        observed = self._observed()
        if (higher := self._find(observed, trials)) is not None:
            return self._outcome(observed, self._search.shrink(observed, higher))
        for without in _STEPS:
            # All observed regularities except these kinds.
            kept = [one for one in self._held if one.kind not in without]
            rules = self._rules(plan, kept, selects=(False, False) if "selects" in without else self._real.selects)
            if (higher := self._find(rules, trials // 3)) is not None:
                rules, smaller = self._explained(plan, rules, self._search.shrink(rules, higher))
                outcome = self._outcome(rules, smaller)
                others = self._alternatives(plan, smaller, outcome.broken)
                if not others or outcome.witness is None:
                    return outcome
                reason = conditional_sentence(outcome.broken, outcome.witness, others)
                return replace(outcome, alternatives=others, reason=reason)
        # Values that the data could contain are plainer than others, as far as the difference allows.
        plain = replace(declared, pools=observed.pools)
        return self._outcome(declared, self._search.shrink(plain, found))

    def _observed(self) -> Rules:
        """Everything that was observed."""
        return self._rules(self._plan, self._held, selects=self._real.selects)

    def _outcome(self, rules: Rules, smaller: Database) -> Refutation:
        witness, judged = self._shown(rules, smaller)
        broken = (*self._broken(smaller, judged), *self._rejected_rows(smaller))
        kinds = {one.kind for one in broken}
        level: AssumptionLevel = next((level for level, allowed in _LEVELS if kinds <= allowed), "declared")
        holds = level == "observed"
        filled = any(table.rows for table in self._real.tables.values())
        return Refutation(
            kind="refuted" if holds else "conditional",
            reason=refuted_sentence(witness, real=filled) if holds else conditional_sentence(broken, witness),
            witness=witness,
            level=level,
            broken=broken,
            tags=tags_of(witness, judged),
        )

    def _explained(self, plan: Plan, rules: Rules, found: Database) -> tuple[Rules, Database]:
        """A witness that breaks a single regularity, if there is one: the sentence for the reader is then exact."""
        broken = [one for one in self._held if one.broken_by(found) is not None]
        if len(broken) + bool(self._unselected(self._search.judge(found))) <= 1:
            return rules, found
        for one in broken[:_MOST_EXPLAINED]:
            rest = [other for other in self._held if other is not one]
            alone = self._rules(plan, rest, selects=self._real.selects)
            if (other := self._find(alone, max(1, self._trials // 12))) is not None:
                return alone, self._search.shrink(alone, other)
        return rules, found

    def _alternatives(
        self, plan: Plan, found: Database, broken: Sequence[Assumption]
    ) -> tuple[tuple[Assumption, ...], ...]:
        """Other regularities whose violation is enough, if all that were broken before are kept.

        Each kind is given up for a few databases only: a difference that takes more is rarely what a reader would think
        of.
        """
        kept = [one for one in self._held if one.broken_by(found) is not None]
        selects = any(one.kind == "selects" for one in broken)
        others: list[tuple[Assumption, ...]] = []
        for without in _ALTERNATIVES:
            while len(others) < _MOST_ALTERNATIVES and not self._clock.is_over:
                free = [one for one in self._held if one.kind in without and not any(one is other for other in kept)]
                tells = "selects" in without and not selects and any(self._real.selects)
                if not free and not tells:
                    break
                held = [one for one in self._held if not any(one is other for other in free)]
                rules = self._rules(plan, held, selects=(False, False) if tells else self._real.selects)
                if (other := self._find(rules, max(8, self._trials // 100))) is None:
                    break
                other = self._search.shrink(rules, other)
                told = tuple(self._broken(other, self._search.judge(other)))
                if not 0 < len(told) <= _LONGEST_ALTERNATIVE:
                    break
                others.append(told)
                kept += [one for one in free if one.broken_by(other) is not None]
                selects = selects or any(one.kind == "selects" for one in told)
        return tuple(others)

    def _unselected(self, judged: Judged) -> list[int]:
        """The queries that return nothing here but something on the real data."""
        results = (judged.first, judged.second)
        return [
            number
            for number, result in enumerate(results)
            if result is not None and self._real.selects[number] and finds_nothing(result.rows)
        ]

    def _broken(self, database: Database, judged: Judged) -> list[Assumption]:
        found = [assumption for one in self._held if (assumption := one.broken_by(database)) is not None]
        unselected = self._unselected(judged)
        if unselected:
            which = "a query" if len(unselected) == 2 else f"the {('first', 'second')[unselected[0]]} query"
            text, broken = f"{which} returns rows", f"{which} returns no rows"
            found.append(Assumption(kind="selects", table="", text=text, broken=broken))
        # For a table that is empty in the real data, no observed regularity involves rows.
        empty = {name for name, table in self._real.tables.items() if not table.rows}
        for table, rows in zip(self._plan.tables, database, strict=True):
            if rows and table.read and table.schema.name.lower() in empty:
                text, broken = f"{table.title} is empty", f"{table.title} has rows"
                found.append(Assumption(kind="empty", table=table.title, text=text, broken=broken))
        return found

    def _rejected_rows(self, database: Database) -> list[Assumption]:
        """The tables whose triggers in the real database might reject these rows."""
        names = set(self._scratch.rejected_rows(database))
        return [
            Assumption(
                kind="trigger",
                table=table.title,
                text=f"the triggers of {table.title} run for every inserted row",
                broken=f"{table.title} has rows that its triggers may reject or change",
            )
            for table in self._plan.tables
            if table.name in names
        ]

    def _shown(self, rules: Rules, database: Database) -> tuple[Witness, Judged]:
        judged = self._search.judge(database)
        self._scratch.fill(database)
        return make_witness(rules.plan, self._scratch, judged, self._queries), judged

    def _nothing(self, plan: Plan) -> Refutation:
        """The meaning of a search without a difference."""
        tally = self._search.tally
        if tally.tie is not None:
            judged = self._search.judge(tally.tie)
            self._scratch.fill(tally.tie)
            return Refutation(
                kind="tie",
                reason=f"they differ only by a choice of the engine: {told_difference(judged)}",
                witness=None if judged.first is None else make_witness(plan, self._scratch, judged, self._queries),
            )
        if tally.trials and max(tally.failed) == tally.trials:
            self._scratch.fill([[] for _ in plan.tables])
            both = [self._scratch.execute(query).failure for query in self._queries]
            return unknown("fails", unknown_sentence("fails", [one.message if one else None for one in both]))
        if tally.failing is not None:
            self._scratch.fill(tally.failing)
            both = [self._scratch.execute(query).failure for query in self._queries]
            return unknown("one_fails", unknown_sentence("one_fails", [one.message if one else None for one in both]))
        never = [table.title for number, table in enumerate(plan.tables) if table.read and number not in tally.stored]
        if never and tally.trials:
            return unknown("constraints", f"no row was found that satisfies the constraints of {', '.join(never)}")
        if not tally.trials and not tally.out_of_time:
            return unknown("constraints", "no database was found that satisfies every constraint")
        why: WhyUnknown = "out_of_time" if tally.out_of_time else "no_difference"
        return unknown(why, not_found_sentence(tally.trials, out_of_time=tally.out_of_time))


def unknown(why: WhyUnknown, reason: str | None = None) -> Refutation:
    """An undecided outcome, and why."""
    return Refutation(kind="unknown", why=why, reason=reason or unknown_sentence(why, ()))


def _literal(text: str) -> Cell:
    """The value of a SQL literal in a schema's samples."""
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None
