"""One set of structures, written in every edition of SDMX-ML and SDMX-JSON and packed in every way, reads the same."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import InputError
from assay.sdmx.structures import documents, load
from assay.sdmx.structures.catalogue import Catalogue
from assay.sdmx.structures.documents import add_document
from assay.sdmx.structures.known import DatasetStructure
from assay.sdmx.structures.load import load_structures
from many_cases import each

EXAMPLE = Path(__file__).parents[2] / "src" / "assay" / "demo" / "sdmx" / "structures.xml"
URN = "urn:sdmx:org.sdmx.infomodel."
AREAS = (("EU", None), ("NO", None), ("SE", "EU"), ("DK", "EU"))
"""Codes with their parents."""
AVAILABLE = ("NO", "SE")


def xml(edition: str) -> str:
    """The structures in SDMX-ML 2.1, 3.0 or 3.1."""
    newer = edition != "2_1"

    def ref(kind: str, id_: str, item: str | None = None) -> str:
        if newer:
            version = "1+.0" if id_ == "CL" else "1.0"
            return f"{URN}{kind}=T:{id_}({version}){f'.{item}' if item else ''}"
        if item:
            return f'<Ref agencyID="T" maintainableParentID="{id_}" maintainableParentVersion="1.0" id="{item}"/>'
        return f'<Ref agencyID="T" id="{id_}" version="1.0"/>'

    def name(text: str) -> str:
        return f'<c:Name xml:lang="de">{text} (deutsch)</c:Name><c:Name>{text}</c:Name>'

    def opening(kind: str, id_: str, version: str = "1.0") -> str:
        return f'<s:{kind} agencyID="T" id="{id_}" version="{version}">{name(id_)}'

    def parent(code: str) -> str:
        return f"<s:Parent>{code}</s:Parent>" if newer else f'<s:Parent><Ref id="{code}"/></s:Parent>'

    areas = "".join(
        f'<s:Code id="{code}"><c:Annotations><c:Annotation><c:AnnotationTitle>x</c:AnnotationTitle></c:Annotation>'
        f"</c:Annotations>{name(f'{code} name')}{parent(above) if above else ''}</s:Code>"
        for code, above in AREAS
    )
    enumeration = f"<s:Enumeration>{ref('codelist.Codelist', 'CL')}</s:Enumeration>"
    concept = (
        f'<s:Concept id="AREA">{name("Area")}<s:CoreRepresentation>{enumeration}</s:CoreRepresentation></s:Concept>'
    )
    identity = "<s:ConceptIdentity>{}</s:ConceptIdentity>"
    item = "ValueItem" if newer else "Code"
    units = f'<s:{item} id="$">{name("Dollar")}</s:{item}><s:{item} id="€">{name("Euro")}</s:{item}>'
    value_list = "ValueList" if newer else "Codelist"
    unit_list = f"<s:Enumeration>{ref(f'codelist.{value_list}', 'VL')}</s:Enumeration>"
    dimensions = (
        f'<s:Dimension id="AREA">{identity.format(ref("conceptscheme.Concept", "CS", "AREA"))}</s:Dimension>'
        f'<s:Dimension id="UNIT">{identity.format(ref("conceptscheme.Concept", "CS", "UNIT"))}'
        f"<s:LocalRepresentation>{unit_list}</s:LocalRepresentation></s:Dimension>"
        f'<s:TimeDimension id="TIME">{identity.format(ref("conceptscheme.Concept", "CS", "TIME"))}</s:TimeDimension>'
    )
    constraint = {"2_1": "ContentConstraint", "3_0": "DataConstraint", "3_1": "AvailabilityConstraint"}[edition]
    key = "s" if newer else "c"
    values = "".join(f"<{key}:Value>{code}</{key}:Value>" for code in AVAILABLE)
    named = 'agencyID="T" id="CC" version="1.0"' if edition != "3_1" else ""
    node = f"<s:Code>{ref('codelist.Code', 'CL', '{}')}</s:Code>"
    tree = (
        f'<s:HierarchicalCode id="1">{node.format("NO")}<s:HierarchicalCode id="2">{node.format("DK")}'
        "</s:HierarchicalCode></s:HierarchicalCode>"
    )
    hierarchy = f"<s:Hierarchies>{opening('Hierarchy', 'H')}{tree}</s:Hierarchy></s:Hierarchies>"
    if not newer:
        hierarchy = (
            f"<s:HierarchicalCodelists>{opening('HierarchicalCodelist', 'H')}<s:Hierarchy id='H1'>{tree}</s:Hierarchy>"
            "</s:HierarchicalCodelist></s:HierarchicalCodelists>"
        )
    lists = f"<s:Codelists>{opening('Codelist', 'CL', '1.2.0')}{areas}</s:Codelist>"
    if newer:
        lists += f"</s:Codelists><s:ValueLists>{opening('ValueList', 'VL')}{units}</s:ValueList></s:ValueLists>"
    else:
        lists = lists.replace("1.2.0", "1.0") + f"{opening('Codelist', 'VL')}{units}</s:Codelist></s:Codelists>"
    base = f"http://www.sdmx.org/resources/sdmxml/schemas/v{edition}/"
    spaces = " ".join(f'xmlns:{one[0]}="{base}{one}"' for one in ("message", "structure", "common"))
    schemes = "ConceptSchemes" if newer else "Concepts"
    uncoded = '<s:Concept id="UNIT"/><s:Concept id="TIME"/>'
    return (
        f"<m:Structure {spaces}><m:Header><m:ID>x</m:ID></m:Header><m:Structures>{lists}"
        f"<s:{schemes}>{opening('ConceptScheme', 'CS')}{concept}{uncoded}</s:ConceptScheme></s:{schemes}>"
        f"<s:DataStructures>{opening('DataStructure', 'DSD')}<s:DataStructureComponents><s:DimensionList>{dimensions}"
        "</s:DimensionList></s:DataStructureComponents></s:DataStructure></s:DataStructures>"
        f"<s:Dataflows>{opening('Dataflow', 'FLOW')}<s:Structure>"
        f"{ref('datastructure.DataStructure', 'DSD')}</s:Structure></s:Dataflow></s:Dataflows>{hierarchy}"
        f"<s:Constraints><s:{constraint} {named}><s:ConstraintAttachment>"
        f"<s:Dataflow>{ref('datastructure.Dataflow', 'FLOW')}</s:Dataflow></s:ConstraintAttachment><s:CubeRegion>"
        f'<{key}:KeyValue id="AREA">{values}</{key}:KeyValue></s:CubeRegion></s:{constraint}></s:Constraints>'
        "</m:Structures></m:Structure>"
    )


def message(edition: str) -> dict[str, Any]:
    """The structures in SDMX-JSON 1.0, 2.0 or 2.1."""
    newer = edition != "1.0"

    def artefact(id_: str, version: str = "1.0", **more: object) -> dict[str, object]:
        names = {"de": f"{id_} (deutsch)", "en": id_}
        return {"id": id_, "agencyID": "T", "version": version, "name": id_, "names": names, **more}

    def item(id_: str, text: str, **more: object) -> dict[str, object]:
        return {"id": id_, "name": text, "names": {"de": f"{text} (deutsch)", "en": text}, **more}

    codes = [item(code, f"{code} name", **({"parent": above} if above else {})) for code, above in AREAS]
    units = [item("$", "Dollar"), item("€", "Euro")]
    listed = f"{URN}codelist.Codelist=T:CL({'1+.0' if newer else '1.0'})"
    unit_list = f"{URN}codelist.{'ValueList' if newer else 'Codelist'}=T:VL(1.0)"

    def concept(id_: str) -> str:
        return f"{URN}conceptscheme.Concept=T:CS(1.0).{id_}"

    time = {"id": "TIME", "conceptIdentity": concept("TIME"), "localRepresentation": {"format": {}}}
    dimensions = {
        "dimensions": [
            {
                "id": "UNIT",
                "position": 2,
                "conceptIdentity": concept("UNIT"),
                "localRepresentation": {"enumeration": unit_list},
            },
            {"id": "AREA", "position": 1, "conceptIdentity": concept("AREA")},
        ],
        **({"timeDimension": time} if newer else {"timeDimensions": [time]}),
    }
    values: list[object] = list(AVAILABLE) if not newer else [{"value": code} for code in AVAILABLE]
    constraint = {
        "constraintAttachment": {"dataflows": [f"{URN}datastructure.Dataflow=T:FLOW(1.0)"]},
        "cubeRegions": [{"include" if newer else "isIncluded": True, "keyValues": [{"id": "AREA", "values": values}]}],
    }
    tree = [
        {
            "id": "1",
            "code": f"{URN}codelist.Code=T:CL(1.0).NO",
            "hierarchicalCodes": [{"id": "2", "code": f"{URN}codelist.Code=T:CL(1.0).DK"}],
        }
    ]
    data: dict[str, object] = {
        "codelists": [artefact("CL", "1.2.0" if newer else "1.0", codes=codes)],
        "conceptSchemes": [
            artefact(
                "CS",
                concepts=[
                    item("AREA", "Area", coreRepresentation={"enumeration": listed}),
                    {"id": "UNIT"},
                    {"id": "TIME"},
                ],
            )
        ],
        "dataStructures": [artefact("DSD", dataStructureComponents={"dimensionList": dimensions})],
        "dataflows": [artefact("FLOW", structure=f"{URN}datastructure.DataStructure=T:DSD(1.0)")],
    }
    if newer:
        data["valueLists"] = [artefact("VL", valueItems=units)]
        # The code in the hierarchy is of the version that is there
        data["hierarchies"] = [artefact("H", hierarchicalCodes=json.loads(json.dumps(tree).replace("(1.0)", "(1+.0)")))]
    else:
        data["codelists"].append(artefact("VL", codes=units))  # type: ignore[attr-defined]
        data["hierarchicalCodelists"] = [artefact("H", hierarchies=[{"id": "H1", "hierarchicalCodes": tree}])]
    key = {"1.0": "contentConstraints", "2.0": "dataConstraints", "2.1": "availabilityConstraints"}[edition]
    data[key] = [constraint if edition == "2.1" else {**artefact("CC"), **constraint}]
    return {"meta": {"schema": f"https://json.sdmx.org/{edition}/sdmx-json-structure-schema.json"}, "data": data}


WRITTEN = {
    **{f"SDMX-ML {edition.replace('_', '.')}": xml(edition).encode() for edition in ("2_1", "3_0", "3_1")},
    **{f"SDMX-JSON {edition}": json.dumps(message(edition)).encode() for edition in ("1.0", "2.0", "2.1")},
}


def read(content: bytes, folder: Path, name: str = "given.xml", language: str = "en") -> DatasetStructure:
    path = folder / name
    path.write_bytes(content)
    structures = load_structures([path], language=language)
    assert structures.notes == ()
    (dataset,) = structures.datasets
    return dataset


def check(dataset: DatasetStructure, suffix: str = "") -> None:
    assert (str(dataset.id), dataset.name, dataset.time_dimension) == ("T:FLOW(1.0)", f"FLOW{suffix}", "TIME")
    area, unit = dataset.dimensions
    assert (area.id, area.name, unit.id) == ("AREA", f"Area{suffix}", "UNIT")
    assert unit.codes is not None
    assert area.codes.names == {code: f"{code} name{suffix}" for code, _ in AREAS}
    assert unit.codes.names == {"$": f"Dollar{suffix}", "€": f"Euro{suffix}"}
    assert area.codes.children == {"EU": (("SE", "DK"),), "NO": (("DK",),)}
    assert (area.all_codes, unit.all_codes) == (AVAILABLE, ("$", "€"))
    assert (area.codes.whole, area.missing, unit.missing) == (True, None, None)


@each("edition", WRITTEN)
def test_every_edition_reads_the_same(edition: str, tmp_path: Path) -> None:
    check(read(WRITTEN[edition], tmp_path))
    check(read(WRITTEN[edition], tmp_path, language="de-AT"), " (deutsch)")


def zipped(content: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "no structures")
        archive.writestr("__MACOSX/._given.xml", b"\x00")
        archive.writestr("deep/given.xml", content)
    return held.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "BOM": lambda content: b"\xef\xbb\xbf" + content,
    "UTF-16": lambda content: content.decode().encode("utf-16"),
    "UTF-16 big": lambda content: b"\xfe\xff" + content.decode().encode("utf-16-be"),
    "blanks before": lambda content: b"\n  \t" + content,
    "gzip": gzip.compress,
    "zip": zipped,
}


@each("way", PACKED)
@each("edition", ["SDMX-ML 3.0", "SDMX-JSON 2.0"])
def test_every_way_of_packing_reads_the_same(way: str, edition: str, tmp_path: Path) -> None:
    check(read(PACKED[way](WRITTEN[edition]), tmp_path))


def test_other_ways_to_send_the_same_message(tmp_path: Path) -> None:
    whole = xml("2_1")
    check(read(b'<?xml version="1.0" encoding="utf-16"?>' + whole.encode(), tmp_path), "")
    soap = f'<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>{whole}</e:Body></e:Envelope>'
    check(read(soap.encode(), tmp_path))
    prefixed = whole.replace("<m:", "<s2:").replace("</m:", "</s2:").replace("xmlns:m=", "xmlns:s2=")
    check(read(prefixed.encode(), tmp_path))
    parts = tmp_path / "parts"
    parts.mkdir()
    for place, (head, kind) in enumerate((("<s:Codelists>", "</s:Codelists>"), ("<s:Concepts>", "</s:Concepts>"))):
        start, end = whole.index(head), whole.index(kind) + len(kind)
        envelope = whole[: whole.index("<s:Codelists>")], "</m:Structures></m:Structure>"
        (parts / f"{place}.xml.gz").write_bytes(gzip.compress(whole[start:end].join(envelope).encode()))
    rest = whole[: whole.index("<s:Codelists>")] + whole[whole.index("<s:DataStructures>") :]
    (parts / "z.json").write_bytes(b"[]")
    (parts / "z.xml").write_text(rest)
    check(load_structures([parts]).datasets[0])


@each(
    ("content", "says"),
    [
        (b"PK\x03\x04 and no more", "ZIP archive that cannot be unpacked"),
        (b"\x1f\x8b\x08 and no more", "gzipped and"),
        (gzip.compress(WRITTEN["SDMX-ML 2.1"])[:-9], "gzipped and ends too early"),
        (b"\xff\xfe{\x00\x00\xd8", "UTF-16"),
        (b'{"data": [}', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"<a>" * 5_000, "not well-formed XML"),
        (b'{"data": {"codelists": 3}}', "not an SDMX structure message"),
        (b'{"errors": [{"code": 404, "title": "no such dataflow"}]}', "is a service's error"),
        (b'{"Codelist": [{"id": "CL"}]}', "Fusion-JSON"),
        (
            b'<Structure xmlns="http://www.SDMX.org/resources/SDMXML/schemas/v2_0/message"><CodeLists/></Structure>',
            "SDMX-ML 2.0, which is not supported",
        ),
        (
            b'<Error xmlns="http://www.sdmx.org/x"><ErrorMessage code="100"><T>No results</T></ErrorMessage></Error>',
            "is a service's error, not a structure message: No results",
        ),
        (
            b'<e:Envelope xmlns:e="x"><e:Body><e:Fault><faultstring>Down</faultstring></e:Fault></e:Body></e:Envelope>',
            "not a structure message: Down",
        ),
    ],
)
def test_what_holds_no_structures_is_named(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "given.xml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_structures([path])
    assert str(caught.value).startswith(f'"{path}" is ')
    assert says in str(caught.value)


def test_a_packed_document_is_unpacked_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_BYTES", 1 << 20)
    for name, content in (("a.xml.gz", gzip.compress(bytes(1 << 24))), ("a.zip", zipped(bytes(1 << 24)))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match="has more than 1 MiB"):
            load_structures([tmp_path / name])


def test_a_message_of_an_empty_answer_is_said(tmp_path: Path) -> None:
    whole = xml("3_0")
    (tmp_path / "empty.xml").write_text(whole[: whole.index("<m:Structures>")] + "</m:Structure>")
    structures = load_structures([tmp_path])
    assert structures.datasets == ()
    assert structures.notes == (f'"{tmp_path / "empty.xml"}" is a structure message without any structures',)


def test_artefacts_of_json_that_cannot_be_read_are_named_and_the_others_are_read(tmp_path: Path) -> None:
    value = message("2.0")
    value["data"]["codelists"] += [7, {"agencyID": "T"}, {"id": "CL2", "agencyID": "T", "codes": [{"id": 3}]}]
    value["data"]["dataStructures"].append({"id": "D2", "dataStructureComponents": {"dimensionList": {}}})
    value["data"]["dataStructures"].append({"id": "D3", "dataStructureComponents": {"dimensionList": []}})
    value["data"]["hierarchies"] = {}
    path = tmp_path / "given.json"
    path.write_text(json.dumps(value))
    structures = load_structures([path])
    assert [note.removeprefix(f'"{path}": ') for note in structures.notes] == [
        "the item 2 of codelists cannot be read: the artefact is a number, expected an object",
        "the item 3 of codelists cannot be read: it has no id",
        'the codelists T:CL2 cannot be read: "codes[0].id" is a number, expected a text',
        "the dataStructures D2 cannot be read: it has no dimensions",
        'the dataStructures D3 cannot be read: "dataStructureComponents.dimensionList" is a list, expected an object',
        '"hierarchies" cannot be read: it is not a list',
    ]
    dataset = structures.dataset("T:FLOW")
    assert dataset.dimensions[0].all_codes == AVAILABLE


@each("partial", [True, False])
@each("edition", ["SDMX-ML 3.0", "SDMX-JSON 2.0"])
def test_a_part_of_a_list_says_nothing_of_codes_that_it_lacks(edition: str, partial: bool, tmp_path: Path) -> None:
    content = WRITTEN[edition].decode()
    if partial:
        content = content.replace('id="CL"', 'id="CL" isPartial="true"').replace(
            '{"id": "CL",', '{"id": "CL", "isPartial": true,'
        )
    area = read(content.encode(), tmp_path).dimensions[0]
    assert area.codes.whole is not partial
    whole = read(WRITTEN[edition], tmp_path, "whole.xml").dimensions[0]
    (tmp_path / "given.xml").write_bytes(content.encode())
    both = load_structures([tmp_path / "given.xml", tmp_path / "whole.xml"]).datasets[0].dimensions[0]
    assert both.codes == whole.codes, "the whole list is there, too"


def test_what_is_missing_is_known_by_name(tmp_path: Path) -> None:
    def missing(content: str) -> list[str | None]:
        return [one.missing for one in read(content.encode(), tmp_path).dimensions]

    whole = xml("3_0")
    assert missing(whole.replace('id="VL"', 'id="OTHER"', 1)) == [None, "code list T:VL(1.0)"]
    assert missing(whole.replace('id="CS"', 'id="OTHER"', 1)) == ["concept scheme T:CS(1.0)", None]
    stub = whole.replace('agencyID="T" id="CL"', 'agencyID="T" isExternalReference="true" id="CL"', 1)
    assert missing(stub) == ["code list T:CL(1+.0)", None]
    urn = f"{URN}codelist.Codelist=T:BASE(1.0)"
    extended = whole.replace(
        "</s:Codelist>", f"<s:CodelistExtension><s:Codelist>{urn}</s:Codelist></s:CodelistExtension></s:Codelist>", 1
    )
    assert missing(extended) == ["code list T:BASE(1.0), from which T:CL(1.2.0) takes codes", None]
    area = read(extended.encode(), tmp_path).dimensions[0]
    assert not area.codes.whole


def test_a_value_of_a_constraint_may_stand_for_many(tmp_path: Path) -> None:
    whole = xml("3_0")
    values = "".join(f"<s:Value>{code}</s:Value>" for code in AVAILABLE)

    def available(said: str) -> frozenset[str] | None:
        return read(whole.replace(values, said).encode(), tmp_path).dimensions[0].available

    assert available("<s:Value>%E</s:Value>") == {"SE"}
    assert available('<s:Value cascadeValues="true">EU</s:Value>') == {"EU", "SE", "DK"}
    assert available('<s:Value cascadeValues="excluderoot">EU</s:Value>') == {"SE", "DK"}
    keys = "".join(
        f'<s:Key><s:KeyValue id="AREA"><s:Value>{code}</s:Value></s:KeyValue></s:Key>' for code in ("NO", "DK", "XX")
    )
    start, end = whole.index("<s:CubeRegion>"), whole.index("</s:CubeRegion>") + len("</s:CubeRegion>")
    sets = f'{whole[:end]}<s:DataKeySet isIncluded="true">{keys}</s:DataKeySet>{whole[end:]}'
    assert read(sets.encode(), tmp_path).dimensions[0].available == {"NO"}, "what lies in both"
    only = f'{whole[:start]}<s:DataKeySet isIncluded="false">{keys}</s:DataKeySet>{whole[end:]}'
    assert read(only.encode(), tmp_path).dimensions[0].available == {"EU", "SE"}


def test_lists_that_take_from_one_another_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes all codes of the next twice: in 40 steps there would be 2 to the 40."""
    monkeypatch.setattr(load, "_MOST_TAKEN", 20_000)

    def taking(id_: int | str, prefix: str) -> str:
        urn = f"{URN}codelist.Codelist=T:L{id_}(1.0)"
        return f'<s:CodelistExtension prefix="{prefix}"><s:Codelist>{urn}</s:Codelist></s:CodelistExtension>'

    def lists(count: int, *, twice: bool) -> str:
        return "".join(
            f'<s:Codelist agencyID="T" id="L{place}" version="1.0"><s:Code id="X"/>{taking(place + 1, "a")}'
            f"{taking(place + 1, 'b') if twice else ''}</s:Codelist>"
            for place in range(count)
        )

    def area(count: int, last: str, *, twice: bool) -> Any:
        added = f"{lists(count, twice=twice)}{last}</s:Codelists>"
        whole = xml("3_0").replace("</s:Codelists>", added).replace("T:CL(1+.0)", "T:L0(1.0)")
        (tmp_path / "given.xml").write_text(whole)
        structures = load_structures([tmp_path / "given.xml"])
        assert all("a constraint allows no code of AREA" in note for note in structures.notes)
        return structures.datasets[0].dimensions[0]

    end = '<s:Codelist agencyID="T" id="L{}" version="1.0"><s:Code id="END"/></s:Codelist>'
    few = area(3, end.format(3), twice=True)
    assert sum(code.endswith("END") for code in few.codes.names) == 8
    assert (few.codes.whole, few.missing) == (True, None)
    many = area(40, end.format(40), twice=True)
    assert many.codes.whole is False
    assert area(3000, end.format(3000), twice=False).codes.whole is False
    around = area(3, end.format(3).replace("</s:Codelist>", f"{taking(0, 'c')}</s:Codelist>"), twice=False)
    assert tuple(around.codes.names) == ("aaaEND", "aaX", "aX", "X")


