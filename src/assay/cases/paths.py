"""Columns by path: ``predictions.pipeA.sql``, ``runs[0].sql``, ``models["gpt-4.1"].sql``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from assay.cases.records import Table
from assay.errors import CaseFileError
from assay.ports import Column

_INDEX = re.compile(r"\[(\d{1,9})\]|(\d{1,9})(?=[.\[]|$)")
_ELEMENT = re.compile(r"\[\d+\]$")
_QUOTED = re.compile(r"""\[(["'])(.*?)\1\]""")
_DEEPEST = 20
_SHOWN = 12
_LEAF_DEPTH = 4
_MOST_LEAVES = 32
_LONGEST_JSON = 2_000

_Chain = tuple[str | int, ...]


def with_path(table: Table, name: str) -> Table:
    """The table with a column of that name; if the name is a path, its values come from within other columns.

    The table is unchanged if it has such a column, or if no record has a value there. A key may contain dots; raises
    CaseFileError if the path can then be read in more than one way.
    """
    if name in table.columns:
        return table
    found = [dict(_ways(record.values, name, ())) for record in table.records]
    chains = list(dict.fromkeys(chain for ways in found for chain in ways))
    if not chains:
        return table
    if len(chains) > 1:
        ways = " and ".join(" → ".join(map(repr, chain)) for chain in chains[:3])
        raise CaseFileError(
            f'the path "{name}" reads in more than one way, as {ways}: write a key that contains a dot as ["key"]',
            path=str(table.path),
        )
    records = tuple(
        replace(record, values={**record.values, name: ways.get(chains[0])})
        for record, ways in zip(table.records, found, strict=True)
    )
    return replace(table, records=records, columns=(*table.columns, name))


def paths_within(table: Table) -> tuple[str, ...]:
    """Paths to the texts within the columns of the first records, for messages, without the texts of a list (tags)."""
    found: dict[str, None] = {}
    for record in table.records[:3]:
        for column, value in record.values.items():
            if isinstance(value, (dict, list, tuple)):
                for path in _texts(value, column, 0):
                    if _ELEMENT.search(path):
                        continue
                    found[path] = None
                    if len(found) >= _SHOWN:
                        return tuple(found)
    return tuple(found)


def texts_within(value: object, column: str) -> tuple[str, ...]:
    """Paths to the texts within a column's value, the first of them; none if it is not an object or list."""
    return tuple(islice(_texts(value, column, 0), _SHOWN)) if isinstance(value, (dict, list, tuple)) else ()


def leaf_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns, with those that contain objects or lists (also as JSON in a text) replaced by the values inside.

    Deep or long values are covered only so far that an id, a question or a label inside is found.
    """
    found: list[Column] = []
    for column in columns:
        opened = [_opened(value) for value in column.values]
        if not any(isinstance(value, (Mapping, list, tuple)) for value in opened):
            found.append(column)
            continue
        rows = [dict(_leaves(value, column.name, 0)) for value in opened]
        names = list(dict.fromkeys(name for row in rows for name in row))[:_MOST_LEAVES]
        found += [Column(name=name, values=tuple(row.get(name) for row in rows)) for name in names]
    return tuple(found)


def _opened(value: object) -> object:
    """The value of a JSON text, as table cells hold objects and lists; any other value unchanged."""
    if not isinstance(value, str) or len(value) > _LONGEST_JSON or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _leaves(value: object, path: str, depth: int) -> Iterator[tuple[str, object]]:
    if depth > _LEAF_DEPTH:
        return
    if isinstance(value, Mapping):
        for key in list(value)[:_MOST_LEAVES]:
            yield from _leaves(value[key], path + _step(str(key)), depth + 1)
    elif isinstance(value, (list, tuple)):
        for place, entry in enumerate(value[:3]):
            yield from _leaves(entry, f"{path}[{place}]", depth + 1)
    else:
        yield path, value


def _step(key: str) -> str:
    return f'["{key}"]' if "." in key or "[" in key else f".{key}"


def _ways(value: object, rest: str, chain: _Chain) -> Iterator[tuple[_Chain, object]]:
    """Every way in which ``rest`` leads into a value, with the value found there."""
    if not rest:
        yield chain, value
    elif len(chain) >= _DEEPEST:
        return
    elif isinstance(value, Mapping):
        quoted = _QUOTED.match(rest)
        if quoted and quoted[2] in value:
            yield from _ways(value[quoted[2]], rest[quoted.end() :].removeprefix("."), (*chain, quoted[2]))
        for key, entry in value.items():
            if not isinstance(key, str) or not key or not rest.startswith(key):
                continue
            further = rest[len(key) :]
            if not further or (further[0] in ".[" and len(further) > 1):
                yield from _ways(entry, further.removeprefix("."), (*chain, key))
    elif isinstance(value, (list, tuple)):
        index = _INDEX.match(rest)
        if index and (place := int(index[1] or index[2])) < len(value):
            yield from _ways(value[place], rest[index.end() :].removeprefix("."), (*chain, place))


def _texts(value: object, path: str, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield path
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _texts(entry, path + _step(str(key)), depth + 1)
    elif depth < _DEEPEST and isinstance(value, (list, tuple)):
        for place, entry in enumerate(value[:3]):
            yield from _texts(entry, f"{path}[{place}]", depth + 1)
