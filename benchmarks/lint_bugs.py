"""How many wrong queries does the lint flag when they stand as gold, and how many right ones, by rule?

    python benchmarks/lint_bugs.py FOLDER

FOLDER holds NL2SQL-BUGs as ``pairs.jsonl`` (``question``, ``evidence``, ``db_id``, ``gold_sql``, ``wrong_sql``) and
``schemas.json`` (per database, per table its DDL). The databases are built without rows: the rules that need data are
left out, and what is measured are those that need the query and the question alone.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

import assay
from assay.linting import catalogue
from assay.model.lint import LintReport


def main(folder: Path) -> None:
    """Lint both sides and print the rates."""
    pairs = [json.loads(line) for line in (folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines() if line]
    schemas = json.loads((folder / "schemas.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as made:
        for name, tables in schemas.items():
            with closing(sqlite3.connect(Path(made) / f"{name}.sqlite")) as database:
                for ddl in tables.values():
                    database.execute(ddl)
        wrong = linted(pairs, "wrong_sql", Path(made))
        right = linted(pairs, "gold_sql", Path(made))
    report(wrong, right, len(pairs))


def linted(pairs: list[dict[str, str]], side: str, folder: Path) -> LintReport:
    """One side of the pairs as gold."""
    cases = [
        assay.Case(
            id=str(number),
            question=pair["question"],
            context=pair.get("evidence"),
            database=pair["db_id"],
            golds=(pair[side],),
        )
        for number, pair in enumerate(pairs)
    ]
    rules = [rule.about.name for rule in catalogue() if rule.about.needs in ("query", "question")]
    return assay.lint(cases, databases=f"sqlite:///{folder}/{{db_id}}.sqlite", only=rules)


def report(wrong: LintReport, right: LintReport, pairs: int) -> None:
    """Print a Markdown table: per rule the flagged cases on each side."""
    sides = [Counter({(one.rule, one.case_id) for one in side.findings}) for side in (wrong, right)]
    counts = [Counter(rule for rule, _ in side) for side in sides]
    print("| rule | of the wrong | of the right |\n|---|---:|---:|")
    for rule in sorted(counts[0] | counts[1], key=lambda name: -(counts[0][name] - counts[1][name])):
        print(f"| {rule} | {counts[0][rule]} | {counts[1][rule]} |")
    for severities, label in ((("error", "warning"), "error or warning"), (("error", "warning", "note"), "any")):
        flagged = [len({one.case_id for one in side.findings if one.severity in severities}) for side in (wrong, right)]
        rates = [f"{count} ({count / pairs:.1%})" for count in flagged]
        print(f"| **{label}** of {pairs} | {rates[0]} | {rates[1]} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
