"""Statements that a system under test might answer with, and what must become of each.

A row is a name, the statement, and the kinds of failure that are right for it; ``rows`` stands for
no failure. Several kinds where it depends on the library's version or the machine's speed which
limit a statement meets first.
"""

from __future__ import annotations

from typing import NamedTuple


class Hostile(NamedTuple):
    name: str
    sql: str
    kinds: frozenset[str]


def row(name: str, sql: str, *kinds: str) -> Hostile:
    return Hostile(name, sql, frozenset(kinds))


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
NESTED = "(" * 20_000 + "1" + ")" * 20_000
LONG = "SELECT 1 -- " + "x" * 10_000_000

ANYWHERE = [
    row("insert", "INSERT INTO t VALUES (9, 'x')", "writes"),
    row("update", "UPDATE t SET b = 'x'", "writes"),
    row("delete", "DELETE FROM t", "writes"),
    row("delete behind a comment", "/* SELECT 1 */ DELETE FROM t", "writes"),
    row("insert after a with clause", "WITH x AS (SELECT 9 AS a, 'x' AS b) INSERT INTO t SELECT * FROM x", "writes"),
    row("create table", "CREATE TABLE evil AS SELECT * FROM t", "writes"),
    row("create temporary table", "CREATE TEMP TABLE evil(a INTEGER)", "writes"),
    row("create view", "CREATE VIEW evil AS SELECT * FROM t", "writes"),
    row("create index", "CREATE INDEX evil ON t(a)", "writes"),
    row("drop table", "DROP TABLE t", "writes"),
    row("drop if exists", "DROP TABLE IF EXISTS t", "writes"),
    row("alter table", "ALTER TABLE t ADD COLUMN evil INTEGER", "writes"),
    row("rename table", "ALTER TABLE t RENAME TO evil", "writes"),
    row("vacuum", "VACUUM", "writes"),
    row("explain a delete", "EXPLAIN DELETE FROM t", "writes"),
    row("second statement", "SELECT 1; DROP TABLE t", "several_statements"),
    row("second statement behind a comment", "SELECT 1; -- that was all\nDROP TABLE t", "several_statements"),
    row(
        "second statement hidden by comments",
        "SELECT 1 /* ; */ ; /* -- */ DELETE FROM t /*",
        "several_statements",
        "error",
    ),
    row("two queries", "SELECT 1; SELECT 2", "several_statements"),
    row("begin", "BEGIN", "refused"),
    row("commit", "COMMIT", "refused"),
    row("empty", "", "no_query"),
    row("only a comment", "-- DROP TABLE t", "no_query"),
    row("only semicolons", ";;;", "no_query"),
    row("prose", "I am sorry, but I cannot answer that.", "error"),
    row("endless recursion", f"{ENDLESS} SELECT count(*) FROM n", "timeout"),
    row("endless rows", f"{ENDLESS} SELECT i FROM n", "truncated", "timeout"),
    row("ten million rows", f"{ENDLESS} SELECT i FROM n LIMIT 10000000", "truncated", "timeout"),
    row("deep nesting", f"SELECT {NESTED}", "error", "crashed"),
    row("long sum", "SELECT " + "1+" * 50_000 + "1", "error", "crashed"),
    row("10 MB of text", LONG, "error", "rows"),
    row("null byte outside of text", "SELECT 1 \0 ; DROP TABLE t", "error", "several_statements"),
    row("null byte first", "\0", "error"),
    row("lone surrogate", "SELECT '\ud800'", "error"),
    row("surrogate escape", "SELECT * FROM \udcff", "error"),
    row("parameter", "SELECT * FROM t WHERE a = ?", "error"),
    row("missing table", "SELECT * FROM no_such_table", "error"),
]

