"""Tables in memory as databases: data frames and Arrow tables, in a file of DuckDB for the time of a call."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.api.frames import is_frame
from assay.errors import UsageError
from assay.model.databases.database import FOLDER_OF_TABLES

_EXAMPLE = 'databases={"shop": {"orders": orders}}, with a data frame of pandas or polars or an Arrow table'


@contextmanager
def tables_as_databases(arguments: dict[str, Any], names: tuple[str, ...]) -> Iterator[None]:
    """A context in which the arguments of these names have URLs in place of tables.

    The files are removed at its end. Raises UsageError for anything that is not a table.
    """
    folders: list[Path] = []
    try:
        for name in names:
            if isinstance(value := arguments.get(name), Mapping):
                arguments[name] = _with_urls(name, value, folders)
        yield
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)  # Windows keeps what a worker still has open


def _with_urls(argument: str, value: Mapping[Any, Any], folders: list[Path]) -> Any:
    """The URL of one database, if the mapping is of tables; otherwise the mapping with the URL of each."""
    if any(is_frame(table) for table in value.values()):
        return _url_of(argument, value, folders)
    databases: dict[Any, Any] = {}
    for name, database in value.items():
        if isinstance(database, Mapping):
            databases[name] = _url_of(f"{argument}[{name!r}]", database, folders)
        elif is_frame(database) or isinstance(database, str):
            databases[name] = database
        else:
            raise UsageError(
                f"{argument}[{name!r}] is of the type {type(database).__name__}: give the URL of a database, or its "
                f"tables:  {_EXAMPLE}"
            )
    return databases


def _url_of(argument: str, tables: Mapping[Any, Any], folders: list[Path]) -> str:
    frames: dict[str, Any] = {}
    if not tables:
        raise UsageError(f"{argument} has no table: give at least one:  {_EXAMPLE}")
    for name, table in tables.items():
        if not is_frame(table):
            raise UsageError(f"{argument}[{name!r}] is of the type {type(table).__name__}: give a table:  {_EXAMPLE}")
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"{argument} has a table called {name!r}: a table's name is a text")
        if any(name.casefold() == other.casefold() for other in frames):
            raise UsageError(f"{argument} has two tables called {name!r}: DuckDB ignores case in names")
        frames[name] = _plain(f"{argument}[{name!r}]", table)
    # The engine, a large import, is needed only here.
    from assay.engines.duckdb.tables import write_tables

    folder = Path(tempfile.mkdtemp(prefix=FOLDER_OF_TABLES))
    folders.append(folder)
    digest = write_tables(folder / "new", frames)
    file = (folder / "new").rename(folder / f"{digest}.duckdb")
    return f"duckdb:///{file.as_posix().replace('%', '%25').replace('?', '%3F')}"


def _plain(argument: str, table: Any) -> Any:
    """The table with its named index as columns, texts as their names, and of a lazy frame what it gives."""
    library = type(table).__module__.partition(".")[0]
    if hasattr(table, "collect") and library == "polars":
        table = table.collect()
    if library == "pandas":
        named = [name for name in table.index.names if name is not None and name not in table.columns]
        table = table.reset_index(level=named) if named else table
        table = table.set_axis([str(name) for name in table.columns], axis=1)
    columns = list(table.schema.names if library == "pyarrow" else table.columns)
    if not columns:
        raise UsageError(f"{argument} has no column")
    folded = [name.casefold() for name in columns]
    twice = next((name for name in columns if folded.count(name.casefold()) > 1), None)
    if twice is not None:
        raise UsageError(f"{argument} has two columns called {twice!r} (DuckDB ignores case): rename one of them")
    return table
