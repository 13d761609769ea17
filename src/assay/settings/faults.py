"""What is wrong with a settings file: line, column and name, what was expected, what was found, what to write."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, NoReturn, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from assay.errors import CaseFileError, InputError
from assay.model import DatabaseUrl
from assay.settings.values import RunFileSettings

_LEAST: Final = {
    "limit": 1,
    "concurrency": 1,
    "repeat": 1,
    "timing_iterations": 1,
    "timing_budget_s": 0,
    "timeout_s": 0.01,
    "gold_timeout_s": 0.001,
    "comparison_timeout_s": 0.01,
    "max_rows": 1,
    "max_memory_mib": 16,
    "cache_size_mib": 1,
    "workers": 1,
    "tolerance": 0,
    "relative_tolerance": 0,
    "absolute_tolerance": 0,
}
"""The same bounds as those of the options on the command line."""
_WORDS: Final = {
    "columns": ("any", "strict"),
    "extra_columns": ("allowed",),
    "duplicates": ("ignored",),
    "case": ("ignored",),
    "shape": ("any",),
    "lint.fail_on": ("error", "warning", "note"),
}
_EXAMPLES: Final = {
    "cases": "dev.jsonl",
    "predictions": "answers.jsonl",
    "system": "chat:gpt-4.1",
    "headers": '["X-Api-Key=${GATEWAY_KEY}"]',
    "db": "sqlite:///shop.sqlite",
    "gold_db": "sqlite:///gold.sqlite",
    "output": "runs/first",
    "metrics": "[match, bird_ex]",
    "limit": "100",
    "penalties": "[0, 10]",
    "timeout_s": "30",
    "gold_timeout_s": "60",
    "comparison_timeout_s": "60",
    "tolerance": "1e-6",
    "relative_tolerance": "1e-12",
    "absolute_tolerance": "1e-12",
    "max_rows": "1000000",
    "max_memory_mib": "2048",
    "cache": "cache",
    "cache_size_mib": "2048",
    "suite": "suites/dev",
    "backend": "local",
    "tags": "[nightly, model=gpt-4.1]",
    "case_format": "jsonl",
    "prediction_format": "jsonl",
    "case_fields": "{id: question_id, gold: SQL}",
    "prediction_fields": "{prediction: sql}",
    "gates": "{min: {match: 80%}}",
    "gates.min": "{match: 80%}",
    "gates.max_drop": "{match: 1%}",
    "gates.must_pass": "[tag:smoke]",
    "gates.alpha": "0.05",
    "baseline": "runs/main",
    "lint": "{with_run: true}",
    "lint.only": "[ties]",
    "lint.ignore": "[ties]",
    "lint.dialect": "sqlite",
    "witness": "{time: 1s}",
    "witness.time": "1s",
    "witness.total": "10m",
    "witness.scratch": "postgresql://user@host/scratch",
}
_NOUNS: Final = {"gates": "gate", "lint": "setting of lint", "witness": "setting of witness"}
_NOT_READ: Final = frozenset({"gates.origin", "case_fields.shared_id", "prediction_fields.shared_id"})
_KINDS: Final = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    dict: "a mapping",
    list: "a list",
    NoneType: "nothing",
}
_BY_TYPE: Final = {bool: "true", int: "1", float: "0.5", str: "text"}
_MOST_SHOWN: Final = 60

Trail = tuple[str | int, ...]


def check_settings(content: dict[str, Any], node: Any, path: Path) -> None:
    """Raise CaseFileError for the first name that no setting has, else for the first value that its setting cannot be.

    ``node`` is what ``content`` was made from, as ruamel has it.
    """
    checker = _Checker(node, path)
    checker.names(content, RunFileSettings, ())
    if content.get("cases") is None:
        checker.fail((), "names no cases", write="cases: dev.jsonl  or a list of cases under it")
    checker.values(content, RunFileSettings, ())
    checker.urls(content)
    if content.get("predictions") is not None and content.get("system") is not None:
        checker.fail(
            ("system",),
            "predictions and system are both named: the answers come from a file or are asked for",
            of_key=True,
        )


def check_cases(cases: Sequence[Any], node: Any, path: Path) -> None:
    """Raise CaseFileError for the first of a file's own cases that is none, such as the name of a file in a list."""
    for place, case in enumerate(cases):
        if not isinstance(case, dict):
            _Checker(node, path).fail(
                ("cases", place),
                f"cases, entry {place + 1} is {_found(case)}, and a case, a mapping, is expected",
                write="cases: dev.jsonl  for one file, or  - {question: ..., gold: ...}  for a case",
            )