@each("version", ["²", "9" * 5000, "1.٣", "", "1..0", "+", "1.0.0-draft", "*.*"])
def test_odd_versions_harm_nothing(version: str, tmp_path: Path) -> None:
    whole = xml("2_1").replace('version="1.0"', f'version="{version}"')
    check_lists = load_structures([_written(tmp_path, whole)]).datasets
    assert [one.id.id for one in check_lists] == ["FLOW"]


def _written(folder: Path, text: str) -> Path:
    path = folder / "given.xml"
    path.write_text(text, "utf-8")
    return path


def test_a_measure_dimension_has_the_concepts_of_its_scheme(tmp_path: Path) -> None:
    whole = xml("2_1")
    start = whole.index('<s:Dimension id="UNIT">')
    end = whole.index("</s:Dimension>", start) + len("</s:Dimension>")
    scheme = '<s:Enumeration><Ref agencyID="T" id="CS" version="1.0" class="ConceptScheme"/></s:Enumeration>'
    measure = f'<s:MeasureDimension id="M"><s:LocalRepresentation>{scheme}</s:LocalRepresentation></s:MeasureDimension>'
    dimension = read((whole[:start] + measure + whole[end:]).encode(), tmp_path).dimensions[1]
    assert (dimension.id, dimension.all_codes) == ("M", ("AREA", "UNIT", "TIME"))


