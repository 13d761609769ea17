"""`assay init`: what is there is read, and the settings that fit it are written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import click
from msgspec import Struct
from msgspec.structs import asdict, replace

from assay.cli.messages import say
from assay.cli.options.declared import Only, check_one_source
from assay.cli.options.evidence import EvidenceFlags
from assay.cli.options.gates import GateFlags
from assay.cli.parsing.parameters import argument, option
from assay.cli.verbs.init.found import FILE_SCHEMES, Found
from assay.errors import InputError, UsageError
from assay.model import DatabaseUrl, Limits
from assay.platform.shell import quoted
from assay.settings import GateSettings, Settings
from assay.settings.setting import fields_of


def init(  # one parameter an option
    cases: Annotated[Path, argument(metavar="CASES", help="Question set.")],
    *,
    settings: Annotated[Settings, Only(without=("output", "baseline"))],
    output: Annotated[Path, option("--output", "-o", metavar="FILE", help="File to write.")] = Path("eval.yaml"),
    run: Annotated[Path | None, option("--run", metavar="RUN", help="Folder of the run. [default: runs/first]")] = None,
    evidence: EvidenceFlags,
    gates: GateFlags,
    overwrite: Annotated[bool, option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Write a settings file for a question set. Asks nothing, executes nothing.

    It recognises the format and the columns, counts the cases and their answers, and picks metrics for what is there.

    Example:  assay init dev.jsonl --predictions answers.jsonl --db 'sqlite:///dbs/{db_id}.sqlite'

    Then:  assay run eval.yaml
    """
    from assay.cli.verbs.init.found import look_at
    from assay.reports.files import replace_file
    from assay.reports.text.plain import visible

    if settings.db is None:
        raise UsageError("--db must be given: the database on which the queries run, for example sqlite:///shop.sqlite")
    check_one_source(settings)
    if output.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(f"--output is {output}: write a name that ends in .yaml")
    if output.exists() and not overwrite:
        raise InputError(f"{output}: there is such a file already: add --overwrite to replace it, or name another (-o)")
    settings = with_sections(settings, evidence, gates)
    found = look_at(cases, replace(settings, output=None if run is None else str(run)))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(_lines(found, output.parent)) + "\n"
        replace_file(output, text.encode(), mode=0o600 if found.secrets else None)
    except OSError as error:
        raise InputError(f"{output}: the settings cannot be written there ({error.strerror})") from error
    for line in (f"wrote {output}", *(f"  {line}" for line in found.lines), "", f"next:  {_next(output, found)}"):
        click.echo(visible(line))
    for note in (*_about_secrets(output, found), *found.notes):
        say(f"warning: {note}")


def _about_secrets(output: Path, found: Found) -> Iterator[str]:
    """What the owner of a file with secrets must know."""
    if found.secrets:
        yield f"{output} contains a secret ({', '.join(found.secrets)}): keep it out of version control"
        if {"db", "gold_db", "headers"} & {*found.secrets}:
            yield "the URL of a database and a header may have ${NAME}, which is taken from the environment"


def _next(output: Path, found: Found) -> str:
    command = f"assay run {quoted(str(output))}"
    return command if found.has_answers else f"name the answers in {output} (predictions: or system:), then  {command}"


