"""A number of the question that the gold uses in another form is used; another number is not."""

from __future__ import annotations

import itertools

from golds import found_by

from many_cases import each

FORMS: list[tuple[str, str, str | None]] = [
    # parts of a time, a date, a version
    ("the driver with a lap time of 1:29.488", "SELECT n FROM t WHERE time LIKE '1:29%'", None),
    ("who finished in 0:01:54 in Q3", "SELECT n FROM t WHERE q3 LIKE '1:54%'", None),
    ("a lap in 89.5, that is 1:29.5", "SELECT n FROM t WHERE s = 89.5", None),
    ("a lap time of 1:29.488", "SELECT n FROM t WHERE time = '01:29.488'", None),
    ("a lap time of 1:29", "SELECT n FROM t WHERE time LIKE '1:29.4%'", None),
    ("at 3:30 in the afternoon", "SELECT n FROM t WHERE at = '2020-01-05 15:30:00'", None),
    ("open before 12:00", "SELECT n FROM t WHERE opened <= '11:59:59'", None),
    ("open after 10:30", "SELECT n FROM t WHERE opened >= '10:31'", None),
    ("from 10:00 to 12:30", "SELECT n FROM t WHERE at BETWEEN '10:00' AND '12:30'", None),
    ("a lap time of 1:29.488", "SELECT n FROM t WHERE ms = 89488", None),
    ("with the time zone UTC+05:30", "SELECT n FROM t WHERE at > '10:00'", None),
    ("sold on 1.5.2010", "SELECT n FROM t WHERE d = DATE '2010-05-01'", None),
    ("users of version 3.1.4", "SELECT n FROM t WHERE is_current = 1", None),
    ("opened at 10.30 pm", "SELECT n FROM t WHERE late = 'yes'", None),
    # a column's meaning
    (
        "the increase of unemployment from 1995 to 1996",
        "SELECT A13 - A12 FROM t",
        "unemployment rate 2015 appears in the A12; unemployment rate 2016 appears in the A13",
    ),
    ("inhabitants in 1999", "SELECT popEnd FROM t", "popEnd is the population at the end of 2000"),
    # bounds beside the number, within a date
    ("born after 1995", "SELECT n FROM t WHERE born >= '1996-01-01'", None),
    ("born before 1996", "SELECT n FROM t WHERE born <= '1995-12-31'", None),
    ("older than 29", "SELECT n FROM t WHERE age >= 30", None),
    # lists, ranges, lengths
    ("which of the 3 segments SME, LAM and KAM", "SELECT n FROM t WHERE s IN ('SME', 'LAM', 'KAM')", None),
    ("the 2 days before Saturday", "SELECT n FROM t WHERE d = 'Thursday' OR d = 'Friday'", None),
    ("grades 9, 10, 11 and 12", "SELECT n FROM t WHERE g BETWEEN 9 AND 12", None),
    ("grades 9, 10, 11 and 12", "SELECT n FROM t WHERE g >= 9 AND g <= 12", None),
    ("names of 4 letters", "SELECT n FROM t WHERE n LIKE '____'", None),
    ("rivers through at least 3 cities", "SELECT n FROM t WHERE cities LIKE '%,%,%'", None),
    ("people with at least 2 orders", "SELECT a.n FROM t AS a JOIN t AS b ON a.p = b.p AND a.id <> b.id", None),
    # words, months, Roman numerals
    ("3-point shots", "SELECT three_pointers FROM t", None),
    ("rain in month 5", "SELECT rain FROM t WHERE month = 'May'", None),
    ("films about World War 2", "SELECT n FROM t WHERE topic = 'World War II'", None),
    # units, shares, places
    ("longer than 2 hours", "SELECT n FROM t WHERE minutes > 120", None),
    ("the top 25%", "SELECT n FROM (SELECT n, NTILE(4) OVER (ORDER BY x) AS q FROM t) WHERE q = 1", None),
    ("the one on rank 5", "SELECT n FROM t ORDER BY x DESC LIMIT 1 OFFSET 4", None),
    ("more than 10 000 inhabitants", "SELECT n FROM t WHERE inhabitants > 10000", None),
    # computed
    ("who was 18 in 2010", "SELECT n FROM t WHERE born = 1992", None),
    ("20% more than 500", "SELECT n FROM t WHERE price > 600", None),
    # what only describes
    ("rated 4 on a scale of 1 to 5", "SELECT n FROM t WHERE rating = 4", None),
    ("a score of 7 out of 10", "SELECT n FROM t WHERE score = 7", None),
    ("the average over all 50 states", "SELECT AVG(x) FROM states", None),
    ("the message 2 months after March 2021", "SELECT m FROM t WHERE month = 'May' AND year = 2021", None),
]
WRONG: list[tuple[str, str, str | None]] = [
    ("the top 3 of the singers", "SELECT a, b, c FROM t ORDER BY x LIMIT 5", None),
    ("more than 3 of them", "SELECT n FROM t WHERE kind IN ('a', 'b', 'c')", None),
    ("lap 7 in 1:29.488", "SELECT n FROM t WHERE time LIKE '1:29%'", None),
    ("a lap time of 1:30.100", "SELECT n FROM t WHERE time = '1:29.488'", None),
    ("open at 10:30", "SELECT n FROM t WHERE at = '2020-01-05 11:30:00'", None),
    ("from 10:00 to 12:30", "SELECT n FROM t WHERE at BETWEEN '10:00' AND '12:45'", None),
    ("in 0:01:54", "SELECT n FROM t WHERE q3 LIKE '1:55%'", None),
    ("born after 1995", "SELECT n FROM t WHERE born >= '1998-03-01'", None),
    ("sold in 2011", "SELECT n FROM t", "the amount appears in A12"),
    ("grades 9, 10, 11 and 14", "SELECT n FROM t WHERE g BETWEEN 9 AND 12", None),
    ("paid more than 30 days after signing", "SELECT n FROM t WHERE paid > signed", None),
    ("more than 634.8 paid", "SELECT n FROM t WHERE price > 1513.12", None),
    ("names of 4 letters", "SELECT n FROM t WHERE n LIKE '_____'", None),
    ("who was 18 in 2010", "SELECT n FROM t WHERE born = 1991 AND year = 2010", None),
]


