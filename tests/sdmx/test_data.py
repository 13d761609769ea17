"""Targets and answers executed on data files: what is read of them, and what is made of both."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sdmx.built import query_of, span, structure_of, union_of

from assay.errors import InputError
from assay.model import DataScore, Selection, SelectionSettings
from assay.sdmx.data import execute, files
from assay.sdmx.data.execute import compare_on_data
from assay.sdmx.data.files import load_data
from assay.sdmx.data.observations import DataQuery, DataTables, UnknownDataset
from assay.sdmx.structures.identifiers import ArtefactId
from assay.sdmx.structures.known import DatasetStructure, Structures
from many_cases import each

AREAS, ITEMS, YEARS = ("NO", "SE"), ("CPI", "PPI"), ("2019", "2020", "2021")
EVERY = [(area, item, year) for area in AREAS for item in ITEMS for year in YEARS if (area, item) != ("SE", "PPI")]
"""There is no PPI of Sweden."""


def value(area: str, item: str, year: str) -> str:
    return f"{int(year) / 10 + AREAS.index(area) + 2 * ITEMS.index(item)}"


def csv_1() -> str:
    rows = [f"X:DATA(1.0),{area},{item},{year},{value(area, item, year)},A" for area, item, year in EVERY]
    return "\n".join(["DATAFLOW,AREA,ITEM,TIME_PERIOD,OBS_VALUE,OBS_STATUS", *rows]) + "\n"


def csv_2() -> str:
    rows = [
        f"dataflow;X:DATA(1.0): Data;I;{area}: Land;{item}: Thing;{year};{value(area, item, year).replace('.', ',')};"
        for area, item, year in EVERY
    ]
    header = "STRUCTURE[|];STRUCTURE_ID;ACTION;AREA: Area;ITEM: Item;TIME_PERIOD: Time;OBS_VALUE: Value;NOTE: Note"
    gone = "dataflow;X:DATA(1.0): Data;D;SE: Land;PPI: Thing;2019;;"
    return "\n".join([header, *rows, gone])


MESSAGE = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message"
GENERIC = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/data/generic"
COMMON = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common"


def message(kind: str, body: str, *, at: str = "TIME_PERIOD", version: str = "v2_1") -> str:
    return (
        f'<?xml version="1.0"?><m:{kind} xmlns:m="{MESSAGE}" xmlns:g="{GENERIC}" xmlns:c="{COMMON}" '
        f'xmlns:s="urn:x" xmlns:d="urn:y"><m:Header><m:ID>1</m:ID>'
        f'<m:Structure structureID="S" dimensionAtObservation="{at}"><c:StructureUsage>'
        f'<Ref agencyID="X" id="DATA" version="1.0"/></c:StructureUsage></m:Structure></m:Header>'
        f'<m:DataSet structureRef="S" d:structureRef="S">{body}</m:DataSet></m:{kind}>'
    ).replace("v2_1", version)


def by_series() -> list[tuple[tuple[str, str], list[str]]]:
    keys = dict.fromkeys((area, item) for area, item, _ in EVERY)
    return [(key, [year for area, item, year in EVERY if (area, item) == key]) for key in keys]


def generic_series() -> str:
    return message(
        "GenericData",
        "".join(
            f'<g:Series><g:SeriesKey><g:Value id="AREA" value="{area}"/><g:Value id="ITEM" value="{item}"/>'
            f'</g:SeriesKey><g:Attributes><g:Value id="UNIT" value="P"/></g:Attributes>'
            + "".join(
                f'<g:Obs><g:ObsDimension value="{year}"/><g:ObsValue value="{value(area, item, year)}"/></g:Obs>'
                for year in years
            )
            + "</g:Series>"
            for (area, item), years in by_series()
        ),
    )


def generic_flat() -> str:
    return message(
        "GenericData",
        "".join(
            f'<g:Obs><g:ObsKey><g:Value id="AREA" value="{area}"/><g:Value id="ITEM" value="{item}"/>'
            f'<g:Value id="TIME_PERIOD" value="{year}"/></g:ObsKey>'
            f'<g:ObsValue value="{value(area, item, year)}"/></g:Obs>'
            for area, item, year in EVERY
        ),
        at="AllDimensions",
    )


def specific_series() -> str:
    return message(
        "StructureSpecificData",
        "<Group AREA='NO' TITLE='x'/>"
        + "".join(
            f'<Series AREA="{area}" ITEM="{item}">'
            + "".join(
                f'<Obs TIME_PERIOD="{year}" OBS_VALUE="{value(area, item, year)}" OBS_STATUS="{year[-1]}"/>'
                for year in years
            )
            + "</Series>"
            for (area, item), years in by_series()
        ),
        version="v3_0",
    )


def specific_flat() -> str:
    return message(
        "StructureSpecificData",
        "".join(
            f'<Obs AREA="{area}" ITEM="{item}" TIME_PERIOD="{year}" OBS_VALUE="{value(area, item, year)}" '
            f'OBS_STATUS="{year[-1]}"/>'
            for area, item, year in EVERY
        ),
        at="AllDimensions",
    )


FORMS = {
    "one.csv": csv_1,
    "two.csv": csv_2,
    "generic.xml": generic_series,
    "generic-flat.xml": generic_flat,
    "specific.xml": specific_series,
    "specific-flat.xml": specific_flat,
}


def loaded(folder: Path, name: str = "one.csv", text: str | None = None) -> DataTables:
    (folder / name).write_text(FORMS[name]() if text is None else text, encoding="utf-8")
    return load_data(str(folder / name), structures=None)


def observed_of(data: DataTables) -> set[tuple[object, ...]]:
    """Each observation of the dataset: its codes, period and value."""
    observations = list(data.select(DataQuery(dataset="X:DATA")))
    found = {(*(code for _, code in key), period, observed) for _, key, period, observed in observations}
    assert len(found) == len(observations)
    return found


@each("name", FORMS)
def test_every_form_gives_the_same_observations(name: str, tmp_path: Path) -> None:
    assert observed_of(loaded(tmp_path, name)) == {(*one, float(value(*one))) for one in EVERY}


def test_a_folder_holds_several_files_and_what_comes_twice_is_once(tmp_path: Path) -> None:
    for name in FORMS:
        loaded(tmp_path, name)
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    (tmp_path / "page.xml").write_text("<html/>")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("word/document.xml", '<w:document xmlns:w="urn:words"/>')
    (tmp_path / "structure.xml").write_text(f'<m:Structure xmlns:m="{MESSAGE}"><m:Structures/></m:Structure>')
    (table,) = load_data(str(tmp_path), structures=None).tables.values()
    assert (table.series, len(list(table.select(DataQuery(dataset=""))))) == (3, len(EVERY))


def test_a_structure_tells_dimensions_from_what_is_said_of_series(tmp_path: Path) -> None:
    text = specific_series().replace('ITEM="CPI"', 'ITEM="CPI" TITLE="Prices"')
    (tmp_path / "d.xml").write_text(text)
    known = Structures([structure_of("X:DATA", AREA=None, ITEM=None)])
    found = load_data(str(tmp_path), structures=known).select(DataQuery(dataset="X:DATA"))
    assert {tuple(name for name, _ in key) for _, key, _, _ in found} == {("AREA", "ITEM")}


def packings() -> dict[str, Callable[[bytes], bytes]]:
    def zipped(content: bytes) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("readme.txt", "none of the data")
            archive.writestr("folder/data.xml" if content.lstrip().startswith(b"<") else "folder/data.csv", content)
        return file.getvalue()

    def wide(content: bytes) -> bytes:
        return content.decode().replace('version="1.0"?', 'version="1.0" encoding="UTF-16"?').encode("utf-16")

    return {
        "gzip": gzip.compress,
        "zip": zipped,
        "utf-16": wide,
        "utf-16, gzip": lambda content: gzip.compress(wide(content)),
        "byte order mark": lambda content: b"\xef\xbb\xbf" + content,
        "two gzip members": lambda content: gzip.compress(content[:100]) + gzip.compress(content[100:]),
    }


@each("in_folder", [True, False])
@each("packing", packings())
@each("name", FORMS)
def test_every_form_is_read_as_it_is_packed(name: str, packing: str, in_folder: bool, tmp_path: Path) -> None:
    ending = {"gzip": ".gz", "zip": ".zip"}.get(packing, "")
    file = tmp_path / f"{name}{ending}"
    file.write_bytes(packings()[packing](FORMS[name]().encode()))
    data = load_data(str(tmp_path if in_folder else file), structures=None)
    assert observed_of(data) == {(*one, float(value(*one))) for one in EVERY}


@each("packing", ["gzip", "zip"])
@each("name", ["one.csv", "generic.xml"])
def test_what_cannot_be_unpacked_is_named(
    name: str, packing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = packings()[packing](FORMS[name]().encode())
    file = tmp_path / "d.packed"
    for broken in (whole[: len(whole) // 2], whole[:-4], whole[:40] + b"\0" * 20 + whole[60:]):
        file.write_bytes(broken)
        with pytest.raises(InputError, match=re.escape("d.packed")):
            load_data(str(file), structures=None)
    monkeypatch.setattr(files, "MOST_UNPACKED", 100)
    file.write_bytes(whole)
    with pytest.raises(InputError, match="unpacks to more than"):
        load_data(str(file), structures=None)


@each("before", ["", "\n", "\r\n\r\n", "sep=;\n", '"sep=;"\r\n', "\n \nSEP=;\n\n"])
def test_what_stands_before_the_columns_is_passed_over(before: str, tmp_path: Path) -> None:
    data = loaded(tmp_path, "d.csv", before + csv_1().replace(",", ";"))
    assert observed_of(data) == {(*one, float(value(*one))) for one in EVERY}


@pytest.mark.parametrize("explicit", [True, False], ids=["as types", "as attributes"])
def test_observations_by_another_dimension_than_time(explicit: bool, tmp_path: Path) -> None:
    """Explicit measures (SDMX 2.1) write the code of the observation's dimension as the type of its element."""
    told = 'xsi:type="d:{}"' if explicit else 'ITEM="{}"'
    body = "".join(
        f'<Series AREA="{area}" TIME_PERIOD="{year}">'
        + "".join(
            f'<Obs {told.format(item)} OBS_VALUE="{value(area, item, year)}" OBS_STATUS="A"/>'
            for item in ITEMS
            if (area, item, year) in EVERY
        )
        + "</Series>"
        for area in AREAS
        for year in YEARS
    )
    text = message("StructureSpecificData", body, at="ITEM")
    text = text.replace("xmlns:s=", 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:s=')
    assert observed_of(loaded(tmp_path, "d.xml", text)) == {(*one, float(value(*one))) for one in EVERY}


ERROR = (
    f'<m:Error xmlns:m="{MESSAGE}" xmlns:c="{COMMON}"><m:ErrorMessage code="{{}}"><c:Text>{{}}</c:Text>'
    "</m:ErrorMessage></m:Error>"
)


@each("form", [generic_series, generic_flat, specific_series, specific_flat])
@each(
    ("said", "is_whole"),
    [
        ('code="413" severity="Information"', False),
        ('code="510"', False),
        ('code="130" severity="Warning"', False),
        ('code="500" severity="Error"', False),
        ('code="100" severity="Warning"', True),
        ('code="200" severity="Information"', True),
    ],
)
def test_data_that_a_service_cut_are_not_taken_for_whole(
    said: str, is_whole: bool, form: Callable[[], str], tmp_path: Path
) -> None:
    footer = (
        f'<f:Footer xmlns:f="{MESSAGE}/footer"><f:Message {said}><c:Text>Some words</c:Text></f:Message></f:Footer>'
    )
    head, _, tail = form().rpartition("</m:")
    text = f"{head}{footer}</m:{tail}"
    if is_whole:
        assert len(observed_of(loaded(tmp_path, "d.xml", text))) == len(EVERY)
        return
    with pytest.raises(InputError, match=r"is incomplete.*Some words"):
        loaded(tmp_path, "d.xml", text)


@each("form", [generic_series, generic_flat, specific_series, specific_flat])
@each("action", ['action="Delete"', 's:action="Delete"'])
def test_deletions_are_no_data(action: str, form: Callable[[], str], tmp_path: Path) -> None:
    text = form()
    begin, end = text.index("<m:DataSet"), text.index("</m:DataSet>") + len("</m:DataSet>")
    gone = text[begin:end].replace("<m:DataSet", f"<m:DataSet {action}").replace('"NO"', '"DK"')
    deleted_first, deleted_last = text[:begin] + gone + text[begin:], text[:end] + gone + text[end:]
    for both in (deleted_first, deleted_last):
        assert observed_of(loaded(tmp_path, "d.xml", both)) == {(*one, float(value(*one))) for one in EVERY}


@each("versions", [["9.0", "10.0"], ["1.0.0", "1.0.1"], ["2.0.0-draft", "1.1.0"], ["1.9", "1.10"]])
def test_without_a_version_the_newest_data_are_taken(versions: list[str], tmp_path: Path) -> None:
    old, new = versions
    for order in (versions, versions[::-1]):
        rows = [f"X:DATA({version}),NO,2020,{number}" for number, version in enumerate(order)]
        data = loaded(tmp_path, "d.csv", "\n".join(["DATAFLOW,AREA,TIME_PERIOD,OBS_VALUE", *rows]))
        assert {one[-1] for one in observed_of(data)} == {float(order.index(new))}
        (exact,) = data.select(DataQuery(dataset=f"X:DATA({old})"))
        assert exact[-1] == float(order.index(old))


def test_columns_within_columns_are_no_columns_twice(tmp_path: Path) -> None:
    lines = [line + ",a;b,c" for line in csv_1().splitlines()[1:]]
    header = csv_1().splitlines()[0] + ",CONTACT[],CONTACT[].NAME[]"
    data = loaded(tmp_path, "d.csv", "\n".join([header, *lines]))
    assert observed_of(data) == {(*one, float(value(*one))) for one in EVERY}


TITLED = specific_series().replace('ITEM="CPI"', 'ITEM="CPI" TITLE="Prices"')


@each("text", [csv_1(), csv_2(), generic_series(), specific_flat(), TITLED])
def test_data_that_name_the_data_structure_are_of_its_one_dataflow(text: str, tmp_path: Path) -> None:
    """Many services write the data structure definition where the dataflow could stand."""
    named = text.replace("X:DATA(1.0)", "X:DSD(2.0)").replace('id="DATA" version="1.0"', 'id="DSD" version="2.0"')
    (tmp_path / "d.txt").write_text(named)
    flow, other = (
        structure_of(f"X:{id_}(1.0)", definition="X:DSD(2.0)", AREA=None, ITEM=None) for id_ in ("DATA", "OTHER")
    )
    data = load_data(str(tmp_path / "d.txt"), structures=Structures([flow]))
    assert observed_of(data) == {(*one, float(value(*one))) for one in EVERY}
    with pytest.raises(UnknownDataset, match=r"X:DSD\(2.0\)"):
        observed_of(load_data(str(tmp_path / "d.txt"), structures=Structures([flow, other])))


BOMB = '<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa">{}]><m:GenericData xmlns:m="sdmx" x="&j;">&j;</m:GenericData>'
GROWING = "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)  # fmt: skip


@each(
    ("name", "text", "words"),
    [
        ("d.xml", BOMB.format(GROWING), ["d.xml", "document type|amplification"]),
        ("d.xml", '<!DOCTYPE m SYSTEM "file:///etc/passwd"><m/>', ["document type"]),
        ("d.xml", '<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><m>&x;</m>', ["document type"]),
        ("d.xml", "<html/>", ["not an SDMX message", "<html>"]),
        ("d.xml", "<m:GenericData", ["not well-formed XML|not an SDMX message"]),
        ("d.xml", generic_series()[:-40], ["not well-formed XML"]),
        ("d.xml", generic_series().replace("m:Structure", "m:Other"), ["header does not describe the structure"]),
        ("d.xml", message("Structure", ""), ["without data"]),
        ("d.json", "{}", ["JSON", "SDMX-CSV"]),
        ("d.csv", "a,b\n1,2\n", ["SDMX-CSV"]),
        ("d.csv", "DATAFLOW\n", ["SDMX-CSV"]),
        ("d.csv", "DATAFLOWS,A,OBS_VALUE\nx,1,2\n", ["DATAFLOW", "STRUCTURE_ID"]),
        ("d.csv", "DATAFLOW,A,OBS_VALUE\nX:D,1\n", ["line 2", "2 fields", "3"]),
        ("d.csv", "DATAFLOW,A,OBS_VALUE\n?,1,2\n", ["line 2", "not an id"]),
        ("d.csv", 'DATAFLOW,A,OBS_VALUE\nX:D,"1\n', ["line"]),
        ("d.csv", "DATAFLOW,A,OBS_VALUE\n", ["no observations"]),
        ("d.csv", "DATAFLOW,A,VALUE\nX:D,1,2\n", ["no observations", "1 without the column OBS_VALUE"]),
        ("d.csv", "", ["is empty"]),
        ("d.csv", "A,TIME_PERIOD,OBS_VALUE\nX,2020,1\n", ["DATAFLOW", "'A,TIME_PERIOD,OBS_VALUE'"]),
        ("d.csv", "DATAFLOW,A,OBS_VALUE\nX:D,a,1,5\n", ["line 2", "4 fields", "3", "quote fields"]),
        ("d.csv", "\n\nDATAFLOW,A,OBS_VALUE\n\nX:D,1\n", ["line 5"]),
        ("d.csv", "DATAFLOW,A,A,OBS_VALUE\nX:D,1,2,3\n", ["two columns 'A'"]),
        ("d.csv", "DATAFLOW,A: Area,A: Area,OBS_VALUE\nX:D,1,2,3\n", ["two columns 'A: Area'"]),
        ("d.xml", "<C xmlns='http://www.SDMX.org/resources/SDMXML/schemas/v2_0/message'/>", ["2.0", "2.1"]),
        ("d.xml", specific_series().replace("TIME_PERIOD=", "YEAR="), ["no 'TIME_PERIOD'", "header"]),
        ("d.xml", ERROR.format(150, "Invalid key"), ["error message", "150 Invalid key"]),
        ("d.xml", ERROR.format("", ""), ["error message"]),
    ],
)
def test_files_that_cannot_be_used_are_named(name: str, text: str, words: list[str], tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, name, text)
    for word in words:
        assert any(one in str(caught.value) for one in word.split("|")), str(caught.value)


def test_a_source_that_is_not_there_is_named_with_its_neighbour(tmp_path: Path) -> None:
    loaded(tmp_path)
    with pytest.raises(InputError, match=r'did you mean "one\.csv"'):
        load_data(str(tmp_path / "ones.csv"), structures=None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no data"):
        load_data(str(tmp_path / "empty"), structures=None)


def selection(*queries: dict[str, Any], dataset: str = "X:DATA") -> Selection:
    """Queries whose ``time`` is its start and its end."""
    timed = [query | {"time": [span(*query["time"])]} if "time" in query else query for query in queries]
    return Selection(datasets=tuple(query_of(dataset, **query) for query in timed))


@pytest.fixture
def data(tmp_path: Path) -> DataTables:
    return loaded(tmp_path)


def compared(data: DataTables, selected: Selection, *targets: Selection, **more: object) -> DataScore:
    known = more.pop("structures", None)
    settings_ = SelectionSettings(**more)  # type: ignore[arg-type]
    return compare_on_data(selected, targets, data, structures=known, settings=settings_)  # type: ignore[arg-type]


def test_what_gives_the_same_observations_matches_though_it_is_written_otherwise(data: DataTables) -> None:
    target = selection({"AREA": ["SE"], "ITEM": ["CPI", "PPI"], "time": ("2019", "2020")})
    same = selection({"AREA": ["SE"], "time": ("2019-01", "2020-12")})
    found = compared(data, same, target)
    assert (found.match, found.series_precision, found.series_recall) == (True, 1.0, 1.0)
    assert (found.target_observations, found.shared_observations) == (2, 2)
    assert "same 2 observations" in found.reason


def test_series_and_observations_that_differ_are_counted(data: DataTables) -> None:
    target = selection({"AREA": ["NO"], "time": ("2019", "2020")})
    found = compared(data, selection({"ITEM": ["CPI"], "time": ("2020", "2021")}), target)
    assert found.match is False
    assert (found.target_series, found.selected_series, found.shared_series) == (2, 2, 1)
    assert (found.target_observations, found.selected_observations, found.shared_observations) == (4, 4, 1)
    assert found.reason == "3 of the target's 4 observations are missing and 3 are extra"


def test_queries_of_a_union_are_executed_each(data: DataTables) -> None:
    crossed = selection({"AREA": ["NO"], "ITEM": ["CPI"]}, {"AREA": ["SE"], "ITEM": ["PPI"]})
    assert compared(data, crossed, selection({"ITEM": ["CPI"]})).match is False
    whole = selection({"AREA": ["NO"], "ITEM": ["CPI"]}, {"AREA": ["SE"]})
    assert compared(data, whole, selection({"ITEM": ["CPI"]})).match is True


def test_time_counts_only_where_the_target_speaks_of_it(data: DataTables) -> None:
    assert compared(data, selection({"AREA": ["NO"], "time": ("2020", None)}), selection({"AREA": ["NO"]})).match
    every = selection({"AREA": ["NO"], "time": (None, None)})
    assert compared(data, selection({"AREA": ["NO"], "time": ("2020", None)}), every).match is False


def test_one_of_several_targets_is_enough(data: DataTables) -> None:
    targets = (selection({"AREA": ["SE"]}), selection({"AREA": ["NO"]}))
    assert compared(data, targets[1], *targets).match is True


def test_an_ignored_dimension_restricts_nothing(data: DataTables) -> None:
    one, other = selection({"AREA": ["NO"], "ITEM": ["CPI"]}), selection({"AREA": ["NO"], "ITEM": ["PPI"]})
    assert compared(data, one, other, ignored_dimensions=("ITEM",)).match is True


@pytest.mark.parametrize(
    "answer",
    [
        selection({"AREA": ["XX"]}),
        selection({"ARREA": ["NO"]}),
        selection({}, dataset="X:OTHER"),
        Selection(),
        selection({"AREA": ["NO"], "time": ("2030", None)}),
    ],
)
def test_what_gives_nothing_where_something_is_wanted_is_wrong(data: DataTables, answer: Selection) -> None:
    found = compared(data, answer, selection({"AREA": ["NO"], "time": ("2019", None)}))
    assert (found.match, found.failure, found.series_recall) == (False, None, 0.0)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (selection({}, dataset="X:OTHER"), ["X:OTHER", "X:DATA(1.0)"]),
        (selection({"AREA": ["SE"], "ITEM": ["PPI"]}), ["no observation"]),
    ],
)
def test_a_target_without_data_is_a_matter_of_the_setup(data: DataTables, target: Selection, words: list[str]) -> None:
    found = compared(data, target, target)
    assert (found.match, found.failure is not None and found.failure.blame) == (None, "setup")
    assert all(word in found.reason for word in words)


