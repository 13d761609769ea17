"""What failed, at which step, its attribution, and the one rule of what follows for verdicts and for metrics.

A case is the system's failure if its answer is at fault. A failure of the engine, the network, the judge or the
set-up never scores 0 and is never the gold query's fault: the case is retried, then left unscored in every metric, and
the same command does it again. `assay docs verdict` has the same rule as a table.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

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
    "billing_limit",
    "masked",
    "unreadable_value",
    "no_gold",
    "unusable_gold",
    "unreadable_database",
    "no_database",
    "unscorable",
    "ask_failed",
    "rejected",
    "unreadable_answer",
    "unknown_structure",
    "wrong_target",
]


class Failure(Struct, frozen=True, kw_only=True, gc=False):
    """What failed in one case, as data: it is stored, counted and shown, never raised.

    A broken gold query is never the system's failure: ``blame`` is the attribution.
    """

    stage: Stage
    kind: FailureKind
    blame: Blame
    message: str
    """One sentence that a user can act on, without credentials."""
    code: str | None = None
    """A short name of what happened, for example ``HTTP 503``, by which failures of one kind are counted; None: the
    kind says it all."""


NO_ANSWER: Final[frozenset[FailureKind]] = frozenset({"ask_failed", "rejected"})
"""The kinds of a question that has no answer: it is asked again when the same command runs again."""


NOT_IN_LOG: Final = "not in the log"
"""The code of an unanswered question that a log of an evaluation names, but does not contain: its gold query is not
known, and the case is incorrect all the same."""

WITHOUT_QUERY: Final[frozenset[FailureKind]] = NO_ANSWER | {
    "unanswered",
    "clarification",
    "no_query",
    "unreadable_answer",
}
"""The causes of an *unanswered* case: it has neither a predicted query nor predicted rows, and the system does not say
that it declines or asks back. Counts, causes, coverage and filters follow from this set."""


Side = Literal["predicted", "gold"]
"""Whose query or answer failed."""


class Ruling(Struct, frozen=True, kw_only=True):
    """The consequence of a failure: its attribution, and whether the case counts."""

    blame: Blame
    outcome: Literal["incorrect", "unscored"]
    final: bool
    """False: the case is retried once before the run ends, and once more when the same command runs again."""


def ruling(failure: Failure, side: Side) -> Ruling:
    """The attribution of a failure on that side, whether it counts, and whether it is final."""
    kind = failure.kind
    if kind == "unreadable_database":
        # The attribution is the engine if it had the database open and lost it.
        return Ruling(blame="engine" if failure.blame == "engine" else "setup", outcome="unscored", final=False)
    if kind in ("masked", "no_database"):  # on either side: the run needs another account, or a database
        return Ruling(blame="setup", outcome="unscored", final=True)
    if kind == "unreadable_value":  # the query ran, on either side, and reading its result failed
        return Ruling(blame="assay", outcome="unscored", final=True)
    if kind == "ask_failed" and failure.blame != "system":
        return Ruling(blame=failure.blame, outcome="unscored", final=False)
    if failure.stage in ("compare", "score"):
        # An undecidable case stays undecidable; a worker that was lost while it scored may do better next time.
        return Ruling(blame=failure.blame, outcome="unscored", final=kind == "unscorable")
    if side == "gold":
        if kind == "crashed":
            return Ruling(blame="engine", outcome="unscored", final=False)
        return Ruling(
            blame="setup" if kind in ("truncated", "billing_limit") else "gold", outcome="unscored", final=True
        )
    if failure.blame != "system":  # its reader lacked something of ours, and says so
        return Ruling(blame=failure.blame, outcome="unscored", final=True)
    return Ruling(blame="system", outcome="incorrect", final=kind != "ask_failed")


def blamed(failure: Failure, side: Side) -> Failure:
    """The failure with its attribution on that side."""
    blame = ruling(failure, side).blame
    return failure if failure.blame == blame else replace(failure, blame=blame)


def is_final(failure: Failure | None) -> bool:
    """Whether a failure that was `blamed` is final; no failure is."""
    return failure is None or ruling(failure, "predicted" if failure.blame == "system" else "gold").final


def has_no_answer(failure: Failure | None) -> bool:
    """Whether a question has no answer because asking failed: the same command asks it again."""
    return failure is not None and failure.kind in NO_ANSWER


def lacks_query(failure: Failure | None) -> bool:
    """Whether a case with that failure is unanswered (`WITHOUT_QUERY`)."""
    return failure is not None and failure.kind in WITHOUT_QUERY and failure.blame != "gold"


def befalls(failure: Failure | None) -> bool:
    """Whether a failure says nothing of an answer or a gold query, but of the engine, the network or the set-up."""
    return failure is not None and failure.stage not in ("compare", "score") and failure.blame not in ("system", "gold")
