"""What LLMSQL's evaluation takes of the processors, against the loop of the benchmark's own package, in one run.

    python benchmarks/llmsql.py [--questions N] [--tables N] [--rounds N] [--peer PYTHON]

Makes 16,000 questions over 5,000 tables with completions right, wrong, in prose and broken, the same
every time. ``PYTHON`` is an interpreter that has the package `llmsql`; without one, its loop is
measured as this file restates it (one connection; per output the gold query and every candidate,
each result sorted). Both start as new processes, read the same files and write a report. Exits with
1 where the package is faster, or where the verdicts differ. The restated loop has neither the package's
imports nor its progress bar, so that its ratio is reported without a bound.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

OURS = """
import sys
from assay.llmsql import evaluate
outputs, questions, database, report = sys.argv[1:]
evaluate(outputs, questions_path=questions, db_path=database, save_report=report, show_mismatches=False)
"""
PACKAGE = OURS.replace("from assay.llmsql import", "from llmsql.evaluation.evaluate import")
COUNTS = ("total", "matches", "pred_none", "gold_none", "sql_errors")
WORDS = ("north", "lake", "Main St", "Ünal", "O'Neil", "7-Eleven", "left wing", "tie", "2004-05", "n/a")


def make_benchmark(folder: Path, *, questions: int, tables: int, seed: int = 7) -> tuple[Path, Path, Path]:
    """Write outputs, questions and database, like LLMSQL's in shape. The same for the same numbers."""
    chance = random.Random(seed)
    database = folder / "sqlite_tables.db"
    values: list[list[tuple[object, ...]]] = []
    with closing(sqlite3.connect(database)) as connection:
        for number in range(tables):
            connection.execute(
                f'CREATE TABLE "{table_id(number)}" ("Name" TEXT, "Pos." TEXT, "Points" REAL, "Year" REAL)'
            )
            rows: list[tuple[object, ...]] = [
                (
                    f"{chance.choice(WORDS)} {chance.randrange(40)}",
                    chance.choice(WORDS),
                    round(chance.uniform(0, 99), 1),
                    chance.randrange(1950, 2020),
                )
                for _ in range(chance.randrange(5, 40))
            ]
            connection.executemany(f'INSERT INTO "{table_id(number)}" VALUES (?, ?, ?, ?)', rows)
            values.append(rows)
        connection.commit()
    asked, answered = [], []
    for number in range(1, questions + 1):
        table = chance.randrange(tables)
        gold = gold_query(chance, table, chance.choice(values[table]))
        asked.append(
            {"question_id": number, "table_id": table_id(table), "question": f"question {number}?", "sql": gold}
        )
        answered.append({"question_id": number, "completion": completion(chance, gold, table)})
    paths = (folder / "outputs.jsonl", folder / "questions.jsonl", database)
    for path, lines in zip(paths, (answered, asked), strict=False):
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return paths


def table_id(number: int) -> str:
    """An id like WikiSQL's."""
    return f"{1 + number % 2}-{10_000_000 + 37 * number}-{number % 13}"


def gold_query(chance: random.Random, table: int, row: Sequence[object]) -> str:
    """One of WikiSQL's forms, its literal from the table."""
    name = str(row[0]).replace("'", "''")
    where = chance.choice([f"\"Name\" = '{name}'", f'"Points" > {row[2]}', f'"Year" = {row[3]}'])
    what = chance.choice(['"Name"', '"Pos."', '"Points"', 'COUNT("Name")', 'MAX("Points")', 'SUM("Year")'])
    return f'SELECT {what} FROM "{table_id(table)}" WHERE {where}'


def completion(chance: random.Random, gold: str, table: int) -> str:
    """What a model might say: mostly right."""
    query = gold.replace(f'FROM "{table_id(table)}"', 'FROM "Table"')
    kind = chance.random()
    if kind < 0.55:
        return query
    if kind < 0.7:
        lines = query.replace(" WHERE ", "\nWHERE ")
        return f"The table has what we need.\n```sql\n{lines};\n```\nThat selects it."
    if kind < 0.85:
        return re.sub(r"SELECT \S+", 'SELECT MIN("Points")', query, count=1)
    if kind < 0.93:
        return query.replace(" = ", " > ")
    return query.replace('"Table"', '"Tabel"') if kind < 0.97 else "I cannot answer that."


