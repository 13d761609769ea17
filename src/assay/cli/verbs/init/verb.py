"""`assay init`: what is there is read, and the settings that fit it are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from assay.cli.options.declared import Only
from assay.cli.options.evidence import EvidenceFlags
from assay.cli.options.gates import GateFlags
from assay.errors import InputError, UsageError
from assay.platform.shell import quoted
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.cli.verbs.init.found import Found


def init(  # one parameter an option
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="The question set.")],
    *,
    settings: Annotated[Settings, Only(without=("output", "baseline"))],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")] = Path(
        "eval.yaml"
    ),
    run: Annotated[
        Path | None, typer.Option("--run", metavar="RUN", help="Folder for the run. [default: runs/first]")
    ] = None,
    evidence: EvidenceFlags,
    gates: GateFlags,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file that is there.")] = False,
) -> None:
    """Write an eval.yaml with comments that fits a question set and a database. Asks nothing, executes nothing.

    It recognises the format and the columns, counts the cases and their answers, and picks metrics for what is there.

    Example:  assay init dev.jsonl --predictions answers.jsonl --db 'sqlite:///dbs/{db_id}.sqlite'

    Then:  assay run eval.yaml
    """
    from assay.cli.verbs.init.found import look_at
    from assay.cli.verbs.init.settings_text import settings_text, with_sections
    from assay.reports.files import replace_file
    from assay.reports.text.plain import visible

    if settings.db is None:
        raise UsageError("--db must be given: the database on which the queries run, such as sqlite:///shop.sqlite")
    if settings.predictions is not None and settings.system is not None:
        raise UsageError("--predictions and --system were both given: the answers come from a file or are asked for")
    if output.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(f"--output is {output}: write a name that ends in .yaml")
    if output.exists() and not overwrite:
        raise InputError(f"{output}: there is such a file already: add --overwrite to replace it, or name another (-o)")
    settings = with_sections(settings, evidence, gates)
    found = look_at(cases, replace(settings, output=None if run is None else str(run)))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        text = settings_text(found, output.parent)
        replace_file(output, text.encode(), mode=0o600 if found.secrets else None)
    except OSError as error:
        raise InputError(f"{output}: the settings cannot be written there ({error.strerror})") from error
    for line in (f"wrote {output}", *(f"  {line}" for line in found.lines), "", f"next:  {_next(output, found)}"):
        typer.echo(visible(line))
    for note in (*_about_secrets(output, found), *found.notes):
        typer.echo(visible(f"assay: warning: {note}"), err=True)


def _about_secrets(output: Path, found: Found) -> Iterator[str]:
    """What the owner of a file with secrets must know."""
    if found.secrets:
        yield f"{output} holds a secret ({', '.join(found.secrets)}): keep it out of version control"
        if {"db", "gold_db", "headers"} & {*found.secrets}:
            yield "the URL of a database and a header may have ${NAME}, which is taken from the environment"


def _next(output: Path, found: Found) -> str:
    command = f"assay run {quoted(str(output))}"
    return command if found.has_answers else f"name the answers in {output} (predictions: or system:), then  {command}"
