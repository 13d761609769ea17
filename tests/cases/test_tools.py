"""The files of other evaluators: read as their tools write them, and told apart from each other and from ours."""

from __future__ import annotations

import csv
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec.structs import replace

from assay import registry
from assay.cases import load_predictions, load_questions, recognise
from assay.errors import CaseFileError
from assay.model import Case, FieldNames, Prediction
from assay.sql.extraction import extracted
from many_cases import each

GOLD, ANSWER = "SELECT name FROM t", "SELECT T.name FROM t AS T"

TOOLKIT = [
    {
        "id": "a1",
        "db_id": "shop",
        "utterance": "Which names?",
        "sql": [GOLD, "SELECT 2"],
        "query": GOLD,
        "evidence": "names are names",
        "meta": {"categories": ["has_join"]},
        "predictions": {
            "ibm:granite-greedy": {
                "predicted_sql": ANSWER,
                "token_usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
                "inference_time_ms": 1500.0,
                "prompt": "SELECT from the tables …",
            },
            "ibm:other": {"predicted_sql": None},
        },
    }
]
EVALBENCH = [
    {
        "id": 43,
        "nl_prompt": "Which names?",
        "query_type": "dql",
        "database": "shop",
        "dialects": ["postgres", "sqlite"],
        "golden_sql": {"sqlite": [GOLD], "postgres": ["SELECT 'p'"]},
        "tags": ["difficulty: simple"],
    }
]
DEEPEVAL = [
    {
        "name": "one",
        "input": "Which names?",
        "actual_output": ANSWER,
        "expected_output": GOLD,
        "retrieval_context": None,
        "context": ["names are names", "of shops"],
        "additional_metadata": {"db_id": "shop", "difficulty": "easy"},
    }
]
DEEPEVAL_RUN = {
    "testCases": [
        {
            "name": "one",
            "input": "Which names?",
            "actualOutput": ANSWER,
            "expectedOutput": GOLD,
            "success": True,
            "completionTime": 1.5,
            "tokenCost": 0.25,
            "metricsData": [],
        }
    ],
    "conversationalTestCases": [],
}
DEEPEVAL_4_3_RUN = {
    "testRunData": {
        "testFile": "test_sql.py",
        "testCases": [
            {
                "name": "test_it[0]",
                "input": "Which names?",
                "actualOutput": ANSWER,
                "expectedOutput": GOLD,
                "flaky": False,
                "success": True,
                "metricsData": [{"name": "M", "threshold": 0.5, "success": True, "score": 1.0}],
                "runDuration": 0.005,
                "order": 0,
                "metadata": {"db_id": "shop", "difficulty": "easy"},
            }
        ],
        "conversationalTestCases": [],
        "metricsScores": [{"metric": "M", "scores": [1.0], "passes": 1, "fails": 0, "errors": 0}],
        "testPassed": 1,
        "official": False,
    }
}
"""As DeepEval 4.3.1 writes ``.deepeval/.latest_test_run.json``."""
RAGAS = {"samples": [{"user_input": "Which names?", "response": ANSWER, "reference": GOLD, "db_id": "shop"}]}
BRAINTRUST = [
    {
        "id": "r1",
        "span_id": "r1",
        "root_span_id": "r1",
        "span_parents": None,
        "is_root": True,
        "input": {"question": "Which names?"},
        "output": {"sql": ANSWER, "note": "…"},
        "expected": {"sql": GOLD},
        "metadata": {"db_id": "shop"},
        "scores": {"Levenshtein": 0.5},
        "metrics": {"start": 10.0, "end": 11.5, "prompt_tokens": 7, "completion_tokens": 2},
    },
    {"id": "s2", "span_id": "s2", "root_span_id": "r1", "span_parents": ["r1"], "is_root": False, "input": "x"},
]


def _sample(number: int, epoch: int = 1) -> dict[str, Any]:
    return {
        "id": number,
        "epoch": epoch,
        "input": [
            {"role": "system", "content": "You write SQL."},
            {"role": "user", "content": [{"type": "text", "text": f"Which names? ({number})"}]},
        ],
        "target": [GOLD, "SELECT 2"],
        "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": f"```sql\n{ANSWER}\n```"}}]},
        "metadata": {"db_id": "shop", "difficulty": "easy"},
        "model_usage": {"m": {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}},
        "working_time": 1.5,
    }


def _log(samples: list[dict[str, Any]]) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": {"task": "sql", "run_id": "x"}, "samples": samples}