_PLAIN = re.compile(r"(?:[A-Za-z_]|\.{0,2}/)(?:[\w./@+{}=?-]|:(?=\S)| (?=[\w./]))*", re.ASCII)
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", ".inf", ".nan"})
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""What no YAML file may hold as it stands."""


def with_sections(settings: Settings, evidence: EvidenceFlags, gates: GateFlags) -> Settings:
    """The settings with what was typed of their sections. Raises UsageError for a gate that cannot be read."""
    demands = gates.gathered()
    of_gates = {
        "min": dict(demands.minimum) or None,
        "max_drop": dict(demands.max_drop) or None,
        "fail_on_regression": bool(demands.fail_on_regression),
        "alpha": gates.alpha,
        "must_pass": demands.must_pass,
        "max_unscored": demands.max_unscored,
    }
    evidence.gathered(None)
    evidence.lint_options(None)
    witness, lint = evidence.over(None), evidence.lint_section(None)
    return replace(
        settings,
        gates=GateSettings(**of_gates) if demands.any else None,  # type: ignore[arg-type]
        baseline=gates.baseline,
        witness=witness if witness.with_run else None,
        lint=lint if lint.with_run else None,
    )


def _lines(found: Found, folder: Path) -> Iterator[str]:
    given = dict(_given(found.settings, folder))
    yield "# Written by assay init. Paths are relative to this file; an option on the command line weighs more."
    if found.secrets:
        yield f"# It contains a secret ({', '.join(found.secrets)}): keep this file out of version control."
    yield ""
    yield "# The questions:"
    yield from (f"#   {_comment(line)}" for line in found.lines)
    yield f"cases: {_scalar(_relative(found.cases, folder))}"
    yield from _written(given, "case_format")
    example = "# case_fields: {id: id, question: question, gold: gold_sql}   # if columns have other names"
    yield from _written(given, "case_fields", example)
    yield ""
    yield from _answers(given)
    yield ""
    yield "# The database. {db_id} in it stands for each case's own."
    yield from _written(given, "db")
    yield ""
    yield "# The folder of the run. The same command resumes an interrupted run."
    yield from _written(given, "output", "output: runs/first")
    yield ""
    yield "# The first is the headline. Without this line: the usual ones. ves and bird_rves time queries, too."
    yield from _written(given, "metrics", f"metrics: [{', '.join(found.metrics)}]")
    yield ""
    limits = Limits()
    yield "# For each query, in seconds."
    yield from _written(given, "timeout_s", f"timeout_s: {limits.timeout_s:g}")
    yield from _written(given, "max_rows", f"# max_rows: {limits.max_rows}")
    yield from _written(given, "max_memory_mib", f"# max_memory_mib: {limits.max_memory_bytes // 2**20}")
    yield ""
    yield "# What a build must reach; else the exit status is 1."
    yield from _written(given, "baseline", "# baseline: runs/main")
    yield from _written(given, "gates", *_gates(found))
    yield ""
    yield "# Check the gold queries, too:"
    yield from _written(given, "lint", "# lint: {with_run: true}")
    yield "# How sure is each match? Other databases on which it fails are looked for:"
    yield from _written(given, "witness", "# witness: {time: 1s}")
    if given:
        yield ""
        yield "# What else was asked for:"
        yield from (f"{name}: {value}" for name, value in given.items())


def _written(given: dict[str, str], name: str, *otherwise: str) -> Iterator[str]:
    """A setting that was given, which is taken out of ``given``; else these lines."""
    value = given.pop(name, None)
    yield from otherwise if value is None else (f"{name}: {value}",)


def _given(settings: Settings, folder: Path) -> Iterator[tuple[str, str]]:
    """Each setting that is not left to its default, as YAML writes it."""
    for name, field in fields_of(Settings).items():
        value = getattr(settings, name)
        if isinstance(value, Struct):
            value = {inner: one for inner, one in asdict(value).items() if one not in (None, ())}
        if value is None or value == {}:
            continue
        if name in ("db", "gold_db"):
            value = (
                {engine: _database(DatabaseUrl.parse(url), folder) for engine, url in value.items()}
                if isinstance(value, dict)
                else _database(DatabaseUrl.parse(value), folder)
            )
        elif (field.setting is not None and field.setting.is_path) or (name == "prompt" and Path(value).is_file()):
            value = _relative(Path(value), folder)
        yield name, _yaml(value)


def _yaml(value: Any, *, within: bool = False) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_yaml(key, within=True)}: {_yaml(one, within=True)}' for key, one in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_yaml(one, within=True) for one in value)}]"
    return _scalar(value, within=within) if isinstance(value, str) else json.dumps(value)


def _answers(given: dict[str, str]) -> Iterator[str]:
    if "system" in given:
        yield "# The live system that is asked. Its credentials: ASSAY_USER and ASSAY_PASSWORD, or ASSAY_TOKEN."
        yield from _written(given, "system")
        yield from _written(given, "concurrency", "concurrency: 4")
    elif "predictions" in given:
        yield "# The system's answers."
        yield from _written(given, "predictions")
    else:
        yield "# The system's answers: a file, or a live system. Default: in the file of the questions."
        yield "# predictions: answers.jsonl"
        yield "# system: http:http://127.0.0.1:8080/ask"


def _gates(found: Found) -> Iterator[str]:
    yield "# gates:"
    yield "#   min: {match: 80%}"
    yield "#   max_drop: {match: 1%}"
    yield "#   fail_on_regression: true"
    name = f"tag:{found.tags[0]}" if found.tags else f"difficulty:{found.difficulties[0]}" if found.difficulties else ""
    if name:
        yield f"#   must_pass: [{_scalar(_comment(name), within=True)}]"


def _relative(path: Path, folder: Path) -> str:
    """The path as the file at ``folder`` names it: absolute if it was given so."""
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
