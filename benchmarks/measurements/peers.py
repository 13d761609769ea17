"""Against others, each in an environment of its own: what it takes beside what they take for the same work.

``--peer llmsql=PYTHON``: an interpreter that has the package llmsql. ``--peer datacompy=here``: datacompy and pandas
are installed beside Assay. ``--peer spider=COMMAND``, ``--peer bird=COMMAND``: the benchmark's own script as its user
runs it, with {gold} and {predictions} where it wants files with a query (and a database) in each line, {json} where it
wants BIRD's JSON, and {databases} for the folder.
"""

from __future__ import annotations

import io
import json
import logging
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import llmsql, tables
from benchmarks.frame import NotHere, Setup, assay, seconds
from benchmarks.measurements.spider import command_of, files_of, folder_of, inputs_of


def _peer(setup: Setup, name: str, what: str) -> str:
    if name not in setup.peers:
        raise NotHere(f"--peer {name}={what}")
    return setup.peers[name]


def against_llmsql(setup: Setup) -> dict[str, float]:
    """16,000 questions over 5,000 tables, each side a new process; the reports must agree."""
    python = _peer(setup, "llmsql", "PYTHON: an interpreter that has the package llmsql")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = llmsql.make_benchmark(folder, questions=16_000, tables=5_000)
        ours, theirs = folder / "ours.json", folder / "theirs.json"
        measured = []
        for _ in range(setup.rounds):
            other = llmsql.timed(python, llmsql.PACKAGE, paths, theirs)
            measured.append((other, llmsql.timed(sys.executable, llmsql.OURS, paths, ours)))
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in (ours, theirs)]
    cpu, wall = llmsql.ratios(measured)
    return {"llmsql.cpu": cpu, "llmsql.ratio": wall, "llmsql.differ": len(llmsql.differences(*reports))}


def against_datacompy(setup: Setup) -> dict[str, float]:
    """100,000 x 8 by position, from CSV texts and from frames; both must find the same six numbers."""
    _peer(setup, "datacompy", "here: the packages datacompy and pandas beside Assay")
    try:
        import datacompy  # noqa: F401 - only whether it is there
        import pandas
    except ImportError as error:
        raise NotHere(f"{error}: python -m pip install datacompy pandas") from error
    logging.disable()
    chance = random.Random(2)
    texts = [tables.text_of(100_000, chance, wrong=wrong) for wrong in (0.0, 0.01)]
    frames = [pandas.read_csv(io.StringIO(text)) for text in texts]

    def read() -> list[object]:
        return [pandas.read_csv(io.StringIO(text)) for text in texts]

    pairs = {
        "datacompy.texts": (lambda: tables.ours(*texts), lambda: tables.theirs(*read(), on_index=True)),
        "datacompy.frames": (
            lambda: tables.ours(*frames),
            lambda: tables.theirs(frames[0].copy(), frames[1].copy(), on_index=True),
        ),
    }
    return {name: tables.median_ratio(ours, theirs, setup.rounds)[0] for name, (ours, theirs) in pairs.items()}


def _against_script(setup: Setup, name: str) -> dict[str, float]:
    command = _peer(setup, name, "COMMAND with {gold}, {predictions}, {json}, {databases}: the benchmark's own script")
    inputs, _ = inputs_of(setup)
    ours = command_of(setup, *files_of(setup))
    with tempfile.TemporaryDirectory() as folder:
        gold, predictions, as_json = (Path(folder) / file for file in ("gold.sql", "predicted.sql", "predicted.json"))
        pairs = list(zip(inputs.cases, inputs.predictions, strict=True))
        gold.write_text("".join(f"{_line(case.golds[0])}\t{case.database}\n" for case, _ in pairs), encoding="utf-8")
        answers = [_line(answer.query or "SELECT 1") for _, answer in pairs]
        predictions.write_text("".join(f"{answer}\n" for answer in answers), encoding="utf-8")
        numbered = {
            str(number): f"{answer}\t----- bird -----\t{case.database}"
            for number, (answer, (case, _)) in enumerate(zip(answers, pairs, strict=True))
        }
        as_json.write_text(json.dumps(numbered), encoding="utf-8")
        places = {"gold": gold, "predictions": predictions, "json": as_json, "databases": folder_of(setup) / "database"}
        filled = shlex.split(command.format(**{place: shlex.quote(str(path)) for place, path in places.items()}))
        measured = []
        for number in range(setup.rounds):
            other_s = seconds(lambda: subprocess.run(filled, check=True, stdout=subprocess.DEVNULL))
            measured.append(assay(*ours, "-o", Path(folder) / f"run{number}").wall_s / other_s)
    return {f"{name}.script": statistics.median(measured)}


def _line(query: str) -> str:
    return " ".join(query.split())


def against_spider(setup: Setup) -> dict[str, float]:
    """Spider's own script on its development set, against `assay run` with every metric."""
    return _against_script(setup, "spider")


def against_bird(setup: Setup) -> dict[str, float]:
    """BIRD's own script on the same set."""
    return _against_script(setup, "bird")
