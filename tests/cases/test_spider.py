"""Spider's dev.json, gold lines and prediction lines, and how its layout is told from others."""

from __future__ import annotations

import json

import pytest

from assay.cases import join, load_cases, load_predictions, recognise

QUESTIONS = [
    {
        "db_id": "shop",
        "query": "SELECT count(*) FROM shop",
        "query_toks": ["SELECT", "count"],
        "question": "How many shops?",
        "question_toks": ["How"],
        "sql": {"from": {"table_units": [["table_unit", 1]]}, "select": [False, [[3, [0, [0, 0, False], None]]]]},
    },
    {"db_id": "bank", "query": "SELECT 2", "question": "And banks?", "sql": {}},
]


def test_questions_as_they_come(formats, write):
    path = write("dev.json", json.dumps(QUESTIONS))
    assert recognise(path, formats).name == "spider"
    first, second = load_cases(path, formats=formats)
    assert (first.id, first.question, first.database) == ("0", "How many shops?", "shop")
    assert first.golds == ("SELECT count(*) FROM shop",)
    assert (second.id, second.golds, second.origin) == ("1", ("SELECT 2",), "dev.json, item 2")


def test_prediction_lines_answer_by_position(formats, write):
    cases = load_cases(write("dev.json", json.dumps(QUESTIONS)), formats=formats)
    loaded = load_predictions(write("pred.sql", "SELECT 1\tshop\nSELECT 2\n\n"), formats=formats)
    joined = join(cases, loaded)
    assert [(p.case_id, p.query) for p in joined.predictions] == [("0", "SELECT 1"), ("1", "SELECT 2")]
    assert joined.predictions[1].origin == "pred.sql, line 2"


def test_predictions_in_json_by_position(formats, write):
    loaded = load_predictions(write("pred.json", '["SELECT 1"]'), formats=formats, format="spider")
    assert (loaded.by_position, loaded.predictions[0].query) == (True, "SELECT 1")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ([{"db_id": "a", "question": "b", "query": "c"}], "spider"),
        ([{"id": 1, "db_id": "a", "question": "b", "query": "c"}], "json"),
        ([{"db_id": "a", "question": "b", "gold": "c"}], "json"),
        ([{"db_id": "a", "question": "b", "SQL": "c", "evidence": ""}], "bird"),
        ([{"db_id": "a", "question": "b", "SQL": "c"}], "json"),
        ([{"db_id": "a", "question": "b" * 100_000, "query": "c"}], "spider"),
        ({"0": "SELECT 1"}, "json"),
        (["SELECT 1"], "json"),
        ([], "json"),
        (5, "json"),
    ],
)
def test_json_layouts_are_told_apart(content, name, formats, write):
    assert recognise(write("a.json", json.dumps(content)), formats).name == name
    assert recognise(write("a.json", b"\xef\xbb\xbf \n" + json.dumps(content).encode()), formats).name == name


@pytest.mark.parametrize("content", ["", "{", "[", "[{", '[{"db_id"', "[" * 100_000, b"\xff\xfe"])
def test_a_look_inside_a_broken_file_is_harmless(content, formats, write):
    assert recognise(write("a.json", content), formats).name == "json"