class _Checker:
    """Holds one file's content against the types of the settings."""

    def __init__(self, node: Any, path: Path) -> None:
        self._node = node
        self._path = path

    def names(self, content: dict[str, Any], of: type[Any], trail: Trail) -> None:
        """Check the names of a mapping, and of those within it."""
        known = [name for name in _names_of(of) if ".".join([*map(str, trail), name]) not in _NOT_READ]
        for name, value in content.items():
            if name not in known:
                noun = _NOUNS.get(str(trail[-1]), f"name in {trail[-1]}") if trail else "setting"
                hint = _hint(str(name), known, trail)
                self.fail((*trail, name), f"no {noun} is called {name!r}{hint}", of_key=True)
            inner = next((one for one in _members(_hints(of)[name]) if _is_struct(one)), None)
            if isinstance(inner, type) and isinstance(value, dict):
                self.names(value, inner, (*trail, name))

    def values(self, content: dict[str, Any], of: type[Any], trail: Trail) -> None:
        """Check the values of a mapping, and of those within it."""
        for name, value in content.items():
            self._value(value, _hints(of)[name], (*trail, name))

    def urls(self, content: dict[str, Any]) -> None:
        """Check that what names a database is a URL."""
        for name in ("db", "gold_db"):
            try:
                DatabaseUrl.parse(content.get(name) or _EXAMPLES["db"])
            except InputError as error:
                self.fail((name,), f"{name}: {error}")

    def _value(self, value: Any, hint: Any, trail: Trail) -> None:
        members = _members(hint)
        inner = next((one for one in members if _is_struct(one)), None)
        if isinstance(inner, type) and isinstance(value, dict):
            self.values(value, inner, trail)
            return
        sequence = next((one for one in members if get_origin(one) is tuple), None)
        if sequence is not None and isinstance(value, list):
            for place, one in enumerate(value):
                self._value(one, get_args(sequence)[0], (*trail, place))
            return
        mapping = next((one for one in members if get_origin(one) is dict), None)
        if mapping is not None and isinstance(value, dict):
            for key, one in value.items():
                self._value(one, get_args(mapping)[1], (*trail, key))
            return
        if not any(_is(value, one) for one in members):
            self._unfit(value, _expected(members), trail)
        self._check_reach(value, trail)

    def _check_reach(self, value: Any, trail: Trail) -> None:
        name = ".".join(map(str, trail))
        least, words = _LEAST.get(name), _WORDS.get(name)
        if least is not None and value is not None and not least <= value < math.inf:
            whole = "a whole number" if isinstance(least, int) and isinstance(value, int) else "a number"
            self._unfit(value, f"{whole} from {least:g} up", trail)
        if words is not None and value is not None and value not in words:
            self._unfit(value, " or ".join(words), trail, example=words[0])

    def _unfit(self, value: Any, expected: str, trail: Trail, *, example: str | None = None) -> NoReturn:
        name = str(trail[-1]) if isinstance(trail[-1], str) else str(trail[-2])
        known = ".".join(one for one in trail if isinstance(one, str))
        example = example or _EXAMPLES.get(known) or _EXAMPLES.get(known.rpartition(".")[0]) or _by_type(expected)
        if known not in _EXAMPLES and known.rpartition(".")[0] in _EXAMPLES:
            name = known.split(".")[-2]
        told = ", ".join(str(one) if isinstance(one, str) else f"entry {one + 1}" for one in trail)
        self.fail(trail, f"{told} is {_found(value)}, and {expected} is expected", write=f"{name}: {example}")

    def fail(self, trail: Trail, message: str, *, write: str | None = None, of_key: bool = False) -> NoReturn:
        """Raise the error with the place of what the trail leads to."""
        place = place_in(self._node, trail, of_key=of_key)
        raise CaseFileError(f"{message}: write  {write}" if write else message, path=str(self._path), place=place)


