"""Reading what a system answered: each form of it, and a Failure where it cannot be read."""

from __future__ import annotations

import json
import pickle
import string
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.sdmx.built import query_of, structure_of

from assay.cases.sdmx.case import selection_of as target_of
from assay.cases.sdmx.records import Misread
from assay.model import Failure
from assay.model.cases.selection import Selection, Term, TimeRange
from assay.sdmx.answers.parser import read_answer
from assay.sdmx.answers.targets import selection_of
from assay.sdmx.errors import SelectionError
from assay.sdmx.structures.identifiers import parse_artefact
from assay.sdmx.structures.known import CodeList, Structures


def _codes(id: str, *codes: str) -> CodeList:
    return CodeList(id=parse_artefact(f"IMF:CL_{id}(1.0)"), names={code: code.title() for code in codes})


WEO = structure_of(
    "IMF.RES:WEO(1.0.0)",
    COUNTRY=_codes("COUNTRY", "MEX", "USA", "MAR", "NOR"),
    INDICATOR=_codes("INDICATOR", "LP", "NGDPD", "NGDPDPC"),
    FREQUENCY=_codes("FREQUENCY", "A", "Q"),
)


STRUCTURES = Structures([WEO], sources=("structures/",))


def read(raw: str, structures: Structures | None = STRUCTURES) -> Selection:
    answer = read_answer(raw, structures)
    assert isinstance(answer, Selection), answer
    return answer


def failed(raw: str, structures: Structures | None = STRUCTURES) -> Failure:
    answer = read_answer(raw, structures)
    assert isinstance(answer, Failure), answer
    assert answer.stage == "read"
    return answer


def short(selection: Selection) -> dict[str, object]:
    """A selection as its datasets, each with codes or ``*`` by dimension, and ``time`` where it is spoken of.

    A dataset with several queries has a list of them.
    """
    found: dict[str, list[object]] = {}
    for one in selection.datasets:
        parts: dict[str, object] = {
            each.dimension: "*" if each.everything else [term.id for term in each.terms] for each in one.dimensions
        }
        if one.time is not None:
            parts["time"] = [(each.start, each.end) for each in one.time]
        found.setdefault(one.dataset, []).append(parts)
    return {name: queries[0] if len(queries) == 1 else queries for name, queries in found.items()}


def weo(country: object = "*", indicator: object = "*", frequency: object = "*", **more: object) -> dict[str, object]:
    """What `short` shows of a selection by a key of `WEO`."""
    return {"COUNTRY": country, "INDICATOR": indicator, "FREQUENCY": frequency, **more}


def plain(values: object, **more: object) -> str:
    dimensions = [{"dimension_name": "INDICATOR", "values": values}]
    return json.dumps({"indicator_selection": [{"dataset_id": "IMF.RES:WEO", "dimensions": dimensions, **more}]})


def query(*filters: tuple[str, str, object], urn: str = "IMF.RES:WEO(1.0.0)") -> str:
    written = [{"component_code": code, "operator": operator, "values": values} for code, operator, values in filters]
    return json.dumps({"urn": urn, "filters": written})


# The targets' own shape


def test_the_shape_of_targets_is_read_with_its_names() -> None:
    selection = read(plain([{"id": "LP", "name": "Population"}, {"id": "NGDPD"}]))
    terms = [Term(id="LP", name="Population"), "NGDPD"]
    assert selection == Selection(datasets=(query_of("IMF.RES:WEO", INDICATOR=terms),))
    bare = json.loads(plain([{"id": "LP", "name": "Population"}, "NGDPD"]))["indicator_selection"]
    assert read(json.dumps(bare)) == selection


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["LP", "NGDPD"], ["LP", "NGDPD"]),
        (["LP", {"id": "LP", "name": "Population"}], ["LP"]),
        ("*", "*"),
        (["*"], "*"),
        ([{"id": "*"}, "LP"], "*"),
        ([], []),
        (None, []),
        ([1, 110], ["1", "110"]),
        (["urn:sdmx:org.sdmx.infomodel.codelist.Code=IMF:CL_AREA(1.0).MEX"], ["MEX"]),
    ],
)
def test_values_are_codes_wildcards_or_nothing(values: object, expected: object) -> None:
    assert short(read(plain(values))) == {"IMF.RES:WEO": {"INDICATOR": expected}}


