"""Selections executed on an SDMX REST service, over real connections to one on loopback."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from tests.sdmx.built import query_of, structure_of, union_of

from assay import evaluate_selections
from assay.model import DataScore, Selection, SelectionSettings, TimeRange
from assay.sdmx.data import rest
from assay.sdmx.data.execute import compare_on_data
from assay.sdmx.data.observations import DataQuery, DataTrouble, UnknownDataset
from assay.sdmx.data.rest import RestSource
from assay.sdmx.structures.known import DatasetStructure, Structures
from assay.systems.http import exchange, fetching
from assay.systems.http.fetching import ServiceFetcher
from assay.systems.options import SystemOptions
from bad_server import BadServer, drip_body, drip_head, endless, garbage, packed, reset
from many_cases import each
from ports import free_port
from replying import Request, replying

CODES = {"FREQ": ("A", "Q"), "AREA": ("NO", "SE", "DK"), "ITEM": ("CPI", "PPI", "A+B")}
YEARS = range(2018, 2022)
EVERY = [(*key, year) for key in product(*CODES.values()) for year in YEARS if "DK" not in key]
"""There are no data of Denmark."""

STRUCTURE = structure_of("X:DATA(1.0)", **dict.fromkeys(CODES))
Wanted = dict[str, list[str]]


@dataclass
class Service:
    """A small SDMX service: of version 2.1 or 3.0, as strict as some are."""

    version: str = "2.1"
    tells_availability: bool = True
    form: str = "csv"
    strict: bool = False
    """Whether a code that is not known is refused, as all of the request then is."""
    answer: Callable[[str], tuple[int, bytes] | None] = lambda _: None
    asked: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    url: str = ""

    def reply(self, target: str) -> tuple[int, bytes]:
        """Status and body of a request."""
        self.asked.append(target)
        given = self.answer(target)
        if given is not None:
            return given
        parts = urlsplit(target)
        segments = [unquote(one) for one in parts.path.strip("/").split("/")]
        query = [pair.partition("=")[::2] for pair in parts.query.split("&") if pair]
        if self.version == "2.1":
            return self._version_2(segments, dict(query))
        return self._version_3(segments, [(unquote(name), value) for name, value in query])

    def _version_2(self, segments: list[str], query: dict[str, str]) -> tuple[int, bytes]:
        if segments[0] == "availableconstraint" and self.tells_availability:
            return self._constraint()
        if segments[0] != "data" or segments[1].split(",")[:2] != ["X", "DATA"]:
            return 404, b"no such resource"
        # The segments are decoded, so that a code's own plus must have been told from those between codes.
        raw = urlsplit(self.asked[-1]).path.split("/")[3]
        wanted: Wanted = {}
        if raw != "all":
            positions = raw.split(".")
            if len(positions) != len(CODES):
                return 400, b"the key has too few or too many positions"
            for name, position in zip(CODES, positions, strict=True):
                if position:
                    wanted[name] = [unquote(code) for code in position.split("+")]
        return self._data(wanted, query.get("startPeriod"), query.get("endPeriod"))

    def _version_3(self, segments: list[str], query: list[tuple[str, str]]) -> tuple[int, bytes]:
        if segments[0] == "availability" and self.tells_availability:
            return self._constraint()
        if segments[:4] != ["data", "dataflow", "X", "DATA"]:
            return 404, b"no such resource"
        wanted: Wanted = {}
        bounds: dict[str, str] = {}
        for name, value in query:
            if not name.startswith("c["):
                continue
            component = name.removeprefix("c[").removesuffix("]")
            if component == "TIME_PERIOD":
                bounds.update(one.split(":") for one in value.split("+"))  # type: ignore[arg-type]
            else:
                wanted[component] = [unquote(code) for code in value.split(",")]
        return self._data(wanted, bounds.get("ge"), bounds.get("le"))

    def _data(self, wanted: Wanted, start: str | None, end: str | None) -> tuple[int, bytes]:
        if self.strict and any(code not in CODES.get(name, ()) for name, codes in wanted.items() for code in codes):
            return 400, b"a code is not known"
        rows = [
            row
            for row in EVERY
            if all(row[list(CODES).index(name)] in codes for name, codes in wanted.items())
            and (start is None or row[-1] >= int(start[:4]))
            and (end is None or row[-1] <= int(end[:4]))
        ]
        if not rows:
            return 404, b"no results"
        return 200, (self._csv(rows) if self.form == "csv" else self._xml(rows)).encode()

    def _csv(self, rows: list[tuple[Any, ...]]) -> str:
        lines = [f"X:DATA(1.0),{','.join(map(str, row))},{row[-1] / 10}" for row in rows]
        return "\r\n".join([f"DATAFLOW,{','.join(CODES)},TIME_PERIOD,OBS_VALUE", *lines])

    def _xml(self, rows: list[tuple[Any, ...]]) -> str:
        observations = "".join(
            "<Obs "
            + " ".join(f'{name}="{code}"' for name, code in zip((*CODES, "TIME_PERIOD"), row, strict=True))
            + f' OBS_VALUE="{row[-1] / 10}"/>'
            for row in rows
        )
        # As some do, it names its data structure, not the dataflow.
        return (
            '<m:StructureSpecificData xmlns:m="http://www.sdmx.org/resources/sdmxml/schemas/v3_0/message" '
            'xmlns:c="http://www.sdmx.org/common"><m:Header><m:Structure structureID="S" '
            'dimensionAtObservation="AllDimensions"><c:Structure>'
            "urn:sdmx:org.sdmx.infomodel.datastructure.DataStructure=X:DSD(1.0)</c:Structure></m:Structure></m:Header>"
            f'<m:DataSet structureRef="S">{observations}</m:DataSet></m:StructureSpecificData>'
        )

    def _constraint(self) -> tuple[int, bytes]:
        keys = "".join(
            f'<c:KeyValue id="{name}">'
            + "".join(f"<c:Value>{code}</c:Value>" for code in codes if code != "DK")
            + "</c:KeyValue>"
            for name, codes in CODES.items()
        )
        return 200, (
            '<m:Structure xmlns:m="sdmx" xmlns:c="http://www.sdmx.org/common"><m:Structures>'
            f'<c:CubeRegion include="true">{keys}<c:KeyValue id="TIME_PERIOD"><c:TimeRange/></c:KeyValue>'
            "</c:CubeRegion></m:Structures></m:Structure>"
        ).encode()


@contextmanager
def served(service: Service, port: int = 0) -> Iterator[Service]:
    def reply(request: Request) -> tuple[int, bytes]:
        service.agents.append(request.headers.get("Authorization", ""))
        return service.reply(request.path)

    with replying(reply, port) as (service.url, _):
        yield service


@contextmanager
def source_of(url: str, structure: DatasetStructure | None = STRUCTURE) -> Iterator[RestSource]:
    fetcher = ServiceFetcher(url)
    source = RestSource(fetcher.url, fetcher, name=fetcher.name, structure_of=lambda _: structure)
    try:
        yield source
    finally:
        source.close()


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_DEFAULTS", SystemOptions(timeout_s=30.0, retries=1, retry_wait_s=0.01))


def found(
    source: RestSource, *, time: tuple[TimeRange, ...] = (), dataset: str = "X:DATA", **codes: object
) -> set[Any]:
    query = DataQuery(dataset=dataset, codes={name: tuple(of) for name, of in codes.items()}, time=time)  # type: ignore[arg-type]
    observations = list(source.select(query))
    assert {label for label, *_ in observations} <= {dataset}
    rows = [(*(dict(key)[name] for name in CODES), int(period or 0)) for _, key, period, _ in observations]
    assert len(rows) == len(set(rows))
    return set(rows)


def rows_of(first: int = 0, last: int = 9999, **codes: object) -> set[Any]:
    return {
        row
        for row in EVERY
        if first <= row[-1] <= last and all(row[list(CODES).index(name)] in of for name, of in codes.items())  # type: ignore[operator]
    }


SERVICES = [
    {"version": version, "tells_availability": told, "form": form, "strict": told}
    for version in ("2.1", "3.0")
    for told in (True, False)
    for form in ("csv", "xml")
]


@pytest.mark.parametrize("kind", SERVICES)
def test_a_query_gives_what_the_service_has_of_it(kind: dict[str, Any]) -> None:
    with served(Service(**kind)) as service, source_of(service.url) as source:
        assert found(source) == rows_of()
        assert found(source, AREA=["NO"], ITEM=["CPI", "A+B"]) == rows_of(AREA=["NO"], ITEM=["CPI", "A+B"])
        spans = (TimeRange(start="2018", end="2018"), TimeRange(start="2020-01"))
        assert found(source, time=spans, AREA=["NO"]) == rows_of(2018, 2018, AREA=["NO"]) | rows_of(2020, AREA=["NO"])
        assert found(source, AREA=["NO", "DK", "XX"]) == rows_of(AREA=["NO"])
        assert found(source, AREA=["DK"]) == set()
        assert found(source, AREA=["NO"], time=(TimeRange(start="2021", end="2018"),)) == set()
        with pytest.raises(DataTrouble, match='did you mean "AREA"'):
            found(source, ARREA=["NO"])


def data_requests(service: Service) -> list[str]:
    return [path for path in service.asked if path.startswith("/data/")]


@each("version", ["2.1", "3.0"])
@each("strict", [True, False])
def test_codes_without_data_are_asked_for_only_alone(version: str, strict: bool) -> None:
    with served(Service(version=version, strict=strict)) as service, source_of(service.url) as source:
        assert found(source, AREA=["NO", "DK", "XX"]) == rows_of(AREA=["NO"])
        assert not [path for path in data_requests(service) if "XX" in path or "DK" in path]
        for codes in (["DK"], ["XX"], ["DK", "XX"]):  # the service has the last word
            asked = len(data_requests(service))
            assert found(source, AREA=codes) == set()
            assert all(code in data_requests(service)[asked] for code in codes)


def constraint(**codes: list[str]) -> bytes:
    members = "".join(
        f'<KeyValue id="{name}">{"".join(f"<Value>{code}</Value>" for code in given)}</KeyValue>'
        for name, given in codes.items()
    )
    return f'<s xmlns="urn:sdmx"><CubeRegion include="true">{members}</CubeRegion></s>'.encode()


@pytest.mark.parametrize("version", ["2.1", "3.0"])
@pytest.mark.parametrize(
    ("told", "selected"),
    [
        ({"AREA": ["SE"]}, {"AREA": ["NO"]}),
        ({"AREA": ["NO", "SE"], "ITEM": ["PPI"]}, {"AREA": ["NO"], "ITEM": ["CPI"]}),
        ({"AREA": ["NO", "SE"], "ITEM": ["PPI"]}, {"AREA": ["NO"], "ITEM": ["CPI", "PPI"]}),
        ({"AREA": ["SE"], "ITEM": ["PPI"], "FREQ": ["Q"]}, {"AREA": ["NO", "SE"], "FREQ": ["A"]}),
    ],
)
def test_a_constraint_that_the_data_contradict_decides_nothing(
    told: dict[str, list[str]], selected: dict[str, list[str]], version: str
) -> None:
    said = constraint(**told)
    resource = "/availableconstraint/" if version == "2.1" else "/availability/"
    service = Service(version=version, answer=lambda path: (200, said) if path.startswith(resource) else None)
    with served(service), source_of(service.url) as source:
        # The data of the target have codes which the constraint denies, as every answer with these would find out.
        assert found(source, FREQ=["A"]) == rows_of(FREQ=["A"])
        assert found(source, **selected) == rows_of(**selected)


@pytest.mark.parametrize(
    "answer",
    [(500, b"broken"), (503, b""), (400, b"?"), (200, b"<html/>"), (200, b"{}"), (200, b"\x00\xff<"), (302, b"")],
)
def test_data_do_without_a_constraint_that_cannot_be_had(answer: tuple[int, bytes]) -> None:
    service = Service(answer=lambda path: answer if path.startswith("/availab") else None)
    with served(service), source_of(service.url) as source:
        assert found(source, AREA=["NO", "SE"]) == rows_of(AREA=["NO", "SE"])
        asked = len(service.asked)
        assert found(source, AREA=["NO"]) == rows_of(AREA=["NO"])
        assert len(service.asked) == asked + 1


def test_the_same_query_is_asked_once() -> None:
    with served(Service()) as service, source_of(service.url) as source:
        assert found(source, AREA=["NO"]) == found(source, AREA=["NO"])
        assert len(data_requests(service)) == 1


@pytest.mark.parametrize(("status", "tries"), [(500, 2), (403, 1), (206, 1)])
def test_a_query_that_failed_is_not_tried_anew_for_each_case(status: int, tries: int) -> None:
    service = Service(answer=lambda path: (status, b"") if path.startswith("/data/") else None)
    with served(service), source_of(service.url) as source:
        for _ in range(3):
            with pytest.raises(DataTrouble, match=str(status)):
                found(source, AREA=["NO"])
        assert len(data_requests(service)) == tries


def test_a_service_that_is_away_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    with source_of(f"http://127.0.0.1:{port}") as source:
        monkeypatch.setattr(fetching, "_AWAY_S", 3600.0)
        with pytest.raises(DataTrouble, match="2 tries"):
            found(source, AREA=["NO"])
        with served(Service(), port) as service:
            with pytest.raises(DataTrouble, match="2 tries"):
                found(source, AREA=["SE"])
            assert service.asked == []
    with source_of(f"http://127.0.0.1:{port}") as source:
        monkeypatch.setattr(fetching, "_AWAY_S", 0.0)
        with pytest.raises(DataTrouble, match="2 tries"):
            found(source, AREA=["NO"])
        with served(Service(), port):
            assert found(source, AREA=["NO"]) == rows_of(AREA=["NO"])


def test_a_service_that_hangs_is_left_alone_after_a_few_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_DEFAULTS", SystemOptions(timeout_s=1.0, retries=2))
    monkeypatch.setattr(fetching, "_AWAY_S", 3600.0)
    over = threading.Event()

    def hang(path: str) -> None:
        if path.startswith("/data/") and "PPI" in path:
            over.wait()

    with served(Service(answer=hang)) as service, source_of(service.url) as source:
        try:
            for query in ({"FREQ": ["A"]}, {"AREA": ["NO"]}, {}, {"FREQ": ["A"]}):
                with pytest.raises(DataTrouble, match="within"):
                    found(source, ITEM=["PPI"], **query)
            asked = len(service.asked)
            assert len(data_requests(service)) <= 3
            with pytest.raises(DataTrouble, match="within"):
                found(source, ITEM=["CPI"])
        finally:
            over.set()
    assert len(service.asked) == asked


@pytest.mark.parametrize("version", ["2.1", "3.0"])
def test_parameters_of_the_address_go_along_with_each_request(version: str) -> None:
    with served(Service(version=version)) as service, source_of(f"{service.url}/?key=hidden&a=1") as source:
        spans = (TimeRange(start="2020"),)
        assert found(source, time=spans, AREA=["NO"]) == rows_of(2020, AREA=["NO"])
        assert all(path.endswith("key=hidden&a=1") for path in service.asked)
        assert "hidden" not in source.name


def test_many_codes_are_asked_for_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "_LONGEST_URL", 18)
    with served(Service()) as service, source_of(service.url) as source:
        assert found(source, AREA=["NO", "SE"], FREQ=["A", "Q"]) == rows_of(AREA=["NO", "SE"])
        assert len([path for path in service.asked if path.startswith("/data/")]) == 4


def test_a_key_needs_the_order_of_dimensions_and_names_do_not() -> None:
    with served(Service(tells_availability=False)) as service, source_of(service.url, None) as source:
        assert found(source) == rows_of()
        with pytest.raises(DataTrouble, match="--structures") as caught:
            found(source, AREA=["NO"])
        assert caught.value.blame == "setup"
    with served(Service(version="3.0")) as service, source_of(service.url, None) as source:
        assert found(source, AREA=["NO"]) == rows_of(AREA=["NO"])


@pytest.mark.parametrize("version", ["2.1", "3.0"])
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2019", "2020"),
        ("2019M01", "2020M12"),
        ("2019Q1", "2020Q4"),
        ("2019H1", "2020-H2"),
        ("2019-01-01/P1Y", "2020-01-01/P1Y"),
        ("2019-01-01T00:00:00", "2020-12-31T23:59:59"),
        ("2019Z", "2020-12Z"),
        ("2019-M01", "2020-D366"),
        ("2019A1", None),
        (None, "2020M12"),
    ],
)
def test_periods_are_asked_for_as_services_read_them(start: str | None, end: str | None, version: str) -> None:
    spans = (TimeRange(start=start, end=end),)
    with served(Service(version=version)) as service, source_of(service.url) as source:
        first, last = 2018 if start is None else 2019, 2021 if end is None else 2020
        assert found(source, time=spans, AREA=["NO"]) == rows_of(first, last, AREA=["NO"])
        asked = re.findall(r"(?:Period=|[gl]e:)([^&+]+)", data_requests(service)[-1])
    assert len(asked) == (start is not None) + (end is not None)
    assert all(re.fullmatch(r"\d{4}(-\d\d(-\d\d)?|-[ASTQMWD]\d+)?", text) for text in asked)


@pytest.mark.parametrize("version", ["2.1", "3.0"])
@pytest.mark.parametrize(
    "named", ["X:DATA", "X:DATA(1.0)", "X:DATA(1.0.0)", "X:DATA(1)", "X:DATA(1.0+)", "X:DATA(1+)", "X:DATA(latest)"]
)
def test_a_version_is_asked_for_as_the_structures_have_it(named: str, version: str) -> None:
    """A service of 2.1 knows nothing of ``1.0+``, and neither knows that ``1.0.0`` is its ``1.0``."""
    known = ("/X,DATA/", "/X,DATA,1.0/", "/X/DATA/~/", "/X/DATA/1.0/")
    service = Service(version=version, answer=lambda path: None if any(one in path for one in known) else (404, b""))
    with served(service), source_of(service.url) as source:
        assert found(source, dataset=named, AREA=["NO"]) == rows_of(AREA=["NO"])


@pytest.mark.parametrize("note", ["a\u2028b", "a\x85b", "a\x0bb", "a\x1cb", '"a\nb"', '"a\r\nb, c"', "a\x00b", "é"])
def test_only_the_ends_of_lines_end_rows(note: str) -> None:
    rows = [f"X:DATA(1.0),{','.join(map(str, row))},1,{note}" for row in EVERY]
    body = "\n".join([f"DATAFLOW,{','.join(CODES)},TIME_PERIOD,OBS_VALUE,NOTE", *rows]).encode()
    service = Service(answer=lambda path: (200, body) if path.startswith("/data/") else None)
    with served(service), source_of(service.url) as source:
        assert found(source) == rows_of()


def test_credentials_go_along_and_are_not_shown() -> None:
    with served(Service(answer=lambda _: (403, b"denied for joe:secret"))) as service:
        with source_of(service.url.replace("//", "//joe:secret@")) as source, pytest.raises(DataTrouble) as caught:
            found(source)
        assert "secret" not in str(caught.value) + source.name
        assert set(service.agents) == {"Basic am9lOnNlY3JldA=="}


def selection(dataset: str = "X:DATA", **dimensions: list[str]) -> Selection:
    return Selection(datasets=(query_of(dataset, **dimensions),))


def compared(source: RestSource, selected: Selection, target: Selection) -> DataScore:
    return compare_on_data(selected, [target], source, structures=None, settings=SelectionSettings())


def test_target_and_answer_are_compared_on_what_the_service_has() -> None:
    with served(Service(strict=True)) as service, source_of(service.url) as source:
        target = selection(AREA=["NO", "SE"])
        assert compared(source, selection(), target).match is True
        assert compared(source, selection(AREA=["NO"]), target).match is False
        assert compared(source, selection(AREA=["NO", "XX"]), selection(AREA=["NO"])).match is True
        assert compared(source, selection(COUNTRY=["NO"]), target).match is False


def test_what_the_service_refuses_is_laid_to_whoever_asked_for_it() -> None:
    with served(Service(strict=True, tells_availability=False)) as service, source_of(service.url) as source:
        found_ = compared(source, selection(AREA=["NO", "XX"]), selection(AREA=["NO"]))
        assert (found_.match, found_.failure) == (False, None)
        assert "a code is not known" in found_.reason
        gold = compared(source, selection(AREA=["NO"]), selection(AREA=["NO", "XX"]))
        assert (gold.match, gold.failure.blame) == (None, "gold")


@pytest.mark.parametrize(
    ("answer", "blame", "words"),
    [
        ((500, b"broken"), "network", "500"),
        ((503, b""), "network", "503"),
        ((429, b""), "network", "429"),
        ((401, b"who are you"), "setup", "401"),
        ((302, b""), "setup", "302"),
        ((206, b"DATAFLOW,A,OBS_VALUE\nX:D,1,2\n"), "setup", "only part"),
        ((200, b"<html/>"), "network", "not an SDMX message"),
        ((200, b'{"data": 1}'), "setup", "expected SDMX-CSV or SDMX-ML"),
        ((200, b"\xff\x00"), "setup", "expected SDMX-CSV or SDMX-ML"),
        ((200, b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>"), "network", "document type"),
        ((200, b"DATAFLOW,A,OBS_VALUE\nX:D,1\n"), "network", "line 2"),
    ],
)  # fmt: skip
def test_trouble_of_the_service_is_neither_the_systems_nor_golds(
    answer: tuple[int, bytes], blame: str, words: str
) -> None:
    service = Service(answer=lambda path: answer if path.startswith("/data/") else None)
    with served(service), source_of(service.url) as source:
        found_ = compared(source, selection(AREA=["NO"]), selection(AREA=["NO"]))
    assert (found_.match, found_.failure.blame) == (None, blame)
    assert words in found_.reason


@pytest.mark.parametrize("structures", [None, Structures([STRUCTURE])], ids=["unknown", "known"])
@pytest.mark.parametrize(("status", "blame"), [(500, "network"), (503, "network"), (403, "setup"), (413, "setup")])
@pytest.mark.parametrize("others", [[], ["CPI"]], ids=["alone", "beside"])
def test_trouble_with_the_answer_alone_is_not_the_systems(
    others: list[str], status: int, blame: str, structures: Structures | None
) -> None:
    """What the service did not give could have been all that is missing, whatever is known of structures."""
    target = selection(AREA=["NO"])
    union = union_of(*(selection(AREA=["NO"], ITEM=[item]) for item in (*others, "PPI")))
    service = Service(answer=lambda path: (status, b"") if path.startswith("/data/") and "PPI" in path else None)
    with served(service), source_of(service.url) as source:
        found_ = compare_on_data(union, [target], source, structures=structures, settings=SelectionSettings())
        invented = union_of(union, selection(AREA=["NO"], LAND=["NO"]))
        wrong = compare_on_data(invented, [target], source, structures=structures, settings=SelectionSettings())
    assert (found_.match, found_.failure.blame) == (None, blame)
    assert (wrong.match, wrong.failure, wrong.series_recall) == (False, None, None)
    assert "LAND" in wrong.reason


@pytest.mark.parametrize("version", ["2.1", "3.0"])
def test_an_address_with_nothing_behind_it_is_told_from_data_that_lack_the_target(version: str) -> None:
    target = selection(AREA=["XX"])
    with served(Service(version=version, tells_availability=False)) as service:
        with source_of(service.url + "/data") as source:
            wrong = compared(source, target, target)
        with source_of(service.url) as source:
            assert found(source, AREA=["NO"])
            right = compared(source, target, target)
    assert "selects no observation" in wrong.reason
    assert "selects no observation" in right.reason
    assert ("without /data" in wrong.reason, "without /data" in right.reason) == (True, False)


def test_nobody_there_is_a_matter_of_the_network() -> None:
    with served(Service()) as service:
        url = service.url
    with source_of(url) as source:
        found_ = compared(source, selection(), selection())
    assert found_.failure.blame == "network"


@pytest.mark.parametrize("answer", [reset, garbage, endless, packed(1), packed(2), drip_body, drip_head])
def test_a_hostile_service_costs_no_more_than_its_limits(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_DEFAULTS", SystemOptions(timeout_s=0.6, retries=0))
    monkeypatch.setattr(exchange, "_MAX_ANSWER_BYTES", 1 << 20)
    with BadServer(answer) as server, source_of(server.url) as source, pytest.raises(DataTrouble) as caught:
        list(source.select(DataQuery(dataset="X:DATA")))
    assert caught.value.blame == "network"


def evaluated(tmp_path: Path, url: str, **more: Any) -> Any:
    """A run of two cases, the second one's target without data, with the same answer to both."""
    cases = []
    for number, area in enumerate(("NO", "DK")):
        dimensions = [{"dimension_name": "AREA", "values": [area]}]
        target = {"indicator_selection": [{"dataset_id": "X:DATA", "dimensions": dimensions}]}
        cases.append({"id": str(number), "conversation": [{"role": "user", "content": "?", "target": target}]})
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    answer = '{"urn": "X:DATA", "filters": [{"componentCode": "AREA", "values": ["NO"]}]}'
    return evaluate_selections(tmp_path / "cases.json", {"0": answer, "1": answer}, data=url, **more)


