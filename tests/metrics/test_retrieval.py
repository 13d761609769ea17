"""The metrics of retrieval: what the system was given beside what gold uses."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assay.metrics.retrieval import RETRIEVAL
from assay.model import Case, ColumnSchema, DatabaseSchema, Execution, Prediction, Score, TableSchema
from assay.model.verdicts.retrieval import CONTEXT_COMPLETE, RETRIEVAL_METRICS
from assay.ports import Executions
from assay.sql.context import read_context
from many_cases import each

METRICS: dict[str, Any] = {kind.name: kind() for kind in RETRIEVAL}


def _schema(tables: dict[str, list[str]]) -> DatabaseSchema:
    return DatabaseSchema(
        dialect="sqlite",
        tables=tuple(
            TableSchema(name=name, ddl="", columns=tuple(ColumnSchema(name=one, type="TEXT") for one in columns))
            for name, columns in tables.items()
        ),
    )


SINGERS = _schema({"singer": ["id", "name", "age"], "concert": ["id", "singer_id", "year"], "venue": ["id", "city"]})


def _scores(
    golds: tuple[str, ...], prediction: Prediction, schema: DatabaseSchema | None = SINGERS, **executions: Any
) -> dict[str, Score]:
    case = Case(id="1", question="Who?", golds=golds)
    ran = tuple(Execution(query=gold, status="empty") for gold in golds)
    given_ = Executions(golds=ran, schema=schema, dialect="sqlite", **executions)
    return {name: metric.score(case, prediction, given_, None) for name, metric in METRICS.items()}


def _values(golds: tuple[str, ...], tables: Any, columns: Any = None, **more: Any) -> tuple[float | None, ...]:
    prediction = Prediction(case_id="1", query="SELECT 1", context_tables=tables, context_columns=columns)
    return tuple(score.value for score in _scores(golds, prediction, **more).values())


def test_they_are_those_that_a_run_computes_by_itself() -> None:
    assert tuple(METRICS) == RETRIEVAL_METRICS


JOIN = "SELECT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id WHERE c.year > 2000"


@each(
    ("golds", "tables", "columns", "wanted"),
    [
        ((JOIN,), ("singer", "concert"), None, (1, 1, None, None, 1)),
        ((JOIN,), ("main.SINGER", '"concert"', "venue", "singer"), None, (1, 2 / 3, None, None, 1)),
        ((JOIN,), ("singer",), None, (1 / 2, 1, None, None, 0)),
        ((JOIN,), ("concerts",), None, (0, 0, None, None, 0)),
        ((JOIN,), (), None, (0, None, None, None, 0)),
        ((JOIN,), ("singer.*", "concert.*"), None, (1, 1, 1, 4 / 6, 1)),
        ((JOIN,), None, ("singer.id", "singer.name", "concert.singer_id"), (1, 1, 3 / 4, 1, 0)),
        ((JOIN,), ("singer", "concert"), (), (1, 1, 0, None, 0)),
        ((JOIN, "SELECT name FROM singer"), ("singer",), None, (1, 1, None, None, 1)),
        (("SELECT name FROM singer", "SELECT city FROM venue"), ("singer", "venue"), None, (1, 1 / 2, None, None, 1)),
        (("SELECT COUNT(*) FROM singer",), ("singer",), ("singer.id",), (1, 1, None, None, 1)),
        (("SELECT rowid, name FROM singer",), None, ("singer.id", "singer.name"), (1, 1, 1, 1 / 2, 1)),
        (("SELECT 1",), ("singer",), None, (None, None, None, None, None)),
        (("WITH s AS (SELECT * FROM singer) SELECT name FROM s",), ("singer",), None, (1, 1, None, None, 1)),
    ],
)  # fmt: skip
def test_the_shares(golds: tuple[str, ...], tables: Any, columns: Any, wanted: tuple[float | None, ...]) -> None:
    assert _values(golds, tables, columns) == wanted


def test_complete_is_of_one_gold_and_not_of_parts_of_several() -> None:
    golds = ("SELECT age FROM singer", "SELECT singer.id FROM singer, venue")
    recall, _, columns, _, complete = _values(golds, None, ("singer.id",))
    assert (recall, columns, complete) == (1.0, 1.0, 0.0)


def test_what_is_missing_is_named() -> None:
    prediction = Prediction(case_id="1", context_columns=("singer.id",))
    scores = _scores((JOIN,), prediction)
    assert scores["context_table_recall"].detail == "missing: concert"
    assert scores["context_column_recall"].detail == "missing: concert.singer_id, concert.year, singer.name"
    assert scores[CONTEXT_COMPLETE].detail == "missing: concert, singer.name"


def test_the_answer_itself_plays_no_part() -> None:
    said = {"context_tables": ("singer", "venue")}
    answers = [
        Prediction(case_id="1", **said),
        Prediction(case_id="1", query="no SQL", **said),
        Prediction(case_id="1", decision="decline", **said),
        Prediction(case_id="1", query=JOIN, **said),
    ]
    assert len({tuple(score.value for score in _scores((JOIN,), answer).values()) for answer in answers}) == 1


@each(
    ("prediction", "more", "why"),
    [
        ({}, {}, "does not say which tables"),
        ({"context_tables": ("a",)}, {"apart": True}, "another database"),
        ({"context_tables": ("a",)}, {"golds": ()}, "no gold query"),
    ],
)
def test_without_value(prediction: dict[str, Any], more: dict[str, Any], why: str) -> None:
    case = Case(id="1", question="Who?", golds=(JOIN,))
    executions = Executions(**({"golds": (Execution(query=JOIN, status="empty"),), "schema": SINGERS} | more))
    for metric in METRICS.values():
        score = metric.score(case, Prediction(case_id="1", query="x", **prediction), executions, None)
        assert score.value is None
        assert why in score.failure.message


def test_without_a_schema_only_tables_have_values() -> None:
    assert _values((JOIN,), ("bank.Singer", "CONCERT", "venue"), schema=None) == (1.0, 2 / 3, None, None, 1.0)
    assert _values(("SELECT name FROM bank.singer",), ("singer",), ("singer.name",), schema=None)[:2] == (1.0, 1.0)


NAMES = st.text("abcXYZ _.", min_size=1, max_size=6).map(str.strip).filter(lambda name: name.strip("._ "))
SCHEMAS = st.dictionaries(
    NAMES.map(lambda name: name.lower()),
    st.lists(NAMES, min_size=1, max_size=4, unique_by=str.lower),
    min_size=1,
    max_size=4,
)


def _quoted(name: str) -> str:
    return '"' + name + '"'


@given(SCHEMAS, st.data())
def test_recall_and_precision_are_those_of_sets(tables: dict[str, list[str]], data: st.DataObject) -> None:
    columns = [(table, column) for table, names in tables.items() for column in names]
    gold = data.draw(st.lists(st.sampled_from(columns), min_size=1, max_size=5, unique=True))
    context = data.draw(st.lists(st.sampled_from(columns), max_size=6, unique=True))
    used = list(dict.fromkeys(table for table, _ in gold))
    selected = ", ".join(f"t{used.index(table)}.{_quoted(column)}" for table, column in gold)
    query = f"SELECT {selected} FROM " + ", ".join(f"{_quoted(table)} AS t{n}" for n, table in enumerate(used))
    change = data.draw(st.sampled_from([str, str.upper, str.lower]))
    said = tuple(f"{_quoted(change(table))}.{_quoted(change(column))}" for table, column in context)
    of_tables, given_tables = set(used), {table for table, _ in context}
    share = [
        Fraction(len(of_tables & given_tables), len(of_tables)),
        Fraction(len(of_tables & given_tables), len(given_tables)) if given_tables else None,
        Fraction(len(set(gold) & set(context)), len(gold)),
        Fraction(len(set(gold) & set(context)), len(context)) if context else None,
        Fraction(set(gold) <= set(context)),
    ]
    wanted = [None if one is None else float(one) for one in share]
    found = _values((query,), None, said, schema=_schema(tables))
    assert [None if one is None else round(one, 9) for one in found] == [
        None if one is None else round(one, 9) for one in wanted
    ]
    # Everything that gold uses, and more: nothing is missing.
    every = tuple(dict.fromkeys((*said, *(f"{_quoted(table)}.{_quoted(column)}" for table, column in gold))))
    recall, _, column_recall, _, complete = _values((query,), None, every, schema=_schema(tables))
    assert (recall, column_recall, complete) == (1.0, 1.0, 1.0)


def test_whoever_is_given_a_whole_schema_of_birds_misses_nothing(shared_data: Path) -> None:
    """Names with spaces, percent signs and parentheses, in each form."""
    folder = shared_data / "bird-mini-dev"
    schemas = {
        one["db_id"]: {
            table: [column for of, column in one["column_names_original"] if of == place]
            for place, table in enumerate(one["table_names_original"])
        }
        for one in json.loads((folder / "mini_dev_sqlite_tables.json").read_text(encoding="utf-8"))
    }
    for record in json.loads((folder / "mini_dev_sqlite.json").read_text(encoding="utf-8")):
        tables = schemas[record["db_id"]]
        listed = {table: ", ".join(f"`{column}`" for column in columns) for table, columns in tables.items()}
        forms: tuple[tuple[object, object], ...] = (
            (tables, None),
            (
                [{"table": table, "columns": [{"name": one} for one in columns]} for table, columns in tables.items()],
                None,
            ),
            ("\n".join(f"`{table}`({columns})" for table, columns in listed.items()), None),
            ("\n".join(f"CREATE TABLE `{table}` ({columns})" for table, columns in listed.items()), None),
            (None, [f"{table}.{column}" for table, columns in tables.items() for column in columns]),
        )
        schema = _schema(tables)
        for given_ in forms:
            context = read_context(*given_)
            prediction = Prediction(case_id="1", context_tables=context.tables, context_columns=context.columns)
            scores = _scores((record["SQL"],), prediction, schema=schema)
            assert scores[CONTEXT_COMPLETE].value == 1.0, (record["SQL"], scores[CONTEXT_COMPLETE].detail)
