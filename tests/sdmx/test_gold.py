"""A target is checked before anything is judged by it: what its dataset does not have is the case's mistake."""

from __future__ import annotations

import json

import pytest
from tests.sdmx.built import query_of, span, structure_of

import assay
from assay.model import Case, DatasetSelection, Selection, Term, Turn
from assay.sdmx.structures.identifiers import parse_artefact
from assay.sdmx.structures.known import CodeList, DatasetStructure, Structures
from assay.sdmx.target_checks import gold_failure

AREAS = {"MEX": "Mexico", "NO": "Norway", "SE": "Sweden"}
NO_PARTS = DatasetStructure(id=parse_artefact("T:FLOW(1.0)"))


def structures(*, whole: bool = True, version: str = "1.0", names: dict[str, str] = AREAS) -> DatasetStructure:
    codes = CodeList(id=parse_artefact("T:CL_AREA(1.0)"), names=names, whole=whole)
    return structure_of(f"T:FLOW({version})", AREA=codes, FREE=None)


def wanted(dimension: str, *terms: str | Term, dataset: str = "T:FLOW") -> Selection:
    return Selection(datasets=(query_of(dataset, **{dimension: terms}),))


def judged(answer: Selection | str, *targets: Selection, known: Structures | None, match_on: str = "id_and_name"):
    case = Case(id="one", question="?", turns=(Turn(question="?", targets=targets),))
    text = answer if isinstance(answer, str) else _written(answer)
    (evidence,) = assay.evaluate_selections([case], {"one": text}, structures=known, match_on=match_on).evidence
    return evidence


def _written(selection: Selection) -> dict[str, object]:
    def values(terms: tuple[Term, ...]) -> list[object]:
        return [{"id": term.id, **({"name": term.name} if term.name else {})} for term in terms]

    return {
        "indicator_selection": [
            {
                "dataset_id": dataset.dataset,
                "dimensions": [
                    {"dimension_name": one.dimension, "values": values(one.terms)} for one in dataset.dimensions
                ],
            }
            for dataset in selection.datasets
        ]
    }


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (wanted("AREA", "MEXICO"), "the code 'MEXICO' is not in the code list T:CL_AREA(1.0) of T:FLOW(1.0)"),
        (wanted("AREA", "NOR", "NO"), 'did you mean "NO"?'),
        (wanted("AREA", Term(id="484", name=" mexico ")), 'did you mean "MEX", which has that name?'),
        (wanted("AREA", "A", "B", "C", "D"), "the codes 'A', 'B', 'C' and 1 more are not in"),
        (wanted("Area", "MEX"), "T:FLOW(1.0) has no dimension 'Area'; did you mean \"AREA\"? (it has AREA, FREE)"),
        (wanted("COUNTRY", "MEX"), "T:FLOW(1.0) has no dimension 'COUNTRY'"),
    ],
)
def test_what_the_dataset_does_not_have_leaves_the_case_unscored(target: Selection, says: str) -> None:
    evidence = judged(wanted("AREA", "MEX"), target, known=Structures([structures()]))
    assert evidence.outcome == "unscored"
    failure = evidence.verdict.failure
    assert (failure.blame, failure.kind) == ("gold", "wrong_target")
    assert failure.message.startswith("the target is wrong: ")
    assert says in failure.message


@pytest.mark.parametrize(
    ("target", "known"),
    [
        pytest.param(wanted("AREA", "MEXICO"), None, id="no structures"),
        pytest.param(wanted("AREA", "MEXICO", dataset="T:OTHER"), [structures()], id="unknown dataset"),
        pytest.param(wanted("AREA", "MEXICO"), [structures(whole=False)], id="part of a list"),
        pytest.param(wanted("AREA", "MEXICO"), [NO_PARTS], id="no data structure"),
        pytest.param(wanted("FREE", "anything"), [structures()], id="uncoded"),
        pytest.param(wanted("TIME_PERIOD", "2015"), [structures()], id="time"),
        pytest.param(
            wanted("AREA", "OLD"), [structures(version="2.0"), structures(names={"OLD": "Old"})], id="version"
        ),
        pytest.param(
            wanted("AREA", "urn:sdmx:org.sdmx.infomodel.codelist.Code=T:CL_AREA(1.0).MEX"), [structures()], id="urn"
        ),
    ],
)
def test_what_cannot_be_known_is_not_held_against_a_target(
    target: Selection, known: list[DatasetStructure] | None
) -> None:
    assert gold_failure(target, None if known is None else Structures(known)) is None


def test_of_several_targets_one_that_is_sound_and_met_is_enough() -> None:
    known = Structures([structures()])
    broken, sound = wanted("AREA", "MEXICO"), wanted("AREA", "NO")
    met = judged(wanted("AREA", "NO"), broken, sound, known=known)
    assert met.outcome == "correct"
    assert met.turns[0].score.target_index == 1
    assert judged(wanted("AREA", "SE"), broken, sound, known=known).outcome == "unscored"
    assert judged("no query at all", sound, known=known).outcome == "incorrect"
    assert judged("no query at all", broken, known=known).outcome == "unscored"