@pytest.mark.parametrize("version", ["2.1", "3.0"])
def test_a_whole_run_on_a_service(version: str, tmp_path: Path) -> None:
    """The service of data has no structures, as some have: version 3.0 can do without, and 2.1 needs the given ones."""
    known = Structures([STRUCTURE])
    with served(Service(version=version)) as service:
        url = service.url.replace("//", "//joe:secret@")
        run = evaluated(tmp_path, url, structures=known if version == "2.1" else None, output=tmp_path / "run")
    scores = {item.case.id: item.score("observations_match") for item in run.evidence}
    assert scores["0"].value == 1.0
    assert (scores["1"].value, scores["1"].failure.blame) == (None, "setup")
    assert "secret" not in "".join(path.read_text("utf-8", "replace") for path in (tmp_path / "run").glob("*.json*"))


def test_a_service_that_is_gone_costs_its_metrics_and_no_verdict(tmp_path: Path) -> None:
    with served(Service()) as service:
        url = service.url
    run = evaluated(tmp_path, url)
    assert [item.verdict.outcome for item in run.evidence] == ["correct", "incorrect"]
    failures = {item.score("observations_match").failure for item in run.evidence}
    assert {failure.blame for failure in failures} == {"network"}


def test_a_dataset_that_is_no_name_is_unknown() -> None:
    with served(Service()) as service, source_of(service.url) as source, pytest.raises(UnknownDataset):
        list(source.select(DataQuery(dataset="no name at all")))
