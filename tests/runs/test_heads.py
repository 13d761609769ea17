"""What a case that is not correct keeps of its results: the first rows, through the journal and into every report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay import Run, evaluate, load_run
from assay.registry import reporter
from assay.runs.store.codec import decode_evidence, encode_evidence

SCRIPT = """
CREATE TABLE t(a INTEGER, b TEXT, c BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
INSERT INTO t SELECT i, 'x' || i, CAST('y' || i AS BLOB) FROM n;
"""
CASES = {
    "right": ("SELECT a FROM t", "SELECT a FROM t ORDER BY a DESC"),
    "wrong": ("SELECT a, c FROM t", "SELECT c, a FROM t WHERE a > 7"),
    "order": ("SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a DESC"),
    "empty": ("SELECT a FROM t", "SELECT a FROM t WHERE a > 100"),
    "fails": ("SELECT b FROM t", "SELECT nothing FROM t"),
}


@pytest.fixture
def run(make_sqlite: Callable[..., Path], tmp_path: Path) -> Run:
    database = make_sqlite(SCRIPT, "data.sqlite")
    for name, column, place in (("cases", "gold_sql", 0), ("answers", "predicted_sql", 1)):
        lines = [json.dumps({"id": key, "question": key, column: pair[place]}) for key, pair in CASES.items()]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return evaluate(
        tmp_path / "cases.jsonl",
        tmp_path / "answers.jsonl",
        databases=f"sqlite:///{database}",
        metrics=["match"],
        workers=1,
        output=tmp_path / "run",
    )


def heads(run: Run) -> dict[str, list[tuple[tuple[object, ...], ...]]]:
    return {
        item.case.id: [
            execution.head for execution in (*item.gold_executions, item.predicted_execution) if execution is not None
        ]
        for item in run.evidence
    }


def test_cases_that_are_not_correct_keep_the_first_rows_as_they_came(run: Run, tmp_path: Path) -> None:
    found = heads(run)
    assert found["right"] == [(), ()]
    assert found["wrong"] == [
        tuple((number, f"y{number}".encode()) for number in range(1, 6)),
        ((b"y8", 8), (b"y9", 9)),
    ]
    assert found["order"] == [((1,), (2,), (3,), (4,), (5,)), ((9,), (8,), (7,), (6,), (5,))]
    assert found["empty"][1] == ()
    assert found["fails"] == [(("x1",), ("x2",), ("x3",), ("x4",), ("x5",)), ()]
    stored = load_run(tmp_path / "run")
    assert (heads(stored), stored.evidence) == (found, run.evidence)


def test_a_line_from_before_heads_were_kept_is_read(run: Run) -> None:
    item = next(item for item in run.evidence if item.case.id == "order")
    old = json.loads(encode_evidence(item))
    for execution in (*old["gold_executions"], old["predicted_execution"]):
        del execution["head"]
    read = decode_evidence(json.dumps(old).encode())
    assert read.verdict == item.verdict
    assert [execution.head for execution in read.gold_executions] == [()]


def test_the_reports_show_the_rows(run: Run) -> None:
    root = ElementTree.fromstring(reporter("junit").render(run.record))
    bodies = {str(case.get("name")): str(case[0].text) for case in root.iter("testcase") if len(case)}
    assert "Gold: first 5 rows\na\n-\n1\n2\n3\n4\n5\n… and 4 more rows\n" in bodies["order: order"]
    assert "Predicted: first 5 rows\na\n-\n9\n8\n7\n6\n5\n… and 4 more rows\n" in bodies["order: order"]
    assert "Gold: first 5 rows\nb\n" in bodies["fails: fails"]
    found = {case["case"]["id"]: case for case in json.loads(reporter("json").render(run.record))["cases"]}
    assert found["order"]["predicted_execution"]["head"] == [[9], [8], [7], [6], [5]]
    assert found["wrong"]["gold_executions"][0]["head"][0] == [1, {"type": "bytes", "hex": b"y1".hex()}]
    assert found["right"]["gold_executions"][0]["head"] == []
