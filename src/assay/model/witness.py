"""Whether two queries can differ: a database on which they do, a proof that there is none, or neither.

A proof holds on every database that honours the declared constraints. If reasoning cannot tell, nothing is said.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from assay.model.databases.database import DatabaseUrl
from assay.model.results.result import Result, Row
from assay.model.verdicts.diagnosis import Cause, Repair

AFTER_WITNESSES = "match_after_witnesses"
"""The metric of a run with witnesses that takes refuted matches for wrong."""

SCRATCH_PREFIX = "assay_scratch_"
"""What the names of all scratch schemas begin with. They contain no user's data."""

MOST_ROWS = 4
_SHOWN_ROWS = 20
"""Rows of a table or result in a notebook."""
"""The largest tables that a bounded check may be asked for."""

RefutationKind = Literal["refuted", "conditional", "tie", "proved", "bounded", "unknown"]
"""``refuted``: they differ on data like the real data (without real data: under the declared constraints).
``conditional``: they differ only on data that the real data's regularities rule out; `Refutation.broken` names these.
``tie``: they differ, and all that was found is explained by a choice that a query leaves to the engine.
``proved``: they give the same answer on every database; ``bounded``: on every one of at most N rows per table;
`Refutation.proof` says by which rules.
``unknown``: no difference was found and no proof, or none could be looked for; `Refutation.why` says which."""

WhyUnknown = Literal[
    "no_difference",
    "out_of_time",
    "unreadable",
    "no_schema",
    "no_engine",
    "constraints",
    "fails",
    "one_fails",
    "nondeterministic",
    "lost",
    "comparison",
]
"""``no_difference``: every trial agreed, and `Refutation.trials` says how many. ``fails``: a query fails on every
database that was tried, or both do. ``one_fails``: if the results could differ, one query fails. ``constraints``:
no database was found that honours them.``lost``: the worker ended in the middle of it. ``comparison``: the case
or the run compares results in a way that the search does not know."""

AssumptionLevel = Literal["observed", "without_ranges", "without_never_null", "declared"]
"""What a witness honours, the most first: all that was observed in the real data; all but the ranges of values; all but
these and the columns that contain no NULL; the declared constraints alone."""

AssumptionKind = Literal[
    "range", "never_null", "unique", "dependency", "inclusion", "not_empty", "empty", "selects", "trigger"
]

WitnessTag = Literal[
    "multiplicity_only", "order_only", "column_count", "needs_empty_result", "needs_empty_table", "needs_null", "typing"
]
"""``multiplicity_only``: both results have the same rows, some more often. ``typing``: the results agree but for the
types of values, for example 1 and '1'. ``needs_null``: the witness contains a NULL."""


class Assumption(Struct, frozen=True, kw_only=True):
    """A regularity of the real data that nothing declares, or one that a witness breaks."""

    kind: AssumptionKind
    table: str
    columns: tuple[str, ...] = ()
    text: str
    """What holds in the real data, for example ``no two rows of singer share a Name``."""
    broken: str = ""
    """What the witness has in its place, as a clause: ``two rows of singer share a Name``."""


class WitnessTable(Struct, frozen=True, kw_only=True):
    """One table of a witness. Tables without a row are there too if a query reads them."""

    name: str
    """As a query writes it."""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    hidden: tuple[str, ...] = ()
    """Further columns, which no query reads and which are NULL in every row."""


class Witness(Struct, frozen=True, kw_only=True):
    """A small database on which two queries differ."""

    tables: tuple[WitnessTable, ...]
    statements: tuple[str, ...]
    """What makes it in an empty database: CREATE and INSERT, without semicolons."""
    first: Result
    second: Result
    only_first: tuple[int, ...] = ()
    """The places of the first result's rows that the second lacks, counting from 0."""
    only_second: tuple[int, ...] = ()
    difference: str = ""
    """How the results differ, in a clause."""

    @property
    def row_count(self) -> int:
        """How many rows all its tables hold."""
        return sum(len(table.rows) for table in self.tables)


class WitnessSettings(Struct, frozen=True, kw_only=True):
    """How a run looks for witnesses of its matches."""

    seconds: float = 1.0
    """Computing for each pair."""
    total_s: float | None = None
    """Wall time for all pairs together, after which none is begun; None: as long as it takes."""
    seed: int = 0
    max_rows: int = 2
    """Number of rows: what no rule decides is checked on all tables up to this size."""
    scratch: bool = False
    """Whether a server was named for engines without databases in memory. A run says so itself."""


class ScratchServer(Struct, frozen=True, kw_only=True):
    """A server on which small databases may be made, for the queries of its own dialect."""

    url: DatabaseUrl
    dialect: str
    prefix: str
    """What the names of one caller's schemas begin with."""


