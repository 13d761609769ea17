"""Whatever happens to a run from outside: every other case is judged, and nothing finished is lost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mariadb_server import MariadbServer


_HERE = Path(__file__).parent

if sys.platform == "win32":
    pytest.skip("these faults are brought about with POSIX signals and limits", allow_module_level=True)


@pytest.fixture
def bring(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Bring a fault about, by its name in `experiments`, and see that no case was lost."""
    monkeypatch.syspath_prepend(str(_HERE))
    import experiments

    def bring(name: str, *arguments: object, **options: object) -> Any:
        try:
            figures = getattr(experiments, name)(*arguments, **options)
        except experiments.NotHere as reason:
            pytest.skip(str(reason))
        assert figures.faults > 0
        assert figures.lost == 0, figures
        return figures

    return bring


def test_a_killed_worker_costs_at_most_the_case_it_was_at(bring: Any, tmp_path: Path) -> None:
    figures = bring("killed_workers", tmp_path, 1, count=200, times=4)
    assert figures.explained <= figures.faults


def test_a_postgres_server_that_restarts_costs_at_most_the_cases_in_flight(
    bring: Any, tmp_path: Path, postgres: Any
) -> None:
    assert bring("restarted_postgres", tmp_path, postgres).explained <= 2 * 2


def test_a_mariadb_server_that_restarts_costs_at_most_the_cases_meanwhile(
    bring: Any, tmp_path: Path, mariadb: MariadbServer
) -> None:
    assert bring("restarted_mariadb", tmp_path, mariadb).survived > 0


def test_a_postgres_server_that_stands_still_costs_no_case_and_breaks_no_gold(
    bring: Any, tmp_path: Path, postgres: Any
) -> None:
    assert bring("stalled", tmp_path, postgres, "PostgreSQL").survived == 60


def test_a_mariadb_server_that_stands_still_costs_no_case_and_breaks_no_gold(
    bring: Any, tmp_path: Path, mariadb: MariadbServer
) -> None:
    assert bring("stalled", tmp_path, mariadb, "MariaDB").survived == 60


def test_a_postgres_connection_that_is_cut_costs_no_case(bring: Any, tmp_path: Path, postgres: Any) -> None:
    assert bring("cut_connections", tmp_path, postgres, "PostgreSQL").explained == 0


def test_a_mariadb_connection_that_is_cut_costs_at_most_the_case_in_flight(
    bring: Any, tmp_path: Path, mariadb: MariadbServer
) -> None:
    figures = bring("cut_connections", tmp_path, mariadb, "MariaDB")
    assert figures.explained <= figures.faults


def test_a_full_disk_stops_the_run_and_with_room_it_goes_on(bring: Any, tmp_path: Path) -> None:
    bring("full_disk", tmp_path, kilobytes=8)


def test_a_file_that_may_not_grow_stops_the_run_and_later_it_goes_on(bring: Any, tmp_path: Path) -> None:
    bring("full_quota", tmp_path, kilobytes=1)


def test_another_run_in_the_same_folder_stops_at_once(bring: Any, tmp_path: Path) -> None:
    bring("two_runs", tmp_path)
