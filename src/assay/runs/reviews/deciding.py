"""What follows from people's reviews for one case: the case as they corrected it, and the verdict by it.

A case has reviews about its *question* (the gold query is wrong, the question is ambiguous or unanswerable), which
hold for every answer, and reviews about an *answer* (the verdict is right, the prediction is right too, it is wrong),
which hold for answers with the same text or the same result. `decided` sorts out which of them are in force for the
case of a run, and `reviewed_case` makes the case that they describe:

| decision | the case |
|---|---|
| ``gold_wrong`` with a corrected gold query | the corrected query is its only gold |
| ``gold_wrong`` without | has no gold query: its answers are unscored, unless an accepted query can serve |
| ``ambiguous`` with a leniency | has that leniency |
| ``ambiguous`` without | expects that the system asks back |
| ``unanswerable`` | expects that the system declines |
| ``accept`` of a query with a result | has that query among its gold queries, and an answer |

`reviewed` gives the verdict of an answer: by a person's decision about this very answer, or else by the corrected case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from assay.model import STRICT, Case, Evidence, Outcome, Selection, Verdict
from assay.model.verdicts.review import ABOUT_THE_QUESTION, Review, ReviewDecision, Reviewed
from assay.runs.reviews.file import in_force
from assay.runs.reviews.keys import answer_key, gold_hash, question_hash
from assay.scoring.queries.verdicts import undisputed
from assay.sql.shape import same_text

Settle: TypeAlias = str
"""Which decision counts if several people reviewed a case: ``latest``, ``majority``, or that of the named reviewer.

``majority`` decides nothing if several decisions have the same number of votes. If the named reviewer decided
nothing, the latest decision counts.
"""
_NOTE_CHARACTERS = 200


class Decided(Struct, frozen=True, kw_only=True):
    """The reviews of one case, sorted by what they do now."""

    question: Review | None = None
    """The decision about the question that is in force."""
    answers: tuple[Review, ...] = ()
    """Decisions about answers, also those of people who disagree: `reviewed` settles them for each answer."""
    accepted: tuple[Review, ...] = ()
    """Those of them whose queries are accepted: one for each query."""
    stale: tuple[tuple[Review, str], ...] = ()
    """Without an effect, since what they are about has changed: ``question``, ``gold``, ``database`` or several."""
    done: tuple[Review, ...] = ()
    """Without an effect, since the question set says the same by now."""
    unsure: tuple[Review, ...] = ()
    conflicts: tuple[tuple[Review, ...], ...] = ()
    """Groups of reviews in which people disagree about the question, or about one answer."""
    settle: Settle = "latest"
    dialect: str = ""

    @property
    def any(self) -> bool:
        """Whether something is decided that may have an effect."""
        return self.question is not None or bool(self.answers)


NOTHING = Decided()


def decided(
    case: Case, reviews: Iterable[Review], *, database_hash: str = "", settle: Settle = "latest", dialect: str = ""
) -> Decided:
    """What the reviews decide about a case; those of other cases are left aside.

    ``database_hash`` is that of the database's content now; empty: unknown.
    """
    active = in_force(review for review in reviews if review.case_id == case.id)
    if not active:
        return NOTHING
    now = {"question": question_hash(case), "gold": gold_hash(case), "database": database_hash}
    valid: list[Review] = []
    done: list[Review] = []
    stale: list[tuple[Review, str]] = []
    for review in active:
        changed = _changes(review, now)
        if not changed:
            valid.append(review)
        elif changed == ["gold"] and _is_done(review, case, dialect):
            done.append(review)
        else:
            stale.append((review, " and ".join(changed)))
    about = [review for review in valid if review.decision in ABOUT_THE_QUESTION]
    others = [review for review in valid if review.decision not in ABOUT_THE_QUESTION]
    # Who confirms a verdict says that the gold query is right.
    voters = {review.reviewer for review in about}
    against = [review for review in others if review.decision == "confirm" and review.reviewer not in voters]
    question = settled([*about, *(against if settle == "majority" else ())], stance, settle)
    if question is not None and question.decision not in ABOUT_THE_QUESTION:
        question = None
    order = _by_time(valid, of_lines=settle != "majority")
    answers = tuple(review for review in others if not _is_superseded(review, question, order, dialect))
    groups = by_answer(answers, dialect)
    return Decided(
        question=question,
        answers=answers,
        accepted=_accepted(groups, settle),
        stale=tuple(stale),
        done=tuple(done),
        unsure=tuple(review for review in others if review.decision == "unsure"),
        conflicts=conflicts_among(about, against, groups),
        settle=settle,
        dialect=dialect,
    )


def _changes(review: Review, now: Mapping[str, str]) -> list[str]:
    """What has changed since the review, as far as it is known."""
    then = {"question": review.question_hash, "gold": review.gold_hash, "database": review.database_hash}
    return [name for name, value in then.items() if value and now[name] and value != now[name]]


def _is_done(review: Review, case: Case, dialect: str) -> bool:
    """Whether the question set says by now what the review decided."""
    query = {"gold_wrong": review.gold, "accept": review.query}.get(review.decision)
    if query is not None:
        return any(same_text(query, gold, dialect) for gold in case.golds)
    if review.decision == "ambiguous" and review.leniency != STRICT:
        return case.options.leniency == review.leniency.over(case.options.leniency)
    expects = {"ambiguous": "clarify", "unanswerable": "decline"}.get(review.decision)
    return case.expects == expects


def outcome_of(review: Review) -> Outcome | None:
    """What an answer is by a decision about it; None: the person is not sure."""
    known: dict[ReviewDecision, Outcome | None] = {"accept": "correct", "reject": "incorrect"}
    if review.decision == "confirm":
        return review.outcome or review.verdict
    return known.get(review.decision)


def stance(review: Review) -> Hashable:
    """What a reviewer says about the question."""
    if review.decision not in ABOUT_THE_QUESTION:
        return "the gold query is right"
    gold = "" if review.decision != "gold_wrong" else " ".join((review.gold or "").split()).rstrip("; ")
    return review.decision, gold, review.leniency if review.decision == "ambiguous" else STRICT


def settled(reviews: Sequence[Review], stance: Callable[[Review], Hashable], settle: Settle) -> Review | None:
    """The decisive review of those about one thing, with each person's latest counted; None: undecided."""
    order = _by_time(reviews, of_lines=settle != "majority")
    latest = [review for review in {review.reviewer: review for review in order}.values() if stance(review) is not None]
    latest = [review for review in order if review in latest]
    if not latest:
        return None
    if settle == "majority":
        votes = Counter(map(stance, latest)).most_common(2)
        if len(votes) == 2 and votes[0][1] == votes[1][1]:
            return None
        latest = [review for review in latest if stance(review) == votes[0][0]]
    return next((review for review in latest if review.reviewer == settle), latest[-1])


