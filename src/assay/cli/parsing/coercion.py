"""Spare a command what newer versions of typer do for each of its options, given or not: build a validator.

Those come from pydantic, whose import and whose validators for sixty options take longer than all else that a command
line needs. An option that is not given needs none, nor do texts, a path that nothing is demanded of, a count in plain
digits within its bounds, and an option with a parser of its own; typer converts whatever else is given. Versions of
typer without such validators are left as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup


class SparingCommand(TyperCommand):
    """A command that converts texts and plain paths itself."""

    def get_params(self, ctx: Any) -> Any:
        """As typer's, with options that convert themselves."""
        return _sparing(super().get_params(ctx))


class SparingGroup(TyperGroup):
    """The same for a group of commands, which has options of its own."""

    def get_params(self, ctx: Any) -> Any:
        """As typer's, with options that convert themselves."""
        return _sparing(super().get_params(ctx))


def _sparing(parameters: Sequence[Any]) -> Sequence[Any]:
    for parameter in parameters:
        converter: Callable[[], Any] | None = getattr(parameter, "get_runtime_param", None)
        described = getattr(parameter, "type_descriptor", None)
        if converter is not None and described is not None and "get_runtime_param" not in vars(parameter):
            own = _Sparing(described, converter)
            parameter.get_runtime_param = lambda found=own: found
    return parameters


class _Sparing:
    """Converts what is given for one option as typer does; ``converter`` gives what does so in typer itself."""

    def __init__(self, described: Any, converter: Callable[[], Any]) -> None:
        self._converter = converter
        self._annotation = getattr(described, "annotation", None)
        self._info = info = getattr(described, "parameter_info", None)
        self._parser = getattr(info, "parser", None)
        self._is_plain = (
            self._annotation in (str, Path, int, list[str])
            and self._parser is None
            and getattr(info, "path_type", None) is None
            and not any(getattr(info, demand, False) for demand in _DEMANDS)
            and all(getattr(info, permit, True) for permit in ("file_okay", "dir_okay"))
        )

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value that the verb gets. Raises as typer does."""
        takes_several = param.multiple or param.nargs == -1
        if value is None:
            return () if takes_several else None
        if self._parser is not None and not takes_several and param.nargs == 1:
            return self._parser(value)
        if self._is_plain and (takes_several or param.nargs == 1):
            found = self._several(value) if takes_several else self._one(value)
            if found is not None:
                return found
        return self._converter().coerce(value, param=param, ctx=ctx)

    def _several(self, values: Any) -> list[str] | None:
        texts = self._annotation == list[str] and isinstance(values, (list, tuple))
        return list(values) if texts and all(type(value) is str for value in values) else None

    def _one(self, value: Any) -> str | Path | int | None:
        """The value; None if it is left to typer."""
        if type(value) is not str:
            return None
        if self._annotation is str:
            return value
        if self._annotation is Path:
            return Path(value) if _is_free(value) else None
        if self._annotation is int and value.isascii() and value.isdigit() and len(value) < _MOST_DIGITS:
            least, most = getattr(self._info, "min", None), getattr(self._info, "max", None)
            number = int(value)
            return number if (least is None or number >= least) and (most is None or number <= most) else None
        return None


_MOST_DIGITS = 10
_DEMANDS = ("exists", "writable", "executable", "resolve_path", "allow_dash")


def _is_free(path: str) -> bool:
    """Whether there is nothing at the path, or something that can be read: typer objects to anything else."""
    try:
        os.stat(path)
    except OSError:
        return True
    except ValueError:  # no path can have such a character
        return False
    return os.access(path, os.R_OK)
