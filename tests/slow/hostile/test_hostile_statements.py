"""Hostile statements, run as a real run would: through worker processes, on real databases and as their administrator.

``python -m pytest tests/slow/hostile -m slow`` ends with the figures.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from arenas import (
    MOST_MEMORY_BYTES,
    Arena,
    PostgresArena,
    processes_of,
    wait_until_idle,
)
from clickhouse_statements import CLICKHOUSE
from duckdb_statements import DUCKDB
from mariadb_statements import MARIADB
from postgres_statements import GAPS, POSTGRES
from sqlite_statements import SQLITE

from assay.model import Execution

STATEMENTS = {"sqlite": SQLITE, "duckdb": DUCKDB, "postgresql": POSTGRES, "mariadb": MARIADB, "clickhouse": CLICKHOUSE}
AT_ONCE = frozenset({"refused", "writes", "several_statements", "no_query", "error"})
"""Ends that come at once: what such statements leave behind is looked for after many of them, else after a few."""
MANY, FEW = 16, 4


def _cases() -> list[Any]:
    """A few statements that take time, or many that do not."""
    found = []
    for engine, table in STATEMENTS.items():
        for at_once, size in ((True, MANY), (False, FEW)):
            alike = [hostile for hostile in table if (hostile.kinds <= AT_ONCE) is at_once]
            for start in range(0, len(alike), size):
                batch = alike[start : start + size]
                found.append(pytest.param(engine, batch, id=f"{engine}: {batch[0].name} to {batch[-1].name}"))
    return found


def _kind(execution: Execution) -> str:
    return execution.failure.kind if execution.failure is not None else execution.status


@pytest.mark.parametrize(("engine", "batch"), _cases())
def test_hostile_statements_harm_nothing(
    request: pytest.FixtureRequest, engine: str, batch: Any, record_property: Callable[[str, object], None]
) -> None:
    for _ in batch:
        record_property("hostile", engine)
    arena: Arena = request.getfixturevalue(f"{engine}_arena")
    processes = processes_of(os.getpid()) - set(arena.pool.pids)
    for hostile in batch:
        _ends_as_it_must(arena, hostile)
    assert wait_until_idle(arena)
    assert arena.snapshot() == arena.before
    assert processes_of(os.getpid()) - processes == set(arena.pool.pids)
    most = arena.peaks.take()
    record_property("most_memory", most)
    assert most <= MOST_MEMORY_BYTES


def _ends_as_it_must(arena: Arena, hostile: Any) -> None:
    """The statement ends in one of its ways, and the next query finds data and session as they were."""
    sql = hostile.sql.replace("{folder}", str(arena.folder))
    (execution,) = arena.run(sql)

    kind = _kind(execution)
    if kind == "timeout" and kind not in hostile.kinds:
        kind = _kind(arena.run_patiently(sql))  # a busy machine let the clock come first, which harms nothing either
    assert kind in hostile.kinds, (hostile.name, kind, execution.failure)
    assert execution.query == sql
    if execution.failure is not None:
        assert execution.failure.message
        assert "\n" not in execution.failure.message
        assert len(execution.failure.message) < 1000
    assert arena.state(hostile.name) == arena.healthy, hostile.name


def test_there_are_enough_statements_and_none_twice() -> None:
    for table in STATEMENTS.values():
        assert len(table) >= 120
        assert len({hostile.name for hostile in table}) == len(table)
        assert len({hostile.sql for hostile in table}) == len(table)


@pytest.mark.parametrize("gap", GAPS, ids=lambda gap: gap.name)
def test_a_known_gap_is_one_for_a_superuser_only(
    postgresql_arena: PostgresArena, gap: Any, record_property: Callable[[str, object], None]
) -> None:
    record_property("known_gap", "postgresql")
    arena = postgresql_arena
    evil = Path(arena.folder / "evil")
    sql = gap.sql.replace("{folder}", str(arena.folder))
    superuser, arena.url = arena.url, arena.reader_url
    try:
        (held,) = arena.run(sql)
        assert held.failure is not None
        assert not evil.exists()
    finally:
        arena.url = superuser
    for attempt in range(20):  # it may meet the time limit first
        (reached,) = arena.run(f"{sql} AS attempt_{attempt}")
        if evil.exists():
            break
    if os.environ.get("ASSAY_POSTGRES_URL"):
        return  # whether that server can write here is not known
    assert evil.exists(), f"this gap is closed ({reached.failure}); it was: {gap.reason}"
    evil.unlink()
    assert arena.snapshot() == arena.before