@each(("question", "gold", "evidence"), FORMS)
def test_a_number_in_another_form_is_used(question: str, gold: str, evidence: str | None) -> None:
    assert [one.evidence for one in found_by("question-number", gold, None, question=question, evidence=evidence)] == []


@each(("question", "gold", "evidence"), WRONG)
def test_another_number_is_found(question: str, gold: str, evidence: str | None) -> None:
    assert found_by("question-number", gold, None, question=question, evidence=evidence)


def test_what_is_used_in_one_form_does_not_hide_another_number() -> None:
    """Every sound pair with a number more in the question."""
    missed = [
        (question, gold)
        for (question, gold, evidence), number in itertools.product(FORMS, (43217, 83119))
        if not found_by("question-number", gold, None, question=f"{question}, with code {number}", evidence=evidence)
    ]
    assert missed == []


OWN = "CAST(a AS REAL) / b"


@each(
    ("rule", "question", "gold"),
    [
        ("float-equality", "", f"SELECT n FROM t JOIN (SELECT MAX({OWN}) AS best FROM t) AS m ON {OWN} = m.best"),
        (
            "float-equality",
            "",
            f"WITH r AS (SELECT {OWN} AS q FROM t), m AS (SELECT MIN(q) AS l FROM r) SELECT n FROM m, t WHERE {OWN}=l",
        ),
        ("float-equality", "", f"SELECT n FROM t WHERE {OWN} = (SELECT MAX({OWN}) FROM t)"),
        (
            "float-equality",
            "",
            f"SELECT n FROM t CROSS JOIN (SELECT {OWN} AS q FROM t ORDER BY q DESC LIMIT 1) AS m WHERE {OWN} = m.q",
        ),
        (
            "float-equality",
            "",
            "SELECT k FROM t, (SELECT MAX(v) AS m FROM (SELECT AVG(x) AS v FROM t)) GROUP BY k, m HAVING AVG(x) = m",
        ),
        (
            "float-equality",
            "",
            "SELECT s.n FROM t AS s JOIN t AS o ON CAST(s.a AS REAL) / s.b = CAST(o.a AS REAL) / o.b AND s.n <> o.n",
        ),
        ("superlative", "the race in which he ranked highest", "SELECT n FROM t WHERE rank = 1"),
        ("superlative", "the ratio of the maximum range to the payload of each aircraft", "SELECT a / b FROM t"),
        ("question-quote", 'reviews in the state of "California"', "SELECT n FROM t WHERE state = 'CA'"),
        ("question-quote", 'cars count as in stock" if they are there."', "SELECT n FROM t WHERE stock = 1"),
        ("join-without-condition", "", "SELECT COUNT(DISTINCT a.x), COUNT(DISTINCT b.y) FROM a, b"),
        (
            "join-without-condition",
            "",
            "SELECT e.h / d.h FROM (SELECT h FROM m WHERE n = 'Rigi') AS e, (SELECT h FROM m WHERE n = 'Eiger') AS d",
        ),
        ("join-without-condition", "", "SELECT a.h / b.h FROM m AS a, m AS b WHERE a.n = 'Everest' AND b.n = 'Eiger'"),
        ("bare-column", "", "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) FROM t"),
    ],
)
def test_sound_golds_that_were_flagged(rule: str, question: str, gold: str) -> None:
    dialect = "postgres" if rule == "bare-column" else "sqlite"
    assert [one.evidence for one in found_by(rule, gold, None, question=question, dialect=dialect)] == []


@each(
    ("rule", "question", "gold"),
    [
        ("float-equality", "", f"SELECT n FROM t WHERE {OWN} = 0.1"),
        ("float-equality", "", "SELECT k FROM t GROUP BY k HAVING AVG(x) = 0.3"),
        ("float-equality", "", f"SELECT n FROM t JOIN (SELECT 0.1 AS best) AS m ON {OWN} = m.best"),
        ("float-equality", "", f"SELECT n FROM t WHERE {OWN} = CAST(c AS REAL) / d"),
        ("superlative", "the highest rank", "SELECT n FROM t WHERE id = 1"),
        ("superlative", "the maximum range", "SELECT a / b FROM t"),
        ("question-quote", 'reviews in the state of "California"', "SELECT n FROM t WHERE state = 'TX'"),
        ("join-without-condition", "", "SELECT COUNT(a.x), COUNT(DISTINCT b.y) FROM a, b"),
        ("join-without-condition", "", "SELECT a.h FROM m AS a, k AS b WHERE a.n = 'Everest' AND b.n = 'Eiger'"),
    ],
)
def test_their_unsound_twins_are_flagged_still(rule: str, question: str, gold: str) -> None:
    assert found_by(rule, gold, None, question=question)
