"""Puts the helpers beside these tests on the path, makes databases, and scores queries without a worker for each."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from assay import registry
from assay.engines.pool.executor import Executor
from assay.model import Case, ComparisonOptions, DatabaseUrl, Limits, Prediction, Verdict
from assay.scoring.queries.scorer import QueryScorer


@pytest.fixture
def verdict() -> Iterator[Callable[..., Verdict]]:
    """The verdict on a prediction, given a SQLite file or a URL, the gold query, the prediction, and options."""
    executor = Executor(engines=registry.engine_references(), limits=Limits())
    scorers: dict[str, QueryScorer] = {}

    def score(database: Path | str, gold: str, prediction: str, **options: Any) -> Verdict:
        scorer = QueryScorer(executor, [], ComparisonOptions(near_misses=False, **options))
        scorer = scorers.setdefault(repr(options), scorer)
        case = Case(id="1", question="", golds=(gold,))
        url = DatabaseUrl(text=database if isinstance(database, str) else f"sqlite:///{database.as_posix()}")
        return scorer.score(case, Prediction(case_id="1", query=prediction), url).evidence.verdict

    yield score
    executor.close()


@pytest.fixture(scope="module")
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, Sequence[str]], str]:
    """Make an engine's database by these statements; gives its URL."""

    def make(engine: str, statements: Sequence[str]) -> str:
        if engine in ("sqlite", "duckdb"):
            path = tmp_path_factory.mktemp(engine) / f"t.{engine}"
            with closing({"sqlite": sqlite3, "duckdb": duckdb}[engine].connect(path)) as connection:
                for statement in statements:
                    connection.execute(statement)
                connection.commit()
            return f"{engine}:///{path.as_posix()}"
        server = request.getfixturevalue({"mysql": "mariadb"}.get(engine, engine))
        if engine == "postgres":
            request.addfinalizer(lambda: server.drop("ties"))
            return server.create("ties", ";".join(statements))
        if engine == "mysql":
            user = ["CREATE USER ties IDENTIFIED BY 'ties'", "GRANT SELECT ON ties.* TO ties"]
            _on_mariadb(server, ["CREATE DATABASE ties", "USE ties", *statements, *user])
            request.addfinalizer(lambda: _on_mariadb(server, ["DROP DATABASE ties", "DROP USER ties"]))
            return f"mysql+pymysql://ties:ties@{server.host}:{server.port}/ties"
        import clickhouse_connect

        asked: Any = {"host": "127.0.0.1", "port": server.port, "autogenerate_session_id": False, "compress": False}
        client = clickhouse_connect.get_client(**asked)
        client.command("CREATE DATABASE ties")
        client.database = "ties"
        for statement in statements:
            client.command(statement)
        return f"clickhouse://127.0.0.1:{server.port}/ties"

    return make


def _on_mariadb(server: Any, statements: Sequence[str]) -> None:
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()
