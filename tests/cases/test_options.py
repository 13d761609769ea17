"""Options that a question set gives a case: read from objects and from cells, refused where they are unknown."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

import assay
from assay.errors import CaseFileError
from assay.model import CaseOptions, Leniency
from many_cases import each

LINE = {"id": "a", "question": "q", "gold_sql": "SELECT 'Ab'"}


def _database(folder: Path) -> str:
    path = folder / "empty.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE IF NOT EXISTS t (a)")
    connection.close()
    return f"sqlite:///{path.as_posix()}"


def _options(path: Path, text: str) -> CaseOptions:
    path.write_text(text, encoding="utf-8")
    run = assay.evaluate(
        str(path), {"a": "SELECT 'aB', 1"}, databases=_database(path.parent), workers=1, metrics=["match"]
    )
    [item] = run.evidence
    return item.case.options


@each(
    ("given", "wanted"),
    [
        (
            {"extra_columns": "allowed", "case": "IGNORED"},
            CaseOptions(leniency=Leniency(extra_columns="allowed", case="ignored")),
        ),
        (
            {"columns": "strict", "ordered": True, "tolerance": 1e-6},
            CaseOptions(columns="strict", ordered=True, leniency=Leniency(tolerance=1e-6)),
        ),
        ("duplicates: ignored; tolerance: 1e-6", CaseOptions(leniency=Leniency(duplicates="ignored", tolerance=1e-6))),
        ({}, CaseOptions()),
        (None, CaseOptions()),
        (["Porto", "Lisboa"], CaseOptions()),
    ],
)
def test_options_are_read_from_objects_and_texts(given: object, wanted: CaseOptions) -> None:
    from assay.cases.options import options_of

    assert options_of(given) == wanted


def test_a_cell_of_a_csv_file_and_a_line_of_json_say_the_same(tmp_path: Path) -> None:
    line = json.dumps({**LINE, "options": {"extra_columns": "allowed", "case": "ignored"}})
    cells = "id,question,gold_sql,options\na,q,SELECT 'Ab',extra_columns: allowed; case: ignored\n"
    assert _options(tmp_path / "a.jsonl", line + "\n") == _options(tmp_path / "a.csv", cells)


@each(
    ("options", "said"),
    [
        ({"extra_colums": "allowed"}, "did you mean 'extra_columns'"),
        ({"duplicates": "ignore"}, "write 'counted' or 'ignored'"),
        ({"tolerance": "much"}, ": give a number "),
        ({"tolerance": -1}, ": give a number "),
        ({"columns": "gold"}, "write 'any' or 'strict'"),
        ({"ordered": "maybe"}, "write true or false"),
        ("lenient", "write names and values"),
        (7, "write names and values"),
    ],
)
def test_an_option_that_there_is_not_is_refused_with_its_place(tmp_path: Path, options: object, said: str) -> None:
    with pytest.raises(CaseFileError) as raised:
        _options(tmp_path / "a.jsonl", json.dumps({**LINE, "options": options}) + "\n")
    assert said in str(raised.value)
    assert '"options"' in str(raised.value)


def test_a_case_that_declares_leniency_is_judged_by_it_and_a_case_comes_before_its_run(tmp_path: Path) -> None:
    shared = {"question": "q", "gold_sql": "SELECT 'Ab'"}
    cases = [
        {"id": "own", **shared, "options": {"case": "ignored"}},
        {"id": "strict", **shared, "options": {"extra_columns": "wrong"}},
        {"id": "run", **shared},
    ]
    answers = {"own": "SELECT 'aB', 1", "strict": "SELECT 'Ab', 1", "run": "SELECT 'Ab', 1"}
    run = assay.evaluate(
        cases,
        answers,
        databases=_database(tmp_path),
        workers=1,
        metrics=["match"],
        leniency=Leniency(extra_columns="allowed"),
    )
    assert {item.case.id: (item.outcome, "lenient" in item.verdict.flags) for item in run.evidence} == {
        "own": ("correct", True),
        "strict": ("incorrect", False),
        "run": ("correct", True),
    }
    text = run.summary()
    assert text.splitlines()[1] == "  lenient: extra columns allowed"
    assert "! 1 case declares a leniency of its own." in text
    assert "! 2 cases are right only by leniency: strictly, they would be wrong." in text
