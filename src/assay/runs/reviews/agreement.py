"""How far reviewers agree, and where they do not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from assay.model import Agreement, Conflict, Kappa, Outcome, PairAgreement, Rate
from assay.model.verdicts.review import ABOUT_THE_QUESTION, Review
from assay.runs.aggregate.rates import rate_of
from assay.runs.reviews.deciding import Settle, by_answer, conflicts_among, outcome_of, settled, stance
from assay.runs.reviews.file import in_force
from assay.stats.agreement import cohen_kappa, fleiss_kappa

_OUTCOMES: tuple[Outcome, ...] = ("correct", "incorrect", "unscored")


def agreement(reviews: Iterable[Review], *, settle: Settle = "latest", dialect: str = "") -> Agreement:
    """How far the reviewers agree, pair by pair and all together, and the list of their conflicts.

    ``dialect`` is that of the predicted queries, whose texts are compared.
    """
    by_question: defaultdict[tuple[str, str, str], list[Review]] = defaultdict(list)
    for review in in_force(reviews):
        by_question[review.case_id, review.question_hash, review.gold_hash].append(review)
    votes: list[dict[str, Outcome]] = []
    conflicts: list[Conflict] = []
    for (case_id, _, _), own in by_question.items():
        votes += [voted for group in by_answer(own, dialect) if (voted := _votes(group))]
        if len({review.reviewer for review in own}) > 1:
            conflicts += _conflicts(case_id, own, settle, dialect)

    counts = Counter(name for voted in votes for name in voted)
    names = sorted(counts, key=lambda name: (-counts[name], name))
    several = [voted for voted in votes if len(voted) > 1]
    fleiss, answers = _fleiss([voted for voted in votes if len(voted) == len(names)], len(names))
    return Agreement(
        reviewers=tuple((name, counts[name]) for name in names),
        pairs=tuple(pair for two in combinations(names, 2) if (pair := _pair(*two, several)) is not None),
        everyone=_rate(len(set(voted.values())) == 1 for voted in several),
        fleiss=fleiss,
        fleiss_answers=answers,
        conflicts=tuple(conflicts),
        settle=settle,
    )


def _votes(group: Iterable[Review]) -> dict[str, Outcome]:
    """What each reviewer says that an answer is."""
    said = ((review.reviewer, _vote(review)) for review in sorted(group, key=lambda review: review.at))
    return {reviewer: outcome for reviewer, outcome in said if outcome is not None}


def _vote(review: Review) -> Outcome | None:
    known = review.outcome or outcome_of(review)
    return "unscored" if known is None and review.decision in ABOUT_THE_QUESTION else known


def _rate(agreed: Iterable[bool]) -> Rate:
    return rate_of(list(map(float, agreed)), binary=True)


def _pair(first: str, second: str, votes: Sequence[Mapping[str, Outcome]]) -> PairAgreement | None:
    both = Counter((voted[first], voted[second]) for voted in votes if first in voted and second in voted)
    if not both:
        return None
    seen = {outcome for pair in both for outcome in pair}
    outcomes = tuple(outcome for outcome in _OUTCOMES if outcome in seen or outcome != "unscored")
    table = tuple(tuple(both[row, column] for column in outcomes) for row in outcomes)
    return PairAgreement(
        first=first,
        second=second,
        outcomes=outcomes,
        table=table,
        agreed=_rate(row == column for row, column in both.elements()),
        kappa=cohen_kappa(table),
    )


def _fleiss(votes: Sequence[Mapping[str, Outcome]], reviewers: int) -> tuple[Kappa | None, int]:
    """Agreement of three reviewers or more, over the answers that all of them decided on."""
    if reviewers < 3 or not votes:
        return None, 0
    seen = {outcome for voted in votes for outcome in voted.values()}
    outcomes = [outcome for outcome in _OUTCOMES if outcome in seen or outcome != "unscored"]
    patterns = Counter(tuple(list(voted.values()).count(outcome) for outcome in outcomes) for voted in votes)
    return fleiss_kappa(patterns, raters=reviewers, categories=len(outcomes)), len(votes)


def _conflicts(case_id: str, reviews: Sequence[Review], settle: Settle, dialect: str) -> Iterable[Conflict]:
    about = [review for review in reviews if review.decision in ABOUT_THE_QUESTION]
    others = [review for review in reviews if review.decision not in ABOUT_THE_QUESTION]
    voters = {review.reviewer for review in about}
    against = [review for review in others if review.decision == "confirm" and review.reviewer not in voters]
    for group in conflicts_among(about, against, by_answer(others, dialect)):
        about_question = any(review.decision in ABOUT_THE_QUESTION for review in group)
        counting = settled(group, stance if about_question else outcome_of, settle)
        yield Conflict(case_id=case_id, about_question=about_question, reviews=group, settled=counting)