def test_a_name_that_only_the_second_mention_has_is_kept() -> None:
    (dataset,) = read(plain(["LP", {"id": "LP", "name": "Population"}])).datasets
    assert dataset.dimensions[0].terms == (Term(id="LP", name="Population"),)


def test_a_number_keeps_the_digits_that_were_written() -> None:
    raw = '[{"dataset_id": "X", "dimensions": [{"dimension_name": "D", "values": [1.10, 7, {"id": 2.0}]}]}]'
    assert short(read(raw)) == {"X": {"D": ["1.10", "7", "2.0"]}}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, None),
        ({"time_range": None}, ()),
        ({"time_range": {}}, ()),
        ({"time_range": []}, ()),
        ({"time_range": {"start": None, "end": None}}, ()),
        ({"time_range": {"start": "2015", "end": "2020"}}, (TimeRange(start="2015", end="2020"),)),
        ({"time_range": {"start": 2015}}, (TimeRange(start="2015"),)),
        ({"time_range": [{"end": "2001"}, {"start": "2015-Q1"}]}, (TimeRange(end="2001"), TimeRange(start="2015-Q1"))),
    ],
)
def test_all_time_and_no_word_of_time_are_told_apart(more: dict[str, object], expected: object) -> None:
    assert read(plain(["LP"], **more)).datasets[0].time == expected


def test_a_dataset_that_comes_twice_is_two_queries() -> None:
    entries = [
        {"dataset_id": "IMF.RES:WEO", "dimensions": [{"dimension_name": "INDICATOR", "values": ["LP"]}]},
        {"dataset_id": "X Y", "dimensions": []},
        {
            "dataset_id": "IMF.RES,WEO",
            "dimensions": [{"dimension_name": "INDICATOR", "values": ["NGDPD", "LP"]}],
            "time_range": {"start": "2015"},
        },
    ]
    assert short(read(json.dumps(entries))) == {
        "IMF.RES:WEO": {"INDICATOR": ["LP"]},
        "X Y": {},
        "IMF.RES,WEO": {"INDICATOR": ["NGDPD", "LP"], "time": [("2015", None)]},
    }


def test_nothing_selected_is_a_selection() -> None:
    assert read("[]") == read('{"indicator_selection": []}') == Selection()


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ('{"dataset": "X", "dimensions": []}', ['"dataset"', 'did you mean "dataset_id"?']),
        (plain(["@"]).replace('"@"', '{"id": "LP", "id": "MEX"}'), ['"id" more']),
        ('{"indicator_selektion": []}', ["indicator_selektion", 'did you mean "indicator_selection"?']),
        ('[{"dataset_id": "X", "dimension": []}]', ["[0]", '"dimension"', 'did you mean "dimensions"?']),
        (
            '[{"dataset_id": "X", "dimensions": [{"dimension": "D", "values": []}]}]',
            ["dimensions[0]", "dimension_name"],
        ),
        ('[{"dimensions": []}]', ["[0]", '"dataset_id" is missing']),
        ('[{"dataset_id": " ", "dimensions": []}]', ["[0].dataset_id", "blank"]),
        (plain([{"id": "LP", "label": "x"}]), ["values[0]", '"label"', "id, name"]),
        (plain([{"name": "x"}]), ["values[0]", '"id" is missing']),
        (plain([True]), ["values[0]", "the truth value true", "quotes"]),
        (plain(["LP", ["LP"]]), ["values[1]", "a list"]),
        (plain("LP"), ["values", "'LP'", '"*"']),
        (plain([{"id": "LP", "start": "2015"}]), ['"start"']),
        (plain([], time_range="2015"), ["time_range", "'2015'"]),
        (plain([], time_range={"from": "2015"}), ["time_range", '"from"']),
        ('[{"dataset_id": "X", "dimensions": [{"dimension_name": "D"}]}]', ["dimensions[0]", '"values" is missing']),
        ('[{"dataset_id": "X", "dataset_id": "Y", "dimensions": []}]', ['"dataset_id" more than once']),
    ],
)
def test_what_is_wrong_in_the_shape_of_targets_is_named(raw: str, words: list[str]) -> None:
    failure = failed(raw)
    assert (failure.kind, failure.blame) == ("unreadable_answer", "system")
    for word in words:
        assert word in failure.message


