"""BIRD's questions, gold and predictions."""

from __future__ import annotations

import json
import random

import pytest

from assay.cases import join, load_cases, load_predictions, recognise
from assay.cases.fields import POSITION
from assay.cases.joining.candidates import by_position
from assay.errors import CaseFileError, InputError
from assay.model import FieldNames

MARK = "\t----- bird -----\t"


def entry(question_id, query="SELECT 1", **more):
    return {
        "question_id": question_id,
        "db_id": "shop",
        "question": f"Question {question_id}?",
        "evidence": "",
        "SQL": query,
        "difficulty": "simple",
        **more,
    }


def test_questions_as_they_come(formats, write):
    path = write("dev.json", json.dumps([entry(1471, evidence="a = b"), entry(1472, "SELECT 2")], indent=2))
    assert recognise(path, formats).name == "bird"
    first, second = load_cases(path, formats=formats)
    assert (first.id, first.database, first.question) == ("1471", "shop", "Question 1471?")
    assert (first.golds, first.difficulty, first.context) == (("SELECT 1",), "simple", "a = b")
    assert (second.golds, second.context) == (("SELECT 2",), None)


def test_questions_of_the_training_set_have_neither_id_nor_difficulty(formats, write):
    plain = {key: value for key, value in entry(0).items() if key not in ("question_id", "difficulty")}
    path = write("train.json", json.dumps([plain, plain | {"question": "Other?"}]))
    assert recognise(path, formats).name == "bird"
    assert [(case.id, case.difficulty) for case in load_cases(path, formats=formats)] == [("0", None), ("1", None)]


def test_an_entry_that_occurs_twice_word_for_word_keeps_its_place(formats, write):
    path = write("dev.json", json.dumps([entry(7), entry(8), entry(7), entry(7)]))
    assert [case.id for case in load_cases(path, formats=formats)] == ["7", "8", "7#2", "7#3"]


def test_another_question_with_the_same_id_is_an_error(formats, write):
    path = write("dev.json", json.dumps([entry(7), entry(7, "SELECT 2")]))
    with pytest.raises(CaseFileError, match=r'id "7" occurs twice: in dev.json, item 1 and in dev.json, item 2'):
        load_cases(path, formats=formats)


def test_gold_lines(formats, write):
    path = write("gold.sql", "SELECT 'a\tb'\tshop\nSELECT 2\tbank\n\n")
    for format in (None, "bird"):
        cases = load_cases(path, formats=formats, format=format)
        assert [(case.id, case.golds, case.database) for case in cases] == [
            ("0", ("SELECT 'a\tb'",), "shop"),
            ("1", ("SELECT 2",), "bank"),
        ]


def test_predictions_go_by_position_and_not_by_question_id(formats, write):
    cases = load_cases(write("dev.json", json.dumps([entry(1), entry(0), entry(2)])), formats=formats)
    content = {"1": f"SELECT\n 'b'{MARK}shop", "0": f"SELECT 'a'{MARK}shop", "2": 0}
    path = write("predict.json", json.dumps(content))
    assert recognise(path, formats).name == "bird"
    loaded = load_predictions(path, formats=formats)
    assert loaded.by_position
    with pytest.raises(InputError, match=r"question_id.*@position"):  # one database: either may be meant
        join(cases, loaded)
    joined = join(cases, load_predictions(path, formats=formats, fields=FieldNames(id=POSITION)))
    own = [(p.case_id, p.query) for p in joined.predictions]
    assert own == [("1", "SELECT 'a'"), ("0", "SELECT\n 'b'"), ("2", None)]
    assert joined.predictions[2].failure.kind == "unanswered"
    assert "the number 0" in joined.predictions[2].failure.message
    assert joined.unmatched == ()


@pytest.mark.parametrize("databases", ["by position", "by id", "one", "some"])
@pytest.mark.parametrize("seed", range(3))
def test_keys_that_are_positions_and_ids_are_not_guessed(databases, seed, formats, write):
    """Only databases that fit the positions alone decide for them."""
    ids = random.Random(seed).sample(range(8), 8)
    name = dict.fromkeys(range(8), "shop") if databases == "one" else {n: f"db{n}" for n in range(8)}
    cases = load_cases(
        write("dev.json", json.dumps([entry(id_) | {"db_id": name[place]} for place, id_ in enumerate(ids)])),
        formats=formats,
    )
    content = {}
    for key in range(8):
        place = ids.index(key) if databases == "by id" else key
        mark = "" if databases == "some" and key % 2 else f"{MARK}{name[place]}"
        content[str(key)] = f"SELECT {key}{mark}"
    loaded = load_predictions(write("predict.json", json.dumps(content)), formats=formats)
    if databases in ("by position", "some"):
        assert [one.query for one in join(cases, loaded).predictions] == [f"SELECT {n}" for n in range(8)]
        return
    with pytest.raises(InputError, match="--prediction-id-column question_id") as raised:
        join(cases, loaded)
    assert (by_position() in str(raised.value)) == (databases != "by id")


def test_keys_in_the_order_of_ids_need_no_choice(formats, write):
    cases = load_cases(write("dev.json", json.dumps([entry(n) for n in range(4)])), formats=formats)
    path = write("predict.json", json.dumps({str(n): f"SELECT {n}" for n in range(4)} | {"0": f"SELECT 0{MARK}shop"}))
    joined = join(cases, load_predictions(path, formats=formats))
    assert [one.query for one in joined.predictions] == [f"SELECT {n}" for n in range(4)]


def test_predictions_keyed_by_question_id_where_named(formats, write):
    path = write("predict.json", json.dumps({"1471": f"SELECT 1{MARK}shop", "1472": "SELECT 2", "1473": MARK}))
    loaded = load_predictions(path, formats=formats, fields=FieldNames(id="question_id"))
    assert not loaded.by_position
    read = [(p.case_id, p.query) for p in loaded.predictions]
    assert read == [("1471", "SELECT 1"), ("1472", "SELECT 2"), ("1473", "")]


def test_a_list_is_no_bird_prediction_file(formats, write):
    path = write("predict.json", '["SELECT 1"]')
    with pytest.raises(CaseFileError, match=r"contains a list: BIRD's predictions are one object"):
        load_predictions(path, formats=formats, format="bird")
    with pytest.raises(CaseFileError, match="no keys"):
        load_predictions(write("predict.json", "{}"), formats=formats, format="bird")


def test_the_mark_is_found_however_far_down_it_stands(formats, write):
    path = write("predict.json", json.dumps({"0": "SELECT '" + "x" * 100_000 + "'" + MARK + "shop"}))
    assert recognise(path, formats).name == "bird"
