"""JUnit XML: the shape that CI servers read, every outcome told as what it is, valid whatever a case holds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pytest
import selections
from msgspec.structs import replace

from assay.model import AlignedRow, Evidence, Failure, Prediction, Row, Run, TurnAnswer, Verdict
from assay.reports.junit import JunitReporter
from many_cases import each

RUNS = ["small_run", "hostile_run", "empty_run", "all_failing_run", "large_run", "selected", "hostile_selected"]


@dataclass(frozen=True, kw_only=True)
class Declared:
    """An element as Jenkins' junit-10.xsd declares it, as far as a run uses it."""

    children: str = ""
    """A pattern over the children's names in their order, a blank behind each."""
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    text: bool = False


SUREFIRE_TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]{0,3})?")
COUNT = re.compile(r"[0-9]+")
VALUES = {
    "time": SUREFIRE_TIME,
    **dict.fromkeys(("tests", "failures", "errors", "skipped", "id"), COUNT),
    "timestamp": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"),
}
TOLD = Declared(optional=frozenset({"message", "type"}), text=True)
SCHEMA = {
    "testsuites": Declared(
        children=r"(testsuite )*", optional=frozenset({"name", "time", "tests", "failures", "errors"})
    ),
    # The schema takes these in any order; Ant's and Surefire's own files begin with the properties, and some readers
    # rely on it.
    "testsuite": Declared(
        children=r"(properties )?(testcase )*",
        required=frozenset({"name", "tests", "failures", "errors"}),
        optional=frozenset({"time", "skipped", "timestamp", "hostname", "id", "package"}),
    ),
    "properties": Declared(children=r"(property )*"),
    "property": Declared(required=frozenset({"name", "value"})),
    "testcase": Declared(
        children=r"((skipped|error|failure) )?",
        required=frozenset({"name"}),
        optional=frozenset({"classname", "time"}),
    ),
    "skipped": TOLD,
    "error": TOLD,
    "failure": TOLD,
}


def against_the_schema(root: ElementTree.Element) -> list[str]:
    """What in the document the schema does not allow."""
    wrong = [] if root.tag == "testsuites" else [f"the root is {root.tag}"]
    for element in root.iter():
        declared = SCHEMA.get(element.tag)
        if declared is None:
            wrong.append(f"<{element.tag}> is not declared")
            continue
        names = set(element.keys())
        wrong += [f"<{element.tag}> lacks {name}" for name in declared.required - names]
        wrong += [f"<{element.tag}> has {name}" for name in names - declared.required - declared.optional]
        wrong += [
            f"<{element.tag} {name}={value!r}>"
            for name, value in element.items()
            if name in VALUES and not VALUES[name].fullmatch(value)
        ]
        if not re.fullmatch(declared.children, "".join(f"{child.tag} " for child in element)):
            wrong.append(f"<{element.tag}> holds {[child.tag for child in element][:5]}")
        texts = [element.text, *(child.tail for child in element)]
        if not declared.text and any(text and text.strip() for text in texts):
            wrong.append(f"<{element.tag}> holds text")
    return wrong


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
    assert against_the_schema(root) == []
    (suite,) = root
    assert suite[0].tag == "properties"


@each(
    ("broken", "said"),
    [
        ("<testsuite/>", "the root is testsuite"),
        ('<testsuites><testcase name="a"/></testsuites>', "<testsuites> holds ['testcase']"),
        ("<testsuites>text</testsuites>", "<testsuites> holds text"),
        ('<testsuites time="1.2.3"/>', "<testsuites time='1.2.3'>"),
        ('<testsuites><testsuite name="a" tests="1" failures="0"/></testsuites>', "<testsuite> lacks errors"),
        ('<testsuites colour="red"/>', "<testsuites> has colour"),
    ],
)
def test_the_schema_check_sees_what_is_wrong(broken: str, said: str) -> None:
    assert said in against_the_schema(ElementTree.fromstring(broken))


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
    assert "Gold 1, compared with this one (3 rows in 1.2 ms):\nSELECT T1.name, sum(T2.amount)\nFROM customer" in body
    assert "Predicted (3 rows in 4.2 s):\nSELECT name, sum(amount)" in body
    assert "Near miss: type only: text '31' where gold has the integer 31" in body
    assert "- 'NULL' | 31\n+ 'NULL' | '31'" in body