@each("seed", range(12))
def test_damaged_messages_are_read_or_named(seed: int) -> None:
    chance = random.Random(seed)
    originals = [*WRITTEN.values(), EXAMPLE.read_bytes(), zipped(WRITTEN["SDMX-ML 3.1"])]
    for _ in range(150):
        content = bytearray(chance.choice(originals))
        for _ in range(chance.choice((1, 1, 3, 10))):
            place = chance.randrange(len(content))
            match chance.randrange(4):
                case 0:
                    del content[place:]
                    content += b" "
                case 1:
                    del content[place : place + chance.choice((1, 5, 200))]
                    content += b" "
                case 2:
                    content[place:place] = chance.choice(
                        (b'"', b"<", b"&x;", b"\xff", b"id", b"null", b"[", b"urn:", b"%")
                    )
                case _:
                    content[place] = chance.randrange(256)
        catalogue = Catalogue()
        try:
            add_document(catalogue, bytes(content), where="the file", language="en")
        except InputError as error:
            catalogue.notes.append(str(error))
        assert all(note.startswith("the file") for note in catalogue.notes)


def test_the_messages_of_publishers_are_read(shared_data: Path) -> None:
    folder = shared_data / "sdmx-messages"
    if not folder.is_dir():
        pytest.skip("the publishers' messages are not at hand")
    structures = load_structures([folder])
    assert len(structures.datasets) > 10
    unread = [note for note in structures.notes if "cannot be read" in note]
    assert [note.rpartition("cannot be read: ")[2] for note in unread] == ["it has no dimensions"]
    named = structures.dataset("IMF.RES:WEO")
    assert named is not None
    assert os.fspath(folder) not in str(named)
    assert named.dimensions[0].missing == "code list IMF.RES:CL_WEO_COUNTRY(1.0.1)"