SQLITE = [
    *ANYWHERE,
    row("replace", "REPLACE INTO t VALUES (1, 'x')", "writes"),
    row("delete returning", "DELETE FROM t RETURNING a", "writes"),
    row("write in an upsert", "INSERT INTO t VALUES (1, 'x') ON CONFLICT DO NOTHING", "writes"),
    row("temporary trigger", "CREATE TEMP TRIGGER e AFTER INSERT ON t BEGIN DELETE FROM t; END", "writes"),
    row("virtual table", "CREATE VIRTUAL TABLE evil USING fts5(x)", "writes"),
    row("schema edit", "UPDATE sqlite_master SET sql = 'x'", "error", "writes"),
    row("writable schema", "PRAGMA writable_schema = ON", "refused"),
    row("journal mode", "PRAGMA journal_mode = WAL", "refused"),
    row("query only off", "PRAGMA query_only = OFF", "refused"),
    row("user version", "PRAGMA user_version = 666", "refused"),
    row("checkpoint", "PRAGMA wal_checkpoint(TRUNCATE)", "refused"),
    row("temp directory", "PRAGMA temp_store_directory = '.'", "refused"),
    row("memory limit", "PRAGMA hard_heap_limit = 0", "refused"),
    row("like rules", "PRAGMA case_sensitive_like = ON", "refused"),
    row("trust the schema", "PRAGMA trusted_schema = ON", "refused"),
    row("integrity check", "PRAGMA integrity_check", "refused"),
    row("database list", "PRAGMA database_list", "refused"),
    row("vacuum into", "VACUUM INTO 'evil.db'", "writes"),
    row("vacuum into, main named", "VACUUM main INTO 'evil.db'", "writes"),
    row("attach", "ATTACH DATABASE 'evil.db' AS evil", "refused"),
    row("attach by uri", "ATTACH 'file:evil.db?mode=rwc' AS evil", "refused"),
    row("attach memory", "ATTACH ':memory:' AS evil", "refused"),
    row("detach", "DETACH main", "refused", "error"),
    row("load extension", "SELECT load_extension('evil')", "refused"),
    row("load extension, upper case", "SELECT LOAD_EXTENSION('evil', 'main')", "refused"),
    row("tokenizer", "SELECT fts3_tokenizer('simple', x'4141414142424242')", "refused", "error"),
    row("read a file", "SELECT readfile('/etc/passwd')", "refused", "error"),
    row("write a file", "SELECT writefile('evil.txt', 'x')", "refused", "error"),
    row("edit", "SELECT edit('x', 'touch evil.txt')", "refused", "error"),
    row("analyze", "ANALYZE", "writes"),
    row("reindex", "REINDEX", "writes", "refused"),
    row("savepoint", "SAVEPOINT evil", "refused"),
    row("rollback", "ROLLBACK", "refused"),
    row("cross joins", "SELECT count(*) FROM big a, big b, big c, big d", "timeout"),
    row("cross joins, sorted", "SELECT * FROM big a, big b, big c ORDER BY random()", "timeout", "out_of_memory"),
    row("2 GB of text", "SELECT hex(zeroblob(1000000000))", "out_of_memory"),
    row("many large texts", f"{ENDLESS} SELECT hex(zeroblob(1000000)) FROM n", "truncated", "timeout"),
    row(
        "many large texts, sorted",
        f"{ENDLESS} SELECT hex(zeroblob(1000000)) AS x FROM n ORDER BY x",
        "out_of_memory",
        "timeout",
    ),
    row("aggregate bomb", f"{ENDLESS} SELECT group_concat(hex(zeroblob(100000))) FROM n", "out_of_memory", "timeout"),
    row(
        "distinct bomb", f"{ENDLESS} SELECT count(DISTINCT i || hex(zeroblob(5000))) FROM n", "out_of_memory", "timeout"
    ),
    row(
        "a step that nothing interrupts",
        "SELECT instr(hex(zeroblob(1500000)), hex(zeroblob(200000)) || '1')",
        "timeout",
    ),
    row("the like that explodes", f"SELECT hex(zeroblob(20000)) LIKE '{'%0' * 3000}%1'", "timeout", "rows", "error"),
    row("printf bomb", "SELECT printf('%.*c', 2000000000, 'x')", "timeout", "out_of_memory", "rows", "error"),
    row("too many columns", "SELECT " + ", ".join(["1"] * 3000), "error"),
    row("too many unions", " UNION ALL ".join(["SELECT 1"] * 5000), "error"),
    row("bytes that are no text", "SELECT CAST(x'fffe41' AS TEXT)", "rows"),
]