NAMES = st.text(alphabet=string.ascii_uppercase + '0123456789_"\\:, é\n', min_size=1, max_size=6).filter(
    lambda text: bool(text.strip()) and text != "*"
)
VALUES = st.lists(NAMES | st.fixed_dictionaries({"id": NAMES}, optional={"name": st.none() | NAMES}), max_size=4)
RANGE = st.fixed_dictionaries({}, optional={"start": st.none() | NAMES, "end": st.none() | NAMES})
DATASETS = st.lists(
    st.fixed_dictionaries(
        {
            "dataset_id": NAMES,
            "dimensions": st.lists(st.fixed_dictionaries({"dimension_name": NAMES, "values": VALUES}), max_size=3),
        },
        optional={"time_range": st.none() | RANGE | st.lists(RANGE, max_size=2)},
    ),
    max_size=3,
)


def written(selection: Selection) -> list[dict[str, object]]:
    """A selection in the shape of targets."""
    entries = []
    for one in selection.datasets:
        dimensions = [
            {"dimension_name": each.dimension, "values": [{"id": term.id, "name": term.name} for term in each.terms]}
            | ({"values": "*"} if each.everything else {})
            for each in one.dimensions
        ]
        entry: dict[str, object] = {"dataset_id": one.dataset, "dimensions": dimensions}
        if one.time is not None:
            entry["time_range"] = [{"start": each.start, "end": each.end} for each in one.time]
        entries.append(entry)
    return entries


@given(DATASETS, st.booleans())
def test_reading_is_stable_under_writing(value: list[object], compact: bool) -> None:
    raw = json.dumps(value, separators=(",", ":") if compact else None)
    careful = selection_of(value)
    assert read(raw, None) == careful
    assert read(json.dumps({"indicator_selection": written(careful)}), None) == careful


SPACED = st.sampled_from(["LP", " LP", "LP\t", "Population ", "", " "])
SPACED_SELECTIONS = st.builds(
    lambda name, values, start: {
        "indicator_selection": [
            {
                "dataset_id": "A:B",
                "dimensions": [{"dimension_name": name, "values": values}],
                "time_range": {"start": start},
            }
        ]
    },
    SPACED,
    st.lists(SPACED | st.builds(lambda id_, name: {"id": id_, "name": name}, SPACED, SPACED), max_size=1),
    st.sampled_from(["2015", " 2015", "2015-Q1 "]),
)


@given(SPACED_SELECTIONS)
def test_spaces_and_blank_names_mean_the_same_in_answers_and_in_targets(value: object) -> None:
    try:
        target = target_of(value)
    except Misread:
        with pytest.raises(SelectionError):
            selection_of(value)
        return
    assert selection_of(value) == target
    assert read(json.dumps(value), None) == target


def test_reading_200_terms_takes_no_long_time() -> None:
    raw = plain([{"id": f"CODE_{number}", "name": f"Series {number}: a rather long name"} for number in range(200)])
    assert read_answer(raw, None) == selection_of(json.loads(raw))
    # In turn, so that what else the machine does slows both.
    pairs = [(_seconds(json.loads, raw), _seconds(read_answer, raw, None)) for _ in range(20)]
    floor, best = map(min, zip(*pairs, strict=True))
    assert best < 20 * floor, "reading 200 terms takes ten times as long as it should"