def place_in(node: Any, trail: Sequence[str | int], *, of_key: bool = False) -> str | None:
    """Where a value begins, or its name; where that was merged from elsewhere, what holds it."""
    key = node
    for step in trail:
        kind = getattr(node, "id", "")
        entries: list[Any] = node.value if kind in ("sequence", "mapping") else []
        if kind == "sequence" and isinstance(step, int) and step < len(entries):
            node = key = entries[step]
            continue
        found = [pair for pair in entries if pair[0].value == step] if kind == "mapping" else []
        if not found:
            break
        key, node = found[0]
    marked = key if of_key or (getattr(node, "value", None) == "" and node.start_mark == node.end_mark) else node
    if marked is None or not trail:
        return None
    return f"line {marked.start_mark.line + 1}, column {marked.start_mark.column + 1}"


def _hint(name: str, known: Sequence[str], trail: Trail) -> str:
    """Where an unknown name belongs, or the closest name, or all there are with an example."""
    if not trail:
        sections = [section for section in _NOUNS if name in _names_of(_section(section))]
        if sections and f"{sections[0]}.{name}" not in _NOT_READ:
            example = _EXAMPLES.get(f"{sections[0]}.{name}", "true")
            return f": it belongs under {sections[0]}: write  {sections[0]}: {{{name}: {example}}}"
    elif name in _names_of(RunFileSettings):
        return f": it is a setting of its own: write it without indentation, not under {trail[0]}"
    close = get_close_matches(name, known, n=1)
    if close:
        return f" (did you mean {close[0]!r}?)"
    example = _EXAMPLES.get(str(trail[-1]), "") if trail else ""
    return f": there is {', '.join(known)}" + (f": write  {trail[-1]}: {example}" if example else "")


def _section(name: str) -> type[Any]:
    section: type[Any] = next(one for one in _members(_hints(RunFileSettings)[name]) if _is_struct(one))
    return section


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)


def _names_of(of: type[Any]) -> list[str]:
    return list(of.__struct_fields__)


def _hints(of: type[Any]) -> dict[str, Any]:
    return get_type_hints(of)


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is(value: Any, member: Any) -> bool:
    """Whether a plain value is of a plain type: a whole number is a number, and true is none."""
    if member is NoneType:
        return value is None
    if isinstance(value, bool) or member is bool:
        return isinstance(value, bool) and member is bool
    if member is float:
        return isinstance(value, int | float)
    return isinstance(member, type) and isinstance(value, member)


def _expected(members: Sequence[Any]) -> str:
    return " or ".join(dict.fromkeys(_kinds(members)))


def _kinds(members: Sequence[Any]) -> Iterator[str]:
    for one in members:
        if one is NoneType:
            continue
        if get_origin(one) is tuple:
            yield {str: "a list of texts", float: "a list of numbers"}.get(get_args(one)[0], "a list")
        elif get_origin(one) is dict or _is_struct(one):
            yield "a mapping"
        else:
            yield _KINDS[one]


def _by_type(expected: str) -> str:
    first = next((kind for kind, said in _KINDS.items() if expected.startswith(said)), str)
    return _BY_TYPE.get(first, "text")


def _found(value: Any) -> str:
    kind = next(said for known, said in _KINDS.items() if type(value) is known)
    if value is None or isinstance(value, dict | list):
        return kind
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
    if isinstance(value, bool):
        return shown
    hint = ": YAML knows only true and false" if str(value).lower() in ("yes", "no", "on", "off") else ""
    return f"{shown} ({kind}{hint})"
