"""`assay check`: one pair of queries, scored and explained."""

from __future__ import annotations

import sys
from typing import Annotated

import click

from assay.cli.messages import say
from assay.cli.options.declared import JsonFile, Only, Password, Token
from assay.cli.options.evidence import WitnessFlags
from assay.cli.options.query_texts import read_queries
from assay.cli.parsing.parameters import argument, option
from assay.errors import UsageError
from assay.settings import Settings
from assay.settings.values import one_url

INCORRECT, UNSCORED = 1, 2
_SETTINGS = Only(
    (
        "db",
        "columns",
        "extra_columns",
        "duplicates",
        "case",
        "shape",
        "tolerance",
        "relative_tolerance",
        "absolute_tolerance",
        "timeout_s",
        "comparison_timeout_s",
        "max_rows",
        "max_bytes_billed",
        "max_memory_mib",
        "user",
        "denodo_config",
    ),
    helps={"db": "Database URL, e.g. sqlite:///shop.sqlite.", "user": "Database user. Prefer ASSAY_USER."},
)


def check(
    sql_predicted: Annotated[
        str, argument(metavar="SQL_PREDICTED", help="Predicted query, @FILE, or - for standard input.")
    ],
    sql_gold: Annotated[
        list[str], argument(metavar="SQL_GOLD...", help="Gold query, or several; any match is correct.")
    ],
    *,
    ordered: Annotated[
        bool | None,
        option(
            "--ordered/--unordered",
            help="Compare row order, or ignore it. [default: compared if the gold query has ORDER BY]",
        ),
    ] = None,
    settings: Annotated[Settings, _SETTINGS],
    witnesses: WitnessFlags,
    password: Password = None,
    token: Token = None,
    json: JsonFile = None,
) -> None:
    """Check one query against a gold query: verdict, differing rows, cause and repair.

    Example:  assay check 'SELECT name FROM customers' @gold.sql --db sqlite:///shop.sqlite

    How strong a match is:  assay check @a.sql @gold.sql --db sqlite:///shop.sqlite --witness
    """
    from assay.api.pairs import examine_pair
    from assay.cli.options.access import Access
    from assay.cli.output import STANDARD_OUTPUT, check_targets, write_json
    from assay.model import ComparisonOptions

    check_targets({"json": json})

    db = one_url(settings.db)
    if db is None:
        raise UsageError(
            "--db must be given: the database on which both queries are executed, for example --db sqlite:///shop.sqlite"
        )
    texts = {f"SQL_GOLD {number}" if len(sql_gold) > 1 else "SQL_GOLD": one for number, one in enumerate(sql_gold, 1)}
    predicted, *golds = read_queries(SQL_PREDICTED=sql_predicted, **texts)
    witness = witnesses.gathered(None)
    if db.startswith("denodo+"):
        access = Access.gathered(user=settings.user, password=password, token=token, needed=True)
        db = access.database(db, settings) or db
    compared = settings.given(("columns", "relative_tolerance", "absolute_tolerance"))
    examined = examine_pair(
        predicted,
        golds,
        database=db,
        comparison=ComparisonOptions(leniency=settings.leniency(), **compared),
        ordered=ordered,
        limits=settings.limits(),
        witness=witness,
    )
    if json is not None:
        from assay.reports.json.run import pair_document

        write_json(json, pair_document(examined.evidence))
    if json != STANDARD_OUTPUT:
        from assay.reports.console.queries import print_drawn
        from assay.reports.text.explanation import examined_parts, examined_text

        if not print_drawn(examined_parts(examined.evidence, examined.executions)):
            sys.stdout.write(examined_text(examined.evidence, examined.executions))
    sys.stdout.flush()
    if examined.evidence.outcome == "unscored":
        say("the pair cannot be scored")
    if status := {"incorrect": INCORRECT, "unscored": UNSCORED}.get(examined.evidence.outcome):
        raise click.exceptions.Exit(status)