def test_a_dataset_that_is_not_at_hand_is_the_systems_only_where_it_invented_it(data: DataTables) -> None:
    target = selection({"AREA": ["NO"]})
    more = union_of(target, selection({}, dataset="X:OTHER"))
    unknown = compared(data, more, target)
    assert (unknown.match, unknown.failure is not None and unknown.failure.blame) == (None, "setup")
    own = DatasetStructure(id=ArtefactId(agency="X", id="DATA"))
    assert compared(data, more, target, structures=Structures([own])).match is False
    other = DatasetStructure(id=ArtefactId(agency="X", id="OTHER"))
    assert compared(data, more, target, structures=Structures([own, other])).match is None


def test_a_dimension_that_the_data_lack_is_the_systems_only_where_it_invented_it(tmp_path: Path) -> None:
    """Data without a column of the structure's cannot tell what its codes would select."""
    area = "".join(line.replace(",CPI,", ",") + "\n" for line in csv_1().splitlines() if "PPI" not in line)
    (tmp_path / "d.csv").write_text(area.replace(",ITEM,", ","))
    target, answer = selection({"AREA": ["NO"]}), selection({"AREA": ["NO"], "ITEM": ["CPI"]})
    known = Structures([structure_of("X:DATA", AREA=None, ITEM=None)])
    data = load_data(str(tmp_path / "d.csv"), structures=known)
    lacking = compared(data, answer, target, structures=known)
    assert (lacking.match, lacking.failure is not None and lacking.failure.blame) == (None, "setup")
    assert "'ITEM'" in lacking.reason
    invented = compared(data, selection({"AREA": ["NO"], "LAND": ["NO"]}), target, structures=known)
    assert (invented.match, invented.failure) == (False, None)
    assert "no dimension 'LAND'" in invented.reason
    gold = compared(data, target, selection({"AERA": ["NO"]}), structures=known)
    assert (gold.match, gold.failure is not None and gold.failure.blame) == (None, "gold")
    assert 'did you mean "AREA"' in gold.reason


