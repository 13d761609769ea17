"""The parser's parameters, each made from its declaration in the signature of a verb: name, type, default and mark.

    limit: Annotated[int | None, option(metavar="N", least=1, help="Maximum number of cases.")] = None

is ``--limit N``. A parameter without a default must be given; one of a list may be given several times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

import click
from msgspec import Struct

from assay.cli.parsing.completion import completer_of
from assay.cli.parsing.panels import panel_of
from assay.settings.setting import fault_of_path


class UnfitValue(click.BadParameter):
    """Raised for a value that an option cannot have. The message says what to write."""


class Declared(Struct, frozen=True, kw_only=True):
    """What the type and the default of a parameter leave open."""

    help: str
    metavar: str | None = None
    names: tuple[str, ...] = ()
    """The names of an option. Without any: made from the parameter's name."""
    is_argument: bool = False
    least: float | None = None
    most: float | None = None
    read: Callable[[str], Any] | None = None
    """Reads the value from its text, or raises UnfitValue. None: by the type."""
    panel: str | None = None
    """The group in the help. None: that of `panel_of`."""
    show_default: bool = True


def option(
    *names: str,
    help: str,
    metavar: str | None = None,
    least: float | None = None,
    most: float | None = None,
    read: Callable[[str], Any] | None = None,
    panel: str | None = None,
    show_default: bool = True,
) -> Declared:
    """Declare an option, by its names or under that of its parameter."""
    return Declared(
        names=names,
        help=help,
        metavar=metavar,
        least=least,
        most=most,
        read=read,
        panel=panel,
        show_default=show_default,
    )


def argument(metavar: str, help: str) -> Declared:
    """Declare a parameter that is given by its position."""
    return Declared(metavar=metavar, help=help, is_argument=True)


class Option(click.Option):
    """An option in its group of the help."""

    panel: str


class _Number(click.FloatRange):
    """A number within bounds, which NaN never is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("it is not a number", param, ctx)
        return number


class _Path(click.Path):
    """A path, of characters that a path can have."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except ValueError:
            self.fail(f"it {fault_of_path(value)}", param, ctx)


def parameter(verb: str, name: str, hint: Any, default: Any, declared: Declared) -> click.Parameter:
    """The parser's form of a verb's parameter. Required if its default is an ellipsis."""
    kind = next((part for part in get_args(hint) if part is not NoneType), hint) if NoneType in get_args(hint) else hint
    is_list = get_origin(kind) is list
    count = len(get_args(kind)) if get_origin(kind) is tuple else 1
    if get_args(kind):
        kind = get_args(kind)[0]
    settings: dict[str, Any] = {"type": _type(kind, declared), "metavar": declared.metavar}
    if default is ...:
        settings["required"] = True
    else:
        settings |= {"required": False, "default": default}
    if is_list:
        settings["callback"] = lambda _context, _parameter, values: list(values) if values else default
    if declared.is_argument:
        completer = completer_of(verb, [name], is_argument=True)
        by_position = click.Argument([name], nargs=-1 if is_list else 1, shell_complete=completer, **settings)
        by_position.help = declared.help  # which older versions do not take
        return by_position
    written = declared.names or (f"--{name.replace('_', '-')}",)
    opts = [names.partition("/")[0] for names in written]
    by_name = Option(
        [name, *written],
        help=declared.help,
        multiple=is_list,
        nargs=count,
        is_flag=kind is bool or None,
        show_default=declared.show_default,
        shell_complete=None if kind is bool else completer_of(verb, opts),
        **settings,
    )
    by_name.panel = declared.panel or panel_of(verb, opts)
    return by_name


def _type(kind: Any, declared: Declared) -> Any:
    """What the parser converts a text with."""
    if declared.read is not None:
        return declared.read
    if kind in (int, float) and declared.least is not None:
        bounded: Any = click.IntRange if kind is int else _Number
        return bounded(declared.least, declared.most)
    return _Path(path_type=Path) if kind is Path else kind
