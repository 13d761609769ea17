"""How many pairs are proved, and that none is proved wrongly: gold and prediction of Spider's development set.

    python benchmarks/proof.py SPIDER [--system NAME] [--databases N] [--rows N]

SPIDER holds `dev.jsonl`, `database/` and `predictions/`. Predictions that fail the verdict on the benchmark's own data
are an oracle that costs nothing: none of them may be proved. Each proved pair is executed on N random databases that
honour the declared constraints. Exits with 1 where a pair is proved wrongly.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "witness"))

from random_databases import same_bag, random_tables, schema_of  # noqa: I001

import assay
from assay.model import DatabaseSchema, Proof
from assay.sql import read_shape
from assay.witness.proof import prove

EMPTY = "wta_1"
"""A database without rows: there almost any answer agrees."""
LIMIT = re.compile(r"\s+LIMIT\s+\d+\s*;?\s*$", re.IGNORECASE)
SAME = ("same text", "same query in other words")


def pairs(folder: Path, system: str | None) -> Iterator[tuple[str, str, str]]:
    """Each different pair of gold and prediction once, with its database."""
    golds = {one["id"]: one for one in map(json.loads, (folder / "dev.jsonl").read_text().splitlines())}
    seen = set()
    for path in sorted((folder / "predictions").glob("*.jsonl")):
        if system is not None and path.stem != system:
            continue
        for line in path.read_text().splitlines():
            answer = json.loads(line)
            gold, predicted = golds[answer["id"]], answer["predicted_sql"]
            found = (gold["db_id"], gold["gold_sql"], predicted or "")
            if predicted and gold["db_id"] != EMPTY and (system is not None or found not in seen):
                seen.add(found)
                yield found


def ddl_of(path: Path) -> str:
    """The statements that make a database."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    rows = connection.execute(
        "SELECT sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    connection.close()
    return ";\n".join(row[0] for row in rows) + ";"


def is_ordered(query: str) -> bool:
    """Whether the outermost query has ORDER BY."""
    return bool(read_shape(query, "sqlite").ordered)


def keeps_references(connection: sqlite3.Connection) -> bool:
    """Whether every foreign key is found; SQLite does not check one that refers to no key."""
    try:
        return not connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.OperationalError:
        return True


def parted(ddl: str, schema: DatabaseSchema, gold: str, predicted: str, databases: int) -> int | None:
    """The seed of a random database on which two queries differ whichever way SQLite scans.

    A LIMIT at the end of both is taken off: which of the rows that tie it takes is left open.
    """
    bare = [LIMIT.sub("", query) for query in (gold, predicted)]
    if all(one != query for one, query in zip(bare, (gold, predicted), strict=True)):
        gold, predicted = bare
    for seed in range(databases):
        connection = sqlite3.connect(":memory:")
        connection.executescript(ddl)
        for name, rows in random_tables(schema, (gold, predicted), seed).items():
            for row in rows:
                connection.execute(f'INSERT OR IGNORE INTO "{name}" VALUES ({", ".join("?" * len(row))})', row)
        results = []
        for reverse in (0, 1):
            connection.execute(f"PRAGMA reverse_unordered_selects = {reverse}")
            results.append([connection.execute(query).fetchall() for query in (gold, predicted)])
        legal = keeps_references(connection)
        connection.close()
        settled = all(same_bag(results[0][place], results[1][place]) for place in (0, 1))
        if legal and settled and not same_bag(*results[0]):
            return seed
    return None


def main() -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spider", type=Path)
    parser.add_argument("--system")
    parser.add_argument("--databases", type=int, default=0)
    parser.add_argument("--rows", type=int, default=0)
    given = parser.parse_args()
    ddls: dict[str, str] = {}
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    times, wrong = [], []
    for db, gold, predicted in pairs(given.spider, given.system):
        path = given.spider / "database" / db / f"{db}.sqlite"
        ddls.setdefault(db, ddl_of(path))
        schema = schema_of(ddls[db])
        agrees = assay.check(predicted, gold, database=f"sqlite:///{path}").outcome == "correct"
        started = time.perf_counter()
        found = prove(gold, predicted, schema, dialect="sqlite", ordered=is_ordered(gold), max_rows=given.rows)
        times.append(time.perf_counter() - started)
        kind = "unproved"
        if isinstance(found, Proof):
            kind = "same" if set(found.rules) & set(SAME) else "proved"
        counts[f"{'agree' if agrees else 'differ'}: {kind}"] += 1
        if isinstance(found, Proof):
            seed = parted(ddls[db], schema, gold, predicted, given.databases) if kind == "proved" else None
            if not agrees or seed is not None:
                wrong.append((db, gold, predicted, seed))
        elif agrees:
            reasons[found.reason] += 1
    for name, count in sorted(counts.items()):
        print(f"{count:6,}  {name}")
    print(f"{median(times) * 1000:.0f} ms at the median, {max(times):.1f} s at most")
    for reason, count in reasons.most_common(12):
        print(f"{count:6,}  {reason}")
    for one in wrong:
        print("PROVED WRONGLY", *one, sep="\n    ")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
