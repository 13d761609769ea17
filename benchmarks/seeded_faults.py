"""How many of 100 seeded faults the tests find: the fast ones alone, and all.

    python benchmarks/seeded_faults.py FOLDER [--only N ...]

`seeded_faults.txt` names them: lines of comparison, scoring, statistics, stored runs, joining and extraction, each
with one change (a bound, a condition, a constant, what is returned). The fast tests run once in a copy that notes which
test reaches which fault. Then each fault is made in the copy, and the tests that reach it run until one fails: those of
its own package first. The slow tests do the same with the faults that are left. A fault that stops the tests or makes
them wait counts as found.

FOLDER keeps the copies, the notes and the results; a repeated command goes on where it ended. Exits with 1 if the fast
tests find fewer than 90 % of what all find, and with 2 if a line of the list is not in its file exactly once.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copy2
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_suffix(".txt")
SHARE = 0.9
FIRST = 80
"""How many tests are tried before the others: most faults are found by a few of their own package."""
LIMIT_S = 120
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
RECORDER = '''"""Notes which test reaches which fault."""

import os

_noted = set()


def reached(fault):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if test and (fault, test) not in _noted:
        _noted.add((fault, test))
        with open({file!r}, "a") as notes:
            notes.write(f"{{fault}}\\t{{test}}\\n")
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A line of a file, and what it becomes."""

    number: int
    file: str
    before: str
    after: str

    @property
    def package(self) -> str:
        """The package of the tests that are about its file, such as ``tests/stats``."""
        parts = Path(self.file).relative_to("src/assay").parts
        return f"tests/{parts[0]}"

    def line(self) -> int:
        """Where its line is, from 1. Raises ValueError unless it is there exactly once."""
        lines = (ROOT / self.file).read_text(encoding="utf-8").split("\n") if (ROOT / self.file).is_file() else []
        if lines.count(self.before) != 1:
            raise ValueError(
                f"fault {self.number}: {self.file} contains {lines.count(self.before)} times: {self.before}"
            )
        return lines.index(self.before) + 1


def read_faults() -> list[Fault]:
    """The faults of the list."""
    _, *blocks = LIST.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    parts = [block.split("\n") for block in blocks]
    return [
        Fault(number=number, file=file, before=before.removeprefix("-"), after=after.removeprefix("+"))
        for number, (file, before, after) in enumerate(parts, 1)
    ]


def make_copy(folder: Path) -> None:
    """Copy what is under version control, or would be."""
    listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            copy2(ROOT / name, folder / name)


def reaching_tests(copy: Path, faults: Sequence[Fault], mark: str) -> dict[int, set[str]]:
    """Which tests with such a mark reach each fault. Those that fail without any fault are left out."""
    folder = copy.parent / mark.replace(" ", "-")
    notes, failed = folder / "notes.tsv", folder / "failed.json"
    if not failed.is_file():
        folder.mkdir(exist_ok=True)
        notes.write_text("", encoding="utf-8")
        failed.write_text(json.dumps(_note_reaching_tests(copy, faults, notes, mark)), encoding="utf-8")
    flawed = set(json.loads(failed.read_text(encoding="utf-8")))
    reaching = defaultdict(set)
    for number, _, test in (line.partition("\t") for line in notes.read_text(encoding="utf-8").splitlines()):
        if test not in flawed:
            reaching[int(number)].add(test)
    return reaching


def _note_reaching_tests(copy: Path, faults: Sequence[Fault], notes: Path, mark: str) -> list[str]:
    """Run the tests with each fault's statement noted. Returns those that failed without any fault."""
    (copy / "src/assay/reached_faults.py").write_text(RECORDER.format(file=str(notes)), encoding="utf-8")
    of_file = defaultdict(list)
    for fault in faults:
        of_file[fault.file].append(fault)
    for file, of_this in of_file.items():
        lines = (copy / file).read_text(encoding="utf-8").split("\n")
        places = {fault.number: _statement(ast.parse("\n".join(lines)), lines, fault.line()) for fault in of_this}
        for number, place in sorted(places.items(), key=lambda entry: -entry[1]):
            indent = lines[place - 1][: -len(lines[place - 1].lstrip())]
            call = f'__import__("assay.reached_faults").reached_faults.reached({number})'
            lines.insert(place - 1, indent + call)
        (copy / file).write_text("\n".join(lines), encoding="utf-8")
    results = notes.with_name("tests.log")
    with results.open("w") as log:
        run((*PYTEST, "-rfE", "-m", mark), copy, stdout=log)
    for file in of_file:
        copy2(_original(copy, file), copy / file)
    failed = [
        line for line in results.read_text(errors="replace").split("\n") if line.startswith(("FAILED ", "ERROR "))
    ]
    return [line.partition(" ")[2].partition(" - ")[0] for line in failed]


