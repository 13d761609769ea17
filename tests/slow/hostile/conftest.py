from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).parent
# Workers import by the parent's path, too.
_PLACES = [str(_HERE), str(_HERE.parents[1] / "engines")]
for _place in _PLACES:
    if _place not in sys.path:
        sys.path.insert(0, _place)


@pytest.fixture(scope="session")
def sqlite_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from _used(lambda arenas: arenas.FileArena("sqlite", tmp_path_factory.mktemp("sqlite")))


@pytest.fixture(scope="session")
def duckdb_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from _used(lambda arenas: arenas.FileArena("duckdb", tmp_path_factory.mktemp("duckdb")))


@pytest.fixture(scope="session")
def postgresql_arena(postgres: Any) -> Iterator[Any]:
    # Not below pytest's own folder: the server is somebody else, whom each session of pytest shuts out of there.
    with tempfile.TemporaryDirectory(prefix="assay-arena-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield from _used(lambda arenas: arenas.PostgresArena(postgres, Path(folder)))


@pytest.fixture(scope="session")
def mariadb_arena(mariadb: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from _used(lambda arenas: arenas.MariadbArena(mariadb, tmp_path_factory.mktemp("mariadb")))


@pytest.fixture(scope="session")
def clickhouse_arena(clickhouse: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from _used(lambda arenas: arenas.ClickhouseArena(clickhouse, tmp_path_factory.mktemp("clickhouse")))


def _used(make: Callable[[Any], Any]) -> Iterator[Any]:
    import arenas

    arena = make(arenas)
    yield arena
    arena.close()
