"""Runs whose pages are looked at in a browser: two real ones of the same cases, a large and a hostile one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import assay
from assay import registry
from assay.model import (
    AlignedRow,
    Case,
    Comparison,
    Count,
    Evidence,
    Execution,
    Failure,
    GateResult,
    Limits,
    NearMiss,
    Prediction,
    Provenance,
    Run,
    RunSettings,
    Score,
    TokenUsage,
    Verdict,
)
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate

TABLES = """
CREATE TABLE client(id INTEGER PRIMARY KEY, name TEXT, city TEXT, points INTEGER);
INSERT INTO client VALUES (1, 'Ada', 'Leeds', 12), (2, '', NULL, 7), (3, 'NULL', 'York', NULL), (4, 'Bo', 'York', 31);
CREATE TABLE orders(id INTEGER PRIMARY KEY, client_id INTEGER, total INTEGER, day TEXT);
INSERT INTO orders VALUES (1, 1, 40, '2026-01-02'), (2, 1, 25, '2026-02-03'), (3, 4, 90, '2026-02-05'),
    (4, 2, 5, '2026-03-01');
"""
_ASKED = (
    ("Who lives in York?", "SELECT name FROM client WHERE city = 'York'"),
    ("Name, city and points of everybody", "SELECT name, city, points FROM client"),
    ("How many orders are there?", "SELECT count(*) FROM orders"),
    ("Total of each client", "SELECT client_id, sum(total) FROM orders GROUP BY client_id"),
    ("Names and cities", "SELECT name, city FROM client"),
    ("The dearest order", "SELECT id FROM orders ORDER BY total DESC LIMIT 1"),
    ("Nicknames", "SELECT nickname FROM client"),
    ("Clients without city", "SELECT id FROM client WHERE city IS NULL"),
    ("Orders before the year 2000", "SELECT id FROM orders WHERE day < '2000'"),
    ("Cities, each once", "SELECT DISTINCT city FROM client"),
    (
        "Sales of February",
        "SELECT name, total FROM client JOIN orders ON client.id = client_id WHERE day LIKE '2026-02-%'",
    ),
    ("Average points", "SELECT avg(points) FROM client"),
)
CASES: list[dict[str, Any]] = [
    {
        "id": f"c-{place + 1:02}",
        "question": question,
        "gold_sql": gold,
        "difficulty": ("easy", "medium", "hard")[place % 3],
        "db_id": "shop" if place % 4 else "archive",
        "tags": ["joins"] if "JOIN" in gold else ["one table", "clients"][: 1 + place % 2],
    }
    for place, (question, gold) in enumerate(_ASKED)
]
ANSWERS: dict[str, str | None] = {
    "c-01": "SELECT name FROM client WHERE city = 'York'",
    "c-02": "SELECT points, name, city AS town FROM client WHERE points IS NOT 31 UNION ALL SELECT 30, 'Bo', 'York'",
    "c-03": "SELECT count(id) FROM orders",
    "c-04": "SELECT client_id, sum(total) * 100 FROM orders GROUP BY client_id HAVING sum(total) > 0",
    "c-05": "SELECT city, name FROM client",
    "c-06": "SELECT id FROM orders ORDER BY total LIMIT 1",
    "c-07": "SELECT name FROM client",
    "c-08": None,
    "c-09": "SELECT id FROM orders WHERE day < '1999'",
    "c-10": "SELECT city\r\nFROM client -- all \u202e of them",
    "c-11": "SELECT nme FROM client",
    "c-12": "SELECT avg(points) FROM client",
}
LATER = ANSWERS | {
    "c-01": "SELECT city FROM client WHERE city = 'York'",
    "c-06": "SELECT id FROM orders ORDER BY total DESC LIMIT 1",
    "c-10": "SELECT DISTINCT city FROM client",
    "c-11": "SELECT name FROM client",
}


def shop(folder: Path) -> dict[str, str]:
    """Two databases of the same content, by name."""
    urls = {}
    for name in ("shop", "archive"):
        file = folder / f"{name}.sqlite"
        if not file.exists():
            with closing(sqlite3.connect(file)) as connection:
                connection.executescript(TABLES)
        urls[name] = f"sqlite:///{file}"
    return urls


def real_run(folder: Path, answers: dict[str, str | None], name: str) -> Run:
    """The cases judged on real databases."""
    return assay.evaluate(CASES, answers, databases=shop(folder), workers=1, name=name).record


def witnessed_run(folder: Path) -> Run:
    """The cases with answers of which some are right by luck, and with what other databases say of these."""
    lucky = LATER | {"c-06": "SELECT id FROM orders WHERE total = (SELECT max(total) FROM orders)"}
    return assay.evaluate(CASES, lucky, databases=shop(folder), workers=1, name="lucky", witness=True).record


class Unsteady:
    """A system that answers right every other time it is asked the same."""

    name = "unsteady"

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    def describe(self) -> str:
        return "unsteady"

    def answer(self, case: Case) -> Prediction:
        time = self.asked[case.id] = self.asked.get(case.id, 0) + 1
        return Prediction(case_id=case.id, query=case.golds[0] if time % 2 else f"SELECT {time}")

    def close(self) -> None:
        pass


def repeated_run(folder: Path) -> Run:
    """Three cases, each asked three times."""
    system = Unsteady()
    return assay.evaluate(CASES[:3], system, databases=shop(folder), repeats=3, concurrency=1, workers=1).record


def large_run(seed: Run, count: int = 10_000) -> Run:
    """As many cases as asked for, the seed's again and again, each with an id and a question of its own."""
    items = []
    for number in range(count):
        item = seed.evidence[number % len(seed.evidence)]
        case = replace(item.case, id=f"n-{number:05}", question=f"{item.case.question} (number {number})")
        items.append(replace(item, case=case, prediction=replace(item.prediction, case_id=case.id)))
    metrics = [registry.metric(name) for name in seed.settings.metrics]
    return replace(
        seed,
        summaries=summaries_of(tuple(items)),
        evidence=tuple(items),
        aggregates=aggregate(summaries_of(items), metrics),
    )