def _written(folder: Path, document: object, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def _read(path: Path, **names: str) -> tuple[list[Case], list[Prediction]]:
    formats = registry.case_formats()
    fields = FieldNames(**names)
    cases = load_questions(path, formats=formats, fields=FieldNames(gold=fields.gold)).cases
    predictions = load_predictions(path, formats=formats, fields=FieldNames(prediction=fields.prediction)).predictions
    return list(cases), list(predictions)


def _said(*said: tuple[str, str]) -> list[dict[str, str]]:
    return [{"type": kind, "content": text} for kind, text in said]


def test_of_a_conversation_in_a_file_of_ragas_the_last_turn_is_read(tmp_path: Path) -> None:
    """Beside samples of one turn, and with the answer in the conversation or beside it."""
    first = (("human", "How many shops?"), ("ai", "SELECT 0"))
    samples = [
        {"user_input": "Which names?", "reference": GOLD, "response": ANSWER},
        {"user_input": _said(*first, ("human", "Which names?"), ("ai", "Well."), ("ai", ANSWER)), "reference": GOLD},
        {"user_input": _said(*first, ("human", "Which names?")), "reference": GOLD, "response": ANSWER},
        {"user_input": _said(*first, ("human", "Which names?"), ("tool", "x")), "reference": GOLD},
        {"user_input": _said(("human", "Which names?"), ("ai", "SELECT 0")), "reference": GOLD, "response": ANSWER},
    ]
    for document in (samples, samples[1:], {"samples": samples}):
        cases, predictions = _read(_written(tmp_path, document))
        assert {case.question for case in cases} == {"Which names?"}
        queries = [extracted(one).query for one in predictions]
        assert queries[-4:] == [ANSWER, ANSWER, None, ANSWER]
        failure = predictions[-2].failure
        assert failure is not None
        assert failure.kind == "unanswered"


@each(
    ("name", "document", "names", "known"),
    [
        (
            "text2sql_eval_toolkit",
            TOOLKIT,
            {"prediction": "ibm:granite-greedy"},
            {"id": "a1", "golds": (GOLD, "SELECT 2"), "context": "names are names", "tags": ("has_join",)},
        ),
        ("deepeval", DEEPEVAL, {}, {"id": "one", "context": "names are names\nof shops", "difficulty": "easy"}),
        ("deepeval", DEEPEVAL_RUN, {}, {"id": "one", "database": None, "cost": 0.25}),
        ("deepeval", DEEPEVAL_4_3_RUN, {}, {"id": "test_it[0]", "difficulty": "easy"}),
        ("ragas", RAGAS, {}, {"id": "0"}),
        ("braintrust", BRAINTRUST, {}, {"id": "r1"}),
        ("inspect", _log([_sample(1)]), {}, {"id": "1", "golds": (GOLD, "SELECT 2"), "question": "Which names? (1)"}),
    ],
)
def test_each_tools_own_file_is_read_whole(
    tmp_path: Path, name: str, document: object, names: Mapping[str, str], known: Mapping[str, object]
) -> None:
    path = _written(tmp_path, document)
    assert recognise(path, registry.case_formats()).name == name
    (case,), (prediction,) = _read(path, **names)
    expected = {"question": "Which names?", "golds": (GOLD,), "database": "shop", "cost": None, **known}
    assert {
        "id": case.id,
        "question": case.question,
        "golds": case.golds,
        "database": case.database,
        "cost": prediction.cost_usd,
        **{field: getattr(case, field) for field in known if field != "cost"},
    } == {"id": case.id, **expected}
    assert extracted(prediction).query == ANSWER
    if prediction.tokens is not None:
        assert (prediction.tokens.input, prediction.tokens.output) == (7, 2)
        assert prediction.timings_s == (("latency_s", 1.5),)
    assert (prediction.tokens is None) == (name in {"deepeval", "ragas"})


def test_a_span_with_an_error_is_no_answer(tmp_path: Path) -> None:
    _, (prediction,) = _read(_written(tmp_path, [{**BRAINTRUST[0], "error": "timeout"}, BRAINTRUST[1]]))
    assert prediction.query is None


def test_of_several_pipelines_one_is_named(tmp_path: Path) -> None:
    path = _written(tmp_path, TOOLKIT)
    with pytest.raises(CaseFileError, match=r'more than one pipeline.*"ibm:granite-greedy".*--prediction-column'):
        _read(path)
    with pytest.raises(CaseFileError, match=r'contains no pipeline "ibm:granite-gredy".*did you mean "ibm:granite-gr'):
        _read(path, prediction="ibm:granite-gredy")
    _, (unanswered,) = _read(path, prediction="ibm:other")
    assert unanswered.query is None
    assert unanswered.failure is not None
    _, (by_path,) = _read(path, prediction='predictions["ibm:granite-greedy"].predicted_sql')
    assert by_path.query == ANSWER


def test_a_pipeline_without_the_toolkits_own_key_is_no_silence(tmp_path: Path) -> None:
    path = _written(tmp_path, [{**TOOLKIT[0], "predictions": {"A": {"sql": ANSWER}}}])
    with pytest.raises(CaseFileError, match=r'the pipeline "A" has no predicted_sql.*predictions\["A"\].sql'):
        load_predictions(path, formats=registry.case_formats(), format="text2sql_eval_toolkit")


@pytest.mark.parametrize("name", ["golden_sql.sqlite", "sqlite"])
def test_of_several_dialects_one_is_named(tmp_path: Path, name: str) -> None:
    path = _written(tmp_path, EVALBENCH)
    formats = registry.case_formats()
    assert recognise(path, formats).name == "evalbench"
    with pytest.raises(CaseFileError, match=r"more than one dialect.*--gold-column golden_sql.sqlite"):
        load_questions(path, formats=formats)
    (case,) = load_questions(path, formats=formats, fields=FieldNames(gold=name)).cases
    assert (case.id, case.question, case.golds, case.database) == ("43", "Which names?", (GOLD,), "shop")
    assert case.tags == ("difficulty: simple", "dql")


def test_dialects_with_the_same_queries_are_one_and_items_without_the_dialect_are_left_out(tmp_path: Path) -> None:
    formats = registry.case_formats()
    same = [{**EVALBENCH[0], "golden_sql": {"sqlite": [GOLD], "mysql": [GOLD]}}]
    (case,) = load_questions(_written(tmp_path, same), formats=formats).cases
    assert case.golds == (GOLD,)
    both = [*EVALBENCH, {**EVALBENCH[0], "id": 44, "golden_sql": {"mysql": ["SELECT 1"]}}]
    path = _written(tmp_path, both)
    found = load_questions(path, formats=formats, fields=FieldNames(gold="postgres")).cases
    assert [(case.id, case.golds) for case in found] == [("43", ("SELECT 'p'",))]
    simple = [{"id": "e1", "database": "shop", "nlq": "Which names?", "golden_sql": GOLD}]
    (case,) = load_questions(_written(tmp_path, simple), formats=formats).cases
    assert (case.question, case.golds) == ("Which names?", (GOLD,))


def _packed(folder: Path, samples: list[dict[str, Any]]) -> Path:
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(_log([])))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    return path