@each("edition", ["SDMX-ML 2.1", "SDMX-ML 3.0", "SDMX-ML 3.1", "SDMX-JSON 1.0", "SDMX-JSON 2.0"])
def test_a_list_with_a_code_that_cannot_be_read_does_not_say_that_it_is_whole(edition: str, tmp_path: Path) -> None:
    content = WRITTEN[edition].decode()
    without = content.replace('<s:Code id="DK">', "<s:Code>", 1).replace('{"id": "DK", ', "{", 1)
    assert without != content
    (tmp_path / "given.xml").write_text(without)
    area = load_structures([tmp_path / "given.xml"]).datasets[0].dimensions[0]
    assert ("DK" in area.codes.names, area.codes.whole) == (False, False)


@pytest.mark.parametrize("edition", WRITTEN)
def test_a_concept_without_an_id_is_counted_and_the_others_are_read(edition: str, tmp_path: Path) -> None:
    content = WRITTEN[edition].decode()
    without = content.replace('<s:Concept id="TIME"/>', "<s:Concept/>").replace('{"id": "TIME"}', "{}")
    assert without != content
    (tmp_path / "given.xml").write_text(without)
    structures = load_structures([tmp_path / "given.xml"])
    (note,) = structures.notes
    assert note.endswith("T:CS is read in part: 1 of its concepts has no id")
    assert [one.name for one in structures.datasets[0].dimensions] == ["Area", None]


