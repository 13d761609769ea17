"""What a system was given, from files and live systems to the scores, the tables and every report of a run."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from python_calamine import CalamineWorkbook

import assay
from assay import registry
from assay.errors import CaseFileError, RunError, UsageError
from assay.model import Case, Prediction, Secret
from assay.model.verdicts.retrieval import CONTEXT_COMPLETE, RETRIEVAL_METRICS
from assay.reports.blocks.run import RunReport
from assay.reports.console.run import plain_summary
from assay.reports.html.data import run_index
from assay.reports.text.explanation import explanation_of
from assay.runs.store.codec import decode_evidence, encode_evidence, identity_of
from assay.runs.store.run_tables import answered, named_runs
from assay.systems.http import HttpSystem
from assay.systems.options import SystemOptions
from assay.testing import DenodoEmulator
from many_cases import each
from text_server import serving

SCRIPT = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
CREATE TABLE concert (id INTEGER PRIMARY KEY, singer_id INTEGER REFERENCES singer (id), year INTEGER);
INSERT INTO singer VALUES (1, 'Ada', 30), (2, 'Ben', 40);
INSERT INTO concert VALUES (1, 1, 2020), (2, 1, 2021);
"""
GOLD = "SELECT name FROM singer"
JOIN = "SELECT name, year FROM singer JOIN concert ON singer.id = singer_id"
ANSWERS: dict[str, tuple[str, str | None, Any, Any, str | None]] = {
    "right": (GOLD, GOLD, ("concert", "main.Singer"), None, None),
    "right without": (GOLD, GOLD, ("concert",), None, None),
    "missed": (JOIN, "SELECT name FROM singer", ["singer"], None, "missed"),
    "missed a column": (JOIN, "SELECT 1", ["singer", "concert"], ["singer.*", "concert.year"], "missed"),
    "had it": (JOIN, JOIN + " LIMIT 0", ("singer", "concert"), ("singer.*", "concert.*"), "had_it"),
    "had it, no answer": (JOIN, None, ("singer", "concert"), None, "had_it"),
    "had it, fails": (GOLD, "SELECT nope FROM singer", None, ("singer.name",), "had_it"),
    "given nothing": (GOLD, "SELECT 2", (), None, "missed"),
    "silent": (GOLD, "SELECT 3", None, None, "unknown"),
}  # fmt: skip


@pytest.fixture
def url(make_sqlite: Callable[..., Path]) -> str:
    return f"sqlite:///{make_sqlite(SCRIPT).as_posix()}"


def _cases() -> list[Case]:
    return [Case(id=name, question="Who sings?", golds=(gold,)) for name, (gold, *_) in ANSWERS.items()]


def _predictions() -> list[Prediction]:
    return [
        Prediction(case_id=name, query=query, context_tables=tables, context_columns=columns)
        for name, (_, query, tables, columns, _) in ANSWERS.items()
    ]


@pytest.fixture
def run(url: str) -> assay.Run:
    return assay.evaluate(_cases(), _predictions(), databases=url, workers=1, metrics=["match"])


def test_each_wrong_answer_has_its_retrieval(run: assay.Run, tmp_path: Path) -> None:
    wanted = {name: kind for name, (*_, kind) in ANSWERS.items()}
    assert run.settings.metrics == ("match", *RETRIEVAL_METRICS)
    assert {case.case_id: case.retrieval for case in run.record.summaries} == wanted
    assert all(decode_evidence(encode_evidence(item)) == item for item in run.evidence)
    run.save(tmp_path / "run")
    table = duckdb.read_parquet(str(tmp_path / "run" / "results.parquet"))
    assert dict(table.select("case_id", "retrieval").fetchall()) == wanted
    recalls = dict(table.select("case_id", "context_table_recall").fetchall())
    assert (recalls["right"], recalls["missed"], recalls["given nothing"], recalls["silent"]) == (1.0, 0.5, 0.0, None)
    runs, _ = named_runs([tmp_path / "run"])
    with answered(runs, "SELECT retrieval, count(*) FROM cases GROUP BY ALL ORDER BY 1 NULLS LAST") as result:
        assert list(result.rows) == [("had_it", 3), ("missed", 3), ("unknown", 1), (None, 2)]
    again = assay.load_run(tmp_path / "run").record
    assert {case.case_id: case.retrieval for case in again.summaries} == wanted
    assert again.settings.metrics == run.settings.metrics