def _zstandard(folder: Path, members: Mapping[str, str], *, check: int = 0, size: int | None = None) -> Path:
    """A ZIP archive whose members are packed as Inspect packs them since it uses Zstandard."""
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            packed = folder / "member.zst"
            relation = duckdb.sql("SELECT $1 AS text", params=[text])
            relation.write_csv(str(packed), header=False, quotechar="", escapechar="", compression="zstd")
            archive.writestr(name, packed.read_bytes())
    data = bytearray(path.read_bytes())
    # Stored bytes that are called packed: method, check sum and size stand in each header, and in the directory.
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = data.find(mark)
        for text in members.values():
            raw = text.encode()
            data[place + at : place + at + 2] = (93).to_bytes(2, "little")
            data[place + at + 6 : place + at + 10] = (zlib.crc32(raw) ^ check).to_bytes(4, "little")
            data[place + at + 14 : place + at + 18] = (len(raw) if size is None else size).to_bytes(4, "little")
            place = data.find(mark, place + 4)
    path.write_bytes(data)
    return path


def test_a_log_packed_with_zstandard_is_read_by_every_python(tmp_path: Path) -> None:
    """As `inspect eval` writes it; damaged, or larger than it says, it is told."""
    samples = [_sample(1), {**_sample(2), "store": {"text": "é\u2028 ✓ " * 2000}}]
    members = {"header.json": json.dumps(_log([]))} | {
        f"samples/{one['id']}_epoch_1.json": json.dumps(one, ensure_ascii=False) for one in samples
    }
    cases, predictions = _read(_zstandard(tmp_path, members))
    assert [(case.id, case.question) for case in cases] == [("1", "Which names? (1)"), ("2", "Which names? (2)")]
    assert [extracted(one).query for one in predictions] == [ANSWER] * 2
    formats = registry.case_formats()
    for invalid in (
        {"samples/1_epoch_1.json": members["samples/1_epoch_1.json"][:-30]},
        {"samples/1_epoch_1.json": '{"id": 1} {"id": 2}'},
        {"samples/1_epoch_1.json": ""},
    ):
        with pytest.raises(CaseFileError, match=r"log\.eval"):
            load_questions(_zstandard(tmp_path, invalid), formats=formats)
    bomb = {"samples/1_epoch_1.json": json.dumps({"id": 1, "input": " " * (3 << 20)})}
    for wrong in ({"size": 1000}, {"check": 1}):
        with pytest.raises(CaseFileError, match=r"log\.eval: cannot be unpacked"):
            load_questions(_zstandard(tmp_path, bomb, **wrong), formats=formats)


