"""Scratch schemas on a real PostgreSQL server: nothing is left of them, and nothing else is touched."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

import assay
from assay.errors import DatabaseError, InputError, UsageError
from assay.model import DatabaseUrl

pytestmark = pytest.mark.slow

SCRIPT = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE, fee NUMERIC(8, 2) CHECK (fee > 0));
CREATE TABLE concert (id INTEGER PRIMARY KEY, singer_id INTEGER REFERENCES singer (id), big BOOLEAN);
INSERT INTO singer SELECT n, 'singer ' || n, DATE '2001-01-01' + n, 10 * n FROM generate_series(1, 6) n;
INSERT INTO concert SELECT n, 1 + n % 6, n % 2 = 0 FROM generate_series(1, 8) n;
"""
EVERYTHING = """SELECT nspname, '', '' FROM pg_namespace WHERE nspname NOT LIKE 'pg_t%'
UNION ALL SELECT 'singer', singer::text, '' FROM singer UNION ALL SELECT 'concert', concert::text, '' FROM concert
UNION ALL SELECT relname, relkind::text, relnamespace::regnamespace::text FROM pg_class
WHERE relnamespace::regnamespace::text NOT LIKE 'pg_%' ORDER BY 1, 2, 3"""


@pytest.fixture(scope="module")
def server(postgres: Any) -> Iterator[dict[str, str]]:
    """A database with data, and two roles: one that reads, and one that may make schemas besides."""
    import psycopg

    name = f"assay_{secrets.token_hex(4)}"
    reader = postgres.create(name, SCRIPT)
    maker, password = f"{name}_maker", secrets.token_hex(8)
    with psycopg.connect(postgres.database(name), autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {maker} LOGIN PASSWORD '{password}'".encode())
        owner.execute(f"GRANT CREATE ON DATABASE {name} TO {maker}".encode())
    yield {
        "owner": postgres.database(name),
        "reader": reader,
        "maker": postgres.database(name, user=maker, password=password),
    }
    with psycopg.connect(postgres.database(name), autocommit=True) as owner:
        owner.execute(f"DROP OWNED BY {maker}".encode())
        owner.execute(f"DROP ROLE {maker}".encode())
    postgres.drop(name)


def _everything(url: str) -> list[Any]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(EVERYTHING).fetchall()


def test_a_witness_is_found_and_nothing_is_left(server: dict[str, str]) -> None:
    """The queries are tried by PostgreSQL itself; schemas, tables and rows are those of before."""
    before = _everything(server["owner"])
    outcome = assay.refute(
        "SELECT name FROM singer WHERE born::date > DATE '2001-01-03'",
        "SELECT name FROM singer WHERE born::date >= DATE '2001-01-03'",
        database=server["reader"],
        scratch=server["maker"],
        seconds=0.3,
    )
    assert outcome.differs, outcome
    assert outcome.engine.startswith("postgresql ")
    assert outcome.witness is not None
    assert any("singer" in statement for statement in outcome.witness.statements)
    assert _everything(server["owner"]) == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM public.singer",
        'SELECT * FROM "public".singer',
        'SELECT * FROM U&"\\0070ublic".singer',
        "DELETE FROM singer",
        "WITH d AS (DELETE FROM singer RETURNING 1) SELECT * FROM d",
        "DROP TABLE singer",
        "SELECT set_config('search_path', 'public', false)",
        "SELECT pg_advisory_unlock_all()",
        "SELECT 1; DROP SCHEMA public CASCADE",
    ],
)
def test_queries_reach_nothing_else(server: dict[str, str], query: str) -> None:
    """What writes, leaves the schema or gives up its lock is refused, and costs nothing."""
    before = _everything(server["owner"])
    trial = _trial(server)
    try:
        trial.prepare({'"singer"': ("id", "name", "fee")})
        assert trial.fill([[(1, "a", 2)]])
        assert not trial.fill([[(1, "a", -2), (2, None, 1), (3, "b", 1), (3, "c", 1)]])
        assert trial.content() == [[(3, "b", 1)]]
        assert trial.rows("SELECT name, fee FROM singer")[0][0] == "b"
        failure = trial.execute(query).failure
        assert failure is not None
        assert failure.kind in ("refused", "writes", "several_statements")
        assert trial.rows("SELECT count(*) FROM singer") == [(1,)]
    finally:
        trial.close()
    assert _everything(server["owner"]) == before


def test_what_a_killed_process_left_is_dropped(server: dict[str, str]) -> None:
    """A schema whose session is gone goes; one that is in use stays."""
    from assay.engines.postgres.trial import drop_left

    before = _everything(server["owner"])
    used, left = _trial(server), _trial(server)
    left._connection.close()  # as a killed process does
    left._engine.close()
    url = DatabaseUrl.parse(server["maker"])
    dropped: tuple[str, ...] = ()
    while not dropped:  # the server ends the session a moment later
        dropped = drop_left(url, "assay_scratch_")
    assert dropped == (left._name,)
    assert used.rows("SELECT count(*) FROM singer") == [(0,)]
    used.close()
    assert _everything(server["owner"]) == before


def test_a_server_that_cannot_be_used_is_said(server: dict[str, str]) -> None:
    """No right, another kind of database, another dialect: each is told before anything is tried."""
    pair = ("SELECT name FROM singer", "SELECT DISTINCT name FROM singer")
    with pytest.raises(DatabaseError, match="may make no schema"):
        assay.refute(*pair, database=server["reader"], scratch=server["reader"])
    with pytest.raises(InputError, match="PostgreSQL"):
        assay.refute(*pair, database=server["reader"], scratch="sqlite:///x.sqlite")
    with pytest.raises(UsageError, match="dialect"):
        assay.refute(*pair, schema="CREATE TABLE singer (name TEXT)", dialect="duckdb", scratch=server["maker"])
    without = assay.refute(*pair, database=server["reader"])
    assert (without.kind, without.why) == ("unknown", "no_engine")
    assert "--scratch" in without.reason


def _trial(server: dict[str, str]) -> Any:
    from assay.engines.postgres.engine import PostgresEngine
    from assay.model import Limits

    engine = PostgresEngine.open(DatabaseUrl.parse(server["reader"]), Limits())
    try:
        schema = engine.schema()
    finally:
        engine.close()
    return PostgresEngine.scratch_trial(DatabaseUrl.parse(server["maker"]), schema, prefix="assay_scratch_")
