"""What is wrong with a settings file: line, column and name, what was expected, what was found, what to write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NoReturn, get_args, get_origin

from msgspec import Struct

from assay.cases.text.yaml import location_of
from assay.errors import CaseFileError, InputError
from assay.model import DatabaseUrl
from assay.settings.setting import KINDS, Setting, fault_of_path, fields_of, is_of, key_of, members_of
from assay.settings.values import Settings, check_engine, declarations

_COLUMN_EXAMPLES: Final = {
    "case_fields": "{id: question_id, gold: SQL}",
    "prediction_fields": "{prediction: sql}",
}
_NOUNS: Final = {"gates": "gate", "lint": "setting of lint", "witness": "setting of witness"}
_NOT_READ: Final = frozenset({"gates.origin", "case_fields.shared_id", "prediction_fields.shared_id"})
_BY_TYPE: Final = {bool: "true", int: "1", float: "0.5", str: "text"}
_MOST_SHOWN: Final = 60
_ALSO_PATHS: Final = frozenset({("cases",), ("prompt",), ("db",), ("gold_db",)})
"""Settings besides `Setting.is_path` whose text is or holds a path."""
_CREDENTIALS: Final = {"password": "ASSAY_PASSWORD", "token": "ASSAY_TOKEN"}
"""Options that have no setting in a file, with the variable to use instead."""

Trail = tuple[str | int, ...]


def check_settings(content: dict[str, Any], node: Any, path: Path) -> dict[str, Any]:
    """The content with each setting under its own name, if the file uses an earlier one, and durations in seconds.

    Raises CaseFileError for the first name that no setting has, else for the first value that its setting cannot be.
    ``node`` is what ``content`` was made from, as ruamel has it.
    """
    checker = _Checker(node, path)
    checker.names(content, Settings, ())
    content = checker.under_own_names(content)
    if content.get("cases") is None:
        checker.fail((), "names no cases", write="cases: dev.jsonl  or a list of cases under it")
    checker.value(content, (Settings,), ())
    checker.urls(content)
    if content.get("predictions") is not None and content.get("system") is not None:
        checker.fail(
            ("system",),
            "predictions and system are both named: the answers come from a file or are asked for",
            of_key=True,
        )
    return _in_seconds(content, Settings)


def check_cases(cases: Sequence[Any], node: Any, path: Path) -> None:
    """Raise CaseFileError for the first of a file's own cases that is not a case, e.g. the name of a file in a list."""
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
        self._written: dict[str, str] = {}
        """The names as the file has them, of settings that it calls by an earlier one."""

    def names(self, content: dict[str, Any], of: type[Any], trail: Trail) -> None:
        """Check the names of a mapping, and of those within it."""
        fields = fields_of(of)
        known = [name for name in fields if ".".join([*map(str, trail), name]) not in _NOT_READ]
        for name, value in content.items():
            own = key_of(of, name) if isinstance(name, str) else None
            if own not in known:
                noun = _NOUNS.get(str(trail[-1]), f"name in {trail[-1]}") if trail else "setting"
                hint = _hint(str(name), known, trail)
                self.fail((*trail, name), f"unknown {noun} {name!r}{hint}", of_key=True)
            section = fields[own].section
            if section is not None and isinstance(value, dict):
                self.names(value, section, (*trail, name))

    def under_own_names(self, content: dict[str, Any]) -> dict[str, Any]:
        """The content without earlier names. Raises CaseFileError if one setting stands under two names."""
        renamed: dict[str, Any] = {}
        for name, value in content.items():
            own = key_of(Settings, name) or name
            if own in renamed:
                self.fail((name,), f"{self._written.get(own, own)} and {name} are one setting: write one", of_key=True)
            renamed[own] = value
            if own != name:
                self._written[own] = name
        return renamed

    def urls(self, content: dict[str, Any]) -> None:
        """Check that what names a database is a URL."""
        for name in ("db", "gold_db"):
            said = content.get(name)
            each = {(name, key): url for key, url in said.items()} if isinstance(said, dict) else {(name,): said}
            for trail, url in each.items():
                try:
                    if len(trail) > 1:
                        check_engine(trail[1])
                    if url:
                        DatabaseUrl.parse(url)
                except InputError as error:
                    self.fail(trail, f"{', '.join(trail)}: {error}")

    def value(self, value: Any, kinds: Sequence[Any], trail: Trail, *, optional: bool = False) -> None:
        """Check a value of one of these types, and the values within it."""
        within = next((list(each) for kind in kinds if (each := _within(value, kind)) is not None), None)
        if within is not None:
            for step, entry, kinds_of_entry, entry_is_optional in within:
                self.value(entry, kinds_of_entry, (*trail, step), optional=entry_is_optional)
            return
        setting = _declared(trail)
        if setting is not None and setting.is_duration and value is not None:
            if setting.seconds(value) is None:
                self._unfit(value, setting.durations, trail)
            return
        if not (value is None and optional) and not any(is_of(value, kind) for kind in kinds):
            self._unfit(value, " or ".join(dict.fromkeys(_kinds(kinds))), trail)
        if value is not None:
            self._check_reach(value, kinds, trail)

    def _check_reach(self, value: Any, kinds: Sequence[Any], trail: Trail) -> None:
        setting = _declared(trail)
        if setting is None:
            return
        if setting.least is not None and not setting.has(value):
            whole = "a number" if float in kinds else "a whole number"
            self._unfit(value, f"{whole} {setting.reach}", trail)
        if isinstance(value, str) and (setting.is_path or trail in _ALSO_PATHS) and (fault := fault_of_path(value)):
            self.fail(trail, f"{trail[-1]} {fault}", write=f"{trail[-1]}: {setting.example or 'a path'}")
        if setting.words and value not in setting.words:
            self._unfit(value, " or ".join(setting.words), trail)

    def _unfit(self, value: Any, expected: str, trail: Trail) -> NoReturn:
        names = [self._written.get(step, step) for step in trail if isinstance(step, str)]
        inner, outer = _example(trail), _example(trail[:1])
        # A value of a mapping of columns or of metrics is shown within the mapping.
        name: str
        example: str | None
        name, example = (names[-1], inner) if inner else (names[0], outer) if outer else (names[-1], None)
        if inner is None and len(names) > 2 and (middle := _example(trail[:2])):
            name, example = names[1], middle
        told = ", ".join(
            self._written.get(step, step) if isinstance(step, str) else f"entry {step + 1}" for step in trail
        )
        write = f"{name}: {example or _by_type(expected, value)}"
        self.fail(trail, f"{told} is {_found(value)}, and {expected} is expected", write=write)

    def fail(self, trail: Trail, message: str, *, write: str | None = None, of_key: bool = False) -> NoReturn:
        """Raise the error with the place of what the trail leads to."""
        if trail:
            trail = (self._written.get(str(trail[0]), trail[0]), *trail[1:])
        place = location_of(self._node, trail, of_key=of_key) if trail else None
        raise CaseFileError(f"{message}: write  {write}" if write else message, path=str(self._path), place=place)


