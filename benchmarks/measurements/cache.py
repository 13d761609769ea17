"""Executions that runs share: what the next system on the same benchmark pays, where golds are slow and where not."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.frame import Setup, assay

_GOLDS = 40


def next_system(setup: Setup) -> dict[str, float]:
    """40 slow golds: the second system's time over the first one's, and a first run over one without."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with closing(sqlite3.connect(folder / "n.sqlite")) as connection:
            connection.executescript(
                "CREATE TABLE n(i); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 4000000)"
                " INSERT INTO n SELECT i FROM c"
            )
        golds = [f"SELECT sum(i), count(*) FROM n WHERE i % {n + 2} = 1" for n in range(_GOLDS)]
        cases = [{"id": str(n), "question": "?", "gold_sql": gold} for n, gold in enumerate(golds)]
        _write(folder / "cases.jsonl", cases)
        for system in range(2):
            answers = [{"id": str(n), "predicted_sql": f"SELECT {system + 1}"} for n in range(_GOLDS)]
            _write(folder / f"answers{system}.jsonl", answers)

        def run(system: int, *more: object) -> float:
            command = ["run", folder / "cases.jsonl", "-p", folder / f"answers{system}.jsonl", "-q"]
            command += ["--db", f"sqlite:///{folder / 'n.sqlite'}", "--workers", setup.workers]
            return assay(*command, *more).wall_s

        plain, first = run(0), run(0, "--cache", folder / "shared")
        return {"cache.first": first / plain, "cache.next": run(1, "--cache", folder / "shared") / first}


def _write(path: Path, lines: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
