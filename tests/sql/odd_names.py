"""Queries in which it takes a rule to say which column a name means, on three tables that share names."""

from __future__ import annotations

SCRIPT = """
CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT, n REAL, b_id INTEGER);
CREATE TABLE b(id INTEGER, x TEXT, "Order" INTEGER, y);
CREATE TABLE "c d"(id INTEGER, "select" TEXT, Z TEXT);
CREATE TABLE e(e INTEGER, x INTEGER);
INSERT INTO a VALUES (1, '10', 1.5, 2), (2, '9', 2.5, 1), (3, '100', NULL, 2);
INSERT INTO b VALUES (1, 'p', 3, 'q'), (2, 'r', 4, NULL), (2, NULL, 5, 's');
INSERT INTO "c d" VALUES (1, 't', 'u'), (2, 'v', 'w');
INSERT INTO e VALUES (1, 2), (3, 4);
"""
TABLES = {
    "a": {"id": "INTEGER", "x": "TEXT", "n": "REAL", "b_id": "INTEGER"},
    "b": {"id": "INTEGER", "x": "TEXT", "Order": "INTEGER", "y": ""},
    "c d": {"id": "INTEGER", "select": "TEXT", "Z": "TEXT"},
    "e": {"e": "INTEGER", "x": "INTEGER"},
}

