"""Why a selection is wrong: one part changed at a time is the cause named, and mending it makes the answer right."""

from __future__ import annotations

import random
from pathlib import Path

from msgspec.structs import replace

import assay
from assay import demo
from assay.diagnosis.selections import SelectionCauses
from assay.model import (
    Case,
    CauseKind,
    DatasetSelection,
    Diagnosis,
    DimensionSelection,
    Evidence,
    Failure,
    Prediction,
    Selection,
    SelectionScore,
    Term,
    TimeRange,
    Turn,
    TurnAnswer,
)
from assay.reports.text.explanation import explanation_of
from assay.scoring.selections.scorer import SelectionScorer
from assay.sdmx.scoring import score_selection
from many_cases import each

SCORER = SelectionScorer(diagnoser=SelectionCauses())
CODES = [f"C{number}" for number in range(12)]


def judged(target: Selection | list[Selection], answer: Selection | list[Selection] | Failure) -> Evidence:
    targets = target if isinstance(target, list) else [target]
    answers = answer if isinstance(answer, list) else [answer]
    case = Case(
        id="1", question="?", turns=tuple(Turn(question=f"{n}?", targets=(one,)) for n, one in enumerate(targets))
    )
    turns = tuple(TurnAnswer(failure=one) if isinstance(one, Failure) else TurnAnswer(selection=one) for one in answers)
    return SCORER.evidence(case, Prediction(case_id="1", turns=turns))


def diagnosed(target: Selection | list[Selection], answer: Selection | list[Selection] | Failure) -> Diagnosis:
    found = judged(target, answer).diagnosis
    assert found is not None
    return found


def term(code: str) -> Term:
    return Term(id=code)


def drawn(draw: random.Random, dataset: str = "A:D") -> DatasetSelection:
    dimensions = tuple(
        DimensionSelection(
            dimension=name, terms=tuple(Term(id=code) for code in draw.sample(CODES, draw.randint(2, 4)))
        )
        for name in ("FREQ", "AREA", "UNIT")
    )
    start = draw.randint(1990, 2010)
    return DatasetSelection(
        dataset=dataset,
        dimensions=dimensions,
        time=(TimeRange(start=str(start), end=str(start + draw.randint(1, 9))),),
    )


def with_terms(one: DatasetSelection, place: int, terms: tuple[Term, ...]) -> DatasetSelection:
    dimensions = list(one.dimensions)
    dimensions[place] = replace(dimensions[place], terms=terms)
    return replace(one, dimensions=tuple(dimensions))


def planted(draw: random.Random, one: DatasetSelection) -> list[tuple[CauseKind, str, DatasetSelection]]:
    """The selection with one part changed, and what that is called."""
    place = draw.randrange(3)
    chosen = one.dimensions[place]
    other = next(code for code in CODES if code not in {one.id for one in chosen.terms})
    name = chosen.dimension
    return [
        ("missing_term", name, with_terms(one, place, chosen.terms[1:])),
        ("extra_term", name, with_terms(one, place, (*chosen.terms, Term(id=other)))),
        ("wrong_term", name, with_terms(one, place, (*chosen.terms[1:], Term(id=other)))),
        ("wrong_dataset", "dataset", replace(one, dataset="A:E")),
        ("wrong_period", "time", replace(one, time=(TimeRange(start="1980", end="1985"),))),
        ("wrong_period", "time", replace(one, time=None)),
    ]


def exact(answer: Selection, target: Selection) -> SelectionScore:
    return score_selection(answer, [target])


@each("seed", range(30))
def test_the_part_that_was_changed_is_the_cause_and_its_repair_one_step(seed: int) -> None:
    draw = random.Random(seed)
    right = drawn(draw)
    for kind, name, wrong in planted(draw, right):
        found = diagnosed(Selection(datasets=(right,)), Selection(datasets=(wrong,)))
        assert [cause.kind for cause in found.causes] == [kind]
        assert found.causes[0].proved
        assert [step.clause for step in found.repair.steps] == [name]


@each("seed", range(20))
def test_several_changed_parts_are_all_needed_and_all_named(seed: int) -> None:
    draw = random.Random(seed)
    right = drawn(draw)
    wrong = right
    for _ in range(3):
        wrong = draw.choice(planted(draw, wrong))[2]
    target, answer = Selection(datasets=(right,)), Selection(datasets=(wrong,))
    if exact(answer, target).exact:
        return
    found = diagnosed(target, answer)
    assert {cause.clause for cause in found.causes} == {step.clause for step in found.repair.steps}
    assert all(cause.proved for cause in found.causes)


