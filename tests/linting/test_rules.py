"""Each rule finds what it must, and leaves alone what only looks like it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from golds import database, found_by, one_case

from assay.linting import catalogue
from assay.linting.apply import lint_gold
from assay.linting.gold import GoldDatabase
from assay.model.lint import LintFinding, LintOptions
from assay.sql.schema import SchemaNames
from assay.sql.schema.ddl import read_ddl
from many_cases import each
from running import sqlite_url

Given = str | tuple[str, str] | tuple[str, str, str]
"""A gold query; or a question, a gold query and, if it matters, evidence."""

FLAGGED: dict[str, list[Given]] = {
    "unreadable-query": [
        "SELECT name FROM singer WHERE age > 20 AND",
        "   ",
        "SELECT 1; SELECT 2",
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
        "SELECT name FROM singer WHERE name IN (" + ", ".join(["'x'"] * 20_000) + ")",
    ],
    "null-comparison": [
        "SELECT name FROM singer WHERE age = NULL",
        "SELECT name FROM singer WHERE NULL <> age",
        "SELECT name FROM singer WHERE age IN (1, NULL)",
        "SELECT name FROM singer GROUP BY name HAVING MAX(age) > NULL",
        "SELECT name FROM singer WHERE age <> NULL",
        "SELECT CASE WHEN age = NULL THEN 1 END FROM singer",
        "SELECT COUNT(*) FILTER (WHERE age = NULL) FROM singer",
    ],
    "contradictory-conditions": [
        "SELECT name FROM singer WHERE country = 'France' AND country = 'Japan'",
        "SELECT name FROM singer WHERE age > 40 AND age < 30",
        "SELECT name FROM singer WHERE (age = 3 AND name = 'x') AND (age = 4)",
        "SELECT name FROM singer WHERE age > 40 AND age <= 40",
        "SELECT name FROM singer WHERE name = 'x' OR (age = 3 AND age = 4)",
        "SELECT name FROM singer WHERE age > 5 AND (name = 'x' OR name='y') AND age < 3",
    ],
    "mixed-and-or": [
        "SELECT name FROM singer WHERE age > 20 AND country = 'France' OR country = 'Japan'",
        "SELECT name FROM singer WHERE country = 'Japan' OR country = 'France' AND age > 20",
    ],
    "join-without-condition": [
        "SELECT s.name FROM singer AS s JOIN concert AS c WHERE c.year = 2014",
        "SELECT name FROM singer, concert",
        "SELECT 1 FROM singer s JOIN concert c ON c.singer_id = s.id JOIN guest g",
        "SELECT 1 FROM singer s JOIN concert c ON s.id = s.id",
        "SELECT name FROM singer WHERE id IN (SELECT c.id FROM concert c, guest g)",
        "SELECT 1 FROM singer CROSS JOIN concert",
        "SELECT s.name FROM singer s, concert c",
        "SELECT s.name FROM singer s JOIN concert c ON s.age > 3",
    ],
    "integer-division": [
        "SELECT SUM(sold) / COUNT(*) FROM concert",
        "SELECT sold / seats FROM concert",
        "SELECT COUNT(*) * 100 / (SELECT COUNT(*) FROM singer) FROM concert",
        "SELECT CAST(sold / seats AS REAL) FROM concert",
        "SELECT a / b FROM (SELECT sold AS a, seats AS b FROM concert)",
        "SELECT title FROM concert WHERE sold / seats > 0.5",
        "SELECT 100*SUM(year=2014)/COUNT(*) FROM concert",
        "SELECT SUM(year>2000 AND sold<5)/COUNT(*) FROM concert",
        "SELECT MAX(year IS NULL)/2 FROM concert",
        "SELECT SUM(CASE WHEN year=2014 THEN 1 ELSE 0 END)*100/COUNT(*) FROM concert",
        "SELECT COUNT(*) FILTER (WHERE year=2014)/COUNT(*) FROM concert",
        "SELECT (SELECT COUNT(*) FROM singer)/(SELECT COUNT(*) FROM concert)",
        "SELECT SUM(IIF(year=2014,1,0))/COUNT(*) FROM concert",
        "WITH x AS (SELECT COUNT(*) n FROM singer), y AS (SELECT COUNT(*) m FROM concert) SELECT n/m FROM x, y",
    ],
    "bare-column": [
        "SELECT country, name, COUNT(*) FROM singer GROUP BY country",
        "SELECT name FROM singer GROUP BY country HAVING COUNT(*) > 1",
        "SELECT name, COUNT(*) FROM singer",
        "SELECT name, AVG(age) FROM singer",
    ],
    "any-row": [
        "SELECT name FROM singer WHERE id = (SELECT singer_id FROM concert WHERE singer_id > 0)",
        "SELECT name FROM singer WHERE age > (SELECT year - 1985 FROM concert)",
        "SELECT (SELECT title FROM concert WHERE year = 2014), name FROM singer",
        "SELECT name, MAX(age) FROM singer",
        "SELECT COUNT(*) FROM (SELECT name AS n FROM singer GROUP BY country) WHERE n = 'Dan'",
        "SELECT country FROM singer GROUP BY country HAVING name = 'Dan'",
    ],
    "float-equality": [
        "SELECT title FROM concert WHERE sold / 3.0 = 0.1",
        "SELECT country FROM singer GROUP BY country HAVING AVG(age) = 40.5",
        "SELECT id FROM concert WHERE sold*1.0/seats = 0.5",
        "SELECT singer_id FROM concert GROUP BY singer_id HAVING AVG(sold) = 5.5",
    ],
    "limit-without-order": [
        "SELECT name FROM singer LIMIT 3",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert LIMIT 1)",
        "SELECT name FROM singer LIMIT 1",
        "(SELECT name FROM singer) LIMIT 1",
        "SELECT name FROM singer UNION ALL SELECT title FROM concert LIMIT 1",
    ],
    "distinct-does-nothing": [
        "SELECT DISTINCT id, name FROM singer",
        "SELECT DISTINCT COUNT(*) FROM singer",
        "SELECT DISTINCT country FROM singer GROUP BY country",
        "SELECT DISTINCT rowid, name FROM singer",
        "SELECT DISTINCT fee, g.oid FROM guest AS g",
    ],
    "unused-join": [
        "SELECT g.fee FROM guest AS g JOIN concert AS c ON g.concert_id = c.rowid",
        "SELECT c.year FROM concert AS c LEFT JOIN singer AS s ON c.singer_id = s.id",
        "SELECT c.title FROM singer s, concert c WHERE s.id = c.singer_id AND c.singer_id IS NOT NULL",
    ],
    "question-number": [
        ("Singers older than 41?", "SELECT name FROM singer WHERE age > 50"),
        ("Concerts in 2014", "SELECT title FROM concert WHERE year = 2016"),
        ("The first 7 singers", "SELECT name FROM singer ORDER BY age LIMIT 5"),
        ("Concerts between 2014 and 2016", "SELECT title FROM concert WHERE year BETWEEN 2014 AND 2018"),
    ],
    "question-quote": [
        ("Singers of the song 'Hey'", "SELECT name FROM singer WHERE name = 'Ho'"),
        ('Who sang "Spring Time"?', "SELECT name FROM singer"),
    ],
    "value-not-asked": [
        ("Names of singers", "SELECT name FROM singer WHERE country = 'France'"),
        ("Names of old singers", "SELECT name FROM singer WHERE age > 65"),
        ("singers from Japan", "SELECT name FROM singer WHERE country = 'France '"),
    ],
    "superlative": [
        ("Who is the oldest singer?", "SELECT name FROM singer"),
        ("The concert with the fewest seats", "SELECT title FROM concert WHERE seats < 20"),
        ("Which singer is the youngest?", "SELECT name FROM singer WHERE age = 30"),
        ("the most popular country", "SELECT country FROM singer GROUP BY country"),
    ],
    "how-many": [("How many singers are there?", "SELECT name FROM singer")],
    "different-without-distinct": [
        ("How many different countries are there?", "SELECT COUNT(country) FROM singer"),
        ("What are the different countries?", "SELECT country FROM singer"),
        ("How many distinct singers?", "SELECT COUNT(*) FROM singer s JOIN concert c ON c.singer_id = s.id"),
        ("List the distinct countries", "SELECT country FROM singer"),
        ("unique countries of singers", "SELECT country FROM singer"),
    ],
    "at-least": [
        ("Singers who are at least 40", "SELECT name FROM singer WHERE age > 40"),
        ("Singers older than 40", "SELECT name FROM singer WHERE age >= 40"),
        ("Countries with more than two singers", "SELECT country FROM singer GROUP BY 1 HAVING COUNT(*) >= 2"),
        ("Countries with 2 or more singers", "SELECT country FROM singer GROUP BY 1 HAVING COUNT(*) > 2"),
        ("Concerts with at most 6 sold", "SELECT title FROM concert WHERE sold < 6"),
        ("Concerts with fewer than 6 sold", "SELECT title FROM concert WHERE 6 >= sold"),
        ("six or more sold", "SELECT id FROM concert WHERE sold > 6"),
        ("more than 6 sold", "SELECT id FROM concert WHERE sold >= 6"),
        ("not more than 6 sold", "SELECT id FROM concert WHERE sold < 6"),
        ("a minimum of 6", "SELECT id FROM concert WHERE sold > 6"),
        ("6 or fewer sold", "SELECT id FROM concert WHERE sold < 6"),
        ("up to 6 sold", "SELECT id FROM concert WHERE sold < 6"),
        ("over 6 sold", "SELECT id FROM concert WHERE sold >= 6"),
        ("at least 2 concerts", "SELECT singer_id FROM concert GROUP BY singer_id HAVING COUNT(*) > 2"),
    ],
    "each-without-group": [
        ("The number of singers in each country", "SELECT COUNT(*) FROM singer"),
        ("For every country, the average age", "SELECT AVG(age) FROM singer"),
    ],
    "both-against-or": [
        ("Years with both Spring and Autumn", "SELECT year FROM concert WHERE title = 'Spring' OR title = 'Autumn'"),
        ("years of both 2014 and 2015", "SELECT singer_id FROM concert WHERE year IN (2014, 2015)"),
    ],
    "evidence-contradicts": [
        ("Women", "SELECT name FROM singer WHERE country = 'Japan'", "women refers to country = 'France'"),
    ],
    "evidence-ignored": [("Stars", "SELECT name FROM singer", "stars refers to `age` = 7")],
    "gold-fails": [
        "SELECT nam FROM singer",
        "DELETE FROM singer",
        "SELECT * FROM nowhere",
        "SELECT",
        "DROP TABLE singer",
    ],
    "empty-result": [
        "SELECT name FROM singer WHERE age > 400",
        "SELECT MAX(age) FROM singer WHERE age > 400",
        "SELECT COUNT(*) FROM venue",
        "SELECT SUM(age) FROM singer WHERE age > 1000",
        "SELECT COUNT(*) FROM singer WHERE age > 1000",
    ],
    "all-null": [
        "SELECT name, died FROM singer",
        "SELECT s.name, s.died FROM singer s WHERE s.age = 30",
        "SELECT died FROM singer",
    ],
    "unknown-literal": [
        "SELECT name FROM singer WHERE country = 'USA'",
        "SELECT name FROM singer WHERE country = 'France'",
        'SELECT name FROM singer WHERE country != "japan"',
        "WITH s AS (SELECT * FROM singer) SELECT name FROM s WHERE country = 'USA'",
        "SELECT n FROM (SELECT name AS n, country AS c FROM singer) WHERE c = 'USA'",
        "SELECT name FROM singer WHERE country IN ('Japan', 'Germany')",
        "SELECT title FROM concert WHERE year = 1914",
        "SELECT name FROM singer WHERE country = 'japan'",
        "SELECT name FROM singer WHERE 'Jpan' = country",
        "SELECT name FROM singer WHERE country IN ('Japan', 'Peruu')",
        "WITH x(c) AS (SELECT country FROM singer) SELECT c FROM x WHERE c = 'japan'",
        "SELECT s.name FROM singer s WHERE s.id IN (SELECT id FROM singer t WHERE t.country = 'japan')",
        "SELECT SUM(CASE WHEN country = 'Peru' THEN 1 ELSE 0 END) FROM singer",
        "SELECT COUNT(*) FILTER (WHERE country = 'japan') FROM singer",
    ],
    "limit-over-tie": [
        "SELECT name FROM singer ORDER BY age DESC LIMIT 1",
        "SELECT country FROM singer GROUP BY country ORDER BY COUNT(*) LIMIT 1",
        "WITH x AS (SELECT name, age FROM singer) SELECT name FROM x ORDER BY age DESC LIMIT 1",
        "SELECT name FROM (SELECT * FROM singer WHERE age > 1) t ORDER BY t.age DESC LIMIT 1",
    ],
    "order-over-nulls": [
        "SELECT name FROM singer ORDER BY age LIMIT 1",
        "SELECT name FROM singer ORDER BY age LIMIT 3",
        "SELECT name FROM singer ORDER BY age LIMIT 10 OFFSET 1",
        "SELECT name FROM singer ORDER BY age DESC NULLS FIRST LIMIT 1",
    ],
    "text-order": [
        "SELECT name FROM singer ORDER BY weight DESC LIMIT 1",
        "SELECT MAX(weight) FROM singer",
        "SELECT name FROM singer ORDER BY debut",
        "SELECT name FROM singer WHERE debut > '31/01/2001'",
        "SELECT w FROM (SELECT name, weight AS w FROM singer) ORDER BY w",
        "SELECT weight AS age FROM singer ORDER BY age",
        "SELECT name, weight FROM singer ORDER BY 2",
        "SELECT id AS weight FROM singer ORDER BY singer.weight",
        "SELECT MIN(w.weight) FROM singer w",
        "SELECT name FROM singer ORDER BY LENGTH(name), weight",
        "SELECT name FROM singer ORDER BY LENGTH(weight) DESC, weight",
        "SELECT name FROM singer ORDER BY weight, LENGTH(weight)",
        "SELECT name FROM singer ORDER BY LENGTH(debut), debut",
        "SELECT MAX(weight) FROM singer GROUP BY weight ORDER BY LENGTH(weight), weight",
        "SELECT name FROM singer ORDER BY weight",
        "SELECT w FROM (SELECT weight AS w FROM singer) ORDER BY w",
        "WITH x(w) AS (SELECT weight FROM singer) SELECT MAX(w) FROM x",
    ],
    "text-compared-as-number": [
        "SELECT name FROM singer WHERE weight > 10",
        "SELECT name FROM singer WHERE weight BETWEEN '10' AND '60'",
        "SELECT name FROM singer WHERE '50' < weight",
    ],
    "join-shares-no-value": [
        "SELECT s.name FROM singer AS s JOIN concert AS c ON s.id = c.year",
        "SELECT s.name FROM singer AS s, concert AS c WHERE s.name = c.title",
    ],
    "join-multiplies": [
        "SELECT SUM(s.salary) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
        "SELECT COUNT(s.id) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
        "SELECT AVG(s.age) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
        "SELECT s.id, SUM(s.age) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id GROUP BY s.id",
        "SELECT s.id, AVG(s.age), SUM(s.age) FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY s.id",
    ],
    "repeated-rows": [
        "SELECT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
        "SELECT s.id, s.name FROM singer s JOIN concert c ON c.singer_id=s.id",
    ],
    "constant-column": ["SELECT name, planet FROM singer"],
    "not-in-null": [
        "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM concert)",
        "SELECT name FROM singer WHERE NOT id IN (SELECT c.singer_id FROM concert AS c)",
        "WITH sung AS (SELECT singer_id FROM concert) SELECT name FROM singer WHERE id NOT IN sung",
        "SELECT name FROM singer WHERE id NOT IN (SELECT * FROM (SELECT singer_id FROM concert) AS c)",
        "WITH x AS (SELECT singer_id FROM concert) SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM x)",
    ],
    "unstable-result": [
        "SELECT name FROM singer ORDER BY RANDOM()",
        "SELECT name FROM singer WHERE born < DATE('now')",
        "SELECT random()",
    ],
}

LEFT_ALONE: dict[str, list[Given]] = {
    "unreadable-query": [
        "SELECT name FROM singer;",
        "WITH x AS (SELECT 1 AS a) SELECT a FROM x",
        "VALUES (1), (2)",
    ],
    "null-comparison": [
        "SELECT name FROM singer WHERE age IS NULL",
        "SELECT name FROM singer WHERE age IS NOT NULL",
        "SELECT name FROM singer WHERE name = 'NULL'",
        "SELECT COALESCE(age, NULL) FROM singer",
        "SELECT name FROM singer WHERE COALESCE(age, NULL) = 1",
    ],
    "contradictory-conditions": [
        "SELECT name FROM singer WHERE country = 'France' OR country = 'Japan'",
        "SELECT name FROM singer WHERE age > 30 AND age < 40",
        "SELECT name FROM singer WHERE age = 3 AND age = 3.0",
        "SELECT 1 FROM singer a JOIN singer b ON a.id = b.id WHERE a.age = 3 AND b.age = 4",
        "SELECT 1 FROM singer WHERE age = 3 AND id IN (SELECT id FROM singer WHERE age = 4)",
        "SELECT 1 FROM singer WHERE age = 3 AND NOT age = 4",
        "SELECT SUM(CASE WHEN age = 3 THEN 1 WHEN age = 4 THEN 2 END) FROM singer",
        "SELECT name FROM singer WHERE age >= 40 AND age <= 40",
        "SELECT a.name FROM singer a JOIN singer b ON a.id=b.id WHERE a.country='x' AND b.country='y'",
        "SELECT name FROM singer WHERE NOT (age > 5 AND age < 3)",
    ],
    "mixed-and-or": [
        "SELECT name FROM singer WHERE age > 20 AND (country = 'France' OR country = 'Japan')",
        "SELECT name FROM singer WHERE (age > 20 AND country = 'France') OR country = 'Japan'",
        "SELECT name FROM singer WHERE age > 20 AND name = 'Ann' OR country = 'Japan'",
        "SELECT 1 FROM singer WHERE age = 1 AND country = 'a' OR age = 2 AND country = 'b'",
        "SELECT name FROM singer WHERE (country = 'a' OR country = 'b') AND age > 3",
        "SELECT name FROM singer WHERE country = 'a' OR (country = 'b' AND age > 3)",
    ],
    "join-without-condition": [
        "SELECT s.name FROM singer AS s, concert AS c WHERE c.singer_id = s.id",
        "SELECT 1 FROM singer s JOIN concert c ON c.singer_id = s.id AND c.year = 2014",
        "SELECT 1 FROM singer NATURAL JOIN guest",
        "SELECT 1 FROM concert JOIN guest USING (singer_id)",
        "SELECT name FROM singer, (SELECT MAX(age) AS a FROM singer) AS m WHERE age > 3",
        "WITH m AS (SELECT AVG(age) AS a FROM singer) SELECT name FROM singer CROSS JOIN m",
        "SELECT name FROM singer, concert WHERE age < year",
        "SELECT 1 FROM singer s, concert c WHERE EXISTS (SELECT 1 FROM guest WHERE fee = c.id + s.age)",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)",
        "SELECT s.name FROM singer s, concert c WHERE s.id = c.singer_id",
        "SELECT s.name FROM singer s NATURAL JOIN venue v",
        "SELECT s.name FROM singer s CROSS JOIN (SELECT MAX(age) m FROM singer) t WHERE s.age = t.m",
        "SELECT s.name FROM singer s JOIN concert c ON s.id BETWEEN c.singer_id AND c.singer_id",
        "SELECT s.name, j.value FROM singer s, json_each(s.name) j",
    ],
    "integer-division": [
        "SELECT CAST(SUM(sold) AS REAL) / COUNT(*) FROM concert",
        "SELECT sold * 1.0 / seats FROM concert",
        "SELECT SUM(salary) / COUNT(*) FROM singer",
        "SELECT 100.0 * COUNT(*) / 7 FROM singer",
        "SELECT AVG(age) / 2 FROM singer",
        "SELECT 10 / 5",
        "SELECT SUM(sold)*1.0/COUNT(*) FROM concert",
        "SELECT SUM(year=2014)/CAST(COUNT(*) AS FLOAT) FROM concert",
        "SELECT 100.0*SUM(year=2014)/COUNT(*) FROM concert",
        "SELECT SUM(year>2000 AND sold<5)*100.0/COUNT(*) FROM concert",
        "SELECT (year IN (2014, 2015))*1.0/2 FROM concert",
        "SELECT (SUM(NOT sold)+0.5)/COUNT(*) FROM concert",
        "SELECT COALESCE(SUM(year IS NULL), 0)*1e2/COUNT(*) FROM concert",
        "SELECT SUM((year BETWEEN 1 AND 9)*1.0)/COUNT(*) FROM concert",
        "SELECT share/2 FROM (SELECT SUM(year LIKE '2%')*1.0 AS share FROM concert)",
        "SELECT year/10*10 AS decade, COUNT(*) FROM concert GROUP BY 1",
    ],
    "any-row": [
        "SELECT name FROM singer WHERE id = (SELECT MAX(singer_id) FROM concert)",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)",
        "SELECT name FROM singer WHERE id = (SELECT singer_id FROM concert WHERE title = 'Spring')",
        "SELECT name FROM singer WHERE id = (SELECT singer_id FROM concert WHERE year = 2014)",
        "SELECT name, MIN(age) FROM singer",
        "SELECT country, name, COUNT(*) FROM singer GROUP BY country",
        "SELECT s.name, COUNT(*) FROM singer s JOIN concert c ON s.id = c.singer_id GROUP BY s.id",
    ],
    "bare-column": [
        "SELECT country, COUNT(*) FROM singer GROUP BY country",
        "SELECT name, COUNT(*) FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY s.id",
        "SELECT s.name FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY c.singer_id",
        "SELECT name, MAX(age) FROM singer",
        "SELECT country, name FROM singer GROUP BY 1, 2",
        "SELECT UPPER(country) AS c, COUNT(*) FROM singer GROUP BY c",
        "SELECT planet, COUNT(*) FROM singer GROUP BY country",
        "SELECT name FROM singer",
        "SELECT s.name, COUNT(*) FROM singer s JOIN concert c ON s.id=c.singer_id GROUP BY s.id",
        "SELECT country, COUNT(*) FROM singer WHERE country = 'Japan'",
        "SELECT LOWER(country), COUNT(*) FROM singer GROUP BY LOWER(country)",
        "SELECT country AS c, COUNT(*) FROM singer GROUP BY c",
        "SELECT country, COUNT(*) FROM singer GROUP BY 1",
    ],
    "float-equality": [
        "SELECT title FROM concert WHERE ROUND(sold / 3.0, 1) = 0.1",
        "SELECT name FROM singer WHERE salary = 1.5",
        "SELECT title FROM concert WHERE sold / 3.0 > 0.1",
        "SELECT country FROM singer GROUP BY country HAVING COUNT(*) = 2",
        "SELECT id FROM concert WHERE ROUND(sold*1.0/seats,2) = 0.5",
        "SELECT name FROM singer WHERE salary = (SELECT MAX(salary) FROM singer)",
    ],
    "limit-without-order": [
        "SELECT name FROM singer ORDER BY age LIMIT 3",
        "SELECT COUNT(*) FROM singer LIMIT 1",
        "SELECT name FROM singer LIMIT 100",
        "SELECT planet FROM singer LIMIT 1",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert ORDER BY year LIMIT 1)",
        "SELECT 1 LIMIT 1",
        "SELECT name FROM singer WHERE EXISTS (SELECT 1 FROM concert LIMIT 1)",
        "SELECT MAX(age) FROM singer LIMIT 1",
    ],
    "distinct-does-nothing": [
        "SELECT DISTINCT country FROM singer",
        "SELECT DISTINCT s.id FROM singer s JOIN concert c ON c.singer_id = s.id",
        "SELECT COUNT(DISTINCT country) FROM singer",
        "SELECT DISTINCT (SELECT s.rowid FROM singer AS s WHERE s.age > singer_id) FROM guest",
        "SELECT DISTINCT COUNT(*) FROM singer GROUP BY country",
    ],
    "unused-join": [
        "SELECT c.year FROM concert AS c JOIN singer AS s ON c.singer_id = s.id",
        "SELECT g.fee FROM concert AS c LEFT JOIN guest AS g ON g.concert_id = c.id",
        "SELECT s.name FROM concert AS c JOIN singer AS s ON c.singer_id = s.id",
        "SELECT c.year FROM concert AS c JOIN singer AS s ON c.singer_id = s.id WHERE s.age > 3",
        "SELECT s.name FROM singer s JOIN concert c ON c.singer_id = s.id",
        "SELECT c.year FROM concert AS c JOIN singer AS s ON c.singer_id = s.id ORDER BY s.age",
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
        ("Concerts in the 1990s", "SELECT title FROM concert WHERE year BETWEEN 1990 AND 1999"),
        ("Concerts in 2014-2015", "SELECT title FROM concert WHERE year IN (2014, 2015)"),
        ("Concerts from 2014–2015", "SELECT title FROM concert WHERE year BETWEEN 2014 AND 2015"),
        ("Concerts of the '90s", "SELECT title FROM concert WHERE year >= 1990"),
        ("Sold more than 1.5k", "SELECT title FROM concert WHERE sold > 1500"),
        ("sold over $1,000.50", "SELECT title FROM concert WHERE sold > 1000.5"),
        ("seats at least 50%", "SELECT title FROM concert WHERE sold * 1.0 / seats >= 0.5"),
        ("a 20 percent discount", "SELECT title FROM concert WHERE sold * 0.8 > 3"),
        ("more than 2 dozen", "SELECT title FROM concert WHERE sold > 24"),
        ("in the last 5 years", "SELECT title FROM concert WHERE year >= 2019"),
        ("top 3 concerts", "SELECT title FROM concert WHERE 1=1 ORDER BY sold DESC LIMIT 3"),
        ("the 2nd concert", "SELECT title FROM concert WHERE 1=1 ORDER BY sold LIMIT 1 OFFSET 1"),
        ("the 21st century", "SELECT title FROM concert WHERE year >= 2001"),
        ("3,5 Millionen verkauft", "SELECT title FROM concert WHERE sold > 3500000"),
        ("10 000 billets", "SELECT title FROM concert WHERE sold > 10000"),
        ("Rs 1,00,000", "SELECT title FROM concert WHERE sold > 100000"),
        ("10'000 Franken", "SELECT title FROM concert WHERE sold > 10000"),
        ("below -5 degrees", "SELECT title FROM concert WHERE sold < -5"),
        ("within 2 hours", "SELECT title FROM concert WHERE sold < 120"),
        ("on 2014-05-03", "SELECT title FROM concert WHERE title = '2014-05-03'"),
        ("on 3 May 2014", "SELECT title FROM concert WHERE title = '2014-05-03'"),
        ("at 5 pm", "SELECT title FROM concert WHERE title = '17:00'"),
        ("at 17:30", "SELECT title FROM concert WHERE title = '17:30:00'"),
        ("born on 12/31/1999", "SELECT title FROM concert WHERE title = '1999-12-31'"),
        ("version 2.0.1", "SELECT title FROM concert WHERE title = '2.0.1'"),
        ("iPhone 12", "SELECT title FROM concert WHERE title = 'iPhone 12'"),
        ("Question 5: how many concerts?", "SELECT title FROM concert WHERE 1=1"),
        ("phone 555-1234", "SELECT title FROM concert WHERE title = '555-1234'"),
        ("twice the 10", "SELECT title FROM concert WHERE sold > 20"),
        ("more than 3 kg", "SELECT title FROM concert WHERE sold > 3000"),
        ("FY2014", "SELECT title FROM concert WHERE year = 2014"),
        ("Q3 2014", "SELECT title FROM concert WHERE year = 2014 AND title LIKE '%09%'"),
        ("5 million", "SELECT title FROM concert WHERE sold > 5e6"),
        ("2.5 billion", "SELECT title FROM concert WHERE sold > 2500000000"),
        ("at least 0.5 percent", "SELECT title FROM concert WHERE sold > 0.005"),
        ("½ of", "SELECT title FROM concert WHERE sold > 0.5"),
        ("concerts 10 to 12", "SELECT title FROM concert WHERE id BETWEEN 10 AND 12"),
        ("no. 10", "SELECT title FROM concert WHERE id = 10"),
        ("#10", "SELECT title FROM concert WHERE id = 10"),
        ("10th concert", "SELECT title FROM concert WHERE id = 10"),
        ("age 18+", "SELECT title FROM concert WHERE sold >= 18"),
        ("under-21 concerts", "SELECT title FROM concert WHERE sold < 21"),
        ("a 5-star concert", "SELECT title FROM concert WHERE sold = 5"),
        ("1e6 seats", "SELECT title FROM concert WHERE seats > 1000000"),
        ("９ seats", "SELECT title FROM concert WHERE seats = 9"),
        ("2014年の", "SELECT title FROM concert WHERE year = 2014"),
        ("٢٠١٤ حفلة", "SELECT title FROM concert WHERE year = 2014"),
    ],
    "question-quote": [
        ("Singers of the song 'Hey'", "SELECT name FROM singer WHERE name = 'hey'"),
        ("Singers whose name contains 'Cats'", "SELECT name FROM singer WHERE name LIKE '%cat%'"),
        ("What is the singers' age and the concert's year?", "SELECT age FROM singer"),
        ("Who is `` Ann '' ?", "SELECT id FROM singer WHERE name = 'Ann'"),
        ("Concerts called 'Autumn'", "SELECT id FROM concert WHERE title = 'autumn'"),
        ("the singer's concert in 'Spring'", "SELECT id FROM concert WHERE title LIKE '%Spring%'"),
        ("“Spring”", 'SELECT id FROM concert WHERE title = "Spring"'),
        ("'It''s'", "SELECT id FROM concert WHERE title = 'It''s'"),
        ("don't list 'Spring' ones", "SELECT id FROM concert WHERE title <> 'Spring'"),
        ("What's the singers' title?", "SELECT id FROM concert WHERE 1=1"),
        ("«Spring»", "SELECT id FROM concert WHERE title='Spring'"),
        ('the "title" column', "SELECT id FROM concert WHERE title IS NOT NULL"),
        ("rock 'n' roll", "SELECT id FROM concert WHERE title='rock n roll'"),
        ("it's 5 o'clock 'til we're done", "SELECT id FROM concert WHERE 1=1"),
        ("a 5'10\" singer", "SELECT id FROM concert WHERE 1=1"),
    ],
    "value-not-asked": [
        ("French singers", "SELECT name FROM singer WHERE country = 'France'"),
        ("Female singers", "SELECT name FROM singer WHERE country = 'F'"),
        ("Singers over twenty", "SELECT name FROM singer WHERE age > 20"),
        ("Names", "SELECT name FROM singer WHERE country = 'Japan'", "all of them are from Japan"),
        ("Singers who are at least 41", "SELECT name FROM singer WHERE age > 40"),
        ("French singers", "SELECT name FROM singer WHERE country = 'France '"),
        ("American singers", "SELECT name FROM singer WHERE country = 'United States'"),
        ("singers from the US", "SELECT name FROM singer WHERE country = 'United States'"),
        ("German singers", "SELECT name FROM singer WHERE country='Germany'"),
        ("法国歌手", "SELECT name FROM singer WHERE country = 'France '"),
        ("Sänger aus Frankreich", "SELECT name FROM singer WHERE country = 'France '"),
        ("Sänger aus den Vereinigten Staaten", "SELECT name FROM singer WHERE country = 'United States'"),
        ("cantantes de Japón", "SELECT name FROM singer WHERE country = 'Japan'"),
        ("a dozen concerts", "SELECT title FROM concert WHERE sold = 12"),
        ("concerts in January", "SELECT title FROM concert WHERE title LIKE '%-01-%'"),
        ("in the nineties", "SELECT title FROM concert WHERE year BETWEEN 1990 AND 1999"),
        ("twenty-five or more", "SELECT title FROM concert WHERE sold >= 25"),
        ("two hundred thousand", "SELECT title FROM concert WHERE sold > 200000"),
        ("half", "SELECT title FROM concert WHERE sold > 0.5"),
        ("a quarter", "SELECT title FROM concert WHERE sold > 0.25"),
        ("active singers", "SELECT name FROM singer WHERE country = 'active'"),
        ("ninety nine", "SELECT title FROM concert WHERE sold = 99"),
        ("one million", "SELECT title FROM concert WHERE sold > 1000000"),
        ("seventy percent", "SELECT title FROM concert WHERE sold > 0.7"),
    ],
    "superlative": [
        ("Who is the oldest singer?", "SELECT name FROM singer ORDER BY age DESC LIMIT 1"),
        ("Who is the oldest?", "SELECT name FROM singer WHERE age = (SELECT MAX(age) FROM singer)"),
        ("Singers who are at least 40", "SELECT name FROM singer WHERE age >= 40"),
        ("The most serious", "SELECT name FROM singer WHERE age = 1", "most serious refers to age = 1"),
        ("Singers of 'The Longest Day'", "SELECT name FROM singer WHERE name = 'x'"),
        ("The oldest", "SELECT name FROM singer s WHERE NOT EXISTS (SELECT 1 FROM singer t WHERE t.age > s.age)"),
        ("the oldest", "SELECT name FROM (SELECT name, RANK() OVER (ORDER BY age DESC) r FROM singer) WHERE r = 1"),
        ("most singers are tall", "SELECT name FROM singer"),
        ("at most 5", "SELECT name FROM singer WHERE age <= 5"),
        ("Almost every singer", "SELECT name FROM singer"),
        ("the oldest singer", "SELECT name, MAX(age) FROM singer"),
        ("Mostly harmless", "SELECT name FROM singer"),
        ("Wie alt ist der älteste?", "SELECT name FROM singer"),
        ("at the very least 3", "SELECT name FROM singer WHERE age>=3"),
        ("last but not least the name", "SELECT name FROM singer"),
    ],
    "how-many": [
        ("How many singers are there?", "SELECT COUNT(*) FROM singer"),
        ("How many seats has each concert?", "SELECT seats FROM concert"),
        ("Who are the singers?", "SELECT name FROM singer"),
        ("How many singers?", "SELECT COUNT(DISTINCT id) FROM singer"),
        ("How many tickets were sold?", "SELECT SUM(sold) FROM concert"),
        ("How many tickets did Spring sell?", "SELECT sold FROM concert WHERE title='Spring'"),
        ("How many?", "SELECT c FROM (SELECT COUNT(*) c FROM singer)"),
        ("How many?", "WITH x AS (SELECT COUNT(*) AS n FROM singer) SELECT n FROM x"),
        ("Show how many and names", "SELECT name, COUNT(*) FROM singer GROUP BY name"),
        ("How many years old is Ann?", "SELECT age FROM singer WHERE name = 'Ann'"),
        ("How many", "SELECT total(sold) FROM concert"),
    ],
    "different-without-distinct": [
        ("How many different countries?", "SELECT COUNT(DISTINCT country) FROM singer"),
        ("What are the different countries?", "SELECT country FROM singer GROUP BY country"),
        ("What are the different names?", "SELECT name FROM singer"),
        ("How many different singers are there?", "SELECT COUNT(*) FROM singer"),
        ("Singers different from Ann", "SELECT country FROM singer WHERE name <> 'Ann'"),
        ("How many different ids?", "SELECT COUNT(id) FROM singer"),
        ("different countries", "SELECT DISTINCT country FROM singer"),
        ("different countries", "SELECT country FROM singer UNION SELECT country FROM singer"),
        ("in a different country than Ann", "SELECT name FROM singer WHERE country <> 'United States'"),
        ("How many different", "SELECT COUNT(*) FROM (SELECT DISTINCT country FROM singer)"),
        ("unique id", "SELECT id FROM singer"),
        ("two singers from different countries", "SELECT a.name, b.name FROM singer a JOIN singer b ON a.id > b.id"),
        ("a unique name is shared by no one", "SELECT name FROM singer GROUP BY name HAVING COUNT(*)=1"),
    ],
    "at-least": [
        ("Singers who are at least 40", "SELECT name FROM singer WHERE age >= 40"),
        ("Singers who are at least 41", "SELECT name FROM singer WHERE age > 40"),
        ("Singers older than 40", "SELECT name FROM singer WHERE age > 40"),
        ("Singers no older than 40", "SELECT name FROM singer WHERE age <= 40"),
        ("Not more than 40", "SELECT name FROM singer WHERE age <= 40"),
        ("After 2014, at least 2", "SELECT year FROM concert WHERE year > 2014 GROUP BY 1 HAVING COUNT(*) >= 2"),
        ("at least 6 sold", "SELECT id FROM concert WHERE NOT sold < 6"),
        ("more than 6 sold", "SELECT id FROM concert WHERE NOT sold <= 6"),
        ("more than 6 sold", "SELECT id FROM concert WHERE sold >= 7"),
        ("not fewer than 6", "SELECT id FROM concert WHERE sold >= 6"),
        ("at least 6 and at most 6", "SELECT id FROM concert WHERE sold >= 6 AND sold <= 6"),
        ("more than 6 or exactly 6", "SELECT id FROM concert WHERE sold >= 6"),
        ("6 or more sold", "SELECT id FROM concert WHERE 6 <= sold"),
        ("at least 6 sold", "SELECT id FROM concert WHERE sold BETWEEN 6 AND 99"),
        ("which ones do not have at least 6 sold", "SELECT id FROM concert WHERE sold < 6"),
        ("without at least 6 sold", "SELECT id FROM concert WHERE NOT (sold >= 6)"),
        ("older than 6 (inclusive)", "SELECT id FROM concert WHERE sold >= 6"),
    ],
    "each-without-group": [
        ("The number of singers in each country", "SELECT country, COUNT(*) FROM singer GROUP BY country"),
        ("The name of each singer", "SELECT name FROM singer"),
        ("How many singers are there?", "SELECT COUNT(*) FROM singer"),
        ("For each country, the average age", "SELECT country, AVG(age) FROM singer GROUP BY country"),
        ("for each singer, name and age", "SELECT name, age FROM singer"),
        ("each other", "SELECT name FROM singer"),
        ("for each", "SELECT country, AVG(age) OVER (PARTITION BY country) FROM singer"),
        ("number of each gender", "SELECT SUM(country='Japan'), SUM(country='Peru') FROM singer"),
        (
            "average of each concert",
            "SELECT name, (SELECT COUNT(*) FROM concert c WHERE c.singer_id=s.id) FROM singer s",
        ),
    ],
    "both-against-or": [
        ("Both a and b", "SELECT id FROM singer WHERE name = 'a' INTERSECT SELECT id FROM singer WHERE name = 'b'"),
        ("Spring or Autumn", "SELECT year FROM concert WHERE title = 'Spring' OR title = 'Autumn'"),
        ("Both name and age", "SELECT name, age FROM singer WHERE age = 3 OR name = 'x'"),
        (
            "both name and age of those from Japan or Peru",
            "SELECT name, age FROM singer WHERE country = 'Japan' OR country = 'Peru'",
        ),
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
        "SELECT name FROM singer",
        "SELECT name FROM singer WHERE 1 = 0",
    ],
    "empty-result": [
        "SELECT name FROM singer",
        "SELECT COUNT(*) - 4 FROM singer",
        "SELECT died FROM singer WHERE id = 1",
    ],
    "all-null": [
        "SELECT name, age FROM singer",
        "SELECT died, name FROM singer WHERE 1 = 0",
        "SELECT name FROM singer",
    ],
    "unknown-literal": [
        "SELECT name FROM singer WHERE country = 'Japan'",
        "SELECT name FROM singer WHERE code = 'AA'",
        "SELECT title FROM concert WHERE year = '2014'",
        "SELECT title FROM concert WHERE year = 2014.0",
        "SELECT name FROM singer WHERE country LIKE 'USA'",
        "SELECT name FROM singer WHERE age > 1000",
        "SELECT name FROM venue WHERE name = 'nothing is there'",
        "SELECT name FROM singer WHERE UPPER(country) = 'JAPAN'",
        "WITH s AS (SELECT UPPER(country) AS country FROM singer) SELECT 1 FROM s WHERE country = 'JAPAN'",
        "WITH RECURSIVE t (n) AS (SELECT 1 UNION SELECT n + 1 FROM t WHERE n < 5) SELECT n FROM t WHERE n = 3",
        "SELECT c FROM (SELECT country AS c FROM singer UNION SELECT 'USA') WHERE c = 'USA'",
        "SELECT name FROM singer WHERE LOWER(country) = 'japan'",
        "SELECT name FROM singer WHERE country LIKE 'jap%'",
        "SELECT name FROM singer WHERE country = 'japan' COLLATE NOCASE",
        "SELECT name FROM singer WHERE age = '30'",
        "SELECT name FROM singer WHERE country != ''",
    ],
    "limit-over-tie": [
        "SELECT name FROM singer ORDER BY salary DESC LIMIT 1",
        "SELECT name FROM singer ORDER BY age DESC LIMIT 2",
        "SELECT planet FROM singer ORDER BY age DESC LIMIT 1",
        "SELECT name FROM singer ORDER BY age DESC, id LIMIT 1",
        "SELECT name FROM singer ORDER BY age",
        "SELECT age FROM singer ORDER BY age DESC LIMIT 1",
    ],
    "order-over-nulls": [
        "SELECT name FROM singer ORDER BY age DESC LIMIT 1",
        "SELECT name FROM singer WHERE age IS NOT NULL ORDER BY age LIMIT 1",
        "SELECT name FROM singer WHERE country = 'United States' ORDER BY age LIMIT 1",
        "SELECT name FROM singer ORDER BY salary LIMIT 1",
        "SELECT name FROM singer ORDER BY age LIMIT 4",
        "SELECT name FROM singer ORDER BY age LIMIT 10",
        "SELECT name FROM singer WHERE country = 'Japan' ORDER BY age LIMIT 2",
        "SELECT DISTINCT age FROM singer ORDER BY age LIMIT 10",
        "SELECT DISTINCT planet, died FROM singer ORDER BY died LIMIT 2",
        "SELECT age, COUNT(*) FROM singer GROUP BY age ORDER BY age LIMIT 9",
        "SELECT name FROM singer ORDER BY age NULLS LAST LIMIT 1",
    ],
    "text-order": [
        "SELECT name FROM singer ORDER BY CAST(weight AS REAL) DESC LIMIT 1",
        "SELECT name FROM singer ORDER BY born",
        "SELECT name FROM singer ORDER BY country",
        "SELECT name FROM singer ORDER BY age",
        "SELECT id AS weight FROM singer ORDER BY weight",
        "SELECT id AS weight FROM singer ORDER BY (weight) DESC",
        "SELECT name FROM singer ORDER BY LENGTH(weight), weight",
        "SELECT name FROM singer AS s ORDER BY LENGTH(s.weight) DESC, weight DESC LIMIT 1",
        "SELECT LENGTH(weight), weight FROM singer ORDER BY 1, 2",
        "SELECT age AS weight, COUNT(*) FROM singer GROUP BY age ORDER BY weight",
        "SELECT name FROM singer ORDER BY CAST(weight AS INTEGER)",
        "SELECT name FROM singer ORDER BY weight + 0",
        "SELECT name FROM singer ORDER BY name",
    ],
    "text-compared-as-number": [
        "SELECT name FROM singer WHERE CAST(weight AS REAL) > 10",
        "SELECT name FROM singer WHERE age > 10",
        "SELECT name FROM singer WHERE country > 'B'",
        "SELECT name FROM singer WHERE weight = 10",
    ],
    "join-shares-no-value": [
        "SELECT s.name FROM singer AS s JOIN concert AS c ON s.id = c.singer_id",
        "SELECT v.name FROM venue AS v JOIN concert AS c ON v.id = c.id",
    ],
    "join-multiplies": [
        "SELECT SUM(c.sold) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
        "SELECT COUNT(*) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
        "SELECT COUNT(DISTINCT s.id) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
        "SELECT s.name, COUNT(c.id) FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY s.id",
        "SELECT MAX(s.age) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
        "SELECT s.id, AVG(s.age) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id GROUP BY s.id",
        "SELECT AVG(s.age) FROM singer s JOIN concert c ON c.singer_id = s.id WHERE s.name = 'Ann'",
        "SELECT AVG(age) FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY age",
        "SELECT AVG(c.sold) FROM singer s JOIN concert c ON c.singer_id = s.id",
        "SELECT s.name, COUNT(*) FROM singer s JOIN concert c ON c.singer_id = s.id GROUP BY s.id",
    ],
    "repeated-rows": [
        "SELECT DISTINCT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
        "SELECT c.title FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
        "SELECT s.country FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
        "SELECT s.name, c.title FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
    ],
    "constant-column": [
        "SELECT name, planet FROM singer WHERE planet = 'Earth'",
        "SELECT name, country FROM singer",
        "SELECT name, died FROM singer",
        "SELECT name, planet FROM singer WHERE age = 40",
        "SELECT name, country FROM singer WHERE country='Japan'",
    ],
    "not-in-null": [
        "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM concert WHERE singer_id IS NOT NULL)",
        "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM guest)",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)",
    ],
    "unstable-result": [
        "SELECT name FROM singer ORDER BY name",
        "SELECT DATE(born) FROM singer",
        "SELECT date('2020-01-01','+1 day')",
    ],
}


def _found(rule: str, given: Given, songs: GoldDatabase) -> tuple[LintFinding, ...]:
    question, gold, *evidence = ("", given) if isinstance(given, str) else given
    return found_by(rule, gold, songs, question=question, evidence=evidence[0] if evidence else None)


def _pairs(given: dict[str, list[Given]]) -> list[tuple[str, Given]]:
    return [(rule, case) for rule, cases in given.items() for case in cases]


@each(("rule", "given"), _pairs(FLAGGED))
def test_it_is_found(rule: str, given: Given, songs: GoldDatabase) -> None:
    found = _found(rule, given, songs)
    assert found, f"{rule} says nothing about {given}"
    for one in found:
        assert one.rule == rule
        assert one.evidence.endswith((".", "!", "?")) or rule == "gold-fails"
        assert one.remedy
        assert one.line is None or one.excerpt


@each(("rule", "given"), _pairs(LEFT_ALONE))
def test_what_looks_like_it_is_left_alone(rule: str, given: Given, songs: GoldDatabase) -> None:
    assert [one.evidence for one in _found(rule, given, songs)] == []


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
    sqlite_url(tmp_path / "songs.sqlite", f"CREATE TABLE tk {table}")
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


def test_an_explicit_cross_join_is_only_a_note(songs: GoldDatabase) -> None:
    [found] = found_by("join-without-condition", "SELECT s.name, v.name FROM singer s CROSS JOIN venue v", songs)
    assert found.severity == "note"


@each(
    ("dialect", "rule", "gold", "flagged"),
    [
        ("duckdb", "bare-column", "SELECT a, SUM(b) FROM t GROUP BY ALL", False),
        ("duckdb", "limit-without-order", "FROM t SELECT a LIMIT 1", True),
        ("duckdb", "integer-division", "SELECT COUNT(*) / 2 FROM t", False),
        ("postgres", "integer-division", "SELECT COUNT(*) / COUNT(id) FROM t", True),
        ("postgres", "integer-division", "SELECT COUNT(*)::float / COUNT(id) FROM t", False),
        ("postgres", "join-without-condition", "SELECT a FROM t, unnest(t.list) u(x)", False),
        ("postgres", "limit-without-order", "SELECT a FROM t FETCH FIRST 1 ROWS ONLY", True),
        ("mysql", "integer-division", "SELECT COUNT(*) / COUNT(a) FROM t", False),
        ("mysql", "limit-without-order", "SELECT `a` FROM `t` LIMIT 5, 10", True),
        ("tsql", "limit-without-order", "SELECT TOP 1 [a] FROM [t]", True),
        ("tsql", "limit-without-order", "SELECT TOP 1 [a] FROM [t] ORDER BY [a]", False),
    ],
)
def test_rules_know_the_dialect(dialect: str, rule: str, gold: str, flagged: bool) -> None:
    assert bool(found_by(rule, gold, None, dialect=dialect)) is flagged