ALIASES = (
    "SELECT id AS x FROM a ORDER BY x",
    "SELECT id AS x FROM a ORDER BY x DESC, n",
    "SELECT id AS x FROM a ORDER BY a.x",
    "SELECT id AS x FROM a ORDER BY x + 1",
    "SELECT id AS x FROM a ORDER BY lower(x)",
    "SELECT id AS x FROM a ORDER BY -x, abs(n)",
    "SELECT id AS q FROM a ORDER BY q + n",
    "SELECT id AS x FROM a WHERE x > 1",
    "SELECT id AS q FROM a WHERE q > 1",
    "SELECT n AS x, count(*) FROM a GROUP BY x",
    "SELECT n AS q, count(*) FROM a GROUP BY q",
    "SELECT b_id AS q, count(*) AS k FROM a GROUP BY q HAVING k > 1 ORDER BY k DESC",
    "SELECT b_id AS x, max(n) AS n FROM a GROUP BY b_id HAVING n > 1",
    "SELECT b_id AS x, sum(id) FROM a GROUP BY 1 ORDER BY 2",
    "SELECT upper(x) AS x FROM a GROUP BY x ORDER BY x",
    "SELECT upper(x) AS X FROM a GROUP BY upper(x) ORDER BY X",
    "SELECT id AS n, n AS id FROM a ORDER BY n, id",
    "SELECT id AS n, n AS id FROM a WHERE n > 1 ORDER BY id",
    "SELECT DISTINCT b_id AS x FROM a ORDER BY x LIMIT 2",
    'SELECT id AS "x" FROM a ORDER BY "x"',
    "SELECT id AS 'x' FROM a ORDER BY x",
    "SELECT id x, n y FROM a ORDER BY y, x",
    "SELECT a.id AS e FROM a, e WHERE e.e = a.id ORDER BY e",
    "SELECT e FROM e",
    "SELECT e.e FROM e WHERE e = 1",
    "SELECT count(*) AS x FROM a GROUP BY b_id ORDER BY count(*), x",
    "SELECT sum(n) AS n FROM a HAVING n > 1",
    "SELECT CASE WHEN id > 1 THEN x ELSE n END AS z FROM a ORDER BY z",
    "SELECT id AS x, row_number() OVER (ORDER BY x) FROM a ORDER BY 1",
    "SELECT max(id) AS x FROM a GROUP BY b_id, x ORDER BY x",
    "SELECT abs(-7) AS x, count(*) FROM a GROUP BY (x)",
    "SELECT abs(-7) AS n, count(*) FROM a GROUP BY n + 1",
    "SELECT min(id) AS n FROM a GROUP BY b_id HAVING max(n) > 1 ORDER BY max(n), 1",
)
STARS = (
    "SELECT b.* FROM a, b ORDER BY 1",
    "SELECT b.*, a.n FROM a JOIN b ON a.id = b.id ORDER BY 2, 5",
    "SELECT n, e.* FROM a AS q, e ORDER BY 3",
    "SELECT DISTINCT b.* FROM a JOIN b ON b_id = b.id ORDER BY 2 LIMIT 1",
    "SELECT * FROM (SELECT n, n FROM a) AS t, b",
    "SELECT * FROM (SELECT * FROM a JOIN b ON a.id = b.id) AS t JOIN e ON e.e = t.n",
    "WITH q AS (SELECT a.id, b.id FROM a, b) SELECT q.*, e.* FROM q, e",
    "SELECT e.* FROM (SELECT id AS k, n AS k FROM a) AS t JOIN e ON e.e = 1 ORDER BY 1",
    "SELECT count(*) FROM a, e",
)
JOINS = (
    "SELECT id FROM a JOIN b USING (id)",
    "SELECT a.x, b.x FROM a JOIN b USING (id) WHERE id > 1",
    "SELECT * FROM a JOIN b USING (id)",
    "SELECT * FROM a NATURAL JOIN b",
    "SELECT y FROM a NATURAL JOIN b",
    "SELECT x FROM a NATURAL JOIN b ORDER BY x",
    "SELECT n FROM a LEFT JOIN b USING (id, x)",
    'SELECT id FROM a JOIN b USING (id) JOIN "c d" USING (id)',
    "SELECT count(*) FROM a JOIN b ON a.b_id = b.id",
    "SELECT n, y FROM a JOIN b ON b_id = b.id AND n > 1",
    "SELECT n, y FROM a, b WHERE b_id = b.id",
    "SELECT n FROM (a JOIN b ON a.b_id = b.id)",
    "SELECT n, e FROM a JOIN (b JOIN e ON e.e = b.id) ON a.b_id = b.id",
    "SELECT p.x, q.x FROM a p JOIN a q ON p.id = q.b_id",
    "SELECT p.* FROM a p JOIN b q ON p.id = q.id",
    'SELECT p.*, q.y FROM a AS p LEFT JOIN b AS q ON p.id = q.id ORDER BY q."Order"',
    "SELECT a.id FROM a CROSS JOIN e WHERE n > e",
    "SELECT b.x FROM a AS b",
    "SELECT T1.x FROM a AS T1 JOIN b AS t2 ON t1.ID = T2.Id",
)
SUBQUERIES = (
    "SELECT x FROM (SELECT id AS x FROM a)",
    "SELECT q.x FROM (SELECT n AS x, id FROM a) q WHERE q.id > 1",
    "SELECT * FROM (SELECT id, x FROM a) JOIN b USING (id)",
    "SELECT z FROM (SELECT x AS z FROM a UNION SELECT y FROM b) ORDER BY z",
    "SELECT x FROM a WHERE id IN (SELECT b_id FROM b)",
    "SELECT x FROM a WHERE id IN (SELECT id FROM b WHERE y = n)",
    "SELECT x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.id = a.b_id AND x = 'r')",
    "SELECT x FROM a WHERE n = (SELECT max(n) FROM a)",
    "SELECT x FROM a WHERE n = (SELECT max(q.n) FROM a q WHERE q.b_id = a.b_id)",
    "SELECT (SELECT y FROM b WHERE b.id = b_id LIMIT 1) FROM a",
    "SELECT (SELECT count(*) FROM b WHERE id = a.id) AS k FROM a ORDER BY k",
    'SELECT id FROM a WHERE id IN (SELECT id FROM b WHERE id IN (SELECT id FROM "c d" WHERE Z <> n AND y IS NULL))',
    (
        'SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE EXISTS (SELECT 1 FROM "c d" WHERE EXISTS '
        "(SELECT 1 FROM e WHERE EXISTS (SELECT 1 FROM a q WHERE q.n = a.n AND e = Z AND y = 's'))))"
    ),
    "SELECT id FROM a ORDER BY (SELECT max(y) FROM b WHERE b.id = a.b_id)",
    "SELECT x FROM a UNION SELECT y FROM b ORDER BY x",
    "SELECT id AS k FROM a UNION ALL SELECT e FROM e ORDER BY k LIMIT 3",
    "SELECT id FROM a EXCEPT SELECT b_id FROM a",
    "SELECT max(k) FROM (SELECT count(*) AS k FROM a GROUP BY b_id)",
    "SELECT k FROM (SELECT id + 1 AS k, n FROM a) WHERE n > 1 GROUP BY k HAVING max(n) > 1",
    "SELECT o.x FROM (SELECT * FROM (SELECT * FROM a)) o",
    "SELECT x FROM (SELECT * FROM a WHERE n > 1) ORDER BY b_id",
    "SELECT x FROM a WHERE (id, b_id) IN (SELECT id, e FROM b, e)",
    "SELECT sum(n) OVER (PARTITION BY b_id ORDER BY x) FROM a",
    "SELECT id, row_number() OVER (ORDER BY n DESC) AS x FROM a ORDER BY x",
    "SELECT id, rank() OVER w AS r FROM a WINDOW w AS (PARTITION BY b_id ORDER BY n)",
)
CTES = (
    "WITH q AS (SELECT id AS k, x FROM a) SELECT k FROM q ORDER BY x",
    "WITH q(k, l) AS (SELECT id, x FROM a) SELECT l FROM q WHERE k > 1",
    "WITH a AS (SELECT id FROM b) SELECT id FROM a",
    "WITH b AS (SELECT id, x FROM a) SELECT b.x FROM b JOIN e ON e.e = b.id",
    "WITH q AS (SELECT id FROM a), r AS (SELECT id FROM q WHERE id > 1) SELECT * FROM r",
    "WITH q AS (SELECT id FROM a) SELECT x FROM b WHERE id IN (SELECT id FROM q)",
    "WITH q(x, id) AS (SELECT id, x FROM a) SELECT id FROM q",
    "WITH b AS (SELECT n AS x FROM a) SELECT x FROM main.b WHERE id IN (SELECT x FROM b)",
    "WITH q AS (SELECT id FROM a) SELECT z.id FROM (WITH q AS (SELECT e AS id FROM e) SELECT id FROM q) z, q",
    "WITH q AS (SELECT id FROM a) SELECT x FROM b WHERE id IN (WITH q AS (SELECT e FROM e) SELECT e FROM q)",
    "WITH RECURSIVE q(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM q WHERE k < 3) SELECT a.x FROM q JOIN a ON a.id = k",
    (
        "WITH RECURSIVE q(k, up) AS (SELECT id, b_id FROM a WHERE id = 1 UNION SELECT a.id, a.b_id FROM a, q "
        "WHERE a.id = q.up) SELECT k FROM q"
    ),
    "WITH q AS (SELECT * FROM a) SELECT q.*, y FROM q JOIN b ON b.id = q.b_id",
    "SELECT (WITH q AS (SELECT max(n) AS k FROM a) SELECT k FROM q) FROM b",
    "WITH q AS (SELECT x AS id FROM a) SELECT id FROM q, e WHERE q.id > e.x",
)
SPELLING = (
    'SELECT "x" FROM a',
    'SELECT x FROM a WHERE x = "10"',
    'SELECT x FROM a WHERE x IN ("10", "y")',
    'SELECT "none", x FROM a ORDER BY "nothing"',
    'SELECT y FROM b WHERE "Order" > 3',
    "SELECT y FROM b WHERE [order] > 3",
    "SELECT y FROM b WHERE `ORDER` > 3",
    'SELECT "select", z FROM "c d"',
    'SELECT "C D".Z FROM "c d"',
    "SELECT X, N FROM A WHERE B_ID = 1",
    "SELECT main.a.x FROM main.a",
    "SELECT a.x FROM main.a WHERE main.a.n > 1",
    "SELECT rowid FROM b",
    "SELECT rowid, x FROM a ORDER BY rowid",
    "SELECT b.oid FROM b WHERE _rowid_ > 1",
    "SELECT count(rowid) FROM a",
    'SELECT "rowid" FROM b',
    'SELECT x FROM a WHERE x LIKE "1%"',
    "SELECT count(DISTINCT x) FROM a",
    'SELECT group_concat(x, ", ") FROM a',
    'SELECT x FROM a ORDER BY CASE WHEN n IS NULL THEN "z" ELSE n END',
    "SELECT CAST(x AS INTEGER) FROM a ORDER BY CAST(x AS INTEGER)",
    "SELECT x COLLATE NOCASE FROM a ORDER BY 1",
    'SELECT max(x), "n" FROM a',
)
ODD = ALIASES + STARS + JOINS + SUBQUERIES + CTES + SPELLING
ODD_OF = {
    "sqlite": (
        "SELECT 1 FROM a WHERE EXISTS (SELECT max(y) AS n FROM b GROUP BY id HAVING n > 1)",
        "SELECT id AS k FROM a WHERE EXISTS (SELECT 1 FROM e WHERE k = e)",
        'SELECT x AS k FROM b UNION SELECT Z AS l FROM "c d" ORDER BY l',
        "WITH a AS (SELECT e AS k FROM e UNION ALL SELECT k + 1 FROM a WHERE k < 3) SELECT k FROM a",
        "SELECT 1 FROM e AS q WHERE EXISTS (SELECT 1 FROM a AS q WHERE q.e = q.id)",
        "SELECT id AS x FROM a ORDER BY (x)",
        "SELECT id AS x FROM a ORDER BY x COLLATE NOCASE",
        "SELECT n FROM a WHERE (id, b_id) IN e",
        'SELECT n FROM a WHERE (id, b_id) NOT IN main."E"',
        "SELECT (id, b_id) IN 'e' AND n > 1 FROM a",
        "WITH q AS (SELECT y FROM b) SELECT id FROM a WHERE x IN q AND n IN (id, b_id)",
        "WITH e AS (SELECT id FROM b) SELECT id FROM a WHERE id IN e AND (id, b_id) IN main.e",
        "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE (a.n, y) IN `e`)",
        "\ufeffSELECT \ufeffy FROM a,\ufeffb WHERE n=\ufeff1",
    ),
    "duckdb": (
        "SELECT id AS x FROM a ORDER BY x + 1",
        "SELECT id AS x FROM a ORDER BY (x)",
        "SELECT count(n) AS n FROM a GROUP BY id HAVING n > 1",
        "SELECT n AS k, k + 1 AS l FROM a",
        "SELECT DISTINCT ON (x) n AS x, id FROM a ORDER BY x, id",
        "SELECT a FROM a",
        "SELECT b_id FROM a WHERE EXISTS (SELECT 1 FROM b AS x WHERE x IS NULL)",
        "SELECT p.n FROM a AS p, LATERAL (SELECT p.id AS n) AS q WHERE q.n > 1",
    ),
    "postgres": (
        "SELECT row_to_json(b) FROM b",
        "SELECT count(p) FROM a AS p WHERE p.ctid IS NOT NULL",
        "SELECT n AS k, count(*) FROM a GROUP BY k",
        "SELECT DISTINCT ON (x) n AS x, id FROM a ORDER BY x, id",
        "SELECT id FROM b WHERE EXISTS (SELECT max(n) AS id FROM e, a GROUP BY a.x HAVING max(id) > 1)",
        "SELECT p.n FROM a AS p, LATERAL (SELECT p.id AS k) AS n WHERE n.k > 1",
        "SELECT b.x AS id FROM a, b ORDER BY id",
        "SELECT id AS x FROM a ORDER BY (x)",
        "SELECT (SELECT max(y) AS n FROM b GROUP BY 1 HAVING n IS NOT NULL) FROM a",
        "SELECT p.n FROM a AS p, LATERAL (SELECT id AS n FROM b GROUP BY id HAVING n IS NOT NULL) AS n",
    ),
    "mysql": (
        "SELECT id AS x FROM a ORDER BY x + 1",
        "SELECT max(id) AS n FROM a GROUP BY x HAVING n > 1",
        "SELECT n AS k, (SELECT max(b.id) FROM b WHERE k = b.y) AS l FROM a",
    ),
}
"""By dialect: queries whose rule that engine has, and others have not."""
