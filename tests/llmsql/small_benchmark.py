"""A benchmark of LLMSQL's shape, and the files it is written to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = "1-1000181-1"
SCRIPT = f"""
CREATE TABLE "{TABLE}" ("Name" TEXT, "Age" REAL, "Note" BLOB);
INSERT INTO "{TABLE}" VALUES ('Ann', 30, NULL), ('Bob', NULL, 'seven; eight'), ('Cy', 41.5, x'00ff'), ('Di', 7, '7');
CREATE TABLE "2-7-7" ("Only" TEXT);
"""
GOLDS = {
    1: (TABLE, f'SELECT "Name" FROM "{TABLE}" WHERE "Age" > 20'),
    2: (TABLE, f'SELECT "Age" FROM "{TABLE}"'),
    3: (TABLE, f'SELECT MAX("Age") FROM "{TABLE}" WHERE "Name" = \'nobody\''),
    4: (TABLE, f'SELECT "Note" FROM "{TABLE}"'),
    5: (TABLE, f'SELECT "Name" FROM "{TABLE}" WHERE "Note" = \'seven; eight\''),
    6: ("2-7-7", 'SELECT "Only" FROM "2-7-7"'),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    questions: Path
    database: Path

    def arguments(self) -> dict[str, Any]:
        return {"questions_path": str(self.questions), "db_path": str(self.database)}


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
