"""Why an answer is wrong, over real databases and through the whole evaluation."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

import assay
from assay.diagnosis import CAUSES
from assay.engines.sqlite.engine import SqliteEngine
from assay.model import Case, CaseOptions, DatabaseUrl, Diagnosis, Limits, Prediction
from assay.reports.text.explanation import explanation_of
from assay.runs.store.codec import decode_evidence, encode_evidence
from many_cases import each
from running import scored_pairs, sqlite_url

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from planted_errors import mutations, planted

TABLES = """
CREATE TABLE singer(id INTEGER PRIMARY KEY, name TEXT, age INTEGER, Country TEXT, fee REAL);
CREATE TABLE song(id INTEGER PRIMARY KEY, singer_id INTEGER REFERENCES singer(id), title TEXT, year INTEGER, sales INTEGER);
CREATE TABLE award(id INTEGER PRIMARY KEY, song_id INTEGER REFERENCES song(id), label TEXT, given TEXT);
INSERT INTO singer VALUES (1,'Ada',31,'France',1.5),(2,'Bo',45,'United States',2.5),(3,'Cy',27,'France',NULL),
  (4,'Di',52,'United States',4.0),(5,'Ed',31,'Japan',0.5),(6,'Flo',38,'Japan',3.0),(7,'Gus',60,'Peru',NULL);
INSERT INTO song VALUES (1,1,'Sun',2014,7),(2,1,'Moon',2015,3),(3,2,'Rain',2014,9),(4,3,'Wind',2016,1),(5,4,'Snow',2012,4),
  (6,4,'Fog',2014,6),(7,5,'Ice',2015,8),(8,6,'Hail',2013,2);
INSERT INTO award VALUES (1,1,'gold','2015-02-03'),(2,1,'silver','2016-05-01'),(3,3,'gold','2015-07-09'),(4,6,'bronze','2014-12-30'),
  (5,6,'gold','2016-03-04');