def restated(outputs: str, questions: str, database: str, report: str) -> None:
    """The package's loop (llmsql 0.1.16) without its progress bar, which makes it faster than it is."""
    with open(questions, encoding="utf-8") as file:
        asked = {item["question_id"]: item for item in map(json.loads, file)}
    with open(outputs, encoding="utf-8") as file:
        items = [json.loads(line) for line in file if line.strip()]
    with closing(sqlite3.connect(database)) as connection:

        def run(query: str) -> list[tuple[object, ...]] | None:
            try:
                return sorted(connection.execute(query).fetchall())  # type: ignore[type-var]
            except Exception:  # noqa: BLE001 - as it has it
                return None

        found: dict[str, object] = dict.fromkeys(COUNTS, 0)
        counts = dict.fromkeys(COUNTS, 0)
        mismatches = []
        for item in items:
            question = asked[item["question_id"]]
            gold = run(question["sql"])
            counts["total"] += 1
            counts["gold_none"] += gold == [(None,)]
            matched, last = False, None
            for candidate in candidates(item["completion"]):
                table = question["table_id"]
                for form in ("FROM 'Table'", 'FROM "Table"', "FROM Table"):
                    candidate = candidate.replace(form, f'FROM "{table}"')  # noqa: PLW2901
                last = run(candidate.strip())
                counts["sql_errors"] += last is None
                counts["pred_none"] += last == [(None,)]
                matched = matched or (gold is not None and gold == last)
            counts["matches"] += matched
            if not matched:
                mismatches.append({**item, **question, "gold_results": gold, "prediction_results": last})
    found.update(counts, mismatches=mismatches)
    with open(report, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=2, ensure_ascii=False)


def candidates(text: str) -> list[str]:
    """The package's extraction."""
    found: list[str] = []
    for match in re.finditer("select", text, re.IGNORECASE):
        query = re.search(r"(?s)SELECT\b.*?(?=(?:;|\n{4,}|```|$))", text[match.start() :], re.IGNORECASE)
        if query and query[0].strip() not in found:
            found.append(query[0].strip())
    return found[:10]


def timed(python: str, code: str, paths: Sequence[Path], report: Path) -> tuple[float, float]:
    """Seconds of the processors that one new process and its children take, and of the clock."""
    started, before = time.perf_counter(), _children_s()
    command = [python, "-c", code, *map(str, paths), str(report)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return _children_s() - before, time.perf_counter() - started


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ratios(measured: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> tuple[float, float]:
    """The median of our time over theirs, of pairs of theirs and ours: of the processors, and of the clock."""
    cpu, wall = (statistics.median(ours[kind] / theirs[kind] for theirs, ours in measured) for kind in (0, 1))
    return cpu, wall


def main() -> int:
    """Measure both in turn and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=16_000)
    parser.add_argument("--tables", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has the package llmsql")
    options = parser.parse_args()
    peer, code = (options.peer, PACKAGE) if options.peer else (sys.executable, RESTATED)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = make_benchmark(folder, questions=options.questions, tables=options.tables)
        ours, theirs = folder / "ours.json", folder / "theirs.json"
        measured = [
            (timed(peer, code, paths, theirs), timed(sys.executable, OURS, paths, ours)) for _ in range(options.rounds)
        ]
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in (ours, theirs)]
    differing = differences(*reports)
    cpu, wall = ratios(measured)
    what = "the package llmsql" if options.peer else "its loop, restated without progress bar"
    print(f"{options.questions:,} questions over {options.tables:,} tables: {reports[0]['matches']:,} matches")
    print(f"{what}: {statistics.median(other[0] for other, _ in measured):.2f} s of the processors")
    bound = "bound 1" if options.peer else "no bound"
    own_s = statistics.median(own[0] for _, own in measured)
    print(f"assay.llmsql: {own_s:.2f} s, {cpu:.2f} times that ({bound}), {wall:.2f} times by the clock")
    for difference in differing:
        print(f"DIFFERS: {difference}")
    return 0 if (cpu < 1 or not options.peer) and not differing else 1


def differences(ours: dict[str, object], theirs: dict[str, object]) -> list[str]:
    """Where the reports differ: the counts, and which questions do not match."""
    found = [f"{name}: {ours[name]} and {theirs[name]}" for name in COUNTS if ours[name] != theirs[name]]
    ids = [{one["question_id"] for one in report["mismatches"]} for report in (ours, theirs)]  # type: ignore[attr-defined]
    return [*found, *(f"question {number}" for number in sorted(ids[0] ^ ids[1]))]


RESTATED = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from llmsql import restated
restated(*sys.argv[1:])
"""

if __name__ == "__main__":
    sys.exit(main())
