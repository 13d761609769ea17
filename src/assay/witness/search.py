"""Try databases one after the other until the queries differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from random import Random

from msgspec import Struct, field

from assay.model import Cell, Row
from assay.ports import ScratchDatabase
from assay.witness.clock import Clock
from assay.witness.difference import Difference, Judged
from assay.witness.generation import DatabaseGenerator
from assay.witness.observed import ObservedConstraint, RangeHeld
from assay.witness.plan import Plan
from assay.witness.pools import Pool, make_pools
from assay.witness.query_facts import ColumnKey, PairFacts
from assay.witness.shrinking import Shrinker, keys_hold, links_hold

Database = list[list[Row]]
_MOST_JUDGED = 60
_MOST_BY_ORDER = 20
_FAILING = 128


class Rules(Struct, frozen=True, kw_only=True):
    """The rules for the databases of a search."""

    plan: Plan
    pools: Sequence[Sequence[Pool]]
    held: Sequence[ObservedConstraint] = ()
    selects: tuple[bool, bool] = (False, False)
    """Whether each query must return something."""

    def kept_by(self, database: Sequence[Sequence[Row]]) -> bool:
        """Whether a database keeps links, keys and every regularity."""
        return (
            links_hold(self.plan, database)
            and keys_hold(self.plan, database)
            and all(one.broken_by(database) is None for one in self.held)
        )

    def kept_by_results(self, first: Sequence[Row], second: Sequence[Row]) -> bool:
        """Whether the queries return what they must."""
        return not (self.selects[0] and finds_nothing(first)) and not (self.selects[1] and finds_nothing(second))


def make_rules(
    plan: Plan,
    facts: PairFacts,
    values: Mapping[ColumnKey, Sequence[Cell]],
    held: Sequence[ObservedConstraint],
    *,
    selects: tuple[bool, bool] = (False, False),
) -> Rules:
    """The rules of databases that keep the plan's constraints and the observed regularities, with values near these."""
    ranges = {plan.tables[one.table].columns[one.columns[0]].key: one for one in held if isinstance(one, RangeHeld)}

    def allowed(key: ColumnKey, value: Cell) -> bool:
        return key not in ranges or ranges[key].allows(value)

    return Rules(
        plan=reduce(lambda made, one: one.added_to(made), held, plan),
        pools=make_pools(plan, facts, values, allowed=allowed if ranges else None),
        held=tuple(held),
        selects=selects,
    )


class Tally(Struct):
    """Statistics over all searches of a pair."""

    trials: int = 0
    failed: list[int] = field(default_factory=lambda: [0, 0])
    """The number of databases on which each query failed."""
    tie: Database | None = None
    """A database on which only a choice of the engine makes a difference."""
    failing: Database | None = None
    """A database on which exactly one query fails."""
    stored: set[int] = field(default_factory=set)
    """The tables that had rows in some database."""
    out_of_time: bool = False


class Search:
    """Searches for one pair of queries."""

    def __init__(
        self,
        queries: tuple[str, str],
        facts: PairFacts,
        *,
        scratch: ScratchDatabase,
        difference: Difference,
        clock: Clock,
    ) -> None:
        self._queries = queries
        self._facts = facts
        self._scratch = scratch
        self._difference = difference
        self._clock = clock
        self.tally = Tally()

    def find(self, rules: Rules, real: Sequence[Sequence[Row]], *, trials: int, seed: int) -> Database | None:
        """A database on which the queries genuinely differ; None if none was found."""
        rng = Random(seed)
        maker = DatabaseGenerator(rules.plan, rules.pools, self._facts.counts, real, rng)
        judged = by_order = 0
        for number in range(trials if rules.plan.tables else 1):
            if self._clock.is_over:
                self.tally.out_of_time = True
                return None
            if number == _FAILING and max(self.tally.failed) == self.tally.trials > 0:
                return None  # it fails on any database
            made = maker.make()
            if made is None or not self._fits(rules, made):
                continue
            self._scratch.fill(made)
            seen, kept = self._differ(rules)
            if seen == "none" or not kept:
                if len(self.tally.stored) < len(made):
                    self.tally.stored |= {number for number, rows in enumerate(self._scratch.content()) if rows}
                continue
            database = self._scratch.content()
            if not rules.kept_by(database):
                continue
            if seen == "order":
                by_order += 1
                if by_order > _MOST_BY_ORDER:
                    continue
            judged += 1
            if judged > _MOST_JUDGED:
                return None
            found = self._difference.judge(database)
            if found.finding == "genuine":
                return database
            if found.finding == "tie" and self.tally.tie is None:
                self.tally.tie = database
        return None

    def shrink(self, rules: Rules, database: Database) -> Database:
        """The database, smaller, with the same difference under the same rules.

        Close comparisons take the longest: at first only the smallest database gets one; only if it fails does each
        step on the way get one.
        """
        smaller = self._shrunk(rules, database, closely=False)
        if smaller == database or self.judge(smaller).finding == "genuine":
            return smaller
        if self._difference.doubtful or self._facts.first.ordered:
            smaller = self._shrunk(rules, database, closely=True)
            if smaller == database or self.judge(smaller).finding == "genuine":
                return smaller
        return database

    def _shrunk(self, rules: Rules, database: Database, *, closely: bool) -> Database:
        def keeps(smaller: Database) -> bool:
            if self._clock.is_over or not keys_hold(rules.plan, smaller) or not self._fits(rules, smaller):
                return False
            if not self._scratch.fill(smaller):
                return False
            seen, kept = self._differ(rules)
            if seen == "none" or not kept:
                return False
            return not closely or self._difference.judge(smaller).finding == "genuine"

        return Shrinker(rules.plan, rules.pools, keeps).shrink(database)

    def judge(self, database: Database) -> Judged:
        """Compare closely on one database."""
        return self._difference.judge(database)

    def stands(self, rules: Rules, database: Database) -> bool:
        """Whether a database keeps the rules, and the queries genuinely differ on it."""
        if not self._fits(rules, database) or not self._scratch.fill(database):
            return False
        seen, kept = self._differ(rules)
        return seen != "none" and kept and rules.kept_by(database) and self.judge(database).finding == "genuine"

    def _differ(self, rules: Rules) -> tuple[str, bool]:
        tally, scratch = self.tally, self._scratch
        tally.trials += 1
        first = scratch.rows(self._queries[0])
        second = scratch.rows(self._queries[1])
        if first is None or second is None:
            tally.failed[0] += first is None
            tally.failed[1] += second is None
            if tally.failing is None and (first is None) != (second is None):
                tally.failing = scratch.content()
            return "none", False
        if first == second:
            return "none", True
        return self._difference.seen(first, second), rules.kept_by_results(first, second)

    @staticmethod
    def _fits(rules: Rules, database: Database) -> bool:
        return all(one.broken_by(database) is None for one in rules.held)


def finds_nothing(rows: Sequence[Row]) -> bool:
    """Whether a result is empty: no row, or one row of only NULLs and zeros."""
    return not rows or (len(rows) == 1 and all(cell is None or cell == 0 for cell in rows[0]))
