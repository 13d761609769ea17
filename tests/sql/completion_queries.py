"""Queries that completions contain."""

from __future__ import annotations

QUERIES = (
    "SELECT a FROM t",
    "SELECT count(*) FROM t WHERE b = 'it''s; -- so'",
    "select a, b from t where b > 1 order by a limit 3",
    "WITH x AS (\n  SELECT a FROM t\n),\n\ny AS (SELECT b FROM t)\nSELECT * FROM x, y",
    'SELECT [a b], `c` FROM "t u"',
    "(SELECT a FROM t) UNION (SELECT b FROM u)",
    "Select a From t\nWhere b = 1",
    "SELECT T1.a, count(*)\nFROM t AS T1\n  JOIN u AS T2 ON T1.id = T2.id\nGROUP BY T1.a\nHAVING count(*) > 1",
)
