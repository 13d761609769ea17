"""Spider's exact set match: what its script reads, what it overlooks, and its components."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assay import evaluate, registry
from assay.metrics.spider_em.reading import words_of
from assay.model import Case, Execution, Prediction, Result, Score
from assay.ports import Executions
from assay.sql.schema.ddl import read_ddl
from many_cases import each

SCHEMA = read_ddl(
    "CREATE TABLE Singer (Singer_ID INT PRIMARY KEY, Name INT, Age INT);"
    "CREATE TABLE Concert (Concert_ID INT PRIMARY KEY, Singer_ID INT REFERENCES singer, Year INT);"
    "CREATE TABLE Fan (Fan_ID INT PRIMARY KEY, Name INT)",
    "sqlite",
).schema
RAN = Execution(query="", status="rows", result=Result.of([(1,)], columns=["x"]), row_count=1)


def _score(gold: str | tuple[str, ...], predicted: str | None, metric: str = "spider_em", **known: object) -> Score:
    golds = (gold,) if isinstance(gold, str) else gold
    case = Case(id="1", question="", golds=golds)
    schema = known.get("schema", SCHEMA)
    executions = Executions(golds=(RAN,) * len(golds), predicted=RAN, schema=schema)  # type: ignore[arg-type]
    return registry.metric(metric).score(case, Prediction(case_id="1", query=predicted), executions, None)


@each(
    ("gold", "predicted"),
    [
        ("SELECT Name, Age FROM Singer", "select age , name from singer"),
        ("SELECT DISTINCT Name FROM Singer", "SELECT Name FROM Singer;"),
        ("SELECT Name FROM Singer WHERE Age > 20", "SELECT T1.name FROM singer AS T1 WHERE T1.age > 99"),
        ("SELECT Name FROM Singer WHERE Name = 'a b'", 'SELECT Name FROM Singer WHERE Name = "it"'),
        ("SELECT Name FROM Singer LIMIT 1", "SELECT Name FROM Singer LIMIT 7 OFFSET 3"),
        ("SELECT Name FROM Singer WHERE Age >= 1", "SELECT Name FROM Singer WHERE Age >=  2"),
        ("SELECT Name FROM Singer WHERE Age = 1 AND Name = 2", "SELECT Name FROM Singer WHERE Name = 2 AND Age = 1"),
        # Which columns are joined on is not looked at, and a foreign key is the key that it refers to.
        (
            "SELECT T1.Singer_ID FROM Singer AS T1 JOIN Concert AS T2 ON T1.Singer_ID = T2.Singer_ID",
            "SELECT T2.Singer_ID FROM Concert AS T2 JOIN Singer AS T1 ON T1.Age = T2.Year",
        ),
        ("SELECT count(*) FROM Singer", "SELECT COUNT ( * ) FROM Singer"),
        # Read up to the first word that is not understood.
        ("SELECT Name FROM Singer", "SELECT Name FROM Singer ; DROP TABLE Singer"),
        ("SELECT Name FROM Singer", "( SELECT Name FROM Singer )"),
        (
            "SELECT Name FROM Singer WHERE Age IN (SELECT Year FROM Concert WHERE Year > 1)",
            "SELECT Name FROM Singer WHERE Age IN (SELECT Year FROM Concert WHERE Year > 2)",
        ),
        (
            "SELECT Name FROM Singer EXCEPT SELECT Name FROM Fan",
            "SELECT Name FROM Singer EXCEPT SELECT DISTINCT Name FROM Fan",
        ),
    ],
)
def test_what_the_script_takes_for_the_same(gold: str, predicted: str) -> None:
    assert _score(gold, predicted).value == 1.0


@each(
    ("gold", "predicted", "said"),
    [
        ("SELECT Name FROM Singer", "SELECT Age FROM Singer", "select"),
        ("SELECT max(Age) FROM Singer", "SELECT min(Age) FROM Singer", "differs in select"),
        ("SELECT Name FROM Singer ORDER BY Age", "SELECT Name FROM Singer ORDER BY Age DESC", "order, keywords"),
        ("SELECT Name FROM Singer ORDER BY Age", "SELECT Name FROM Singer ORDER BY Age LIMIT 1", "order, keywords"),
        ("SELECT Name FROM Singer WHERE Age = 1", "SELECT Name FROM Singer WHERE Age > 1", "where"),
        (
            "SELECT Name FROM Singer WHERE Age = 1 OR Age = 2",
            "SELECT Name FROM Singer WHERE Age = 1 AND Age = 2",
            "and/or, keywords",
        ),
        ("SELECT Name FROM Singer UNION SELECT Name FROM Fan", "SELECT Name FROM Singer", "IUEN, keywords"),
        ("SELECT count(*) FROM Singer", "SELECT count(*) FROM Fan", "the tables"),
        # Within a condition, DISTINCT and the number of a LIMIT do count.
        (
            "SELECT Name FROM Singer WHERE Age IN (SELECT Year FROM Concert)",
            "SELECT Name FROM Singer WHERE Age IN (SELECT DISTINCT Year FROM Concert)",
            "where",
        ),
        # Within FROM, values do.
        (
            "SELECT count(*) FROM (SELECT Name FROM Singer WHERE Age > 1)",
            "SELECT count(*) FROM (SELECT Name FROM Singer WHERE Age > 2)",
            "the tables",
        ),
        # What the script cannot read.
        ("SELECT Name FROM Singer", "SELECT Name AS n FROM Singer", "cannot read"),
        ("SELECT Name FROM Singer WHERE Age = 1", "SELECT Name FROM Singer WHERE Age=1", "cannot read"),
        ("SELECT Name FROM Singer WHERE Age != 1", "SELECT Name FROM Singer WHERE Age <> 1", "cannot read"),
        ("SELECT Name FROM Singer", "SELECT Name FROM Singer AS Fan", "the name of a table"),
        ("SELECT Name FROM Singer", "SELECT `Name` FROM Singer", "cannot read"),
        ("SELECT Name FROM Singer", "SELECT Name FROM Singer LEFT JOIN Fan", "cannot read"),
        ("SELECT Name FROM Singer", "SELECT Name FROM Singer WHERE Name = 'it''", "a quote is not closed"),
        ("SELECT Name FROM Singer", "WITH a AS (SELECT Name FROM Singer) SELECT Name FROM a", "cannot read"),
        ("SELECT Name FROM Singer", "nothing", "cannot read"),
        ("SELECT Name FROM Singer", "", "cannot read"),
        ("SELECT Name FROM Singer", None, "cannot read"),
        ("SELECT Name FROM Singer", "SELECT Name FROM Singer " + "WHERE Age IN (SELECT Age FROM Singer " * 900, "read"),
    ],
)
def test_what_the_script_takes_for_different(gold: str, predicted: str | None, said: str) -> None:
    score = _score(gold, predicted)
    assert score.value == 0.0
    assert said in (score.detail or "")


@each(
    ("component", "gold", "predicted", "value"),
    [
        ("select", "SELECT max(Age) FROM Singer", "SELECT min(Age) FROM Singer", 0.0),
        ("select_no_agg", "SELECT max(Age) FROM Singer", "SELECT min(Age) FROM Singer", 1.0),
        ("where", "SELECT Name FROM Singer WHERE Age > 1", "SELECT Name FROM Singer WHERE Age < 1", 0.0),
        ("where_no_op", "SELECT Name FROM Singer WHERE Age > 1", "SELECT Name FROM Singer WHERE Age < 1", 1.0),
        ("where", "SELECT Name FROM Singer", "SELECT Name FROM Fan", None),
        ("group_no_having", "SELECT Name FROM Singer GROUP BY Name", "SELECT Name FROM Fan GROUP BY Name", 1.0),
        ("group", "SELECT Name FROM Singer GROUP BY Name", "SELECT Name FROM Fan GROUP BY Name", 0.0),
        (
            "group",
            "SELECT Name FROM Singer GROUP BY Name HAVING count(*) > 1",
            "SELECT Name FROM Singer GROUP BY Name HAVING count(*) > 5",
            1.0,
        ),
        ("order", "SELECT Name FROM Singer ORDER BY Age", "SELECT Age FROM Singer ORDER BY Age", 1.0),
        ("and_or", "SELECT Name FROM Singer", "SELECT Age FROM Singer WHERE Age = 1", 1.0),
        ("iuen", "SELECT Name FROM Singer UNION SELECT Name FROM Fan", "SELECT Name FROM Fan", 0.0),
        ("keywords", "SELECT Name FROM Singer WHERE Age = 1", "SELECT Age FROM Singer WHERE Name = 1", 1.0),
        ("keywords", "SELECT Name FROM Singer WHERE Age = 1", "SELECT Age FROM Singer WHERE Name LIKE 1", 0.0),
        ("select", "SELECT Name FROM Singer", "SELECT Name AS n FROM Singer", 0.0),
    ],
)
def test_components(component: str, gold: str, predicted: str, value: float | None) -> None:
    assert _score(gold, predicted, f"spider_em_{component}").value == value
    with_where, without = "SELECT Name FROM Singer WHERE Age = 1", "SELECT Name FROM Singer"
    assert _score(with_where, without, "spider_em_where").detail == "only the gold query has it"
    assert _score(without, with_where, "spider_em_where").detail == "only the prediction has it"


def test_any_gold_that_the_script_can_read_counts() -> None:
    assert _score(("SELECT Name AS n FROM Singer", "SELECT Name FROM Singer"), "SELECT Name FROM Singer").value == 1.0
    only = _score("SELECT Name AS n FROM Singer", "SELECT Name FROM Singer")
    assert (only.value, only.failure.blame) == (None, "gold")
    without = _score("SELECT Name FROM Singer", "SELECT Name FROM Singer", schema=None)
    assert (without.value, without.failure.blame) == (None, "setup")


@each(
    ("query", "words"),
    [
        ("SELECT a.b , c>=1 FROM t", "select a.b , c > =1 from t"),
        ("a >= 1 ! = 2 <= 3", "a >= 1 != 2 <= 3"),
        ("f(x,y),1", "f ( x , y ) ,1"),
        ("a,1 b:2 c: d", "a,1 b:2 c : d"),
        ("x = 'Two  Words' ;", 'x = "Two  Words" ;'),
        ("x='a'", "x=__val_2_4__"),
        ("1.5 .. 2 -- c", "1.5 .. 2 -- c"),
        ("a*b cannot t1.gimme", "a * b can not t1. gim me"),
        ("from t.", "from t ."),
        ("a\u2013b «c»", "a \u2013 b « c »"),
    ],
)
def test_words_are_the_tokenizers(query: str, words: str) -> None:
    assert words_of(query) == words.split(" ") if '"' not in words else " ".join(words_of(query)) == words


def test_the_metric_is_told_the_schema_in_a_run(make_sqlite: Callable[..., Path]) -> None:
    file = make_sqlite("CREATE TABLE t (name TEXT); INSERT INTO t VALUES ('a');")
    run = evaluate(
        [{"id": "1", "question": "q", "gold_sql": "SELECT name FROM t"}],
        [{"id": "1", "predicted_sql": "SELECT T1.name FROM t AS T1"}],
        databases=f"sqlite:///{file.as_posix()}",
        metrics=["match", "spider_em"],
    )
    (evidence,) = run.evidence
    assert {score.metric: score.value for score in evidence.scores} == {"match": 1.0, "spider_em": 1.0}
