"""Read CSV text by the rules of pandas' ``read_csv``, also from a Markdown code fence."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from io import StringIO
from itertools import count
from threading import Lock

from assay.errors import InputError

_LINE = r'(?:[^"\r\n]*+(?>"[^"]*+"[^"\r\n]*+)*+(?:\r\n?|\n))'
"""A line with its end. Quotes may hold line ends: a fence inside a quoted cell is part of that cell."""
_FENCE = re.compile(
    rf"(?P<before>{_LINE}*?)(?P<indent> {{0,3}})(?P<marks>`{{3,}}|~{{3,}})(?P<info>[^`\r\n]*)(?:\r\n?|\n|\Z)"
)
_TABLE_WORDS = frozenset({"", "csv", "text", "txt", "plain", "plaintext"})
_SHOWN = 60
_END = "\x00 end of the text"
_LARGEST_FIELD = 2**31 - 1
_FIELD_LIMIT = Lock()


def read_csv(text: str) -> tuple[list[str], list[Sequence[str]]]:
    """The names and the columns of a CSV text without a fence: its first line names the columns.

    A row shorter than the header lacks its last cells, and blank lines are skipped. Raises InputError if
    the text is not CSV: it is empty, has a quote that is never closed, or a row with more cells than the header has
    names, so that pandas takes its first cells for an index.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = [line for line in lines if line.strip(" \t")]
    if '"' not in text and len({line.count(",") for line in lines}) == 1:
        # For an even text without quotes, splitting all at once takes half the time of reading it row by row.
        names = lines[0].split(",")
        cells = ",".join(lines[1:]).split(",") if len(lines) > 1 else []
        return _unique(names), [cells[index :: len(names)] for index in range(len(names))]
    rows = [row for row in _rows(text) if len(row) > 1 or (row and (not row[0] or row[0].strip(" \t")))]
    if not rows:
        raise InputError("the text is empty: CSV begins with a line that names the columns")
    header, *body = rows
    for number, row in enumerate(body, start=1):
        if len(row) > len(header):
            raise InputError(
                f"the text is not CSV: row {number} has {len(row)} cells but the header {len(header)} names; "
                'quote a cell that contains a comma (")'
            )
        if len(row) < len(header):
            row.extend([""] * (len(header) - len(row)))
    return _unique(header), list(zip(*body, strict=True)) or [()] * len(header)


def _unique(header: Sequence[str]) -> list[str]:
    """The names, made unique as in pandas: ``a, a`` becomes ``a, a.1``, and an empty name ``Unnamed: 2``."""
    names = [name or f"Unnamed: {index}" for index, name in enumerate(header)]
    taken = set(names)
    for index, name in enumerate(names):
        if name in names[:index]:
            names[index] = next(unique for number in count(1) if (unique := f"{name}.{number}") not in taken)
            taken.add(names[index])
    return names


def _rows(text: str) -> list[list[str]]:
    # The limit holds for the whole process, and several threads may ask for scores.
    with _FIELD_LIMIT:
        previous = csv.field_size_limit(_LARGEST_FIELD)
        try:
            # A last line is added: if it is not read as a line of its own, a quote was left open.
            rows = list(csv.reader(StringIO(f"{text}\n{_END}", newline="")))
        except csv.Error as error:
            raise InputError(f"the text is not CSV: {error}") from error
        finally:
            csv.field_size_limit(previous)
    if rows.pop() != [_END]:
        raise InputError('the text is not CSV: a quote (") is opened and never closed')
    return rows


def unfenced(text: str) -> str:
    """The text inside the only code fence of ``text``, without the fence's indent; the text itself if it has no fence.

    Raises InputError if a fence is not closed, if other text or another block surrounds it, and if it names a language
    other than CSV.
    """
    text = text.removeprefix("\ufeff")
    if "```" not in text and not text.lstrip().startswith("~~~"):
        return text
    fence = _FENCE.match(text)
    if fence is None:
        return text
    marks = fence["marks"]
    end = rf"(?P<table>{_LINE}*?) {{0,3}}{marks}{marks[0]}*[ \t]*(?P<after>[\r\n].*)?\Z"
    block = re.compile(end, re.DOTALL).match(text, fence.end())
    if block is None:
        raise InputError(
            f"the text is not CSV: its code fence ({marks}) is not complete, so part of the table may be missing"
        )
    for where, beside in (("before", fence["before"]), ("after", block["after"] or "")):
        if words := " ".join(beside.split()):
            shown = words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "…"
            raise InputError(
                f"the text is not CSV: there is text {where} the fenced block, {shown!r}; give only the table"
            )
    language = fence["info"].strip().lower()
    if language not in _TABLE_WORDS:
        raise InputError(f"the text is not CSV: its code fence names the language {language!r}")
    table: str = block["table"]
    if not fence["indent"]:
        return table
    indent = re.compile(rf'("[^"]*")|(?:\A|(?<=[\r\n])) {{0,{len(fence["indent"])}}}')
    return indent.sub(lambda match: match[1] or "", table)