def _in_seconds(content: dict[str, Any], of: type[Any]) -> dict[str, Any]:
    """The checked content of a mapping, with each duration as a number of seconds."""
    numbers = dict(content)
    for name, field in fields_of(of).items():
        value = content.get(name)
        if field.section is not None and isinstance(value, dict):
            numbers[name] = _in_seconds(value, field.section)
        elif field.setting is not None and field.setting.is_duration and value is not None:
            numbers[name] = field.setting.seconds(value)
    return numbers


def _hint(name: str, known: Sequence[str], trail: Trail) -> str:
    """The section of an unknown name, or the closest name, or all names with an example."""
    spelling = name.lower().lstrip("-").replace("-", "_")
    if not trail and spelling in _CREDENTIALS:
        return f": a secret belongs in the environment: set {_CREDENTIALS[spelling]}, or give --{spelling}"
    targets = _spellings(known, trail)
    if spelling in targets:
        *outer, own = targets[spelling]
        if tuple(outer) == trail:
            return f" (did you mean {own!r}?)"
        if outer:
            return f": it belongs under {outer[0]}: write  {outer[0]}: {{{own}: {_shown((*outer, own))}}}"
        renamed = "" if own == name else f", {own}"
        return f": it is a setting of its own{renamed}: write it without indentation, not under {trail[0]}"
    here = [spelled for spelled, target in targets.items() if target[:-1] == trail]
    # A name of another mapping must be nearer: there are many.
    close = get_close_matches(spelling, targets, n=1, cutoff=0.8) or get_close_matches(spelling, here, n=1)
    if close:
        *outer, own = targets[close[0]]
        elsewhere = "" if tuple(outer) == trail else f" under {outer[0]}" if outer else ", a setting of its own"
        return f" (did you mean {own!r}{elsewhere}?)"
    shown = _example(trail) if trail else None
    return f"; known: {', '.join(known)}" + (f": write  {trail[-1]}: {shown}" if shown else "")


