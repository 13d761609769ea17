"""A page for each verb of the command line, from what the parser itself knows, and one that lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import relpath
from typing import Any

from assay.cli.parsing.panels import place_of
from assay.cli.verbs.docs import docs_folder, find_page
from assay.settings.setting import DURATION_EXAMPLES

MADE = "Made from the code by `python scripts/reference`."
FOLDER = "docs/reference/commands"
_STATUSES = {
    0: "done, whatever the accuracy, with every gate passed that was set",
    1: "a gate is missed; of `assay check`: incorrect",
    2: "the input or the command line cannot be used",
    3: "unfinished: the same command goes on from there",
    70: "a fault in Assay itself; please report it",
    130: "ended by Ctrl-C with nothing to resume",
}


def command_pages() -> dict[str, str]:
    """The pages by the name of their file."""
    from assay.cli.app import app

    verbs = list(_verbs(app, ()))
    pages = {f"{'-'.join(words)}.md": "\n".join(_page(words, verb)) for words, verb in verbs}
    return {"README.md": "\n".join(_index(app, verbs)), **pages}


def _verbs(group: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.every_verb().items():
        if hasattr(command, "every_verb"):
            yield from _verbs(command, (*words, name))
        else:
            yield (*words, name), command


def _index(top: Any, verbs: list[tuple[tuple[str, ...], Any]]) -> Iterator[str]:
    yield from ("# Verbs", "", f"{top.help} {MADE}", "")
    panels: dict[str, list[str]] = {}
    for words, verb in verbs:
        said = f"| [`assay {' '.join(words)}`]({'-'.join(words)}.md) | {cell(verb.short_help)} |"
        panels.setdefault(verb.panel, []).append(said)
    for panel, rows in panels.items():
        yield from (f"## {panel}", "", "| verb | what it does |", "|---|---|", *rows, "")
    yield from ("## Options of `assay` itself", "", *_options(top.params))
    yield from ("## Times", "", f"`TIME` is in seconds, or has a unit (ms, s, m, min, h): {DURATION_EXAMPLES}.", "")
    yield from ("## Exit status", "", "| status | meaning |", "|---|---|")
    yield from (f"| {status} | {meaning} |" for status, meaning in _STATUSES.items())
    yield ""


def _page(words: tuple[str, ...], verb: Any) -> Iterator[str]:
    name = f"assay {' '.join(words)}"
    yield from (f"# `{name}`", "")
    for paragraph in re.split(r"\n\s*\n", verb.help.strip()):
        yield from (_paragraph(" ".join(paragraph.split("\n"))), "")
    arguments = [parameter for parameter in verb.params if parameter.param_type_name == "argument"]
    typed = " ".join([name, *map(_argument, arguments), "[OPTIONS]"])
    yield from ("```text", typed, "```", "")
    if arguments:
        yield from ("## Takes", "", "| argument | what it is |", "|---|---|")
        yield from (f"| `{_argument(argument)}` | {cell(argument.help)} |" for argument in arguments)
        yield ""
    yield from _grouped(verb.params)
    yield from _ending(" ".join((verb.epilog or "").split()))
    yield from (f"[All verbs, and what each exit status means](README.md#exit-status). {MADE}", "")


def _ending(epilog: str) -> Iterator[str]:
    """What stands at the end of a verb's help: its exit statuses, and the page to read."""
    found = re.fullmatch(r"Exit status: (.+)\. Read more: assay docs (\S+)", epilog)
    if found is None:
        if epilog:
            yield from (_code(epilog), "")
        return
    yield from ("## Exit status", "", "| status | meaning |", "|---|---|")
    for part in found[1].split("; "):
        status, _, meaning = part.partition(" ")
        yield f"| {status} | {cell(meaning)} |"
    page = find_page(docs_folder(), found[2]).relative_to(docs_folder()).as_posix()
    yield from ("", f"Read more: [{page}]({relpath(f'docs/{page}', FOLDER)}).", "")


def _paragraph(text: str) -> str:
    """Help text; a command after two blanks is code."""
    said, blanks, command = text.partition("  ")
    if blanks and re.match(r"assay |[A-Z_]+=", command):
        return f"{_code(said)} `{' '.join(command.split())}`"
    return _code(" ".join(text.split()))


def _argument(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _grouped(parameters: list[Any]) -> Iterator[str]:
    panels: dict[str, list[Any]] = {}
    for one in parameters:
        if one.param_type_name == "option" and not one.hidden:
            panels.setdefault(one.panel, []).append(one)
    for panel, options in sorted(panels.items(), key=lambda item: place_of(item[0], ())):
        ordered = sorted(options, key=lambda one: place_of(panel, one.opts))
        yield from (f"## {panel if len(panels) > 1 else 'Options'}", "", *_options(ordered))


def _options(options: list[Any]) -> Iterator[str]:
    yield from ("| option | what it does |", "|---|---|")
    for option in options:
        shown = [*sorted(option.opts, key=len), *option.secondary_opts]
        takes = "" if option.is_flag else f" {option.metavar}"
        written = ", ".join(f"`{one}{takes if one == shown[-1] or option.secondary_opts else ''}`" for one in shown)
        written = written.replace("|", "\\|")
        yield f"| {written} | {cell(option.help)}{_extra(option)} |"
    yield ""


def _extra(option: Any) -> str:
    """What the help's own words leave to the parser to say."""
    told = []
    default = None if option.required else option.default
    if option.show_default and default not in (None, False, "", [], ()) and not callable(default):
        value = (option.opts if default else option.secondary_opts)[0] if option.is_flag else default
        told.append(f"Default: `{value}`.")
    least, most = getattr(option.type, "min", None), getattr(option.type, "max", None)
    if least is not None and most is not None:
        told.append(f"From {least:g} to {most:g}.")
    elif least:
        told.append(f"At least {least:g}.")
    if option.multiple and "epeatable" not in (option.help or ""):
        told.append("Repeatable.")
    return "".join(f" {one}" for one in told)


def cell(text: str | None) -> str:
    """A help text as a cell of a table."""
    told = re.sub(r"\s*\[default: ([^\]]*)\]", _default, text or "")
    return _code(told).replace("|", "\\|")


def _default(found: re.Match[str]) -> str:
    value = found[1] if " " in found[1] else f"`{found[1]}`"
    return f" Default: {value}."


def _code(text: str) -> str:
    """Prose with its options, commands, addresses and placeholders as code, unless they are already."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else " ".join(map(_word, _joined(part).split(" "))) for part in parts)


def _joined(text: str) -> str:
    """`assay run --help` is one piece of code."""
    return re.sub(r"\bassay [a-z]+(?: --?[a-z-]+)*", lambda found: found[0].replace(" ", "\u00a0"), text)


def _word(word: str) -> str:
    before, core, after = re.fullmatch(r"([(]*)(.*?)([),.;:]*)", word).groups()  # type: ignore[union-attr]
    if re.search(r"_|://|[{}=\u00a0]|^--?[a-z]|:[A-Z]|:…|\w\[\d", core):
        return f"{before}`{core}`{after}".replace("\u00a0", " ")
    return _safe(word)


def _safe(text: str) -> str:
    """No stray HTML: what stands in angle brackets is meant as it is written."""
    return re.sub(r"<(?=[A-Za-z/!])", r"\\<", text)
