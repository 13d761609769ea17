"""`assay lint`: likely errors in gold queries."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import click
from msgspec.structs import replace

from assay.cli.messages import tell
from assay.cli.options.declared import JsonFile, Only, Quiet, file_options
from assay.cli.options.settings_file import with_file
from assay.cli.options.stored_runs import A_RUN
from assay.cli.options.two_files import roles_checked
from assay.cli.parsing.parameters import argument, option
from assay.errors import UsageError
from assay.model.lint import Severity
from assay.settings import LintFileSettings, Settings
from assay.settings.values import urls_of

if TYPE_CHECKING:
    from assay.model.lint import LintReport


def lint(  # one parameter an option
    cases: Annotated[
        Path | None,
        argument(metavar="CASES", help="Question set, or YAML file with the settings of a run."),
    ] = None,
    *,
    runs: Annotated[
        list[Path] | None,
        option(
            "--runs",
            "--with",
            metavar="RUN",
            help="Stored run over the same cases. Can be repeated.",
        ),
        A_RUN,
    ] = None,
    only: Annotated[
        list[str] | None, option(metavar="RULES", help="Rules to apply, separated by commas. Default: all.")
    ] = None,
    ignore: Annotated[
        list[str] | None, option(metavar="RULES", help="Rules to leave out, separated by commas.")
    ] = None,
    fail_on: Annotated[
        str | None,
        option(metavar="SEVERITY", help="Severity at which the exit status is 1: error, warning or note."),
    ] = None,
    dialect: Annotated[
        str | None, option(metavar="NAME", help="Dialect of the queries without a database. [default: sqlite]")
    ] = None,
    settings: Annotated[
        Settings,
        Only(
            ("db", "timeout_s", "workers", "limit", "case_format", "case_fields"),
            helps={
                "db": "Database URL, or a template. Without it, only rules that need no database apply.",
                "timeout_s": "Time limit per query. [default: 10]",
            },
        ),
    ],
    html: Annotated[Path | None, option(metavar="FILE", help="Write a self-contained HTML file.")] = None,
    sarif: Annotated[
        Path | None, option(metavar="FILE", help="Write SARIF 2.1.0 for code review; - prints it.")
    ] = None,
    full: Annotated[bool, option("--full", help="Print every finding, not only a summary of one screen.")] = False,
    rules: Annotated[bool, option("--rules", help="List the rules and exit.")] = False,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Find likely errors in gold queries. No system is needed, and nothing is changed.

    Example:  assay lint dev.jsonl --db 'sqlite:///dbs/{db_id}.sqlite'

    In continuous integration:  assay lint dev.jsonl --db sqlite:///shop.sqlite --fail-on error --sarif gold.sarif

    With the answers of systems:  assay lint dev.jsonl --db sqlite:///shop.sqlite --runs runs/first --runs runs/second
    """
    if rules:
        _print_rules()
        return
    if cases is None:
        raise UsageError("name the question set: assay lint CASES --db URL")
    settings = with_file(cases, replace(settings, cases=str(cases)))
    own = settings.lint or LintFileSettings()
    severity = _severity(fail_on if fail_on is not None else own.fail_on)
    from assay.cli.output import check_targets

    targets = {"html": html, "sarif": sarif, "json": json}
    check_targets(targets, settings)
    from assay.api.linting import lint as lint_cases
    from assay.cli.options.access import Access
    from assay.cli.progress import progress
    from assay.model import Limits

    access = Access.gathered(user=settings.user, password=None, token=None, needed=False)
    with roles_checked(settings, verb="lint"), progress(quiet=quiet) as on_progress:
        report = lint_cases(
            settings.cases or str(cases),
            databases=access.databases(settings.db, settings),
            only=_names("--only", only) or own.only,
            ignore=[*_names("--ignore", ignore), *own.ignore],
            runs=runs or (),
            dialect=dialect if dialect is not None else own.dialect,
            limits=None if settings.timeout_s is None else Limits(timeout_s=settings.timeout_s),
            workers=settings.workers,
            files=file_options(settings),
            on_progress=on_progress,
        )
    _deliver(report, targets, full=full, typed=_typed(settings))
    if severity is not None:
        sys.stdout.flush()
        _keep_gate(report, severity)


def _keep_gate(report: LintReport, severity: Severity) -> None:
    """Status 1 for a finding as severe. Raises UsageError if a database could not be read: it may hide one."""
    unread = {case: gap.why for gap in report.unread for case in gap.cases}
    if unread:
        case, why = next(iter(unread.items()))
        failed = f"the database of case {case}" + (f" and {len(unread) - 1:,} more" if len(unread) > 1 else "")
        raise UsageError(f"--fail-on {severity} is not decided, since {failed} cannot be read: {why}")
    if report.reaches(severity):
        tell(f"a finding of the severity {severity} or above: --fail-on {severity} is missed")
        raise click.exceptions.Exit(1)


def _severity(name: str | None) -> Severity | None:
    if name is None:
        return None
    known: tuple[Severity, ...] = get_args(Severity)
    found = next((one for one in known if one == name.strip().lower()), None)
    if found is None:
        raise UsageError(f"--fail-on is {name!r}: write {', '.join(known[:-1])} or {known[-1]}")
    return found


def _names(option: str, given: list[str] | None) -> list[str]:
    names = [name.strip() for text in given or () for name in text.split(",") if name.strip()]
    if given and not names:
        raise UsageError(f"{option} names no rule: see  assay lint --rules")
    return names


def _typed(settings: Settings) -> tuple[str, ...]:
    """The words of the command that reads the same question set on the same database, quoted."""
    from assay.platform.shell import quoted

    urls = urls_of(settings.db)
    named = [f"{engine}={url}" for engine, url in settings.db.items()] if isinstance(settings.db, dict) else urls
    databases = [word for url in named for word in ("--db", quoted(url))]
    is_open = all("@" not in url for url in urls)  # a URL with a user may have a password, too
    return ("assay", "lint", quoted(settings.cases or ""), *databases) if is_open else ()


def _deliver(report: LintReport, targets: Mapping[str, Path | None], *, full: bool, typed: Sequence[str]) -> None:
    from assay.cli.output import STANDARD_OUTPUT, deliver, say_written
    from assay.reports.lint import lint_html, lint_json, lint_sarif, lint_text
    from assay.reports.screen.printing import print_lint

    draw = {"html": lint_html, "sarif": lint_sarif, "json": lint_json}
    written = deliver(targets.items(), lambda name: draw[name](report))
    if STANDARD_OUTPUT not in targets.values():
        if full:
            click.echo(lint_text(report), nl=False)
        else:
            print_lint(report, typed=typed)
    say_written(written, on_stderr=True)


def _print_rules() -> None:
    from assay.linting import catalogue
    from assay.reports.text.plain import aligned

    rows = [
        (rule.about.name, f"{rule.about.severity:<8} {rule.about.needs:<9} {rule.about.finds}") for rule in catalogue()
    ]
    for line in aligned(rows):
        click.echo(line)