DUCKDB = [
    *ANYWHERE,
    row("write in a with clause", "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", "writes"),
    row("insert in a with clause", "WITH x AS (INSERT INTO t VALUES (9, 'x') RETURNING *) FROM x", "writes"),
    row("explain analyze a delete", "EXPLAIN ANALYZE DELETE FROM t", "writes"),
    row("merge", "MERGE INTO t USING t AS s ON t.a = s.a WHEN MATCHED THEN DELETE", "writes"),
    row("truncate", "TRUNCATE t", "writes"),
    row("sequence", "SELECT nextval('numbers')", "writes"),
    row("macro", "CREATE MACRO evil(x) AS x", "writes"),
    row("table out of a pivot", "CREATE TABLE evil AS PIVOT t ON b USING sum(a)", "writes"),
    row("copy to", "COPY t TO 'evil.csv'", "writes"),
    row("copy a query to", "COPY (SELECT 1) TO 'evil.parquet'", "writes"),
    row("copy from", "COPY t FROM '/etc/passwd'", "writes"),
    row("export database", "EXPORT DATABASE 'evil'", "writes"),
    row("import database", "IMPORT DATABASE 'evil'", "refused", "error"),
    row("checkpoint", "CHECKPOINT", "refused"),
    row("force checkpoint", "FORCE CHECKPOINT", "refused"),
    row("attach", "ATTACH 'evil.db' AS evil", "refused"),
    row("attach over http", "ATTACH 'https://127.0.0.1:9/evil.db' AS evil", "refused"),
    row("detach", "DETACH shop", "refused"),
    row("use", "USE memory", "refused"),
    row("install", "INSTALL httpfs", "refused"),
    row("load", "LOAD httpfs", "refused"),
    row("load a path", "LOAD './evil.duckdb_extension'", "refused"),
    row("set", "SET enable_external_access = true", "refused"),
    row("set global", "SET GLOBAL memory_limit = '1TB'", "refused"),
    row("reset", "RESET lock_configuration", "refused"),
    row("set variable", "SET VARIABLE x = 1", "refused"),
    row("pragma", "PRAGMA enable_profiling", "refused"),
    row("pragma with a value", "PRAGMA temp_directory = '.'", "refused"),
    row("call", "CALL pragma_version()", "refused"),
    row("secret", "CREATE SECRET evil (TYPE s3, KEY_ID 'x', SECRET 'y')", "writes", "refused"),
    row("secrets", "SELECT * FROM duckdb_secrets()", "refused", "empty"),
    row("prepare", "PREPARE evil AS SELECT 1", "refused"),
    row("execute", "EXECUTE evil", "refused"),
    row("read_csv", "SELECT * FROM read_csv('/etc/passwd')", "refused"),
    row("read_text", "SELECT * FROM read_text('/etc/passwd')", "refused"),
    row("read_blob", "SELECT * FROM read_blob('/etc/passwd')", "refused"),
    row("read_json", "SELECT * FROM read_json('/etc/passwd')", "refused", "error"),
    row("read_parquet", "SELECT * FROM read_parquet('/etc/passwd')", "refused", "error"),
    row("glob", "SELECT * FROM glob('/etc/*')", "refused"),
    row("file as a table", "SELECT * FROM '/etc/passwd'", "refused", "error"),
    row("csv file as a table", "SELECT * FROM '/etc/evil.csv'", "refused", "error"),
    row("web page as a table", "SELECT * FROM 'https://127.0.0.1:9/evil.csv'", "refused", "error"),
    row("sniff", "SELECT * FROM sniff_csv('/etc/passwd')", "refused"),
    row("getenv", "SELECT getenv('HOME')", "error"),
    row("query in a text", "SELECT * FROM query('DELETE FROM t')", "error", "writes"),
    row("cross joins", "SELECT count(*) FROM big a, big b, big c, big d WHERE hash(a.a, b.a, c.a, d.a) = 0", "timeout"),
    row("cross joins, sorted", "SELECT * FROM big a, big b, big c ORDER BY random()", "timeout", "out_of_memory"),
    row("2 GB of text", "SELECT repeat('x', 2000000000)", "timeout", "out_of_memory", "truncated"),
    row("many large texts", "SELECT repeat('x', 1000000) FROM range(100000)", "truncated", "timeout", "out_of_memory"),
    row("large list", "SELECT range(100000000)", "timeout", "out_of_memory", "truncated"),
    row(
        "list aggregate bomb",
        "SELECT list(a.i + b.i) FROM range(100000) a(i), range(100000) b(i)",
        "out_of_memory",
        "timeout",
    ),
    row(
        "hash bomb",
        "SELECT count(*) FROM (SELECT DISTINCT i, repeat('x', 500) || i FROM range(1000000000) r(i))",
        "out_of_memory",
        "timeout",
    ),
    row(
        "a function that nothing interrupts",
        "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))",
        "timeout",
    ),
    row("null byte in text", "SELECT 'a\0b'", "rows"),
]
