"""The benchmarks' frame: every line is measured by something, and the page is made from what was measured."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("benchmarks.registry")


def test_names_are_unique_and_lines_are_their_measurements(registry: Any) -> None:
    names = [line.name for one in registry.MEASUREMENTS for line in one.lines]
    assert len(set(names)) == len(names)
    titles = [one.name for one in registry.MEASUREMENTS]
    assert len(set(titles)) == len(titles)


def test_each_measurement_is_made_by_a_function_that_is_there(registry: Any) -> None:
    for one in registry.MEASUREMENTS:
        module, _, name = one.run.args[0].partition(":")
        assert callable(getattr(import_module(f"benchmarks.measurements.{module}"), name)), one.name


@pytest.fixture
def spider(tmp_path: Path) -> Path:
    """A folder in the shape of Spider's development set, with a few questions."""
    for name in ("one", "two"):
        place = tmp_path / "database" / name / f"{name}.sqlite"
        place.parent.mkdir(parents=True)
        with closing(sqlite3.connect(place)) as connection:
            connection.executescript("CREATE TABLE t(id INTEGER, name TEXT); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    (tmp_path / "predictions").mkdir()
    cases, answers = [], []
    for number in range(12):
        gold = f"SELECT name FROM t WHERE id > {number % 3}"
        case = {"id": number, "db_id": ("one", "two")[number % 2], "question": "Which?", "gold_sql": gold}
        cases.append(json.dumps(case))
        answers.append(json.dumps({"id": number, "predicted_sql": gold.replace("name", ("name", "id")[number % 2])}))
    (tmp_path / "dev.jsonl").write_text("\n".join(cases))
    (tmp_path / "predictions" / "din-sql-gpt4.jsonl").write_text("\n".join(answers))
    return tmp_path


@pytest.mark.parametrize("name", ["spider", "counted"])
def test_what_is_measured_on_spiders_set_runs(registry: Any, spider: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", name, "--here", "--rounds", "1", "--spider", str(spider)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    (measured,) = [one for one in registry.MEASUREMENTS if one.name == name]
    assert set(json.loads(done.stdout)) == {line.name for line in measured.lines}


def test_the_page_is_what_was_measured(registry: Any) -> None:
    writer, frame = import_module("benchmarks.page_writer"), import_module("benchmarks.frame")
    figures = frame.kept_figures()
    known = {line.name for one in registry.MEASUREMENTS for line in one.lines}
    assert set(figures) <= known, "figures of lines that are gone"
    assert writer.PAGE.read_text(encoding="utf-8") == writer.page(figures), "python -m benchmarks --page writes it"


def test_a_measurement_without_what_it_needs_says_so_and_changes_nothing(registry: Any) -> None:
    before = import_module("benchmarks.frame").RESULTS.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "spider", "llmsql"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("not measured") == 2
    assert import_module("benchmarks.frame").RESULTS.read_bytes() == before


def test_an_unknown_name_is_told(registry: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "spidr"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "nothing is called spidr" in done.stderr


@pytest.mark.parametrize(("value", "bound", "good"), [(2.0, 3.0, True), (3.0, 3.0, True), (3.1, 3.0, False)])
def test_a_bound_is_the_most_that_is_right(registry: Any, value: float, bound: float, good: bool) -> None:
    frame, writer = import_module("benchmarks.frame"), import_module("benchmarks.page_writer")
    line = frame.Line(name="x", what="x", unit="times", bound=bound)
    figure = frame.Figure(value=value, date="", machine="")
    assert writer.holds(line, figure) is good
    assert writer.holds(frame.Line(name="x", what="x", unit="times"), figure)