def _statement(tree: ast.Module, lines: Sequence[str], line: int) -> int:
    """The first line of the innermost statement that contains this line and can have another before it."""
    starts = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
        and not lines[node.lineno - 1].lstrip().startswith(("elif ", "@"))
    ]
    return max(starts)


def run(command: Sequence[str], copy: Path, *, stdout: IO[str] | int = subprocess.DEVNULL) -> int:
    """Run a command in the copy, with its Assay. Returns the exit status."""
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    return subprocess.run(command, cwd=copy, env=environment, stdout=stdout, stderr=stdout, check=False).returncode


def is_found(fault: Fault, tests: Iterable[str], copy: Path, mark: str) -> bool:
    """Whether one of these tests with such a mark fails in the copy with the fault."""
    mixed = sorted(tests)
    random.Random(fault.number).shuffle(mixed)
    mixed.sort(
        key=lambda test: not test.startswith((fault.package, "tests/slow" + fault.package.removeprefix("tests")))
    )
    source = _original(copy, fault.file).read_text(encoding="utf-8")
    (copy / fault.file).write_text(source.replace(fault.before + "\n", fault.after + "\n"), encoding="utf-8")
    try:
        for part in (mixed[:FIRST], mixed[FIRST:]):
            chosen = copy.parent / f"{copy.name}-tests.txt"
            chosen.write_text("\n".join(part), encoding="utf-8")
            options = ("-x", "-n", "0", "-p", "no:randomly", "--timeout", str(LIMIT_S), "-m", mark, f"@{chosen}")
            if part and run((*PYTEST, *options), copy) not in (0, 5):  # 5: none of them has the mark
                return True
        return False
    finally:
        copy2(_original(copy, fault.file), copy / fault.file)


def _original(copy: Path, file: str) -> Path:
    """A file as it was when the copy was made: the repository may have changed meanwhile."""
    return copy.with_name("original") / file


def main() -> int:
    """Print which faults are found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="these faults of the list")
    options = parser.parse_args()
    faults = read_faults()
    try:
        for fault in faults:
            fault.line()
    except ValueError as stale:
        print(stale, file=sys.stderr)
        return 2
    folder: Path = options.folder.resolve()
    copy, results = folder / "copy", folder / "results.json"
    if not (folder / "original").is_dir():
        for name in ("copy", "original"):
            make_copy(folder / name)
    chosen = [fault for fault in faults if not options.only or fault.number in options.only]
    outcomes: dict[str, str] = json.loads(results.read_text()) if results.is_file() else {}
    for by, mark, before in (("fast", "not slow", None), ("slow", "slow", "not fast")):
        left = [fault for fault in chosen if outcomes.get(str(fault.number)) == before]
        reaching = reaching_tests(copy, faults, mark) if left else {}
        for fault in left:
            tests = reaching.get(fault.number, set())
            outcome = outcomes[str(fault.number)] = by if is_found(fault, tests, copy, mark) else f"not {by}"
            results.write_text(json.dumps(outcomes), encoding="utf-8")
            print(f"{fault.number:>4} {outcome:<10} {len(tests):>5} tests  {fault.file}", flush=True)
    fast = sum(by == "fast" for by in outcomes.values())
    both = fast + sum(by == "slow" for by in outcomes.values())
    print(f"of {len(outcomes)} faults, all tests find {both}, the fast ones {fast}")
    return int(fast < SHARE * both)


if __name__ == "__main__":
    sys.exit(main())
