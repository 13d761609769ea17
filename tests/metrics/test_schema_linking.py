"""Schema linking: what counts as used, and what has no value."""

from __future__ import annotations

from assay import registry
from assay.model import Case, ColumnSchema, DatabaseSchema, Execution, Failure, Prediction, Result, Score, TableSchema
from assay.ports import Executions
from many_cases import each


def _table(name: str, *columns: str) -> TableSchema:
    return TableSchema(name=name, ddl="", columns=tuple(ColumnSchema(name=column, type="INT") for column in columns))


SCHEMA = DatabaseSchema(
    dialect="sqlite", tables=(_table("Singer", "Singer_ID", "Name", "Age"), _table("Concert", "Singer_ID", "Year"))
)
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
def test_no_value_without_a_gold_query_that_can_be_read(name: str) -> None:
    unread = _score(name, "SELECT FROM WHERE", "SELECT name FROM singer")
    assert unread.value is None
    assert unread.failure.blame == "gold"
    assert "cannot be read as one query" in unread.failure.message
    failed = Execution(query="", status="error", failure=FAILED)
    broken = _score(name, "SELECT name FROM singers", "SELECT name FROM singer", ran=(failed,))
    assert broken.value is None
    assert broken.failure == FAILED


@each("name", NAMES)
def test_no_value_without_a_schema(name: str) -> None:
    score = _score(name, "SELECT name FROM singer", "SELECT name FROM singer", schema=None)
    assert score.value is None
    assert score.failure.blame == "setup"


def test_they_are_asked_for_by_name() -> None:
    assert not set(NAMES) & set(registry.default_metrics())
