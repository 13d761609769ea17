"""Structures are put together from files as they come: several of each, stubs, versions, constraints, hierarchies."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from assay import demo
from assay.errors import InputError, MissingDependency, UsageError
from assay.sdmx.structures.known import Structures
from assay.sdmx.structures.load import load_structures

EXAMPLE = demo.sdmx_path("structures.xml")
BASE = "http://www.sdmx.org/resources/sdmxml/schemas/"


def message(*parts: str, version: str = "v2_1") -> str:
    spaces = " ".join(
        f'xmlns:{prefix}="{BASE}{version}/{name}"'
        for prefix, name in (("mes", "message"), ("str", "structure"), ("com", "common"))
    )
    return f"<mes:Structure {spaces}><mes:Structures>{''.join(parts)}</mes:Structures></mes:Structure>"


def code_list(id_: str, codes: str, *, agency: str = "T", version: str = "1.0", more: str = "") -> str:
    items = "".join(
        f'<str:Code id="{code}"><com:Name xml:lang="en">{code} name</com:Name></str:Code>' for code in codes.split()
    )
    opening = f'<str:Codelist agencyID="{agency}" id="{id_}" version="{version}"{more}>'
    return f'<str:Codelists>{opening}<com:Name xml:lang="en">{id_}</com:Name>{items}</str:Codelist></str:Codelists>'


def enumeration(id_: str, *, agency: str = "T", version: str = "1.0", place: str = "LocalRepresentation") -> str:
    reference = f'<Ref agencyID="{agency}" id="{id_}" version="{version}" package="codelist" class="Codelist"/>'
    return f"<str:{place}><str:Enumeration>{reference}</str:Enumeration></str:{place}>"


def data_structure(*dimensions: str, concepts: str = "CS") -> str:
    """A data structure T:DSD(1.0): each dimension is ``ID`` or ``ID`` with its local representation behind it."""
    parts = []
    for place, dimension in enumerate(dimensions, 1):
        id_, _, local = dimension.partition("<")
        concept = (
            f'<Ref agencyID="T" maintainableParentID="{concepts}" maintainableParentVersion="1.0" '
            f'id="{id_}" package="conceptscheme" class="Concept"/>'
        )
        parts.append(
            f'<str:Dimension id="{id_}" position="{place}"><str:ConceptIdentity>{concept}</str:ConceptIdentity>'
            f"{'<' + local if local else ''}</str:Dimension>"
        )
    return (
        '<str:DataStructures><str:DataStructure agencyID="T" id="DSD" version="1.0"><com:Name>D</com:Name>'
        '<str:DataStructureComponents><str:DimensionList id="DimensionDescriptor">'
        f"{''.join(parts)}</str:DimensionList></str:DataStructureComponents></str:DataStructure></str:DataStructures>"
    )


def dataflow(id_: str = "FLOW", version: str = "1.0") -> str:
    return (
        f'<str:Dataflows><str:Dataflow agencyID="T" id="{id_}" version="{version}"><com:Name>F</com:Name>'
        '<str:Structure><Ref agencyID="T" id="DSD" version="1.0" package="datastructure" class="DataStructure"/>'
        "</str:Structure></str:Dataflow></str:Dataflows>"
    )


def constraint(regions: str, *, id_: str = "CC", dataflow: str | None = "FLOW") -> str:
    target = (
        '<str:DataStructure><Ref agencyID="T" id="DSD" version="1.0"/></str:DataStructure>'
        if dataflow is None
        else f'<str:Dataflow><Ref agencyID="T" id="{dataflow}" version="1.0"/></str:Dataflow>'
    )
    return (
        f'<str:Constraints><str:ContentConstraint agencyID="T" id="{id_}" version="1.0" type="Actual">'
        f"<com:Name>C</com:Name><str:ConstraintAttachment>{target}</str:ConstraintAttachment>{regions}"
        "</str:ContentConstraint></str:Constraints>"
    )


@pytest.fixture
def load(tmp_path: Path) -> object:
    def load(*messages: str, language: str = "en") -> Structures:
        for number, text in enumerate(messages):
            (tmp_path / f"{number}.xml").write_text(text, encoding="utf-8")
        return load_structures([tmp_path], language=language)

    return load


def test_both_versions_of_the_imf_cpi_come_out_whole(shared_data: Path) -> None:
    structures = load_structures([shared_data / "imf-sdmx"])
    assert [str(dataset.id) for dataset in structures.datasets] == ["IMF.STA:CPI(4.0.0)", "IMF.STA:CPI(3.0.1)"]
    newest, older = structures.datasets
    keys = ["COUNTRY", "INDEX_TYPE", "COICOP_1999", "TYPE_OF_TRANSFORMATION", "FREQUENCY"]
    for dataset in structures.datasets:
        assert [dimension.id for dimension in dataset.dimensions] == keys
        assert dataset.time_dimension == "TIME_PERIOD"
        assert dataset.name == "Consumer Price Index (CPI)"
    lists = [str(one.codes.id) for one in newest.dimensions if one.codes]
    assert lists[:2] == ["IMF:CL_COUNTRY(1.5.1)", "IMF:CL_INDEX_TYPE(2.6.0)"]
    assert lists[3:] == ["IMF.STA:CL_CPI_TYPE_OF_TRANSFORMATION(4.0.0)", "IMF:CL_FREQ(1.0.3)"]
    country = newest.dimensions[0]
    assert country.codes.names["MEX"] == "Mexico"
    assert [len(one.available or ()) for one in newest.dimensions] == [202, 2, 13, 6, 3]
    assert [len(one.available or ()) for one in older.dimensions] == [201, 2, 13, 5, 3]
    assert older.dimensions[0].codes is country.codes, "a code list is built once"


def test_example_has_what_its_cases_need() -> None:
    structures = load_structures([EXAMPLE])
    outlook, harbour = structures.dataset("IMF.RES:WEO"), structures.dataset("ASSAY,HARBOUR,2.1")
    assert harbour is not None
    assert [one.id for one in outlook.dimensions] == ["COUNTRY", "INDICATOR", "FREQUENCY"]
    country, goods = outlook.dimensions[0].codes, harbour.dimensions[2].codes
    assert (country.names["NO"], goods.names["1.10"]) == ("Norway", "Fish, fresh or frozen")
    assert country.children["G7"] == (("CAN", "FRA", "DEU", "ITA", "JPN", "GBR", "USA"),)
    assert goods.children["1"] == (("1.1", "1.10", "1.2"),), "a list's own parents are a hierarchy, too"
    assert harbour.dimensions[1].all_codes == ("DNK", "FIN", "ISL", "NO", "SWE"), "in the list's order"


def test_stub_of_a_code_list_does_not_stand_for_the_real_one(load) -> None:
    stub = code_list("CL", "", more=' isExternalReference="true"')
    parts = [message(stub), message(data_structure("A" + enumeration("CL"))), message(code_list("CL", "x y"))]
    for order in (parts, parts[::-1]):
        dataset = load(*order).dataset("T:DSD")
        assert tuple(dataset.dimensions[0].codes.names) == ("x", "y")


def test_reference_picks_the_version_and_the_agency_that_it_names(load) -> None:
    structures = load(
        message(
            code_list("CL", "old"),
            code_list("CL", "new", version="2.0"),
            code_list("CL", "other", agency="U"),
            data_structure(
                "A" + enumeration("CL"), "B" + enumeration("CL", version="2.0"), "C" + enumeration("CL", agency="U")
            ),
        )
    )
    found = [tuple(one.codes.names) for one in structures.datasets[0].dimensions]
    assert found == [("old",), ("new",), ("other",)]


def test_code_list_that_is_not_at_hand_leaves_the_dimension_without_codes(load) -> None:
    (dataset,) = load(message(code_list("CL", "x"), data_structure("A" + enumeration("CL", version="9.0")))).datasets
    assert dataset.dimensions[0].codes is None
    assert dataset.dimensions[0].all_codes is None


def test_list_in_two_parts_is_merged(load) -> None:
    local = data_structure("A" + enumeration("CL"))
    (dataset,) = load(message(code_list("CL", "x y")), message(code_list("CL", "y z"), local)).datasets
    assert tuple(dataset.dimensions[0].codes.names) == ("x", "y", "z")


@pytest.mark.parametrize(
    ("language", "name"), [("en", "Norway"), ("fr", "Norvège"), ("fr-CA", "Norvège"), ("de", "Norway"), ("nb", "Norge")]
)
def test_names_are_in_the_language_asked_for_else_english_else_any(load, language: str, name: str) -> None:
    names = {"nb-NO": "Norge", "fr": "Norvège", "en": "Norway"}
    code = "".join(f'<com:Name xml:lang="{key}">{value}</com:Name>' for key, value in names.items())
    codes = f'<str:Code id="NO">{code}</str:Code><str:Code id="X"><com:Name xml:lang="sv">Någon</com:Name></str:Code>'
    lists = f'<str:Codelists><str:Codelist agencyID="T" id="CL" version="1.0">{codes}</str:Codelist></str:Codelists>'
    (dataset,) = load(message(lists, data_structure("A" + enumeration("CL"))), language=language).datasets
    assert dataset.dimensions[0].codes.names == {"NO": name, "X": "Någon"}


REGION = '<str:CubeRegion include="{0}">{1}</str:CubeRegion>'
KEY = '<com:KeyValue id="{0}"{2}>{1}</com:KeyValue>'
X, Y = "<com:Value>x</com:Value>", "<com:Value>y</com:Value>"


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        (REGION.format("true", KEY.format("A", X, "")), ("x",)),
        (f"<str:CubeRegion>{KEY.format('A', X, '')}</str:CubeRegion>", ("x",)),
        (REGION.format("true", KEY.format("A", X, ' include="false"')), ("y", "z")),
        (REGION.format("false", KEY.format("A", X, "")), ("y", "z")),
        (REGION.format("true", KEY.format("A", X, "")) + REGION.format("true", KEY.format("A", Y, "")), ("x", "y")),
        (REGION.format("false", KEY.format("A", X, "") + KEY.format("B", Y, "")), None),
        (REGION.format("true", KEY.format("B", Y, "")), None),
    ],
    ids=["included", "by default", "member excluded", "excluded", "two regions", "combination", "other dimension"],
)
def test_constraint_says_which_codes_have_data(load, regions: str, expected: tuple[str, ...] | None) -> None:
    lists = code_list("CL", "x y z")
    structure = data_structure("A" + enumeration("CL"), "B" + enumeration("CL"))
    dimension = load(message(dataflow(), lists, structure, constraint(regions))).datasets[0].dimensions[0]
    assert dimension.available == (None if expected is None else frozenset(expected))
    assert dimension.all_codes == (expected or ("x", "y", "z"))
    assert dimension.all_codes is dimension.all_codes, "found once"


def test_constraint_of_a_data_structure_holds_for_its_dataflows_but_not_where_it_names_one(load) -> None:
    parts = (dataflow("FLOW"), dataflow("OTHER"), code_list("CL", "x y"), data_structure("A" + enumeration("CL")))
    only = REGION.format("true", KEY.format("A", X, ""))
    for id_, expected in (("CC", [("x",), ("x",)]), ("FLOW", [("x",), ("x", "y")])):
        structures = load(message(*parts, constraint(only, id_=id_, dataflow=None)))
        assert [one.dimensions[0].all_codes for one in structures.datasets] == expected


def test_code_at_two_places_of_a_hierarchy_keeps_its_parents(load) -> None:
    def node(code: str, *below: str) -> str:
        reference = f'<Ref agencyID="T" maintainableParentID="CL" maintainableParentVersion="1.0" id="{code}"/>'
        return (
            f'<str:HierarchicalCode id="{code}"><str:Code>{reference}</str:Code>{"".join(below)}</str:HierarchicalCode>'
        )

    def hierarchy(id_: str, *nodes: str) -> str:
        return f'<str:Hierarchy id="{id_}">{"".join(nodes)}</str:Hierarchy>'

    trees = hierarchy("H1", node("x"), node("G", node("x"), node("y"))) + hierarchy("H2", node("G", node("y")))
    over = (
        '<str:HierarchicalCodelists><str:HierarchicalCodelist agencyID="T" id="H" version="1.0">'
        f"{trees}</str:HierarchicalCodelist></str:HierarchicalCodelists>"
    )
    (dataset,) = load(message(code_list("CL", "x y G"), over, data_structure("A" + enumeration("CL")))).datasets
    assert dataset.dimensions[0].codes.children == {"G": (("x", "y"), ("y",))}


def test_sdmx_3_list_takes_codes_from_another(load) -> None:
    def extension(prefix: str, selection: str, values: str) -> str:
        chosen = "".join(f"<str:MemberValue>{value}</str:MemberValue>" for value in values.split())
        return (
            f'<str:CodelistExtension prefix="{prefix}"><str:Codelist>urn:sdmx:org.sdmx.infomodel.codelist.Codelist='
            f"T:BASE(1.0)</str:Codelist><str:{selection}>{chosen}</str:{selection}></str:CodelistExtension>"
        )

    own = code_list("CL", "own").replace(
        "<str:Code ",
        extension("P_", "InclusiveCodeSelection", "a%")
        + extension("", "ExclusiveCodeSelection", "a1 b")
        + "<str:Code ",
        1,
    )
    urn = "urn:sdmx:org.sdmx.infomodel.codelist.Codelist=T:CL(1.0)"
    local = f"<str:LocalRepresentation><str:Enumeration>{urn}</str:Enumeration></str:LocalRepresentation>"
    structure = data_structure("A" + local)
    start, end = structure.index("<Ref"), structure.index("</str:ConceptIdentity>")
    structure = f"{structure[:start]}urn:sdmx:org.sdmx.infomodel.conceptscheme.Concept=T:CS(1.0).A{structure[end:]}"
    (dataset,) = load(message(own, code_list("BASE", "a1 a2 b c"), structure, version="v3_0")).datasets
    assert tuple(dataset.dimensions[0].codes.names) == ("P_a1", "P_a2", "a2", "c", "own")


def test_cases_and_answers_of_the_example_belong_together() -> None:
    from ruamel.yaml import YAML

    cases = YAML(typ="safe").load(demo.sdmx_path("cases.yaml").read_text("utf-8"))
    lines = demo.sdmx_path("predictions.jsonl").read_text("utf-8").splitlines()
    answers = {answer["id"]: answer for answer in map(json.loads, lines)}
    assert [case["id"] for case in cases] == list(answers)
    assert len(cases) == 12
    assert {len(case["conversation"]) - len(answers[case["id"]].get("turns", [1])) for case in cases} == {0}


def test_without_lxml_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)
    monkeypatch.setitem(sys.modules, "lxml.etree", None)
    with pytest.raises(MissingDependency, match=r"'lxml': run .*pip install 'lxml>="):
        load_structures([EXAMPLE])


def test_one_path_instead_of_a_list_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="list"):
        load_structures(str(tmp_path))
    with pytest.raises(InputError, match="no SDMX structures"):
        load_structures([tmp_path])