def test_more_observations_than_are_compared_are_said(data: DataTables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "MOST_SELECTED", 4)
    few, many = selection({"AREA": ["SE"]}), selection({"AREA": ["NO"]})
    assert compared(data, many, few).match is False
    found = compared(data, few, many)
    assert (found.match, found.failure.kind) == (None, "truncated")


some = st.lists(st.sampled_from([*AREAS, "XX"]), min_size=1, unique=True)
items = st.lists(st.sampled_from(ITEMS), min_size=1, unique=True)
years = st.tuples(st.none() | st.sampled_from(YEARS), st.none() | st.sampled_from(YEARS))
queries = st.fixed_dictionaries({"time": years}, optional={"AREA": some, "ITEM": items})
unions = st.lists(queries, min_size=1, max_size=3)


def given_by(several: list[dict[str, object]]) -> set[tuple[str, str, str]]:
    """What a union gives, by looking at each observation."""
    found = set()
    for query in several:
        first, last = query["time"]  # type: ignore[misc]
        for area, item, year in EVERY:
            is_in = (first is None or first <= year) and (last is None or year <= last)
            if is_in and area in query.get("AREA", AREAS) and item in query.get("ITEM", ITEMS):  # type: ignore[operator]
                found.add((area, item, year))
    return found


@settings(deadline=None)
@given(unions, unions)
def test_the_comparison_is_that_of_the_observations_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, target: list[dict[str, object]], selected: list[dict[str, object]]
) -> None:
    found = compared(TABLES, selection(*selected), selection(*target))
    wanted, got = given_by(target), given_by(selected)
    if not wanted:
        assert found.match is None
        return
    assert found.match == (wanted == got)
    assert (found.target_observations, found.selected_observations) == (len(wanted), len(got))
    assert found.shared_observations == len(wanted & got)