def test_a_test_run_of_deepeval_whose_first_test_case_is_long_or_has_no_output_is_read(tmp_path: Path) -> None:
    """DeepEval leaves out what is null. The start of a file may not show its whole first record."""
    run = json.loads(json.dumps(DEEPEVAL_4_3_RUN))
    first = run["testRunData"]["testCases"][0]
    del first["actualOutput"]
    run["testRunData"]["testCases"].append({**first, "name": "other", "actualOutput": ANSWER, "input": "Which?"})
    _, predictions = _read(_written(tmp_path, run))
    assert [prediction.query for prediction in predictions] == [None, ANSWER]
    first["context"] = ["long " * 50_000]
    _, predictions = _read(_written(tmp_path, run))
    assert [prediction.query for prediction in predictions] == [None, ANSWER]


def test_deepeval_writes_csv_too(tmp_path: Path) -> None:
    """With a text of several lines, contexts in one cell and metadata as JSON, as its ``save_as`` does."""
    heads = ["input", "actual_output", "expected_output", "retrieval_context", "context", "additional_metadata"]
    rows = [
        [
            'Which "names";\nreally?',
            "SELECT 1,\n2",
            GOLD,
            "",
            "a|b",
            json.dumps({"db_id": "shop", "difficulty": "easy"}),
        ],
        ["How many?", "", "SELECT 2", "", "", ""],
    ]
    for marked in ("", "\ufeff"):
        path = tmp_path / "goldens.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            file.write(marked)
            csv.writer(file).writerows([heads, *rows])
        assert recognise(path, registry.case_formats()).name == "deepeval"
        cases, predictions = _read(path)
        assert [(one.question, one.golds, one.database, one.difficulty) for one in cases] == [
            (rows[0][0], (GOLD,), "shop", "easy"),
            ("How many?", ("SELECT 2",), None, None),
        ]
        assert [one.query for one in predictions] == ["SELECT 1,\n2", None]
    rows[0][2] = ""
    path.write_text("question,gold_sql,input\nq,SELECT 1,x\n", encoding="utf-8")
    assert recognise(path, registry.case_formats()).name == "csv"


@each(
    "question",
    [
        {"question_id": 0, "db_id": "shop", "question": "Which names?", "SQL": GOLD, "evidence": ""},
        {"qid": "x", "db_id": "shop", "page_content": "Which names?", "query": GOLD},
        {"_id": "x", "db_id": "shop", "utterance": "Which names?", "sql": {"select": [1]}, "query": GOLD},
        {"id": "x", "utterance": "Which names?", "metadata": {"sql": GOLD}},
        {"id": "x", "utterance": "Which names?", "target": [GOLD, "SELECT 2"]},
        {"db_id": "shop", "question": "Which names?", "query": GOLD},
    ],
)
def test_the_toolkit_keeps_the_names_of_the_benchmark_that_it_was_made_from(
    tmp_path: Path, question: dict[str, object]
) -> None:
    """Question, gold and id are where its own readers look for them; a question may lack every pipeline's answer."""
    answered = {**question, "predictions": {"a": {"predicted_sql": ANSWER}}}
    path = _written(tmp_path, [answered])
    assert recognise(path, registry.case_formats()).name == "text2sql_eval_toolkit"
    (case,), (prediction,) = _read(path)
    assert (case.question, case.golds[0], prediction.query) == ("Which names?", GOLD, ANSWER)
    other = {key: 2 if key in {"qid", "_id", "id", "question_id"} else value for key, value in question.items()}
    several = _read(_written(tmp_path, [answered, other]))
    assert [one.query for one in several[1]] == [ANSWER, None]


