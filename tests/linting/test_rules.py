"""Each rule finds what it must, and leaves alone what only looks like it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from golds import database, found_by, one_case

from assay.linting import catalogue
from assay.linting.apply import lint_gold
from assay.linting.gold import GoldDatabase
from assay.model.lint import LintOptions
from assay.sql.schema import SchemaNames
from assay.sql.schema.ddl import read_ddl
from many_cases import each

# rule: (question, evidence, gold); evidence may be left out
Given = tuple[str, str] | tuple[str, str, str]

FLAGGED: dict[str, list[Given]] = {
    "unreadable-query": [
        ("", "SELECT name FROM singer WHERE age > 20 AND"),
        ("", "   "),
        ("", "SELECT 1; SELECT 2"),
        ("", "SELECT " + "(" * 3000 + "1" + ")" * 3000),
        ("", "SELECT name FROM singer WHERE name IN (" + ", ".join(["'x'"] * 20_000) + ")"),
    ],
    "null-comparison": [
        ("", "SELECT name FROM singer WHERE age = NULL"),
        ("", "SELECT name FROM singer WHERE NULL <> age"),
        ("", "SELECT name FROM singer WHERE age IN (1, NULL)"),
        ("", "SELECT name FROM singer GROUP BY name HAVING MAX(age) > NULL"),
    ],
    "contradictory-conditions": [
        ("", "SELECT name FROM singer WHERE country = 'France' AND country = 'Japan'"),
        ("", "SELECT name FROM singer WHERE age > 40 AND age < 30"),
        ("", "SELECT name FROM singer WHERE (age = 3 AND name = 'x') AND (age = 4)"),
        ("", "SELECT name FROM singer WHERE age > 40 AND age <= 40"),
        ("", "SELECT name FROM singer WHERE name = 'x' OR (age = 3 AND age = 4)"),
    ],
    "mixed-and-or": [
        ("", "SELECT name FROM singer WHERE age > 20 AND country = 'France' OR country = 'Japan'"),
        ("", "SELECT name FROM singer WHERE country = 'Japan' OR country = 'France' AND age > 20"),
    ],
    "join-without-condition": [
        ("", "SELECT s.name FROM singer AS s JOIN concert AS c WHERE c.year = 2014"),
        ("", "SELECT name FROM singer, concert"),
        ("", "SELECT 1 FROM singer s JOIN concert c ON c.singer_id = s.id JOIN guest g"),
        ("", "SELECT 1 FROM singer s JOIN concert c ON s.id = s.id"),
        ("", "SELECT name FROM singer WHERE id IN (SELECT c.id FROM concert c, guest g)"),
        ("", "SELECT 1 FROM singer CROSS JOIN concert"),
    ],
    "integer-division": [
        ("", "SELECT SUM(sold) / COUNT(*) FROM concert"),
        ("", "SELECT sold / seats FROM concert"),
        ("", "SELECT COUNT(*) * 100 / (SELECT COUNT(*) FROM singer) FROM concert"),
        ("", "SELECT CAST(sold / seats AS REAL) FROM concert"),
        ("", "SELECT a / b FROM (SELECT sold AS a, seats AS b FROM concert)"),
        ("", "SELECT title FROM concert WHERE sold / seats > 0.5"),
    ],
    "bare-column": [
        ("", "SELECT country, name, COUNT(*) FROM singer GROUP BY country"),
        ("", "SELECT name FROM singer GROUP BY country HAVING COUNT(*) > 1"),
        ("", "SELECT name, COUNT(*) FROM singer"),
    ],
    "any-row": [
        ("", "SELECT name FROM singer WHERE id = (SELECT singer_id FROM concert WHERE singer_id > 0)"),
        ("", "SELECT name FROM singer WHERE age > (SELECT year - 1985 FROM concert)"),
        ("", "SELECT (SELECT title FROM concert WHERE year = 2014), name FROM singer"),
        ("", "SELECT name, MAX(age) FROM singer"),
        ("", "SELECT COUNT(*) FROM (SELECT name AS n FROM singer GROUP BY country) WHERE n = 'Dan'"),
        ("", "SELECT country FROM singer GROUP BY country HAVING name = 'Dan'"),
    ],
    "float-equality": [
        ("", "SELECT title FROM concert WHERE sold / 3.0 = 0.1"),
        ("", "SELECT country FROM singer GROUP BY country HAVING AVG(age) = 40.5"),
    ],
    "limit-without-order": [
        ("", "SELECT name FROM singer LIMIT 3"),
        ("", "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert LIMIT 1)"),
    ],
    "distinct-does-nothing": [
        ("", "SELECT DISTINCT id, name FROM singer"),
        ("", "SELECT DISTINCT COUNT(*) FROM singer"),
        ("", "SELECT DISTINCT country FROM singer GROUP BY country"),
        ("", "SELECT DISTINCT rowid, name FROM singer"),
        ("", "SELECT DISTINCT fee, g.oid FROM guest AS g"),
    ],
    "unused-join": [
        ("", "SELECT g.fee FROM guest AS g JOIN concert AS c ON g.concert_id = c.rowid"),
        ("", "SELECT c.year FROM concert AS c LEFT JOIN singer AS s ON c.singer_id = s.id"),
        ("", "SELECT c.title FROM singer s, concert c WHERE s.id = c.singer_id AND c.singer_id IS NOT NULL"),
    ],
    "question-number": [
        ("Singers older than 41?", "SELECT name FROM singer WHERE age > 50"),
        ("Concerts in 2014", "SELECT title FROM concert WHERE year = 2016"),
        ("The first 7 singers", "SELECT name FROM singer ORDER BY age LIMIT 5"),
    ],
    "question-quote": [
        ("Singers of the song 'Hey'", "SELECT name FROM singer WHERE name = 'Ho'"),
        ('Who sang "Spring Time"?', "SELECT name FROM singer"),
    ],
    "value-not-asked": [
        ("Names of singers", "SELECT name FROM singer WHERE country = 'France'"),
        ("Names of old singers", "SELECT name FROM singer WHERE age > 65"),
    ],
    "superlative": [
        ("Who is the oldest singer?", "SELECT name FROM singer"),
        ("The concert with the fewest seats", "SELECT title FROM concert WHERE seats < 20"),
    ],
    "how-many": [
        ("How many singers are there?", "SELECT name FROM singer"),
    ],
    "different-without-distinct": [
        ("How many different countries are there?", "SELECT COUNT(country) FROM singer"),
        ("What are the different countries?", "SELECT country FROM singer"),
        ("How many distinct singers?", "SELECT COUNT(*) FROM singer s JOIN concert c ON c.singer_id = s.id"),
    ],
    "at-least": [
        ("Singers who are at least 40", "SELECT name FROM singer WHERE age > 40"),
        ("Singers older than 40", "SELECT name FROM singer WHERE age >= 40"),
        ("Countries with more than two singers", "SELECT country FROM singer GROUP BY 1 HAVING COUNT(*) >= 2"),
        ("Countries with 2 or more singers", "SELECT country FROM singer GROUP BY 1 HAVING COUNT(*) > 2"),
        ("Concerts with at most 6 sold", "SELECT title FROM concert WHERE sold < 6"),
        ("Concerts with fewer than 6 sold", "SELECT title FROM concert WHERE 6 >= sold"),
    ],
    "each-without-group": [
        ("The number of singers in each country", "SELECT COUNT(*) FROM singer"),
        ("For every country, the average age", "SELECT AVG(age) FROM singer"),
    ],
    "both-against-or": [
        ("Years with both Spring and Autumn", "SELECT year FROM concert WHERE title = 'Spring' OR title = 'Autumn'"),
    ],
    "evidence-contradicts": [
        ("Women", "SELECT name FROM singer WHERE country = 'Japan'", "women refers to country = 'France'"),
    ],
    "evidence-ignored": [
        ("Stars", "SELECT name FROM singer", "stars refers to `age` = 7"),
    ],
    "gold-fails": [
        ("", "SELECT nam FROM singer"),
        ("", "DELETE FROM singer"),
        ("", "SELECT * FROM nowhere"),
    ],
    "empty-result": [
        ("", "SELECT name FROM singer WHERE age > 400"),
        ("", "SELECT MAX(age) FROM singer WHERE age > 400"),
        ("", "SELECT COUNT(*) FROM venue"),
    ],
    "all-null": [
        ("", "SELECT name, died FROM singer"),
        ("", "SELECT s.name, s.died FROM singer s WHERE s.age = 30"),
    ],
    "unknown-literal": [
        ("", "SELECT name FROM singer WHERE country = 'USA'"),
        ("", "SELECT name FROM singer WHERE country = 'France'"),
        ("", 'SELECT name FROM singer WHERE country != "japan"'),
        ("", "WITH s AS (SELECT * FROM singer) SELECT name FROM s WHERE country = 'USA'"),
        ("", "SELECT n FROM (SELECT name AS n, country AS c FROM singer) WHERE c = 'USA'"),
        ("", "SELECT name FROM singer WHERE country IN ('Japan', 'Germany')"),
        ("", "SELECT title FROM concert WHERE year = 1914"),
    ],
    "limit-over-tie": [
        ("", "SELECT name FROM singer ORDER BY age DESC LIMIT 1"),
        ("", "SELECT country FROM singer GROUP BY country ORDER BY COUNT(*) LIMIT 1"),
    ],
    "order-over-nulls": [
        ("", "SELECT name FROM singer ORDER BY age LIMIT 1"),
        ("", "SELECT name FROM singer ORDER BY age LIMIT 3"),
        ("", "SELECT name FROM singer ORDER BY age LIMIT 10 OFFSET 1"),
    ],
    "text-order": [
        ("", "SELECT name FROM singer ORDER BY weight DESC LIMIT 1"),
        ("", "SELECT MAX(weight) FROM singer"),
        ("", "SELECT name FROM singer ORDER BY debut"),
        ("", "SELECT name FROM singer WHERE debut > '31/01/2001'"),
        ("", "SELECT w FROM (SELECT name, weight AS w FROM singer) ORDER BY w"),
        ("", "SELECT weight AS age FROM singer ORDER BY age"),
        ("", "SELECT name, weight FROM singer ORDER BY 2"),
        ("", "SELECT id AS weight FROM singer ORDER BY singer.weight"),
        ("", "SELECT MIN(w.weight) FROM singer w"),
        ("", "SELECT name FROM singer ORDER BY LENGTH(name), weight"),
        ("", "SELECT name FROM singer ORDER BY LENGTH(weight) DESC, weight"),
        ("", "SELECT name FROM singer ORDER BY weight, LENGTH(weight)"),
        ("", "SELECT name FROM singer ORDER BY LENGTH(debut), debut"),
        ("", "SELECT MAX(weight) FROM singer GROUP BY weight ORDER BY LENGTH(weight), weight"),
    ],
    "text-compared-as-number": [
        ("", "SELECT name FROM singer WHERE weight > 10"),
        ("", "SELECT name FROM singer WHERE weight BETWEEN '10' AND '60'"),
    ],
    "join-shares-no-value": [
        ("", "SELECT s.name FROM singer AS s JOIN concert AS c ON s.id = c.year"),
        ("", "SELECT s.name FROM singer AS s, concert AS c WHERE s.name = c.title"),
    ],
    "join-multiplies": [
        ("", "SELECT SUM(s.salary) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
        ("", "SELECT COUNT(s.id) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
        ("", "SELECT AVG(s.age) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
        ("", "SELECT s.id, SUM(s.age) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id GROUP BY s.id"),
        ("", "SELECT s.id, AVG(s.age), SUM(s.age) FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY s.id"),
    ],
    "repeated-rows": [
        ("", "SELECT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
    ],
    "constant-column": [
        ("", "SELECT name, planet FROM singer"),
    ],
    "not-in-null": [
        ("", "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM concert)"),
    ],
    "unstable-result": [
        ("", "SELECT name FROM singer ORDER BY RANDOM()"),
        ("", "SELECT name FROM singer WHERE born < DATE('now')"),
    ],
}  # fmt: skip

LEFT_ALONE: dict[str, list[Given]] = {
    "unreadable-query": [
        ("", "SELECT name FROM singer;"),
        ("", "WITH x AS (SELECT 1 AS a) SELECT a FROM x"),
        ("", "VALUES (1), (2)"),
    ],
    "null-comparison": [
        ("", "SELECT name FROM singer WHERE age IS NULL"),
        ("", "SELECT name FROM singer WHERE age IS NOT NULL"),
        ("", "SELECT name FROM singer WHERE name = 'NULL'"),
        ("", "SELECT COALESCE(age, NULL) FROM singer"),
    ],
    "contradictory-conditions": [
        ("", "SELECT name FROM singer WHERE country = 'France' OR country = 'Japan'"),
        ("", "SELECT name FROM singer WHERE age > 30 AND age < 40"),
        ("", "SELECT name FROM singer WHERE age = 3 AND age = 3.0"),
        ("", "SELECT 1 FROM singer a JOIN singer b ON a.id = b.id WHERE a.age = 3 AND b.age = 4"),
        ("", "SELECT 1 FROM singer WHERE age = 3 AND id IN (SELECT id FROM singer WHERE age = 4)"),
        ("", "SELECT 1 FROM singer WHERE age = 3 AND NOT age = 4"),
        ("", "SELECT SUM(CASE WHEN age = 3 THEN 1 WHEN age = 4 THEN 2 END) FROM singer"),
        ("", "SELECT name FROM singer WHERE age >= 40 AND age <= 40"),
    ],
    "mixed-and-or": [
        ("", "SELECT name FROM singer WHERE age > 20 AND (country = 'France' OR country = 'Japan')"),
        ("", "SELECT name FROM singer WHERE (age > 20 AND country = 'France') OR country = 'Japan'"),
        ("", "SELECT name FROM singer WHERE age > 20 AND name = 'Ann' OR country = 'Japan'"),
        ("", "SELECT 1 FROM singer WHERE age = 1 AND country = 'a' OR age = 2 AND country = 'b'"),
    ],
    "join-without-condition": [
        ("", "SELECT s.name FROM singer AS s, concert AS c WHERE c.singer_id = s.id"),
        ("", "SELECT 1 FROM singer s JOIN concert c ON c.singer_id = s.id AND c.year = 2014"),
        ("", "SELECT 1 FROM singer NATURAL JOIN guest"),
        ("", "SELECT 1 FROM concert JOIN guest USING (singer_id)"),
        ("", "SELECT name FROM singer, (SELECT MAX(age) AS a FROM singer) AS m WHERE age > 3"),
        ("", "WITH m AS (SELECT AVG(age) AS a FROM singer) SELECT name FROM singer CROSS JOIN m"),
        ("", "SELECT name FROM singer, concert WHERE age < year"),
        ("", "SELECT 1 FROM singer s, concert c WHERE EXISTS (SELECT 1 FROM guest WHERE fee = c.id + s.age)"),
        ("", "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)"),
    ],
    "integer-division": [
        ("", "SELECT CAST(SUM(sold) AS REAL) / COUNT(*) FROM concert"),
        ("", "SELECT sold * 1.0 / seats FROM concert"),
        ("", "SELECT SUM(salary) / COUNT(*) FROM singer"),
        ("", "SELECT 100.0 * COUNT(*) / 7 FROM singer"),
        ("", "SELECT AVG(age) / 2 FROM singer"),
        ("", "SELECT 10 / 5"),
    ],
    "any-row": [
        ("", "SELECT name FROM singer WHERE id = (SELECT MAX(singer_id) FROM concert)"),
        ("", "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)"),
        ("", "SELECT name FROM singer WHERE id = (SELECT singer_id FROM concert WHERE title = 'Spring')"),
        ("", "SELECT name FROM singer WHERE id = (SELECT singer_id FROM concert WHERE year = 2014)"),
        ("", "SELECT name, MIN(age) FROM singer"),
        ("", "SELECT country, name, COUNT(*) FROM singer GROUP BY country"),
        ("", "SELECT s.name, COUNT(*) FROM singer s JOIN concert c ON s.id = c.singer_id GROUP BY s.id"),
    ],
    "bare-column": [
        ("", "SELECT country, COUNT(*) FROM singer GROUP BY country"),
        ("", "SELECT name, COUNT(*) FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY s.id"),
        ("", "SELECT s.name FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY c.singer_id"),
        ("", "SELECT name, MAX(age) FROM singer"),
        ("", "SELECT country, name FROM singer GROUP BY 1, 2"),
        ("", "SELECT UPPER(country) AS c, COUNT(*) FROM singer GROUP BY c"),
        ("", "SELECT planet, COUNT(*) FROM singer GROUP BY country"),
        ("", "SELECT name FROM singer"),
    ],
    "float-equality": [
        ("", "SELECT title FROM concert WHERE ROUND(sold / 3.0, 1) = 0.1"),
        ("", "SELECT name FROM singer WHERE salary = 1.5"),
        ("", "SELECT title FROM concert WHERE sold / 3.0 > 0.1"),
        ("", "SELECT country FROM singer GROUP BY country HAVING COUNT(*) = 2"),
    ],
    "limit-without-order": [
        ("", "SELECT name FROM singer ORDER BY age LIMIT 3"),
        ("", "SELECT COUNT(*) FROM singer LIMIT 1"),
        ("", "SELECT name FROM singer LIMIT 100"),
        ("", "SELECT planet FROM singer LIMIT 1"),
        ("", "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert ORDER BY year LIMIT 1)"),
    ],
    "distinct-does-nothing": [
        ("", "SELECT DISTINCT country FROM singer"),
        ("", "SELECT DISTINCT s.id FROM singer s JOIN concert c ON c.singer_id = s.id"),
        ("", "SELECT COUNT(DISTINCT country) FROM singer"),
        ("", "SELECT DISTINCT (SELECT s.rowid FROM singer AS s WHERE s.age > singer_id) FROM guest"),
        ("", "SELECT DISTINCT COUNT(*) FROM singer GROUP BY country"),
    ],
    "unused-join": [
        ("", "SELECT c.year FROM concert AS c JOIN singer AS s ON c.singer_id = s.id"),
        ("", "SELECT g.fee FROM concert AS c LEFT JOIN guest AS g ON g.concert_id = c.id"),
        ("", "SELECT s.name FROM concert AS c JOIN singer AS s ON c.singer_id = s.id"),
        ("", "SELECT c.year FROM concert AS c JOIN singer AS s ON c.singer_id = s.id WHERE s.age > 3"),
        ("", "SELECT s.name FROM singer s JOIN concert c ON c.singer_id = s.id"),
        ("", "SELECT c.year FROM concert AS c JOIN singer AS s ON c.singer_id = s.id ORDER BY s.age"),
    ],
    "question-number": [
        ("Singers older than 41?", "SELECT name FROM singer WHERE age > 41"),
        ("Singers who are at least 41", "SELECT name FROM singer WHERE age > 40"),
        ("Concerts in 2014", "SELECT title FROM concert WHERE title LIKE '2014-%'"),
        ("Sold 1,000 tickets", "SELECT title FROM concert WHERE sold = 1000"),
        ("Sales of 2 million", "SELECT title FROM concert WHERE sold > 2000000"),
        ("20% above average", "SELECT title FROM concert WHERE sold > (SELECT AVG(sold) * 1.2 FROM concert)"),
        ("More than 50% sold", "SELECT title FROM concert WHERE sold > 0.5 * seats"),
        ("The track '99 Balloons'", "SELECT name FROM singer WHERE name LIKE '%Balloons%'"),
        ("Give me 1 singer", "SELECT name FROM singer ORDER BY age LIMIT 1"),
    ],
    "question-quote": [
        ("Singers of the song 'Hey'", "SELECT name FROM singer WHERE name = 'hey'"),
        ("Singers whose name contains 'Cats'", "SELECT name FROM singer WHERE name LIKE '%cat%'"),
        ("What is the singers' age and the concert's year?", "SELECT age FROM singer"),
        ("Who is `` Ann '' ?", "SELECT id FROM singer WHERE name = 'Ann'"),
    ],
    "value-not-asked": [
        ("French singers", "SELECT name FROM singer WHERE country = 'France'"),
        ("Female singers", "SELECT name FROM singer WHERE country = 'F'"),
        ("Singers over twenty", "SELECT name FROM singer WHERE age > 20"),
        ("Names", "SELECT name FROM singer WHERE country = 'Japan'", "all of them are from Japan"),
        ("Singers who are at least 41", "SELECT name FROM singer WHERE age > 40"),
    ],
    "superlative": [
        ("Who is the oldest singer?", "SELECT name FROM singer ORDER BY age DESC LIMIT 1"),
        ("Who is the oldest?", "SELECT name FROM singer WHERE age = (SELECT MAX(age) FROM singer)"),
        ("Singers who are at least 40", "SELECT name FROM singer WHERE age >= 40"),
        ("The most serious", "SELECT name FROM singer WHERE age = 1", "most serious refers to age = 1"),
        ("Singers of 'The Longest Day'", "SELECT name FROM singer WHERE name = 'x'"),
        ("The oldest", "SELECT name FROM singer s WHERE NOT EXISTS (SELECT 1 FROM singer t WHERE t.age > s.age)"),
    ],
    "how-many": [
        ("How many singers are there?", "SELECT COUNT(*) FROM singer"),
        ("How many seats has each concert?", "SELECT seats FROM concert"),
        ("Who are the singers?", "SELECT name FROM singer"),
    ],
    "different-without-distinct": [
        ("How many different countries?", "SELECT COUNT(DISTINCT country) FROM singer"),
        ("What are the different countries?", "SELECT country FROM singer GROUP BY country"),
        ("What are the different names?", "SELECT name FROM singer"),
        ("How many different singers are there?", "SELECT COUNT(*) FROM singer"),
        ("Singers different from Ann", "SELECT country FROM singer WHERE name <> 'Ann'"),
        ("How many different ids?", "SELECT COUNT(id) FROM singer"),
    ],
    "at-least": [
        ("Singers who are at least 40", "SELECT name FROM singer WHERE age >= 40"),
        ("Singers who are at least 41", "SELECT name FROM singer WHERE age > 40"),
        ("Singers older than 40", "SELECT name FROM singer WHERE age > 40"),
        ("Singers no older than 40", "SELECT name FROM singer WHERE age <= 40"),
        ("Not more than 40", "SELECT name FROM singer WHERE age <= 40"),
        ("After 2014, at least 2", "SELECT year FROM concert WHERE year > 2014 GROUP BY 1 HAVING COUNT(*) >= 2"),
    ],
    "each-without-group": [
        ("The number of singers in each country", "SELECT country, COUNT(*) FROM singer GROUP BY country"),
        ("The name of each singer", "SELECT name FROM singer"),
        ("How many singers are there?", "SELECT COUNT(*) FROM singer"),
    ],
    "both-against-or": [
        ("Both a and b", "SELECT id FROM singer WHERE name = 'a' INTERSECT SELECT id FROM singer WHERE name = 'b'"),
        ("Spring or Autumn", "SELECT year FROM concert WHERE title = 'Spring' OR title = 'Autumn'"),
        ("Both name and age", "SELECT name, age FROM singer WHERE age = 3 OR name = 'x'"),
    ],
    "evidence-contradicts": [
        ("Women", "SELECT name FROM singer WHERE country = 'France'", "women refers to country = 'France'"),
        ("Women", "SELECT name FROM singer WHERE age = 3", "women refers to country = 'France'"),
        ("On 2020/1/5", "SELECT name FROM singer WHERE born = '2020-01-05'", "on 2020/1/5 refers to born = '2020/1/5'"),
        ("Both", "SELECT name FROM singer WHERE country = 'a'", "country = 'a' is A; country = 'b' is B"),
    ],
    "evidence-ignored": [
        ("Stars", "SELECT name FROM singer WHERE age = 7", "stars refers to age = 7"),
        ("Stars", "SELECT name FROM singer", "stars means fame = 7"),
        ("Stars", "SELECT name FROM singer WHERE age BETWEEN 1 AND 7", "stars refers to age = 7"),
    ],
    "gold-fails": [
        ("", "SELECT name FROM singer"),
        ("", "SELECT name FROM singer WHERE 1 = 0"),
    ],
    "empty-result": [
        ("", "SELECT name FROM singer"),
        ("", "SELECT COUNT(*) - 4 FROM singer"),
        ("", "SELECT died FROM singer WHERE id = 1"),
    ],
    "all-null": [
        ("", "SELECT name, age FROM singer"),
        ("", "SELECT died, name FROM singer WHERE 1 = 0"),
    ],
    "unknown-literal": [
        ("", "SELECT name FROM singer WHERE country = 'Japan'"),
        ("", "SELECT name FROM singer WHERE code = 'AA'"),
        ("", "SELECT title FROM concert WHERE year = '2014'"),
        ("", "SELECT title FROM concert WHERE year = 2014.0"),
        ("", "SELECT name FROM singer WHERE country LIKE 'USA'"),
        ("", "SELECT name FROM singer WHERE age > 1000"),
        ("", "SELECT name FROM venue WHERE name = 'nothing is there'"),
        ("", "SELECT name FROM singer WHERE UPPER(country) = 'JAPAN'"),
        ("", "WITH s AS (SELECT UPPER(country) AS country FROM singer) SELECT 1 FROM s WHERE country = 'JAPAN'"),
        ("", "WITH RECURSIVE t (n) AS (SELECT 1 UNION SELECT n + 1 FROM t WHERE n < 5) SELECT n FROM t WHERE n = 3"),
        ("", "SELECT c FROM (SELECT country AS c FROM singer UNION SELECT 'USA') WHERE c = 'USA'"),
    ],
    "limit-over-tie": [
        ("", "SELECT name FROM singer ORDER BY salary DESC LIMIT 1"),
        ("", "SELECT name FROM singer ORDER BY age DESC LIMIT 2"),
        ("", "SELECT planet FROM singer ORDER BY age DESC LIMIT 1"),
        ("", "SELECT name FROM singer ORDER BY age DESC, id LIMIT 1"),
        ("", "SELECT name FROM singer ORDER BY age"),
    ],
    "order-over-nulls": [
        ("", "SELECT name FROM singer ORDER BY age DESC LIMIT 1"),
        ("", "SELECT name FROM singer WHERE age IS NOT NULL ORDER BY age LIMIT 1"),
        ("", "SELECT name FROM singer WHERE country = 'United States' ORDER BY age LIMIT 1"),
        ("", "SELECT name FROM singer ORDER BY salary LIMIT 1"),
        ("", "SELECT name FROM singer ORDER BY age LIMIT 4"),
        ("", "SELECT name FROM singer ORDER BY age LIMIT 10"),
        ("", "SELECT name FROM singer WHERE country = 'Japan' ORDER BY age LIMIT 2"),
        ("", "SELECT DISTINCT age FROM singer ORDER BY age LIMIT 10"),
        ("", "SELECT DISTINCT planet, died FROM singer ORDER BY died LIMIT 2"),
        ("", "SELECT age, COUNT(*) FROM singer GROUP BY age ORDER BY age LIMIT 9"),
    ],
    "text-order": [
        ("", "SELECT name FROM singer ORDER BY CAST(weight AS REAL) DESC LIMIT 1"),
        ("", "SELECT name FROM singer ORDER BY born"),
        ("", "SELECT name FROM singer ORDER BY country"),
        ("", "SELECT name FROM singer ORDER BY age"),
        ("", "SELECT id AS weight FROM singer ORDER BY weight"),
        ("", "SELECT id AS weight FROM singer ORDER BY (weight) DESC"),
        ("", "SELECT name FROM singer ORDER BY LENGTH(weight), weight"),
        ("", "SELECT name FROM singer AS s ORDER BY LENGTH(s.weight) DESC, weight DESC LIMIT 1"),
        ("", "SELECT LENGTH(weight), weight FROM singer ORDER BY 1, 2"),
        ("", "SELECT age AS weight, COUNT(*) FROM singer GROUP BY age ORDER BY weight"),
    ],
    "text-compared-as-number": [
        ("", "SELECT name FROM singer WHERE CAST(weight AS REAL) > 10"),
        ("", "SELECT name FROM singer WHERE age > 10"),
        ("", "SELECT name FROM singer WHERE country > 'B'"),
        ("", "SELECT name FROM singer WHERE weight = 10"),
    ],
    "join-shares-no-value": [
        ("", "SELECT s.name FROM singer AS s JOIN concert AS c ON s.id = c.singer_id"),
        ("", "SELECT v.name FROM venue AS v JOIN concert AS c ON v.id = c.id"),
    ],
    "join-multiplies": [
        ("", "SELECT SUM(c.sold) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
        ("", "SELECT COUNT(*) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
        ("", "SELECT COUNT(DISTINCT s.id) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
        ("", "SELECT s.name, COUNT(c.id) FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY s.id"),
        ("", "SELECT MAX(s.age) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
        ("", "SELECT s.id, AVG(s.age) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id GROUP BY s.id"),
        ("", "SELECT AVG(s.age) FROM singer s JOIN concert c ON c.singer_id = s.id WHERE s.name = 'Ann'"),
        ("", "SELECT AVG(age) FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY age"),
    ],
    "repeated-rows": [
        ("", "SELECT DISTINCT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
        ("", "SELECT c.title FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
        ("", "SELECT s.country FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
        ("", "SELECT s.name, c.title FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
    ],
    "constant-column": [
        ("", "SELECT name, planet FROM singer WHERE planet = 'Earth'"),
        ("", "SELECT name, country FROM singer"),
        ("", "SELECT name, died FROM singer"),
        ("", "SELECT name, planet FROM singer WHERE age = 40"),
    ],
    "not-in-null": [
        ("", "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM concert WHERE singer_id IS NOT NULL)"),
        ("", "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM guest)"),
        ("", "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)"),
    ],
    "unstable-result": [
        ("", "SELECT name FROM singer ORDER BY name"),
        ("", "SELECT DATE(born) FROM singer"),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoldDatabase]:
    with database(Path(tmp_path_factory.mktemp("songs"))) as opened:
        yield opened


def _pairs(given: dict[str, list[Given]]) -> list[tuple[str, Given]]:
    return [(rule, case) for rule, cases in given.items() for case in cases]


def _identity(value: object) -> str:
    return value if isinstance(value, str) else str(value)[:80]


@each(("rule", "given"), _pairs(FLAGGED), ids=_identity)
def test_it_is_found(rule: str, given: Given, songs: GoldDatabase) -> None:
    found = found_by(rule, given[1], songs, question=given[0], evidence=given[2] if len(given) > 2 else None)
    assert found, f"{rule} says nothing about {given}"
    for one in found:
        assert one.rule == rule
        assert one.evidence.endswith((".", "!", "?")) or rule == "gold-fails"
        assert one.remedy
        if one.line is not None:
            assert one.excerpt


@each(("rule", "given"), _pairs(LEFT_ALONE), ids=_identity)
def test_what_looks_like_it_is_left_alone(rule: str, given: Given, songs: GoldDatabase) -> None:
    found = found_by(rule, given[1], songs, question=given[0], evidence=given[2] if len(given) > 2 else None)
    assert not found, [one.evidence for one in found]


@pytest.mark.parametrize(
    ("table", "is_found"),
    [
        ("(id TEXT PRIMARY KEY)", False),
        ("(id INT PRIMARY KEY)", False),
        ("(id INTEGER PRIMARY KEY DESC)", False),
        ("(id TEXT, v INT NOT NULL, PRIMARY KEY (id, v))", False),
        ("(id TEXT NOT NULL PRIMARY KEY)", True),
        ("(id INTEGER PRIMARY KEY)", True),
        ("(id TEXT PRIMARY KEY) WITHOUT ROWID", True),
        ("(id TEXT PRIMARY KEY) STRICT", True),
        ("(id TEXT NOT NULL, v INT NOT NULL, PRIMARY KEY (id, v))", True),
    ],
)
def test_a_key_that_may_be_null_several_times_leaves_distinct_its_work(
    table: str, is_found: bool, tmp_path: Path
) -> None:
    if "STRICT" in table and sqlite3.sqlite_version_info < (3, 37):
        pytest.skip("this SQLite has no STRICT tables")
    query = f"SELECT DISTINCT {'v, id' if ', v' in table else 'id'} FROM tk"
    with closing(sqlite3.connect(tmp_path / "songs.sqlite")) as made:
        made.execute(f"CREATE TABLE tk {table}")
    with database(tmp_path) as opened:
        assert bool(found_by("distinct-does-nothing", query, opened)) is is_found
        without_data = lint_gold(
            one_case(query),
            LintOptions(only=frozenset({"distinct-does-nothing"})),
            dialect="sqlite",
            names=SchemaNames(read_ddl(f"CREATE TABLE tk {table}", "sqlite").schema),
            database=None,
        )
        assert bool(without_data.findings) is is_found


def test_every_rule_of_single_golds_has_both() -> None:
    single = {rule.about.name for rule in catalogue() if rule.check is not None} - {"slow-gold"}
    assert single == set(FLAGGED) == set(LEFT_ALONE)
    assert all(len(cases) >= 2 for cases in LEFT_ALONE.values())


def test_every_rule_says_all_about_itself() -> None:
    for rule in catalogue():
        about = rule.about
        assert all((about.name, about.finds, about.why, about.remedy, about.bad, about.good)), about
        assert about.finds[0].islower() or about.finds[0] in "'DLNORSWA", about.finds
        assert not about.finds.endswith(".")
        assert about.why.endswith(".")
        assert (rule.check is None) != (rule.across is None)