def headed(item: Evidence, gold: Sequence[Row], predicted: Sequence[Row]) -> Evidence:
    """The evidence with those first rows of both results."""
    assert item.predicted_execution is not None
    first, *others = item.gold_executions
    return replace(
        item,
        gold_executions=(replace(first, head=tuple(gold)), *others),
        predicted_execution=replace(item.predicted_execution, head=tuple(predicted)),
    )


def test_a_failure_holds_both_result_heads(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    gold = [("Ada", Decimal("120.50")), ("", None), ("NULL", 31)]
    item = headed(wrong_case, gold, [("Ada", 120.5), ("NULL", "31")])
    (failure,) = drawn(build_run([item])).iter("failure")
    body = str(failure.text)
    assert (
        "Gold 1, compared with this one: all 3 rows\n"
        "name   | sum(T2.amount)\n"
        "-------+---------------\n"
        "Ada    |         120.50\n"
        "''     |           NULL\n"
        "'NULL' |             31\n"
    ) in body
    assert (
        "Predicted: first 2 rows\n"
        "name   | sum(amount)\n"
        "-------+------------\n"
        "Ada    | 120.5\n"
        "'NULL' | '31'\n"
        "… and 1 more row\n"
    ) in body
    assert body.index("Gold 1") < body.index("Predicted (") < body.index("Difference (")
    assert "  name | sum(T2.amount)\n  Ada | 120.50\n" in body


def test_rows_stay_where_long_queries_are_cut(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    long = "SELECT 1 -- " + "x" * 50_000
    item = headed(wrong_case, [("gold's row", 1)], [("the prediction's row", 2)])
    item = replace(
        item,
        case=replace(item.case, golds=(long, long), question="why? " * 5_000),
        prediction=replace(item.prediction, query=long),
    )
    (failure,) = drawn(build_run([item])).iter("failure")
    body = str(failure.text)
    assert "gold's row" in body
    assert "the prediction's row" in body
    assert "- 'NULL' | 31" in body
    assert len(body) < 9000


@pytest.mark.parametrize(
    "cell",
    ["x" * 1_000_000, "\x00]]>\ud800" * 200_000, b"\x00" * 1_000_000, 10**300_000],
    ids=["text", "marks", "bytes", "integer"],
)
def test_huge_and_hostile_cells_stay_small(build_run: Callable[..., Run], wrong_case: Evidence, cell: object) -> None:
    item = headed(wrong_case, [(cell,) * 40] * 5, [(cell,)] * 5)
    assert item.comparison is not None
    aligned = (AlignedRow(state="missing", gold=(cell,) * 40), AlignedRow(state="extra", predicted=(cell,)))
    item = replace(item, comparison=replace(item.comparison, aligned=aligned))
    content = JunitReporter().render(build_run([item]))
    assert len(content) < 40_000
    root = ElementTree.fromstring(content)
    assert against_the_schema(root) == []
    body = str(next(root.iter("failure")).text)
    assert "… and 28 more columns" in body
    assert "Predicted: first 5 rows" in body


def test_repeated_answers_are_told_apart_by_name(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    answers = [
        replace(
            wrong_case, prediction=replace(wrong_case.prediction, repeat=number), case=replace(wrong_case.case, id=name)
        )
        for name in ("88", "i" * 500)
        for number in range(3)
    ]
    run = build_run(answers)
    run = replace(run, settings=replace(run.settings, repeats=3))
    names = [str(case.get("name")) for case in drawn(run).iter("testcase")]
    assert names[:2] == [
        "88 [answer 1 of 3]: How much has each customer paid in all?",
        "88 [answer 2 of 3]: How much has each customer paid in all?",
    ]
    assert "[answer 3 of 3]" in names[5]
    assert len(set(names)) == 6
    assert [str(case.get("classname")) for case in drawn(run).iter("testcase")][:3] == ["bank.medium"] * 3


def test_a_case_without_anything_to_compare_with_is_skipped(
    build_run: Callable[..., Run], right_case: Evidence
) -> None:
    failure = Failure(stage="score", kind="no_gold", blame="gold", message="the case has no gold query")
    verdict = Verdict(outcome="unscored", reason="There is no gold query.", failure=failure)
    item = replace(right_case, verdict=verdict, case=replace(right_case.case, golds=()))
    (case,) = drawn(build_run([item])).iter("testcase")
    assert told(case) == ["skipped"]
    assert case[0].get("message") == "There is no gold query."


def test_cases_are_classed_by_database_and_difficulty(
    small_run: Run, build_run: Callable[..., Run], right_case: Evidence
) -> None:
    item = replace(right_case, case=replace(right_case.case, database="v1.2", difficulty=None))
    (case,) = drawn(build_run([item])).iter("testcase")
    assert case.get("classname") == "v1_2", "a dot in a name makes no package"
    found = cases(small_run)
    assert found["12"].get("classname") == "concert_singer.easy"
    assert found["t1"].get("classname") == "bank"
    assert found["12"].get("name") == "12: What are the names and countries of the singers older than 40?"


def test_the_rates_are_properties(small_run: Run) -> None:
    found = {one.get("name"): str(one.get("value")) for one in drawn(small_run).iter("property")}
    rate = small_run.aggregates.overall.rate("match")
    assert rate is not None
    assert rate.value is not None
    assert float(found["metric.match"]) == pytest.approx(rate.value, abs=1e-6)
    assert found["metric.match.n"].startswith("5 cases, 1 unscored, ")
    assert found["metric.match.n"].endswith(" at 95 %")
    assert found["outcomes"] == "2 correct, 3 incorrect, 1 unscored; 1 unanswered"


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


@each("code", [*range(0x20), 0x7F, 0x85, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x1F4C8])
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


def test_a_run_of_selections_tells_their_terms(selected: Run) -> None:
    missing = Failure(stage="read", kind="unknown_structure", blame="setup", message="no structure of WEO")
    answers = [TurnAnswer(raw='{"urn": "IMF.RES:WEO"}', latency_s=1.25)]
    lost = selections.evidence("lost", [("The GDP?", missing)], tags=["imf", "weo", "gdp"], answers=answers)
    found = cases(selections.make_selection_run([*selected.evidence, lost]))
    assert {name: told(case) for name, case in found.items()} == {
        "mexico": [],
        "gdp": ["failure"],
        "talk": ["failure"],
        "broken": ["skipped"],
        "lost": ["error"],
    }
    assert (found["lost"].get("classname"), found["lost"].get("time")) == ("imf.weo", "1.250")
    body = str(found["gdp"][0].text)
    assert "INDICATOR\n[recall: 1.00, precision: 0.67]\nTrue Positives [2]\n  * GDP: gross domestic product" in body
    assert "  * GDP_CONST: gross domestic product constant prices (invented code)" in body
    assert 'Answer to turn 1:\n{"urn": "IMF.RES:WEO(1.0.0)"' in body
    properties = {one.get("name"): one.get("value") for one in drawn(selected).iter("property")}
    assert properties["pooled.precision"] == "0.625000"


def test_it_is_registered_under_its_name() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["entry-points"]["assay.reports"]["junit"] == "assay.reports.junit:JunitReporter"
    assert (JunitReporter.name, JunitReporter.suffix) == ("junit", ".xml")