def _seconds(work: Callable[..., object], *arguments: object) -> float:
    started = time.process_time()
    work(*arguments)
    return time.process_time() - started


def test_a_decoded_value_that_is_no_selection_raises_with_its_path() -> None:
    value = {
        "indicator_selection": [
            {"dataset_id": "X", "dimensions": [{"dimension_name": "D", "values": ["a", {"id": 1.1}]}]}
        ]
    }
    with pytest.raises(SelectionError, match=r"number 1\.1: put it in quotes") as caught:
        selection_of(value)
    path = ("indicator_selection", 0, "dimensions", 0, "values", 1, "id")
    assert caught.value.path == path
    assert pickle.loads(pickle.dumps(caught.value)).path == path


# StatGPT's query


@pytest.mark.parametrize(
    "fence", ["{}", "```json\n{}\n```", "Here you are:\n\n```\n{}\n```\nAnything else [1]?", "I ask {} now"]
)
def test_a_query_is_read_with_or_without_what_surrounds_it(fence: str) -> None:
    raw = query(
        ("INDICATOR", "in", ["LP", "NGDPD"]), ("COUNTRY", "in", ["MEX"]), ("TIME_PERIOD", "between", ["2015", "2020"])
    )
    expected = {"INDICATOR": ["LP", "NGDPD"], "COUNTRY": ["MEX"], "time": [("2015", "2020")]}
    assert short(read(fence.replace("{}", raw), None)) == {"IMF.RES:WEO(1.0.0)": expected}


def test_camel_case_and_comma_joined_values_are_read() -> None:
    filters = [
        {"componentCode": "INDICATOR", "operator": "IN", "values": "LP, NGDPD"},
        {"componentCode": "TIME_PERIOD", "operator": "between", "values": "2015,2020"},
    ]
    raw = json.dumps({"urn": "IMF.RES:WEO", "filters": filters, "metadata": {"countryDimension": "COUNTRY"}})
    assert short(read(raw)) == {"IMF.RES:WEO": {"INDICATOR": ["LP", "NGDPD"], "time": [("2015", "2020")]}}


@pytest.mark.parametrize("form", ["[{}, {}]", "```\n{}\n```\nand\n```\n{}\n```", "{}\n{}"])
def test_several_queries_are_one_selection(form: str) -> None:
    one, other = query(("A", "in", ["x"])), query(("B", "in", ["y"]), urn="ECB:EXR")
    expected = {"IMF.RES:WEO(1.0.0)": {"A": ["x"]}, "ECB:EXR": {"B": ["y"]}}
    assert short(read(form.format(one, other))) == short(read(json.dumps([one, other]))) == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([("between", ["2015", "2020"])], [("2015", "2020")]),
        ([("ge", ["2015"])], [("2015", None)]),
        ([("gt", ["2015"])], [("2016", None)]),
        ([("lt", ["2015-Q1"])], [(None, "2014-Q4")]),
        ([("ge", ["2015"]), ("le", ["2020"])], [("2015", "2020")]),
        ([("ge", ["2015"]), ("gt", ["2016"]), ("le", ["2020"])], [("2017", "2020")]),
        ([("between", ["2010", "2020"]), ("ge", ["2015"])], [("2015", "2020")]),
        ([("in", ["2017", "2015", "2016", "2019"])], [("2015", "2017"), ("2019", "2019")]),
        ([("in", ["2015"]), ("in", ["2016"])], [("2015", "2016")]),
        ([("in", ["*"])], []),
        ([("in", [])], []),
        ([("ge", ["2020"]), ("le", ["2015"])], [("2020", "2015")]),
    ],
)
def test_filters_on_time_are_ranges(filters: list[tuple[str, list[str]]], expected: object) -> None:
    raw = query(*(("TIME_PERIOD", operator, values) for operator, values in filters))
    assert short(read(raw)) == {"IMF.RES:WEO(1.0.0)": {"time": expected}}


