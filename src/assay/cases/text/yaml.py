"""Read YAML 1.2: ``NO`` is the text NO, and never false."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.cases.records import Table, document_table
from assay.cases.text.decoding import read_text
from assay.errors import CaseFileError

MOST_CHARACTERS = 16_000_000
"""A longer YAML text is refused: this much takes half a minute and 0.7 GB."""
_MANY_CHARACTERS = 1_000_000
"""From this size on, reading takes seconds, and a message says why."""

_MOST_DIGITS = 4000
"""A longer number stays a text: Python reads none of more than 4300 digits."""
_TAG = "tag:yaml.org,2002:"


def yaml_table(path: Path, *, encoding: str | None = None) -> Table:
    """The records of a YAML file, each with the line on which it begins. Raises CaseFileError with line and column.

    Values become texts, numbers, truth values and null by YAML 1.2's core schema. Dates stay text, and so does a number
    that would change by parsing (``007``, ``1_000``). Several documents in one file form one list.
    """
    nodes = nodes_of(path, read_text(path, encoding))
    build = Builder(path, _scalar)
    if len(nodes) == 1:
        return document_table(path, build.value(nodes[0]), _places(nodes[0]))
    return document_table(path, [build.value(node) for node in nodes], [line_of(node) for node in nodes])


def plain_document(path: Path, text: str) -> tuple[object, Any]:
    """The one document of a YAML text, None if it is empty, and ruamel's node of it, for the places of its values.

    Raises CaseFileError with line and column.
    """
    nodes = nodes_of(path, text)
    if len(nodes) > 1:
        raise CaseFileError("contains several documents: expected one", path=str(path), place=line_of(nodes[1]))
    return (Builder(path, _scalar).value(nodes[0]), nodes[0]) if nodes else (None, None)


def nodes_of(path: Path, text: str) -> list[Any]:
    """The documents of a YAML text as ruamel's nodes, without empty ones.

    Raises CaseFileError with line and column, and for a text that is too large for YAML.
    """
    if len(text) > MOST_CHARACTERS:
        raise CaseFileError(
            f"has {len(text):,} characters of YAML; the limit is {MOST_CHARACTERS:,}: this much "
            "takes YAML minutes. Write it as JSON Lines (.jsonl), one record a line, which has no such limit",
            path=str(path),
        )
    if len(text) > _MANY_CHARACTERS:
        warnings.warn(
            f"{path} has {len(text):,} characters of YAML; about 500,000 are read per second. As JSON Lines "
            "(.jsonl) it would be read a hundred times as fast",
            UserWarning,
            stacklevel=2,
        )
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = YAML(typ="safe", pure=True)
    # YAML lets an anchor's name be used again; ruamel would print a warning.
    yaml.composer.warn_double_anchors = False
    try:
        return [node for node in yaml.compose_all(text) if node is not None]
    except MarkedYAMLError as error:
        mark, reason = _fault(error)
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else None
        raise CaseFileError(f"is not valid YAML: {reason}", path=str(path), place=place) from error
    except YAMLError as error:
        raise CaseFileError(f"is not valid YAML: {str(error).splitlines()[0]}", path=str(path)) from error
    except RecursionError as error:
        raise CaseFileError("is nested too deeply to be read", path=str(path)) from error


_BEGUN = {
    "while scanning a simple key": "this is not a name with a value: write a colon and a space between them",
    "while scanning a quoted scalar": "this quotation mark is never closed",
    "while parsing a flow sequence": "this list has a fault, or no ] at its end",
    "while parsing a flow mapping": "this mapping has a fault, or no } at its end",
}
"""Messages for faults that are noticed only after they began, often at the end of the file."""
_PROBLEMS = {
    "'\\t' that cannot start": "a tab stands here: indent with blanks",
    "mapping values are not allowed": "no name with a value can stand here: indent names of one level alike, and put "
    "a text that contains a colon in quotation marks",
    "undefined alias": "no anchor above has this name: put a text that begins with * in quotation marks",
    "cannot start any token": "a text cannot begin with this character: put it in quotation marks",
}


def _fault(error: Any) -> tuple[Any, str]:
    """The location of a fault in the syntax, and what to do there."""
    problem = error.problem or error.context or "it breaks off"
    for part, said in _PROBLEMS.items():
        if part in problem:
            return error.problem_mark or error.context_mark, f"{said} ({problem})"
    if error.context in _BEGUN and error.context_mark:
        return error.context_mark, f"{_BEGUN[error.context]} ({problem})"
    return error.problem_mark or error.context_mark, problem


def _places(node: Any) -> list[str] | dict[str, str] | None:
    if node.id == "sequence":
        return [line_of(entry) for entry in node.value]
    if node.id == "mapping":
        return {str(key.value): line_of(key) for key, _ in node.value if key.id == "scalar"}
    return None


def is_null_node(node: Any) -> bool:
    """Whether a node is null, written or left out."""
    return bool(node.tag == _TAG + "null")


def line_of(node: Any) -> str:
    """The line on which a node begins."""
    return f"line {node.start_mark.line + 1}"


def location_of(node: Any, keys: Sequence[str | int], *, of_key: bool = False) -> str:
    """Line and column of the value that keys and positions lead to from a node, or of the value's key.

    For an empty value it is the key's, since ruamel marks the text that follows; for a value that was merged from
    elsewhere it is that of the mapping that contains it.
    """
    key = value = node
    for step in keys:
        if value.id == "sequence" and isinstance(step, int) and step < len(value.value):
            key = value = value.value[step]
            continue
        pairs = value.value if value.id == "mapping" else ()
        pair = next((pair for pair in pairs if pair[0].value == step), None)
        if pair is None:
            break
        key, value = pair
    marked = key if of_key or (is_null_node(value) and not value.value) else value
    return f"{line_of(marked)}, column {marked.start_mark.column + 1}"


_MOST_EXPANDED = 1_000_000
"""Values that a file may hold once its anchors are expanded, unless expanding adds few."""
_MOST_REPEATED = 10


class Builder:
    """Makes plain values from nodes. An anchor's value is made once, and shared by all its references.

    ``scalar`` makes the values of scalars.
    """

    def __init__(self, path: Path, scalar: Callable[[Any], object]) -> None:
        self._path = path
        self._scalar = scalar
        self._made: dict[int, object] = {}
        self._open: set[int] = set()
        self._sizes: dict[int, int] = {}
        self._count = 0

    def value(self, node: Any) -> object:
        """The value of a node.

        Raises CaseFileError for a repeated key, a key that is not text, an anchor that contains itself, and anchors
        that expand to too many values.
        """
        if node.id == "scalar":
            self._count += 1
            return self._scalar(node)
        known = self._made.get(id(node))
        if known is not None:
            return known
        if id(node) in self._open:
            raise self._error(node, f'the anchor "{node.anchor}" contains itself')
        self._open.add(id(node))
        made = [self.value(entry) for entry in node.value] if node.id == "sequence" else self._mapping(node)
        self._open.discard(id(node))
        self._made[id(node)] = made
        self._count += 1
        entries = node.value if node.id == "sequence" else [entry for _, entry in node.value]
        size = self._sizes[id(node)] = 1 + sum(self._sizes.get(id(entry), 1) for entry in entries)
        if size > _MOST_EXPANDED and size > _MOST_REPEATED * self._count:
            raise self._error(node, f"what its anchors stand for comes to more than {_MOST_EXPANDED:,} values")
        return made

    def _mapping(self, node: Any) -> dict[str, object]:
        merged: dict[str, object] = {}
        own: dict[str, object] = {}
        for key, entry in node.value:
            if key.tag == _TAG + "merge":
                value = self.value(entry)
                for part in reversed(value if isinstance(value, list) else [value]):
                    if not isinstance(part, dict):
                        raise self._error(entry, 'the value of "<<" is not a mapping')
                    merged.update(part)
                continue
            if key.id != "scalar":
                raise self._error(key, "a key is a list or a mapping: expected text")
            if key.value in own:
                raise self._error(key, f'one mapping has the key "{key.value}" more than once: take out or rename one')
            own[str(key.value)] = self.value(entry)
        return {**merged, **own}

    def _error(self, node: Any, message: str) -> CaseFileError:
        return CaseFileError(message, path=str(self._path), place=location_of(node, ()))


def _scalar(node: Any) -> object:
    text = str(node.value)
    if is_null_node(node):
        return None
    if node.tag == _TAG + "bool":
        # A "%YAML 1.1" line would make yes, no, on and off truth values: they still stay text.
        return {"true": True, "false": False}.get(text.lower(), text)
    if node.tag == _TAG + "int":
        # A text is a number only if str() gives it back unchanged: an id 007 must not become 7.
        is_number = text.removeprefix("-").isdigit() and len(text) <= _MOST_DIGITS and str(int(text)) == text
        return int(text) if is_number else text
    if node.tag == _TAG + "float":
        with suppress(ValueError):
            return float({".nan": "nan", ".inf": "inf", "+.inf": "inf", "-.inf": "-inf"}.get(text.lower(), text))
    return text