def _queries(path: Path) -> list[str | None]:
    return [extracted(one).query for one in _read(path)[1]]


def test_a_packed_log_is_the_same_as_the_document(tmp_path: Path) -> None:
    samples = [_sample(number) for number in (1, 2, 10)]
    packed, document = _packed(tmp_path, samples[::-1]), _written(tmp_path, _log(samples))
    assert [(case.id, case.question, case.golds) for case in _read(packed)[0]] == [
        (case.id, case.question, case.golds) for case in _read(document)[0]
    ]
    assert [case.id for case in _read(packed)[0]] == ["1", "2", "10"]
    assert _queries(packed) == _queries(document) == [ANSWER] * 3


def test_several_epochs_are_several_answers_unless_one_is_named(tmp_path: Path) -> None:
    second = {**_sample(1, 2), "output": {"completion": "SELECT 2"}}
    path = _packed(tmp_path, [_sample(1), second])
    _, both = _read(path)
    assert [(one.query, one.repeat) for one in both] == [(f"```sql\n{ANSWER}\n```", 0), ("SELECT 2", 1)]
    (case,), (prediction,) = _read(path, prediction="epoch 2")
    assert (case.id, prediction.query) == ("1", "SELECT 2")


@each(
    ("name", "content", "said"),
    [
        ("log.eval", b"PK\x03\x04 cut off", "cannot be unpacked"),
        ("log.eval", b"{}", "cannot be unpacked"),
        ("log.json", json.dumps({**_log([]), "samples": None}).encode(), "contains no samples"),
        ("log.json", json.dumps({**_log([]), "samples": ["x"]}).encode(), "sample 1: is not a sample"),
        ("set.json", json.dumps({"samples": {"user_input": "q", "reference": "g"}}).encode(), "ragas"),
    ],
)
def test_what_is_no_such_file_is_told(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    formats = registry.case_formats()
    if said == "ragas":
        with pytest.raises(CaseFileError, match='no list under "samples"'):
            load_questions(path, formats=formats, format=said)
        return
    with pytest.raises(CaseFileError, match=said):
        load_questions(path, formats=formats)


def test_ours_and_benchmarks_files_are_nobody_elses(tmp_path: Path) -> None:
    formats = registry.case_formats()
    for document in (
        [{"id": "1", "question": "q", "gold_sql": GOLD, "predictions": {"a": {"sql": ANSWER}}}],
        [{"input": "q", "expected_sql": GOLD}],
        [{"sql": GOLD, "db_id": "shop", "question": "q", "predictions": {"A": {"sql": ANSWER}}}],
        [{"sql": GOLD, "db_id": "shop", "question": "q", "predictions": [ANSWER]}],
        [{"question": "q", "query": GOLD, "db_id": "shop", "sql": {"select": []}}],
        {"cases": [{"id": "1", "question": "q", "sql": GOLD}]},
    ):
        assert recognise(_written(tmp_path, document), formats).name in {"json", "spider"}


@each(
    ("changed", "path"),
    [
        ({"input": {"messages": [{"content": "Which names?", "role": "user"}]}}, "input.messages[0].content"),
        ({"expected": {"answer": GOLD}}, "expected.answer"),
        ({"output": [{"message": {"content": ANSWER}}]}, "output[0].message.content"),
        ({"output": {"a.b": ANSWER}}, 'output["a.b"]'),
    ],
)
def test_where_text_is_expected_and_an_object_stands_its_texts_are_named(
    tmp_path: Path, changed: dict[str, Any], path: str
) -> None:
    """Each of them can be named as the column."""
    file = _written(tmp_path, [{**BRAINTRUST[0], **changed}])
    with pytest.raises(CaseFileError, match="expected text; name a value in it as the column, for example ") as caught:
        _read(file)
    assert f'"{path}"' in str(caught.value)
    fields = FieldNames(
        **{{"input": "question", "expected": "gold", "output": "prediction"}[next(iter(changed))]: path}
    )
    formats = registry.case_formats()
    (case,) = load_questions(file, formats=formats, fields=replace(fields, prediction=None)).cases
    (prediction,) = load_predictions(
        file, formats=formats, fields=replace(fields, question=None, gold=None)
    ).predictions
    assert (case.question, case.golds, prediction.query) == ("Which names?", (GOLD,), ANSWER)
