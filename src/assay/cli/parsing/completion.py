"""Completion of values: the names that exist, read from files, runs and the registry.

Each function is called by the parser with what is typed so far, when a shell asks; nothing here is imported otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from assay.errors import UsageError

SHELLS: Final = ("bash", "zsh", "fish", "powershell", "pwsh")
_MOST_CASES = 5_000
_SAFE: Final = re.compile(r"[\w@%+=:,./-]+")
"""What a shell takes as it stands. Names come from files too, and a shell puts what is offered on the command line:
one e.g. ``$(rm x)`` would be run with it."""
_VARIABLE: Final = "_ASSAY_COMPLETE"
_BASH = r"""_assay_completion() {
    local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}" word before
    local -a parts
    IFS=$' \t\n' read -ra parts <<< "$line"
    word="${line##*[[:space:]]}"
    COMPREPLY=( $( env COMP_WORDS="$line" COMP_CWORD=$(( ${#parts[@]} - (${#word} > 0) )) \
                   _ASSAY_COMPLETE=complete_bash "$1" 2>/dev/null ) )
    # bash takes : and = for the ends of words: what stands before them is not to be written again.
    before="${word%"${word##*[:=]}"}"
    COMPREPLY=( "${COMPREPLY[@]#"$before"}" )
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=/] ]]; then compopt -o nospace; fi
    return 0
}

complete -o default -F _assay_completion assay"""
"""Ours, since URLs and pairs of a name and a value are completed whole, which bash's own splitting does not allow."""

Names = Callable[[Any, str], list[str]]
"""From the parser's context and what is typed to the names that begin so."""


class Offered(Struct, frozen=True, kw_only=True):
    """One name for a shell to offer, with the attributes that the parser's drawing of them reads."""

    value: str
    type: str = "plain"
    help: str | None = None


def completer_of(verb: str | None, parameter: Any) -> Callable[[Any, str], list[Offered]] | None:
    """What completes this option or argument; None leaves it to the shell, which offers files."""
    if parameter.param_type_name == "argument":
        found = _ARGUMENTS.get((verb or "", str(parameter.name)))
    else:
        own = (_OF_VERB.get((verb or "", name), _OPTIONS.get(name)) for name in parameter.opts)
        found = next((one for one in own if one is not None), None) or _words_of(parameter.opts)
    if found is None:
        return None

    def complete(context: Any, typed: str) -> list[Offered]:
        # What a shell asks for must never end in a message: it would stand in the middle of a command line.
        with suppress(Exception):
            return [Offered(value=one) for one in found(context, typed) if _SAFE.fullmatch(one)]
        return []

    return complete


def _starting(names: Iterable[str], typed: str) -> list[str]:
    return sorted(name for name in names if name.startswith(typed))


def _plugins(group: str) -> Names:
    def named(_context: Any, typed: str) -> list[str]:
        from importlib.metadata import entry_points

        return _starting({entry.name for entry in entry_points(group=f"assay.{group}")}, typed)

    return named


def _metrics(_context: Any, typed: str) -> list[str]:
    """The next of names that are separated by commas."""
    before, comma, last = typed.rpartition(",")
    return [f"{before}{comma}{name}" for name in _plugins("metrics")(None, last) if name not in before.split(",")]


def _with_equals(names: Names) -> Names:
    return lambda context, typed: [f"{name}=" for name in names(context, typed)]


def _systems(_context: Any, typed: str) -> list[str]:
    return _starting((f"{name}:" for name in _plugins("systems")(None, "")), typed)


def _databases(_context: Any, typed: str) -> list[str]:
    """URLs of the files that are there, and the schemes of what is reached otherwise."""
    scheme, slashes, path = typed.partition(":///")
    if slashes and scheme in ("sqlite", "duckdb"):
        folder = Path(path).parent if not path.endswith("/") else Path(path)
        found = [one for one in folder.iterdir() if not one.name.startswith(".")]
        return _starting((f"{scheme}:///{one.as_posix()}{'/' if one.is_dir() else ''}" for one in found), typed)
    files = ("sqlite", "duckdb")
    return _starting((f"{name}://{'/' if name in files else ''}" for name in _plugins("engines")(None, "")), typed)


