from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).parent
# Workers import by the parent's path, too.
_PLACES = [str(_HERE), str(_HERE.parent / "engines")]
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


def _used(make: Callable[[Any], Any]) -> Iterator[Any]:
    import arenas

    arena = make(arenas)
    yield arena
    arena.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many statements each engine was asked, and how many harmed something or ended otherwise than stated."""
    counts: dict[str, dict[str, int]] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, engine in getattr(report, "user_properties", ()):
                if name in ("hostile", "known_gap"):
                    key = outcome if name == "hostile" else "gap"
                    count = counts.setdefault(engine, {})
                    count[key] = count.get(key, 0) + 1
    if not counts:
        return
    terminalreporter.section("hostile statements")
    terminalreporter.write_line(
        f"{'engine':<12}{'tried':>8}{'survived':>10}{'harmed':>8}{'known gaps':>12}{'skipped':>9}"
    )
    for engine, count in sorted(counts.items()):
        survived, harmed = count.get("passed", 0), count.get("failed", 0) + count.get("error", 0)
        gaps, skipped = count.get("gap", 0), count.get("skipped", 0)
        line = f"{engine:<12}{survived + harmed:>8}{survived:>10}{harmed:>8}{gaps:>12}{skipped:>9}"
        terminalreporter.write_line(line)
