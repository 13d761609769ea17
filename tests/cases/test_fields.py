"""Which column holds what: names, their order, and what happens where two could be meant."""

from __future__ import annotations

import csv
import io

import pytest

from assay.api.inputs import FileOptions, read_inputs
from assay.cases import load_cases, load_predictions
from assay.cases.fields import ALIASES
from assay.cases.load import load_questions
from assay.errors import CaseFileError
from assay.model import FieldNames


@pytest.fixture
def table(write):
    def writer(**columns):
        text = io.StringIO(newline="")
        rows = csv.writer(text)
        rows.writerow(columns)
        rows.writerow(columns.values())
        return write("set.csv", text.getvalue())

    return writer


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("gold", "gold_sql|Gold SQL|gold-sql|goldSql|GOLD|query|SQL|Solution|sql_query|gold_query|reference"),
        ("gold", "Ground Truth SQL|vql"),
        ("question", "Question|nl|utterance|prompt|NL-Question|query"),
        ("id", "id|ID|question_id|Question ID|case_id|qid|instance_id"),
        ("database", "db_id|db|database|db_name|DB-Name"),
        ("difficulty", "difficulty|hardness|Level"),
        ("context", "evidence|context|Additional Context|instructions|hint"),
        ("prediction", "predicted_sql|prediction|pred|pred_sql|generated_sql|completion|sql|query|response|answer"),
        ("prediction", "VQL Generated|sql_query"),
    ],
)
def test_names_of_columns(field, names, table, formats):
    for name in names.split("|"):
        if field == "prediction":
            (prediction,) = load_predictions(table(**{"id": "4", name: "SELECT 1"}), formats=formats).predictions
            assert (prediction.case_id, prediction.query) == ("4", "SELECT 1"), name
            continue
        others = {other: text for other, text in (("question", "a"), ("gold", "SELECT 1")) if other != field}
        (case,) = load_cases(table(**{name: "x", **others}), formats=formats)
        assert (case.golds[0] if field == "gold" else getattr(case, field)) == "x", name


def test_the_more_specific_name_wins(table, formats):
    path = table(id="1", question_id="q1", query="wrong", gold_sql="right", prompt="long", question="a", sql="x")
    (case,) = load_cases(path, formats=formats)
    assert (case.id, case.question, case.golds) == ("q1", "a", ("right",))
    (prediction,) = load_predictions(table(id=1, sql_query="right", answer="prose"), formats=formats).predictions
    assert prediction.query == "right"


def test_query_is_the_question_where_another_column_is_the_gold(table, formats):
    (case,) = load_cases(table(query="How many?", sql="SELECT 1"), formats=formats)
    assert (case.question, case.golds) == ("How many?", ("SELECT 1",))


def test_two_columns_that_could_both_be_it_are_an_error_only_where_they_differ(table, formats):
    same = load_predictions(table(id=1, sql="SELECT 1", response="SELECT 1"), formats=formats)
    assert same.predictions[0].query == "SELECT 1"
    half = load_predictions(table(id=1, sql="", response="SELECT 1"), formats=formats)
    assert half.predictions[0].query == "SELECT 1"
    with pytest.raises(CaseFileError, match=r'set.csv, line 2: "query" and "response" both could contain.*differ'):
        load_predictions(table(id=1, query="SELECT 2", response="SELECT 1"), formats=formats)
    named = load_predictions(
        table(id=1, query="SELECT 2", response="SELECT 1"), formats=formats, fields=FieldNames(prediction="response")
    )
    assert named.predictions[0].query == "SELECT 1"


def test_an_object_is_never_a_query(formats, write):
    path = write("set.jsonl", '{"id": 1, "question": "a", "query": "SELECT 1", "sql": {"select": []}}\n')
    assert load_cases(path, formats=formats)[0].golds == ("SELECT 1",)
    assert load_predictions(path, formats=formats).predictions[0].query == "SELECT 1"


def test_columns_named_by_the_user(table, formats):
    path = table(
        nr="9", Frage="a", Loesung="SELECT 1", question="no", gold="no", base="b", stufe="s", art="x;y", note="n"
    )
    fields = FieldNames(
        id="nr", question="Frage", gold="Loesung", database="base", difficulty="stufe", tags="art", context="note"
    )
    (case,) = load_cases(path, formats=formats, fields=fields)
    assert (case.id, case.question, case.golds, case.database) == ("9", "a", ("SELECT 1",), "b")
    assert (case.difficulty, case.tags, case.context) == ("s", ("x", "y"), "n")


def test_a_named_column_that_is_absent_names_the_others_and_the_closest(table, formats):
    path = table(question="a", gold_query="SELECT 1")
    with pytest.raises(CaseFileError) as caught:
        load_cases(path, formats=formats, fields=FieldNames(gold="gold_qeury"))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert '"gold_qeury"' in message
    assert '"question", "gold_query"' in message
    assert 'did you mean "gold_query"?' in message