def test_they_are_counted_in_every_report(run: assay.Run) -> None:
    counts = {one.name: one.count for one in run.record.aggregates.retrieval}
    assert counts == {"missed": 3, "had_it": 3, "unknown": 1}
    document = json.loads(registry.render("json", run.record))
    assert {one["name"]: one["count"] for one in document["aggregates"]["retrieval"]} == counts
    lines = [" ".join(line.split()) for line in plain_summary(RunReport(run.record)).splitlines()]
    start = lines.index("Wrong predictions by retrieval")
    assert lines[start + 1 : start + 4] == [
        "had it and still failed 3 42.9 % had it, had it, no answer, had it, fails",
        "retrieval missed it 3 42.9 % missed, missed a column, given nothing",
        "unknown 1 14.3 % silent",
    ]
    assert "| `retrieval missed it` | 3 | 42.9 % |" in registry.render("md", run.record).decode()
    assert "Wrong predictions by retrieval" in registry.render("html", run.record).decode()
    book = CalamineWorkbook.from_filelike(io.BytesIO(registry.render("xlsx", run.record)))
    rows = book.get_sheet_by_name("Summary").to_python()
    assert [row[1:3] for row in rows if row[0] == "had it and still failed"] == [[3, pytest.approx(3 / 7)]]
    head, *details = book.get_sheet_by_name("Details").to_python()
    told = {row[head.index("Question ID")]: row for row in details}
    assert told["missed"][head.index("Given tables")] == "singer"
    assert told["missed"][head.index("Retrieval")] == "retrieval missed it (missing: concert)"


def test_the_page_has_a_filter_and_each_case_says_what_was_missing(run: assay.Run) -> None:
    index = run_index(RunReport(run.record))
    facets = [facet._name for facet in index._facets]
    assert "retrieval" in facets
    items = {item.case.id: item for item in run.evidence}
    assert "retrieval: retrieval missed it (missing: concert)" in explanation_of(items["missed"])
    assert "retrieval missed it (missing: concert.singer_id)" in explanation_of(items["missed a column"])
    assert "retrieval: had it and still failed" in explanation_of(items["had it"])
    assert "retrieval:" not in explanation_of(items["silent"])
    page = registry.render("html", run.record).decode()
    assert "retrieval missed it" in page


def test_a_run_without_a_context_has_none_of_it(url: str) -> None:
    predictions = [Prediction(case_id=name, query=query) for name, (_, query, *_) in ANSWERS.items()]
    run = assay.evaluate(_cases(), predictions, databases=url, workers=1, metrics=["match"])
    assert run.settings.metrics == ("match",)
    assert run.record.aggregates.retrieval == ()
    assert all(len(item.scores) == 1 for item in run.evidence)
    assert "retrieval" not in plain_summary(RunReport(run.record)).lower()
    assert b"context_tables" not in identity_of(predictions[0])


def test_a_run_is_found_again_with_the_metrics_that_came_by_themselves(url: str, tmp_path: Path) -> None:
    def made(metrics: list[str]) -> assay.Run:
        output = tmp_path / "run"
        return assay.evaluate(_cases(), _predictions(), databases=url, workers=1, metrics=metrics, output=output)

    whole, again = made(["match"]), made(["match"])
    assert again.settings.metrics == whole.settings.metrics == ("match", *RETRIEVAL_METRICS)
    assert again.record.aggregates == whole.record.aggregates
    asked = made(["match", CONTEXT_COMPLETE])
    assert asked.settings.metrics[:2] == ("match", CONTEXT_COMPLETE)
    assert set(asked.settings.metrics) == {"match", *RETRIEVAL_METRICS}
    with pytest.raises(RunError, match=r"\(metrics was match, now bird_ex\)"):
        made(["bird_ex"])
    journal = tmp_path / "run" / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:3]))  # as if it was killed
    assert made(["match"]).record.aggregates.retrieval == whole.record.aggregates.retrieval


class _Constant:
    name = "constant"
    binary = True

    def requests(self, case: object, prediction: object) -> tuple[()]:
        return ()

    def score(self, *_: object) -> assay.Score:
        return assay.Score(metric="constant", value=1.0)