ATTACKS = (
    "</script><script>window.executed = 1</script>",
    "<img src=x onerror=window.executed=1>",
    "<svg onload=window.executed=1>",
    "javascript:window.executed=1",
    '" onmouseover="window.executed=1" x=\'',
    "\u202egnp.exe\u202c \u2066x\u2069",
    "\ud800 lone, \x00 null, \x1b[31m red",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "toString",
    "&show=correct&case=x",
    "#case=1",
    "100%",
    "%00%zz",
    "a+b c",
    "${window.executed=1} {{7*7}} {% raw %}",
    "<!--",
    "]]>",
    "x" * 200,
    "x" * 199 + "y",
    "",
)
LONG = "1 MB of text " * 80_000


class _Named:
    binary = True

    def __init__(self, name: str) -> None:
        self.name = name


def first_of(seed: Run, count: int) -> Run:
    """The first cases of a run; none for 0."""
    items = seed.evidence[:count]
    metrics = [registry.metric(name) for name in seed.settings.metrics]
    return replace(
        seed,
        summaries=summaries_of(tuple(items)),
        evidence=tuple(items),
        aggregates=aggregate(summaries_of(items), metrics),
    )


def extreme_run(seed: Run) -> Run:
    """Names as long as they come, without a place to break them, and numbers of many digits."""
    items = []
    for number, item in enumerate(seed.evidence):
        long = f"{'extraordinarily' * 6}{number % 4}"
        case = replace(
            item.case,
            id=f"{number}{'x' * 90}",
            question=f"{'q' * 200} {long}",
            difficulty=long,
            database=long,
            tags=(long,),
        )
        times = (("answer", 123_456_789.1 * (number + 1)),)
        prediction = replace(
            item.prediction, case_id=case.id, timings_s=times, tokens=TokenUsage(input=10**12), cost_usd=12_345_678.9
        )
        cause = long if item.verdict.outcome == "incorrect" else None
        items.append(replace(item, case=case, prediction=prediction, cause=cause))
    metrics = [registry.metric(name) for name in seed.settings.metrics]
    numbers = aggregate(summaries_of(items), metrics)
    huge = Count(name="much" * 20, count=1_234_567_890, case_ids=(items[0].case.id,))
    numbers = replace(numbers, cases=1_234_567_890, correct=987_654_321, near_misses=(*numbers.near_misses, huge))
    gates = (
        GateResult(
            gate=f"min {'g' * 80}=0.5", passed=False, wanted="w" * 80, found="f" * 80, missed_by="1,234,567 points"
        ),
    )
    settings = replace(seed.settings, name="n" * 110)
    return replace(
        seed,
        summaries=summaries_of(tuple(items)),
        evidence=tuple(items),
        aggregates=numbers,
        settings=settings,
        gates=gates,
    )


