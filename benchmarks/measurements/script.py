"""What somebody writes who only wants to know how many answers are right: no limits, no causes, no report.

    python benchmarks/measurements/script.py QUESTIONS PREDICTIONS DATABASE_FOLDER

Each distinct query of a database is executed once, and a prediction is right where its set of rows is gold's. It reads
the same files as `assay run`, and is what that is measured against.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path


def main(questions: str, predictions: str, databases: str) -> None:
    """Print how many predictions are right."""
    cases = [json.loads(line) for line in Path(questions).read_text(encoding="utf-8").splitlines()]
    answers = [json.loads(line) for line in Path(predictions).read_text(encoding="utf-8").splitlines()]
    predicted = {answer["id"]: answer.get("predicted_sql") or "" for answer in answers}
    connections: dict[str, sqlite3.Connection] = {}
    found: dict[tuple[str, str], frozenset[tuple[object, ...]] | None] = {}

    def rows(db_id: str, query: str) -> frozenset[tuple[object, ...]] | None:
        key = db_id, query
        if key not in found:
            if db_id not in connections:
                path = Path(databases, db_id, f"{db_id}.sqlite")
                connections[db_id] = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            try:
                found[key] = frozenset(connections[db_id].execute(query).fetchall())
            except (sqlite3.Error, sqlite3.Warning):
                found[key] = None
        return found[key]

    right = 0
    for case in cases:
        gold = rows(case["db_id"], case["gold_sql"])
        right += gold is not None and rows(case["db_id"], predicted.get(case["id"], "")) == gold
    print(f"{right} of {len(cases)} are right")


if __name__ == "__main__":
    main(*sys.argv[1:])
