"""JUnit XML: the shape that CI servers read, every outcome told as what it is, valid whatever a case holds."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from assay.model import (
    Case,
    DimensionScore,
    Evidence,
    Failure,
    JudgedTerm,
    Prediction,
    Run,
    Score,
    Selection,
    SelectionScore,
    SelectionSettings,
    SelectionTotals,
    TermCounts,
    Turn,
    TurnAnswer,
    TurnScore,
    Verdict,
)
from assay.reports.junit import JunitReporter

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

import selections

RUNS = ["small_run", "hostile_run", "empty_run", "all_failing_run", "large_run", "selected", "hostile_selected"]

# Jenkins' junit-10.xsd, as far as a run uses it: the attributes that each element may have, and its children.
ATTRIBUTES = {
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, set()),
    "testsuite": (
        {
            "name",
            "tests",
            "failures",
            "errors",
            "time",
            "disabled",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
        },
        {"name", "tests"},
    ),
    "properties": (set(), set()),
    "property": ({"name", "value"}, {"name", "value"}),
    "testcase": ({"name", "assertions", "time", "classname", "status"}, {"name"}),
    "skipped": ({"message", "type"}, set()),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"skipped", "failure", "error"},
}


@pytest.fixture
def selected() -> Run:
    return selections.small_selection_run()


@pytest.fixture
def hostile_selected(hostile_text: str) -> Run:
    return selections.hostile_selection_run(hostile_text)


def drawn(run: Run) -> ElementTree.Element:
    return ElementTree.fromstring(JunitReporter().render(run))


def cases(run: Run) -> dict[str, ElementTree.Element]:
    return {str(case.get("name")).split(":")[0]: case for case in drawn(run).iter("testcase")}


def told(case: ElementTree.Element) -> list[str]:
    return [child.tag for child in case]


@pytest.mark.parametrize("name", RUNS)
def test_the_shape_is_the_schema_s(request: pytest.FixtureRequest, name: str) -> None:
    root = drawn(request.getfixturevalue(name))
    assert root.tag == "testsuites"
    for element in root.iter():
        allowed, wanted = ATTRIBUTES[element.tag]
        assert wanted <= set(element.keys()) <= allowed
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        if "time" in element.keys():  # noqa: SIM118 - an element, no mapping
            assert re.fullmatch(r"\d+\.\d{3}", str(element.get("time")))
    (suite,) = root
    assert next(child.tag for child in suite) == "properties"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", str(suite.get("timestamp")))
    assert all(len(case) <= 1 for case in suite.iter("testcase"))


@pytest.mark.parametrize("name", RUNS)
def test_the_suite_counts_what_its_cases_tell(request: pytest.FixtureRequest, name: str) -> None:
    run = request.getfixturevalue(name)
    (suite,) = drawn(run)
    assert int(str(suite.get("tests"))) == len(run.evidence) == len(suite.findall("testcase"))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(str(suite.get(attribute))) == len(suite.findall(f"testcase/{tag}"))
    assert int(str(suite.get("failures"))) == run.aggregates.incorrect


def test_each_outcome_is_told_as_what_it_is(small_run: Run) -> None:
    found = cases(small_run)
    assert {name: told(case) for name, case in found.items()} == {
        "12": [],
        "88": ["failure"],
        "g1": ["error"],
        "t1": ["failure"],
        "u1": ["failure"],
        "v1": [],
    }
    assert found["g1"][0].get("type") == "gold.error"
    assert found["t1"][0].get("type") == "system.timeout"
    assert found["88"][0].get("message") == "1 of gold's 3 rows is missing and 1 row is not gold's."


def test_a_failure_holds_the_evidence(small_run: Run) -> None:
    body = str(cases(small_run)["88"][0].text)
    assert "Question: How much has each customer paid in all?" in body
    assert "Gold 1, judged by this one (3 rows in 1.2 ms):\nSELECT T1.name, sum(T2.amount)\nFROM customer" in body
    assert "Predicted (3 rows in 4.2 s):\nSELECT name, sum(amount)" in body
    assert "Near miss: type only: text '31' where gold has the integer 31" in body
    assert "- 'NULL' | 31\n+ 'NULL' | '31'" in body


def test_a_case_without_anything_to_compare_with_is_skipped(
    build_run: Callable[..., Run], right_case: Evidence
) -> None:
    failure = Failure(stage="score", kind="no_gold", blame="gold", message="the case has no gold query")
    verdict = Verdict(outcome="unscored", reason="There is no gold query.", failure=failure)
    item = replace(right_case, verdict=verdict, case=replace(right_case.case, golds=()))
    (case,) = drawn(build_run([item])).iter("testcase")
    assert told(case) == ["skipped"]
    assert case[0].get("message") == "There is no gold query."


def test_cases_are_classed_by_database_and_difficulty(small_run: Run) -> None:
    found = cases(small_run)
    assert found["12"].get("classname") == "concert_singer.easy"
    assert found["t1"].get("classname") == "bank"
    assert found["12"].get("name") == "12: What are the names and countries of the singers older than 40?"


def test_a_dot_in_a_name_makes_no_package(build_run: Callable[..., Run], right_case: Evidence) -> None:
    item = replace(right_case, case=replace(right_case.case, database="v1.2", difficulty=None))
    (case,) = drawn(build_run([item])).iter("testcase")
    assert case.get("classname") == "v1_2"


def test_the_rates_are_properties(small_run: Run) -> None:
    found = {one.get("name"): str(one.get("value")) for one in drawn(small_run).iter("property")}
    rate = small_run.aggregates.overall.rate("match")
    assert rate is not None
    assert rate.value is not None
    assert float(found["metric.match"]) == pytest.approx(rate.value, abs=1e-6)
    assert found["metric.match.n"].startswith("5 cases, 1 unscored, ")
    assert found["metric.match.n"].endswith(" at 95 %")
    assert found["outcomes"] == "2 correct, 3 incorrect, 1 unscored, 1 unanswered"


@pytest.mark.parametrize(("name", "started"), [("2026-03-01T09:30:00Z", "2026-03-01T09:30:00"), (None, "2000")])
def test_the_timestamp_is_utc_without_a_zone(small_run: Run, name: str | None, started: str) -> None:
    run = replace(small_run, provenance=replace(small_run.provenance, started_at=name))
    assert str(drawn(run)[0].get("timestamp")).startswith(started)
    assert JunitReporter().render(run) == JunitReporter().render(run)


def test_what_xml_cannot_hold_shows_as_marks(hostile_run: Run) -> None:
    content = JunitReporter().render(hostile_run).decode("utf-8")
    root = ElementTree.fromstring(content)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|&#(?:0*(?:[0-8]|11|12|1[4-9]|5[5-7]\\d{3}));", content
    )
    (case,) = (case for case in root.iter("testcase") if len(case))
    assert "⟨U+D800⟩" in str(case.get("name"))
    assert "</script>" in str(case[0].text)


@pytest.mark.parametrize("code", [*range(0x20), 0x7F, 0x85, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x1F4C8])
def test_no_character_breaks_the_file(build_run: Callable[..., Run], wrong_case: Evidence, code: int) -> None:
    text = f'a{chr(code)}b]]>&<"'
    case = replace(wrong_case.case, id=text, question=text, database=text, golds=(text,))
    item = replace(wrong_case, case=case, prediction=Prediction(case_id=text, query=text), cause=text)
    assert len(list(drawn(build_run([item])).iter("failure"))) == 1


def test_many_failures_share_the_room(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    long = replace(wrong_case, prediction=replace(wrong_case.prediction, query="SELECT 1 -- " + "x" * 5000))
    few = drawn(build_run([long]))
    assert len(str(next(few.iter("failure")).text)) > 5000
    many = [replace(long, case=replace(long.case, id=str(number))) for number in range(8000)]
    content = JunitReporter().render(build_run(many))
    assert len(content) < 30_000_000
    assert "more characters" in str(next(ElementTree.fromstring(content).iter("failure")).text)


def selection_run(build_run: Callable[..., Run], evidence: Sequence[Evidence]) -> Run:
    class Exact:
        name, binary = "exact_match", True

    run = build_run(evidence, metrics=(Exact(),))
    micro = TermCounts(true_positives=2, false_positives=1, false_negatives=0, precision=2 / 3, recall=1.0, f1=0.8)
    return replace(
        run,
        settings=replace(run.settings, database="", selection=SelectionSettings()),
        aggregates=replace(run.aggregates, selection=SelectionTotals(turns=1, micro=micro)),
    )


def asked(identifier: str, outcome: Any, *, failure: Failure | None = None) -> Evidence:
    dimension = DimensionScore(
        dimension="INDICATOR",
        in_target=True,
        true_positives=(JudgedTerm(id="GDP", name="gross domestic product"), JudgedTerm(id="GDPPC")),
        false_positives=(JudgedTerm(id="GDP_CONST", note="unknown_code"),),
        precision=2 / 3,
        recall=1.0,
    )
    score = SelectionScore(exact=outcome == "correct", dimensions=(dimension,))
    value = {"correct": 1.0, "incorrect": 0.0}.get(outcome)
    return Evidence(
        case=Case(
            id=identifier,
            name="gdp",
            question="The GDP?",
            tags=("imf", "weo", "gdp"),
            turns=(Turn(question="The GDP?", targets=(Selection(),)),),
        ),
        prediction=Prediction(case_id=identifier, turns=(TurnAnswer(raw='{"urn": "IMF.RES:WEO"}', latency_s=1.25),)),
        verdict=Verdict(outcome=outcome, reason="1 term is not the target's.", failure=failure),
        scores=(Score(metric="exact_match", value=value, failure=failure),),
        turns=(TurnScore(number=1, score=None if failure else score, failure=failure),),
    )


def test_a_run_of_selections_tells_their_terms(build_run: Callable[..., Run]) -> None:
    broken = Failure(stage="read", kind="unknown_structure", blame="setup", message="no structure of WEO")
    no_target = Failure(stage="load", kind="no_gold", blame="gold", message="no question has a target")
    run = selection_run(
        build_run,
        [
            asked("a", "correct"),
            asked("b", "incorrect"),
            asked("c", "unscored", failure=broken),
            asked("d", "unscored", failure=no_target),
        ],
    )
    found = cases(run)
    assert {name: told(case) for name, case in found.items()} == {
        "a": [],
        "b": ["failure"],
        "c": ["error"],
        "d": ["skipped"],
    }
    assert (found["b"].get("classname"), found["b"].get("time")) == ("imf.weo", "1.250")
    body = str(found["b"][0].text)
    assert "INDICATOR\n[recall: 1.00, precision: 0.67]\nTrue Positives [2]\n  * GDP: gross domestic product" in body
    assert "  * GDP_CONST (invented: no such code)" in body
    assert 'Answer to turn 1:\n{"urn": "IMF.RES:WEO"}' in body
    properties = {one.get("name"): one.get("value") for one in drawn(run).iter("property")}
    assert properties["pooled.precision"] == "0.666667"


def test_it_is_registered_under_its_name() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["entry-points"]["assay.reports"]["junit"] == "assay.reports.junit:JunitReporter"
    assert (JunitReporter.name, JunitReporter.suffix) == ("junit", ".xml")