def test_filters_on_one_dimension_are_joined() -> None:
    raw = query(
        ("COUNTRY", "in", ["MEX", "USA"]),
        ("COUNTRY", "in", ["urn:sdmx:org.sdmx.infomodel.codelist.Code=IMF:CL_AREA(1.0).USA", "NOR"]),
        ("INDICATOR", "in", ["*"]),
        ("FREQUENCY", "in", []),
    )
    assert short(read(raw)) == {"IMF.RES:WEO(1.0.0)": weo(["MEX", "USA", "NOR"], "*", [])}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (query(("COUNTRY", "ge", ["MEX"])), ["filters[0]", "'ge'", "'COUNTRY'", "no order|have none"]),
        (query(("COUNTRY", "within", ["MEX"])), ["filters[0].operator", "'within'", "between"]),
        (query(("COUNTRY", "in", ["MEX", 5.5, None])), ["filters[0].values[2]", "null"]),
        (query(("TIME_PERIOD", "between", ["2015"])), ["two periods", "got 1"]),
        (query(("TIME_PERIOD", "gt", ["soon"])), ["'soon'", "2015-Q1"]),
        ('{"urn": "X", "filters": {}}', ["filters", "an object"]),
        ('{"filters": []}', ['"urn"', "missing"]),
        ('{"urn": 5e3, "filters": [5]}', ["filters[0]", "'5'"]),
    ],
)
def test_a_query_that_makes_no_sense_is_named(raw: str, words: list[str]) -> None:
    message = failed(raw).message
    for word in words:
        assert any(one in message for one in word.split("|")), message


# REST URLs

BASE = "https://api.imf.org/external/sdmx/2.1/data"
FLOW = "IMF.RES:WEO(1.0)"
V3 = "https://api.imf.org/external/sdmx/3.0/data/dataflow/IMF.RES/WEO/1.0"