def _by_time(reviews: Iterable[Review], *, of_lines: bool) -> list[Review]:
    """The reviews, oldest first. Those of one second are ordered by their ids, or as lines with ``of_lines``."""
    return sorted(reviews, key=lambda review: (_moment(review.at), "" if of_lines else review.id))


def _moment(text: str) -> datetime:
    """A time as a person or a program wrote it; what cannot be read comes first."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _is_superseded(review: Review, question: Review | None, order: Sequence[Review], dialect: str) -> bool:
    """Whether a later decision about the question makes one about an answer void.

    Who confirms a verdict confirms it by the gold query as it was then. Nothing is a right answer to a question that
    has none. Who corrected the question looking at an equal answer saw what this answer is by that.
    """
    if question is None or review.decision == "unsure":
        return False
    earlier = order.index(review) < order.index(question)
    has_answer = question.decision == "gold_wrong" or question.leniency != STRICT
    contradicts = question.outcome in ("correct", "incorrect") and question.outcome != outcome_of(review)
    contradicts = contradicts and _same_answer(review, question, dialect)
    return earlier and (review.decision == "confirm" or not has_answer or contradicts)


def _same_answer(first: Review, second: Review, dialect: str) -> bool:
    if first.query is not None and second.query is not None and same_text(first.query, second.query, dialect):
        return True
    return first.result is not None and first.result == second.result and not _is_of_the_text(first, second)


def _is_of_the_text(*reviews: Review) -> bool:
    """Whether a decision is about the query alone: a match that is wrong has the result of right answers."""
    return any(review.decision == "reject" and review.verdict == "correct" for review in reviews)


def by_answer(answers: Sequence[Review], dialect: str) -> list[list[Review]]:
    """The reviews by the answer that they are about."""
    groups: list[list[Review]] = []
    for review in answers:
        group = next((group for group in groups if any(_same_answer(review, one, dialect) for one in group)), None)
        if group is None:
            groups.append([review])
        else:
            group.append(review)
    return groups


def _accepted(groups: Sequence[Sequence[Review]], settle: Settle) -> tuple[Review, ...]:
    accepted: list[Review] = []
    for group in groups:
        counting = settled(group, outcome_of, settle)
        if counting is not None and outcome_of(counting) == "correct":
            accepted += {
                review.query: review
                for review in group
                if review.decision == "accept" and review.query and review.has_result
            }.values()
    return tuple(accepted)


def conflicts_among(
    about: Sequence[Review], against: Sequence[Review], groups: Sequence[Sequence[Review]]
) -> tuple[tuple[Review, ...], ...]:
    found: list[tuple[Review, ...]] = []
    latest = tuple({review.reviewer: review for review in _by_time([*about, *against], of_lines=True)}.values())
    if about and len(set(map(stance, latest))) > 1:
        found.append(latest)
    for group in groups:
        latest = tuple({review.reviewer: review for review in _by_time(group, of_lines=True)}.values())
        if len({outcome_of(review) for review in latest} - {None}) > 1:
            found.append(latest)
    return tuple(found)


def reviewed_case(case: Case, decided: Decided) -> Case | None:
    """The case as people corrected it: the same object if they changed nothing. None: no gold query is left."""
    question = decided.question
    accepted = [review.query for review in decided.accepted if review.query]
    if question is None:
        found = _with_accepted(case, accepted, decided.dialect)
        return replace(found, expects="answer") if accepted and case.expects == "decline" else found
    if case.turns:
        return _with_target(case, question)
    if question.decision == "unanswerable":
        return case if case.expects == "decline" else replace(case, expects="decline")
    if question.decision == "ambiguous":
        if question.leniency == STRICT:
            return case if case.expects == "clarify" else replace(case, expects="clarify")
        leniency = question.leniency.over(case.options.leniency)
        lenient = replace(case, expects="answer", options=replace(case.options, leniency=leniency))
        return _with_accepted(lenient, accepted, decided.dialect)
    options = replace(case.options, condition_columns=(), script_columns=None)
    bare = replace(case, golds=(), results=(), result_query=None, expects="answer", options=options)
    golds = [question.gold] if question.gold else []
    corrected = _with_accepted(bare, [*golds, *accepted], decided.dialect)
    return corrected if corrected.golds else None


def _with_target(case: Case, question: Review) -> Case | None:
    """A case of SDMX by a decision about its question: a corrected target, or nothing to be selected."""
    if question.decision == "ambiguous" and question.leniency != STRICT:
        leniency = question.leniency.over(case.options.leniency)
        return replace(case, options=replace(case.options, leniency=leniency))
    target = Selection() if question.decision == "unanswerable" else _selection(question.gold)
    if target is None or len(case.turns) != 1:
        return None
    return replace(case, turns=(replace(case.turns[0], targets=(target,)),))


def _selection(text: str | None) -> Selection | None:
    """The selection that a corrected gold query of an SDMX case states, in any form that answers come in."""
    from assay.sdmx.answers.parser import read_answer  # few runs are over selections

    found = read_answer(text, None) if text else None
    return found if isinstance(found, Selection) else None


def _with_accepted(case: Case, queries: Sequence[str], dialect: str) -> Case:
    """The case with further gold queries, behind those that it has."""
    golds = list(case.golds)
    for query in queries:
        if not case.turns and not any(same_text(query, gold, dialect) for gold in golds):
            golds.append(query)
    if len(golds) == len(case.golds):
        return case
    options, before = case.options, len(case.golds)
    if options.condition_columns:
        # Those of results stand behind those of queries.
        counting = [case.counting(index) for index in range(case.gold_count)]
        counting[before:before] = [()] * (len(golds) - before)
        options = replace(options, condition_columns=tuple(counting))
    return replace(case, golds=tuple(golds), options=options)


def _is_of(review: Review, key: tuple[str | None, str | None], dialect: str) -> bool:
    """Whether a review was made of an answer with the same text or the same result."""
    query, result = key
    if review.query is not None and query is not None and same_text(review.query, query, dialect):
        return True
    return review.result is not None and review.result == result


def about_answer(evidence: Evidence, decided: Decided) -> tuple[Review, ...]:
    """The decisions about this very answer: of the same text, or with the same result.

    A correct answer has no hash of its result: who confirms one that Assay calls correct confirms every answer that it
    calls correct by the same gold query. A match that a person rejects says nothing about others.
    """
    query, result = answer_key(evidence)
    is_match = _is_plain_match(evidence)

    def holds(review: Review) -> bool:
        by_text_alone = review.query is not None and _is_of_the_text(review)
        if _is_of(review, (query, None if by_text_alone else result), decided.dialect):
            return True
        return is_match and review.verdict == "correct" and outcome_of(review) == "correct"

    return tuple(filter(holds, decided.answers))


def _is_plain_match(evidence: Evidence) -> bool:
    """Whether an answer has the gold query's own result, and that is the only one which is right."""
    verdict = evidence.verdict
    return verdict.outcome == "correct" and not verdict.flags & {"ambiguous_gold", "lenient"}


