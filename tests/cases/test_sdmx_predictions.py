"""Prediction files of SDMX assistants: the answers of each layout, kept as they came."""

from __future__ import annotations

import json

import polars as pl
import pytest
from refusing import assert_refused

from assay.cases import POSITION
from assay.cases.sdmx.format import SdmxFormat
from assay.cases.sdmx.in_memory import predictions_in_memory
from assay.errors import CaseFileError
from assay.model import FieldNames
from assay.runs.reviews.finding import fingerprint_file

SELECTION = {"indicator_selection": [{"dataset_id": "D", "dimensions": [{"dimension_name": "X", "values": ["A"]}]}]}
QUERY = {"urn": "IMF.RES:WEO(1.0.0)", "filters": [{"componentCode": "X", "operator": "in", "values": ["LP"]}]}
URL = "https://x/data/IMF,D/A.B"


def load(path, **fields):
    return SdmxFormat().predictions(path, FieldNames(**fields))


def raws(prediction):
    """The answers, structured ones decoded."""
    return [
        json.loads(turn.raw) if turn.raw is not None and turn.raw[:1] in ("{", "[") else turn.raw
        for turn in prediction.turns
    ]


@pytest.mark.parametrize(
    ("record", "answers"),
    [
        ({"id": "a", "answer": URL}, [URL]),
        ({"case_id": "a", "url": URL}, [URL]),
        ({"name": "a", "prediction": SELECTION}, [SELECTION]),
        ({"id": "a", "selection": SELECTION, "note": 1}, [SELECTION]),
        ({"id": "a", "query": QUERY}, [QUERY]),
        ({"id": "a", "answer": [QUERY, QUERY]}, [[QUERY, QUERY]]),
        ({"id": "a", "answer": json.dumps(QUERY)}, [QUERY]),
        ({"id": "a", **SELECTION}, [SELECTION]),
        ({"id": "a", **QUERY}, [QUERY]),
        ({"id": "a", "answer": None, "url": URL}, [URL]),
        ({"id": "a", "turns": [URL, None, SELECTION, {"answer": QUERY}, ""]}, [URL, None, SELECTION, QUERY, None]),
        (
            {
                "id": "a",
                "conversation": [
                    {"role": "user", "content": "q", "target": SELECTION},
                    {"role": "assistant", "content": "said"},
                    {"role": "user", "content": "r", "targets": [SELECTION]},
                    {"role": "user", "content": "s"},
                ],
            },
            [SELECTION, SELECTION, None],
        ),
    ],
)
def test_layouts_of_a_record(record, answers, write):
    text = json.dumps(record)
    for name, content in [
        ("p.json", text),
        ("p.json", f"[{text}]"),
        ("p.json", f'{{"predictions": [{text}]}}'),
        ("p.jsonl", text + "\n"),
        ("p.yaml", text),
        ("p.yaml", f"- {text}"),
        ("p.yaml", f"cases:\n- {text}"),
    ]:
        loaded = load(write(name, content))
        assert not loaded.by_position
        (prediction,) = loaded.predictions
        assert (prediction.case_id, prediction.query, prediction.failure) == ("a", None, None)
        assert raws(prediction) == answers
        unanswered = [turn.failure.kind if turn.failure else None for turn in prediction.turns]
        assert unanswered == ["unanswered" if answer is None else None for answer in answers]


def test_a_file_by_id(write):
    answers = {"a": URL, "b": None, "c": SELECTION, "d": {"turns": [URL, QUERY]}, "e": {"answer": QUERY}, "f": QUERY}
    for name in ("p.json", "p.yaml"):
        loaded = load(write(name, json.dumps(answers)))
        assert [one.case_id for one in loaded.predictions] == list("abcdef")
        assert [raws(one) for one in loaded.predictions] == [[URL], [None], [SELECTION], [URL, QUERY], [QUERY], [QUERY]]
        assert loaded.predictions[1].failure is not None
        assert loaded.predictions[1].failure.kind == "unanswered"
        assert loaded.predictions[1].origin == f'{name}, key "b"'


def test_what_stands_beside_an_answer(write):
    text = "id: a\nturns:\n- answer: x\n  text: Here it is\n  latency_s: 1.5\n- answer: y\n"
    first, second = load(write("p.yaml", text)).predictions[0].turns
    assert (first.raw, first.text, first.latency_s, first.selection) == ("x", "Here it is", 1.5, None)
    assert (second.text, second.latency_s) == (None, None)


