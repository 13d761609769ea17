"""How many wrong golds a reviewer finds among the first cases of a queue: errors planted in the golds of spider-dev.

    python benchmarks/review_queue.py SPIDER [--seeds N] [--system NAME]

SPIDER holds ``dev.jsonl``, ``predictions/*.jsonl`` of several systems and ``database/{db_id}/{db_id}.sqlite``. For each
seed an error that changes the result is planted in every tenth gold query, all systems are evaluated, and the run of
one of them is queued in several orders. Prints the mean number of planted errors among the first cases, with the least
and the most of the seeds. The table in docs/background/measured/review-queue.md is its output. Exits with 1 if the
queue with all systems has fewer than 70 % of the planted errors among its first 100 cases, on average.

The golds have errors of their own, which count as dull cases here: of 15 cases in which eight or nine systems share
another result without any planting, one person found 11 whose gold is wrong or whose question is ambiguous.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from planted_errors import planted

import assay
from assay.comparison.result_hash import result_hash
from assay.engines.sqlite.engine import SqliteEngine
from assay.model import DatabaseUrl, Execution, Limits, Run
from assay.runs.reviews.queue import review_queue
from assay.runs.reviews.signals import Signals

BOUND = 0.7
SHARE = 0.1
FIRST = (25, 50, 100, 200)
OTHERS = (0, 1, 2, 4, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planting:
    """Runs of all systems on a question set with planted errors, the run to review first."""

    runs: Sequence[Run]
    wrong: frozenset[str]
    """The ids of the cases with a planted error."""


def planting(folder: Path, seed: int, system: str) -> Planting:
    """Plant errors and evaluate all systems."""
    cases = [json.loads(line) for line in (folder / "dev.jsonl").read_text().splitlines()]
    template = f"sqlite:///{folder.absolute()}/database/{{db_id}}/{{db_id}}.sqlite"
    chance = random.Random(seed)
    engines: dict[str, SqliteEngine] = {}
    wrong: set[str] = set()
    for case in chance.sample(cases, len(cases)):
        if len(wrong) == round(SHARE * len(cases)):
            break
        name = case["db_id"]
        if name not in engines:
            url = DatabaseUrl.parse(template.replace("{db_id}", name))
            engines[name] = SqliteEngine.open(url, Limits(timeout_s=5.0))
        errors = list(planted(case["gold_sql"], engines[name].schema(with_values=False), seed=seed))
        before = _hash(engines[name].execute(case["gold_sql"]))
        for error in chance.sample(errors, len(errors)):
            if _hash(engines[name].execute(error.query)) not in (None, before):
                case["gold_sql"] = error.query
                wrong.add(str(case["id"]))
                break
    for engine in engines.values():
        engine.close()
    files = sorted((folder / "predictions").glob("*.jsonl"), key=lambda path: (path.stem != system, path.stem))
    with tempfile.TemporaryDirectory() as scratch:
        questions = Path(scratch) / "dev.jsonl"
        questions.write_text("".join(json.dumps(case) + "\n" for case in cases))
        runs = [
            assay.evaluate(questions, file, databases=template, name=file.stem, lint=file is files[0]).record
            for file in files
        ]
    return Planting(runs=runs, wrong=frozenset(wrong))


def _hash(execution: Execution) -> str | None:
    return None if execution.result is None else result_hash(execution.result, ordered=False)


def orders(runs: Sequence[Run], seed: int) -> Iterator[tuple[str, list[str]]]:
    """Names of orders, and the cases' ids in that order. Ties are in no particular order."""
    run, *others = runs
    shuffled = list(run.summaries)
    random.Random(f"order {seed}").shuffle(shuffled)
    yield "at random", [case.case_id for case in shuffled]
    lint = run.lint
    assert lint is not None
    severities = {"error": lint.doubtful("error"), "warning": lint.doubtful("warning")}
    by_lint = sorted(shuffled, key=lambda case: [case.case_id not in ids for ids in severities.values()])
    yield "gold queries with lint errors, then warnings", [case.case_id for case in by_lint]
    by_strength = sorted(shuffled, key=lambda case: (case.outcome != "correct", not case.flags))
    yield "matches with a flag (vacuous, ambiguous gold)", [case.case_id for case in by_strength]
    values = {case.case_id: {score.value for score in case.scores if score.value in (0.0, 1.0)} for case in shuffled}
    yield (
        "cases on which metrics disagree",
        [case.case_id for case in sorted(shuffled, key=lambda case: len(values[case.case_id]) < 2)],
    )
    yield "incorrect answers", [case.case_id for case in sorted(shuffled, key=lambda case: case.outcome != "incorrect")]
    signals = Signals(run, others, {})
    votes = {case.case_id: signals.votes(case) for case in shuffled}
    shared = sorted(shuffled, key=lambda case: -votes[case.case_id].shared)
    yield f"number of {len(runs)} systems that share another result", [case.case_id for case in shared]
    for count in OTHERS:
        if count <= len(others):
            queue = review_queue(run, others=random.Random(f"others {seed}").sample(others, count))
            yield f"`review_queue` with {count} other system{'s' * (count != 1)}", [case.case_id for case in queue]


def main() -> int:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spider", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--system", default="din-sql-gpt4", help="whose run is reviewed")
    asked = parser.parse_args()
    found: dict[str, list[list[int]]] = {}
    shares: list[float] = []
    for seed in range(1, asked.seeds + 1):
        made = planting(asked.spider, seed, asked.system)
        for name, ids in orders(made.runs, seed):
            counts = [sum(case_id in made.wrong for case_id in ids[:first]) for first in FIRST]
            found.setdefault(name, []).append(counts)
        shares.append(counts[FIRST.index(100)] / len(made.wrong))
    print(f"| order | {' | '.join(f'first {first}' for first in FIRST)} |")
    print("|---" + "|---:" * len(FIRST) + "|")
    for name, rows in found.items():
        cells = (f"{statistics.fmean(of):.0f} ({min(of)}–{max(of)})" for of in zip(*rows, strict=True))
        print(f"| {name} | {' | '.join(cells)} |")
    return int(statistics.fmean(shares) < BOUND)


if __name__ == "__main__":
    sys.exit(main())