@pytest.mark.parametrize("edition", ["SDMX-ML 2.1", "SDMX-ML 3.0", "SDMX-JSON 2.0"])
def test_a_parent_that_is_no_code_has_no_children(edition: str, tmp_path: Path) -> None:
    content = WRITTEN[edition].decode()
    without = content.replace('<s:Code id="EU">', '<s:Code id="XX">', 1).replace('{"id": "EU", ', '{"id": "XX", ', 1)
    assert without != content
    area = read(without.encode(), tmp_path).dimensions[0]
    assert "EU" not in area.codes.names
    assert "EU" not in area.codes.children


@pytest.mark.parametrize("named", ["https://example.org/lists/area", "", "urn:sdmx:nothing"])
def test_a_list_whose_name_cannot_be_read_is_missing(named: str, tmp_path: Path) -> None:
    whole = xml("3_0")
    start = whole.index("<s:Enumeration>")
    old = whole[start : whole.index("</s:Enumeration>", start)]
    texts = [(whole.replace(old, f"<s:Enumeration>{named}"), ".xml")]
    value = message("2.0")
    text = json.dumps(value)
    urn = next(part for part in text.split('"') if part.startswith(f"{URN}codelist.Codelist=T:CL("))
    if named:
        texts.append((text.replace(f'"enumeration": "{urn}"', f'"enumeration": "{named}"'), ".json"))
    for content, ending in texts:
        area = read(content.encode(), tmp_path, f"given{ending}").dimensions[0]
        assert (area.codes, area.missing) == (None, f"code list {named or 'without a name'}")
    extended = whole.replace(
        "</s:Codelist>", f"<s:CodelistExtension><s:Codelist>{named}</s:Codelist></s:CodelistExtension></s:Codelist>", 1
    )
    area = read(extended.encode(), tmp_path, "given.xml").dimensions[0]
    assert not area.codes.whole