def test_a_metric_of_the_callers_own_and_equal_answers_with_other_contexts(url: str) -> None:
    cases = [Case(id=str(n), question="Who?", golds=(GOLD,)) for n in range(3)]
    given = [("singer",), ("concert",), None]
    predictions = [Prediction(case_id=str(n), query=GOLD, context_tables=tables) for n, tables in enumerate(given)]
    for metrics in (["match"], ["match", _Constant()], [CONTEXT_COMPLETE]):
        run = assay.evaluate(cases, predictions, databases=url, workers=1, metrics=metrics)
        values = [case.score(CONTEXT_COMPLETE) for case in run.record.summaries]
        assert [score and score.value for score in values] == [1.0, 0.0, None]


DDL = "CREATE TABLE singer (id INT, name TEXT);\nCREATE TABLE concert (id INT, singer_id INT, year INT)"
SCHEMA = '{{"singer": ["name", "id"], "concert": ["singer_id", "year"]}}'
LINES = (("missed", "{}"), ("had it", SCHEMA))
FILES: dict[str, tuple[str, str]] = {
    "lines.jsonl": (
        "\n".join(f'{{{{"id": "{id_}", "sql": "SELECT 1", "context_tables": {said}}}}}' for id_, said in LINES),
        '["singer"]',
    ),
    "table.csv": (
        'id,sql,context_tables\nmissed,SELECT 1,{}\nhad it,SELECT 1,"singer, main.concert"\n',
        "singer",
    ),
    "linked.csv": (
        f'id,sql,Linked Schema\nmissed,SELECT 1,{{}}\nhad it,SELECT 1,"{DDL}"\n',
        "singer(id)",
    ),
}


@each("name", sorted(FILES))
def test_a_column_of_a_file_says_it(name: str, url: str, tmp_path: Path) -> None:
    content, context = FILES[name]
    path = tmp_path / name
    cases = [case for case in _cases() if case.id in ("missed", "had it")]
    path.write_text(content.format(context), encoding="utf-8")
    run = assay.evaluate(cases, path, databases=url, workers=1, metrics=["match"])
    assert {case.case_id: case.retrieval for case in run.record.summaries} == {"missed": "missed", "had it": "had_it"}
    bad, shown = ("[5]", "5 is not the name of a table") if name.endswith("jsonl") else ('"{bad"', "{bad")
    path.write_text(content.format(bad), encoding="utf-8")
    with pytest.raises(CaseFileError, match=r"line|row") as error:
        assay.evaluate(cases, path, databases=url, workers=1, metrics=["match"])
    assert shown in str(error.value)
    assert "expected a list of names, text with commas" in str(error.value)
    assert "column" in str(error.value)


