"""`assay sql`: SQL over the tables of runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from assay.cli.messages import say
from assay.cli.options.declared import JsonFile, Only
from assay.cli.options.query_texts import read_queries
from assay.cli.options.stored_runs import A_RUN
from assay.cli.parsing.parameters import argument, option
from assay.cli.streams import print_bytes
from assay.errors import InputError, UsageError
from assay.settings import Settings

_EVERY_COLUMN = (
    'SELECT table_name AS "table", column_name AS "column", data_type AS "type" '
    "FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index"
)


def sql(
    runs: Annotated[
        list[str],
        argument(metavar="RUN... SQL", help="Runs, or a folder that contains them; then the query."),
        A_RUN,
    ],
    *,
    as_csv: Annotated[bool, option("--csv", help="Print CSV on standard output.")] = False,
    json: JsonFile = None,
    settings: Annotated[Settings, Only(("timeout_s", "max_memory_mib"))],
) -> None:
    """Query runs by SQL: the tables cases, scores, flags, causes, near_misses, failures and runs, each with its run.

    Example:  assay sql runs/first "SELECT cause, count(*) FROM cases GROUP BY 1"

    Two runs, or a folder of them:  assay sql runs "SELECT run, avg(match) FROM cases GROUP BY run"

    Without a query, it lists every table and its columns. The query is DuckDB's SQL, or @FILE, or - for standard input;
    it only reads, and reaches no file.
    """
    from assay.cli.output import STANDARD_OUTPUT, check_targets, deliver, say_written
    from assay.runs.store.run_tables import answered, named_runs

    check_targets({"json": json})
    if as_csv and json == STANDARD_OUTPUT:
        raise UsageError("--csv and --json - would be mixed on standard output: give one of them")
    folders, query = _parted(runs)
    found, damaged = named_runs([Path(folder) for folder in folders])
    for point in damaged:
        say(f"left out: {point.folder}: {point.trouble}")
    from assay.reports.text.query_table import aligned_rows, csv_lines, json_pieces

    with answered(found, query, limits=settings.limits()) as result:
        if json is not None:
            document = json_pieces(result.columns, result.types, result.rows)
            encoded = (piece.encode("utf-8", "backslashreplace") for piece in document)
            say_written(deliver([("json", json)], lambda _: encoded), on_stderr=True)
            return
        pieces: Iterable[str] = (
            csv_lines(result.columns, result.rows) if as_csv else [aligned_rows(result.columns, result.rows)]
        )
        print_bytes(piece.encode("utf-8", "backslashreplace") for piece in pieces)


def _parted(given: list[str]) -> tuple[list[str], str]:
    """The folders, and the query; every table and column if only folders are given."""
    last = given[-1]
    if len(given) > 1 and not (len(last.split()) == 1 and Path(last).is_dir()):
        (query,) = read_queries(SQL=last)
        return given[:-1], query
    if len(given) == 1 and len(last.split()) > 1 and not Path(last).exists():
        raise UsageError(f"name a run before the query: write  assay sql RUN {last!r}")
    if not Path(last).is_dir():
        raise InputError(f"{last} does not exist")
    return given, _EVERY_COLUMN
