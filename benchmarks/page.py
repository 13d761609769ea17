"""What the HTML report of a large run weighs, and how fast it is in a browser.

    python benchmarks/page.py [--cases N] [--rounds N] [--keep FILE]

Draws a made-up run of 10,000 cases, no two with the same question, queries or results, and opens its page in Chromium
(`pip install -e '.[dev]'`, and `chromium` on the path). Measured in the page itself, the median of the rounds: when its
first screen is painted, and how long the table takes, from the event to a finished layout, to filter and to search the
whole text of all cases. Exits with 1 where a bound is missed: 15 MB, 1.5 s, 0.1 s.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from assay import registry
from assay.model import (
    AlignedRow,
    Case,
    Comparison,
    Evidence,
    Execution,
    Limits,
    NearMiss,
    Prediction,
    Provenance,
    Run,
    RunSettings,
    Score,
    Verdict,
)
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate

BYTES, PAINT_MS, ANSWER_MS = 15_000_000, 1500.0, 100.0
METRICS = ("match", "non_empty_match", "bird_ex", "bird_soft_f1", "spider_ex", "same_row_count")
NOUNS = "client order supplier invoice product shipment branch employee contract payment region campaign".split()  # noqa: SIM905
COLUMNS = "name city country total amount price status category year quarter rating discount weight created".split()  # noqa: SIM905
NAMES = "Ada Bo Chen Dara Elif Femi Goran Hana Ivo Jun Kofi Lena Mira Nils Olga Petra Quim Rosa Sven Tariq".split()  # noqa: SIM905
ACTIONS = {
    "a filter by verdict": "document.querySelector('[data-state=incorrect]').click()",
    "a filter by database": "choose('[data-facet=database]', 3)",
    "a metric to show": "choose('#cases-metric', 4)",
    "a filter by its range": "type('#cases-low', '0.3')",
    "a search for one word": "type('#cases-search', 'invoice')",
    "a search for four": "type('#cases-search', 'invoice country 2019 join')",
    "a search for nothing there": "type('#cases-search', 'qqqqqq')",
    "an order": "choose('#cases-sort', 1)",
}
UNFILTERED = ("a metric to show", "an order")
HELPERS = """
    const tell = (node, name) => node.dispatchEvent(new Event(name, {bubbles: true}));
    const find = (query) => document.querySelector(query);
    const choose = (query, at) => { find(query).selectedIndex = at; tell(find(query), 'change'); };
    const type = (query, text) => { find(query).value = text; tell(find(query), 'input'); };
    const answered = () => new Promise((done) => setTimeout(done, 0));
