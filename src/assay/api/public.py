"""Public functions: arguments of another name or kind are refused by name, before anything is done."""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Final, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from msgspec import Struct

from assay.api.tables import tables_as_databases
from assay.errors import UsageError, did_you_mean
from assay.model.databases.mistyped import FILE_SCHEMES
from assay.platform.surface import Fields, for_python

_P = ParamSpec("_P")
_T = TypeVar("_T")
_DATABASES: Final = ("database", "databases", "gold_databases")
_SYNONYMS: Final = {
    "database": _DATABASES,
    "databases": _DATABASES,
    "db": _DATABASES,
    "url": _DATABASES,
    "connection": _DATABASES,
    "metric": ("metrics",),
    "metrics": ("metric",),
    "output_dir": ("output",),
    "folder": ("output", "path"),
    "llm": ("model", "judge"),
    "preds": ("predictions",),
}
_EXAMPLES: Final = {
    "files": "files=FileOptions(limit=10)",
    "limits": "limits=Limits(timeout_s=30)",
    "leniency": 'leniency=Leniency(extra_columns="allowed")',
    "gates": 'Gates(minimum=(("match", 0.9),))',
    "database": 'database="sqlite:///shop.sqlite"',
    "databases": 'databases="sqlite:///shop.sqlite"',
    "gold_databases": 'gold_databases="sqlite:///gold.sqlite"',
    "metrics": 'metrics=["match"]',
    "lint": "lint=True",
    "witness": "witness=True",
}
_CHECK: Final = 'run.check(Gates(minimum=(("match", 0.9),)))'
_REPORT: Final = 'run.report("report.html")'
_OF_THE_RUN: Final = {
    **dict.fromkeys(("gates", "gate", "minimum", "min", "baseline", "max_drop", "fail_on_regression"), _CHECK),
    **dict.fromkeys(("html", "xlsx", "md", "json", "junit", "report", "reports"), _REPORT),
}
"""What to call on the run that an evaluation returns, by the argument that people give instead."""
_UNKNOWN: Final = object()


def public(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A public function that refuses arguments of other names and kinds, and whose messages name arguments."""
    named = python_messages(function)

    @wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        __tracebackhide__ = True  # pytest shows the caller's line, and not this one
        parameters = _parameters(function)
        for name in kwargs:
            if name not in parameters:
                meant = [one for one in _SYNONYMS.get(name, ()) if one in parameters]
                hint = f" (did you mean {meant[0]!r}?)" if meant else did_you_mean(name, parameters)
                if name in _OF_THE_RUN and function.__name__.startswith("evaluate"):
                    hint = f": write  {_OF_THE_RUN[name]}  with the returned run"
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")
        for name in _DATABASES:
            if isinstance(path := kwargs.get(name), os.PathLike):
                kwargs[name] = url_of(Path(path))
        with tables_as_databases(kwargs, _DATABASES):
            for name, value in (*zip(parameters, args, strict=False), *kwargs.items()):
                _check(name, value, parameters[name])
            return named(*args, **kwargs)

    return called


def python_messages(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function or method whose messages name arguments as in Python."""
    return for_python(function, _file_fields)


@cache
def _file_fields() -> Fields:
    from assay.api.inputs import FileOptions
    from assay.settings import declarations

    own = FileOptions.__struct_fields__
    return {setting.option: names for names, setting in declarations() if setting.option and names[0] in own}


def url_of(path: Path) -> str:
    """The URL of a database file of SQLite or DuckDB."""
    return f"{FILE_SCHEMES.get(path.suffix.lower(), 'sqlite')}:///{path.as_posix()}"


@cache
def _parameters(function: Callable[..., Any]) -> Mapping[str, tuple[object, str]]:
    """The parameters of a function with their kinds, `_UNKNOWN` for one that cannot be checked, and as written."""
    found = {}
    for name, parameter in signature(function).parameters.items():
        if parameter.kind in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL):
            continue
        written = str(parameter.annotation)
        try:
            kind = eval(written, function.__globals__)
        except (NameError, TypeError):  # a name, or one in quotes, that only type checkers import
            kind = _UNKNOWN
        found[name] = (kind, written)
    return found


def _check(name: str, value: object, parameter: tuple[object, str]) -> None:
    kind, written = parameter
    if kind is _UNKNOWN or _fits(value, kind) is not False:
        return
    given = f"{value!r}" if isinstance(value, (str, int, float)) else f"of the type {type(value).__name__}"
    example = f", for example {_EXAMPLES[name]}" if name in _EXAMPLES else ""
    raise UsageError(f"{name} is {given}, and must be {written.replace('os.PathLike[str]', 'Path')}{example}")


def _fits(value: object, kind: object) -> bool | None:
    """Whether a value has a kind; None if that cannot be said."""
    if kind is None or kind is types.NoneType:
        return value is None
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        fits = [_fits(value, one) for one in get_args(kind)]
        return True if True in fits else None if None in fits else False
    if origin is Literal:
        # Another value of the same type is answered with the values by the function itself.
        return any(type(value) is type(one) for one in get_args(kind))
    base = origin or kind
    if base is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if base is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if base in (Sequence, Collection, Iterable) and isinstance(value, str):
        return None  # the function says what to write
    if base in (str, bool, os.PathLike, Path, Sequence, Collection, Iterable, Mapping) or _is_value(base):
        return isinstance(value, base)  # type: ignore[arg-type]
    return None


def _is_value(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)
