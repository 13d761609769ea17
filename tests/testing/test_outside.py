"""An engine that lets a query out is found by the conformance kit and by the doctor, one that does not is not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assay.cli.verbs.doctor import reach
from assay.engines import outcomes
from assay.engines.duckdb.engine import DuckdbEngine
from assay.model import DatabaseUrl, Execution, Limits, Result
from assay.testing.conformance import CHECKS, Adapter, conform
from assay.testing.conformance.outside import REACHES, trespasses
from many_cases import each

OUTSIDE = {
    "no_query_reads_files": "reading",
    "no_query_writes_files": "writing",
    "no_query_reaches_the_network": "network",
    "no_query_loads_an_extension": "extensions",
}


class Leaky:
    """A DuckDB plug-in whose author left external access on. Its module is not one of Assay's."""

    name = "leaky"
    dialect = "duckdb"
    has_boolean_type = True

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:")

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> Leaky:
        return cls()

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        return None

    @classmethod
    def version(cls) -> str:
        return "1"

    def execute(self, query: str) -> Execution:
        if query.lstrip().upper().startswith("INSTALL") and "127.0.0.1" not in query:
            return outcomes.failed(query, "error", "error", "not in a test")
        try:
            cursor = self._connection.execute(query)
            rows = tuple(cursor.fetchall()) if cursor.description else ()
        except duckdb.Error as error:
            return outcomes.failed(query, "error", "error", str(error).splitlines()[0])
        columns = tuple(part[0] for part in cursor.description or ())
        return Execution(query=query, status="rows", result=Result(columns=columns, rows=rows))

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        return ()

    def close(self) -> None:
        self._connection.close()


def _adapter(engine: Any, tmp_path: Path) -> Adapter:
    path = tmp_path / "made.duckdb"
    duckdb.connect(str(path)).close()
    url = DatabaseUrl.parse(f"duckdb:///{path.as_posix()}")
    return Adapter(engine=engine, url=url, absent=url, write=lambda _: None)


@pytest.mark.parametrize("name", ["no_query_reads_files", "no_query_writes_files", "no_query_loads_an_extension"])
def test_a_plug_in_that_lets_queries_out_is_found(name: str, tmp_path: Path) -> None:
    check = next(check for check in CHECKS if check.name == name)
    with pytest.raises(AssertionError, match=OUTSIDE[name]):
        conform(_adapter(Leaky, tmp_path), check)


@each(
    ("refused", "still"),
    [
        # What the author of a plug-in searches queries for, and the spelling that gets through.
        (r"read_|copy|glob|from\s+'", 'SELECT * FROM "'),
        (r"read_|copy|glob|from\s+['\"]", "JOIN '"),
        (r"read_|copy|glob|sniff|(from|join|table|summarize|describe)[\s(]*['\"]", ", '"),
        (r"read_|copy|glob|sniff|csv['\"]\s|(from|join|table|summarize|describe)[\s(]*['\"]", "query_table"),
        (r"['\"][^'\"]*\.csv|from\s+['\"]", "secret.json"),
    ],
)
def test_a_plug_in_that_searches_the_text_is_found(refused: str, still: str) -> None:
    class Searching(Leaky):
        def execute(self, query: str) -> Execution:
            if re.search(refused, query, re.IGNORECASE):
                return outcomes.failed(query, "refused", "refused", "refused")
            return super().execute(query)

    engine = Searching()
    try:
        queries = [one.query for one in trespasses(engine, ("reading",))]
    finally:
        engine.close()
    assert any(still in query for query in queries), queries
    assert not any(re.search(refused, query, re.IGNORECASE) for query in queries)


def test_each_query_is_judged_by_its_own_file() -> None:
    class Writing(Leaky):
        """Holds one file open that any query may write to, and knows no other way to write."""

        def execute(self, query: str) -> Execution:
            match = re.fullmatch(r"ATTACH '(.*new)' AS assay_new", query)
            if match is not None:
                self.held = Path(match[1])
            if hasattr(self, "held"):
                self.held.with_suffix(".wal").write_text("more", encoding="utf-8")
            return outcomes.failed(query, "error", "error", "no such function")

    engine = Writing()
    try:
        assert [one.query.split()[0] for one in trespasses(engine)] == ["ATTACH"]
    finally:
        engine.close()


@pytest.mark.parametrize(("query", "flagged"), [("LOAD parquet", False), ("LOAD '", True), ("CREATE EXTENSION", True)])
def test_only_code_from_outside_is_an_extension(query: str, flagged: bool) -> None:
    class Loading(Leaky):
        def execute(self, text: str) -> Execution:
            if text.startswith(query):
                return Execution(query=text, status="empty", result=Result(columns=(), rows=()))
            return outcomes.failed(text, "error", "error", "unknown")

    engine = Loading()
    try:
        assert bool(trespasses(engine, ("extensions",))) is flagged
    finally:
        engine.close()


def test_a_connection_to_a_port_is_seen() -> None:
    import urllib.request

    class Calling(Leaky):
        def execute(self, query: str) -> Execution:
            if "http_get" in query:
                with pytest.raises(OSError, match=r"."):
                    urllib.request.urlopen(query.split("'")[1], timeout=60)
            return outcomes.failed(query, "error", "error", "refused")

    assert [one.reach for one in trespasses(Calling())] == ["network"]


@each("name", sorted(OUTSIDE))
def test_an_engine_that_holds_queries_passes(name: str, tmp_path: Path) -> None:
    check = next(check for check in CHECKS if check.name == name)
    assert conform(_adapter(DuckdbEngine, tmp_path), check) is None
    assert set(OUTSIDE.values()) == set(REACHES)


def test_the_doctor_tries_an_engine_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach.registry, "engine_class", lambda url: Leaky)
    found = reach.reach("leaky://here", timeout_s=5.0, secrets=())
    assert found.reached, found.trouble
    assert found.outside
    assert any("read_csv" in told and "content" in told for told in found.outside)
    shown = " ".join(found.outside[:3])  # the first of each kind
    assert "content" in shown
    assert "writes a file" in shown
    assert "connects to a port" in shown
    monkeypatch.undo()
    path = tmp_path / "own.duckdb"
    duckdb.connect(str(path)).close()
    assert reach.reach(f"duckdb:///{path.as_posix()}", timeout_s=5.0, secrets=()).outside is None
