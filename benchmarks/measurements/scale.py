"""A run of 100,000 cases: what its driver and its workers take. What reading it takes is in `reading`."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.frame import Setup, Used, assay

_SMALL = 1_000


def make_benchmark(folder: Path, cases: int) -> None:
    """Questions, answers and a database, no two queries alike, a third of the answers wrong."""
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.executescript(
            "CREATE TABLE orders(id INTEGER PRIMARY KEY, client TEXT, amount REAL, year INTEGER);"
            "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2000)"
            " INSERT INTO orders SELECT i, 'client ' || (i % 97), i * 1.25, 1990 + i % 35 FROM c"
        )
    with (
        (folder / "cases.jsonl").open("w", encoding="utf-8") as asked,
        (folder / "answers.jsonl").open("w", encoding="utf-8") as answered,
    ):
        for number in range(cases):
            gold = f"SELECT client, amount FROM orders WHERE id BETWEEN {number % 1990} AND {number % 1990 + 4}"
            case = {"id": f"q{number}", "question": f"The orders of {number}?", "gold_sql": f"{gold} -- {number}"}
            wrong = number % 3 == 0
            answer = gold.replace("amount", "year") if wrong else gold.replace("client, amount", "amount, client")
            asked.write(json.dumps(case) + "\n")
            answered.write(json.dumps({"id": f"q{number}", "predicted_sql": f"{answer} -- of {number}"}) + "\n")


def run(folder: Path, workers: int, output: Path) -> Used:
    """Judge the benchmark in a folder."""
    command = ["run", folder / "cases.jsonl", "-p", folder / "answers.jsonl", "--workers", workers, "-q"]
    return assay(*command, "--db", f"sqlite:///{folder / 'shop.sqlite'}", "-o", output)


def large_run(setup: Setup) -> dict[str, float]:
    """A small and a large run. Once: it takes minutes."""
    with tempfile.TemporaryDirectory() as name:
        made = []
        for cases in (_SMALL, setup.cases):
            place = Path(name) / str(cases)
            place.mkdir()
            make_benchmark(place, cases)
            made.append(run(place, setup.workers, place / "run"))
    small, large = made
    return {
        "scale.driver_memory": large.peak_mb / small.peak_mb,
        "scale.worker_memory": large.children_peak_mb / small.children_peak_mb,
        "scale.driver_cpu": large.cpu_s,
        "scale.wall": large.wall_s,
    }