def test_a_column_by_its_own_name_and_both_columns(url: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(
        json.dumps({"id": "missed", "sql": "SELECT 1", "retriever": {"out": ["singer"]}, "cols": "singer.name"}) + "\n",
        encoding="utf-8",
    )
    fields = assay.FieldNames(context_tables="retriever.out", context_columns="cols")
    cases = [case for case in _cases() if case.id == "missed"]
    run = assay.evaluate(
        cases, path, databases=url, workers=1, metrics=["match"], files=assay.FileOptions(prediction_fields=fields)
    )
    (item,) = run.evidence
    assert (item.prediction.context_tables, item.prediction.context_columns) == (("singer",), ("singer.name",))


def test_lists_are_tuples_and_a_text_is_refused() -> None:
    prediction = Prediction(case_id="1", context_tables=["a"], context_columns={"b", "a"})  # type: ignore[arg-type]
    assert (prediction.context_tables, prediction.context_columns) == (("a",), ("a", "b"))
    for wrong in ("a, b", 5, [1]):
        with pytest.raises(UsageError, match="give the names as a list of texts"):
            Prediction(case_id="1", context_tables=wrong)  # type: ignore[arg-type]


def test_a_live_system_over_http_says_it_where_its_path_says(url: str) -> None:
    said = {
        "sql": "SELECT 1",
        "debug": {"schema": [{"name": "singer", "columns": ["id", "name"]}, {"name": "concert"}]},
    }
    cases = [case for case in _cases() if case.id in ("missed", "right")]
    with serving(json.dumps(said)) as place:
        system = assay.open_system(f"http:{place}/ask", context_path="debug.schema")
        run = assay.evaluate(cases, system, databases=url, workers=1, metrics=["match"])
    assert "context_path=debug.schema" in system.describe()
    assert {case.retrieval for case in run.record.summaries} == {"had_it"}
    assert run.settings.metrics == ("match", *RETRIEVAL_METRICS)
    (first, _) = run.evidence
    assert first.prediction.context_tables == ("singer", "concert")
    assert first.prediction.context_columns == ("singer.id", "singer.name", "concert.*")


@each("context", [5, {"a": 5}, [None], "{", True])
def test_an_answer_is_not_lost_for_a_context_that_cannot_be_read(context: object) -> None:
    token = "hush" * 40
    options = SystemOptions(context_path="given", token=Secret(token))
    system = HttpSystem.open("http:http://127.0.0.1:9/ask", options)
    case = Case(id="t-3", question="Who?", golds=(GOLD,))
    with pytest.warns(
        UserWarning, match="in the answer to case t-3, at 'given', .* count as without a context"
    ) as told:
        found = system._read(case, {"sql": "SELECT 1", "given": context}, 0.0)
    assert (found.query, found.context_tables, found.failure) == ("SELECT 1", None, None)
    assert system._read(case, {"sql": "SELECT 2", "given": context}, 0.0).query == "SELECT 2"
    assert len(told) == 1


def test_what_an_http_system_does_not_say_is_not_known() -> None:
    system = HttpSystem.open("http:http://127.0.0.1:9/ask", SystemOptions(context_path="given"))
    case = Case(id="t-3", question="Who?", golds=(GOLD,))
    for said in ({}, {"given": None}, {"given": ""}):
        assert system._read(case, {"sql": "SELECT 1", **said}, 0.0).context_tables is None
    assert system._read(case, {"sql": "SELECT 1", "given": []}, 0.0).context_tables == ()


def test_a_command_says_it_beside_its_query(url: str, tmp_path: Path) -> None:
    said = {"sql": "SELECT 1", "context_tables": ["singer"], "context_columns": ["singer.name"]}
    script = tmp_path / "ask.py"
    script.write_text(f"print({json.dumps(json.dumps(said))})\n", encoding="utf-8")
    system = assay.open_system(f"command:{Path(sys.executable).as_posix()} {script.as_posix()}")
    cases = [case for case in _cases() if case.id in ("missed", "silent")]
    run = assay.evaluate(cases, system, databases=url, workers=1, metrics=["match"])
    assert {case.case_id: case.retrieval for case in run.record.summaries} == {"missed": "missed", "silent": "had_it"}


def test_denodo_says_which_views_its_search_found(tmp_path: Path) -> None:
    (tmp_path / "client.csv").write_text("id,name\n1,Ada\n2,Ben\n", encoding="utf-8")
    (tmp_path / "loan.csv").write_text("id,client_id\n1,1\n", encoding="utf-8")
    gold = "SELECT c.name FROM client c JOIN loan l ON l.client_id = c.id"
    wrong = "SELECT name FROM client"
    answers = {
        "missed": {"sql_query": wrong, "tables_used": ["bank.client"]},
        "had it": {"sql_query": wrong, "tables_used": ["bank.client", '"bank"."loan"', "bank.account"]},
        "silent": {"sql_query": wrong},
    }
    cases = [Case(id=question, question=question, golds=(gold,)) for question in answers]
    with DenodoEmulator(answers=answers, tables=tmp_path, user="ana", password="secret") as server:
        system = assay.open_system(f"denodo:{server.api_url}", user="ana", password="secret")
        database = server.catalog_url.replace("http://", "denodo+http://ana:secret@")
        run = assay.evaluate(cases, system, databases=database, workers=1, metrics=["match"])
    found = {case.case_id: case.retrieval for case in run.record.summaries}
    assert found == {"missed": "missed", "had it": "had_it", "silent": "unknown"}
    precision = {case.case_id: case.score("context_table_precision") for case in run.record.summaries}
    assert {name: score and score.value for name, score in precision.items()} == {
        "missed": 1.0,
        "had it": pytest.approx(2 / 3),
        "silent": None,
    }