@pytest.mark.parametrize(
    ("url", "dataset", "expected"),
    [
        (
            f"{BASE}/IMF.RES,WEO,1.0/MEX.LP+NGDPD.A?startPeriod=2015&endPeriod=2020",
            "IMF.RES,WEO,1.0",
            weo(["MEX"], ["LP", "NGDPD"], ["A"], time=[("2015", "2020")]),
        ),
        (f"{BASE}/WEO/.LP.", "WEO", weo("*", ["LP"], "*")),
        (f"{BASE}/IMF.RES,WEO/MEX/IMF", "IMF.RES,WEO", weo(["MEX"], "*", "*")),
        (f"{BASE}/WEO/all?startPeriod=2015", "WEO", weo("*", "*", "*", time=[("2015", None)])),
        (f"GET {BASE}/WEO", "WEO", weo()),
        (f"{BASE}/IMF.RES%2CWEO/MEX.LP%2BNGDPD.A", "IMF.RES,WEO", weo(["MEX"], ["LP", "NGDPD"], ["A"])),
        ("data/WEO/MEX.LP.A", "WEO", weo(["MEX"], ["LP"], ["A"])),
        (
            f"{V3}/MEX.LP.*?c[TIME_PERIOD]=ge:2015+le:2020",
            FLOW,
            weo(["MEX"], ["LP"], "*", time=[("2015", "2020")]),
        ),
        (f"{V3}/MEX.LP.A,USA.LP.Q", FLOW, [weo(["MEX"], ["LP"], ["A"]), weo(["USA"], ["LP"], ["Q"])]),
        (f"{V3}/MEX.LP.A,USA.LP.A,MEX.LP.Q,USA.LP.Q", FLOW, weo(["MEX", "USA"], ["LP"], ["A", "Q"])),
        (f"{V3}/MEX.LP.A,USA.LP.Q?c[COUNTRY]=MEX,NOR", FLOW, weo(["MEX"], ["LP"], ["A"])),
        (f"{V3}/*?c%5BCOUNTRY%5D=MEX,USA", FLOW, weo(["MEX", "USA"], "*", "*")),
        (f"{V3}/MEX+USA.*.*?c[COUNTRY]=USA,NOR", FLOW, weo(["USA"], "*", "*")),
        (f"{V3}/*.LP.A?c[COUNTRY]=ne:MEX", FLOW, weo(["USA", "MAR", "NOR"], ["LP"], ["A"])),
        (f"{V3}/*.LP.A?c[COUNTRY]=sw:M", FLOW, weo(["MEX", "MAR"], ["LP"], ["A"])),
        (f"{V3}/*.LP.A?c[COUNTRY]=sw:M+ew:R", FLOW, weo(["MAR"], ["LP"], ["A"])),
        (f"{V3}/*.LP.A?c[COUNTRY]=co:E,eq:USA", FLOW, weo(["MEX", "USA"], ["LP"], ["A"])),
        (f"{V3}/*.*.A?c[INDICATOR]=nc:PC", FLOW, weo("*", ["LP", "NGDPD"], ["A"])),
        (f"{BASE}/dataflow/*/WEO/*/MEX.LP.A", "WEO", weo(["MEX"], ["LP"], ["A"])),
    ],
)  # fmt: skip
def test_a_url_is_read_by_the_structure(url: str, dataset: str, expected: object) -> None:
    assert short(read(url)) == {dataset: expected}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("c[TIME_PERIOD]=2015", [("2015", "2015")]),
        ("c[TIME_PERIOD]=2015,2016,2018", [("2015", "2016"), ("2018", "2018")]),
        ("c[TIME_PERIOD]=ge:2015&c[TIME_PERIOD]=lt:2020", [("2015", "2019")]),
        ("c[TIME_PERIOD]=ge:2015%2Ble:2020", [("2015", "2020")]),
        ("c[TIME_PERIOD]=le:2001,ge:2015", [(None, "2001"), ("2015", None)]),
        ("c[TIME_PERIOD]=*", []),
        ("startPeriod=2015&c[TIME_PERIOD]=le:2020", [("2015", "2020")]),
    ],
)
def test_conditions_on_time_are_ranges(condition: str, expected: object) -> None:
    assert short(read(f"{V3}?{condition}", None)) == {FLOW: {"time": expected}}


def test_several_urls_are_one_selection() -> None:
    urls = [f"{BASE}/WEO/MEX.LP.A", f"{BASE}/WEO/USA.LP.A", f"{BASE}/EXR/all"]
    expected = {"WEO": [weo(["MEX"], ["LP"], ["A"]), weo(["USA"], ["LP"], ["A"])], "EXR": {}}
    assert short(read("\n".join(urls))) == short(read(json.dumps(urls))) == expected
    assert short(read(f"I asked {urls[0]}, then <{urls[1]}> and `{urls[2]}`")) == expected


UNREADABLE = ("unreadable_answer", "system")
UNKNOWN = ("unknown_structure", "setup")


