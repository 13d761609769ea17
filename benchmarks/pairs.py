"""Decide some hundreds of labelled pairs of queries: which are refuted, which proved, and whether any is wrongly so.

    python benchmarks/pairs.py [--file pairs.txt] [--seconds 1] [--list]

The file has schemas, and pairs with the truth: ``eq`` the same answer on every database, ``ne`` not, ``tie`` a choice
of the engine decides. Prints Markdown: outcomes by truth, and how long they took; with ``--list`` every pair that is
equal and not proved, or different and not refuted. Ends with 1 if an outcome contradicts the truth.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import assay

_FILE = Path(__file__).with_name("pairs.txt")
_WRONG = frozenset({("eq", "refuted"), ("eq", "conditional"), ("ne", "proved"), ("ne", "bounded"), ("tie", "refuted")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A pair of queries and what is true of it."""

    title: str
    truth: str
    first: str
    second: str
    ddl: str
    engine: str


def read_pairs(text: str) -> Iterator[Labelled]:
    """The pairs of a file."""
    engine, ddl = "sqlite", ""
    for block in text.split("\n# "):
        head, _, schema = block.partition("## schema ")
        truth, _, rest = head.partition(" ")
        if truth in ("eq", "ne", "tie"):
            title, first, second = rest.strip().splitlines()
            yield Labelled(title=title, truth=truth, first=first, second=second, ddl=ddl, engine=engine)
        if schema:
            name, _, ddl = schema.partition("\n")
            engine = "duckdb" if name.endswith(" duckdb") else "sqlite"
            ddl = ddl.strip()


def main() -> None:
    """Decide and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=_FILE)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    seconds: dict[str, list[float]] = {}
    wrong, missed = [], []
    for pair in read_pairs(given.file.read_text(encoding="utf-8")):
        outcome = assay.refute(pair.first, pair.second, schema=pair.ddl, dialect=pair.engine, seconds=given.seconds)
        counts[pair.truth, outcome.kind] += 1
        seconds.setdefault(outcome.kind, []).append(outcome.seconds)
        if (pair.truth, outcome.kind) in _WRONG:
            wrong.append(f"- {pair.title}: {pair.truth}, and {outcome.kind}")
        if outcome.kind != {"eq": "proved", "ne": "refuted"}.get(pair.truth, outcome.kind):
            missed.append(f"- {pair.title}: {outcome.kind}, {outcome.not_proved or outcome.reason}")
    kinds = sorted({kind for _, kind in counts})
    print(f"| truth | pairs | {' | '.join(kinds)} |\n|---|---:|{'---:|' * len(kinds)}")
    for truth, told in (("eq", "the same"), ("ne", "different"), ("tie", "a choice of the engine")):
        row = [counts[truth, kind] for kind in kinds]
        print(f"| {told} | {sum(row)} | {' | '.join(map(str, row))} |")
    for kind, times in sorted(seconds.items()):
        print(f"\n{kind}: median {median(times) * 1000:.0f} ms")
    for line in [*wrong, *(missed if given.list else ())]:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