def _spellings(known: Sequence[str], trail: Trail) -> dict[str, tuple[str, ...]]:
    """What a person may write for each setting, with the trail to its key.

    The names of the mapping itself come first, then the options' names, then the names in the other mappings.
    """
    declared = sorted(declarations(), key=lambda one: len(one[1].option or ""))
    spelled = {name: (*map(str, trail), name) for name in known}
    for target, setting in declared:
        for option in (*(setting.option or "").split("/"), *setting.old):
            spelled.setdefault(option.lstrip("-").replace("-", "_"), target)
    # The same name in two mappings is the one with the shorter option: `id` is --id-column.
    for target, _ in declared:
        spelled.setdefault(target[-1], target)
    del spelled[""]
    return spelled


def _declared(trail: Trail) -> Setting | None:
    """The declaration of the setting that a trail leads to; None for what is within a list or a mapping."""
    names = tuple(step for step in trail if isinstance(step, str))
    return dict(declarations()).get(names)


def _example(trail: Trail) -> str | None:
    """What to write for a setting; None if only its type says it."""
    setting = _declared(trail)
    if setting is not None and (setting.example or setting.words):
        return setting.example or setting.words[0]
    return _COLUMN_EXAMPLES.get(str(trail[0])) if len(trail) == 1 else None


def _shown(trail: Trail) -> str:
    """A value for a setting, also for a column's, whose name only the file's author knows."""
    setting = _declared(trail)
    if setting is not None and setting.least is not None and not setting.is_duration:
        return f"{setting.least:g}"
    return _example(trail) or ("…" if trail[0] in _COLUMN_EXAMPLES else "true")


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)


def _within(value: Any, kind: Any) -> Iterator[tuple[str | int, Any, Sequence[Any], bool]] | None:
    """What a value of that type holds: names or positions, values, their types, and whether each may be null.

    None if the type has no parts, or the value is not of it.
    """
    if isinstance(value, dict) and _is_struct(kind):
        fields = fields_of(kind)
        return ((name, entry, fields[name].kinds, fields[name].is_optional) for name, entry in value.items())
    if isinstance(value, list) and get_origin(kind) is tuple:
        members = members_of(get_args(kind)[0])
        return ((position, entry, members, False) for position, entry in enumerate(value))
    if isinstance(value, dict) and get_origin(kind) is dict:
        members = members_of(get_args(kind)[1])
        return ((key, entry, members, False) for key, entry in value.items())
    return None


def _kinds(members: Sequence[Any]) -> Iterator[str]:
    for one in members:
        if get_origin(one) is tuple:
            yield {str: "a list of texts", float: "a list of numbers"}.get(get_args(one)[0], "a list")
        elif get_origin(one) is dict or _is_struct(one):
            yield "a mapping"
        else:
            yield KINDS[one]


def _by_type(expected: str, value: object) -> str:
    if expected == KINDS[bool] and str(value).lower() in ("no", "n", "off", "0"):
        return "false"
    first = next((kind for kind, said in KINDS.items() if expected.startswith(said)), str)
    return _BY_TYPE.get(first, "text")


def _found(value: Any) -> str:
    kind = next(said for known, said in KINDS.items() if type(value) is known)
    if value is None or isinstance(value, dict | list):
        return kind
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
    if isinstance(value, bool):
        return shown
    hint = ": YAML knows only true and false" if str(value).lower() in ("yes", "no", "on", "off") else ""
    return f"{shown} ({kind}{hint})"
