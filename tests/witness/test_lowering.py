"""What names mean to a proof: where an engine would find something else, or nothing, the query is not covered."""

from __future__ import annotations

from looking import schema_of

from assay.model import DatabaseSchema, Proof, Unproved
from assay.witness.proof import prove
from many_cases import each

SCHEMA = """
CREATE TABLE a (id INTEGER PRIMARY KEY, x TEXT, n INTEGER);
CREATE TABLE b (id INTEGER PRIMARY KEY, x TEXT, y INTEGER);
CREATE TABLE g (u INTEGER NOT NULL, v INTEGER NOT NULL, w INTEGER);
"""
SQLITE = schema_of(SCHEMA)
CUBE = """SELECT u + 1, v, SUM(u) FROM g GROUP BY u, v UNION ALL SELECT u + 1, NULL, SUM(u) FROM g GROUP BY u
UNION ALL SELECT NULL + 1, v, SUM(u) FROM g GROUP BY v UNION ALL SELECT NULL + 1, NULL, SUM(u) FROM g"""


def proof(one: str, other: str, dialect: str = "sqlite", schema: DatabaseSchema = SQLITE) -> Proof | Unproved:
    return prove(one, other, schema, dialect=dialect, ordered="ORDER BY" in one)


@each(
    ("dialect", "one", "other"),
    [
        ("sqlite", "SELECT * FROM a JOIN b USING (id)", "SELECT a.id, a.x, n, b.x, y FROM a JOIN b ON a.id = b.id"),
        ("sqlite", "SELECT x FROM a LEFT JOIN b USING (id, x)", "SELECT a.x FROM a"),
        ("sqlite", "SELECT * FROM a NATURAL JOIN b", "SELECT a.*, y FROM a, b WHERE a.id = b.id AND a.x = b.x"),
        ("sqlite", "SELECT n FROM (a JOIN b ON a.id = b.id)", "SELECT n FROM a JOIN b ON a.id = b.id"),
        ("sqlite", "SELECT id AS x FROM a ORDER BY (x)", "SELECT id FROM a ORDER BY id"),
        ("sqlite", "SELECT id AS x FROM a ORDER BY lower(x), 1", "SELECT id FROM a ORDER BY lower(a.x), id"),
        ("sqlite", "SELECT n + 1 AS q FROM a WHERE q > 2", "SELECT n + 1 FROM a WHERE n + 1 > 2"),
        ("sqlite", 'SELECT `id` FROM a WHERE x = "other"', "SELECT id FROM a WHERE x = 'other'"),
        ("sqlite", "WITH v(q) AS (VALUES (1), (2)) SELECT q FROM v", "WITH w(z) AS (VALUES (1), (2)) SELECT z FROM w"),
        (
            "sqlite",
            "SELECT n FROM (SELECT n FROM a) AS t JOIN (VALUES (1)) AS v ON n = column1",
            "SELECT n FROM a WHERE n = 1",
        ),
        (
            "sqlite",
            "SELECT x FROM a UNION SELECT x FROM b ORDER BY x",
            "SELECT x FROM b UNION SELECT x FROM a ORDER BY 1",
        ),
        (
            "duckdb",
            "(SELECT n AS k, id AS n FROM a) ORDER BY k + n",
            "SELECT k, n FROM (SELECT n AS k, id AS n FROM a) AS t ORDER BY k + n",
        ),
        ("postgres", "SELECT n AS x, id FROM a ORDER BY lower(x), id", "SELECT n, id FROM a ORDER BY lower(a.x), id"),
        ("duckdb", "SELECT col0 FROM (VALUES (1)) AS v", "SELECT 1"),
        ("duckdb", "SELECT q FROM g AS t(q, r, s) WHERE r > 1", "SELECT u FROM g WHERE v > 1"),
        ("duckdb", "SELECT u AS k, SUM(w) FROM g GROUP BY ROLLUP (k)", "SELECT u, SUM(w) FROM g GROUP BY ROLLUP (u)"),
        ("duckdb", "SELECT u + 1, v, SUM(u) FROM g GROUP BY CUBE (u, v)", CUBE),
        (
            "duckdb",
            "SELECT u, RANK() OVER w FROM g WINDOW w AS (PARTITION BY v ORDER BY u)",
            "SELECT u, RANK() OVER (PARTITION BY v ORDER BY u) FROM g",
        ),
    ],
)
def test_names_are_read_as_the_engine_reads_them(dialect: str, one: str, other: str) -> None:
    found = proof(one, other, dialect)
    assert isinstance(found, Proof), found


