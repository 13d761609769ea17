"""`assay refute`: a small database on which two queries differ, or a proof that there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from assay.cli.messages import tell
from assay.cli.options.declared import JsonFile, duration_option
from assay.cli.options.query_texts import read_queries
from assay.cli.options.stored_runs import is_run
from assay.cli.parsing.parameters import argument, option
from assay.errors import InputError, UsageError

_UNUSABLE = ("unreadable", "no_schema", "fails")
"""Why nothing could be compared: a text is not a query, or names a table or a column that does not exist."""


def refute(
    sql_a: Annotated[str, argument(metavar="SQL_A", help="Reference query, @FILE, or - for standard input.")],
    sql_b: Annotated[str, argument(metavar="SQL_B", help="Other query, @FILE, or -.")],
    *,
    db: Annotated[
        str | None, option(metavar="URL", help="Database whose schema and data decide what is plausible.")
    ] = None,
    schema: Annotated[
        Path | None, option(metavar="FILE", help="CREATE TABLE statements instead of a database.")
    ] = None,
    dialect: Annotated[
        str | None,
        option(metavar="NAME", help="Dialect for --schema: sqlite or duckdb. [default: the one that runs them]"),
    ] = None,
    seconds: Annotated[float, duration_option("--seconds", "CPU time for the search.")] = 1.0,
    seed: Annotated[int, option(metavar="N", help="Seed of the databases.")] = 0,
    rows: Annotated[
        int,
        option(metavar="N", least=0, most=4, help="Rows per table for the check with z3."),
    ] = 2,
    scratch: Annotated[
        str | None,
        option(metavar="URL", help="PostgreSQL server on which Assay may create schemas."),
    ] = None,
    test: Annotated[
        Path | None,
        option(metavar="FILE", help="Write a pytest that fails while the queries differ; - prints it."),
    ] = None,
    sql: Annotated[bool, option("--sql", help="Print only the SQL of the counterexample.")] = False,
    json: JsonFile = None,
) -> None:
    """Find a small database on which two queries differ, or prove that they are equivalent.

    Example:  assay refute 'SELECT name FROM t' 'SELECT DISTINCT name FROM t' --schema schema.sql

    As a regression test:  assay refute … --db sqlite:///shop.sqlite --test test_pair.py
    """
    from assay.api.refuting import refute as look
    from assay.cli.output import STANDARD_OUTPUT, check_targets, write_json
    from assay.platform.shell import quoted
    from assay.reports.text.refutation import witness_sql
    from assay.reports.witness import refutation_json, refutation_text, witness_test

    if is_run(Path(sql_a)):
        raise UsageError(
            f"{sql_a} is a run, and assay refute takes two queries: for a case of the run write  assay explain "
            f"{quoted(sql_a)} {quoted(sql_b)}"
        )
    check_targets({"json": json, "test": test})
    if sql and STANDARD_OUTPUT in (json, test):
        raise UsageError(
            "--sql would be mixed with another output on standard output: name a file for all but one of them"
        )
    first, second = read_queries(SQL_A=sql_a, SQL_B=sql_b)
    outcome = look(
        first,
        second,
        database=db,
        schema=schema,
        dialect=dialect,
        seconds=seconds,
        seed=seed,
        max_rows=rows,
        scratch=scratch,
    )
    if outcome.kind == "unknown" and outcome.why in _UNUSABLE:
        if json is not None:
            write_json(json, refutation_json(outcome, first, second))
        raise InputError(outcome.reason)
    if test is not None:
        if outcome.witness is None or not outcome.differs:
            tell(f"no test is written: {outcome.reason}")
        elif test == Path("-"):
            click.echo(witness_test(outcome, first, second), nl=False)
            return
        else:
            test.write_text(witness_test(outcome, first, second), encoding="utf-8")
            click.echo(f"wrote {test}", err=True)
    if json is not None:
        write_json(json, refutation_json(outcome, first, second))
    if json == STANDARD_OUTPUT:
        return
    if sql:
        if outcome.witness is None:
            tell(f"no counterexample was found: {outcome.reason}")
        else:
            click.echo(witness_sql(outcome.witness), nl=False)
    else:
        click.echo(refutation_text(outcome), nl=False)
