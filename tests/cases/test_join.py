"""Prediction files of every shape, and how predictions meet their cases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cases import POSITION, join, load_predictions
from assay.errors import InputError
from assay.model import Case, FieldNames, Prediction
from assay.ports import LoadedPredictions


def cases(*ids):
    return [Case(id=id_, question="?") for id_ in ids]


def predictions(*ids, by_position=False):
    return LoadedPredictions(
        predictions=tuple(Prediction(case_id=id_, query=f"SELECT {id_}") for id_ in ids), by_position=by_position
    )


def queries(loaded):
    return [(prediction.case_id, prediction.query) for prediction in loaded.predictions]


BY_ID = [("4", "SELECT 1"), ("x", None), ("7", "")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.json", '{"4": "SELECT 1", "x": null, "7": ""}'),
        ("p.json", '{"4": {"sql": "SELECT 1"}, "x": {"sql": null}, "7": {"sql": ""}}'),
        ("p.json", '[{"id": 4, "sql": "SELECT 1"}, {"id": "x"}, {"id": 7, "sql": ""}]'),
        ("p.json", '{"model": "m", "predictions": [{"id": 4, "sql": "SELECT 1"}, {"id": "x"}, {"id": 7, "sql": ""}]}'),
        ("p.jsonl", '{"id": 4, "sql": "SELECT 1"}\n{"id": "x", "sql": NaN}\n{"id": 7, "sql": ""}\n'),
        ("p.yaml", "4: SELECT 1\nx:\n7: ''\n"),
        ("p.yaml", "- {id: 4, sql: SELECT 1}\n- {id: x}\n- {id: 7, sql: ''}\n"),
    ],
)
def test_shapes_of_predictions_by_id(name, content, formats, write):
    loaded = load_predictions(write(name, content), formats=formats)
    assert (queries(loaded), loaded.by_position) == (BY_ID, False)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.json", '["SELECT 1", null, "SELECT \\n3"]'),
        ("p.json", '[{"sql": "SELECT 1"}, {"sql": null}, {"sql": "SELECT \\n3"}]'),
        ("p.jsonl", '"SELECT 1"\nnull\n"SELECT \\n3"\n'),
        ("p.yaml", '- SELECT 1\n-\n- "SELECT \\n3"\n'),
        ("p.csv", 'sql\nSELECT 1\n""\n"SELECT \n3"\n\n'),
        ("p.csv", 'sql\nSELECT 1\n\n"SELECT \n3"\n'),
        ("p.csv", 'sql,llm_time\nSELECT 1,\n,\n"SELECT \n3",\n,\n'),
    ],
)
def test_shapes_of_predictions_by_position(name, content, formats, write):
    loaded = load_predictions(write(name, content), formats=formats)
    assert queries(loaded) == [("0", "SELECT 1"), ("1", None), ("2", "SELECT \n3")]
    assert loaded.by_position


def test_a_blank_excel_row_between_predictions_without_ids_holds_its_position(formats, writers, tmp_path):
    rows = [{"VQL Generated": "SELECT 1"}, {"VQL Generated": None}, {"VQL Generated": "SELECT 3"}]
    loaded = load_predictions(writers[".xlsx"](tmp_path / "p.xlsx", rows), formats=formats)
    assert queries(loaded) == [("0", "SELECT 1"), ("1", None), ("2", "SELECT 3")]


def test_plain_lines_by_position(formats, write):
    loaded = load_predictions(write("p.txt", "SELECT 1\r\n\r\n SELECT '\x0b\u2028' \tshop\tx\r\n\r\n"), formats=formats)
    assert queries(loaded) == [("0", "SELECT 1"), ("1", None), ("2", "SELECT '\x0b\u2028'")]
    assert loaded.by_position
    assert loaded.predictions[1].failure.kind == "unanswered"


def test_position_where_asked_though_the_file_has_ids(formats, write):
    path = write("p.json", '{"a": "SELECT 1", "b": "SELECT 2"}')
    loaded = load_predictions(path, formats=formats, fields=FieldNames(id=POSITION))
    assert queries(loaded) == [("0", "SELECT 1"), ("1", "SELECT 2")]
    assert [prediction.case_id for prediction in join(cases("q", "r"), loaded).predictions] == ["q", "r"]


def test_join_by_id_keeps_the_cases_order_and_drops_nothing():
    joined = join(cases("a", "b", "c"), predictions("c", "z", "a"))
    assert [(p.case_id, p.query) for p in joined.predictions] == [("a", "SELECT a"), ("b", None), ("c", "SELECT c")]
    assert joined.unmatched == ("z",)
    failure = joined.predictions[1].failure
    assert (failure.stage, failure.kind, failure.blame) == ("ask", "unanswered", "system")


def test_join_by_position_gives_predictions_the_cases_ids():
    joined = join(cases("a", "b", "c"), predictions("2", "0", "5", by_position=True))
    assert [(p.case_id, p.query) for p in joined.predictions] == [("a", "SELECT 0"), ("b", None), ("c", "SELECT 2")]
    assert joined.unmatched == ("5",)


def test_no_fitting_id_is_an_error_that_shows_both_sides_and_offers_position():
    with pytest.raises(InputError) as caught:
        join(cases("q1", "q2", "q3", "q4", "q5"), predictions("1", "2", "3", "4", "5"))
    message = str(caught.value)
    assert '"q1", "q2", "q3", …' in message
    assert '"1", "2", "3", …' in message
    assert '"@position"' in message


def test_no_fitting_id_with_other_counts_does_not_offer_position():
    with pytest.raises(InputError) as caught:
        join(cases("q1", "q2"), predictions("1"))
    assert "@position" not in str(caught.value)


def test_positions_that_are_plainly_ids_are_an_error():
    with pytest.raises(InputError, match="1471 is beyond the last of 3 cases and is the id of one"):
        join(cases("1471", "1", "1473"), predictions("1471", "1", by_position=True))
    with pytest.raises(InputError, match="at positions from 0 to 0, and the predictions are for the positions"):
        join(cases("a"), predictions("1", by_position=True))


@given(st.permutations(range(1, 13)))
def test_positions_that_are_all_numbers_from_1_count_from_1(numbers):
    names = [f"q{number}" for number in range(1, 13)]
    joined = join(cases(*names), predictions(*(str(number) for number in numbers), by_position=True))
    answered = {one.case_id: one.query for one in joined.predictions}
    assert answered == {f"q{number}": f"SELECT {number}" for number in numbers}


def test_positions_without_0_that_go_beyond_the_cases_are_an_error():
    with pytest.raises(InputError, match="they may count from 1"):
        join(cases("a", "b", "c"), predictions("1", "2", "3", "4", by_position=True))


def test_positions_from_1_that_are_the_ids_of_other_cases_are_an_error():
    own = ("1", "2", "3")
    joined = join(cases(*own), predictions(*own, by_position=True))
    assert [one.case_id for one in joined.predictions] == list(own)
    with pytest.raises(InputError, match="their keys are the cases' ids"):
        join(cases("2", "1", "3"), predictions(*own, by_position=True))


def test_no_predictions_at_all_leave_every_case_unanswered():
    joined = join(cases("a"), LoadedPredictions(predictions=()))
    assert joined.predictions[0].failure.kind == "unanswered"


@given(st.lists(st.text(min_size=1), unique=True, min_size=1), st.data())
def test_each_case_gets_exactly_its_own_prediction(ids, data):
    answered = data.draw(st.lists(st.sampled_from(ids), unique=True, min_size=1))
    joined = join(cases(*ids), predictions(*answered))
    assert [p.case_id for p in joined.predictions] == ids
    assert [p.query for p in joined.predictions] == [f"SELECT {i}" if i in answered else None for i in ids]
    assert joined.unmatched == ()
