"""Every answer of a live system has a time, so that the workbook's Mean Time (s) is filled for every kind of system."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from python_calamine import CalamineWorkbook

import assay
from assay.model import Case, Prediction
from assay.reports.excel.run import XlsxReporter
from assay.testing import ChatEmulator, DenodoEmulator
from text_server import serving

GOLD = "SELECT 1"
CASES = [{"id": number, "question": f"q{number}", "gold_sql": GOLD} for number in range(3)]


class _Own:
    """A system of somebody else's, which measures nothing."""

    name = "own"

    def describe(self) -> str:
        return "own"

    def answer(self, case: Case) -> Prediction:
        return Prediction(case_id=case.id, query=GOLD)

    def close(self) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with serving(json.dumps({"sql_query": GOLD})) as url:
        yield f"{url.removeprefix('http://')}/ask"


def mean_times(system: Any, database: str) -> tuple[int, dict[str, object]]:
    """How many answers have a time, and the row Overall of the Summary sheet."""
    run = assay.evaluate(CASES, system, databases=database, workers=1, metrics=["match"])
    with CalamineWorkbook.from_filelike(io.BytesIO(XlsxReporter().render(run.record))) as workbook:
        head, *rows = workbook.get_sheet_by_name("Summary").to_python()
    overall = next(row for row in rows if row[0] == "Overall")
    time = run.aggregates.overall.answer_time
    return (0 if time is None else time.n), dict(zip(map(str, head), overall, strict=False))


@pytest.fixture
def database(make_sqlite: Callable[..., Path]) -> str:
    return f"sqlite:///{make_sqlite('CREATE TABLE t(a);')}"


@contextmanager
def opened(kind: str, server: str, folder: Path) -> Iterator[Any]:
    match kind:
        case "function":
            yield lambda question: GOLD
        case "prediction":
            yield lambda case: Prediction(case_id=case.id, query=GOLD)
        case "own":
            yield _Own()
        case "http":
            yield assay.open_system(f"http://{server}")
        case "denodo without times":
            yield assay.open_system(f"denodo:http://{server}")
        case "command":
            (folder / "ask.py").write_text(f"print({GOLD!r})")
            yield assay.open_system(f"command:{sys.executable} {folder / 'ask.py'}")
        case "chat":
            with ChatEmulator(answers=lambda _: f"```sql\n{GOLD}\n```") as emulator:
                yield assay.open_system(f"chat:{emulator.openai_url}", parameters={"model": "m"})
        case "denodo":
            with DenodoEmulator(answers={str(case["question"]): GOLD for case in CASES}) as emulator_of_sdk:
                yield assay.open_system(f"denodo:{emulator_of_sdk.api_url}")


@pytest.mark.parametrize(
    "kind", ["function", "prediction", "own", "http", "denodo without times", "command", "chat", "denodo"]
)
def test_the_mean_time_is_filled_for_every_kind_of_live_system(
    kind: str, database: str, server: str, tmp_path: Path
) -> None:
    with opened(kind, server, tmp_path) as system:
        count, overall = mean_times(system, database)
    assert count == len(CASES)
    assert isinstance(overall["Mean Time (s)"], float)
    assert isinstance(overall["Time Std Dev"], float)


def test_a_reported_time_is_kept_and_a_failed_request_has_none(database: str) -> None:
    def ask(case: Case) -> Prediction:
        if case.id == "1":
            raise ValueError("down")
        return Prediction(case_id=case.id, query=GOLD, timings_s=(("latency", 7.0),))

    count, overall = mean_times(ask, database)
    assert (count, overall["Mean Time (s)"]) == (2, 7.0)
