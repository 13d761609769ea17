"""The text of a settings file: each setting with what it is for, and in comments what else there is."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from assay.cli.init.found import FILE_SCHEMES, Found
from assay.model import DatabaseUrl, Limits

_PLAIN = re.compile(r"(?:[A-Za-z_]|\.{0,2}/)(?:[\w./@+{}=?-]|:(?=\S)| (?=[\w./]))*", re.ASCII)
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", ".inf", ".nan"})
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""What no YAML file may hold as it stands."""


def settings_text(found: Found, folder: Path) -> str:
    """The file, with its paths relative to the folder it is written to."""
    return "\n".join(_lines(found, folder)) + "\n"


def _lines(found: Found, folder: Path) -> Iterator[str]:
    yield "# Written by assay init. Paths are relative to this file; an option on the command line weighs more."
    if found.holds_secret:
        yield "# It holds a password in a URL: keep this file out of version control."
    yield ""
    yield "# The questions:"
    yield from (f"#   {_comment(line)}" for line in found.lines)
    yield f"cases: {_scalar(_relative(found.cases, folder))}"
    if found.named_format:
        yield f"case_format: {found.format}"
    yield "# case_fields: {id: id, question: question, gold: gold_sql}   # where columns have other names"
    yield ""
    yield from _answers(found, folder)
    yield ""
    yield "# The database. {db_id} in it stands for each case's own."
    yield f"db: {_scalar(_database(found.db, folder))}"
    yield ""
    yield "# The folder that keeps the run; the same command goes on there where it was interrupted."
    yield "output: runs/first"
    yield ""
    yield "# The first is the headline. Without this line: all built-in ones. ves and bird_rves time queries, too."
    yield f"metrics: [{', '.join(found.metrics)}]"
    yield ""
    limits = Limits()
    yield "# For each query, in seconds."
    yield f"timeout_s: {limits.timeout_s:g}"
    yield f"# max_rows: {limits.max_rows}"
    yield f"# max_memory_mib: {limits.max_memory_bytes // 2**20}"
    yield ""
    yield from _gates(found)
    yield ""
    yield "# What is doubtful about the gold itself, beside the verdicts:"
    yield "# lint: {with_run: true}"
    yield "# How sure is each match? Other databases on which it fails are looked for:"
    yield "# witness: {time: 1s}"


def _answers(found: Found, folder: Path) -> Iterator[str]:
    if found.system is not None:
        yield "# The live system that is asked. Its credentials: ASSAY_USER and ASSAY_PASSWORD, or ASSAY_TOKEN."
        yield f"system: {_scalar(found.system)}"
        yield "concurrency: 4"
    elif found.predictions is not None:
        yield "# The system's answers."
        yield f"predictions: {_scalar(_relative(found.predictions, folder))}"
    else:
        yield "# The system's answers: a file, or a live system. Without either they stand beside the questions."
        yield "# predictions: answers.jsonl"
        yield "# system: http:http://127.0.0.1:8080/ask"


def _gates(found: Found) -> Iterator[str]:
    yield "# What a build must reach: exit status 1 where it does not."
    yield "# baseline: runs/main"
    yield "# gates:"
    yield "#   min: {match: 80%}"
    yield "#   max_drop: {match: 1%}"
    yield "#   fail_on_regression: true"
    name = f"tag:{found.tags[0]}" if found.tags else f"difficulty:{found.difficulties[0]}" if found.difficulties else ""
    if name:
        yield f"#   must_pass: [{_scalar(_comment(name), within=True)}]"


def _relative(path: Path, folder: Path) -> str:
    """The path as the file at ``folder`` names it: absolute where it was given so."""
    if path.is_absolute():
        return path.as_posix()
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive
        return path.absolute().as_posix()


def _database(url: DatabaseUrl, folder: Path) -> str:
    if url.scheme not in FILE_SCHEMES or url.path == ":memory:":
        return url.text  # a ${NAME} stays one: what it stands for belongs in no file
    return url.with_path(_relative(Path(url.path), folder)).text


def _comment(text: str) -> str:
    return " ".join(_UNREADABLE.sub(" ", text).split())


def _scalar(text: str, *, within: bool = False) -> str:
    """The text as YAML reads it back; ``within`` a list in brackets."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS and not (within and re.search(r"[,\[\]{}]", text))
    return text if plain else _UNREADABLE.sub(_escaped, json.dumps(text, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
