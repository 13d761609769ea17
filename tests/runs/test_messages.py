"""Chat messages as predictions, wherever predictions come in."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import assay
from assay.errors import AssayError
from many_cases import each
from running import sqlite_url

QUERY = "SELECT a FROM t"
CASES = [{"id": name, "question": name, "gold_sql": QUERY} for name in ("a", "b")]
WORDS = [{"role": "user", "content": "How many?"}, {"role": "assistant", "content": f"```sql\n{QUERY}\n```"}]
CALL = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "run_sql", "arguments": json.dumps({"query": QUERY})}}],
    }
]
PARTS = [{"type": "text", "text": "I run it."}, {"type": "tool_use", "name": "run_sql", "input": {"sql": QUERY}}]
RESPONSE = {"id": "c", "choices": [{"message": WORDS[-1]}]}
RECORDS = [{"id": "a", "completion": WORDS}, {"id": "b", "completion": CALL}]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sqlite_url(tmp_path_factory.mktemp("data") / "t.sqlite", "CREATE TABLE t (a); INSERT INTO t VALUES (1);")


def _text(name: str, text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (path := folder / name).write_text(text)
        return path

    return write


def _csv(folder: Path) -> Path:
    with (path := folder / "p.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["id", "completion"], ["a", json.dumps(WORDS)], ["b", str(CALL)]])
    return path


def _parquet(folder: Path) -> Path:
    (source := folder / "rows.json").write_text(json.dumps(RECORDS))
    path = folder / "p.parquet"
    duckdb.sql(f"COPY (SELECT * FROM read_json('{source}')) TO '{path}'")
    return path


SOURCES: dict[str, Callable[[Path], Any]] = {
    "mapping": lambda _: {"a": WORDS, "b": CALL},
    "list": lambda _: [WORDS, PARTS],
    "messages": lambda _: [WORDS[-1], CALL[0]],
    "responses": lambda _: [RESPONSE, RESPONSE],
    "records": lambda _: RECORDS,
    "pandas": lambda _: pd.DataFrame(RECORDS),
    "series": lambda _: pd.Series([WORDS, CALL]),
    "polars": lambda _: pl.DataFrame([{"id": name, "completion": WORDS} for name in "ab"]),
    "callable": lambda _: lambda case: {"a": WORDS, "b": PARTS}[case.id],
    "callable with a response": lambda _: lambda _case: RESPONSE,
    "JSON": _text("p.json", json.dumps(RECORDS)),
    "JSON by id": _text("p.json", json.dumps({"a": WORDS, "b": CALL})),
    "JSON of responses": _text("p.json", json.dumps([{"id": name, "response": RESPONSE} for name in "ab"])),
    "JSON Lines": _text("p.jsonl", "\n".join(map(json.dumps, RECORDS))),
    "YAML": _text("p.yaml", json.dumps(RECORDS)),
    "CSV": _csv,
    "Parquet": _parquet,
}


@each("source", SOURCES)
def test_messages_are_read_wherever_predictions_come_in(source: str, tmp_path: Path, database: str) -> None:
    run = assay.evaluate(CASES, SOURCES[source](tmp_path), databases=database, metrics=["match", "bird_ex"], workers=1)
    assert [item.prediction.query for item in run.evidence] == [QUERY, QUERY]
    assert {score.value for item in run.evidence for score in item.scores} == {1.0}


@each("messages", [WORDS, CALL, PARTS, RESPONSE, WORDS[-1], tuple(WORDS), json.dumps(WORDS)])
def test_a_single_pair_takes_messages(messages: Any, database: str) -> None:
    assert assay.check(messages, QUERY, database=database).outcome == "correct"
    assert assay.assert_equivalent(messages, QUERY, database=database).outcome == "correct"


SEVERAL: dict[str, Callable[[Path], Any]] = {
    "mapping": lambda _: {"a": [QUERY], "b": [QUERY, QUERY]},
    "list": lambda _: [[QUERY], [QUERY]],
    "records": lambda _: [{"id": name, "completion": [QUERY]} for name in "ab"],
    "callable": lambda _: lambda _case: [QUERY, QUERY],
    "JSON": _text("p.json", json.dumps({"a": [QUERY], "b": [QUERY]})),
    "JSON Lines": _text("p.jsonl", "\n".join(json.dumps({"id": name, "completion": [QUERY]}) for name in "ab")),
}


@each("source", SEVERAL)
def test_a_list_of_queries_is_refused_with_the_remedy(source: str, tmp_path: Path, database: str) -> None:
    with pytest.raises(AssayError, match="is a list of queries, and one prediction is one query: give each case"):
        assay.evaluate(CASES, SEVERAL[source](tmp_path), databases=database, workers=1)


def test_one_conversation_is_not_a_list_of_predictions(database: str) -> None:
    with pytest.raises(AssayError, match="the predictions are one conversation: give one list of messages per case"):
        assay.evaluate(CASES, WORDS, databases=database, workers=1)


def test_a_list_of_queries_is_not_a_pair(database: str) -> None:
    with pytest.raises(AssayError, match="the prediction is a list of queries"):
        assay.check([QUERY], QUERY, database=database)
