"""Ask ragas itself, where an interpreter that has it is at hand; what it said of the kept cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from typing import Any

from tests.ragas import corpus

KEPT = Path(__file__).with_name("said_by_ragas.json")
PINNED = ["0.4.3", "0.18.1"]


class Oracle:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.versions: list[str] = self._line()

    def ask(self, case: dict[str, Any]) -> dict[str, Any]:
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        said = self._line()
        assert isinstance(said, dict)
        return said

    def _line(self) -> Any:
        line = self._process.stdout.readline()
        assert line, "the oracle ended: see its standard error"
        return json.loads(line)


def interpreter() -> str | None:
    """One that has ragas: of the environment variable ASSAY_RAGAS_PYTHON, else this one."""
    if named := os.environ.get("ASSAY_RAGAS_PYTHON"):
        return named
    try:
        return sys.executable if [version("ragas"), version("datacompy")] == PINNED else None
    except PackageNotFoundError:
        return None


@contextmanager
def opened(python: str) -> Iterator[Oracle]:
    script = Path(__file__).with_name("oracle.py")
    with subprocess.Popen(
        [python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        oracle = Oracle(process)
        assert oracle.versions[:2] == PINNED
        yield oracle
        process.stdin.close()


def kept() -> list[dict[str, Any]]:
    """The cases of the file, each with what ragas said of it under ``said``."""
    cases: list[dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8"))["cases"]
    return cases


def keep(count: int = 400, seed: int = 17) -> None:
    """Write the file anew: ``python -m tests.ragas.asked``."""
    chance = Random(seed)
    drawn = [(*corpus.pair(chance), corpus.options(chance)) for _ in range(count)]
    python = interpreter()
    assert python is not None, "no interpreter has ragas: set ASSAY_RAGAS_PYTHON"
    with opened(python) as oracle:
        cases = []
        for reference, response, options in drawn:
            case = {"reference": reference, "response": response, "options": options}
            cases.append(case | {"said": oracle.ask(case)})
        lines = ",\n".join(json.dumps(case) for case in cases)
        KEPT.write_text(f'{{"versions": {json.dumps(oracle.versions)}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    keep()