def needs_execution(evidence: Evidence, decided: Decided) -> Case | None:
    """The corrected case by which an answer must be scored again; None: nothing has to be executed."""
    case = evidence.case
    corrected = reviewed_case(case, decided)
    if corrected is None or corrected is case:
        return None
    if decided.question is None and evidence.outcome == "correct" and case.expects == "answer":
        return None  # it stays correct whatever else is accepted
    return corrected


def reviewed(evidence: Evidence, decided: Decided, *, judged: Verdict | None = None) -> Reviewed | None:
    """The verdict of an answer by what people decided; None: nothing that they decided concerns it.

    ``judged`` is the verdict by the `reviewed_case`. None: the one in the evidence counts, if it is by this case.
    """
    if not decided.any:
        return None
    corrected = needs_execution(evidence, decided)
    by = "" if corrected is None else gold_hash(corrected)
    known = evidence.reviewed
    if judged is None and corrected is not None:
        if corrected.expects != "answer":  # nothing has to be executed for that
            judged = undisputed(corrected, evidence.prediction)
        elif known is not None and known.judged_by == by:
            judged = known.judged
    by = "" if judged is None else by
    about = about_answer(evidence, decided)
    counting = settled(about, outcome_of, decided.settle)
    outcome = None if counting is None else outcome_of(counting)
    if counting is not None and outcome is not None:
        ids = tuple(review.id for review in about if outcome_of(review) == outcome)
        words = said(counting, has_gold=bool(evidence.case.gold_count))
        return Reviewed(
            outcome=outcome, reason=words, decision=counting.decision, reviews=ids, judged=judged, judged_by=by
        )
    question = decided.question
    source = question or (decided.accepted[-1] if decided.accepted else None)
    if source is None or (question is None and corrected is None):
        return None
    words = said(source)
    ids = tuple(review.id for review in (decided.accepted if question is None else (question,)))
    if corrected is None and reviewed_case(evidence.case, decided) is None:
        return Reviewed(outcome="unscored", reason=words, decision=source.decision, reviews=ids)
    if corrected is None:  # the question set says the same already
        return Reviewed(outcome=evidence.outcome, reason=words, decision=source.decision, reviews=ids)
    seen = None if question is None or not _is_of(question, answer_key(evidence), decided.dialect) else question.outcome
    if judged is None and seen is not None:  # who corrected the gold query saw what this answer is by it
        return Reviewed(outcome=seen, reason=words, decision=source.decision, reviews=ids)
    if judged is None:
        reason = f"{words}; the answer is not scored by that yet"
        return Reviewed(outcome="unscored", reason=reason, decision=source.decision, reviews=ids, pending=True)
    reason = f"{words}; {judged.reason}"
    return Reviewed(
        outcome=judged.outcome, reason=reason, decision=source.decision, reviews=ids, judged=judged, judged_by=by
    )


