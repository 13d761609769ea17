"""Nested columns by path, files that hold both sides, texts that are not UTF-8, and what nests without end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from assay.api.inputs import FileOptions, read_inputs
from assay.cases import load_cases, load_predictions
from assay.errors import CaseFileError, InputError
from assay.model import FieldNames
from many_cases import each

ROWS = [
    {
        "id": f"q{place}",
        "question": f"how many {place}?",
        "sql": f"SELECT {place}",
        "predictions": {"pipe.A": {"sql": f"SELECT 'A{place}'"}, "runs": [{"sql": "SELECT 'r'"}], "pipeB": f"B{place}"},
    }
    for place in range(3)
]


def rows_in(path: Path, rows: Any = ROWS) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@each(
    ("path", "expected"),
    [
        ("predictions.pipeB", "B1"),
        ("predictions.pipe.A.sql", "SELECT 'A1'"),
        ('predictions["pipe.A"].sql', "SELECT 'A1'"),
        ("predictions.runs[0].sql", "SELECT 'r'"),
        ("predictions.runs.0.sql", "SELECT 'r'"),
    ],
)
def test_a_column_by_path(tmp_path: Path, path: str, expected: str) -> None:
    options = FileOptions(prediction_fields=FieldNames(prediction=path))
    inputs = read_inputs(rows_in(tmp_path / "all.jsonl"), None, options, allow_unmatched=False)
    assert inputs.predictions[1].query == expected
    assert inputs.joining is not None
    assert inputs.joining.by == "row"


def test_a_path_that_reads_in_two_ways_and_one_that_leads_nowhere(tmp_path: Path, formats: Any) -> None:
    path = rows_in(tmp_path / "p.jsonl", [{"id": 1, "a": {"b.c": "SELECT 1", "b": {"c": "SELECT 2"}}}])
    with pytest.raises(CaseFileError, match="reads in more than one way"):
        load_predictions(path, formats=formats, fields=FieldNames(prediction="a.b.c"))
    quoted = load_predictions(path, formats=formats, fields=FieldNames(prediction='a["b.c"]'))
    assert quoted.predictions[0].query == "SELECT 1"
    with pytest.raises(CaseFileError, match=r'did you mean "a\.b\.c"|did you mean "a\["b\.c"\]"'):
        load_predictions(path, formats=formats, fields=FieldNames(prediction="a.b.d"))


@pytest.mark.parametrize("again", ["the same path", "a link", "a copy"])
def test_a_question_file_is_never_its_own_prediction(tmp_path: Path, again: str) -> None:
    cases = rows_in(tmp_path / "c.jsonl", [{key: row[key] for key in ("id", "question", "sql")} for row in ROWS])
    other = cases if again == "the same path" else tmp_path / "p.jsonl"
    if again == "a link":
        other.symlink_to(cases)
    elif again == "a copy":
        other.write_bytes(cases.read_bytes())
    with pytest.raises(InputError, match=r'the column "sql" has the gold queries of the question set'):
        read_inputs(cases, other, FileOptions(), allow_unmatched=True)


def test_gold_beside_nested_predictions_needs_the_path(tmp_path: Path) -> None:
    path = rows_in(tmp_path / "all.jsonl")
    for predictions in (path, None, rows_in(tmp_path / "copy.jsonl", [*ROWS, {**ROWS[0], "id": "q9"}])):
        with pytest.raises(
            InputError, match=r'"sql" may contain the gold queries, and "predictions" contains queries, too'
        ):
            read_inputs(path, predictions, FileOptions(), allow_unmatched=True)


def test_the_elements_of_a_list_are_not_named_as_columns(tmp_path: Path, formats: Any) -> None:
    rows = [{"ask": "a?", "tags": ["x", "y"], "runs": [{"sql": "SELECT 1"}], "m": {"t": ["x"], "q": "SELECT 1"}}]
    for fields in (FieldNames(), FieldNames(gold="gld"), FieldNames(question="ask", prediction="p")):
        for load in (load_cases, load_predictions):
            with pytest.raises(CaseFileError) as raised:
                load(rows_in(tmp_path / "c.jsonl", rows), formats=formats, fields=fields)
            assert '"tags"' in str(raised.value)
            assert '"runs[0].sql", "m.q"' in str(raised.value)
            assert "tags[0]" not in str(raised.value)
            assert "m.t[0]" not in str(raised.value)


@each("name", ["model_output", "ai_sql", "gpt-4.1", "outputs", "attempt"])
@each("nested", [False, True])
def test_queries_in_any_other_column_are_not_passed_over_for_what_may_be_gold(
    tmp_path: Path, formats: Any, name: str, nested: bool
) -> None:
    answer = "SELECT b FROM t"
    rows = [{"id": n, "sql": "SELECT a FROM t", name: {"m1": {"sql": answer}} if nested else answer} for n in range(4)]
    with pytest.raises(
        CaseFileError, match=rf'"sql" may contain the gold queries, and "{re.escape(name)}" contains queries, too'
    ):
        load_predictions(rows_in(tmp_path / "p.jsonl", rows), formats=formats, fields=FieldNames())
    asked = [{"id": n, "sql": answer, "question": "Select the names from the list", "gold_sql": answer} for n in (1, 2)]
    assert load_predictions(rows_in(tmp_path / "q.jsonl", asked), formats=formats, fields=FieldNames()).predictions


@each(
    ("columns", "found"),
    [
        ({"gold_sql": "g", "predicted_sql": "p"}, True),
        ({"sql": "g", "completion": "p"}, True),
        ({"gold_sql": "g", "sql": "p"}, True),
        ({"query": "g", "sql": "p"}, False),
        ({"gold_sql": "g", "answer": "p"}, False),
        ({"gold_sql": "g"}, False),
        ({"sql": "g"}, False),
    ],
)
def test_one_file_for_both_sides_needs_a_column_that_is_plainly_the_prediction(
    tmp_path: Path, columns: dict[str, str], found: bool
) -> None:
    path = rows_in(tmp_path / "all.jsonl", [{"question": "x", **columns}])
    if not found:
        with pytest.raises(InputError, match="prediction"):
            read_inputs(path, None, FileOptions(), allow_unmatched=False)
        return
    inputs = read_inputs(path, None, FileOptions(), allow_unmatched=False)
    assert (inputs.cases[0].golds, inputs.predictions[0].query) == (("g",), "p")


@each("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1"])
@each("marked", [True, False])
def test_a_text_is_read_as_it_says_or_as_the_user_says_and_never_otherwise(
    tmp_path: Path, formats: Any, encoding: str, marked: bool
) -> None:
    text = "question,gold\ncafé?,SELECT 'é'\n"
    own = encoding in ("utf-8-sig", "utf-16", "utf-32")
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"") if marked else b""
    path = tmp_path / "c.csv"
    path.write_bytes(mark + text.encode(encoding))
    if mark or own:
        assert load_cases(path, formats=formats)[0].question == "café?"
        with pytest.raises(CaseFileError, match="begins with the mark"):
            load_cases(path, formats=formats, fields=FieldNames(encoding="cp1252"))
        return
    with pytest.raises(CaseFileError, match="--encoding"):
        load_cases(path, formats=formats)
    assert load_cases(path, formats=formats, fields=FieldNames(encoding=encoding))[0].question == "café?"


def test_an_encoding_that_there_is_not(tmp_path: Path, formats: Any) -> None:
    (tmp_path / "c.csv").write_text("question,gold\na,x\n")
    for name in ("utf-99", "base64", "rot13"):
        with pytest.raises(InputError, match="unknown text encoding"):
            load_cases(tmp_path / "c.csv", formats=formats, fields=FieldNames(encoding=name))


@pytest.mark.parametrize("suffix", [".yaml", ".json", ".jsonl"])
@pytest.mark.parametrize("shape", ["{}", '{{"question": {}, "gold": "x"}}'])
def test_what_nests_without_end_costs_a_message(tmp_path: Path, formats: Any, suffix: str, shape: str) -> None:
    path = tmp_path / f"c{suffix}"
    path.write_text(shape.format("[" * 1_000 + "]" * 1_000))
    for load in (load_cases, load_predictions):
        with pytest.raises(CaseFileError):
            load(path, formats=formats)


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_a_hundred_thousand_levels_cost_a_message_too(tmp_path: Path, formats: Any, suffix: str) -> None:
    path = tmp_path / f"c{suffix}"
    path.write_text('{"a":' * 100_000 + "1" + "}" * 100_000)
    with pytest.raises(CaseFileError, match="nested too deeply"):
        load_cases(path, formats=formats)
