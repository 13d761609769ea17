"""Schema linking and retrieval: what counts as used, what the system was given, and what has no value."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assay import registry
from assay.metrics.retrieval import RETRIEVAL
from assay.model import Case, DatabaseSchema, Execution, Failure, Prediction, Result, Score
from assay.model.verdicts.retrieval import CONTEXT_COMPLETE, RETRIEVAL_METRICS
from assay.ports import Executions
from assay.sql.context import read_context
from assay.sql.schema.ddl import read_ddl
from many_cases import each

TABLES = "CREATE TABLE Singer (Singer_ID INT, Name INT, Age INT); CREATE TABLE Concert (Singer_ID INT, Year INT)"
SCHEMA = read_ddl(TABLES, "sqlite").schema
RAN = Execution(query="", status="rows", result=Result.of([(1,)], columns=["x"]), row_count=1)
FAILED = Failure(stage="execute", kind="error", blame="gold", message="no such table: singers")
JOINED = "SELECT name FROM singer JOIN concert USING (singer_id)"
NAMES = [f"{items}_{share}" for items in ("table", "column") for share in ("recall", "precision", "f1")]


def _score(metric: str, gold: str | tuple[str, ...], predicted: str | None, **known: object) -> Score:
    golds = (gold,) if isinstance(gold, str) else gold
    executions = Executions(
        golds=known.get("ran", (RAN,) * len(golds)),  # type: ignore[arg-type]
        predicted=RAN,
        schema=known.get("schema", SCHEMA),  # type: ignore[arg-type]
    )
    case = Case(id="1", question="", golds=golds)
    return registry.metric(metric).score(case, Prediction(case_id="1", query=predicted), executions, None)


def _values(gold: str | tuple[str, ...], predicted: str | None) -> list[float | None]:
    found = [_score(name, gold, predicted).value for name in NAMES]
    return [None if value is None else round(value, 3) for value in found]


@each(
    ("gold", "predicted", "values"),
    [
        ("SELECT name FROM singer", "SELECT s.NAME FROM Singer AS s", [1, 1, 1, 1, 1, 1]),
        (JOINED, "SELECT name FROM singer", [0.5, 1, 0.667, 0.333, 1, 0.5]),
        ("SELECT name FROM singer", JOINED, [1, 0.5, 0.667, 1, 0.333, 0.5]),
        ("SELECT name FROM singer", "SELECT * FROM singer", [1, 1, 1, 1, 0.333, 0.5]),
        ("SELECT name FROM singer", "SELECT year FROM concert", [0, 0, 0, 0, 0, 0]),
        ("SELECT name FROM singer", "SELECT name, height FROM singer", [1, 1, 1, 1, 0.5, 0.667]),
        ("SELECT name FROM singer", "SELECT name FROM singers", [0, 0, 0, 0, 0, 0]),
        ("SELECT name FROM singer", "SELECT COUNT(*) FROM singer", [1, 1, 1, 0, 0, 0]),
        ("SELECT COUNT(*) FROM singer", "SELECT COUNT(name) FROM singer", [1, 1, 1, None, None, None]),
        ("SELECT name FROM singer", "I do not know", [0, 0, 0, 0, 0, 0]),
        ("SELECT name FROM singer", None, [0, 0, 0, 0, 0, 0]),
        (("SELECT year FROM concert", "SELECT name FROM singer"), "SELECT name FROM singer", [1, 1, 1, 1, 1, 1]),
        (("SELECT year FROM concert", "no query"), "SELECT year FROM concert", [1, 1, 1, 1, 1, 1]),
    ],
)
def test_values(gold: str | tuple[str, ...], predicted: str | None, values: list[float | None]) -> None:
    assert _values(gold, predicted) == values


def test_the_detail_names_what_is_missing_and_what_is_extra() -> None:
    gold, predicted = "SELECT name FROM singer", "SELECT age FROM singer"
    assert _score("column_recall", gold, predicted).detail == "missing: singer.name"
    assert _score("column_precision", gold, predicted).detail == "extra: singer.age"
    assert _score("column_f1", gold, predicted).detail == "missing: singer.name; extra: singer.age"
    assert _score("table_f1", gold, predicted).detail is None
    many = ", ".join(f"c{place:02}" for place in range(12))
    told = _score("column_precision", gold, f"SELECT {many} FROM singer").detail
    assert told.endswith("c09 and 2 more")


@each("name", NAMES)
def test_no_value_without_a_schema_and_a_gold_query_that_can_be_read(name: str) -> None:
    unread = _score(name, "SELECT FROM WHERE", "SELECT name FROM singer")
    assert unread.value is None
    assert unread.failure.blame == "gold"
    assert "cannot be read as one query" in unread.failure.message
    failed = Execution(query="", status="error", failure=FAILED)
    broken = _score(name, "SELECT name FROM singers", "SELECT name FROM singer", ran=(failed,))
    assert broken.value is None
    assert broken.failure == FAILED
    unknown = _score(name, "SELECT name FROM singer", "SELECT name FROM singer", schema=None)
    assert unknown.value is None
    assert unknown.failure.blame == "setup"
    assert name not in registry.default_metrics()


METRICS: dict[str, Any] = {kind.name: kind() for kind in RETRIEVAL}


def _schema(tables: dict[str, list[str]]) -> DatabaseSchema:
    made = (f"CREATE TABLE {_quoted(name)} ({', '.join(map(_quoted, columns))})" for name, columns in tables.items())
    return read_ddl(";".join(made), "sqlite").schema


def _quoted(name: str) -> str:
    return f'"{name}"'


SINGERS = _schema({"singer": ["id", "name", "age"], "concert": ["id", "singer_id", "year"], "venue": ["id", "city"]})


def _context_scores(
    golds: tuple[str, ...], prediction: Prediction, schema: DatabaseSchema | None = SINGERS, **executions: Any
) -> dict[str, Score]:
    case = Case(id="1", question="Who?", golds=golds)
    ran = tuple(Execution(query=gold, status="empty") for gold in golds)
    given_ = Executions(golds=ran, schema=schema, dialect="sqlite", **executions)
    return {name: metric.score(case, prediction, given_, None) for name, metric in METRICS.items()}


def _retrieved(golds: tuple[str, ...], tables: Any, columns: Any = None, **more: Any) -> tuple[float | None, ...]:
    prediction = Prediction(case_id="1", query="SELECT 1", context_tables=tables, context_columns=columns)
    return tuple(score.value for score in _context_scores(golds, prediction, **more).values())


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
    assert _retrieved(golds, tables, columns) == wanted


def test_complete_is_of_one_gold_and_not_of_parts_of_several() -> None:
    golds = ("SELECT age FROM singer", "SELECT singer.id FROM singer, venue")
    recall, _, columns, _, complete = _retrieved(golds, None, ("singer.id",))
    assert (recall, columns, complete) == (1.0, 1.0, 0.0)


def test_what_is_missing_is_named() -> None:
    scores = _context_scores((JOIN,), Prediction(case_id="1", context_columns=("singer.id",)))
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
    assert len({tuple(score.value for score in _context_scores((JOIN,), answer).values()) for answer in answers}) == 1


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
    assert _retrieved((JOIN,), ("bank.Singer", "CONCERT", "venue"), schema=None) == (1.0, 2 / 3, None, None, 1.0)
    assert _retrieved(("SELECT name FROM bank.singer",), ("singer",), ("singer.name",), schema=None)[:2] == (1.0, 1.0)


ANY_NAME = st.text("abcXYZ _.", min_size=1, max_size=6).map(str.strip).filter(lambda name: name.strip("._ "))
SCHEMAS = st.dictionaries(
    ANY_NAME.map(lambda name: name.lower()),
    st.lists(ANY_NAME, min_size=1, max_size=4, unique_by=str.lower),
    min_size=1,
    max_size=4,
)


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
    found = _retrieved((query,), None, said, schema=_schema(tables))
    assert [None if one is None else round(one, 9) for one in found] == [
        None if one is None else round(one, 9) for one in wanted
    ]
    # Everything that gold uses, and more: nothing is missing.
    every = tuple(dict.fromkeys((*said, *(f"{_quoted(table)}.{_quoted(column)}" for table, column in gold))))
    recall, _, column_recall, _, complete = _retrieved((query,), None, every, schema=_schema(tables))
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
            scores = _context_scores((record["SQL"],), prediction, schema=schema)
            assert scores[CONTEXT_COMPLETE].value == 1.0, (record["SQL"], scores[CONTEXT_COMPLETE].detail)