TABLES = DataTables(name="the data")
for _area, _item, _year in EVERY:
    TABLES.add(
        ArtefactId(agency="X", id="DATA"), {"AREA": _area, "ITEM": _item}, _year, float(value(_area, _item, _year))
    )


def test_the_shared_messages_of_data_are_read(shared_data: Path) -> None:
    folder = shared_data / "sdmx-messages"
    names = ["IMF_RES/WEO-data.xml", "INSEE/CNA-2010-CONSO-SI-A17.xml", "IMF/PCPS.xml", "v3/xml/ECB_EXR0.xml"]
    names += ["pysdmx/xml/sdmx30/data_dataflow_3.0.xml", "ESTAT/demography-xs.xml", "v3/csv/example-04.csv"]
    for name in names:
        assert load_data(str(folder / name), structures=None).tables, name
    exchange = [load_data(str(folder / "ECB_EXR" / f"{name}.xml"), structures=None) for name in ("ng-flat", "ng-ts")]
    flat, timed = ({one[1:] for one in data.select(DataQuery(dataset="ECB_EXR_NG"))} for data in exchange)
    assert flat == timed
    assert len(flat) == 12
    demography = load_data(str(folder / "ESTAT" / "demography-xs.xml"), structures=None)
    assert len(list(demography.select(DataQuery(dataset="ESTAT:DEMOGRAPHY")))) == 60
