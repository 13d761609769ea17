"""What a query must not reach: files, other programs' ports, and code that an extension brings.

Each family has the ways of several databases. An engine answers the ways of another's with a syntax error, which is
as good as a refusal; only the effects count. A marker in a file is looked for in the rows, a written file on
the disk, in a folder that the query has for itself, a connection at a listening port of this machine.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct

from assay.ports import Engine

Reach = Literal["reading", "writing", "network", "extensions"]
REACHES: tuple[Reach, ...] = ("reading", "writing", "network", "extensions")

_MARKER = "assay-conformance-marker"
_FILES = (
    "'{file}'",
    '"{file}"',
    "'{folder}/*.csv'",
    '"{folder}/secret.*"',
    "'{folder}//secret.csv'",
    "'file://{file}'",
)
_IN_PLACE_OF_A_TABLE = (
    *(f"SELECT * FROM {file}" for file in _FILES),
    *(f"SELECT f.* FROM (SELECT 1) AS a JOIN {file} AS f ON 1 = 1" for file in _FILES[:2]),
    *(f"SELECT f.* FROM (SELECT 1) AS a, {file} AS f" for file in _FILES[:2]),
    *(f"SELECT f.* FROM (SELECT 1) AS a LEFT JOIN LATERAL (SELECT * FROM {file}) AS f ON 1 = 1" for file in _FILES[:2]),
    *(f"SELECT (SELECT f FROM {file} AS f LIMIT 1)" for file in _FILES[:2]),
    *(f"FROM {file}" for file in _FILES[:2]),
    "select*from'{file}'",
    'select*from"{file}"',
    "SELECT * FROM/* a file */'{file}'",
    "SELECT * FROM -- a file\n'{file}'",
    "SELECT * FROM ('{file}')",
    'SELECT * FROM ("{file}")',
    'TABLE "{file}"',
    'SUMMARIZE "{file}"',
    'DESCRIBE "{file}"',
    "SUMMARIZE SELECT * FROM '{file}'",
    "SELECT * FROM '{json}'",
    'SELECT * FROM "{json}"',
)
"""A file in the place of a table, in the spellings that a search of the text misses."""
_BY_A_FUNCTION = (
    "SELECT * FROM query_table('{file}')",
    "SELECT * FROM query_table(['{file}'])",
    "SELECT * FROM query('SELECT * FROM \"{file}\"')",
    "SELECT * FROM query('FROM ' || CHR(39) || '{file}' || CHR(39))",
    "SELECT * FROM \"read_csv\"('{file}')",
    "SELECT * FROM Read_Text/**/('{file}')",
    "SELECT * FROM read_csv(['{file}'], header=false)",
    "SELECT * FROM read_text('{folder}/*')",
    "SELECT * FROM read_text(E'{escaped}')",
    "SELECT * FROM sniff_csv('{file}')",
    "SELECT * FROM read_json('{json}')",
    "SELECT * FROM read_json_auto('{json}')",
    "SELECT * FROM read_ndjson('{json}')",
    "SELECT * FROM read_json_objects('{json}')",
    "SELECT * FROM read_ndjson_objects('{json}')",
    "SELECT * FROM parquet_file_metadata('{file}')",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT * FROM parquet_scan('{file}')",
)
_READING = (
    "SELECT * FROM read_csv('{file}', header=false)",
    "SELECT * FROM read_csv_auto('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT content FROM read_blob('{file}')",
    "WITH f AS (SELECT * FROM '{file}') SELECT * FROM f",
    "SELECT pg_read_file('{file}')",
    "SELECT pg_read_binary_file('{file}')",
    "SELECT * FROM pg_ls_dir('{folder}')",
    "SELECT lo_import('{file}')",
    "SELECT LOAD_FILE('{file}')",
    "SELECT readfile('{file}')",
    "SELECT name FROM fsdir('{folder}')",
    "SELECT file FROM glob('{folder}/*')",
    "SELECT * FROM csv.`{file}`",
    "SELECT * FROM text.`{file}`",
    "SELECT * FROM file('{file}')",
    "ATTACH '{file}' AS assay_other",
    "SELECT edit('{file}')",
    *_IN_PLACE_OF_A_TABLE,
    *_BY_A_FUNCTION,
)
_WRITING = (
    "COPY (SELECT 1) TO '{new}'",
    "EXPORT DATABASE '{new}'",
    "ATTACH '{new}' AS assay_new",
    "ATTACH DATABASE '{new}' AS assay_new",
    "VACUUM INTO '{new}'",
    "SELECT writefile('{new}', 'x')",
    "SELECT 1 INTO OUTFILE '{new}'",
    "SELECT 1 INTO DUMPFILE '{new}'",
    "SELECT lo_export(lo_from_bytea(0, 'x'), '{new}')",
    "COPY (SELECT 1) TO PROGRAM 'touch {new}'",
    "INSERT OVERWRITE DIRECTORY '{new}' SELECT 1",
    "CREATE TABLE assay_new AS SELECT 1 AS x",
    "BACKUP DATABASE TO '{new}'",
)
_NETWORK = (
    "SELECT * FROM read_csv('http://127.0.0.1:{port}/x.csv')",
    "SELECT * FROM read_text('http://127.0.0.1:{port}/x')",
    "SELECT * FROM 'http://127.0.0.1:{port}/x.csv'",
    "ATTACH 'http://127.0.0.1:{port}/x.db' AS assay_far",
    "SELECT * FROM dblink('host=127.0.0.1 port={port} dbname=x', 'SELECT 1') AS t(x int)",
    "SELECT * FROM postgres_scan('host=127.0.0.1 port={port} dbname=x', 'public', 't')",
    "SELECT * FROM mysql_query('host=127.0.0.1 port={port}', 'SELECT 1')",
    "SELECT * FROM url('http://127.0.0.1:{port}/x', CSV)",
    "SELECT http_get('http://127.0.0.1:{port}/x')",
    "COPY (SELECT 1) TO 'http://127.0.0.1:{port}/x'",
)
_EXTENSIONS = (
    "LOAD '{file}'",
    "INSTALL httpfs FROM 'http://127.0.0.1:{port}'",
    "SELECT load_extension('{file}')",
    "CREATE EXTENSION dblink",
    "CREATE FUNCTION assay_f() RETURNS INTEGER AS '{file}' LANGUAGE c",
    "INSTALL SONAME 'ha_connect'",
    "INSTALL PLUGIN assay_p SONAME 'x.so'",
    "ADD JAR '{file}'",
)
_UNLOCKING = (
    "SET enable_external_access = true",
    "PRAGMA enable_external_access = true",
    "SET allow_unsigned_extensions = true",
)
"""Tried first: a statement that lifts a wall must be refused, or lift nothing."""


class Trespass(Struct, frozen=True):
    """A query that reached what it must not."""

    reach: Reach
    query: str
    what: str

    def __str__(self) -> str:
        return f"{' '.join(self.query.split())} {self.what}"


def trespasses(engine: Engine, reaches: Sequence[Reach] = REACHES) -> list[Trespass]:
    """The queries that reach outside, tried one by one on an open engine; none of an engine that holds them.

    Everything that they could reach is made for the purpose, in a temporary folder and on the loopback interface.
    """
    with tempfile.TemporaryDirectory(prefix="assay-outside-") as made, _listening() as port:
        folder = Path(made) / "files"
        folder.mkdir()
        (folder / "secret.csv").write_text(f"{_MARKER}\n{_MARKER}\n", encoding="utf-8")
        (folder / "secret.json").write_text(f'{{"a": "{_MARKER}"}}\n', encoding="utf-8")
        for query in _UNLOCKING:
            engine.execute(query)
        return [found for reach in reaches for found in _tried(engine, reach, folder, Path(made) / reach, port)]


def _tried(engine: Engine, reach: Reach, folder: Path, written: Path, port: _Port) -> Iterator[Trespass]:
    """``folder`` holds the files to read. Each query has a folder of its own in ``written``: a file that an earlier
    query left open may change at any time.
    """
    ways = {"reading": _READING, "writing": _WRITING, "network": _NETWORK, "extensions": _EXTENSIONS}[reach]
    file, there = (folder / "secret.csv").as_posix(), set(folder.iterdir())
    for number, way in enumerate(ways):
        own = written / str(number)
        own.mkdir(parents=True)
        before = port.calls
        query = way.format(
            file=file,
            json=(folder / "secret.json").as_posix(),
            escaped=file.replace("/", "\\x2f"),
            folder=folder.as_posix(),
            new=(own / "new").as_posix(),
            port=port.number,
        )
        done = engine.execute(query)
        beside = set(folder.iterdir()) - there
        there |= beside
        if port.calls > before:
            yield Trespass("network", query, "connects to a port of this machine")
        elif done.result is not None and any(_tells(cell) for row in done.result.rows for cell in row):
            yield Trespass(reach, query, "returns the content or the name of a file")
        elif beside or any(own.iterdir()):
            yield Trespass("writing", query, "writes a file")
        elif done.succeeded and reach in ("writing", "extensions"):
            yield Trespass(reach, query, "is not refused")


def _tells(cell: object) -> bool:
    text = cell.decode(errors="replace") if isinstance(cell, bytes) else str(cell)
    return _MARKER in text or "secret.csv" in text or "secret.json" in text


class _Port:
    """A listening port that counts who connects."""

    def __init__(self, listener: socket.socket) -> None:
        self.number: int = listener.getsockname()[1]
        self.calls = 0
        self._listener = listener

    def answer(self) -> None:
        """Hang up on everyone who calls, until the listener is closed."""
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            self.calls += 1
            caller.close()


@contextmanager
def _listening() -> Iterator[_Port]:
    listener = socket.create_server(("127.0.0.1", 0))
    port = _Port(listener)
    thread = threading.Thread(target=port.answer, name="assay-outside", daemon=True)
    thread.start()
    try:
        yield port
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5.0)
