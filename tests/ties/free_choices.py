"""Gold queries that leave a choice to the engine, with another result that the engine might have returned, and a wrong
one.

``T`` stands for a table with ties (``tied``), or for the same without (``free``): there, the query has one result.
"""

from __future__ import annotations

from dataclasses import dataclass

_TIED = (5, 5, 5, 7, 7, 9)
_NAMES = ["x", "y", "x", "z", "w", "v"]
ROWS = {
    "tied": [(number, g, name, k) for number, g, name, k in zip(range(1, 7), "aabbcc", _NAMES, _TIED, strict=True)],
    "free": [(number, g, name, number * 10) for number, g, name in zip(range(1, 7), "abcdef", _NAMES, strict=True)],
}


def statements(table: str, *, integer: str = "INTEGER", text: str = "VARCHAR(9)", ends: str = "") -> list[str]:
    columns = f"id {integer}, g {text}, name {text}, k {integer}"
    return [f"CREATE TABLE {table}({columns}){ends}", f"INSERT INTO {table} VALUES {', '.join(map(str, ROWS[table]))}"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A gold query, another result that it may return, and one that differs in what it determines."""

    gold: str
    other: str
    wrong: str
    is_list: bool = False
    """The rows of ``free`` tie, too."""


def _window(chosen: str, other: str, *, rest: str = "FROM T") -> Choice:
    return Choice(
        gold=f"SELECT id, {chosen} AS v {rest}",
        other=f"SELECT id, {other} AS v {rest}",
        wrong=f"SELECT -id, {chosen} AS v {rest}",
    )


_ALL = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
WINDOWS = [
    _window("LAG(id) OVER (ORDER BY k)", "LAG(id) OVER (ORDER BY k, id DESC)"),
    _window("LAG(id) OVER (ORDER BY k)", "LAG(id) OVER (ORDER BY k, g DESC, name)"),
    _window("LAG(id, 2) OVER (ORDER BY k)", "LAG(id, 2) OVER (ORDER BY k, id DESC)"),
    _window("LEAD(name) OVER (ORDER BY k DESC)", "LEAD(name) OVER (ORDER BY k DESC, id DESC)"),
    _window("FIRST_VALUE(id) OVER (ORDER BY k)", "FIRST_VALUE(id) OVER (ORDER BY k, id DESC)"),
    _window("LAST_VALUE(id) OVER (ORDER BY k)", "FIRST_VALUE(id) OVER (PARTITION BY k ORDER BY id)"),
    _window(f"NTH_VALUE(id, 2) OVER (ORDER BY k {_ALL})", f"NTH_VALUE(id, 2) OVER (ORDER BY k, id DESC {_ALL})"),
    _window("NTILE(4) OVER (ORDER BY k)", "NTILE(4) OVER (ORDER BY k, id DESC)"),
    Choice(
        gold="SELECT id, ROW_NUMBER() OVER () AS v FROM T",
        other="SELECT id, 7 - id AS v FROM T",
        wrong="SELECT -id, ROW_NUMBER() OVER () AS v FROM T",
        is_list=True,
    ),
    _window("ROW_NUMBER() OVER (ORDER BY k)", "ROW_NUMBER() OVER (ORDER BY k, id DESC)"),
    _window(
        "SUM(id) OVER (ORDER BY k ROWS UNBOUNDED PRECEDING)",
        "SUM(id) OVER (ORDER BY k, id DESC ROWS UNBOUNDED PRECEDING)",
    ),
    Choice(
        gold="SELECT x.id, LAG(x.id) OVER (ORDER BY x.k) AS v FROM T AS x JOIN T AS y ON x.id = y.id",
        other="SELECT x.id, LAG(x.id) OVER (ORDER BY x.k, y.id DESC) AS v FROM T AS x JOIN T AS y ON x.id = y.id",
        wrong="SELECT -x.id, LAG(x.id) OVER (ORDER BY x.k) AS v FROM T AS x JOIN T AS y ON x.id = y.id",
    ),
    Choice(
        gold="SELECT g, COUNT(*), LAG(g) OVER (ORDER BY COUNT(*)) AS v FROM T GROUP BY g",
        other="SELECT g, COUNT(*), LAG(g) OVER (ORDER BY COUNT(*), g DESC) AS v FROM T GROUP BY g",
        wrong="SELECT g, -COUNT(*), LAG(g) OVER (ORDER BY COUNT(*)) AS v FROM T GROUP BY g",
        is_list=True,
    ),
    Choice(
        gold="WITH c AS (SELECT id, LAG(id) OVER (ORDER BY k) AS v FROM T) SELECT id, v FROM c",
        other="WITH c AS (SELECT id, LAG(id) OVER (ORDER BY k, id DESC) AS v FROM T) SELECT id, v FROM c",
        wrong="WITH c AS (SELECT id, LAG(id) OVER (ORDER BY k) AS v FROM T) SELECT -id, v FROM c",
    ),
]
NAMED_WINDOW = Choice(
    gold="SELECT id, LAG(id) OVER w, LEAD(id) OVER w FROM T WINDOW w AS (ORDER BY k)",
    other="SELECT id, LAG(id) OVER w, LEAD(id) OVER w FROM T WINDOW w AS (ORDER BY k, id DESC)",
    wrong="SELECT -id, LAG(id) OVER w, LEAD(id) OVER w FROM T WINDOW w AS (ORDER BY k)",
)


def _grouped(chosen: str, other: str, *, is_list: bool = False) -> Choice:
    return Choice(
        gold=f"SELECT g, {chosen} AS v FROM T GROUP BY g",
        other=f"SELECT g, {other} AS v FROM T GROUP BY g",
        wrong=f"SELECT g, {other} AS v FROM T WHERE id > 2 GROUP BY g",
        is_list=is_list,
    )


def _whole(chosen: str, other: str, *, is_list: bool = False) -> Choice:
    return Choice(
        gold=f"SELECT COUNT(*), {chosen} AS v FROM T",
        other=f"SELECT COUNT(*), {other} AS v FROM T",
        wrong=f"SELECT -COUNT(*), {other} AS v FROM T",
        is_list=is_list,
    )


_DISTINCT_ON = Choice(
    gold="SELECT DISTINCT ON (g) g, id FROM T ORDER BY g",
    other="SELECT g, MAX(id) FROM T GROUP BY g ORDER BY g",
    wrong="SELECT g, MAX(id) + 1 FROM T GROUP BY g ORDER BY g",
)
ON: dict[str, list[Choice]] = {
    "sqlite": [
        *WINDOWS,
        NAMED_WINDOW,
        Choice(
            gold="SELECT COUNT(*), GROUP_CONCAT(name) FROM T",
            other="SELECT COUNT(*), GROUP_CONCAT(name) FROM (SELECT * FROM T ORDER BY id DESC LIMIT 9)",
            wrong="SELECT -COUNT(*), GROUP_CONCAT(name) FROM T",
            is_list=True,
        ),
    ],
    "duckdb": [
        *WINDOWS,
        NAMED_WINDOW,
        _grouped("STRING_AGG(name, ',')", "STRING_AGG(name, ',' ORDER BY id DESC)"),
        _whole("STRING_AGG(name, ',' ORDER BY k)", "STRING_AGG(name, ',' ORDER BY k, id DESC)"),
        _whole("STRING_AGG(DISTINCT g, ',')", "STRING_AGG(DISTINCT g, ',' ORDER BY g DESC)", is_list=True),
        _grouped("ARG_MAX(id, g)", "MAX(id)"),
        _grouped("MAX_BY(id, g)", "MAX(id)"),
        _grouped("ARG_MIN(id, g)", "MAX(id)"),
        _grouped("ANY_VALUE(id)", "MAX(id)"),
        _grouped("FIRST(id)", "MAX(id)"),
        _grouped("LAST(id)", "MIN(id)"),
        _grouped("LIST(id)", "LIST(id ORDER BY id DESC)"),
        _grouped("ARRAY_AGG(id) FILTER (WHERE id > 0)", "ARRAY_AGG(id ORDER BY id DESC)"),
        _grouped("MODE(id)", "MAX(id)"),
        Choice(
            gold="SELECT ARRAY(SELECT id FROM T WHERE k < 8)",
            other="SELECT ARRAY(SELECT id FROM T WHERE k < 8 ORDER BY id DESC)",
            wrong="SELECT ARRAY(SELECT id FROM T WHERE k < 6)",
        ),
        _DISTINCT_ON,
        Choice(
            gold="SELECT g, id FROM T QUALIFY ROW_NUMBER() OVER (PARTITION BY g ORDER BY g) = 1",
            other="SELECT g, MAX(id) FROM T GROUP BY g",
            wrong="SELECT g, MAX(id) + 1 FROM T GROUP BY g",
        ),
    ],
    "postgres": [
        *WINDOWS,
        NAMED_WINDOW,
        _grouped("STRING_AGG(name, ',')", "STRING_AGG(name, ',' ORDER BY id DESC)"),
        _whole("STRING_AGG(name, ',' ORDER BY k)", "STRING_AGG(name, ',' ORDER BY k, id DESC)"),
        _grouped("ARRAY_AGG(id)", "ARRAY_AGG(id ORDER BY id DESC)"),
        _grouped("JSON_AGG(id)::text", "JSON_AGG(id ORDER BY id DESC)::text"),
        _grouped("(ARRAY_AGG(id))[1]", "MAX(id)"),
        _grouped("MODE() WITHIN GROUP (ORDER BY id)", "MAX(id)"),
        Choice(
            gold="SELECT ARRAY(SELECT id FROM T WHERE g = 'a' ORDER BY k)",
            other="SELECT ARRAY(SELECT id FROM T WHERE g = 'a' ORDER BY k, id DESC)",
            wrong="SELECT ARRAY(SELECT id FROM T WHERE g = 'b' ORDER BY k)",
        ),
        _DISTINCT_ON,
    ],
    "mysql": [
        *WINDOWS,
        _grouped("GROUP_CONCAT(name)", "GROUP_CONCAT(name ORDER BY id DESC)"),
        _whole("GROUP_CONCAT(name ORDER BY k)", "GROUP_CONCAT(name ORDER BY k, id DESC)"),
        _whole("GROUP_CONCAT(DISTINCT g)", "GROUP_CONCAT(DISTINCT g ORDER BY g DESC)", is_list=True),
        _grouped("JSON_ARRAYAGG(id)", "JSON_ARRAYAGG(id ORDER BY id DESC)"),
        _grouped("id", "MAX(id)"),
        _grouped("name", "MIN(name)"),
        _grouped("id + 0", "MAX(id)"),
        Choice(
            gold="SELECT x.g, y.id FROM T AS x JOIN T AS y ON x.g = y.g GROUP BY x.g",
            other="SELECT g, MAX(id) FROM T GROUP BY g",
            wrong="SELECT g, MAX(id) + 1 FROM T GROUP BY g",
        ),
    ],
    "clickhouse": [
        *WINDOWS,
        _grouped("groupArray(id)", "arrayReverseSort(groupArray(id))"),
        _grouped("any(id)", "max(id)"),
        _grouped("anyLast(id)", "min(id)"),
        _grouped("anyIf(id, id > 0)", "max(id)"),
        _grouped("argMax(id, g)", "max(id)"),
        _grouped("argMinIf(id, g, id > 0)", "max(id)"),
        Choice(
            gold="SELECT g, id FROM T LIMIT 1 BY g",
            other="SELECT g, max(id) FROM T GROUP BY g",
            wrong="SELECT g, max(id) + 1 FROM T GROUP BY g",
        ),
        Choice(
            gold="SELECT g, id FROM T ORDER BY g LIMIT 1 BY g",
            other="SELECT g, max(id) FROM T GROUP BY g ORDER BY g",
            wrong="SELECT g, max(id) + 1 FROM T GROUP BY g ORDER BY g",
        ),
    ],
}


COLLATED = {
    "sqlite": ["CREATE TABLE c(id INTEGER, n TEXT COLLATE NOCASE)"],
    "duckdb": ["CREATE TABLE c(id INTEGER, n VARCHAR COLLATE NOCASE)"],
    "postgres": [
        "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE TABLE c(id INTEGER, n TEXT COLLATE ci)",
    ],
    "mysql": ["CREATE TABLE c(id INTEGER, n VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci)"],
}
"""By engine, a table of texts that differ only in case, which the column's collation treats as equal."""
SPELLINGS = "INSERT INTO c VALUES (1, 'ann'), (2, 'Ann'), (3, 'ANN'), (4, 'Bob')"
MERGING = [
    ("SELECT DISTINCT n FROM c", "SELECT 'ANN' UNION ALL SELECT 'Bob'", "SELECT 'ANN' UNION ALL SELECT 'Bo'"),
    ("SELECT DISTINCT n FROM c", "SELECT 'ann' UNION ALL SELECT 'Bob'", "SELECT 'ann'"),
    (
        "SELECT n, COUNT(*) FROM c GROUP BY n",
        "SELECT 'ann', 3 UNION ALL SELECT 'Bob', 1",
        "SELECT 'ann', 2 UNION ALL SELECT 'Bob', 1",
    ),
    ("SELECT MIN(n), COUNT(*) FROM c", "SELECT 'ann', 4", "SELECT 'ann', 3"),
    ("SELECT MIN(n), COUNT(*) FROM c", "SELECT 'ANN', 4", "SELECT 'Bob', 4"),
    ("SELECT n FROM c WHERE id = 1 UNION SELECT n FROM c WHERE id = 3", "SELECT 'ANN'", "SELECT 'Bob'"),
    ("SELECT n FROM c WHERE id = 1 UNION SELECT n FROM c WHERE id = 3", "SELECT 'ann'", "SELECT 'Bob'"),
    ("SELECT n FROM c EXCEPT SELECT n FROM c WHERE id = 4", "SELECT 'ann'", "SELECT 'Bob'"),
    ("SELECT n FROM c EXCEPT SELECT n FROM c WHERE id = 4", "SELECT 'ANN'", "SELECT 'Bob'"),
]
"""Queries that keep one spelling of several, each with another result that it may return, and a wrong one."""
