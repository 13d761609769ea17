"""Sentences about witnesses and proofs, for readers."""

from __future__ import annotations

from collections.abc import Sequence

from assay.model import Proof, Unproved
from assay.model.witness import Assumption, WhyUnknown, Witness

_UNKNOWN: dict[WhyUnknown, str] = {
    "unreadable": "a query cannot be read as one query of this dialect",
    "no_schema": "there is no schema to make databases from",
    "nondeterministic": "a query uses chance, the clock, or an aggregate of any value: it may differ from itself",
    "no_engine": "there is no database in memory of this kind to try the queries on",
    "lost": "the queries ended the process in which they were tried",
}

_MOST_TOLD = 2
"""Alternatives in a sentence; all are in the list below it."""


def refuted_sentence(witness: Witness, *, real: bool) -> str:
    """That they differ, and on what."""
    where = "on data like the database's own" if real else "on data that keeps every declared constraint"
    return f"they differ {where} ({_size(witness)}): {witness.difference}"


def conditional_sentence(
    broken: Sequence[Assumption], witness: Witness, alternatives: Sequence[Sequence[Assumption]] = ()
) -> str:
    """Under which conditions they differ, of which each is enough."""
    what = ", or where ".join(map(_together, (broken, *alternatives[:_MOST_TOLD])))
    return f"they differ where {what}, which the data never shows ({_size(witness)}): {witness.difference}"


def _together(broken: Sequence[Assumption]) -> str:
    told = [one.broken for one in broken[:2]]
    rest = len(broken) - len(told)
    return " and ".join(told) + (f" (and {rest} more)" if rest else "")


def proved_sentence(proof: Proof) -> str:
    """That they are equivalent, and how far."""
    if proof.rules == ("same text",):
        return "the queries have the same text: what one gives, the other may give on every database"
    return f"the queries give {proof.text}"


def not_proved_sentence(found: Unproved) -> str:
    """What stopped the proof."""
    query = "" if found.where == "both" else f"in the {found.where} query: "
    return f"{query}{found.reason}"


def not_found_sentence(trials: int, *, out_of_time: bool) -> str:
    """That nothing was found."""
    until = ", until the time was up" if out_of_time else ""
    return f"no difference on any of {trials:,} small databases{until}"


def unknown_sentence(why: WhyUnknown, failures: Sequence[str | None]) -> str:
    """Why no answer was found."""
    said = [
        f"the {which} query fails: {message}"
        for which, message in zip(("first", "second"), failures, strict=False)
        if message is not None
    ]
    if why == "fails":
        return "; ".join(said) or "a query fails, or takes too long, on every small database that was tried"
    if why == "one_fails":
        where = "where the results could differ, " if said else "where the results could differ, one query fails"
        return where + "; ".join(said)
    return _UNKNOWN.get(why, why.replace("_", " "))


def _size(witness: Witness) -> str:
    count = witness.row_count
    return "no rows at all" if not count else "one row" if count == 1 else f"{count} rows"