@each(
    ("dialect", "query", "reason"),
    [
        ("sqlite", "SELECT x FROM a, b", "the ambiguous column x"),
        ("sqlite", "SELECT x FROM a JOIN b USING (id)", "the ambiguous column x"),
        ("sqlite", "SELECT t.x FROM a AS t JOIN b AS t", "two tables called t"),
        ("sqlite", "SELECT q.x FROM (SELECT a.x, b.x FROM a, b) AS q", "the ambiguous column x"),
        ("sqlite", "SELECT id AS q, q + 1 FROM a", "the column q, which is not in the schema"),
        ("sqlite", "SELECT id FROM a WHERE x = [other]", "the column"),
        ("sqlite", "SELECT rowid FROM a", "the number of a row"),
        ("sqlite", "SELECT a.y FROM a, b", "the column a.y"),
        ("sqlite", "WITH r AS (SELECT * FROM s), s AS (SELECT * FROM r) SELECT * FROM r", ""),
        ("sqlite", "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r", "a recursive WITH"),
        ("sqlite", "WITH c AS (SELECT x FROM a LIMIT 1) SELECT * FROM c, c AS d", "is used twice"),
        ("sqlite", "SELECT +n FROM a", "a plus sign"),
        ("sqlite", "SELECT id FROM a WHERE n = 1 IN (2)", "a chain of comparisons"),
        ("postgres", "SELECT n + 1 AS q FROM a WHERE q > 2", "the column q"),
        ("duckdb", "SELECT id AS x FROM a ORDER BY lower(x)", "the name x, which is a column and an alias"),
        ("duckdb", "SELECT lower(x) AS x, COUNT(*) FROM a GROUP BY x", "the name x, which is a column and an alias"),
        ("duckdb", "SELECT u, v FROM g GROUP BY u", "which DuckDB rejects"),
        ("duckdb", "SELECT b.y FROM a SEMI JOIN b ON a.id = b.id", "the column b.y"),
        ("duckdb", "SELECT GROUPING(u) FROM g GROUP BY u", "the function grouping"),
        ("mysql", "SELECT MAX(n) AS n FROM a GROUP BY x HAVING n > 1", "the name n, which is a column and an alias"),
        ("duckdb", "SELECT MAX(u, 2) FROM g", "MAX with COUNT"),
        ("duckdb", "SELECT COUNT(u, v) FROM g", "COUNT with EXPRESSIONS"),
        ("duckdb", "SELECT COUNT(DISTINCT (u, v)) FROM g", ""),
        ("mysql", "SELECT COUNT(DISTINCT u, v) FROM g", "DISTINCT over several values"),
        ("duckdb", "SELECT * ILIKE 'u%' FROM g", "* with ILIKE"),
        ("duckdb", "SELECT * EXCLUDE (u) FROM g", "* with EXCEPT"),
        ("duckdb", "SELECT g.* REPLACE (u + 1 AS u) FROM g", "* with REPLACE"),
        ("duckdb", "SELECT q.* FROM g", "q.*, which names no table"),
        ("duckdb", "SELECT u FROM g AT (VERSION => 1)", "TABLE with WHEN"),
        ("mysql", "SELECT u FROM g PARTITION (p)", "TABLE with PARTITION"),
        ("postgres", "SELECT u FROM ONLY g", "TABLE with ONLY"),
        ("postgres", "SELECT u FROM g FOR UPDATE SKIP LOCKED", "SELECT with LOCKS"),
        ("duckdb", "SELECT DISTINCT ON (u) u, v FROM g", "DISTINCT with ON"),
        ("duckdb", "SELECT u, v FROM g UNION BY NAME SELECT v, u FROM g", "UNION with BY NAME"),
        ("duckdb", "SELECT u FROM g LIMIT 10%", "LIMIT with LIMIT OPTIONS"),
        ("duckdb", "SELECT u FROM g FETCH FIRST 2 ROWS ONLY", "FETCH"),
        ("duckdb", "SELECT u FROM g LIMIT 1 + 1", "a LIMIT that is not a number"),
        ("mysql", "SELECT u, SUM(v) FROM g GROUP BY u WITH ROLLUP", "GROUP BY with ROLLUP"),
        ("duckdb", "SELECT u, SUM(v) FROM g GROUP BY ALL", "GROUP BY with ALL"),
        ("duckdb", "SELECT u, v FROM g GROUP BY (u, v)", "GROUP BY of rows"),
        ("sqlite", "SELECT u FROM g GROUP BY 2", "the place 2"),
        ("sqlite", "SELECT u FROM g GROUP BY MAX(u)", "an aggregate in GROUP BY"),
        ("sqlite", "SELECT u FROM g WHERE MAX(u) > 1", "an aggregate in WHERE"),
        ("sqlite", "SELECT u FROM g HAVING u > 1", "HAVING without GROUP BY"),
        ("postgres", "SELECT u FROM g WHERE u BETWEEN SYMMETRIC 3 AND 1", "BETWEEN with SYMMETRIC"),
        ("duckdb", "SELECT u FROM g WHERE (u, v) IN ((1, 2))", "IN of rows over a list"),
        ("duckdb", "SELECT u FROM g WHERE (u, v) < (1, 2)", "a comparison of rows"),
        ("postgres", "SELECT u FROM g WHERE (u, v) = ALL (SELECT id, y FROM b)", "a comparison with ANY or ALL"),
        ("postgres", "SELECT u FROM g WHERE (u, v) <> ANY (SELECT id, y FROM b)", "a comparison with ANY or ALL"),
        ("duckdb", "SELECT u FROM g, a WHERE u IN (1, a.x)", "IN over a list of values of different types"),
        (
            "sqlite",
            "SELECT u FROM g WHERE u IN (SELECT u, v FROM g)",
            "IN over a query with a different number of columns",
        ),
        ("sqlite", "SELECT (SELECT u, v FROM g) FROM g", "a subquery of several columns as a value"),
        ("sqlite", "SELECT main.g.u FROM g", "COLUMN with DB"),
        ("duckdb", "SELECT x || n + 1 FROM a", "|| mixed with arithmetic"),
        ("sqlite", "SELECT u + (v > 1) * 2 FROM g WHERE u + v > 1 = 1", "a chain of comparisons"),
        ("sqlite", "SELECT u FROM g UNION SELECT u, v FROM g", "UNION of queries with different numbers of columns"),
        ("sqlite", "SELECT u FROM other.g", "the table other.g"),
        ("sqlite", "SELECT u FROM g WHERE u > 99999999999999999999", "an integer of more than 64 bits"),
        ("sqlite", "SELECT u FROM g WHERE u > 1e999", "beyond the largest floating-point number"),
        ("sqlite", "SELECT x FROM a WHERE x = 1.5", "compared with a number that is not an integer"),
        ("duckdb", "SELECT u FROM g ASOF JOIN b ON g.u >= b.id", "ASOF JOIN"),
        ("duckdb", "SELECT u FROM g POSITIONAL JOIN b", "POSITIONAL JOIN"),
        ("duckdb", "SELECT u FROM (g ASOF JOIN b ON g.u >= b.id)", "ASOF JOIN"),
        ("postgres", "SELECT u FROM g, b RIGHT JOIN a ON a.id = b.id", "a comma before an outer join"),
        ("duckdb", "SELECT u FROM g, b FULL JOIN a ON a.id = b.id", "a comma before an outer join"),
        ("sqlite", "SELECT * FROM a RIGHT JOIN b USING (id)", "RIGHT JOIN with USING"),
        ("sqlite", "SELECT * FROM a JOIN b USING (y)", "USING (y), which is not on both sides"),
        ("duckdb", "SELECT * FROM range(3)", ""),
        ("duckdb", "SELECT * FROM g AS t(p, q, r, s)", "a list of columns that does not fit its table"),
        ("duckdb", "SELECT SUM(u) OVER (ORDER BY v RANGE 1 PRECEDING) FROM g", "a frame of RANGE or GROUPS"),
        ("duckdb", "SELECT SUM(u) OVER (ORDER BY v ROWS 1 PRECEDING EXCLUDE TIES) FROM g", "WINDOWSPEC with EXCLUDE"),
        ("duckdb", "SELECT LAG(u, v) OVER (ORDER BY u) FROM g", "LAG or LEAD by an unknown number"),
        ("snowflake", "SELECT NTH_VALUE(u, 2) FROM LAST OVER (ORDER BY u) FROM g", "NTH_VALUE with FROM FIRST"),
        ("duckdb", "SELECT RANK() OVER w FROM g WINDOW w AS (v ORDER BY u)", ""),
        ("duckdb", "SELECT u FROM g QUALIFY RANK() OVER (ORDER BY u) = 1 LIMIT 1", "QUALIFY with"),
        ("duckdb", "SELECT u FROM g QUALIFY RANK() OVER (ORDER BY u) = (SELECT 1)", "a subquery in QUALIFY"),
        ("duckdb", "SELECT u, SUM(v) FROM g GROUP BY CUBE (u) LIMIT 1", "GROUPING SETS with"),
        ("duckdb", "SELECT SUM(v) FROM g GROUP BY ROLLUP (u + 1)", "GROUPING SETS of expressions"),
        ("sqlite", "SELECT ROW_NUMBER() OVER (ORDER BY u) FROM g", "ROW_NUMBER over tied rows"),
    ],
)
def test_what_an_engine_may_read_otherwise_stops_the_proof(dialect: str, query: str, reason: str) -> None:
    found = proof(query, f"SELECT * FROM ({query}) AS whole", dialect)
    assert isinstance(found, Unproved)
    assert reason in found.reason


