"""Scratch schemas on a real PostgreSQL server: nothing is left of them, and nothing else is touched."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.errors import DatabaseError, InputError, UsageError
from assay.model import DatabaseUrl
from assay.model.witness import WitnessSettings

SCRIPT = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE, fee NUMERIC(8, 2) CHECK (fee > 0));
CREATE TABLE concert (id INTEGER PRIMARY KEY, singer_id INTEGER REFERENCES singer (id), big BOOLEAN);
CREATE SCHEMA tour;
CREATE TYPE tour.size AS ENUM ('small', 'large', 'huge');
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TABLE tour.stop (id INTEGER PRIMARY KEY, city TEXT NOT NULL, mood mood);
CREATE VIEW tour.loud AS SELECT id FROM tour.stop;
INSERT INTO tour.stop VALUES (1, 'Bern', 'low'), (2, 'Oslo', 'high'), (3, 'Rome', 'high');
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
    scratch = _scratch(server)
    try:
        scratch.prepare({'"singer"': ("id", "name", "fee")})
        assert scratch.fill([[(1, "a", 2)]])
        assert not scratch.fill([[(1, "a", -2), (2, None, 1), (3, "b", 1), (3, "c", 1)]])
        assert scratch.content() == [[(3, "b", 1)]]
        assert scratch.rows("SELECT name, fee FROM singer")[0][0] == "b"
        failure = scratch.execute(query).failure
        assert failure.kind in ("refused", "writes", "several_statements")
        assert scratch.rows("SELECT count(*) FROM singer") == [(1,)]
    finally:
        scratch.close()
    assert _everything(server["owner"]) == before


def test_other_schemas_and_enumerations_are_made_anew(server: dict[str, str]) -> None:
    """A table outside the default schema is tried in a schema of its own; an enumeration keeps its order."""
    before = _everything(server["owner"])
    outcome = assay.refute(
        "SELECT city FROM tour.stop WHERE mood < 'high'",
        "SELECT city FROM tour.stop WHERE tour.stop.mood::text < 'high'",
        database=server["reader"],
        scratch=server["maker"],
        seconds=0.5,
    )
    assert outcome.differs, outcome
    made = outcome.witness.statements
    assert [one for one in made if one.startswith("CREATE SCHEMA")] == ['CREATE SCHEMA "tour"']
    assert any(one.startswith("CREATE TYPE mood AS ENUM ('low', 'high')") for one in made)
    assert any(one.startswith('INSERT INTO "tour"."stop"') for one in made)
    seen = assay.refute(
        "SELECT id FROM tour.loud", "SELECT id + 0 FROM tour.loud", database=server["reader"], scratch=server["maker"]
    )
    assert seen.kind == "unknown"
    assert "the view loud cannot be created" in " ".join((seen.reason, *seen.notes))
    assert _everything(server["owner"]) == before


def test_a_server_that_goes_away_is_told_from_a_query_that_fails(server: dict[str, str]) -> None:
    """Nothing is said of a pair whose databases are gone."""
    import psycopg

    scratch = _scratch(server)
    scratch.prepare({'"singer"': ("id", "name")})
    with psycopg.connect(server["owner"], autocommit=True) as owner:
        owner.execute("SELECT pg_terminate_backend(%s)", (scratch._connection.info.backend_pid,))
    with pytest.raises(DatabaseError):
        list(iter(lambda: scratch.fill([[(1, "a")]]), None))  # until the session ends, a moment later
    scratch.close()
    from assay.engines.postgres.scratch import drop_left

    drop_left(DatabaseUrl.parse(server["maker"]), scratch._name, wait_s=60)
    assert not [row for row in _everything(server["owner"]) if row[0] == scratch._name]


def test_a_whole_run_is_tried_and_leaves_nothing(server: dict[str, str], tmp_path: Path) -> None:
    """A run without a server leaves its matches unknown; the same with one decides them, and nothing stays."""
    golds = {
        "a": ("SELECT count(*) FROM singer", "SELECT count(fee) FROM singer"),
        "b": ("SELECT city FROM tour.stop WHERE id > 1", "SELECT city FROM tour.stop WHERE id >= 2"),
        "c": ("SELECT name FROM singer WHERE id = 1", "SELECT name FROM singer WHERE name = 'singer 1'"),
    }
    cases = [{"id": name, "question": "?", "gold": gold} for name, (gold, _) in golds.items()]
    answers = {name: answer for name, (_, answer) in golds.items()}
    before = _everything(server["owner"])

    def judged(scratch: str | None) -> dict[str, Any]:
        run = assay.evaluate(
            cases,
            answers,
            databases=server["reader"],
            witness=WitnessSettings(seconds=0.5),
            scratch=scratch,
            output=tmp_path / "run",
            workers=2,
        )
        assert "maker" not in (tmp_path / "run" / "run.json").read_text()
        return {item.case.id: item for item in run.evidence}

    without = judged(None)
    assert {without[name].verdict.strength for name in "ac"} == {"unknown"}
    found = judged(server["maker"])
    assert {name: item.verdict.outcome for name, item in found.items()} == dict.fromkeys("abc", "correct")
    assert found["a"].verdict.strength == "conditional"
    assert found["c"].verdict.strength in ("conditional", "refuted")
    assert found["c"].refutation.engine.startswith("postgresql")
    assert _everything(server["owner"]) == before
    assert judged(server["maker"])["a"].refutation == found["a"].refutation


def test_a_run_names_a_server_that_serves_it(server: dict[str, str], tmp_path: Path) -> None:
    """A server for other databases, or without a search, is refused before anything runs."""
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
    given: dict[str, Any] = {"cases": [{"id": "1", "question": "?", "gold": "SELECT a FROM t"}]}
    given |= {"predictions": {"1": "SELECT a FROM t"}, "databases": f"sqlite:///{path}", "scratch": server["maker"]}
    with pytest.raises(UsageError, match="dialect"):
        assay.evaluate(**given, witness=True)
    with pytest.raises(UsageError, match="witness=True"):
        assay.evaluate(**given)


def test_what_a_killed_process_left_is_dropped(server: dict[str, str]) -> None:
    """A schema whose session is gone goes; one that is in use stays."""
    from assay.engines.postgres.scratch import drop_left

    before = _everything(server["owner"])
    used, left = _scratch(server), _scratch(server)
    left._connection.close()  # as a killed process does
    left._engine.close()
    url = DatabaseUrl.parse(server["maker"])
    dropped: set[str] = set()
    while len(dropped) < 2:  # the server ends the session a moment later
        dropped |= set(drop_left(url, "assay_scratch_"))
    assert dropped == {left._name, f"{left._name}_0"}
    assert used.rows("SELECT count(*) FROM singer") == [(0,)]
    used.close()
    assert _everything(server["owner"]) == before


def test_a_server_that_cannot_be_used_is_said(server: dict[str, str]) -> None:
    """No right, another kind of database, another dialect: each is told before anything is tried."""
    pair = ("SELECT name FROM singer", "SELECT DISTINCT name FROM singer")
    with pytest.raises(DatabaseError, match="may not create schemas"):
        assay.refute(*pair, database=server["reader"], scratch=server["reader"])
    with pytest.raises(InputError, match="PostgreSQL"):
        assay.refute(*pair, database=server["reader"], scratch="sqlite:///x.sqlite")
    with pytest.raises(UsageError, match="dialect"):
        assay.refute(*pair, schema="CREATE TABLE singer (name TEXT)", dialect="duckdb", scratch=server["maker"])
    without = assay.refute(*pair, database=server["reader"])
    assert (without.kind, without.why) == ("unknown", "no_engine")
    assert "--scratch" in without.reason


def _scratch(server: dict[str, str]) -> Any:
    from assay.engines.postgres.engine import PostgresEngine
    from assay.model import Limits

    engine = PostgresEngine.open(DatabaseUrl.parse(server["reader"]), Limits())
    try:
        schema = engine.schema()
    finally:
        engine.close()
    return PostgresEngine.scratch_on_server(DatabaseUrl.parse(server["maker"]), schema, prefix="assay_scratch_")