def test_a_stale_name_is_noted_where_the_answer_says_none_and_is_a_miss_where_it_says_another() -> None:
    known = Structures([structures()])
    target = wanted("AREA", Term(id="MEX", name="Mexiko"), Term(id="NO", name="Norway"))
    bare = judged(wanted("AREA", "MEX", "NO"), target, known=known)
    assert bare.outcome == "correct"
    assert bare.verdict.reason == (
        "the selection is the target's, term by term "
        "(note: the target calls MEX of AREA 'Mexiko', but its code list 'Mexico')"
    )
    named = wanted("AREA", Term(id="MEX", name="Mexico"), Term(id="NO", name="Norway"))
    missed = judged(named, target, known=known)
    assert missed.outcome == "incorrect"
    assert "(note: the target calls MEX of AREA 'Mexiko', but its code list 'Mexico')" in missed.verdict.reason
    other = wanted("AREA", Term(id="MEX", name="Messico"), Term(id="NO", name="Norway"))
    assert "note" not in judged(other, target, known=known).verdict.reason
    assert "note" not in judged(wanted("AREA", "MEX", "NO"), target, known=known, match_on="id").verdict.reason
    fresh = wanted("AREA", Term(id="MEX", name="Mexico "), "NO")
    assert "note" not in judged(wanted("AREA", "MEX", "NO"), fresh, known=known).verdict.reason


def test_parameters_that_were_not_read_are_noted_in_the_verdict() -> None:
    target = Selection(datasets=(DatasetSelection(dataset="FLOW"),))
    evidence = judged("https://x/data/FLOW?startperiod=2015&detail=full&geo=DE", target, known=None)
    assert evidence.outcome == "correct"
    assert evidence.verdict.reason.endswith(
        "(note: the URL's parameter 'startperiod' was ignored; did you mean \"startPeriod\"?; "
        "the URL's parameter 'geo' was ignored)"
    )


def at(*ranges: tuple[str | None, str | None]) -> Selection:
    return Selection(datasets=(query_of("T:FLOW", time=[span(*ends) for ends in ranges], AREA=["NO"]),))


@pytest.mark.parametrize("known", [None, Structures([structures()])], ids=["no structures", "structures"])
@pytest.mark.parametrize(
    ("target", "says"),
    [
        (at(("2015-13", None)), "'2015-13' is not a period of time"),
        (at((None, "2015-02-29")), "'2015-02-29' is not a period of time"),
        (at(("2015", "2016"), ("soon", "soon")), "'soon' is not a period of time"),
        (at(("2020", "2015")), "the time range from 2020 to 2015 ends before it starts"),
    ],
)
def test_a_target_of_no_period_leaves_the_case_unscored(target: Selection, says: str, known: Structures | None) -> None:
    evidence = judged("https://x/data/T,FLOW?startPeriod=2015&endPeriod=2016", target, known=known)
    assert (evidence.outcome, evidence.verdict.failure.kind) == ("unscored", "wrong_target")
    assert says in evidence.verdict.reason


def test_a_period_that_cannot_be_read_is_met_by_the_very_same_text() -> None:
    target = at(("2015/16", "2015/16"))
    query = {"urn": "T:FLOW", "filters": [{"componentCode": "AREA", "operator": "in", "values": ["NO"]}]}
    query["filters"].append({"componentCode": "TIME_PERIOD", "operator": "in", "values": ["2015/16"]})
    assert judged(json.dumps(query), target, known=None).outcome == "correct"


def test_a_period_of_the_answer_that_cannot_be_read_is_named() -> None:
    target = at(("2015", "2016"))
    evidence = judged("https://x/data/FLOW/NO?startPeriod=2015-13", target, known=Structures([structures()]))
    assert evidence.outcome == "incorrect"
    assert "(note: '2015-13' is not a period of time" in evidence.verdict.reason


@pytest.mark.parametrize("name", ["lastTimePeriod", "geoLevel"])
def test_a_filter_of_eurostat_that_no_structure_tells_is_noted_without_a_guess(name: str) -> None:
    target = Selection(datasets=(DatasetSelection(dataset="nama"),))
    url = f"https://ec.europa.eu/eurostat/api/dissemination/statistics/1.0/data/nama?{name}=5"
    reason = judged(url, target, known=None).verdict.reason
    assert reason.endswith(f"(note: the URL's parameter '{name}' was ignored)")


def test_an_answer_that_holds_nothing_known_is_named_as_such() -> None:
    evidence = judged(json.dumps({}), wanted("AREA", "NO"), known=None)
    assert evidence.verdict.reason.startswith("the answer contains an empty object: expected")