def test_a_wrong_dataset_is_one_cause_and_its_dimensions_are_none() -> None:
    draw = random.Random(4)
    right = drawn(draw)
    wrong = replace(right, dataset="Z:OTHER")
    found = diagnosed(Selection(datasets=(right,)), Selection(datasets=(wrong,)))
    assert [cause.kind for cause in found.causes] == ["wrong_dataset"]
    assert found.causes[0].message == "dataset: Z:OTHER instead of A:D"
    both = diagnosed(Selection(datasets=(right,)), Selection(datasets=(right, wrong)))
    assert [cause.kind for cause in both.causes] == ["wrong_dataset"]
    assert both.repair is not None


def test_queries_whose_parts_agree_and_whose_union_does_not_have_no_invented_cause() -> None:
    one, other = (drawn(random.Random(seed)) for seed in (1, 2))
    crossed = (with_terms(one, 0, other.dimensions[0].terms), with_terms(other, 0, one.dimensions[0].terms))
    found = diagnosed(Selection(datasets=(one, other)), Selection(datasets=crossed))
    assert found.causes[0].kind == "other"
    assert found.repair is None


def test_an_answer_that_failed_says_by_its_failure_what_it_died_of() -> None:
    right = Selection(datasets=(drawn(random.Random(1)),))
    failure = Failure(stage="read", kind="unreadable_answer", blame="system", message="no JSON")
    found = diagnosed(right, failure)
    assert (found.causes[0].kind, found.causes[0].message) == ("unanswered", "no JSON")


def test_questions_of_a_conversation_are_told_apart_and_mended_together() -> None:
    draw = random.Random(9)
    one, two = drawn(draw), drawn(draw)
    targets = [Selection(datasets=(one,)), Selection(datasets=(two,))]
    wrong = [Selection(datasets=(with_terms(each, 1, each.dimensions[1].terms[1:]),)) for each in (one, two)]
    item = judged(targets, wrong)
    found = item.diagnosis
    assert [cause.message.partition(":")[0] for cause in found.causes] == ["question 1", "question 2"]
    assert [step.clause for step in found.repair.steps] == ["AREA"]
    told = explanation_of(item)
    assert "cause: Missing term (Selection, proved by the repair)" in told
    assert "repair, correct:" in told


def test_right_and_unscored_answers_have_no_cause() -> None:
    right = Selection(datasets=(drawn(random.Random(1)),))
    assert judged(right, right).diagnosis is None


def test_a_run_counts_causes_of_selections_and_what_to_fix_first() -> None:
    draw = random.Random(2)
    cases, answers = [], []
    for number in range(6):
        right = drawn(draw)
        wrong = planted(draw, right)[0 if number < 4 else 3][2]
        cases.append(
            Case(id=str(number), question="?", turns=(Turn(question="?", targets=(Selection(datasets=(right,)),)),))
        )
        answers.append(Prediction(case_id=str(number), turns=(TurnAnswer(selection=Selection(datasets=(wrong,))),)))
    run = assay.evaluate_selections(cases, answers)
    assert [(one.name, one.count) for one in run.aggregates.causes] == [("Missing term", 4), ("Wrong dataset", 2)]
    assert run.aggregates.fix_first == run.aggregates.causes


def test_a_code_that_no_list_has_is_invented_as_every_report_says(tmp_path: Path) -> None:
    files = [demo.sdmx_path(name) for name in ("cases.yaml", "predictions.jsonl")]
    run = assay.evaluate_selections(*files, structures=demo.sdmx_path("structures.xml"))
    found = {item.case.id: item.diagnosis for item in run.evidence if item.diagnosis is not None}
    invented = found["inflation-finland"]
    assert invented.causes[0].kind == "invented_term"
    assert invented.causes[0].message == "INDICATOR: no code list has INFL; the target has PCPIPCH"
    assert found["gdp-japan-2015-2020"].causes[0].message == "time: 2010 to 2020 instead of 2015 to 2020"
    assert all(one.repair is not None and len(one.repair.steps) == 1 for one in found.values())
    for form in ("junit", "md", "json"):
        run.report(tmp_path / f"report.{form}", format=form)
        text = (tmp_path / f"report.{form}").read_text(encoding="utf-8")
        assert "Invented term" in text or "invented_term" in text, form
        assert "no code list has INFL" in text, form
