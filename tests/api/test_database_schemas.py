"""What an evaluation tells a system about its databases."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import assay
import servers
from assay.api.schemas import Schemas
from assay.demo import build_database
from assay.engines.sqlite.engine import SqliteEngine
from assay.errors import DatabaseError, InputError
from assay.model import Case, DatabaseSchema, DatabaseUrl, Limits, Prediction


def _case(number: int) -> Case:
    return Case(id=str(number), question="How many?", database="shop", golds=("SELECT COUNT(*) FROM customers",))


def test_a_database_is_read_once_however_many_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_database(tmp_path)
    opened: list[str] = []
    original = SqliteEngine.open.__func__

    def counting(cls: type[SqliteEngine], url: DatabaseUrl, limits: Limits) -> SqliteEngine:
        opened.append(url.text)
        return original(cls, url, limits)

    monkeypatch.setattr(SqliteEngine, "open", classmethod(counting))
    schemas = Schemas(DatabaseUrl.parse(f"sqlite:///{tmp_path}/{{db_id}}.sqlite").render, Limits())
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(schemas, map(_case, range(40))))
    assert len(opened) == 1
    assert all(one is found[0] for one in found)
    assert [table.name for table in found[0].tables][:2] == ["categories", "products"]


def test_a_database_without_tables_or_a_describing_engine_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").write_bytes(b"")
    with pytest.raises(DatabaseError, match="contains no table"):
        Schemas(DatabaseUrl.parse("sqlite:///:memory:").render, Limits())(_case(1))
    with pytest.raises(InputError, match="'denodo\\+http' cannot list the tables"):
        Schemas(DatabaseUrl.parse("denodo+http://host:9090/denodo-data-catalog").render, Limits())(_case(1))


def test_a_system_is_told_what_a_server_holds_whatever_cap_answers_have(postgres: servers.PostgresServer) -> None:
    url = postgres.create(
        "assay_told",
        "CREATE TABLE town (id integer PRIMARY KEY, name text NOT NULL); INSERT INTO town VALUES (2, 'b'), (1, 'a');",
    )
    try:
        found = Schemas(DatabaseUrl.parse(url).render, Limits(max_rows=1))(_case(1))
    finally:
        postgres.drop("assay_told")
    [town] = found.tables
    assert town.ddl == 'CREATE TABLE "town" (\n  "id" integer,\n  "name" text NOT NULL,\n  PRIMARY KEY ("id")\n)'
    assert (town.first_row, town.columns[1].values) == (("1", "'a'"), ("'a'", "'b'"))


def test_a_system_of_ones_own_gets_the_schema_too(tmp_path: Path) -> None:
    class Counting:
        name = "counting"

        def __init__(self, schemas: Callable[[Case], DatabaseSchema] | None = None) -> None:
            self.schemas = schemas

        def with_databases(self, schemas: Callable[[Case], DatabaseSchema]) -> Counting:
            return Counting(schemas)

        def describe(self) -> str:
            return "counting:"

        def answer(self, case: Case) -> Prediction:
            assert self.schemas is not None
            table = next(one for one in self.schemas(case).tables if one.name == "customers")
            return Prediction(case_id=case.id, query=f"SELECT COUNT({table.primary_key[0]}) FROM {table.quoted_name}")

        def close(self) -> None:
            """There is nothing to release."""

    build_database(tmp_path)
    run = assay.evaluate([_case(1)], Counting(), databases=f"sqlite:///{tmp_path}/shop.sqlite", metrics=["match"])
    assert run.aggregates.correct == 1
