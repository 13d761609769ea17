"""The names of options in messages: as on the command line, or as in Python.

A message names an option by `option`, and the surface says how it is written there: ``--question-column 'User asked'``,
or ``files=FileOptions(case_fields=FieldNames(question='User asked'))``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Final, Literal, ParamSpec, TypeAlias, TypeVar

from assay.platform.shell import quoted

_P = ParamSpec("_P")
_T = TypeVar("_T")
Fields: TypeAlias = Mapping[str, tuple[str, ...]]
"""Options that are a field of `assay.FileOptions`, with the names that lead to it, e.g. ``("case_fields", "id")``."""
_SURFACE: ContextVar[Callable[[], Fields] | Literal["command line"] | None] = ContextVar("assay_surface", default=None)
"""In Python what gives the fields; None: no caller has said."""
_ARGUMENTS: Final = {
    "--db": "databases",
    "--gold-db": "gold_databases",
    "--system": "predictions",
    "--repeat": "repeats",
    "--next": "more",
    "--databases": "most_databases",
    "--param": "parameters",
    "--request-template": "body_template",
    "--declare-random": "design='random'",
    "--max-drop": "Gates(max_drop={})",
    "--fail-on-regression": "Gates(fail_on_regression={})",
    "--timeout": "limits=Limits(timeout_s={})",
    "--max-memory": "limits=Limits(max_memory_bytes={})",
    "--max-bytes-billed": "limits=Limits(max_bytes_billed={})",
}
"""Options whose argument has another name in Python, or is written there in another way."""


@contextmanager
def command_line() -> Iterator[None]:
    """A context in which messages name options as they are written on the command line."""
    token = _SURFACE.set("command line")
    try:
        yield
    finally:
        _SURFACE.reset(token)


def for_python(function: Callable[_P, _T], fields: Callable[[], Fields]) -> Callable[_P, _T]:
    """A public function, whose messages name arguments as in Python, unless the command line called it.

    ``fields`` is called for a message.
    """

    @wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        __tracebackhide__ = True  # pytest shows the caller's line, and not this one
        if _SURFACE.get() is not None:
            return function(*args, **kwargs)
        token = _SURFACE.set(fields)
        try:
            return function(*args, **kwargs)
        finally:
            _SURFACE.reset(token)

    return called


def on_command_line() -> bool:
    """Whether messages are read on the command line."""
    return not callable(_SURFACE.get())


def option(name: str, value: object = None) -> str:
    """An option with its value, to copy; without a value, its name alone."""
    return options((name, value))


def argument(name: str) -> str:
    """An option's name alone, for a sentence: ``--db``, or ``databases``."""
    return name if on_command_line() else option(name).partition("=")[0].partition("(")[0]


def flag(name: str) -> str:
    """An option without a value, to copy: ``--overwrite``, or ``overwrite=True``."""
    return options((name, True))


def options(*named: tuple[str, object]) -> str:
    """Several options, to copy together: fields of files share one ``FileOptions`` in Python."""
    fields = _SURFACE.get()
    if not callable(fields):
        return " ".join(
            name if value is None or value is True else f"{name} {quoted(str(value))}" for name, value in named
        )
    own: list[str] = []
    groups: dict[str, list[str]] = {}
    arguments: list[str] = []
    for name, value in named:
        shown = "..." if value is None else repr(value)
        match fields().get(name):
            case None:
                written = _ARGUMENTS.get(name, name.removeprefix("--").replace("-", "_"))
                arguments.append(written.format(shown) if "=" in written else f"{written}={shown}")
            case (attribute,):
                own.append(f"{attribute}={shown}")
            case (group, attribute):
                groups.setdefault(group, []).append(f"{attribute}={shown}")
    own += [f"{group}=FieldNames({', '.join(inner)})" for group, inner in groups.items()]
    return ", ".join([*([f"files=FileOptions({', '.join(own)})"] if own else []), *arguments])
