"""Lint spider-dev: how many findings by rule, how long, and a random draw of them to be read one by one.

    python benchmarks/lint.py FOLDER [--draw 60] [--seed 19]

FOLDER is spider-dev with ``dev.jsonl`` and ``database/<db_id>/<db_id>.sqlite``. Prints Markdown: the counts, the
seconds (CPU seconds of all processes: those do not depend on how busy the machine is), and the drawn findings.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from pathlib import Path

import assay


def main() -> None:
    """Lint and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draw", type=int, default=60)
    parser.add_argument("--seed", type=int, default=19)
    given = parser.parse_args()
    started, before = time.monotonic(), sum(os.times()[:4])
    url = f"sqlite:///{given.folder}/database/{{db_id}}/{{db_id}}.sqlite"
    report = assay.lint(given.folder / "dev.jsonl", databases=url)
    elapsed, spent = time.monotonic() - started, sum(os.times()[:4]) - before
    print(f"{report.golds:,} golds, {len(report.findings)} findings: {elapsed:.1f} s, {spent:.1f} CPU seconds\n")
    print("| rule | findings |\n|---|---:|")
    for rule, count in report.counts().items():
        print(f"| {rule} | {count} |")
    drawn = random.Random(given.seed).sample(report.findings, min(given.draw, len(report.findings)))
    print("\n| case | rule | evidence | question | gold |\n|---|---|---|---|---|")
    order = {finding: place for place, finding in enumerate(report.findings)}
    for one in sorted(drawn, key=lambda finding: order[finding]):
        cells = [one.case_id, one.rule, one.evidence, one.question, " ".join(one.query.split())]
        print("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")


if __name__ == "__main__":
    main()
