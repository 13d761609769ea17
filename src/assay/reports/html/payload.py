"""The shape of the data that the scripts of a page read; a test checks the scripts and a stored schema against it.

A case is a `CaseContent`. Empty parts are left out, except in queries and turns. Small records that come by the
thousand are arrays. All text is text: the browser puts it in place as such, never as markup.
"""

from __future__ import annotations

from msgspec import Struct

from assay.reports.cases.case import CaseContent


class State(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A state of a case: its outcome in one run, or its change between two runs."""

    name: str
    label: str
    mark: str
    tone: str
    meaning: str = ""


class Facet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One filter: its values, the most frequent first, and per case the places of its values."""

    name: str
    label: str
    values: tuple[str, ...]
    of: tuple[tuple[int, ...], ...]


class Metric(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A metric's value per case; ``share``: all values are from 0 to 1."""

    name: str
    share: bool
    value: tuple[float | None, ...]


class Index(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the table of cases, its filters and its order need of every case, in columns."""

    headline: str
    states: tuple[State, ...]
    state: tuple[int, ...]
    """Per case, the place of its state in ``states``."""
    id: tuple[str, ...]
    link: tuple[str, ...]
    """As `id`, but unique."""
    answer: tuple[str, ...]
    """Per case, which of several answers it is; empty if each question was asked once."""
    question: tuple[str, ...]
    reason: tuple[str, ...]
    facets: tuple[Facet, ...]
    metrics: tuple[Metric, ...]
    time: tuple[float | None, ...]
    """How long the answer took, in seconds."""
    chunk: int
    """How many cases have their details in one packed chunk."""


class PairDetail(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """All that the page of two runs shows of one opened case: the baseline's side, then the candidate's."""

    question: str = ""
    context: str | None = None
    name: str | None = None
    database: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    sides: tuple[CaseContent, CaseContent]


class Held(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The JSON in the page: each text is packed JSON, first an `Index`, then lists of cases."""

    index: str
    chunks: tuple[str, ...]
