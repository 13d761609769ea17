"""`assay suite`: a few small databases per gold query, which distinguish it from queries with another meaning."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from assay.cli.options.declared import JsonFile, Only, Quiet, duration_option, file_options
from assay.cli.options.stored_runs import A_RUN
from assay.cli.parsing.parameters import argument, option
from assay.errors import InputError, UsageError, did_you_mean, plural
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.model.databases.suite import Suite


def build(  # one parameter an option
    cases: Annotated[Path, argument(metavar="CASES", help="Question set.")],
    runs: Annotated[
        list[Path] | None,
        argument(metavar="RUN…", help="Stored runs over the question set."),
        A_RUN,
    ] = None,
    *,
    output: Annotated[Path, option("--output", "-o", metavar="DIR", help="Folder of the suite.")],
    databases: Annotated[int, option(metavar="N", least=1, most=50, help="Maximum number of databases per case.")] = 3,
    neighbours: Annotated[
        int, option(metavar="N", least=0, most=500, help="Maximum number of variants per gold query.")
    ] = 40,
    keeps: Annotated[
        str,
        option(
            "--preserve",
            "--keeps",
            metavar="WHAT",
            help="Kind of databases: 'observed': like the real data; 'declared': any.",
        ),
    ] = "observed",
    seconds: Annotated[float, duration_option("--seconds", "CPU time per gold query.")] = 4.0,
    seed: Annotated[int, option(metavar="N", help="Seed of the databases.")] = 0,
    settings: Annotated[
        Settings,
        Only(
            ("db", "columns", "workers", "limit", "case_format", "case_fields"),
            helps={"db": "Database URL, or a template. Default: that of the first run."},
        ),
    ],
    overwrite: Annotated[bool, option("--overwrite", help="Replace an existing suite.")] = False,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Build a suite: for each gold query, the fewest small databases that distinguish it from the most wrong queries.

    Example:  assay suite build dev.jsonl runs/first runs/second -o suites/dev

    Then:  assay run dev.jsonl --predictions new.jsonl --db 'sqlite:///dbs/{db_id}.sqlite' --suite suites/dev
    """
    if keeps not in ("observed", "declared"):
        raise UsageError(f"--preserve is {keeps!r}: write 'observed' or 'declared'")
    if not runs and settings.db is None:
        raise UsageError(
            "--db must be given if no run is: the databases of the questions, e.g. 'sqlite:///dbs/{db_id}.sqlite'"
        )
    from assay.api.suites import build_suite
    from assay.cli.progress import progress

    with progress(quiet=quiet) as on_progress:
        made = build_suite(
            cases,
            runs or (),
            databases=settings.db,
            output=output,
            most_databases=databases,
            most_neighbours=neighbours,
            keeps="declared" if keeps == "declared" else "observed",
            seconds=seconds,
            seed=seed,
            columns="strict" if settings.columns == "strict" else "any",
            workers=settings.workers,
            files=file_options(settings),
            overwrite=overwrite,
            on_progress=on_progress,
        )
    _print_totals(made, json=json)


def show(
    suite: Annotated[Path, argument(metavar="DIR", help="Folder of the suite.")],
    case: Annotated[str | None, argument(metavar="CASE", help="Case whose databases are printed.")] = None,
    *,
    database: Annotated[str | None, option(metavar="NAME", help="Database of the case whose SQL is printed.")] = None,
    json: JsonFile = None,
) -> None:
    """Print the contents of a suite.

    Example:  assay suite show suites/dev 17

    As a script:  assay suite show suites/dev 17 --database 1 | sqlite3 :memory:
    """
    from assay.api.suites import load_suite

    read = load_suite(suite)
    if case is None:
        if database is not None:
            raise UsageError("--database names a database of a case: name the case, too")
        _print_totals(read, json=json)
        return
    if case not in read.cases:
        raise InputError(f"the suite {suite} has no case {case!r}{did_you_mean(case, read.cases)}")
    if json is not None:
        import msgspec

        from assay.cli.output import write_json
        from assay.runs.store.suite_folder import case_json

        write_json(json, msgspec.json.format(case_json(read.cases[case]), indent=2))
        return
    _print_case(read, case, database)


def _print_totals(suite: Suite, *, json: Path | None) -> None:
    from assay.reports.text.plain import visible

    cases = list(suite.cases.values())
    total = {
        name: sum(getattr(case, name) for case in cases)
        for name in ("answers", "answers_told", "neighbours", "neighbours_told", "neighbours_proved")
    }
    without = [case for case in cases if not case.databases]
    if json is not None:
        import msgspec

        from assay.cli.output import write_json

        numbers = {"suite": suite.name, "digest": suite.digest, "made_with": suite.made_with, "keeps": suite.keeps}
        numbers |= {"cases": str(len(cases)), "databases": str(suite.database_count)}
        found: dict[str, object] = {**numbers, "cases": len(cases), "databases": suite.database_count, **total}
        found["cases_without"] = [case.case_id for case in without]
        write_json(json, msgspec.json.format(msgspec.json.encode(found), indent=2))
        return

    lines = [
        (
            f"{suite.name}: {plural(suite.database_count, 'database')} for {len(cases) - len(without):,} of "
            f"{plural(len(cases), 'case')}"
        ),
        (
            f"answers of {plural(len(suite.runs), 'run')}: {total['answers_told']:,} of {total['answers']:,} "
            "distinguished from the gold query"
        ),
        (
            f"variants of the gold queries: {total['neighbours_told']:,} of {total['neighbours']:,} distinguished, "
            f"{total['neighbours_proved']:,} of the others proved equivalent"
        ),
    ]
    reasons: dict[str, list[str]] = {}
    for case in without:
        reasons.setdefault(case.why, []).append(case.case_id)
    for why, ids in sorted(reasons.items(), key=lambda one: -len(one[1])):
        more = f" and {len(ids) - 8:,} more" if len(ids) > 8 else ""
        lines.append(f"no database for {', '.join(ids[:8])}{more}: {why}")
    click.echo("\n".join(map(visible, lines)))


def _print_case(suite: Suite, case_id: str, database: str | None) -> None:
    from assay.api.suites import suite_script
    from assay.reports.text.plain import plural, visible

    case = suite.cases[case_id]
    if database is not None:
        click.echo(suite_script(suite, case_id, database), nl=False)
        return
    lines = [f"case {case_id}", *[f"gold: {' '.join(gold.split())}" for gold in case.golds]]
    for one in case.databases:
        kept = "like the real data" if one.keeps == "observed" else "keeps the declared constraints alone"
        lines.append(
            f"database {one.name}: {plural(one.row_count, 'row')}, {kept}; distinguishes {one.answers} answers "
            f"and {one.neighbours} neighbours from the gold query"
        )
        from assay.runs.workers.suite_checking import shown_rows

        lines += [f"    {line}" for line in shown_rows(suite.layouts[case.database], one)]
    if case.why:
        lines.append(f"no database: {case.why}")
    click.echo("\n".join(map(visible, lines)))
