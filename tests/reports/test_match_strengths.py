"""How sure each match is, in every report: figures, counts, filter, and the database that parts an answer from gold."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace
from pages import Page
from python_calamine import CalamineWorkbook

from assay.model import Evidence, MetricInfo, Proof, Result, Run, Strength
from assay.model.verdicts.diagnosis import Cause, Repair, RepairStep
from assay.model.witness import Assumption, Refutation, Witness, WitnessTable
from assay.registry import reporter
from assay.reports.blocks.run import RunReport
from assay.reports.console.run import plain_summary
from assay.reports.text.explanation import explanation_of
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate

HOSTILE = "</script><b>\x1b[31m|`\ud800"
FOUND = Refutation(
    kind="refuted",
    reason="they differ on data like the database's own (2 rows): one row against 2 rows",
    witness=Witness(
        tables=(
            WitnessTable(name='"singer"', columns=("id", HOSTILE), rows=((1, b"\0\xff"), (2, None))),
            WitnessTable(name="concert", columns=("id",), rows=()),
        ),
        statements=('CREATE TABLE "singer" (id INTEGER)', f"INSERT INTO singer VALUES ('{HOSTILE}')"),
        first=Result.of([("x",)], columns=["name"]),
        second=Result.of([("x",), (HOSTILE,)], columns=["name"]),
        only_second=(1,),
        difference="one row against 2 rows",
    ),
    level="observed",
    engine="sqlite 3.45.1",
    trials=38,
    tags=("multiplicity_only",),
)
CONDITION = Assumption(kind="unique", table="singer", text="no two share a name", broken="two singers share a name")
OUTCOMES: dict[Strength, Refutation] = {
    "same_text": Refutation(kind="proved", reason="the gold query's own text", proof=Proof(rules=("same text",))),
    "proved": Refutation(kind="proved", reason="the same on every database", proof=Proof(rules=("a key is unique",))),
    "survived": Refutation(kind="unknown", why="no_difference", reason="no difference", trials=4000),
    "unknown": Refutation(kind="unknown", why="no_engine", reason="there is no database in memory of this kind"),
    "conditional": replace(
        FOUND,
        kind="conditional",
        reason="they differ if two share",
        broken=(CONDITION,),
        alternatives=((replace(CONDITION, broken="an age is missing"),),),
        causes=(Cause(kind="distinct", message=f"gold keeps them {HOSTILE}", clause="SELECT", proved=True),),
        repair=Repair(
            steps=(RepairStep(clause="SELECT", before="DISTINCT", after=""),), query="SELECT name FROM singer"
        ),
    ),
    "refuted": FOUND,
}


def match(item: Evidence, strength: Strength, found: Refutation | None) -> Evidence:
    """A right answer of that strength, which names the case."""
    case, verdict = replace(item.case, id=strength), replace(item.verdict, strength=strength)
    return replace(item, case=case, verdict=verdict, refutation=found)


def with_evidence(run: Run, evidence: Sequence[Evidence]) -> Run:
    return replace(
        run,
        summaries=summaries_of(tuple(evidence)),
        evidence=tuple(evidence),
        aggregates=aggregate(summaries_of(evidence), [MetricInfo(name="match", binary=True)]),
    )


@pytest.fixture
def right(small_run: Run) -> Evidence:
    return next(item for item in small_run.evidence if item.case.id == "12")


@pytest.fixture
def run(small_run: Run, right: Evidence) -> Run:
    wrong = next(item for item in small_run.evidence if item.case.id == "88")
    matches = [match(right, name, found) for name, found in OUTCOMES.items()]
    return with_evidence(small_run, [*matches, match(right, "matched_on_one_database", None), wrong])


def test_the_figures_and_counts_stand_in_the_summary(run: Run, small_run: Run) -> None:
    text = plain_summary(RunReport(run))
    assert "How sure the matches are" in text
    for line in ("as claimed", "after witnesses", "at worst"):
        assert line in text
    assert [f"{count} of 8" in text for count in (7, 6, 5)] == [True] * 3
    assert "For 1 match no other database was tried." in text
    plain = plain_summary(RunReport(small_run))
    assert "How sure" not in plain


def test_the_page_filters_by_strength_and_shows_the_database(run: Run) -> None:
    page = Page(reporter("html").render(run))
    facet = next(one for one in page.index["facets"] if one["name"] == "strength")
    named = [[facet["values"][place] for place in places] for places in facet["of"]]
    assert named[:6] == [[name.replace("_", " ")] for name in OUTCOMES]
    assert named[6:] == [[], []]
    details = dict(zip(page.index["id"], page.cases, strict=True))
    shown = details["refuted"]["beyond"]
    assert [table["name"] for table in shown["tables"]] == ["singer", "concert"]
    assert shown["tables"][0]["rows"][1][1][0] == "null"
    assert shown["results"][1]["marked"] == [1]
    assert "CREATE TABLE" in shown["sql"]
    assert "beyond" not in details["same_text"]
    assert "two singers share a name" in " ".join(details["conditional"]["beyond"]["remarks"])
    assert "beyond" not in details["88"]


def test_markdown_shows_the_first_databases_and_lets_nothing_out_of_its_fence(run: Run, right: Evidence) -> None:
    text = reporter("md").render(run).decode()
    assert "### Matches that a counterexample refutes" in text
    assert text.index("refuted ·") < text.index("conditional ·")
    assert "\x1b" not in text
    many = with_evidence(run, [match(right, "refuted", FOUND)] * 200)
    assert len(reporter("md").render(many).decode()) < 65_536


def test_the_workbook_has_the_strength_and_the_database_as_text(run: Run) -> None:
    book = CalamineWorkbook.from_filelike(io.BytesIO(reporter("xlsx").render(run)))
    rows = book.get_sheet_by_name("Details").to_python()
    titles = [str(title) for title in rows[0]]
    strength, found = titles.index("Strength"), titles.index("On other databases")
    by_id = {str(row[0]): row for row in rows[1:]}
    assert by_id["refuted"][strength] == "refuted"
    assert "the gold query returns" in str(by_id["refuted"][found])
    assert by_id["88"][strength] == ""


def test_programs_read_it_from_json_and_junit(run: Run) -> None:
    told = json.loads(reporter("json").render(run))
    by_id = {case["case"]["id"]: case for case in told["cases"]}
    assert len(by_id["refuted"]["refutation"]["witness"]["statements"]) == 2
    assert by_id["matched_on_one_database"]["refutation"] is None
    assert told["aggregates"]["witnesses"]["after"]["numerator"] == 6
    tests = ElementTree.fromstring(reporter("junit").render(run))
    properties = {one.get("name"): one.get("value") for one in tests.iter("property")}
    assert (properties["strength.refuted"], properties["strength.same text"]) == ("1", "1")


def test_every_report_says_where_a_match_differs(run: Run) -> None:
    """The cause stands beside the strength, and what else is enough beside what is broken."""
    page = Page(reporter("html").render(run))
    detail = dict(zip(page.index["id"], page.cases, strict=True))["conditional"]
    assert "differs: gold keeps them" in " ".join(map(str, detail["strength"]))
    remarks = " ".join(detail["beyond"]["remarks"])
    assert "differs: gold keeps them" in remarks
    assert "an age is missing" in remarks
    assert "differs: gold keeps them" in reporter("md").render(run).decode()
    told = json.loads(reporter("json").render(run))
    case = next(one for one in told["cases"] if one["case"]["id"] == "conditional")["refutation"]
    assert [one["kind"] for one in case["causes"]] == ["distinct"]
    assert case["repair"]["query"] == "SELECT name FROM singer"
    assert [[one["broken"] for one in some] for some in case["alternatives"]] == [["an age is missing"]]


@pytest.mark.parametrize(
    ("strength", "said"),
    [
        ("refuted", ("REFUTED", "the gold query returns", "the prediction returns", "CREATE TABLE")),
        (
            "conditional",
            (
                "CONDITIONAL",
                "two singers share a name",
                "an age is missing",
                "differs: gold keeps them",
                "with nothing in place of DISTINCT as in the gold query",
            ),
        ),
        ("proved", ("PROVED", "a key is unique")),
        ("unknown", ("no database in memory",)),
    ],
)
def test_a_case_is_explained_with_what_was_found(strength: Strength, said: tuple[str, ...], right: Evidence) -> None:
    text = explanation_of(match(right, strength, OUTCOMES[strength]))
    assert [one for one in said if one not in text] == []
    assert "no cause" not in text
