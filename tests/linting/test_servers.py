"""On servers the tables come from the standard's own views."""

from __future__ import annotations

import warnings
from contextlib import closing
from typing import Any

import assay
import servers

SCRIPT = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, "Home Town" TEXT);
CREATE TABLE concert (id INTEGER PRIMARY KEY, singer_id INTEGER, sold INTEGER);
INSERT INTO singer VALUES (1, 'Ann', 40, 'Oslo'), (2, 'Bob', 40, 'Rome'), (3, 'Cat', NULL, 'Rome');
INSERT INTO concert VALUES (1, 1, 5), (2, 1, 6), (3, 2, 7), (4, NULL, 1);
"""
GOLDS = {
    "tie": "SELECT name FROM singer WHERE age > 1 ORDER BY age DESC LIMIT 1",
    "nulls": "SELECT name FROM singer ORDER BY age DESC LIMIT 1",
    "typo": "SELECT name FROM singer WHERE \"Home Town\" = 'rome'",
    "division": "SELECT SUM(sold) / COUNT(*) FROM concert",
    "join": "SELECT AVG(s.age) FROM singer s JOIN concert c ON c.singer_id = s.id",
    "missing": "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM concert)",
    "broken": "SELECT nam FROM singer",
    "fine": "SELECT name, COUNT(*) FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY s.id",
}
FOUND = {
    ("tie", "limit-over-tie"),
    ("nulls", "order-over-nulls"),
    ("typo", "unknown-literal"),
    ("typo", "empty-result"),
    ("division", "integer-division"),
    ("join", "join-multiplies"),
    ("missing", "not-in-null"),
    ("missing", "empty-result"),
    ("broken", "gold-fails"),
}


def test_postgres_is_linted_by_the_same_rules(postgres: servers.PostgresServer) -> None:
    url = postgres.create("assay_lint", SCRIPT)
    try:
        cases = [assay.Case(id=name, question="", golds=(gold,)) for name, gold in GOLDS.items()]
        report = assay.lint(cases, databases=url, workers=1)
    finally:
        postgres.drop("assay_lint")
    assert not report.gaps
    assert {(one.case_id, one.rule) for one in report.findings if one.severity != "note"} == FOUND


def test_mariadb_is_linted_by_the_same_rules(mariadb: Any) -> None:
    with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE assay_lint CHARACTER SET utf8mb4")
        cursor.execute("USE assay_lint")
        for statement in SCRIPT.replace('"', "`").split(";"):
            if statement.strip():
                cursor.execute(statement)
        connection.commit()
    golds = {name: gold.replace('"', "`") for name, gold in GOLDS.items()}
    golds["typo"] = "SELECT name FROM singer WHERE `Home Town` = 'romee'"  # its collation takes 'rome' for 'Rome'
    golds["nulls"] = "SELECT name FROM singer ORDER BY age LIMIT 1"
    try:
        cases = [assay.Case(id=name, question="", golds=(gold,)) for name, gold in golds.items()]
        url = f"mysql://root@{mariadb.host}:{mariadb.port}/assay_lint"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = assay.lint(cases, databases=url, workers=1)
    finally:
        with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("DROP DATABASE assay_lint")
    assert not report.gaps
    found = {(one.case_id, one.rule) for one in report.findings if one.severity != "note"}
    assert found == FOUND - {("division", "integer-division")}  # MySQL keeps the fraction
