"""What the scripts of a page read: the shape of its data, which a test holds the scripts and a stored schema to.

Empty parts are left out, but of queries and turns, which are what the view has. Small records that come by the thousand
are arrays. All text is text: the browser puts it in place as such, never as markup.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from assay.reports.views.alignment import AlignedState
from assay.reports.views.run import QueryView
from assay.reports.views.selections import TurnView

CellKind: TypeAlias = Literal["0", "t", "n", "x", "b", "d", "o"]
"""NULL, text, number, bytes, truth value, time, other."""


class State(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What can become of a case: of a run its outcome, of two runs what changed."""

    name: str
    label: str
    mark: str
    tone: str
    meaning: str = ""


class Facet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One filter: its values, the most frequent first, and per case the places of those that it carries."""

    name: str
    label: str
    values: tuple[str, ...]
    of: tuple[tuple[int, ...], ...]


class Metric(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A metric's value for each case; ``share``: all lie within 0 and 1."""

    name: str
    share: bool
    value: tuple[float | None, ...]


class Index(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the table of cases, its filters and its order need of every case, in columns."""

    headline: str
    states: tuple[State, ...]
    state: tuple[int, ...]
    """Of each case the place among ``states``."""
    id: tuple[str, ...]
    link: tuple[str, ...]
    """As `id`, but unique."""
    answer: tuple[str, ...]
    """Which of several answers it is; empty where each question was asked once."""
    question: tuple[str, ...]
    reason: tuple[str, ...]
    facets: tuple[Facet, ...]
    metrics: tuple[Metric, ...]
    time: tuple[float | None, ...]
    """What the answer took, in seconds."""
    chunk: int
    """How many cases have their details in one packed chunk."""


class Cell(Struct, frozen=True, array_like=True):
    """A cell of a result; ``cut`` counts what is not shown of it."""

    kind: CellKind
    text: str
    cut: int


class AlignedRow(Struct, frozen=True, array_like=True):
    """A row of both results; a cell is 0 where a side has none. ``differs``: the columns in which a near row does."""

    state: AlignedState
    gold: tuple[Cell | Literal[0], ...]
    predicted: tuple[Cell | Literal[0], ...]
    differs: tuple[int, ...]


class Difference(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename={"left_columns": "leftColumns"},
):
    """The two results side by side, and how much of them is left out."""

    summary: str
    left: int = 0
    left_columns: int = 0
    columns: tuple[tuple[str | None, str | None], ...] = ()
    """Names on gold's side and the prediction's."""
    rows: tuple[AlignedRow, ...] = ()


Meant: TypeAlias = tuple[str, str]
"""A name in words, and what it means."""


class Answered(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What came of it, as far as the pages of one run and of two show it alike."""

    outcome: Literal["correct", "incorrect", "unscored"]
    reason: str = ""
    strength: Meant | None = None
    cause: str | None = None
    flags: tuple[Meant, ...] = ()
    near: tuple[str, ...] = ()
    golds: tuple[QueryView, ...] = ()
    predicted: QueryView | None = None
    scores: tuple[tuple[str, str, str], ...] = ()
    """Metric, value, and why."""
    difference: Difference | None = None
    turns: tuple[TurnView, ...] = ()


class Detail(Answered, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """All that the page of a run shows of one opened case."""

    question: str = ""
    context: str | None = None
    name: str | None = None
    database: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    raw: str | None = None
    explanation: str | None = None
    tables: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


class Side(Answered, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one of two runs made of a case."""

    label: str


class PairDetail(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """All that the page of two runs shows of one opened case: the baseline's side, then the candidate's."""

    question: str = ""
    context: str | None = None
    name: str | None = None
    database: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    sides: tuple[Side, Side]


class Held(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page holds as JSON: each text is packed JSON, an `Index` and then lists of details."""

    index: str
    chunks: tuple[str, ...]
