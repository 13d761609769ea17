"""A small benchmark on disk, and `evaluate` on it."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

from small_benchmark import GOLDS, SCRIPT, Benchmark, write_lines


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    """Six questions on two tables, in a folder of its own."""
    folder = tmp_path / "bench"
    folder.mkdir()
    database = folder / "sqlite_tables.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(SCRIPT)
    questions = write_lines(
        folder / "questions.jsonl",
        (
            {"question_id": number, "question": f"question {number}?", "table_id": table, "sql": gold}
            for number, (table, gold) in GOLDS.items()
        ),
    )
    return Benchmark(questions=questions, database=database)


@pytest.fixture
def evaluated(benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """`evaluate` on that benchmark, in a temporary folder and with one worker."""
    from assay.llmsql import evaluate

    monkeypatch.chdir(tmp_path)

    def run(outputs: object, **more: Any) -> dict[str, Any]:
        return evaluate(outputs, **{**benchmark.arguments(), "workers": 1, **more})  # type: ignore[arg-type]

    return run
