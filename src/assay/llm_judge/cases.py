"""Score a run's answers: each predicted query is compared with its gold queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.llm_judge.judge import QueryJudge
from assay.llm_judge.opinion import Opinion
from assay.llm_judge.prompt import QueryPair


class CaseQueries(Struct, frozen=True, kw_only=True):
    """One predicted query and its gold queries."""

    case_id: str
    pairs: tuple[QueryPair, ...]
    """The predicted query first, each gold query second, in their order. Empty without gold queries."""
    has_query: bool = True
    """False if the system returned no query: the judge is then not asked."""
    repeat: int = 0
    """Zero-based index among several answers to the case."""


class JudgedCase(Struct, frozen=True, kw_only=True):
    """A judge's verdict on one case.

    ``equivalent`` is True if the prediction is equivalent to any gold query, False if it is to none,
    and None (unscored) if that is not known.
    """

    case_id: str
    equivalent: bool | None
    reason: str
    gold_index: int | None = None
    """Zero-based index of the gold query that the reason is about."""
    opinions: tuple[Opinion, ...] = ()
    """One per gold query that the judge was asked about, in their order. It is not asked about others after an
    equivalent one."""
    repeat: int = 0
    """Zero-based index among several answers to the case."""

    @property
    def asked(self) -> bool:
        """Whether the judge was asked about it at all."""
        return bool(self.opinions)

    @property
    def lacks_votes(self) -> bool:
        """Whether it has no verdict because a question got no readable answer, so that asking again may help.

        It does not help if the judge refused to answer.
        """
        return self.equivalent is None and any(
            vote.failure is not None and not vote.abstained
            for opinion in self.opinions
            if opinion.equivalent is None
            for vote in opinion.votes
        )

    @property
    def abstained(self) -> bool:
        """Whether it has no verdict because the judge refused to answer a question."""
        votes = [vote for opinion in self.opinions if opinion.equivalent is None for vote in opinion.votes]
        return self.equivalent is None and not self.lacks_votes and any(vote.abstained for vote in votes)

    @property
    def opinion(self) -> Opinion | None:
        """The opinion that decided; None if the judge was not asked."""
        return None if self.gold_index is None else self.opinions[self.gold_index]

    @property
    def position_bias(self) -> bool:
        """Whether any of the opinions depends on the order of the queries."""
        return any(opinion.position_bias for opinion in self.opinions)


def judge_cases(
    judge: QueryJudge, cases: Sequence[CaseQueries], *, on_case: Callable[[JudgedCase], None] | None = None
) -> list[JudgedCase]:
    """The judge's verdict on each case, in their order; ``on_case`` is called with each as soon as it is known.

    Every case's first gold query is asked about, then the second of those that are not yet equivalent, and
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
    """Equivalent if any opinion says so; otherwise None if any opinion is None; otherwise not equivalent."""
    said = [opinion.equivalent for opinion in opinions]
    verdict = True if True in said else None if None in said else False
    index = said.index(verdict)
    of = f" (gold query {index + 1} of {len(case.pairs)})" if len(case.pairs) > 1 else ""
    return JudgedCase(
        case_id=case.case_id,
        equivalent=verdict,
        reason=opinions[index].reason + of,
        gold_index=index,
        opinions=opinions,
    )