def _words_of(options: Iterable[str]) -> Names | None:
    """The words of a setting that takes only some."""
    return next((_words(*words) for name in options if (words := _words_by_option().get(name))), None)


@cache
def _words_by_option() -> dict[str, tuple[str, ...]]:
    from assay.settings import declarations  # which `assay --help` needs for nothing else

    return {name: setting.words for _, setting in declarations() for name in setting.names if setting.words}


def _words(*words: str) -> Names:
    return lambda _context, typed: _starting(words, typed)


def _cases(context: Any, typed: str) -> list[str]:
    """The ids of a run's cases, from its columns, or from its journal if it is unfinished."""
    folder = Path(context.params["run"])
    from assay.runs.store.run_tables import answered, named_runs

    runs, _ = named_runs([folder])
    with answered(runs, f"SELECT DISTINCT case_id FROM cases LIMIT {_MOST_CASES}") as result:
        return _starting((str(row[0]) for row in result.rows), typed)


def _rules(_context: Any, typed: str) -> list[str]:
    from assay.linting import catalogue

    before, comma, last = typed.rpartition(",")
    return [f"{before}{comma}{name}" for name in _starting((rule.about.name for rule in catalogue()), last)]


def _selectors(_context: Any, typed: str) -> list[str]:
    return _starting(("tag:", "difficulty:", "database:", "id:"), typed)


_OPTIONS: Final[dict[str, Names]] = {
    "--metrics": _metrics,
    "--metric": _plugins("metrics"),
    "--case-format": _plugins("cases"),
    "--prediction-format": _plugins("cases"),
    "--report": _with_equals(_plugins("reports")),
    "--min": _with_equals(_plugins("metrics")),
    "--max-drop": _with_equals(_plugins("metrics")),
    "--must-pass": _selectors,
    "--system": _systems,
    "--db": _databases,
    "--gold-db": _databases,
    "--scratch": _words("postgresql://"),
    "--backend": _words("local", "ray", "ray://"),
    "--fail-on": _words("error", "warning", "note"),
    "--match-on": _words("id", "id_and_name"),
    "--preserve": _words("observed", "declared"),
    "--prompt": _words("ddl", "ddl-or-null", "llmsql-0", "llmsql-1", "llmsql-5"),
    "--ignore": _rules,
}
_OF_VERB: Final[dict[tuple[str, str], Names]] = {
    ("lint", "--only"): _rules,
    ("judge", "--only"): _words("all", "correct", "incorrect"),
}
_ARGUMENTS: Final[dict[tuple[str, str], Names]] = {
    ("explain", "case"): _cases,
    ("doctor", "url"): _databases,
}


def prepare_completion(environment: Mapping[str, str]) -> None:
    """Let the parser answer a shell that asks. Call it before the command line is read."""
    if _VARIABLE in environment:
        import_module("typer.completion").completion_init()


def completion_script(shell: str) -> str:
    """What a shell runs to have completion."""
    if shell == "bash":
        return _BASH
    script = import_module("typer.completion").get_completion_script
    return str(script(prog_name="assay", complete_var=_VARIABLE, shell=shell))


def install_completion(shell: str) -> Path:
    """Write the script where the shell reads it, and return that place. Raises OSError."""
    install = import_module("typer.completion").install
    path = Path(install(shell=shell, prog_name="assay", complete_var=_VARIABLE)[1])
    if shell == "bash":
        path.write_text(f"{_BASH}\n", encoding="utf-8")
    return path


def shell_in_use(environment: Mapping[str, str]) -> str:
    """The shell that is in use. Raises UsageError if it is unknown."""
    with suppress(Exception):  # told by the processes above this one, where that works
        name = str(import_module("shellingham").detect_shell()[0])
        if name in SHELLS:
            return name
    name = Path(environment.get("SHELL", "")).stem
    if name in SHELLS:
        return name
    told = f"{name!r} is not a shell with completion" if name else "the shell in use is unknown"
    raise UsageError(f"{told}: write  SHELL=/bin/bash assay --show-completion, with one of {', '.join(SHELLS)}")
