"""How many SDMX structure messages are read, by Assay and by the packages sdmx1 and pysdmx, and whether they agree.

    python benchmarks/structure_readers.py FOLDER [--peers PYTHON]

FOLDER holds messages (``.xml``, ``.json``, at any depth); PYTHON is an interpreter that has sdmx1 and pysdmx.
A message is read by a reader that raises nothing. Compared are the codes of each list, the dimensions of each data
structure in their order, and the data structure of each dataflow. Prints one line a reader, then what differs and
what was refused.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import subprocess
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

Read = dict[str, dict[str, list[str]]]
"""By kind (``lists``, ``structures``, ``flows``), by ``AGENCY:ID(VERSION)``: codes, dimensions, the data structure."""


def main() -> int:
    """Read every message with every reader, and say how they compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter that has sdmx1 and pysdmx")
    parser.add_argument("--dump", choices=("sdmx1", "pysdmx"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    files = [one for one in sorted(given.folder.rglob("*")) if one.suffix in (".xml", ".json")]
    if given.dump:
        with contextlib.redirect_stdout(io.StringIO()):  # they print
            read = {str(file): _dumped(given.dump, file) for file in files}
        print(json.dumps(read))
        return 0
    own = {str(file): _with_assay(file) for file in files}
    messages = [str(file) for file in files if _is_structure_message(file)]
    _say("Assay", own, messages)
    for peer in ("sdmx1", "pysdmx") if given.peers else ():
        command = [given.peers, __file__, str(given.folder), "--dump", peer]
        read = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        _say(peer, read, messages)
        both = [name for name in messages if isinstance(own[name], dict) and isinstance(read[name], dict)]
        agreeing = [name for name in both if not _differences(own[name], read[name])]
        print(f"  of {len(both)} that both read, {len(agreeing)} agree")
        for name in both:
            for difference in _differences(own[name], read[name]):
                print(f"  {Path(name).relative_to(given.folder)}: {difference}")
    for name in messages:
        if isinstance(own[name], str):
            print(f"refused: {own[name]}")
    return 0


def _is_structure_message(file: Path) -> bool:
    """Whether a message says that it is of structures: its root, or the schema it names."""
    if file.suffix == ".json":
        try:
            value = json.loads(file.read_bytes())
        except ValueError:
            return False
        schema = str((value.get("meta") or {}).get("schema")) if isinstance(value, dict) else ""
        return "structure" in schema
    try:
        _, root = next(iter(ElementTree.iterparse(file, events=("start",))))
    except ElementTree.ParseError:
        return False
    return root.tag.rpartition("}")[2] == "Structure"


def _say(reader: str, read: dict[str, Read | str], messages: list[str]) -> None:
    fine = sum(isinstance(read[name], dict) for name in messages)
    print(f"{reader}: {fine} of {len(messages)} structure messages read")


def _differences(own: Read, other: Read) -> list[str]:
    found = []
    for kind, known in other.items():
        for name, values in known.items():
            if name not in own[kind]:
                found.append(f"{kind}: {name} is not there")
            elif own[kind][name] != values:
                missing = [one for one in values if one not in own[kind][name]]
                extra = [one for one in own[kind][name] if one not in values]
                found.append(
                    f"{kind}: {name} has {len(own[kind][name])}, not {len(values)}: -{missing[:5]} +{extra[:5]}"
                )
    return found


def _with_assay(file: Path) -> Read | str:
    from assay.errors import InputError
    from assay.sdmx.structures.catalogue import Catalogue
    from assay.sdmx.structures.documents import add_document

    catalogue = Catalogue()
    try:
        add_document(catalogue, file.read_bytes(), where=str(file), language="en")
    except InputError as error:
        return str(error)
    return {
        "lists": {str(name): sorted(codes.names) for name, codes in catalogue.code_lists.items()},
        "structures": {
            str(name): [one.id for one in said.dimensions] + ([said.time_dimension] if said.time_dimension else [])
            for name, said in catalogue.structures.items()
        },
        "flows": {
            str(name): [str(said.structure)] if said.structure else [] for name, said in catalogue.dataflows.items()
        },
    }


def _dumped(peer: str, file: Path) -> Read | str:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    try:
        return _with_sdmx1(file) if peer == "sdmx1" else _with_pysdmx(file)
    except Exception as error:  # noqa: BLE001 - peers raise whatever they ran into
        return f"{type(error).__name__}: {error}"


def _with_sdmx1(file: Path) -> Read:
    import sdmx

    def name(one) -> str:
        return f"{one.maintainer.id}:{one.id}({one.version})"

    message = sdmx.read_sdmx(file)
    own = [one for one in message.structure.values() if not one.is_external_reference]
    lists = [*message.codelist.values(), *getattr(message, "valuelist", {}).values()]
    return {
        "lists": {
            name(one): sorted(getattr(item, "id", item) for item in one.items)
            for one in lists
            if not one.is_external_reference
        },
        "structures": {name(one): [dimension.id for dimension in one.dimensions.components] for one in own},
        "flows": {
            name(one): [name(one.structure)] if one.structure is not None and one.structure.maintainer else []
            for one in message.dataflow.values()
            if not one.is_external_reference
        },
    }


def _with_pysdmx(file: Path) -> Read:
    from pysdmx.io import read_sdmx
    from pysdmx.model import Codelist, Dataflow, DataStructureDefinition

    def name(one) -> str:
        agency = one.agency if isinstance(one.agency, str) else one.agency.id
        return f"{agency}:{one.id}({one.version})"

    message = read_sdmx(file, validate=False)
    own = [one for one in message.structures or () if not getattr(one, "is_external_reference", False)]
    flows = {}
    for one in own:
        if isinstance(one, Dataflow):
            structure = one.structure
            said = structure.partition("=")[2] if isinstance(structure, str) else name(structure) if structure else ""
            flows[name(one)] = [said] if said else []
    return {
        "lists": {name(one): sorted(item.id for item in one.items) for one in own if isinstance(one, Codelist)},
        "structures": {
            name(one): [dimension.id for dimension in one.components.dimensions]
            for one in own
            if isinstance(one, DataStructureDefinition)
        },
        "flows": flows,
    }


if __name__ == "__main__":
    sys.exit(main())
