"""What all tests share."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]  # pytest takes this in no conftest but the topmost

_ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data for trying on, where there is one."""
    folder = Path(os.environ.get("ASSAY_SHARED_DATA") or _ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder} (set ASSAY_SHARED_DATA to its folder)")
    return folder


@pytest.fixture
def make_sqlite(tmp_path: Path) -> Callable[..., Path]:
    """Make a SQLite file from SQL text and give its path."""

    def make(script: str, name: str = "test.sqlite") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
        return path

    return make


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A running PostgreSQL server (`servers.PostgresServer`), found or started for this session."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'assay[postgres]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        import servers
    with ExitStack() as stack:
        try:
            server = stack.enter_context(servers.postgres_server())
        except servers.NoServer as reason:
            pytest.skip(str(reason))
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Any]:
    """A MariaDB server of the tests' own (`mariadb_server.MariadbServer`), started once."""
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed (pip install 'assay[sqlalchemy]')")
    pytest.importorskip("pymysql", reason="PyMySQL is not installed (pip install 'assay[sqlalchemy]')")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent / "engines"))
        from mariadb_server import MariadbServer, Unavailable
    try:
        server = MariadbServer()
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield server
    server.close()
