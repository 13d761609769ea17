"""Read the records of YAML files of SDMX cases; scalars are texts as written (``NO``, ``1.10``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.cases.sdmx.record import Record, is_null_node, record_of_node
from assay.cases.sdmx.values import Null
from assay.cases.text.decoding import read_text
from assay.cases.text.yaml import Builder, nodes_of

WRAPPER = "cases"
"""The key under which a document may keep its list of records."""


def yaml_records(path: Path) -> Iterator[Record]:
    """The records of a YAML file: entries of lists (also of one under ``cases``), or whole documents.

    Raises CaseFileError with line and column where the file is no YAML, or a mapping repeats a key.
    """
    build = Builder(path, _scalar)
    for node in nodes_of(path, read_text(path)):
        listed = node
        if node.id == "mapping" and [key.value for key, _ in node.value] == [WRAPPER]:
            listed = node.value[0][1]
        if listed.id == "sequence":
            # Built in one go, so that an anchor that contains itself is always found.
            values = build.value(listed)
            assert isinstance(values, list)
            for value, entry in zip(values, listed.value, strict=True):
                yield record_of_node(value, entry, alone=False)
        elif not is_null_node(node):
            yield record_of_node(build.value(node), node, alone=True)


def _scalar(node: Any) -> object:
    return Null(str(node.value)) if is_null_node(node) else str(node.value)
