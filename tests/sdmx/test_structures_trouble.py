"""Structures from bad files, hostile files, large files and services: one clear message each, or the whole of it."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import assay
from assay.errors import InputError, UsageError
from assay.model import Case, Selection, Turn
from assay.sdmx.structures.known import missing_datasets, missing_parts
from assay.sdmx.structures.load import load_structures
from replying import Request, replying

EXAMPLE = Path(__file__).parents[2] / "src" / "assay" / "demo" / "sdmx" / "structures.xml"
BASE = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/"


def failure(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_structures([path])
    return str(caught.value)


def test_missing_file_is_named_with_the_closest(tmp_path: Path) -> None:
    (tmp_path / "structures.xml").write_bytes(EXAMPLE.read_bytes())
    assert 'did you mean "structures.xml"?' in failure(tmp_path / "structure.xml")
    assert "there is no folder" in failure(tmp_path / "nowhere" / "structures.xml")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not well-formed XML"),
        (b"id,question\n1,Why?\n", "not well-formed XML"),
        *(
            (
                f"{start}<html><body>Please log in</body></html>".encode(),
                "is an HTML page, not an SDMX structure message",
            )
            for start in ("", "<!DOCTYPE html>", "<!DOCTYPE HTML PUBLIC '-//W3C//DTD HTML 4.01//EN' ''>")
        ),
        (f'<mes:GenericData xmlns:mes="{BASE}message"><mes:Header/></mes:GenericData>'.encode(), "<GenericData>"),
        (b'{"meta": {"schema": "sdmx-json"}, "data": {"dataSets": []}}', "SDMX-JSON data message"),
        (EXAMPLE.read_bytes()[:9000], "not well-formed XML"),
    ],
)
def test_file_that_is_no_structure_is_named(
    content: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "given.xml"
    path.write_bytes(content)
    for source in (path, tmp_path):
        message = failure(source)
        assert says in message
        assert str(path) in message
    assert capsys.readouterr() == ("", "")


def test_artefact_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "odd.xml"
    text = EXAMPLE.read_text("utf-8")
    before, after = 'agencyID="ASSAY" id="CL_AREA" version', 'agencyID="ASSAY" name="CL_AREA" version'
    path.write_text(text.replace(before, after, 1), "utf-8")
    assert path.read_text("utf-8") != text
    structures = load_structures([path])
    (note,) = structures.notes
    assert note.startswith(f'"{path}": the Codelist in line ')
    assert note.endswith("cannot be read: it has no id")
    outlook = structures.dataset("IMF.RES:WEO")
    assert [one.missing for one in outlook.dimensions] == ["code list ASSAY:CL_AREA(1.0)", None, None]
    assert (
        "code list ASSAY:CL_AREA(1.0) (for COUNTRY of ASSAY:HARBOUR(2.1), COUNTRY of IMF.RES:WEO(1.0.0))"
        in (missing_parts(structures.datasets)[0])
    )


def test_what_is_no_structure_beside_structures_is_left_alone_or_named(tmp_path: Path) -> None:
    (tmp_path / "structures.xml").write_bytes(EXAMPLE.read_bytes())
    (tmp_path / "cases.json").write_text('[{"id": 1}]')
    structures = load_structures([tmp_path])
    assert (len(structures.datasets), structures.notes) == (2, ())
    (tmp_path / "codes.json").write_text('{"meta": {"schema": "https://example.org/sdmx-json"}}')
    (tmp_path / "data.xml").write_text(f'<mes:GenericData xmlns:mes="{BASE}message"/>')
    structures = load_structures([tmp_path])
    assert len(structures.datasets) == 2
    assert [one.partition('" is ')[0].rpartition("/")[2] for one in structures.notes] == ["codes.json", "data.xml"]


def test_hostile_xml_harms_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("KEEP-THIS")
    laughs = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    whole = EXAMPLE.read_text("utf-8").partition("?>")[2]
    for name, subset, entity in (
        ("laughs", f'<!ENTITY a0 "ha">{laughs}', "&a11;"),
        ("file", f'<!ENTITY file SYSTEM "{secret.as_uri()}">', "&file;"),
        ("unused", f'<!ENTITY % ext SYSTEM "{secret.as_uri()}"> %ext;', ""),
    ):
        path = tmp_path / f"{name}.xml"
        path.write_text(f"<!DOCTYPE x [{subset}]>{whole.replace('>Mexico<', f'>{entity}<')}", "utf-8")
        start = time.process_time()
        message = failure(path)
        assert time.process_time() - start < 10
        assert "KEEP-THIS" not in message


def big_list(codes: int, path: Path) -> Path:
    items = "".join(f'<str:Code id="C{n}"><com:Name xml:lang="en">N {n}</com:Name></str:Code>' for n in range(codes))
    text = EXAMPLE.read_text("utf-8")
    start, end = text.index('<str:Code id="W00">'), text.index("</str:Codelist>", text.index('<str:Code id="W00">'))
    path.write_text(text[:start] + items + text[end:], "utf-8")
    return path


def test_list_of_100_000_codes_loads_and_looks_up_in_constant_time(tmp_path: Path) -> None:
    loaded = {codes: load_structures([big_list(codes, tmp_path / f"{codes}.xml")]) for codes in (1_000, 100_000)}

    def look_ups(codes: int) -> float:
        start = time.process_time()
        for n in range(2_000):
            dimension = loaded[codes].dataset("IMF.RES:WEO").dimension("COUNTRY")
            assert f"C{n % 1000}" in dimension.codes.names
            assert f"X{n}" not in dimension.codes.names
            assert len(dimension.all_codes) == codes
        return time.process_time() - start

    # In turn, so that what else the machine does slows both.
    few, many = map(min, zip(*[(look_ups(1_000), look_ups(100_000)) for _ in range(5)], strict=True))
    assert many < 5 * few


@contextmanager
def service(answers: dict[str, bytes | int], asked: list[str]) -> Iterator[str]:
    """A real HTTP server that answers a path with content or a status, anything else with 404."""
    kind = {"Content-Type": "application/vnd.sdmx.structure+xml;version=2.1"}

    def reply(request: Request) -> tuple[int, bytes, dict[str, str]]:
        asked.append(unquote(request.path))
        answer = answers.get(unquote(urlsplit(request.path).path), 404)
        return (200, answer, kind) if isinstance(answer, bytes) else (answer, b"no", kind)

    with replying(reply) as (url, _):
        yield f"{url}/rest"


@pytest.mark.parametrize(
    "path", ["/rest/dataflow/IMF.RES/WEO/latest", "/rest/structure/dataflow/IMF.RES/WEO/~"], ids=["2.1", "3.0"]
)
def test_service_gives_the_datasets_it_has_and_lacks_the_others(path: str) -> None:
    asked: list[str] = []
    with service({path: EXAMPLE.read_bytes()}, asked) as url:
        structures = load_structures([url], datasets=["IMF.RES:WEO", "IMF.RES:NOPE", "IMF.RES:WEO", "not an id!"])
    assert structures.sources == (url,)
    assert structures.dataset("IMF.RES:NOPE") is None
    found = structures.dataset("IMF.RES:WEO(1.0.0)")
    assert found.dimensions[1].codes.names["LUR"] == "Unemployment rate"
    assert all("references=all" in one for one in asked)
    assert sum("/WEO/" in one for one in asked) <= 2, "a dataset is fetched once"


def test_datasets_that_only_answers_name_may_all_be_inventions() -> None:
    target = assay.read_selection('{"indicator_selection": []}')
    with service({"/rest/dataflow/IMF.RES/WEO/latest": EXAMPLE.read_bytes()}, []) as url:
        invented = "https://x/data/NO,SUCH/A.B"
        assert load_structures([url], datasets=["IMF.RES:WEO"], optional=["NO:SUCH"]).dataset("NO:SUCH") is None
        assert load_structures([url], optional=["NO:SUCH"]).datasets == ()
        run = assay.evaluate_selections(_cases(target), {"one": invented}, structures=url)
        assert [(one.outcome, one.verdict.reason) for one in run.evidence] == [
            ("incorrect", "dataset NO:SUCH is not in the target")
        ]
        known = "https://x/data/IMF.RES,WEO/MEX.LP."
        (scored,) = assay.evaluate_selections(_cases(target), {"one": known}, structures=url).evidence
        assert scored.verdict.reason.endswith("COUNTRY: 1 too many (MEX); INDICATOR: 1 too many (LP)")


def test_a_service_is_not_asked_where_nobody_names_a_dataset() -> None:
    nothing = '{"indicator_selection": []}'
    asked: list[str] = []
    with service({}, asked) as url:
        target = assay.read_selection(nothing, structures=url)
        assert assay.check_selection(nothing, target, structures=url).exact
        run = assay.evaluate_selections(_cases(target), {"one": nothing}, structures=url)
    assert [one.outcome for one in run.evidence] == ["correct"]
    assert run.settings.selection.structures == (url,)
    assert asked == []


def _cases(target: Selection) -> list[Case]:
    return [Case(id="one", question="?", turns=(Turn(question="?", targets=(target,)),))]


def test_what_a_service_leaves_out_is_fetched_too() -> None:
    text = EXAMPLE.read_text("utf-8")
    start, end = text.index("<str:Codelists>"), text.index("</str:HierarchicalCodelists>") + 29
    codes = text[: text.index("<str:Dataflows>")] + text[start:end] + "</mes:Structures></mes:Structure>"
    answers: dict[str, bytes | int] = {
        "/rest/dataflow/ASSAY/HARBOUR/2.1": (text[:start] + text[end:]).encode(),
        "/rest/codelist/ASSAY/CL_AREA/1.0": codes.encode(),
    }
    asked: list[str] = []
    with service(answers, asked) as url:
        dataset = load_structures([url], datasets=["ASSAY:HARBOUR(2.1)"]).dataset("ASSAY:HARBOUR")
    assert dataset.dimensions[1].codes.names["NO"] == "Norway"
    assert sum("/codelist/" in one for one in asked) == 1, "the answer had the other lists, too"


def test_a_service_may_answer_in_json_and_with_an_error_in_a_message() -> None:
    flow = {"id": "FLOW", "agencyID": "T", "version": "1.0", "structure": "urn:sdmx:org.x.DataStructure=T:DSD(1.0)"}
    concept = "urn:sdmx:org.x.Concept=T:CS(1.0).A"
    listed = {"id": "A", "conceptIdentity": concept, "localRepresentation": {"format": {}}}
    structure = {"id": "DSD", "agencyID": "T", "version": "1.0"}
    structure["dataStructureComponents"] = {"dimensionList": {"dimensions": [listed]}}  # type: ignore[assignment]
    nothing = '<Error xmlns="http://www.sdmx.org/x"><ErrorMessage code="100"><Text>none</Text></ErrorMessage></Error>'
    answers: dict[str, bytes | int] = {
        "/rest/dataflow/T/FLOW/latest": json.dumps({"data": {"dataflows": [flow]}}).encode(),
        "/rest/datastructure/T/DSD/1.0": gzip.compress(json.dumps({"data": {"dataStructures": [structure]}}).encode()),
        "/rest/dataflow/T/NONE/latest": nothing.encode(),
    }
    with service(answers, []) as url:
        structures = load_structures([url], datasets=["T:FLOW", "T:NONE"])
        with pytest.raises(InputError, match="has none of the 1 requested datasets"):
            load_structures([url], datasets=["T:NONE"])
    (dataset,) = structures.datasets
    assert [one.id for one in dataset.dimensions] == ["A"]


def test_service_in_trouble_is_one_clear_message() -> None:
    with service({"/rest/dataflow/A/B/latest": 500, "/rest/dataflow/A/P/latest": b"<html/>"}, []) as url:
        for dataset, says in (("A:B", "answered 500"), ("A:P", "is an HTML page"), ("A:C", "has none of the 1")):
            with pytest.raises(InputError, match=says) as caught:
                load_structures([url], datasets=[dataset])
            assert url in str(caught.value)
        with pytest.raises(UsageError, match="no datasets to fetch"):
            load_structures([url])
    with pytest.raises(InputError, match=r"cannot be reached \(.*refused"):
        load_structures([url], datasets=["A:B"])


def test_datasets_of_targets_that_the_structures_do_not_have_are_named() -> None:
    known = load_structures([EXAMPLE])
    assert missing_datasets(["IMF.RES:WEO", "WEO", "ASSAY:HARBOUR(2.1)"], known) == ()
    (said,) = missing_datasets(["IMF.RES:WEOO(1.0.0)", "WEO", "A:B", "A:B"], known)
    assert said.startswith(
        'missing in the structures: the datasets IMF.RES:WEOO(1.0.0), A:B; did you mean "IMF.RES:WEO(1'
    )
    target = Selection(datasets=(assay.DatasetSelection(dataset="A:B"),))
    case = Case(id="one", question="?", turns=(Turn(question="?", targets=(target,)),))
    run = assay.evaluate_selections([case], {"one": "no query"}, structures=known)
    assert any("the dataset A:B" in note for note in run.provenance.notes)