@pytest.mark.parametrize(
    ("selection", "kept"),
    [
        ("", {"P_EU": (("P_NO", "P_SE"),), "P_NO": (("P_OSL",),)}),
        ("<s:InclusiveCodeSelection>{}</s:InclusiveCodeSelection>", {"P_NO": (("P_OSL",),)}),
        ("<s:ExclusiveCodeSelection>{}</s:ExclusiveCodeSelection>", {"P_EU": (("P_SE",),)}),
    ],
    ids=["all", "included", "excluded"],
)
def test_codes_that_a_list_takes_from_another_keep_their_parents(
    selection: str, kept: dict[str, object], tmp_path: Path
) -> None:
    whole = xml("3_0")
    member = '<s:MemberValue cascadeValues="true">NO</s:MemberValue>'
    extension = (
        f'<s:CodelistExtension prefix="P_"><s:Codelist>{URN}codelist.Codelist=T:BASE(1.0)</s:Codelist>'
        f"{selection.format(member)}</s:CodelistExtension></s:Codelist>"
    )
    codes = (("EU", ""), ("NO", "EU"), ("SE", "EU"), ("OSL", "NO"))
    base = "".join(
        f'<s:Code id="{code}">{f"<s:Parent>{above}</s:Parent>" if above else ""}</s:Code>' for code, above in codes
    )
    other = f'<s:Codelist agencyID="T" id="BASE" version="1.0">{base}</s:Codelist>'
    text = whole.replace("</s:Codelist>", f"{extension}{other}", 1)
    area = read(text.encode(), tmp_path).dimensions[0]
    assert {parent: below for parent, below in area.codes.children.items() if parent.startswith("P_")} == kept