@pytest.mark.parametrize(
    ("url", "structures", "kind", "blame", "words"),
    [
        (f"{BASE}/WEO/MEX.LP.A", None, *UNKNOWN, ["'WEO'", "--structures", "'MEX.LP.A'"]),
        (f"{BASE}/EXR/D.USD", STRUCTURES, *UNKNOWN, ["'EXR'", "structures/"]),
        (f"{V3}?c[COUNTRY]=ne:MEX", None, *UNKNOWN, ["ne:'MEX'", "--structures"]),
        (f"{BASE}/WEO/MEX.LP.A.X", STRUCTURES, *UNREADABLE, ["4 positions", "COUNTRY.INDICATOR.FREQUENCY", "'WEO'"]),
        (f"{V3}?c[COUNTRY]=ge:MEX", STRUCTURES, *UNREADABLE, ["c[COUNTRY]", "no order"]),
        (f"{V3}?c[COUNTRI]=ne:MEX", STRUCTURES, *UNREADABLE, ["COUNTRI", 'did you mean "COUNTRY"?']),
        (f"{V3}?c[TIME_PERIOD]=sw:20", STRUCTURES, *UNREADABLE, ["'sw'", "time"]),
        (f"{BASE}/dataflow/IMF/*/*/x", STRUCTURES, *UNREADABLE, ["no dataset"]),
    ],
)  # fmt: skip
def test_a_url_that_cannot_be_read_says_what_is_needed(url, structures, kind, blame, words) -> None:
    failure = failed(url, structures)
    assert (failure.kind, failure.blame) == (kind, blame)
    for word in words:
        assert word in failure.message


def test_no_credentials_of_a_url_are_repeated() -> None:
    for url in ("https://joe:secret@example.org/nothing", "https://joe:secret@example.org/data/dataflow/IMF/*/*/x"):
        assert "secret" not in failed(url).message


# Series keys


def test_a_url_whose_conditions_contradict_its_key_selects_nothing() -> None:
    assert read(f"{V3}/MEX.LP.A?c[COUNTRY]=USA") == Selection()


def test_series_keys_are_as_few_queries_as_have_them() -> None:
    since = [("2015", None)]
    expected = {"WEO": [weo(["MEX"], ["LP"], ["A"], time=since), weo(["USA"], "*", ["A"], time=since)]}
    more = {"dataset_id": "WEO", "time_range": {"start": "2015"}}
    texts = {**more, "series_keys": ["MEX.LP.A", "USA..A"]}
    objects = {
        **more,
        "series_keys": [
            {"COUNTRY": "MEX", "INDICATOR": "LP", "FREQUENCY": "A"},
            {"COUNTRY": "USA", "INDICATOR": "*", "FREQUENCY": "A"},
        ],
    }
    assert short(read(json.dumps(texts))) == short(read(json.dumps(objects), None)) == expected
    assert short(read(json.dumps([texts, {"dataset_id": "X", "series_keys": []}]))) == {**expected, "X": {}}
    product = {"dataset_id": "WEO", "series_keys": ["MEX.LP.A", "USA.LP.A", "MEX.NGDPD.A", "USA.NGDPD.A"]}
    assert short(read(json.dumps(product))) == {"WEO": weo(["MEX", "USA"], ["LP", "NGDPD"], ["A"])}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"dataset_id": "WEO", "series_keys": ["MEX.LP"]}, ["series_keys[0]", "2 positions", "3 dimensions"]),
        ({"dataset_id": "WEO", "series_keys": "MEX.LP.A"}, ["series_keys", "'MEX.LP.A'"]),
        ({"dataset_id": "WEO", "series_keys": [{"COUNTRY": ["MEX"]}]}, ["series_keys[0].COUNTRY", "a list"]),
        ({"series_keys": []}, ["dataset_id"]),
        ({"dataset_id": "WEO", "series_keys": [], "timerange": "2015"}, ['did you mean "time_range"?']),
    ],
)
def test_series_keys_that_cannot_be_read_are_named(value: object, words: list[str]) -> None:
    message = failed(json.dumps(value)).message
    for word in words:
        assert word in message


