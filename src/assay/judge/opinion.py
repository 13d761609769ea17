"""One judge's opinion on two queries: its votes, and what they come to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.model import Failure, TokenUsage
from assay.ports import Completion

Order = Literal["given", "swapped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One answer of the judge. ``equivalent`` None: it gave none, and ``failure`` says why."""

    order: Order
    sample: int
    """Zero-based number among those of its order."""
    equivalent: bool | None = None
    difference: str = ""
    """How the judge says that they differ, its queries numbered as it saw them."""
    failure: Failure | None = None
    tokens: TokenUsage | None = None
    latency_s: float | None = None
    cached: bool = False
    """Whether the answer was kept from an earlier time: it cost nothing now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What the votes come to.

    ``equivalent`` is what most readable votes say, and None, unscored, where there is none or they are
    split evenly: a judge that contradicts itself when the queries change places has no opinion.
    """

    equivalent: bool | None
    votes: tuple[Vote, ...]
    reason: str
    failure: Failure | None = None

    @property
    def agreement(self) -> float | None:
        """The share of the readable votes that are on the larger side; None without a readable vote."""
        said = [vote.equivalent for vote in self.votes if vote.equivalent is not None]
        return max(said.count(True), said.count(False)) / len(said) if said else None

    @property
    def position_bias(self) -> bool:
        """Whether the judge says one thing in one order and another in the other order."""
        sides = {
            order: {vote.equivalent for vote in self.votes if vote.order == order and vote.equivalent is not None}
            for order in ("given", "swapped")
        }
        return all(len(said) == 1 for said in sides.values()) and sides["given"] != sides["swapped"]


def opinion_of(votes: Sequence[Vote]) -> Opinion:
    """Count the votes."""
    said = [vote.equivalent for vote in votes if vote.equivalent is not None]
    yes, no = said.count(True), said.count(False)
    if not said:
        failure = next((vote.failure for vote in votes if vote.failure is not None), None) or Failure(
            stage="score", kind="unscorable", blame="judge", message="the judge was not asked"
        )
        return Opinion(equivalent=None, votes=tuple(votes), reason=failure.message, failure=failure)
    if yes == no:
        swaps = " when the queries change places" if len(votes) == 2 else ""
        message = f"the judge contradicts itself{swaps}: {yes} of {len(said)} votes say equivalent"
        failure = Failure(stage="score", kind="unscorable", blame="judge", message=message)
        return Opinion(equivalent=None, votes=tuple(votes), reason=message, failure=failure)
    equivalent = yes > no
    count = f"{max(yes, no)} of {len(said)} votes" if len(votes) > 1 else "the judge"
    word = "say" if len(votes) > 1 else "says"
    if equivalent:
        return Opinion(equivalent=True, votes=tuple(votes), reason=f"{count} {word} equivalent")
    difference = next((vote.difference for vote in votes if vote.equivalent is False and vote.difference), "")
    rest = f": {difference}" if difference else ""
    return Opinion(equivalent=False, votes=tuple(votes), reason=f"{count} {word} not equivalent{rest}")


def vote_of(answer: Completion | Failure, *, order: Order, sample: int, cached: bool = False) -> Vote:
    """Read one answer. A refusal, an answer cut off, and one without a verdict are no vote."""
    if isinstance(answer, Failure):
        return Vote(order=order, sample=sample, failure=answer)
    told = {"order": order, "sample": sample, "tokens": answer.tokens, "latency_s": answer.latency_s, "cached": cached}
    problem = _problem(answer)
    found = None if problem else _verdict(answer.message.content)
    if found is None:
        shown = " ".join(answer.message.content.split())[:80]
        message = problem or f"the judge's answer holds no verdict: it begins {shown!r}"
        return Vote(failure=Failure(stage="score", kind="unscorable", blame="judge", message=message), **told)  # type: ignore[arg-type]
    difference = found.get("difference")
    return Vote(
        equivalent=found["equivalent"],
        difference=" ".join(difference.split()) if isinstance(difference, str) else "",
        **told,  # type: ignore[arg-type]
    )


def _problem(answer: Completion) -> str | None:
    if answer.refusal:
        return f"the judge refused: {' '.join(answer.refusal.split())[:120]}"
    if answer.finish_reason == "content_filter":
        return "the judge's answer was withheld by a content filter"
    if answer.finish_reason == "length":
        return "the judge's answer was cut off at its length limit"
    return None


def _verdict(text: str) -> dict[str, Any] | None:
    """The last JSON object of the answer that says ``equivalent``: models think aloud before it."""
    decoder = json.JSONDecoder()
    found = None
    place = text.find("{")
    tries = 0
    while place != -1 and tries < 1000:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            if isinstance(value, dict) and isinstance(value.get("equivalent"), bool):
                found = value
            else:
                end = place + 1
        place = text.find("{", end)
    return found
