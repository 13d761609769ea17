"""Messages on an invalid command line: what is wrong, the value, and what to do.

The kind of the parser's exception and the option that it names say where the fault is. The parser's own words depend on
its version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from assay.cli.parsing.mistakes import extra_word_hint, option_hint, verb_hint, word_with_one_dash
from assay.cli.parsing.parameters import UnfitValue

_LONG: Final = 100_000
"""From here on a number is written with commas."""


def fault_of(error: Any) -> str:
    """One line for the parser's exception."""
    context = getattr(error, "ctx", None)
    said = _said(error, context)
    if context is None:
        return said
    return f"{said}: see  {context.command_path} --help"


def no_such_verb(name: str, known: list[str], context: Any) -> str:
    """One line for a verb that does not exist, with the one that was probably meant."""
    hint = verb_hint(name, known, is_root=context.parent is None) or f"there is {', '.join(known)}"
    return f"{context.command_path} has no verb {name!r} ({hint}): see  {context.command_path} --help"


def too_many(rest: Sequence[str], context: Any, typed: Sequence[str]) -> str:
    """One line for words behind all that a verb takes."""
    from assay.cli.crash import without_secrets

    takes = " ".join(_name(one) for one in context.command.params if one.param_type_name == "argument")
    told = f"takes {takes} and options" if takes else "takes options only"
    verb = context.command_path
    hint = extra_word_hint(rest, context, typed)
    words = without_secrets(" ".join(map(repr, rest)), ())
    return f"{verb} {told}, not {words} as well: {hint or f'see  {verb} --help'}"


def with_context(error: Any, context: Any, typed: Sequence[str]) -> Any:
    """The parser's exception with its verb, with what was typed, and with the value that was given to its option."""
    if getattr(error, "ctx", None) is None:
        error.ctx = context
    error.typed = typed
    if (parameter := getattr(error, "param", None)) is not None:
        # The value that counts of an option: the last one.
        found = None
        for place, one in enumerate(typed):
            name, equals, value = one.partition("=")
            if name in parameter.opts:
                found = value if equals else next(iter(typed[place + 1 : place + 2]), None)
        error.given = found
    return error


def _said(error: Any, context: Any) -> str:
    parameter = getattr(error, "param", None)
    if isinstance(error, click.NoSuchOption) and context is not None:
        return _unknown_option(error.option_name, context, getattr(error, "typed", ()))
    if isinstance(error, click.MissingParameter) and parameter is not None:
        meaning = (getattr(parameter, "help", None) or "").split(". ")[0].rstrip(".")
        return f"{_name(parameter)} must be given" + (f" ({meaning[:1].lower()}{meaning[1:]})" if meaning else "")
    if isinstance(error, click.BadOptionUsage) and context is not None:
        return _valueless(error, context)
    if parameter is None:
        return _sentence(str(error.message))
    given = getattr(error, "given", None)
    expected = error.message if isinstance(error, UnfitValue) else _expected(parameter.type)
    if expected is not None:
        return f"{_name(parameter)}{'' if given is None else f' is {given!r}'}: write {expected}"
    return f"{_name(parameter)}: {_sentence(str(error.message))}"


def _expected(kind: Any) -> str | None:
    """The numbers that an option takes; None for one that takes something else."""
    noun = {"integer": "a whole number", "float": "a number"}.get(str(kind.name).removesuffix(" range"))
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if noun is None or least is None:
        return noun
    if most is None:
        return f"{noun} from {least:g} up"
    return f"{noun} from {least:g} to {most:{'g' if most < _LONG else ',.0f'}}"


def _unknown_option(given: str, context: Any, typed: Sequence[str]) -> str:
    parameters = context.command.get_params(context)
    long = [name for one in parameters for name in (*one.opts, *one.secondary_opts) if name.startswith("--")]
    if not given.startswith("--"):
        given = word_with_one_dash(typed, long) or given
    arguments = [_name(one) for one in parameters if one.param_type_name == "argument"]
    return f"{context.command_path} has no option {given}{option_hint(given, long, arguments=arguments)}"


def _valueless(error: Any, context: Any) -> str:
    """An option without its value, or one with a value that takes none."""
    given = error.option_name
    parameter = next(
        (one for one in context.command.get_params(context) if given in (*one.opts, *one.secondary_opts)), None
    )
    if parameter is None:
        return _sentence(str(error.message))
    if parameter.is_flag:
        return f"{given} takes no value"
    return f"{given} takes a value{f': write  {given} {parameter.metavar}' if parameter.metavar else ''}"


def _name(parameter: Any) -> str:
    """As it is typed: the long option, or what stands for the argument in the help."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or str(parameter.name).upper()).strip("[]")
    return next((name for name in parameter.opts if name.startswith("--")), str(parameter.opts[0]))


def _sentence(text: str) -> str:
    """The parser's words as part of a sentence."""
    text = " ".join(text.split()).rstrip(".")
    return text[:1].lower() + text[1:]