class Refutation(Struct, frozen=True, kw_only=True):
    """The outcome of looking for a witness. The first query is the reference: its ORDER BY decides if order counts."""

    kind: RefutationKind
    reason: str
    """A sentence for a reader."""
    why: WhyUnknown | None = None
    """Why it is unknown; None for the other kinds."""
    witness: Witness | None = None
    """The smallest database that was found; for a tie the one on which the choice shows, if any."""
    level: AssumptionLevel | None = None
    """What the witness honours; None if there is no real data to compare with, or no witness."""
    broken: tuple[Assumption, ...] = ()
    """The regularities of the real data that the witness breaks."""
    alternatives: tuple[tuple[Assumption, ...], ...] = ()
    """Other sets of regularities. Breaking one set is enough, too, while all those of ``broken`` and of the sets before
    are kept. A database was found for each."""
    causes: tuple[Cause, ...] = ()
    """In a run, where a match and gold differ, clause by clause: the first accounts for the witness best."""
    repair: Repair | None = None
    """The fewest clauses of the gold query with which the match gives the gold query's result on the witness, too,
    and no other database was found that distinguishes it from the gold query."""
    tags: tuple[WitnessTag, ...] = ()
    proof: Proof | None = None
    """Why they are equivalent, for the kinds ``proved`` and ``bounded``."""
    not_proved: str = ""
    """What stopped the proof, where one was tried and nothing was decided."""
    notes: tuple[str, ...] = ()
    """What was left out of account, such as a constraint that is not understood."""
    engine: str = ""
    """The engine and its version, for example ``sqlite 3.45.1``."""
    trials: int = 0
    """On how many databases both queries were executed."""
    seconds: float = 0.0
    seed: int = 0
    budget_s: float | None = None
    """In a run: the computing that the search was allowed."""

    def _repr_html_(self) -> str:
        """What a notebook shows: the outcome, and the witness with the results of both queries."""
        from assay.model.notebook import block, table

        told = [f"which breaks: {one.text}" for one in self.broken] + list(self.notes)
        tables: list[str] = []
        if (found := self.witness) is not None:
            shown = [(one.name, one.columns, one.rows) for one in found.tables]
            results = (("result of the first query", found.first), ("result of the second query", found.second))
            shown += [(name, one.columns, tuple(one.rows)) for name, one in results]
            tables = [block(name, (), [table(columns, rows[:_SHOWN_ROWS])]) for name, columns, rows in shown]
        mood = "bad" if self.differs else "good" if self.kind in ("proved", "bounded") else "open"
        return block(f"{self.kind.replace('_', ' ')}: {self.reason}", told, tables, mood=mood)

    @property
    def differs(self) -> bool:
        """Whether a genuine difference was found, with or without a condition."""
        return self.kind in ("refuted", "conditional")

    @property
    def equivalent(self) -> bool:
        """Whether they are proved to give the same answer, whatever the size of the tables."""
        return self.kind == "proved"


class Proof(Struct, frozen=True, kw_only=True):
    """Two queries give the same answer on every database that honours the declared constraints."""

    rules: tuple[str, ...] = ()
    """The rules that were used on either query, in words, sorted; see `assay docs proof`."""
    up_to_rows: int | None = None
    """None: whatever the size. Otherwise a bounded check: no table has more rows than this."""
    up_to_choice: bool = False
    """One of the queries leaves open which rows it takes (LIMIT over a tie): every answer of the second is one that
    the first allows."""

    @property
    def strength(self) -> Literal["proved", "bounded"]:
        """Whether it holds for tables of any size."""
        return "proved" if self.up_to_rows is None else "bounded"

    @property
    def text(self) -> str:
        """In words."""
        size = "" if self.up_to_rows is None else f" of at most {self.up_to_rows} rows per table"
        choice = ", for any choice of tied rows at a LIMIT" if self.up_to_choice else ""
        return f"the same answer on every database{size} that honours the declared constraints{choice}"


class Unproved(Struct, frozen=True, kw_only=True):
    """Reasoning cannot tell whether two queries are equivalent. It does not say that they differ."""

    reason: str
    """The construct that stopped it, in words."""
    where: Literal["first", "second", "both"] = "both"
    """Which of the queries it is in; ``both``: they were read, and no rule makes them one."""
    model: tuple[tuple[str, tuple[tuple[object, ...], ...]], ...] = ()
    """Tables and rows on which the solver holds them to differ: to be executed before it is called a difference."""

    @property
    def text(self) -> str:
        """In words."""
        query = "" if self.where == "both" else f" in the {self.where} query"
        return f"not known: {self.reason}{query}"