def test_codes_keep_their_text(write):
    values = "[{id: 1.10}, {id: null}, {id: NO, name: null}, 007]"
    dataset = f"{{dataset_id: D, dimensions: [{{dimension_name: X, values: {values}}}]}}"
    text = f"id: a\nanswer: {{indicator_selection: [{dataset}]}}\n"
    (answer,) = raws(load(write("p.yaml", text)).predictions[0])
    kept = answer["indicator_selection"][0]["dimensions"][0]["values"]
    assert kept == [{"id": "1.10"}, {"id": "null"}, {"id": "NO", "name": None}, "007"]
    block = "id: a\nindicator_selection:\n- dataset_id: D\n  dimensions:\n  - dimension_name: X\n    values:\n"
    (answer,) = raws(load(write("p.yaml", block + "    - id: 1.10\n      name: one\n")).predictions[0])
    assert answer["indicator_selection"][0]["dimensions"][0]["values"] == [{"id": "1.10", "name": "one"}]
    (answer,) = raws(load(write("p.json", '{"id": "a", "answer": [{"id": 1.10}]}')).predictions[0])
    assert answer == [{"id": "1.10"}]


def test_without_ids_by_position(write):
    loaded = load(write("p.json", json.dumps([URL, None, SELECTION])))
    assert loaded.by_position
    assert [one.case_id for one in loaded.predictions] == ["0", "1", "2"]
    assert load(write("p.json", '[{"id": "x", "answer": "a"}]'), id=POSITION).by_position


def test_named_keys(write):
    path = write("p.jsonl", '{"key": "k", "id": "a", "said": "x", "answer": "y"}\n')
    (prediction,) = load(path, id="key", prediction="said").predictions
    assert (prediction.case_id, raws(prediction)) == ("k", ["x"])
    with pytest.raises(CaseFileError, match=r'unknown column "keys".*did you mean "key"'):
        load(path, id="keys")


@pytest.mark.parametrize(
    ("name", "content", "place", "says"),
    [
        (
            "p.jsonl",
            '{"id": "a", "answr": "x"}\n',
            "line 1",
            ['no answer, only "id", "answr"', 'Write it under "answer"'],
        ),
        ("p.yaml", "- id: a\n  answer: x\n- answer: y\n", None, ["p.yaml, line 3 has no id", "others have one"]),
        ("p.yaml", "id: a\nanswer: x\nurl: y\n", "line 3, column 6", ['both "answer" and "url"']),
        ("p.jsonl", '{"id": "a", "answer": 5}\n', "line 1", ["answer: the answer is the number 5"]),
        ("p.jsonl", '{"id": " ", "answer": "x"}\n', "line 1", ["the id is blank"]),
        ("p.jsonl", '{"id": "a", "turns": "x"}\n', "line 1", ["expected a list of answers"]),
        ("p.jsonl", '{"id": "a", "answer": "x", "latency_s": "fast"}\n', "line 1", ["latency_s", "expected a number"]),
        ("p.jsonl", '{"id": "a", "answer": "x", "answer": "y"}\n', "line 1", ['key "answer" more than once']),
        ("p.txt", "id,answer\n", None, ['has the suffix ".txt"']),
    ],
)
def test_unusable_predictions(name, content, place, says, write):
    assert_refused(load, write(name, content), place, says)


def test_a_folder_of_predictions_has_a_fingerprint_of_names_and_contents(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.json").write_text('{"id": "x", "answer": "1"}')
    (tmp_path / "a.json").write_text('{"id": "a", "answer": "2"}')
    assert [one.origin for one in load(tmp_path).predictions] == ["a.json, item 1", "b/x.json, item 1"]
    before = fingerprint_file(str(tmp_path))
    assert before == fingerprint_file(str(tmp_path))
    assert before.name == tmp_path.name
    (tmp_path / "a.json").rename(tmp_path / "c.json")
    renamed = fingerprint_file(str(tmp_path))
    (tmp_path / "c.json").write_text('{"id": "a", "answer": "3"}')
    assert len({before.digest, renamed.digest, fingerprint_file(str(tmp_path)).digest}) == 3


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet"])
def test_tables_have_an_id_and_an_answer_in_each_row(suffix, tmp_path):
    path = tmp_path / f"p.{suffix}"
    frame = pl.DataFrame({"Case ID": ["a", "b", "c"], "URL": [URL, json.dumps(SELECTION), None]})
    {"csv": frame.write_csv, "xlsx": frame.write_excel, "parquet": frame.write_parquet}[suffix](path)
    predictions = load(path).predictions
    assert [one.case_id for one in predictions] == ["a", "b", "c"]
    assert [raws(one) for one in predictions] == [[URL], [SELECTION], [None]]
    assert predictions[2].failure.kind == "unanswered"


def test_columns_of_a_table_may_be_named(write):
    path = write("p.csv", f"key,text\n7,{URL.replace(',', '/')}\n")
    with pytest.raises(CaseFileError, match='no column found for the answer; the columns are "key", "text"'):
        load(path)
    (prediction,) = load(path, id="key", prediction="text").predictions
    assert (prediction.case_id, raws(prediction)) == ("7", [URL.replace(",", "/")])


@pytest.mark.parametrize("column", ["URL", "Answer", "response"])
def test_columns_of_a_data_frame_have_the_usual_names(column):
    (prediction,) = predictions_in_memory([{"Case ID": "a", column: URL}]).predictions
    assert (prediction.case_id, raws(prediction)) == ("a", [URL])