# Everything else


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("", ["blank", "indicator_selection"]),
        ("{}", ["an empty object"]),
        ('{"indicator_selection": [', ["line 1, column 26", "not JSON"]),
        (plain(["LP"])[:-5], ["not JSON", "line 1"]),
        ("As you wish:\n" + query(("A", "in", ["x"]))[:-1], ["not JSON", "line 2"]),
        ("You could ask {'urn': 'A:B', 'filters': []}", ["not JSON"]),
        ("[" * 100_000, ["nested too deep|not JSON"]),
        ('{"a":' * 100_000, ["nested too deep|not JSON"]),
        ('[{"dataset_id": "\\ud800", "dimensions": []}]', ["half a character"]),
    ],
)
def test_what_is_no_selection_is_a_failure(raw: str, words: list[str]) -> None:
    failure = failed(raw)
    assert (failure.kind, failure.blame) == ("unreadable_answer", "system")
    assert len(failure.message) < 600
    failure.message.encode()
    for word in words:
        assert any(one in failure.message for one in word.split("|")), failure.message


KEYS = "indicator_selection dataset_id dimensions dimension_name values id name time_range start end urn filters"
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(
    LEAVES | st.sampled_from(["*", "data/X/a.b", "2015"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*KEYS.split(), "component_code", "operator", "series_keys", "x"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)
PIECES = '{ } [ ] " : , ``` https:// /data/ WEO / ? c[ TIME_PERIOD]= ge: 2015 + . * % & = dataflow/ 1.0 all \\ud800'
GARBAGE = st.text(alphabet=st.characters(codec=None), max_size=40) | st.lists(
    st.sampled_from([*PIECES.split(), " ", "\n", '"filters"', '"urn"']), max_size=20
).map("".join)


@given(st.one_of(GARBAGE, JSON.map(json.dumps), st.builds("{}{}".format, JSON.map(json.dumps), GARBAGE)))
@example("https://[::1/data/WEO/x")
@example('{"indicator_selection": 1e999}')
@example("data//")
@example("//data/x/%ff?c[]=&c[X]=+")
def test_garbage_never_raises(raw: str) -> None:
    for structures in (None, STRUCTURES):
        answer = read_answer(raw, structures)
        assert isinstance(answer, Selection | Failure)
        repr(answer).encode()


@pytest.mark.parametrize("piece", ["{", "[1] ", "```\n", '"  ', "https://x/data/", "a,", "\\"])
def test_long_garbage_takes_no_long_time(piece: str) -> None:
    started = time.process_time()
    read_answer(piece * 40_000 + "!", None)
    assert time.process_time() - started < 20


@pytest.mark.parametrize("form", ["filters", "conditions", "alternatives"])
def test_many_codes_one_by_one_take_no_long_time(form: str) -> None:
    codes = [f"C{number}" for number in range(20_000)]
    raw = {
        "filters": json.dumps({"urn": "A:B", "filters": [{"component_code": "X", "values": [one]} for one in codes]}),
        "conditions": f"https://x/data/dataflow/A/B/1.0/*?c[X]={','.join(codes)}",
        "alternatives": f"https://x/data/dataflow/A/B/1.0/*?c[X]={','.join(f'eq:{one}' for one in codes)}",
    }[form]
    started = time.process_time()
    answer = read_answer(raw, None)
    assert time.process_time() - started < 20
    assert isinstance(answer, Selection)
    assert [term.id for term in answer.datasets[0].dimensions[0].terms] == codes


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Fetch {}/MEX.LP.A.", weo(["MEX"], ["LP"], ["A"])),
        ("Fetch {}/MEX.LP.A. It has all.", weo(["MEX"], ["LP"], ["A"])),
        ("(See {}/MEX.LP.A.)", weo(["MEX"], ["LP"], ["A"])),
        ("I asked {}/MEX.LP. for it", weo(["MEX"], ["LP"])),
        ("I asked {}/MEX.LP. and more", weo(["MEX"], ["LP"])),
    ],
)
def test_a_full_stop_behind_a_url_ends_the_sentence_unless_the_key_has_it(
    sentence: str, expected: dict[str, object]
) -> None:
    assert short(read(sentence.format("https://x/data/IMF.RES,WEO,1.0"))) == {"IMF.RES,WEO,1.0": expected}
