"""What becomes of a case whose answer is a selection: verdict, scores, failures, totals."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from assay import demo, evaluate_selections
from assay.model import (
    Case,
    DatasetSelection,
    DimensionSelection,
    Evidence,
    Failure,
    Prediction,
    Selection,
    Term,
    Turn,
    TurnAnswer,
)
from assay.model.failure import lacks_query
from assay.runs.aggregate.selections import selection_totals
from assay.runs.store.codec import decode_evidence, encode_evidence
from assay.scoring.selections.scorer import SelectionScorer


def selection(*codes: str, dataset: str = "IMF.RES:WEO", dimension: str = "COUNTRY") -> Selection:
    terms = tuple(Term(id=code) for code in codes)
    return Selection(
        datasets=(
            DatasetSelection(dataset=dataset, dimensions=(DimensionSelection(dimension=dimension, terms=terms),)),
        )
    )


def case(*targets: Selection | None) -> Case:
    turns = tuple(
        Turn(question=f"question {number}?", targets=() if target is None else (target,))
        for number, target in enumerate(targets, start=1)
    )
    return Case(id="one", question="?", turns=turns)


def judged(asked: Case, *answers: Selection | str | Failure | None, failure: Failure | None = None) -> Evidence:
    turns = tuple(
        TurnAnswer(
            selection=answer if isinstance(answer, Selection) else None,
            raw=answer if isinstance(answer, str) else None,
            failure=answer if isinstance(answer, Failure) else None,
        )
        for answer in answers
    )
    prediction = Prediction(case_id="one", turns=turns, failure=failure)
    return SelectionScorer().evidence(asked, prediction)


def value(evidence: Evidence, metric: str) -> float | None:
    score = evidence.score(metric)
    return score.value


def test_a_conversation_is_correct_where_every_question_is_met() -> None:
    asked = case(selection("MEX"), selection("MEX", "BRA"))
    right = judged(asked, selection("MEX"), selection("BRA", "MEX"))
    assert right.outcome == "correct"
    half = judged(asked, selection("MEX"), selection("BRA"))
    assert half.outcome == "incorrect"
    assert half.verdict.reason == "question 2: COUNTRY: 1 missing (MEX)"
    assert value(half, "macro_recall") == 0.75
    assert value(half, "exact_match") == 0.0


def test_a_question_without_a_target_is_not_scored_and_needs_no_answer() -> None:
    evidence = judged(case(None, selection("MEX")), selection("XXX"), selection("MEX"))
    assert evidence.outcome == "correct"
    assert [turn.score is None for turn in evidence.turns] == [True, False]
    assert judged(case(None, selection("MEX")), selection("MEX")).outcome == "correct"


@pytest.mark.parametrize("target", [selection("MEX"), Selection()])
def test_a_question_that_got_no_answer_is_incorrect_and_scores_0(target: Selection) -> None:
    unanswered = Failure(stage="ask", kind="unanswered", blame="system", message="no line answers this case")
    evidence = judged(case(target), failure=unanswered)
    assert (evidence.outcome, evidence.verdict.reason) == ("incorrect", "no line answers this case")
    assert (value(evidence, "macro_recall"), value(evidence, "macro_precision")) == (0.0, 0.0)


def test_an_answer_in_words_alone_selects_nothing() -> None:
    assert judged(case(Selection()), Selection()).outcome == "correct"
    assert judged(case(Selection()), None).outcome == "correct"


@pytest.mark.parametrize("answer", ['{"urn": "A:B", ', None])
def test_an_explicitly_empty_dimension_is_not_met_by_an_answer_that_failed(answer: str | None) -> None:
    target = replace(selection("MEX").datasets[0], time=())
    empty = DimensionSelection(dimension="SEX")
    asked = case(Selection(datasets=(replace(target, dimensions=(*target.dimensions, empty)),)))
    failed = judged(asked, answer) if answer else judged(asked)
    assert failed.outcome == "incorrect"
    assert {score.value for score in failed.scores} == {0.0}
    (turn,) = failed.turns
    assert [(one.precision, one.recall) for one in turn.score.dimensions] == [(0.0, 0.0)] * 2


def test_an_unreadable_answer_is_the_systems_and_wrong() -> None:
    evidence = judged(case(selection("MEX")), 'I think {"urn": "IMF.RES:WEO", "filters": ')
    assert evidence.outcome == "incorrect"
    assert (evidence.verdict.failure.kind, evidence.verdict.failure.blame) == ("unreadable_answer", "system")
    assert value(evidence, "macro_recall") == 0.0


KEY = "https://sdmx.example.org/rest/data/IMF.RES,{},1.0/MEX.LP.A"


def test_a_key_that_cannot_be_read_without_structures_is_unscored() -> None:
    evidence = judged(case(selection("MEX")), KEY.format("WEO"))
    assert (evidence.outcome, evidence.verdict.failure.kind) == ("unscored", "unknown_structure")
    assert value(evidence, "macro_recall") is None
    assert "--structures" in evidence.verdict.reason
    other = judged(case(selection("MEX")), KEY.format("WOE"))  # in a dataset that no target has, it is wrong anyway
    assert (other.outcome, value(other, "dataset_precision")) == ("incorrect", 0.0)


def test_more_answers_than_questions_are_unscored_with_the_numbers() -> None:
    evidence = judged(case(selection("MEX")), selection("MEX"), selection("MEX"))
    assert evidence.outcome == "unscored"
    assert "2 answers" in evidence.verdict.reason


def test_recall_has_no_value_where_there_is_nothing_to_be_found() -> None:
    evidence = judged(case(Selection()), selection("MEX"))
    assert (value(evidence, "macro_precision"), value(evidence, "macro_recall")) == (0.0, None)
    score = evidence.score("macro_recall")
    assert score.failure is not None


def test_evidence_survives_the_journal() -> None:
    evidence = judged(case(selection("MEX"), None), json.dumps({"urn": "A:B", "filters": []}), "nonsense")
    assert decode_evidence(encode_evidence(evidence)) == evidence


def test_totals_pool_terms_and_tell_dimensions_apart() -> None:
    wide = Selection(
        datasets=(
            DatasetSelection(
                dataset="IMF.RES:WEO",
                dimensions=(
                    DimensionSelection(dimension="COUNTRY", terms=(Term(id="MEX"), Term(id="USA"))),
                    DimensionSelection(dimension="FREQ", terms=(Term(id="A"),)),
                ),
            ),
        )
    )
    totals = selection_totals(
        [judged(case(selection("MEX")), wide), judged(case(selection("MEX", "BRA")), Selection())]
    )
    assert totals.turns == 2
    assert (totals.micro.true_positives, totals.micro.false_positives, totals.micro.false_negatives) == (1, 2, 2)
    assert totals.micro.precision == pytest.approx(1 / 3)
    country, frequency = totals.by_dimension
    assert (country.dimension, country.turns, country.mean_recall) == ("COUNTRY", 2, 0.5)
    assert (frequency.dimension, frequency.turns, frequency.turns_beyond_target) == ("FREQ", 0, 1)
    assert totals.by_turn == ()


def test_numbers_by_turn_are_there_for_conversations() -> None:
    asked = case(selection("MEX"), selection("BRA"))
    totals = selection_totals([judged(asked, selection("MEX"), selection("MEX"))])
    assert [(group.name, group.cases) for group in totals.by_turn] == [("1", 1), ("2", 1)]
    rates = [group.rate("exact_match") for group in totals.by_turn]
    assert [rate.value for rate in rates if rate is not None] == [1.0, 0.0]


def test_the_bundled_example_scores_as_its_comments_say() -> None:
    pytest.importorskip("lxml", reason="lxml is not installed (pip install 'assay[sdmx]')")
    files = [demo.sdmx_path(name) for name in ("cases.yaml", "predictions.jsonl")]
    structures = demo.sdmx_path("structures.xml")
    run = evaluate_selections(*files, structures=structures)
    by_id = {evidence.case.id: evidence for evidence in run.evidence}
    mexico, gdp = by_id["c48d7624-d376-48ca-b2d8-386999befb45"], by_id["gdp-and-gdp-per-capita"]
    assert (mexico.outcome, value(mexico, "macro_precision"), value(mexico, "macro_recall")) == ("correct", 1.0, 1.0)
    assert (round(value(gdp, "macro_precision"), 2), value(gdp, "macro_recall")) == (0.67, 1.0)
    for name, note in (("inflation-finland", "unknown_code"), ("unemployment-g7", "through_hierarchy")):
        scores = [one for turn in by_id[name].turns if turn.score for one in turn.score.dimensions]
        assert [term.note for one in scores for term in one.false_positives] == [note]
    right = ["population-everywhere", "growth-or-level", "weather-tomorrow", "fish-in-norway"]
    assert [id_ for id_, evidence in by_id.items() if evidence.outcome == "correct"] == [mexico.case.id, *right]
    counted = evaluate_selections(*files, structures=structures, count_hierarchy=True)
    assert next(one for one in counted.evidence if one.case.id == "unemployment-g7").outcome == "correct"


WORDS = [
    "I could not find a dataset for this.",
    "Sorry!",
    "null",
    '"null"',
    "<html><body>502 Bad Gateway</body></html>",
]


@pytest.mark.parametrize("words", WORDS)
def test_words_alone_are_unanswered_unless_the_target_selects_nothing(words: str) -> None:
    evidence = judged(case(selection("FRA")), words)
    assert evidence.outcome == "incorrect"
    assert lacks_query(evidence.verdict.failure)
    assert "only words" in evidence.verdict.reason
    assert judged(case(Selection()), words).outcome == "correct"


@pytest.mark.parametrize("answer", ["Here it is: https://x/data/IMF.RES,WEO/FRA", '{"indicator_selection": []}', "[]"])
def test_a_selection_is_an_answer_even_within_words_or_if_empty(answer: str) -> None:
    failure = judged(case(selection("FRA")), answer).verdict.failure
    assert failure is None or failure.kind == "unknown_structure"
