"""The help of a verb: its arguments, its options by groups, its exit statuses, the page to read.

Drawn as plain text, by the parser's own formatter: nothing that draws is imported for it, and it reads the same in a
pipe.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

import click
from msgspec import Struct

from assay.cli.parsing.faults import no_such_verb, too_many, with_context
from assay.cli.parsing.panels import OTHER, USUAL, earlier_names, place_of
from assay.cli.parsing.parameters import Option
from assay.errors import UsageError
from assay.settings.setting import DURATION, DURATION_EXAMPLES

_EXAMPLE: Final = re.compile(r"(.*?): +(assay .*)")
"""A paragraph of a verb's help: what for, and the command."""
_COMMENT: Final = re.compile(r"--(?:\s|[^=\n]*\n)")
"""How a query begins that opens with a comment. No option does; behind a blank the parser takes it for what it is."""


class Verb(click.Command):
    """A command whose options stand in groups.

    If there are many, ``--help`` shows the usual ones (`USUAL`) and ``--help-all`` all of them.
    """

    def __init__(self, name: str, *, panel: str, **settings: Any) -> None:
        super().__init__(name, **settings)
        self.panel = panel
        self.usual = USUAL.get(name, ())
        # What else reads a verb's options, e.g. the reference, has them in the order of the help.
        self.params.sort(key=_place)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What it takes, as one types it: what must be given first, and options behind."""
        return [*_arguments(self.get_params(ctx)), "[OPTIONS]"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As the parser's; what it cannot use it says of this verb, and with the value that was given."""
        if self.usual and HELP_ALL in args and not ctx.resilient_parsing:
            ctx.meta[_ALL] = True
            print(ctx.get_help())
            ctx.exit()
        args = [f" {one}" if _COMMENT.match(one) else one for one in args]
        if any(_JSON in one.opts for one in self.params):
            args = _with_json_file(args)
        typed = list(args)
        ctx.allow_extra_args = True
        try:
            rest: list[str] = super().parse_args(ctx, args)
        except click.UsageError as error:
            raise with_context(error, ctx, typed) from None
        if ctx.resilient_parsing:  # a shell asks what could follow
            return rest
        if rest:
            raise UsageError(too_many(rest, ctx, typed))
        if any(_PREDICTIONS in param.opts and not param.multiple for param in self.params if isinstance(param, Option)):
            _check_one_file(typed)
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the parts; what the parser's versions write of arguments differs, and is among the options here."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what it is for, with each example on lines of its own that can be copied.

        The short help has one example.
        """
        paragraphs = (self.help or "").split("\n\n")
        if self.usual and not _shows_all(ctx):
            first = next((at for at, one in enumerate(paragraphs) if _EXAMPLE.fullmatch(" ".join(one.splitlines()))), 0)
            paragraphs = [paragraphs[0], *paragraphs[first : first + 1]] if first else paragraphs[:1]
        formatter.write_paragraph()
        with formatter.indentation():
            for number, paragraph in enumerate(paragraphs):
                if number:
                    formatter.write_paragraph()
                example = _EXAMPLE.fullmatch(" ".join(paragraph.splitlines()))
                formatter.write_text(f"{example[1]}:" if example else paragraph)
                if example:
                    for line in command_lines(example[2], formatter.width - 6):
                        formatter.write(f"{'':>{formatter.current_indent + 2}}{line}\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write what it takes, and its options by groups; of many, the usual ones."""
        parameters = self.get_params(ctx)
        is_whole = not self.usual or _shows_all(ctx)
        shown = [
            one
            for one in parameters
            if is_whole or one.param_type_name == "argument" or {*self.usual} & {*one.opts, *one.secondary_opts}
        ]
        _write_parameters(shown, ctx, formatter, grouped=is_whole)
        formatter.write_paragraph()
        if any(one.metavar == DURATION for one in shown):
            formatter.write_text(f"{DURATION} is in seconds, or has a unit: {DURATION_EXAMPLES}.")
        if not is_whole:
            formatter.write_text(f"All {len(parameters)} options:  {ctx.command_path} {HELP_ALL}")


def _check_one_file(typed: Sequence[str]) -> None:
    """Raise UsageError if two files of predictions were typed: the parser would take the last without a word."""
    files = []
    for word, after in pairwise([*typed, ""]):
        if word in (_PREDICTIONS, "-p"):
            files.append(after)
        elif word.startswith(f"{_PREDICTIONS}="):
            files.append(word.partition("=")[2])
    if len(set(files)) > 1:
        raise UsageError(
            f"{_PREDICTIONS} is given twice: {files[0]} and {files[-1]}. A run is of one system: run the command for "
            "each file, then compare them:  assay diff RUN_A RUN_B"
        )


