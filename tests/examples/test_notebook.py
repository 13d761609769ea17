"""The notebook runs from its first cell to its last, and what it shows is what a notebook draws."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from typing import Any

import pytest
from plugged import EXAMPLES, environment

from assay import Comparison, Run, RunDiff, Verdict

NOTEBOOK = EXAMPLES / "first-look.ipynb"


def cells(kind: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def shown(source: str, names: dict[str, Any]) -> Any:
    """Execute a cell, and give the value of its last line, which a notebook draws."""
    body = ast.parse(source)
    last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
    exec(compile(body, NOTEBOOK.name, "exec"), names)
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names) if last is not None else None


def test_it_is_kept_without_outputs() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells("code"))
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert json.dumps(notebook, indent=1, ensure_ascii=False) + "\n" == NOTEBOOK.read_text(encoding="utf-8")


def test_its_cells_run_in_their_order_and_draw(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    names: dict[str, Any] = {"__name__": "__main__"}
    values = []
    try:
        for cell in cells("code"):
            values.append(shown("".join(cell["source"]), names))
    finally:
        shutil.rmtree(names["folder"])
    drawn = {type(value): value._repr_html_() for value in values if hasattr(value, "_repr_html_")}
    assert {Run, RunDiff, Verdict, Comparison} <= set(drawn)
    assert "first version" in drawn[Run]
    assert "Accuracy" in drawn[Run]
    assert "with repairs" in drawn[RunDiff]
    assert values[-1].outcome == "correct"
    assert names["one"].verdict.outcome == "incorrect"
    assert names["second"].aggregates.correct >= names["run"].aggregates.correct + len(names["repaired"])
    assert "duplicates only" in drawn[Comparison]
    for html in drawn.values():
        assert html.strip().startswith("<div")
        assert "<script" not in html
    fixes, outcomes, wrong = (value for value in values if hasattr(value, "columns"))
    assert list(fixes.columns) == ["cause", "answers won", "cases"]
    assert set(outcomes.columns) == {"correct", "incorrect", "unscored"}
    assert set(wrong["case_id"]) <= {item.case.id for item in names["run"].evidence}
    assert "DISTINCT" in capsys.readouterr().out


KERNEL = """
import sys, types
kernel = types.ModuleType("IPython")
kernel.get_ipython = lambda: types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"] = kernel
sys.modules["ipywidgets"] = None

from pathlib import Path

from assay import Case, FieldNames, demo, evaluate, load_run
from assay.cases.tables.formats import ParquetFormat

cases = [Case(id="a", question="How many?", golds=("SELECT COUNT(*) FROM customers",))]
evaluate(cases, {"a": "SELECT 1"}, databases=f"sqlite:///{demo.build_database(Path.cwd())}", output="run")
read = ParquetFormat().cases(Path("run/results.parquet"), FieldNames(gold="gold_sql"))
print(len(load_run("run").to_pandas()), len(list(read)))
"""


def test_a_kernel_without_widgets_is_enough(tmp_path: Any) -> None:
    """DuckDB looks for a notebook's kernel, and then for ipywidgets, whenever its progress bar is spoken of."""
    pytest.importorskip("pandas")
    done = subprocess.run(
        [sys.executable, "-c", KERNEL],  # without a file, as a notebook's own process
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "1"]