"""  # noqa: E501


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sqlite_url(tmp_path_factory.mktemp("causes") / "music.sqlite", TABLES)


def diagnosed(database: str, gold: str, predicted: str) -> Diagnosis:
    (item,) = scored_pairs(database, (gold, predicted))
    assert item.diagnosis is not None, item.verdict
    return item.diagnosis


GOLDS = [
    "SELECT name, age FROM singer WHERE Country = 'France' AND age > 20 ORDER BY age DESC LIMIT 1",
    "SELECT T1.name, COUNT(*) FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id GROUP BY T1.id HAVING COUNT(*) >= 2",  # noqa: E501
    "SELECT AVG(T2.sales), MAX(T2.year) FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id WHERE T1.age > 30",
    "SELECT DISTINCT T1.Country FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id WHERE T2.year = 2014",
    "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM song WHERE year = 2014)",
    "SELECT Country FROM singer WHERE age > 40 INTERSECT SELECT Country FROM singer WHERE age < 50",
    "SELECT COUNT(DISTINCT song_id) FROM award WHERE label = 'gold' OR label = 'silver'",
    "SELECT title FROM song WHERE sales > (SELECT AVG(sales) FROM song)",
    "SELECT label FROM award WHERE given = '2015-02-03'",
    "SELECT title, year, sales FROM song WHERE year BETWEEN 2013 AND 2015 ORDER BY sales",
]

_NOT_HERE = {"reads another table", "aggregates another column"}
"""These tables are too small for them."""


def test_planted_errors_are_named_first_and_repaired(database: str) -> None:
    engine = SqliteEngine.open(DatabaseUrl.parse(database), Limits())
    schema = engine.schema()
    engine.close()
    errors = [(gold, error) for gold in GOLDS for error in planted(gold, schema, seed=3)]
    assert {error.mutation for _, error in errors} >= {name for _, name in mutations()} - _NOT_HERE
    found = scored_pairs(database, *((gold, error.query) for gold, error in errors))
    wrong = [
        (error, item)
        for (_, error), item in zip(errors, found, strict=True)
        if item.outcome == "incorrect" and item.verdict.failure is None
    ]
    assert len(wrong) > 100
    diagnoses = [(error, item, item.diagnosis) for error, item in wrong if item.diagnosis is not None]
    assert len(diagnoses) == len(wrong)
    unnamed = [(error, item.cause) for error, item, found in diagnoses if found.causes[0].kind != error.cause]
    unrepaired = [error for error, _, found in diagnoses if found.repair is None]
    assert len(unnamed) <= 0.05 * len(wrong), unnamed
    assert len(unrepaired) <= 0.05 * len(wrong), unrepaired


def test_the_repair_shown_is_judged_right(database: str) -> None:
    swapped = "FROM song AS T2 JOIN singer AS T1 ON T1.id = T2.singer_id"
    wrong = [
        ("SELECT name FROM singer WHERE age > 30", "SELECT name FROM singer WHERE age > 40"),
        (GOLDS[1], f"SELECT T2.title, COUNT(*) {swapped} GROUP BY T1.id"),
        (GOLDS[3], "SELECT a.Country FROM singer a JOIN song b ON a.id = b.singer_id WHERE b.year = 2015"),
    ]
    found = [diagnosed(database, gold, predicted) for gold, predicted in wrong]
    assert all(diagnosis.causes[0].proved for diagnosis in found)
    repairs = [(gold, diagnosis.repair.query) for (gold, _), diagnosis in zip(wrong, found, strict=True)]
    assert [item.outcome for item in scored_pairs(database, *repairs)] == ["correct"] * len(wrong)


def test_two_clauses_that_need_repair_are_two_causes(database: str) -> None:
    gold = "SELECT name FROM singer WHERE age > 30"
    found = diagnosed(
        database, f"{gold} ORDER BY age DESC", "SELECT Country FROM singer WHERE age > 40 ORDER BY age DESC"
    )
    assert {step.clause for step in found.repair.steps} == {"SELECT", "WHERE"}
    assert {cause.kind for cause in found.causes if cause.proved} == {"attribute_mismatch", "value_mismatch"}
    found = diagnosed(database, gold, "SELECT CASE WHEN name IS NULL THEN 0 ELSE 1 END FROM singer WHERE age > 40")
    assert {cause.kind for cause in found.causes if cause.proved} == {"conditional_functions", "value_mismatch"}


ALIASED = "FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id"
NAMED = [
    (f"T2.title {ALIASED}", "name FROM singer", "singer.name, the gold query song.title"),
    (f"T1.name {ALIASED} WHERE T2.year > 2014", f"T1.name {ALIASED}", "condition song.year > 2014"),
    (f"T1.name {ALIASED} ORDER BY T2.sales LIMIT 1", f"T1.name {ALIASED}", "orders by song.sales"),
    (f"T1.name, COUNT(*) {ALIASED} GROUP BY T1.id", f"T1.name, COUNT(*) {ALIASED}", "groups by singer.id"),
    (f"T1.name {ALIASED}", f"T1.name {ALIASED.replace('T1.id', 'T1.age')}", "joins on singer.age = song.singer_id"),
    ("x.n FROM (SELECT T1.Country AS n FROM singer AS T1) AS x", "T1.age FROM singer AS T1", "query singer.Country"),
    (
        "name FROM singer AS T1 WHERE id IN (SELECT T2.singer_id FROM song AS T2 WHERE T2.year > 2014)",
        "name FROM singer AS T1",
        "(SELECT song.singer_id FROM song WHERE song.year > 2014)",
    ),
    (
        "T1.name FROM singer AS T1 JOIN singer AS T2 ON T1.age < T2.age WHERE T2.Country = 'Peru'",
        "T1.name FROM singer AS T1 JOIN singer AS T2 ON T1.age < T2.age WHERE T2.Country = 'Japan'",
        "the gold query for singer#2.Country = 'Peru'",
    ),
    (
        "* FROM singer AS T1 WHERE T1.age > 30",
        "T1.id, T1.name FROM singer AS T1 WHERE T1.age > 30",
        "select singer.age",
    ),
]


@each(("gold", "predicted", "said"), NAMED)
def test_a_cause_names_tables_and_no_aliases(database: str, gold: str, predicted: str, said: str) -> None:
    messages = [cause.message for cause in diagnosed(database, f"SELECT {gold}", f"SELECT {predicted}").causes]
    assert any(said in message for message in messages), messages
    assert not any(re.search(r"\b[Tt][12]\b|\bx\.", message) for message in messages), messages


@each(
    ("gold", "predicted", "said"),
    [
        ("name, age, name FROM singer", "name, age FROM singer", "gold query selects singer.name more often"),
        ("name FROM singer", "name, name FROM singer", "the prediction selects singer.name more often"),
        ("singer_id FROM song", f"T1.id, COUNT(*) {ALIASED} GROUP BY T1.id", "also selects COUNT(*)"),
        (
            "a.name FROM singer a JOIN singer b ON a.age > b.age WHERE b.Country = 'France'",
            "a.name FROM singer a WHERE a.Country = 'France'",
            "the gold query reads singer more often",
        ),
    ],
)
def test_what_a_query_has_is_not_said_to_be_absent(database: str, gold: str, predicted: str, said: str) -> None:
    messages = [cause.message for cause in diagnosed(database, f"SELECT {gold}", f"SELECT {predicted}").causes]
    assert any(said in message for message in messages), messages
    assert not any("does not select" in message or "singer, the prediction does not" in message for message in messages)


@each(
    ("gold", "predicted", "kind", "symptom", "said"),
    [
        (
            "name FROM singer WHERE Country = 'United States'",
            "name FROM singer WHERE Country = 'USA'",
            "value_mismatch",
            "value_never_occurs",
            "'USA' never occurs in singer.Country; 'United States' does, 2 times",
        ),
        (
            "COUNT(*) FROM singer",
            "COUNT(*) FROM singer JOIN song ON singer.id = song.singer_id",
            "table_redundancy",
            "fan_out",
            "8 rows instead of 7",
        ),
        (
            "CAST(COUNT(fee) AS REAL) / COUNT(*) FROM singer",
            "COUNT(fee) / COUNT(*) FROM singer",
            "conversion_functions",
            "integer_division",
            "",
        ),
        ("COUNT(*) FROM singer", "COUNT(fee) FROM singer", None, "null_handling", ""),
    ],
)
def test_a_symptom_in_the_data_is_shown(
    database: str, gold: str, predicted: str, kind: str | None, symptom: str, said: str
) -> None:
    cause = diagnosed(database, f"SELECT {gold}", f"SELECT {predicted}").causes[0]
    assert (kind or cause.kind, symptom) == (cause.kind, cause.symptom)
    assert said in cause.message
    assert symptom != "value_never_occurs" or (cause.table, cause.column) == ("singer", "country")


@each(
    ("query", "kind", "said"),
    [
        (None, "unanswered", ""),
        ("I do not know.", "unanswered", ""),
        ("SELECT nme FROM singer", "unknown_column", "the closest is name"),
        ("SELECT title FROM singer", "unknown_column", "song.title exists"),
        ("SELECT name FROM singers", "unknown_table", "the closest is singer"),
        (
            "SELECT T3.name FROM singer T1",
            "unknown_column",
            "T3.name refers to T3, which is not a table or alias in the query; in scope: singer AS T1",
        ),
        (
            "SELECT T2.title FROM singer WHERE id IN (SELECT id FROM song T2)",
            "unknown_column",
            "T2 is not in scope at T2.title",
        ),
        ("SELECT name FROM FROM singer", "syntax", ""),
        ("DROP TABLE singer", "refused", ""),
        ("SELECT 1; SELECT 2", "refused", ""),
        ("SELECT nosuchfunction(name) FROM singer", "failed", "nosuchfunction"),
        ("SELECT " + ", ".join(f"c{n}" for n in range(20_000)) + " FROM singer", "syntax", ""),
    ],
)
def test_what_execution_alone_tells(database: str, query: str | None, kind: str, said: str) -> None:
    (item,) = scored_pairs(database, ("SELECT name FROM singer", query))
    assert item.diagnosis.causes[0].kind == kind or len(query or "") > 10_000
    assert item.cause == CAUSES[item.diagnosis.causes[0].kind].title
    assert said in item.diagnosis.causes[0].message
    assert item.diagnosis.repair is None


@each(
    ("query", "reason"),
    [
        ("SELECT name FROM singer WHERE " + " OR ".join(f"age = {n}" for n in range(100, 1_000)), "2,000 parts"),
        ("SELECT " + ", ".join(f"age + {n}" for n in range(1_500)) + " FROM singer", "2,000 parts"),
        (" UNION ".join(["SELECT age FROM singer"] * 70), "60 SELECTs"),
        ("SELECT 1" + " " * 50_000, "50,000 characters"),
    ],
    ids=lambda given: given[:20],
)
def test_a_query_too_long_to_compare_says_so(database: str, query: str, reason: str) -> None:
    found = diagnosed(database, "SELECT name FROM singer", query)
    assert [cause.kind for cause in found.causes] == ["other"]
    assert found.notes == (f"not explained: the prediction has more than {reason}",)
    found = diagnosed(database, query, "SELECT name FROM singer")
    assert found.notes == (f"not explained: the gold query has more than {reason}",)


def test_a_list_of_literals_counts_as_one_part(database: str) -> None:
    listed = ", ".join(map(str, range(100, 5_000)))
    found = diagnosed(database, "SELECT name FROM singer", f"SELECT name FROM singer WHERE age IN ({listed})")
    assert found.causes[0].kind == "explicit_condition_redundancy"
    assert found.notes == ()


_CASES = ("CASE WHEN {} THEN {} ELSE {} END", "IIF({}, {}, {})", "COALESCE(CASE WHEN {} THEN {} END, {})")


@each("case", _CASES)
@each(
    ("gold", "predicted"),
    [
        (("age > 40", "1", "0"), ("age < 40", "1", "0")),
        (("age > 40", "'a'", "'b'"), ("age > 40", "'b'", "'a'")),
        (("age > 40 AND fee > 1", "1", "0"), ("age > 40 OR fee > 1", "1", "0")),
        (("fee > age", "1", "0"), ("fee <= age", "1", "0")),
    ],
)
def test_another_condition_in_a_case_is_one_of_conditional_functions(
    database: str, case: str, gold: tuple[str, ...], predicted: tuple[str, ...]
) -> None:
    frame = f"SELECT name, {case} FROM singer"
    (cause,) = diagnosed(database, frame.format(*gold), frame.format(*predicted)).causes
    assert cause.kind == "conditional_functions"


@each(
    ("gold", "predicted", "kind"),
    [
        ("CASE WHEN age > 40 THEN 1 ELSE 0 END", "CASE WHEN age > 50 THEN 1 ELSE 0 END", "value_mismatch"),
        ("IIF(age > 40, age * 2, 0)", "IIF(age > 40, age + 2, 0)", "math_functions"),
        ("fee * 2", "fee + 2", "math_functions"),
        ("CASE WHEN age > 40 THEN fee END", "CASE WHEN age > 40 THEN sales END", "attribute_mismatch"),
    ],
)
def test_what_is_not_about_a_case_has_its_own_cause(database: str, gold: str, predicted: str, kind: str) -> None:
    frame = "SELECT {} FROM singer JOIN song ON singer.id = song.singer_id"
    assert diagnosed(database, frame.format(gold), frame.format(predicted)).causes[0].kind == kind


@each(
    ("frame", "gold", "predicted", "kind"),
    [
        ("SELECT age FROM singer WHERE name = {}", "'Ada'", "'Bo'", "value_mismatch"),
        ("SELECT name FROM singer WHERE age > {}", "31", "45", "value_mismatch"),
        ("SELECT name FROM singer WHERE age IN (31, {})", "27", "60", "value_mismatch"),
        ("SELECT name FROM singer WHERE Country LIKE {}", "'J%'", "'P%'", "value_mismatch"),
        ("SELECT Country FROM singer GROUP BY Country HAVING MAX(age) > {}", "50", "30", "value_mismatch"),
        ("SELECT label FROM award WHERE given = {}", "'2015-02-03'", "'2015/02/03'", "data_format_mismatch"),
        (
            "SELECT 1 FROM singer WHERE id IN (SELECT singer_id FROM song WHERE year = {})",
            "2014",
            "2013",
            "value_mismatch",
        ),
        ("SELECT name, {} FROM singer", "fee", "COALESCE(fee, 0)", "conditional_functions"),
        ("SELECT {} FROM singer", "MAX(age)", "age", "aggregate_functions"),
    ],
)
def test_the_same_column_is_no_attribute_mismatch(
    database: str, frame: str, gold: str, predicted: str, kind: str
) -> None:
    for one, other in ((gold, predicted), (predicted, gold)):
        kinds = [cause.kind for cause in diagnosed(database, frame.format(one), frame.format(other)).causes]
        assert kinds[0] == kind
        assert "attribute_mismatch" not in kinds


def test_another_column_beside_another_value_is_an_attribute_mismatch(database: str) -> None:
    gold = "SELECT title FROM song WHERE year = 2014"
    found = diagnosed(database, gold, "SELECT id FROM song WHERE year = 2015")
    assert {cause.kind for cause in found.causes} == {"value_mismatch", "attribute_mismatch"}
    (message,) = (cause.message for cause in found.causes if cause.kind == "attribute_mismatch")
    assert "song.title" in message


@pytest.mark.parametrize(
    "predicted",
    [
        "SELECT SUM(CASE WHEN age > 40 THEN fee ELSE 0 END) FROM singer",
        "SELECT COUNT(CASE WHEN age > 40 THEN 1 END) FROM singer",
        "SELECT AVG(IIF(age > 40, fee, 0)) FROM singer",
    ],
)
def test_no_function_is_blamed_for_a_condition(database: str, predicted: str) -> None:
    for gold in (
        "SELECT SUM(fee) FROM singer WHERE age > 31",
        "SELECT AVG(fee) FROM singer WHERE age > 50 AND Country = 'Peru'",
    ):
        for cause in diagnosed(database, gold, predicted).causes:
            if CAUSES[cause.kind].category == "Function-Related Errors":
                assert cause.clause == "SELECT"


def test_right_answers_have_no_cause(database: str) -> None:
    (item,) = scored_pairs(database, ("SELECT name FROM singer", "SELECT name FROM singer"))
    assert (item.diagnosis, item.cause) == (None, None)


def test_an_ambiguous_gold_is_said(database: str) -> None:
    found = diagnosed(
        database, "SELECT name FROM singer ORDER BY age LIMIT 2", "SELECT name FROM singer ORDER BY age DESC LIMIT 2"
    )
    assert found.causes[0].kind == "asc_desc"
    assert found.causes[-1].kind == "ambiguous_gold"


def test_evidence_keeps_its_causes_and_old_lines_have_none(database: str) -> None:
    (item,) = scored_pairs(database, ("SELECT name FROM singer", "SELECT age FROM singer"))
    line = encode_evidence(item)
    assert decode_evidence(line) == item
    before = encode_evidence(replace(item, diagnosis=None)).replace(b',"diagnosis":null', b"")
    assert b"diagnosis" not in before
    assert decode_evidence(before) == replace(item, diagnosis=None)


def test_an_explanation_says_cause_evidence_and_patch(database: str) -> None:
    (item,) = scored_pairs(
        database, ("SELECT name FROM singer WHERE age > 30", "SELECT name FROM singer WHERE age > 40")
    )
    text = explanation_of(item)
    assert "cause: Value mismatch" in text
    assert "- WHERE age > 40" in text
    assert "+ WHERE age > 30" in text


def test_cases_judged_in_strict_order_are_repaired_in_that_order(database: str) -> None:
    case = Case(
        id="0", question="", golds=("SELECT name FROM singer ORDER BY age, id",), options=CaseOptions(ordered=True)
    )
    answer = Prediction(case_id="0", query="SELECT name FROM singer ORDER BY name DESC")
    (item,) = assay.evaluate([case], [answer], databases=database, metrics=["match"]).evidence
    assert [step.clause for step in item.diagnosis.repair.steps] == ["ORDER BY"]


def test_one_pair_is_diagnosed_by_itself(database: str) -> None:
    found = assay.diagnose(
        "SELECT name FROM singer WHERE age > 40", "SELECT name FROM singer WHERE age > 30", database=database
    )
    assert found.title == "Value mismatch"
    assert [(step.before, step.after) for step in found.repair.steps] == [("WHERE age > 40", "WHERE age > 30")]
    assert assay.check(found.repair.query, "SELECT name FROM singer WHERE age > 30", database=database).outcome == (
        "correct"
    )
    right = "SELECT name FROM singer"
    assert assay.diagnose(right, right, database=database) is None
    failed = assay.diagnose("SELECT nme FROM singer", right, database=database)
    assert failed.causes[0].kind == "unknown_column"
    with pytest.raises(assay.UnscoredError, match="no cause"):
        assay.diagnose(right, "SELECT nothing FROM nowhere", database=database)
    with pytest.raises(assay.InputError, match="template"):
        assay.diagnose(right, right, database="sqlite:///{db_id}.sqlite")


def test_one_pair_alone_has_the_causes_that_it_has_in_a_run(database: str) -> None:
    engine = SqliteEngine.open(DatabaseUrl.parse(database), Limits())
    schema = engine.schema()
    engine.close()
    pairs = [(gold, error.query) for gold in GOLDS[:3] for error in planted(gold, schema, seed=5)][:12]
    for item in scored_pairs(database, *pairs):
        assert item.prediction.query is not None
        assert assay.diagnose(item.prediction.query, item.case.golds, database=database) == item.diagnosis


def test_clauses_that_say_the_same_in_other_words_are_told(database: str) -> None:
    gold = "SELECT a.name, b.title FROM singer a JOIN song b ON a.id = b.singer_id WHERE b.year > 2014"
    swapped = "SELECT b.name, a.title FROM song AS a JOIN singer AS b ON a.singer_id = b.id WHERE a.year > 2013"
    found = diagnosed(database, gold, swapped)
    assert set(found.alike) == {"SELECT", "FROM", "GROUP BY", "HAVING", "ORDER BY", "LIMIT"}
    nested = diagnosed(
        database, "SELECT name FROM singer WHERE age > (SELECT MIN(age) FROM singer)", "SELECT name FROM singer"
    )
    assert nested.alike == ()
