"""A judge's opinion on two queries, made from its votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.llm_judge.reply import decision, read_verdict
from assay.model import Failure, TokenUsage
from assay.ports import Completion
from assay.sql.extraction import refuses

Order = Literal["given", "swapped"]


class Vote(Struct, frozen=True, kw_only=True):
    """One answer of the judge. ``equivalent`` None: it gave no verdict, and ``failure`` says why."""

    order: Order
    sample: int
    """Zero-based number among the votes of its order."""
    equivalent: bool | None = None
    difference: str = ""
    """The difference that the judge describes, with the queries numbered as it saw them."""
    failure: Failure | None = None
    tokens: TokenUsage | None = None
    latency_s: float | None = None
    cached: bool = False
    """Whether the answer came from the cache, at no cost now."""
    shared: bool = False
    """Whether that answer was given to another question with the same prompt since the judge was opened."""
    abstained: bool = False
    """Whether the judge refused to answer or its answer was empty: asking again would give the same."""


class Opinion(Struct, frozen=True, kw_only=True):
    """The opinion that the votes make together.

    ``equivalent`` is the majority of the readable votes. It is None (unscored), and ``failure`` says why, if one of
    the orders that were asked has no readable vote, the votes are split evenly, or the two orders contradict
    each other.
    """

    equivalent: bool | None
    votes: tuple[Vote, ...]
    reason: str
    failure: Failure | None = None

    @property
    def agreement(self) -> float | None:
        """The share of the readable votes on the larger side; None without a readable vote."""
        said = [vote.equivalent for vote in self.votes if vote.equivalent is not None]
        return max(said.count(True), said.count(False)) / len(said) if said else None

    @property
    def position_bias(self) -> bool:
        """Whether the majorities of the two orders contradict each other."""
        sides = {_side(self.votes, order) for order in ("given", "swapped")}
        return sides == {True, False}


def _side(votes: Sequence[Vote], order: str) -> bool | None:
    said = [vote.equivalent for vote in votes if vote.order == order and vote.equivalent is not None]
    yes, no = said.count(True), said.count(False)
    return None if yes == no else yes > no


def opinion_of(votes: Sequence[Vote]) -> Opinion:
    """Count the votes."""
    votes = tuple(votes)
    said = [vote.equivalent for vote in votes if vote.equivalent is not None]
    yes, no = said.count(True), said.count(False)
    for order in ("given", "swapped"):
        asked = [vote for vote in votes if vote.order == order]
        # One order alone is not enough: the judge may say the opposite in the other.
        if (asked or not votes) and all(vote.equivalent is None for vote in asked):
            failure = next((vote.failure for vote in asked if vote.failure is not None), None)
            return unscored(failure or "the judge was not asked", votes)
    equivalent = yes > no
    opinion = Opinion(equivalent=equivalent, votes=votes, reason="")
    if opinion.position_bias:
        return unscored(
            f"the judge contradicts itself when the queries are swapped: {yes} of {len(said)} votes say equivalent",
            votes,
        )
    if yes == no:
        return unscored(f"the judge is undecided: {yes} of {len(said)} votes say equivalent", votes)
    says = f"{max(yes, no)} of {len(said)} votes say" if len(votes) > 1 else "the judge says"
    if equivalent:
        return replace(opinion, reason=f"{says} equivalent")
    return replace(opinion, reason=f"{says} not equivalent{_difference(votes)}")


def _difference(votes: Sequence[Vote]) -> str:
    told = [vote for vote in votes if vote.equivalent is False and vote.difference]
    if not told:
        return ""
    vote = min(told, key=lambda vote: vote.order != "given")
    return f"{'' if vote.order == 'given' else ' (asked in the other order)'}: {vote.difference}"


def unscored(why: Failure | str, votes: Sequence[Vote] = ()) -> Opinion:
    """An opinion without a verdict, and why."""
    failure = why if isinstance(why, Failure) else unscorable(why)
    return Opinion(equivalent=None, votes=tuple(votes), reason=failure.message, failure=failure)


def unscorable(message: str) -> Failure:
    """A failure of the judge itself, not of the system under test."""
    return Failure(stage="score", kind="unscorable", blame="judge", message=message)


def vote_of(
    answer: Completion | Failure,
    *,
    order: Order,
    sample: int,
    cached: bool = False,
    shared: bool = False,
    material: Sequence[str] = (),
) -> Vote:
    """Read one answer. A refusal, a truncated answer, or one that does not end with a verdict gives a vote without a
    verdict.

    ``material`` is text by others that the judge was shown: a mere repetition of it is not a verdict.
    """
    vote = Vote(order=order, sample=sample, cached=cached, shared=shared)
    if isinstance(answer, Failure):
        failure = unscorable(f"the judge gave no answer: {answer.message}")
        return replace(vote, failure=failure, abstained=answer.kind == "rejected")
    vote = replace(vote, tokens=answer.tokens, latency_s=answer.latency_s)
    problem = _problem(answer)
    if problem is not None:
        return replace(vote, failure=unscorable(problem), abstained=True)
    content = answer.message.content
    found = read_verdict(content, material)
    if isinstance(found, str):
        if not content.strip():
            return replace(vote, failure=unscorable(found), abstained=True)
        if refuses(content) and not answer.tool_calls:
            return replace(vote, failure=unscorable(f"the judge refused: {_line(content)}"), abstained=True)
        return replace(vote, failure=unscorable(found))
    difference = found.get("difference")
    said = " ".join(difference.split()) if isinstance(difference, str) else ""
    return replace(vote, equivalent=decision(found), difference=said)


def _problem(answer: Completion) -> str | None:
    said = _line(answer.refusal or answer.message.content)
    if answer.withheld:
        return f"a content filter blocked the judge's answer{f': {said}' if said else ''}"
    if answer.refused:
        return f"the judge refused: {said or f'finish reason {answer.finish_reason}'}"
    if answer.is_cut_off:
        return "the judge's answer was truncated at its length limit"
    return None


def _line(text: str) -> str:
    return " ".join(text.split())[:160]