_SAID: Mapping[ReviewDecision, str] = {
    "confirm": "the verdict is right",
    "accept": "the prediction is right, too",
    "reject": "the prediction is wrong",
    "gold_wrong": "the gold query is wrong",
    "ambiguous": "the question is ambiguous",
    "unanswerable": "the question has no answer",
    "unsure": "not sure",
    "undo": "taken back",
}


def decision_said(review: Review, *, has_gold: bool = True) -> str:
    """A decision in words."""
    if review.decision == "accept":
        words = _SAID[review.decision] if has_gold else "the answer is right"
        return words if review.has_result else f"{words}, though it gave no result"
    if review.decision == "gold_wrong" and review.gold:
        return f"{_SAID[review.decision]}, and corrected"
    if review.decision == "ambiguous" and review.leniency != STRICT:
        return f"{_SAID[review.decision]}: {review.leniency.said}"
    return _SAID[review.decision]


def said(review: Review, *, has_gold: bool = True) -> str:
    """A decision in words, with who decided it and the person's note."""
    note = " ".join(review.note.split())
    note = note if len(note) <= _NOTE_CHARACTERS else f"{note[:_NOTE_CHARACTERS]}…"
    return f"{review.reviewer}: {decision_said(review, has_gold=has_gold)}" + (f" ({note})" if note else "")