@each(
    ("wanted", "found"),
    [("*", "1.1.0"), ("1.0+", "1.1.0"), ("2.0.0-draft", "2.0.0-draft"), ("1.0.0", "1.0"), ("0.9", None)],
)
def test_a_draft_is_taken_only_where_it_is_named(wanted: str, found: str | None, tmp_path: Path) -> None:
    whole = xml("3_0").replace("T:CL(1+.0)", f"T:CL({wanted})")
    assert f"T:CL({wanted})" in whole
    start = whole.index('<s:Codelist agencyID="T" id="CL"')
    end = whole.index("</s:Codelist>", start) + len("</s:Codelist>")
    lists = [
        re.sub('version="[^"]*"', f'version="{version}"', whole[start:end], count=1)
        for version in ("1.0", "1.1.0", "2.0.0-draft")
    ]
    text = whole[:start] + "".join(lists) + whole[end:]
    area = read(text.encode(), tmp_path).dimensions[0]
    assert (None if area.codes is None else area.codes.id.version) == found


@pytest.mark.parametrize("edition", ["SDMX-ML 2.1", "SDMX-ML 3.0", "SDMX-JSON 2.0"])
def test_a_constraint_of_other_codes_than_the_lists_is_not_used_and_named(edition: str, tmp_path: Path) -> None:
    content = WRITTEN[edition].decode()
    for code in AVAILABLE:
        content = content.replace(f"Value>{code}<", f"Value>X_{code}<").replace(
            f'{{"value": "{code}"}}', f'{{"value": "X_{code}"}}'
        )
    (tmp_path / "given.xml").write_text(content)
    structures = load_structures([tmp_path / "given.xml"])
    area = structures.datasets[0].dimensions[0]
    assert area.available is None
    assert [note for note in structures.notes if "a constraint allows no code of AREA" in note]
