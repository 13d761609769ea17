"""Completion of values: the names that exist, read from files, runs and the registry.

Each function is called by the parser with what is typed so far, when a shell asks; nothing here is imported otherwise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem, ZshComplete, shell_complete

from assay.errors import UsageError

SHELLS: Final = ("bash", "zsh", "fish")
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
                   _ASSAY_COMPLETE=bash_complete "$1" 2>/dev/null | sed -n 's/^plain,//p' ) )
    # bash takes : and = for the ends of words: what stands before them is not to be written again.
    before="${word%"${word##*[:=]}"}"
    COMPREPLY=( "${COMPREPLY[@]#"$before"}" )
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=/] ]]; then compopt -o nospace; fi
    return 0
}

complete -o default -F _assay_completion assay"""
"""Ours, since URLs and pairs of a name and a value are completed whole, which bash's own splitting does not allow."""
_FISH = r"""function _assay_completion
    set -l offered (env COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) \
                        _ASSAY_COMPLETE=fish_complete assay 2>/dev/null)
    if string match -q 'file,*' -- $offered[1]
        __fish_complete_path (commandline -t)
    else
        string replace -r '^plain,' '' -- $offered
    end
end

complete --no-files --command assay --arguments '(_assay_completion)'"""
"""Ours, since the parser's own takes a comma for the end of a name."""

Names = Callable[[Any, str], list[str]]
"""From the parser's context and what is typed to the names that begin so."""


Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""As the parser calls it."""


def completer_of(verb: str, names: Sequence[str], *, is_argument: bool = False) -> Completer:
    """What completes an option of these names, or an argument: its values, or files if none are known."""
    if is_argument:
        candidates = _ARGUMENTS.get((verb, names[0]))
    else:
        known = (_OF_VERB.get((verb, name), _OPTIONS.get(name)) for name in names)
        candidates = next(filter(None, known), None) or _words_of(names)

    def complete(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        offered: list[CompletionItem] = []
        # What a shell asks for must never end in a message: it would stand in the middle of a command line.
        with suppress(Exception):
            if candidates is not None:
                offered = [CompletionItem(name) for name in candidates(context, typed) if _SAFE.fullmatch(name)]
        return offered or [CompletionItem(typed, type="file")]

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


def answer_shell(command: click.Command, environment: Mapping[str, str]) -> bool:
    """Print what a shell that asks can offer. False if none asks."""
    if _VARIABLE not in environment:
        return False
    shell_complete(command, {}, "assay", _VARIABLE, environment[_VARIABLE])
    return True


def completion_script(shell: str) -> str:
    """What a shell runs to have completion."""
    own = {"bash": _BASH, "fish": _FISH}
    return own.get(shell) or ZshComplete(click.Command("assay"), {}, "assay", _VARIABLE).source().strip()


def install_completion(shell: str) -> Path:
    """Write the script into the shell's folder of completions, and return its path. Raises OSError."""
    home = Path.home()
    path, start, lines = {
        "bash": (home / ".bash_completions" / "assay.sh", ".bashrc", "source '{path}'"),
        "zsh": (home / ".zfunc" / "_assay", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
        "fish": (home / ".config" / "fish" / "completions" / "assay.fish", None, ""),
    }[shell]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{completion_script(shell)}\n", encoding="utf-8")
    if start is not None:
        line, file = lines.format(path=path), home / start
        known = file.read_text(encoding="utf-8") if file.exists() else ""
        if line not in known:
            file.write_text(f"{known}\n{line}\n", encoding="utf-8")
    return path


def shell_in_use(environment: Mapping[str, str]) -> str:
    """The shell that is in use. Raises UsageError if it is unknown."""
    with suppress(OSError):  # told by the process above this one, where that works
        name = Path(f"/proc/{os.getppid()}/comm").read_text(encoding="utf-8").strip()
        if name in SHELLS:
            return name
    name = Path(environment.get("SHELL", "")).stem
    if name in SHELLS:
        return name
    told = f"{name!r} is not a shell with completion" if name else "the shell in use is unknown"
    raise UsageError(f"{told}: write  SHELL=/bin/bash assay --show-completion, with one of {', '.join(SHELLS)}")