def test_a_missing_column_says_what_there_is_and_guesses(table, formats):
    with pytest.raises(
        CaseFileError, match=r'the columns are "questoin", "gold"\. Name it:  --question-column questoin '
    ):
        load_cases(table(questoin="a", gold="SELECT 1"), formats=formats)
    with pytest.raises(CaseFileError, match=r'no column found for the gold query.*: {2}--gold-column db .*"gold_sql"'):
        load_cases(table(question="a", db="SELECT 1"), formats=formats)
    with pytest.raises(CaseFileError, match="no column found for the predicted query"):
        load_predictions(table(id="1", gold_sql="SELECT 1"), formats=formats)


def test_a_column_named_twice_is_an_error_only_where_it_is_read(formats, write):
    unread = write("a.csv", "question,gold,note,note\na,SELECT 1,x,y\n")
    assert load_cases(unread, formats=formats)[0].question == "a"
    with pytest.raises(CaseFileError, match=r'names the column "gold" more than once'):
        load_cases(write("b.csv", "question,gold,gold\na,SELECT 1,SELECT 2\n"), formats=formats)


def test_tokens_in_an_object_of_their_own(formats, write):
    line = (
        '{"id": 1, "sql_query": "SELECT 1", "answer": "One.", "tokens": {"input": 3, "outputTokens": 4, "model": "m"}}'
    )
    (prediction,) = load_predictions(write("p.jsonl", line), formats=formats).predictions
    assert (prediction.tokens.input, prediction.tokens.output, prediction.tokens.total) == (3, 4, None)


_VALUES = {"answerable": "yes", "decision": "answer", "confidence": "1", "latency_s": "1", "cost_usd": "1", "turn": "1"}


def _names(*fields):
    return [name for field in fields for tier in ALIASES[field] for name in tier]


def test_a_column_that_holds_a_field_is_not_called_unread(table, formats):
    more = {"Owner": "me", "Blank": ""}
    for name in [*_names("id", "database", "difficulty", "tags", "context"), "answerable"]:
        path = table(**{name: _VALUES.get(name, "x"), "question": "a", "gold_sql": "SELECT 1", **more})
        assert load_questions(path, formats=formats).unread == ("Owner",), name
    measures = ["decision", "confidence", "latency_s", "prompt_tokens", "cost_usd"]
    for name in [*_names("id", "context_tables"), *measures]:
        path = table(**{name: _VALUES.get(name, "1"), "predicted_sql": "SELECT 1", **more})
        assert load_predictions(path, formats=formats).unread == ("Owner",), name


@pytest.mark.parametrize(
    ("questions", "predictions", "expected"),
    [
        ("id,question,gold_sql", "id,predicted_sql", ()),
        ("id,question,gold_sql", "id,question,gold_sql,db_id,predicted_sql", ()),
        ("id,question,gold_sql,Owner", "id,Owner,Model,predicted_sql", ("Owner", "Model")),
        ("id,question,gold_sql,predicted_sql,Owner,confidence", None, ("Owner",)),
        ("case_id,conversation,turn,question,gold_sql,sql", "case_id,predicted_sql", ("sql",)),
    ],
)
def test_what_is_read_of_neither_file_is_named_once(questions, predictions, expected, write):
    def rows(header, name):
        return write(name, f"{header}\n{','.join('1' for _ in header.split(','))}\n")

    read = read_inputs(
        rows(questions, "questions.csv"),
        predictions and rows(predictions, "predictions.csv"),
        FileOptions(),
        allow_unmatched=False,
    )
    assert read.unread == expected


def test_the_keys_of_a_json_file_are_not_called_unread(write, formats):
    path = write("set.json", '[{"question": "a", "gold_sql": "SELECT 1", "toks": ["a"]}]')
    assert load_questions(path, formats=formats).unread == ()


@pytest.mark.parametrize("right", ["SQL richtig", "SQL vom System"])
def test_every_column_of_queries_is_offered_where_no_name_says_which_is_right(right, formats, write):
    head = "Nr,Frage,SQL richtig,SQL vom System\n"
    path = write("set.csv", f"{head}1,How many are there?,SELECT 1,SELECT 2\n")
    with pytest.raises(CaseFileError, match=rf"--prediction-column '{right}'"):
        load_predictions(path, formats=formats)
    with pytest.raises(CaseFileError, match=rf"--question-column Frage .*--gold-column '{right}'"):
        load_cases(path, formats=formats)


@pytest.mark.parametrize(
    ("column", "copied", "warned"),
    [
        ("SQL richtig", 10, True),
        ("SQL richtig", 9, True),
        ("SQL richtig", 8, False),
        ("predicted_sql", 10, False),
        ("Generated SQL", 10, False),
        ("completion", 10, False),
        ("sql", 10, True),
    ],
)
def test_predictions_that_repeat_the_gold_queries_are_reported(column, copied, warned, recwarn):
    cases = [{"id": str(at), "question": f"{at}?", "gold_sql": f"SELECT {at}"} for at in range(10)]
    predictions = [{"id": str(at), column: f"SELECT {at if at < copied else -1}"} for at in range(10)]
    options = FileOptions(prediction_fields=FieldNames(prediction=column))
    read_inputs(cases, predictions, options, allow_unmatched=False)
    messages = [str(one.message) for one in recwarn]
    assert any(f"{copied} of 10 predictions repeat their gold query letter for letter" in one for one in messages) == (
        warned
    )