def _with_json_file(args: list[str]) -> list[str]:
    """The arguments with ``-`` behind each ``--json`` that no file follows: JSON then goes to standard output."""
    end = args.index("--") if "--" in args else len(args)
    given: list[str] = []
    for index, word in enumerate(args[:end]):
        given.append(word)
        after = args[index + 1] if index + 1 < len(args) else "--"
        if word == _JSON and not _may_be_json_file(after):
            given.append("-")
    return [*given, *args[end:]]


def _may_be_json_file(word: str) -> bool:
    """Whether the word is meant as the file of JSON: not an option, a query, a folder, or a file of another kind."""
    if word == "-" or word.endswith(".json"):
        return True
    if not word or word[0] in "-@" or len(word.split()) > 1:
        return False
    return not (os.path.isdir(word) or (os.path.splitext(word)[1] and os.path.exists(word)))


_JSON: Final = "--json"
_PREDICTIONS: Final = "--predictions"
_ALL: Final = "assay.help_all"
HELP_ALL: Final = "--help-all"


def _shows_all(ctx: Any) -> bool:
    return bool(ctx.meta.get(_ALL))


class Listed(Struct, frozen=True, kw_only=True):
    """A verb as a list of verbs shows it. What it takes is known once it is made."""

    name: str
    short_help: str
    panel: str
    make: Callable[[], click.Command]


class Verbs(click.Group):
    """A group of verbs, in groups of their own.

    Each is made when it is asked for: the options of all cost more time than all else at the start.
    """

    def __init__(self, name: str, *, verbs: Iterable[Listed], **settings: Any) -> None:
        super().__init__(name, **settings)
        self.verbs = {verb.name: verb for verb in verbs}

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the parser's signature
        """The verbs' names in their order."""
        return list(self.verbs)

    def get_command(self, ctx: Any, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the parser's signature
        """The verb of a name; None if there is none."""
        if cmd_name in self.verbs and cmd_name not in self.commands:
            self.commands[cmd_name] = self.verbs[cmd_name].make()
        return self.commands.get(cmd_name)

    def every_verb(self) -> dict[str, Any]:
        """All verbs by name."""
        return {name: self.get_command(None, name) for name in self.verbs}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As the parser's; without any word, the help is a message on an unusable command line."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that is meant. Raises UsageError, with the closest one, for an unknown name."""
        if not ctx.resilient_parsing and args[0] not in self.verbs and not args[0].startswith("-"):
            raise UsageError(no_such_verb(args[0], list(self.verbs), ctx))
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs by groups, then the options."""
        found: dict[str, list[tuple[str, str]]] = {}
        for verb in self.verbs.values():
            found.setdefault(verb.panel, []).append((verb.name, verb.short_help))
        width = max((len(verb.name) for verb in self.verbs.values()), default=0)
        for panel, rows in found.items():
            with formatter.section(panel):
                formatter.write_dl([(f"{name:<{width}}", help_text) for name, help_text in rows])
        _write_parameters(self.get_params(ctx), ctx, formatter)


def command_lines(command: str, width: int) -> list[str]:
    """A command on lines that a shell reads as one: broken before an option."""
    lines = [""]
    for part in re.split(r" (?=-)", " ".join(command.split())):
        if lines[-1].strip() and len(lines[-1]) + len(part) + 3 > width:
            lines.append("  ")
        lines[-1] += part if not lines[-1].strip() else f" {part}"
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def _place(parameter: Any) -> tuple[int, int]:
    """Arguments first, as they stand; options by their groups."""
    return place_of(parameter.panel, parameter.opts) if isinstance(parameter, Option) else (-1, 0)


def _arguments(parameters: Iterable[Any]) -> list[str]:
    return [
        name if one.required or name.startswith("[") else f"[{name}]"
        for one in parameters
        if one.param_type_name == "argument" and (name := _name(one))
    ]


def _name(argument: Any) -> str:
    return argument.metavar or str(argument.name).upper()


def _current(record: tuple[str, str]) -> tuple[str, str]:
    """What the help says of an option, without its earlier names."""
    names, told = record
    return re.sub(rf", ({'|'.join(earlier_names())})(?=[ ,]|$)", "", names), told


def _write_parameters(parameters: Sequence[Any], ctx: Any, formatter: Any, *, grouped: bool = True) -> None:
    """Write arguments, then options, by their groups or as one list."""
    arguments = [
        (_name(parameter).strip("[]"), parameter.help or "")
        for parameter in parameters
        if parameter.param_type_name == "argument"
    ]
    if arguments:
        with formatter.section("Takes"):
            formatter.write_dl(arguments)
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in parameters:
        if parameter.param_type_name == "option" and (record := parameter.get_help_record(ctx)) is not None:
            panel = getattr(parameter, "panel", OTHER) if grouped else OTHER
            panels.setdefault(panel, []).append(_current(record))
    for panel, rows in panels.items():
        with formatter.section("Options" if len(panels) == 1 else panel):
            formatter.write_dl(rows, col_max=28)