def renamed(run: Run, name: str) -> Run:
    """The same run under another name."""
    return replace(run, settings=replace(run.settings, name=name))


def deciding_run(folder: Path) -> Run:
    """A system that answers, declines and asks back, not always where it should."""
    cases = [dict(case, expects="decline" if place % 3 == 2 else "answer") for place, case in enumerate(CASES)]
    answers = {
        case["id"]: None if place % 4 == 3 else "null" if place % 2 else ANSWERS[case["id"]]
        for place, case in enumerate(CASES)
    }
    return assay.evaluate(cases, answers, databases=shop(folder), workers=1, name="deciding").record


def hostile_run() -> Run:
    """A case for each attack, which stands wherever a text from outside can stand; and one of texts of 1 MB."""
    metrics = [_Named(text) for text in ("match", *ATTACKS) if text]
    items = [_hostile(text, text or "empty", metrics) for text in (*ATTACKS, LONG)]
    attack = ATTACKS[0]
    settings = RunSettings(
        cases=attack,
        predictions=ATTACKS[1],
        database=attack,
        name=ATTACKS[1] + ATTACKS[5],
        metrics=tuple(metric.name for metric in metrics),
        limits=Limits(),
    )
    provenance = Provenance(assay_version=attack, python_version=attack, platform=attack)
    return Run(
        settings=settings,
        provenance=provenance,
        summaries=summaries_of(tuple(items)),
        evidence=tuple(items),
        aggregates=aggregate(summaries_of(items), metrics),
    )


def _hostile(text: str, id_: str, metrics: Sequence[_Named]) -> Evidence:
    failure = Failure(stage="execute", kind="error", blame="system", message=text)
    ran = Execution(query=text, status="rows", row_count=2, columns=(text, text + "2"), wall_time_s=0.001)
    return Evidence(
        case=Case(
            id=id_,
            question=text or "?",
            database=text,
            golds=(text, text + " second"),
            difficulty=text,
            tags=(text,),
            context=text,
            name=text,
        ),
        prediction=Prediction(
            case_id=id_,
            query=text + "\n" + text,
            raw=text + "raw",
            explanation=text,
            tables_used=(text,),
            context_tables=(text,),
            context_columns=(text,),
        ),
        verdict=Verdict(outcome="incorrect", reason=text, failure=failure, gold_index=0),
        scores=tuple(Score(metric=metric.name, value=0.0, detail=text) for metric in metrics),
        comparison=Comparison(
            equal=False,
            column_mapping=(0, None),
            gold_row_count=2,
            predicted_row_count=2,
            matched_rows=0,
            missing_rows=2,
            extra_rows=2,
            aligned=(
                AlignedRow(state="missing", gold=(text, 1)),
                AlignedRow(state="extra", predicted=(text.upper(), text)),
            ),
            near_misses=(NearMiss(kind="scaled", detail=f"{text} nearly"),),
        ),
        gold_executions=(ran, ran),
        predicted_execution=Execution(query=text, status="error", failure=failure, wall_time_s=0.5),
        cause=text or None,
    )
