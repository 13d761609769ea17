"""Read ``options`` of a question set: how to evaluate a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from assay.cases.values import UnusableValue, is_absent
from assay.errors import UsageError
from assay.model import CaseOptions, ColumnRule, Leniency

_NO_OPTIONS = CaseOptions()
"""Cases without options of their own share one frozen value."""
_WORDS = ("extra_columns", "duplicates", "case", "shape")
_COUNTED = ("condition_columns", "condition_cols")
_NAMES = ("columns", "ordered", *_WORDS, "tolerance", *_COUNTED, "ignore_order")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_HOW = (
    'write names and values, for example {"extra_columns": "allowed"}, '
    "or in a cell  extra_columns: allowed; tolerance: 1e-6"
)


def options_of(value: object) -> CaseOptions:
    """The options: an object, or in a cell a text of ``name: value``, separated by semicolons, commas or lines.

    Raises UnusableValue for an unknown name or value.
    """
    told = _told(value)
    if not told:
        return _NO_OPTIONS
    words: dict[str, Any] = {name: _word(told.get(name)) for name in _WORDS}
    try:
        leniency = Leniency(**words, tolerance=_number(told.get("tolerance")))
    except UsageError as error:
        raise UnusableValue(str(error)) from error
    ignored = _ordered(told.get("ignore_order"), "ignore_order")
    return CaseOptions(
        columns=_columns(told.get("columns")),
        ordered=_ordered(told.get("ordered")),
        ignore_order=_NO_OPTIONS.ignore_order if ignored is None else ignored,
        leniency=leniency,
    )


class CountedColumns(Struct, frozen=True, kw_only=True):
    """The columns of the gold result that count, by position or by name."""

    groups: tuple[tuple[int | str, ...], ...]
    for_all: bool
    """One list, which applies to every gold result."""


def counted_columns_of(value: object) -> CountedColumns | None:
    """``condition_columns`` of the options: one list of columns for all gold queries, or one list per gold query.

    A column is its place, from 0, or the name that a given result has for it. None if nothing is said. Raises
    UnusableValue.
    """
    told = _told(value)
    said = next((told[name] for name in _COUNTED if name in told), None)
    if said is None:
        return None
    return counted_columns(said)


def counted_columns(said: object) -> CountedColumns | None:
    """As `counted_columns_of`, of the value itself."""
    if isinstance(said, str):
        said = [int(word) if word.isdigit() else word for word in said.strip("[] ").split()]
    if isinstance(said, (int, float)):
        said = [said]
    if not isinstance(said, (list, tuple)):
        raise UnusableValue(f"condition_columns is {said!r}: {_COLUMNS}")
    if not said or said == [None]:
        return None
    if all(isinstance(one, (list, tuple)) or one is None for one in said):
        return CountedColumns(groups=tuple(_group(one or ()) for one in said), for_all=False)
    return CountedColumns(groups=(_group(said),), for_all=True)


_COLUMNS = (
    "write positions (from 0) or names of the gold query's columns, for example [0, 2], or one such list per gold query"
)


def _group(said: Iterable[object]) -> tuple[int | str, ...]:
    found: list[int | str] = []
    for given in said:
        one = int(given) if isinstance(given, float) and given.is_integer() else given
        if isinstance(one, bool) or not isinstance(one, (int, str)) or (isinstance(one, int) and one < 0):
            raise UnusableValue(f"condition_columns contains {one!r}: {_COLUMNS}")
        found.append(one)
    return tuple(found)


def _told(value: object) -> dict[str, Any]:
    """The options by name. Raises UnusableValue for an unknown one."""
    if is_absent(value) or value == "" or isinstance(value, list):
        return {}  # a list belongs to some other kind of column, for example the choices of a quiz
    given = _in_text(value) if isinstance(value, str) else value
    if not isinstance(given, Mapping):
        raise UnusableValue(f"the options are {value!r}: {_HOW}")
    # In a table of objects, for example Parquet, each row has every name.
    told = {str(name).strip().lower(): one for name, one in given.items() if one is not None and one != ""}
    for name in told:
        if name not in _NAMES:
            close = get_close_matches(name, _NAMES, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise UnusableValue(f"unknown option {name!r}{hint}; the options are {', '.join(_NAMES)}")
    return told


def _in_text(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    if not text.strip():
        return found
    for part in text.strip().strip("{}").replace(";", "\n").replace(",", "\n").splitlines():
        if not part.strip():
            continue
        name, separator, value = part.partition(":") if ":" in part else part.partition("=")
        if not separator:
            raise UnusableValue(f"the options contain {part.strip()!r}: {_HOW}")
        found[name.strip().strip("\"'")] = value.strip().strip("\"'")
    return found


def _word(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _number(value: object) -> float | None:
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    try:
        return float(str(value))
    except ValueError:
        raise UnusableValue(f"tolerance is {value!r}: give a number of at least 0, for example 1e-6") from None


def _columns(value: object) -> ColumnRule | None:
    match _word(value):
        case None:
            return None
        case "any":
            return "any"
        case "strict":
            return "strict"
    raise UnusableValue(f"columns is {value!r}: write 'any' or 'strict'")


def _ordered(value: object, name: str = "ordered") -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    known = _TRUTH.get(str(value).strip().lower())
    if known is None:
        raise UnusableValue(f"{name} is {value!r}: write true or false")
    return known
