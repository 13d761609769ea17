"""One record of a file of SDMX cases or answers, and the places of its values."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from assay.cases.sdmx.values import Keys


class Record(Struct, frozen=True, kw_only=True):
    """One record of a file. Unquoted scalars are texts as written, or Null."""

    value: object
    place: str
    alone: bool
    """Whether the record is a whole document, and not an entry of a list."""
    node: Any = None
    """The YAML node of the record, which knows the line and column of each value."""

    def place_of(self, keys: Keys, *, at_key: bool) -> str:
        """The place of a value of this record: line and column, where known."""
        return self.place if self.node is None else _place(_found(self.node, keys, at_key=at_key))


def record_of_node(value: object, node: Any, *, alone: bool) -> Record:
    """A record of a YAML file."""
    return Record(value=value, place=f"line {node.start_mark.line + 1}", alone=alone, node=node)


def _found(node: Any, keys: Keys, *, at_key: bool) -> Any:
    """The node of a value, or the last existing node on the path to it."""
    for number, key in enumerate(keys):
        if node.id == "sequence" and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
        elif node.id == "mapping":
            pair = next(((own, value) for own, value in node.value if own.value == key), None)
            if pair is None:
                return node
            # For an empty value, ruamel's mark is at the text that follows.
            nothing = is_null_node(pair[1]) and not pair[1].value
            node = pair[0] if nothing or (at_key and number == len(keys) - 1) else pair[1]
    return node


def is_null_node(node: Any) -> bool:
    """Whether a node of a YAML file is null, written or left out."""
    return bool(node.tag == "tag:yaml.org,2002:null")


def _place(node: Any) -> str:
    return f"line {node.start_mark.line + 1}, column {node.start_mark.column + 1}"
