"""Entry points of plug-ins: `assay.engines`, `assay.systems`, `assay.metrics`, `assay.cases`, `assay.reports`,
`assay.lint_rules`.

They are loaded by name and only when needed. A name that two packages register, or one that fails to load, is an error
that names the package and the cause.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from assay.errors import InputError, PluginError, did_you_mean
from assay.model.runs.metric_names import metric_hint

Group = Literal["assay.engines", "assay.systems", "assay.metrics", "assay.cases", "assay.reports", "assay.lint_rules"]

_NOUNS: dict[str, str] = {
    "assay.engines": "engine",
    "assay.systems": "kind of system",
    "assay.metrics": "metric",
    "assay.cases": "case format",
    "assay.reports": "report format",
    "assay.lint_rules": "lint rule",
}
_FORMS = {
    "chat": "chat:MODEL",
    "command": "command:COMMAND",
    "denodo": "denodo:URL",
    "http": "http:URL",
    "https": "https:URL",
    "python": "python:MODULE:FUNCTION",
}
"""What follows the name of a built-in kind of system."""


@lru_cache(maxsize=8)
def registered(group: Group) -> dict[str, EntryPoint]:
    """The entry points of a group by name. Raises PluginError if two packages register one name."""
    found: dict[str, EntryPoint] = {}
    for entry in _installed(tuple(sys.path)).select(group=group):
        other = found.get(entry.name)
        if other is not None and other.value != entry.value:
            raise PluginError(
                f"the {_NOUNS[group]} {entry.name!r} is registered twice: "
                f"by {package_of(other)} and by {package_of(entry)}; uninstall one of them"
            )
        found[entry.name] = entry
    return found


@lru_cache(maxsize=1)
def _installed(_path: tuple[str, ...]) -> Any:
    """The entry points of every package on a path, each of which is a file to read: what `select` chooses from."""
    return entry_points()


def package_of(entry: EntryPoint) -> str:
    """The package of an entry point, with the object in it."""
    return f"{entry.dist.name} ({entry.value})" if entry.dist is not None else entry.value


def find(group: Group, name: str) -> EntryPoint:
    """The entry point of that name. Raises InputError with the closest name if there is none."""
    entries = registered(group)
    if name in entries:
        return entries[name]
    if group == "assay.metrics":
        raise unknown_metrics([name])
    hint = did_you_mean(name, entries)
    noun = _NOUNS[group]
    raise InputError(f"unknown {noun} {name!r}{hint}; known: {known(group)}")


def known(group: Group) -> str:
    """The names of a group, in a system's group with what follows each."""
    forms = _FORMS if group == "assay.systems" else {}
    return ", ".join(forms.get(name, name) for name in sorted(registered(group)))


def unknown_metrics(names: Sequence[str]) -> InputError:
    """The error for names that no metric has, each with the closest."""
    known = registered("assay.metrics")
    unknown = "; ".join(f"unknown metric {name!r}{metric_hint(name, known)}" for name in names)
    return InputError(f"{unknown}: see  assay docs metrics")


def load(group: Group, name: str) -> Any:
    """Load what is registered under that name. Raises PluginError if that fails, with package and cause."""
    entry = find(group, name)
    try:
        return entry.load()
    except Exception as error:
        raise PluginError(
            f"the {_NOUNS[group]} {name!r} of {package_of(entry)} fails to load: {type(error).__name__}: {error}"
        ) from error


def reference(group: Group, name: str) -> str:
    """``module:Class`` of what is registered under that name, for a worker to load."""
    return reference_of(find(group, name))


def reference_of(entry: EntryPoint) -> str:
    """``module:Class`` of an entry point, without the extras that may follow."""
    return f"{entry.module}:{entry.attr}"