def test_an_alias_comes_before_a_column_of_the_query_around() -> None:
    inner = "SELECT (SELECT g.u AS x FROM g WHERE x > 1 AND g.u = 2) FROM a"
    assert isinstance(proof(inner, "SELECT (SELECT g.u FROM g WHERE a.x > 1 AND g.u = 2) FROM a"), Unproved)


@each(
    ("columns", "folded"),
    [
        ("s TEXT DEFAULT ('x, y') COLLATE NOCASE", True),
        ("s DECIMAL(10, 2) COLLATE NOCASE", True),
        ("n INTEGER, -- a, b\n s TEXT COLLATE NOCASE", True),
        ("s TEXT NOT NULL UNIQUE COLLATE RTRIM", True),
        ("s TEXT, other TEXT COLLATE NOCASE", False),
        ("s TEXT CHECK (s COLLATE NOCASE <> 'no')", False),
        ("s TEXT DEFAULT 'collate'", False),
    ],
)
def test_a_collation_is_that_of_its_own_column(columns: str, folded: bool) -> None:
    schema = schema_of(f"CREATE TABLE t ({columns});")
    found = proof("SELECT s FROM t WHERE s = 'a'", "SELECT 'a' FROM t WHERE s = 'a'", schema=schema)
    assert isinstance(found, Unproved if folded else Proof)
