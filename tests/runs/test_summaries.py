"""The summary that a worker sends is that of the line, and says of equal parts that they are one."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from assay.model import Case, Evidence, Prediction, Score, Verdict
from assay.runs.aggregate.summarize import Scored, Summarizer, with_summary
from assay.runs.store.codec import decode_evidence, encode_evidence, encode_value, identity_of
from assay.runs.store.journal import read_lines
from many_cases import each

FOLDER = Path(__file__).parent / "written_by_0_1_0"
RUNS = sorted(path.name for path in FOLDER.iterdir())

LATER_FIELDS = (
    b'"table":null,',
    b'"results":[],',
    b'"result":null,',
    b'"shape":null,',
    b'"expects":"answer",',
    b'"conversation":null,',
    b'"turn":null,',
    b'"history":[],',
    b'"decision":null,"confidence":null,',
    b',"code":null',
    b'"query_source":null,',
    b',"extraction":null',
    b'"script_columns":null,',
    b'"result_query":null,',
    b'"engine":null,',
    b',"note":null',
    b'"context_tables":null,',
    b'"context_columns":null,',
)
TEXTS = st.text(st.sampled_from('",:\\\\resultn[]{}x\ud800é '), max_size=12) | st.sampled_from(
    [',"result', '"results":[],', ',"result":null,', '"turn":null,', "x" * 5000]
)


@each("name", RUNS)
def test_what_a_worker_sends_is_the_line_and_its_summary(name: str) -> None:
    sent, read = Summarizer(), Summarizer()
    for line in read_lines(FOLDER / name / "journal.jsonl"):
        evidence = decode_evidence(line.content)
        content = encode_evidence(evidence)
        scored = with_summary(content)
        assert scored[0] == content
        assert sent.received([scored]) == [read.summary(evidence)]


def test_equal_parts_of_summaries_are_one_object() -> None:
    def line(number: int, text: str) -> bytes:
        evidence = Evidence(
            case=Case(id=str(number), question="?", difficulty=f"hard {text}", golds=("SELECT 1",)),
            prediction=Prediction(case_id=str(number), query="SELECT 2"),
            verdict=Verdict(outcome="incorrect", reason="1 row differs", flags=frozenset({"ambiguous_gold"})),
            scores=(Score(metric="match", value=0.0, detail=text),),
        )
        return encode_evidence(evidence)

    summarizer = Summarizer()
    first, second, third = summarizer.received(
        [with_summary(line(number, text)) for number, text in enumerate(("a", "a", "b"))]
    )
    assert first.scores is second.scores is third.scores, "scores are without details"
    assert first.flags is second.flags is third.flags
    assert first.difficulty is second.difficulty
    assert (first.difficulty, third.difficulty) == ("hard a", "hard b")
    assert (first.case_id, second.case_id) == ("0", "1")


@given(
    case=st.builds(
        Case,
        id=TEXTS,
        question=TEXTS,
        golds=st.lists(TEXTS, max_size=2).map(tuple),
        database=st.none() | TEXTS,
        context=st.none() | TEXTS,
        tags=st.lists(TEXTS, max_size=2).map(tuple),
        expects=st.sampled_from(["answer", "decline"]),
        conversation=st.none() | TEXTS,
        turn=st.none() | st.integers(0, 3),
    ),
    prediction=st.builds(
        Prediction,
        case_id=TEXTS,
        query=st.none() | TEXTS,
        raw=st.none() | TEXTS,
        explanation=st.none() | TEXTS,
        confidence=st.none() | st.just(0.5),
        decision=st.sampled_from([None, "decline"]),
    ),
    text=TEXTS,
)
def test_an_identity_is_the_encoding_without_unused_later_fields(case: Case, prediction: Prediction, text: str) -> None:
    for value in (case, prediction, case.options, text):
        expected = encode_value(value)
        for unused in LATER_FIELDS:
            expected = expected.replace(unused, b"")
        assert identity_of(value) == expected


def test_a_run_keeps_one_object_for_all_that_have_no_flags() -> None:
    first, second = Summarizer().received([_scored("a"), _scored("b")])
    assert first.flags == frozenset()
    assert first.flags is second.flags


def _scored(case_id: str) -> Scored:
    evidence = Evidence(
        case=Case(id=case_id, question="?", golds=("SELECT 1",)),
        prediction=Prediction(case_id=case_id, query="SELECT 1"),
        verdict=Verdict(outcome="correct", reason="all 1 rows match"),
        scores=(Score(metric="match", value=1.0),),
    )
    return with_summary(encode_evidence(evidence), evidence)