"""


def made_up(number: int, source: random.Random) -> Evidence:
    """One case of the made-up run, like those of the benchmarks in length and in how often it is wrong."""
    one, two = source.sample(NOUNS, 2)
    first, second, third = source.sample(COLUMNS, 3)
    year, limit = source.randint(1990, 2026), source.randint(2, 900)
    gold = (
        f"SELECT T1.{first}, COUNT(DISTINCT T2.{second}) AS {second}_count FROM {one} AS T1 JOIN {two} AS T2 "
        f"ON T1.id = T2.{one}_id WHERE T2.year >= {year} AND T1.{third} > {limit}.{number} "
        f"GROUP BY T1.{first} HAVING COUNT(*) > {source.randint(1, 40)} ORDER BY 2 DESC LIMIT {source.randint(1, 50)}"
    )
    right = source.random() < 0.68
    predicted = gold.replace("DISTINCT ", "").replace(f"T1.{first}", f"T1.{second}") if not right else gold.lower()
    rows = [(f"{source.choice(NAMES)} {source.choice(NAMES)}", source.randint(0, 99_999)) for _ in range(8)]
    matched = tuple(AlignedRow(state="matched", gold=row, predicted=row) for row in (rows if right else rows[:3]))
    wrong = () if right else tuple(AlignedRow(state="missing", gold=row) for row in rows[3:6])
    wrong += () if right else tuple(AlignedRow(state="extra", predicted=(row[0], row[1] + 1)) for row in rows[3:6])
    misses = ("superset_columns", "extra_rows", "order_only", "scaled", "rounding_only")
    missed = (
        [] if right or source.random() < 0.5 else [NearMiss(kind=source.choice(misses), detail=f"{limit} of {year}")]
    )
    value, soft = float(right), 1.0 if right else round(source.random(), 4)
    columns = (first, f"{second}_count")
    return Evidence(
        case=Case(
            id=f"q-{number:05}",
            question=f"For each {first} of the {one}s, how many {second}s do {two}s have since {year}, "
            f"where {third} is over {limit}.{number}, most first?",
            database=f"{one}_{source.randint(1, 3)}",
            golds=(gold,),
            difficulty=source.choice(("easy", "medium", "hard", "extra")),
            tags=(source.choice(("join", "aggregation", "filter")), source.choice(("2024", "2025"))),
            context=f"{second}_count refers to {two}.{second}" if source.random() < 0.5 else None,
        ),
        prediction=Prediction(
            case_id=f"q-{number:05}",
            query=predicted,
            raw=f"Here is the query:\n```sql\n{predicted}\n```",
            timings_s=(("llm_time", source.uniform(0.4, 9)), ("total_execution_time", source.uniform(0.5, 10))),
        ),
        verdict=Verdict(
            outcome="correct" if right else "incorrect",
            reason="The answer is gold's."
            if right
            else f"{limit} of gold's {limit + 40} rows are missing and 3 are not gold's.",
            gold_index=0,
        ),
        scores=tuple(Score(metric=metric, value=soft if metric == "bird_soft_f1" else value) for metric in METRICS),
        comparison=Comparison(
            equal=right,
            column_mapping=(0, 1),
            gold_row_count=limit + 40,
            predicted_row_count=limit + 3,
            matched_rows=len(matched),
            missing_rows=0 if right else limit,
            extra_rows=0 if right else 3,
            aligned=matched + wrong,
            near_misses=tuple(missed),
        ),
        gold_executions=(_ran(gold, limit + 40, columns, source),),
        predicted_execution=_ran(predicted, limit + 3, columns, source),
    )


def _ran(query: str, rows: int, columns: tuple[str, ...], source: random.Random) -> Execution:
    time_s = source.uniform(0.0001, 0.2)
    return Execution(query=query, status="rows", row_count=rows, columns=columns, wall_time_s=time_s)


def made_up_run(cases: int) -> Run:
    """The same run every time."""
    source = random.Random(8)
    evidence = tuple(made_up(number, source) for number in range(cases))
    settings = RunSettings(cases="made up", predictions="made up", database="", metrics=METRICS, limits=Limits())
    provenance = Provenance(assay_version="", python_version="", platform="")
    numbers = aggregate(summaries_of(evidence), [registry.metric(name) for name in METRICS])
    return Run(
        settings=settings,
        provenance=provenance,
        summaries=summaries_of(evidence),
        evidence=evidence,
        aggregates=numbers,
    )


def measured(path: Path, rounds: int) -> dict[str, float]:
    """Milliseconds by what was done, the median of the rounds, each in a window of its own."""
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("no chromium, chromium-browser or google-chrome is on the path: install one")
    found: dict[str, list[float]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(rounds):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            for name, taken in _one_round(page, path).items():
                found.setdefault(name, []).append(taken)
            page.close()
        browser.close()
    return {name: statistics.median(taken) for name, taken in found.items()}


def _one_round(page: Any, path: Path) -> dict[str, float]:
    page.goto(path.as_uri() + "#tab=cases")
    page.wait_for_selector("html[data-searchable=all]", state="attached")
    painted = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    taken = {"the first screen painted": page.evaluate(f"() => {painted}")}
    for name, action in ACTIONS.items():
        # Typing is answered after the event; the task that is queued here comes after that answer.
        taken[name] = page.evaluate(
            f"async () => {{ {HELPERS} const started = performance.now(); {action}; await answered();"
            " document.body.getBoundingClientRect(); return performance.now() - started; }"
        )
        if name not in UNFILTERED and " of " not in page.inner_text("#cases-shown"):
            raise SystemExit(f"{name} was not answered: {page.inner_text('#cases-shown')}")
        if name != "a metric to show":
            page.evaluate(f"async () => {{ {HELPERS} find('#cases-clear').click(); choose('#cases-sort', 0); }}")
    return taken


def main() -> int:
    """Draw the page, look at it, and hold it to its bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the page there, to look at it")
    options = parser.parse_args()
    run = made_up_run(options.cases)
    started = time.perf_counter()
    content = registry.reporter("html").render(run)
    drawn_s = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        path = (options.keep or Path(folder) / "page.html").resolve()
        path.write_bytes(content)
        found = measured(path, options.rounds)
    print(f"{options.cases:,} cases, drawn in {drawn_s:.1f} s")
    lines = [("the file", len(content) / 1e6, BYTES / 1e6, "MB")]
    lines += [(name, taken, PAINT_MS if "painted" in name else ANSWER_MS, "ms") for name, taken in found.items()]
    for name, value, bound, unit in lines:
        print(f"{name:28}{value:9.1f} {unit}   bound {bound:6,.0f}   {'ok' if value < bound else 'MISSED'}")
    return int(any(value >= bound for _, value, bound, _ in lines))


if __name__ == "__main__":
    sys.exit(main())
