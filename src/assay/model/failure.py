"""What went wrong, where, and whose fault it is."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

Stage = Literal["load", "ask", "read", "execute", "compare", "score"]
"""The step at which a case failed, in the order in which a case passes through them."""

Blame = Literal["system", "gold", "engine", "network", "assay", "judge", "setup"]
"""Who has to act: the system under test, the author of the gold query, the database engine, the operator of the
network to the system under test, Assay itself, the LLM that was asked for its opinion, or the person who set up the
run."""

FailureKind = Literal[
    "unanswered",
    "clarification",
    "declined",
    "asked_back",
    "answered_anyway",
    "no_query",
    "several_statements",
    "writes",
    "refused",
    "error",
    "timeout",
    "out_of_memory",
    "crashed",
    "truncated",
    "masked",
    "no_gold",
    "unusable_gold",
    "unreadable_database",
    "unscorable",
    "ask_failed",
    "rejected",
    "unreadable_answer",
    "unknown_structure",
    "wrong_target",
]


class Failure(Struct, frozen=True, kw_only=True):
    """The trouble of one case, as data: it is stored, counted and shown, never raised.

    A broken gold query is never the system's failure: ``blame`` says whose it is.
    """

    stage: Stage
    kind: FailureKind
    blame: Blame
    message: str
    """One sentence that a user can act on, without credentials."""
    code: str | None = None
    """A short name of what happened, such as ``HTTP 503``, by which failures of one kind are counted; None: the kind
    says it all."""


NO_ANSWER: Final[frozenset[FailureKind]] = frozenset({"ask_failed", "rejected"})
"""The kinds of a question that has no answer: it is asked again when the same command runs again."""
