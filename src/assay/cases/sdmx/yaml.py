"""Read the records of YAML files of SDMX cases: fast where they are written plainly, carefully where not.

ruamel reads some 250 KB a second. A file of hundreds of megabytes is therefore cut at the entries of its
outermost list, and each entry read by `sdmx_block`; what that one does not take goes to ruamel alone,
together with what is wrong, so that each message has its line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.cases.sdmx.block import UNUSUAL_CHARACTERS, RawTerms, Unusual, block_value
from assay.cases.sdmx.values import Keys, Null
from assay.cases.text.decoding import read_text
from assay.cases.text.yaml import Builder, nodes_of
from assay.errors import CaseFileError

_NULL = "tag:yaml.org,2002:null"
_BLANK = r"(?: *(?:#[^\n]*)?\n)*"
_LEAD = re.compile(_BLANK)
_FIRST_ENTRY = re.compile(rf"{_BLANK}(cases: *\n)?{_BLANK}( *)- ")
_DOCUMENT = re.compile(r"^---\n", re.MULTILINE)
_OTHER_LINE_ENDS = "\r\x85\u2028\u2029"
WRAPPER = "cases"
"""The key under which a document may keep its list of records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of a file. Its scalars are texts as they were written, or Null; lists of terms may be tuples."""

    value: object
    place: str
    alone: bool
    """Whether it is a whole document, and not an entry of a list."""
    text: str | None = None
    """The text to compose again for the place of what is wrong in it."""
    before: int = 0
    """Lines of the file before that text."""
    node: Any = None
    """What it was made of, where that is known."""

    def place_of(self, path: Path, keys: Keys, *, at_key: bool) -> str:
        """Where a value of this record stands: line and column."""
        node = self.node
        if node is None and self.text is not None:
            node = nodes_of(path, self.text, before=self.before)[0]
            node = node if self.alone else node.value[0]
        return self.place if node is None else _place(_found(node, keys, at_key=at_key), self.before)


def yaml_records(path: Path, terms: RawTerms, *, fast: bool = True) -> Iterator[Record]:
    """The records of a YAML file: entries of lists (also of one under ``cases``), or whole documents.

    Raises CaseFileError with line and column where the file is no YAML, or a mapping repeats a key.
    """
    text = read_text(path).replace("\r\n", "\n")
    if not fast or not _can_be_cut(text):
        yield from _careful(path, text, 0)
        return
    before = 0
    for document in _DOCUMENT.split(text) if "---\n" in text else [text]:
        yield from _document(path, document, before, terms)
        before += document.count("\n") + 1


def _can_be_cut(text: str) -> bool:
    """Whether no line has a directive or the end of a document, and documents begin at lines of three dashes alone.

    What else YAML takes for the end of a line is not counted here, so there must be none of it.
    """
    if any(one in text for one in _OTHER_LINE_ENDS):
        return False
    if text.startswith(("%", "...")) or "\n%" in text or "\n..." in text:
        return False
    marks = text.count("\n---") + text.startswith("---")
    return marks == text.count("\n---\n") + text.startswith("---\n")


def _document(path: Path, text: str, before: int, terms: RawTerms) -> Iterator[Record]:
    found = _FIRST_ENTRY.match(text)
    if found is not None and not UNUSUAL_CHARACTERS.search(text, 0, found.end()):
        start = found.start(2)
        yield from _entries(path, text, start, before, terms, indent=found[2], wrapped=found[1] is not None)
        return
    try:
        value = block_value(text, terms)
    except Unusual:
        yield from _careful(path, text, before)
        return
    lead = _LEAD.match(text)
    place = _line(before + text.count("\n", 0, lead.end() if lead else 0))
    yield Record(value=value, place=place, alone=True, text=text, before=before)


def _entries(
    path: Path, text: str, start: int, before: int, terms: RawTerms, *, indent: str, wrapped: bool
) -> Iterator[Record]:
    """The entries of a document's outermost list, one by one."""
    mark = f"\n{indent}- "
    line = before + text.count("\n", 0, start)
    count = 0
    while start < len(text):
        end = text.find(mark, start) + 1 or len(text)
        entry = text[start:end]
        try:
            values = block_value(entry, terms)
            if not isinstance(values, list) or len(values) != 1:
                raise Unusual
            records = [Record(value=values[0], place=_line(line), alone=False, text=entry, before=line)]
        except Unusual:
            try:
                records = _careful(path, entry, line, entries=True)
            except CaseFileError:
                yield from _rest(path, text, start=start, line=line, before=before, count=count, wrapped=wrapped)
                return
        yield from records
        count += len(records)
        line += entry.count("\n")
        start = end


def _rest(path: Path, text: str, *, start: int, line: int, before: int, count: int, wrapped: bool) -> list[Record]:
    """What follows the first ``count`` entries of a list, where the next is nothing that stands alone.

    It may be broken, may name an anchor of an entry before, or have been cut at what only looks like
    an entry.
    """
    try:
        return _careful(path, text[start:], line, entries=True)
    except CaseFileError:
        if not wrapped and "&" not in text:
            raise
        return _careful(path, text, before)[count:]


def _careful(path: Path, text: str, before: int, *, entries: bool = False) -> list[Record]:
    """The records of a text by ruamel; ``entries``: it is known to be a list. Raises CaseFileError."""
    records = []
    build = Builder(path, _scalar, before=before)
    for node in nodes_of(path, text, before=before):
        listed = node
        if node.id == "mapping" and [key.value for key, _ in node.value] == [WRAPPER] and not entries:
            listed = node.value[0][1]
        if listed.id == "sequence":
            # Built as one, so that an anchor in itself is found wherever it stands.
            values = build.value(listed)
            assert isinstance(values, list)
            for value, entry in zip(values, listed.value, strict=True):
                records.append(
                    Record(
                        value=value, place=_place(entry, before).split(",")[0], alone=False, node=entry, before=before
                    )
                )
        elif entries:
            raise CaseFileError(
                "is not valid YAML: expected an entry of the list", path=str(path), place=_place(node, before)
            )
        elif node.tag != _NULL:
            records.append(
                Record(
                    value=build.value(node),
                    place=_place(node, before).split(",")[0],
                    alone=True,
                    node=node,
                    before=before,
                )
            )
    return records


def _scalar(node: Any) -> object:
    return Null(str(node.value)) if node.tag == _NULL else str(node.value)


def _found(node: Any, keys: Keys, *, at_key: bool) -> Any:
    """The node of a value; the last one on the way to it that there is."""
    for number, key in enumerate(keys):
        if node.id == "sequence" and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
        elif node.id == "mapping":
            pair = next(((own, value) for own, value in node.value if own.value == key), None)
            if pair is None:
                return node
            # Where nothing is written, ruamel's mark is at whatever follows.
            nothing = pair[1].tag == _NULL and not pair[1].value
            node = pair[0] if nothing or (at_key and number == len(keys) - 1) else pair[1]
    return node


def _line(before: int) -> str:
    return f"line {before + 1}"


def _place(node: Any, before: int) -> str:
    return f"line {node.start_mark.line + 1 + before}, column {node.start_mark.column + 1}"
