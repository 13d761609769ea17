"""The answers of a run before a judge: each predicted query beside its golds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from assay.llm_judge.judge import QueryJudge
from assay.llm_judge.opinion import Opinion
from assay.llm_judge.prompt import QueryPair


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseQueries:
    """One predicted query and the golds that it may be equivalent to."""

    case_id: str
    pairs: tuple[QueryPair, ...]
    """The predicted query first, each gold second, in the golds' order. Without golds: none."""
    has_query: bool = True
    """False where the system gave no query: nothing is asked then."""
    repeat: int = 0
    """Zero-based: which of several answers to the case this is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCase:
    """What a judge says of one case.

    ``equivalent`` is True where the prediction is equivalent to any gold, False where it is to none,
    None, unscored, where there is no telling.
    """

    case_id: str
    equivalent: bool | None
    reason: str
    gold_index: int | None = None
    """Zero-based index of the gold that the reason speaks of."""
    opinions: tuple[Opinion, ...] = ()
    """One for each gold that was asked about, in their order. After an equivalent one no other is."""
    repeat: int = 0
    """Zero-based: which of several answers to the case this is."""

    @property
    def asked(self) -> bool:
        """Whether the judge had anything to do with it."""
        return bool(self.opinions)

    @property
    def lacks_votes(self) -> bool:
        """Whether it has no verdict, and the judge gave no readable answer to some question: another time it may."""
        return self.equivalent is None and any(
            vote.failure is not None
            for opinion in self.opinions
            if opinion.equivalent is None
            for vote in opinion.votes
        )

    @property
    def opinion(self) -> Opinion | None:
        """The opinion that decided; None where nobody was asked."""
        return None if self.gold_index is None else self.opinions[self.gold_index]

    @property
    def position_bias(self) -> bool:
        """Whether any of the opinions depends on the order of the queries."""
        return any(opinion.position_bias for opinion in self.opinions)


def judge_cases(
    judge: QueryJudge, cases: Sequence[CaseQueries], *, on_case: Callable[[JudgedCase], None] | None = None
) -> list[JudgedCase]:
    """What the judge says of each case, in their order; ``on_case`` is told of each as it stands.

    Every case's first gold is asked about, then the second of those that are not yet equivalent, and
    so on. Raises as `QueryJudge.judge_all` does.
    """
    judged: dict[int, JudgedCase] = {}
    opinions: list[tuple[Opinion, ...]] = [() for _ in cases]

    def settle(place: int, case: JudgedCase) -> None:
        judged[place] = case = replace(case, repeat=cases[place].repeat)
        if on_case is not None:
            on_case(case)

    for place, case in enumerate(cases):
        if not case.has_query:
            settle(place, JudgedCase(case_id=case.case_id, equivalent=False, reason="there is no predicted query"))
        elif not case.pairs:
            settle(place, JudgedCase(case_id=case.case_id, equivalent=None, reason="there is no gold query"))

    def hear(place: int, opinion: Opinion) -> None:
        case = cases[place]
        opinions[place] = (*opinions[place], opinion)
        if opinion.equivalent is True or len(opinions[place]) == len(case.pairs):
            settle(place, _decided(case, opinions[place]))

    while waiting := [place for place in range(len(cases)) if place not in judged]:
        pairs = [cases[place].pairs[len(opinions[place])] for place in waiting]
        judge.judge_all(pairs, on_opinion=lambda index, opinion, waiting=waiting: hear(waiting[index], opinion))  # type: ignore[misc]
    return [judged[place] for place in range(len(cases))]


def _decided(case: CaseQueries, opinions: tuple[Opinion, ...]) -> JudgedCase:
    """Equivalent to any is equivalent; else one without an opinion leaves the case without; else it is not."""
    said = [opinion.equivalent for opinion in opinions]
    verdict = True if True in said else None if None in said else False
    index = said.index(verdict)
    of = f" (gold {index + 1} of {len(case.pairs)})" if len(case.pairs) > 1 else ""
    return JudgedCase(
        case_id=case.case_id,
        equivalent=verdict,
        reason=opinions[index].reason + of,
        gold_index=index,
        opinions=opinions,
    )
