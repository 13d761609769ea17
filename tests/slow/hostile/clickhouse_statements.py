"""Statements that may hurt a ClickHouse server or what it can reach. The user who sends them may do everything."""

from __future__ import annotations

from statements import ANYWHERE, Hostile, once

SCHEMA = (
    "CREATE TABLE t (a Int32, b String) ENGINE = MergeTree ORDER BY a",
    "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'y')",
    "CREATE TABLE big (a Int32) ENGINE = MergeTree ORDER BY a",
    "INSERT INTO big SELECT number FROM numbers(1000)",
    "CREATE VIEW a_view AS SELECT a FROM t",
    "CREATE FUNCTION plus_one AS (x) -> x + 1",
)

_HELD = frozenset({"refused", "writes", "error", "several_statements", "no_query"})
"""Not run, by Assay or by the server's read-only mode; or not valid."""
_HEAVY = _HELD | {"rows", "empty", "truncated", "timeout", "out_of_memory", "crashed"}
"""Run until some limit is met, or refused."""
_END_THE_ENGINE = ("five thousand tables", "not not not")
"""chdb itself ends with a fatal error at these."""

_HARMFUL = """
TRUNCATE TABLE t
OPTIMIZE TABLE t FINAL
ALTER TABLE t DELETE WHERE 1
ALTER TABLE t UPDATE b = 'x' WHERE 1
ALTER TABLE t DROP PARTITION tuple()
ALTER TABLE t FREEZE
ALTER TABLE t MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1
DELETE FROM t WHERE 1
UPDATE t SET b = 'x' WHERE 1
INSERT INTO FUNCTION file('evil.csv', 'CSV', 'a Int32') SELECT 1
INSERT INTO FUNCTION file('{folder}/evil.csv', 'CSV', 'a Int32') SELECT 1
INSERT INTO FUNCTION url('http://127.0.0.1:1/', 'CSV', 'a Int32') SELECT 1
INSERT INTO FUNCTION remote('127.0.0.1', system.one) SELECT 1
INSERT INTO t SELECT 9, 'x'
INSERT INTO t FORMAT CSV 9,x
SELECT * FROM t INTO OUTFILE '{folder}/evil.csv'
SELECT * FROM t INTO OUTFILE '{folder}/evil.csv' TRUNCATE FORMAT CSV
SELECT * FROM t INTO OUTFILE '{folder}/evil.csv' AND STDOUT
CREATE TABLE evil ENGINE = MergeTree ORDER BY a AS SELECT * FROM t
CREATE TABLE evil (a Int32) ENGINE = File(CSV, '{folder}/evil.csv')
CREATE TABLE evil (a Int32) ENGINE = Executable('evil.sh', 'CSV')
CREATE TEMPORARY TABLE evil (a Int32)
CREATE OR REPLACE TABLE t (a Int32) ENGINE = Memory
REPLACE TABLE t (a Int32) ENGINE = Memory
CREATE MATERIALIZED VIEW evil ENGINE = Memory AS SELECT * FROM t
CREATE DICTIONARY evil (a UInt64) PRIMARY KEY a SOURCE(FILE(PATH '/etc/passwd' FORMAT CSV)) LAYOUT(FLAT()) LIFETIME(0)
CREATE FUNCTION evil AS (x) -> x
CREATE OR REPLACE FUNCTION plus_one AS (x) -> x
CREATE DATABASE evil
CREATE DATABASE evil ENGINE = SQLite('{folder}/evil.sqlite')
CREATE NAMED COLLECTION evil AS a = 1
CREATE USER evil
CREATE ROLE evil
CREATE ROW POLICY evil ON t USING 0 TO ALL
CREATE QUOTA evil
CREATE SETTINGS PROFILE evil SETTINGS readonly = 0
GRANT ALL ON *.* TO default
REVOKE ALL ON *.* FROM default
ALTER USER default SETTINGS readonly = 0
DROP DATABASE default
DROP FUNCTION plus_one
DROP VIEW a_view
DETACH TABLE t
DETACH TABLE t PERMANENTLY
ATTACH TABLE t
RENAME TABLE t TO evil
EXCHANGE TABLES t AND big
UNDROP TABLE t
MOVE PARTITION tuple() TO TABLE big
BACKUP TABLE t TO File('{folder}/evil')
BACKUP TABLE t TO Disk('default', 'evil')
RESTORE TABLE t AS evil FROM File('{folder}/evil')
CHECK TABLE t
KILL QUERY WHERE 1
KILL MUTATION WHERE 1
SYSTEM SHUTDOWN
SYSTEM KILL
SYSTEM FLUSH LOGS
SYSTEM STOP MERGES
SYSTEM DROP MARK CACHE
SYSTEM RELOAD CONFIG
SET max_execution_time = 0
SET readonly = 0
SET ROLE DEFAULT
USE system
BEGIN TRANSACTION
SELECT 1 SETTINGS readonly = 0
SELECT 1 SETTINGS max_execution_time = 0
SELECT count() FROM t SETTINGS log_comment = 'x', allow_ddl = 1
EXPLAIN PLAN SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a Int32')
SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a Int32')
SELECT * FROM url('file:///etc/passwd', 'CSV', 'a String')
SELECT * FROM file('/etc/passwd', 'LineAsString', 'a String')
SELECT arrayMap(file, ['/etc/passwd'])
SELECT arrayMap(`file`, ['/etc/passwd'])[1]
SELECT arrayMap((file), ['/etc/passwd'])
SELECT arrayMap(x -> arrayMap(file, [x]), ['/etc/passwd'])
SELECT arrayExists(file, ['/etc/passwd'])
SELECT mapApply(file, map('/etc/passwd', 1))
SELECT arrayMap(addressToLine, [toUInt64(1)])
SELECT * FROM system.processes
SELECT * FROM system.server_settings
SELECT * FROM file('*', 'RawBLOB')
SELECT * FROM fileCluster('default', '/etc/passwd', 'LineAsString')
SELECT * FROM filesystem('/')
SELECT * FROM remote('127.0.0.1', system.one)
SELECT * FROM remoteSecure('127.0.0.1', system.one)
SELECT * FROM cluster('default', system.one)
SELECT * FROM clusterAllReplicas('default', system.one)
SELECT * FROM s3('http://127.0.0.1:1/b/k', 'CSV')
SELECT * FROM gcs('http://127.0.0.1:1/b/k', 'CSV')
SELECT * FROM hdfs('hdfs://127.0.0.1:1/k', 'CSV', 'a String')
SELECT * FROM azureBlobStorage('http://127.0.0.1:1/a', 'c', 'k', 'a', 'a2V5', 'CSV')
SELECT * FROM mysql('127.0.0.1:1', 'd', 't', 'u', 'p')
SELECT * FROM postgresql('127.0.0.1:1', 'd', 't', 'u', 'p')
SELECT * FROM mongodb('127.0.0.1:1', 'd', 't', 'u', 'p', 'a String')
SELECT * FROM redis('127.0.0.1:1', 'a', 'a String')
SELECT * FROM sqlite('{folder}/evil.sqlite', 't')
SELECT * FROM odbc('DSN=evil', 'd', 't')
SELECT * FROM jdbc('evil', 'd', 't')
SELECT * FROM iceberg('http://127.0.0.1:1/b/k')
SELECT * FROM icebergLocal('/etc')
SELECT * FROM deltaLake('http://127.0.0.1:1/b/k')
SELECT * FROM hudi('http://127.0.0.1:1/b/k')
SELECT * FROM executable('evil.sh', 'CSV', 'a String')
SELECT * FROM executable('evil.sh', CSV, 'a String', (SELECT 1))
SELECT * FROM python('evil')
SELECT * FROM eval('SELECT 1')
SELECT * FROM viewExplain('EXPLAIN', '', (SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')))
SELECT * FROM (SELECT 1) AS x, url('http://127.0.0.1:1/', 'CSV', 'a String') AS y
SELECT (SELECT a FROM file('/etc/passwd', 'LineAsString', 'a String') LIMIT 1)
SELECT 1 WHERE 1 IN (SELECT a FROM file('/etc/passwd', 'LineAsString', 'a Int32'))
WITH x AS (SELECT * FROM file('/etc/passwd', 'LineAsString', 'a String')) SELECT * FROM x
SELECT * FROM `file`('/etc/passwd', 'LineAsString', 'a String')
SELECT * FROM FILE('/etc/passwd', 'LineAsString', 'a String')
SELECT * FROM '/etc/passwd'
SELECT * FROM "/etc/passwd"
DESCRIBE file('/etc/passwd', 'LineAsString')
SHOW TABLES INTO OUTFILE '{folder}/evil.txt'
SELECT 1 FORMAT Native SELECT 2
SELECT 1; DROP TABLE t
SELECT 1 FORMAT Null; DROP TABLE t
SELECT 1 /* ' */ ; DROP TABLE t -- '
SELECT catboostEvaluate('/etc/passwd', 1)
SELECT aiGenerate('evil')
SELECT getClientHTTPHeader('Authorization')
SELECT showCertificate()
SELECT dictGet('evil', 'a', 1)
SELECT file('/etc/passwd')
SELECT logTrace('evil')
SELECT joinGet('evil', 'a', 1)
SELECT 1 PARALLEL WITH DROP TABLE t
DROP TABLE t PARALLEL WITH DROP TABLE big
PREPARE x AS SELECT 1
"""
_SLOW = """
SELECT sleep(3)
SELECT sleepEachRow(3) FROM numbers(1000)
SELECT sleepEachRow(0.01) FROM numbers(1000000) SETTINGS function_sleep_max_microseconds_per_block = 0
SELECT count() FROM numbers(1000000000000) WHERE sin(number) > 2
SELECT number FROM system.numbers
SELECT count() FROM system.zeros_mt
SELECT * FROM loop(t)
SELECT sum(x.a * y.a * z.a * u.a) FROM big x, big y, big z, big u
SELECT groupArray(number) FROM numbers(1000000000)
SELECT uniqExact(number) FROM numbers(1000000000)
SELECT repeat('x', 1000000000)
SELECT length(repeat(repeat('x', 1000000), 1000000))
SELECT range(1000000000)
SELECT arrayJoin(range(100000000)), repeat('x', 100000)
SELECT number, repeat('x', 10000) FROM numbers(1000000000)
SELECT * FROM big x ARRAY JOIN range(1000000) AS y
SELECT arrayReduce('sum', range(500000000))
SELECT * FROM generateRandom('a String', 1, 1000000, 3) LIMIT 1000000
SELECT number FROM numbers(100000000) ORDER BY sipHash64(number)
SELECT number FROM numbers(1000000000) ORDER BY number DESC
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT count() FROM n
SELECT match(repeat('a', 100000), '(a+)+b')
SELECT extractAll(repeat('ab', 1000000), '(a|b)*c')
SELECT plus_one(1)
SELECT * FROM (SELECT 1 SETTINGS max_memory_usage = 0)
SELECT 'a\\'; DROP TABLE t; --'
"""

CLICKHOUSE = once(
    [
        *(
            Hostile(name, sql, kinds | _HELD if kinds <= _HELD and len(sql) < 1000 else _HEAVY)
            for name, sql, kinds in ANYWHERE
            if name not in _END_THE_ENGINE
        ),
        *(Hostile(sql, sql, _HELD) for sql in _HARMFUL.strip().splitlines()),
        *(Hostile(sql, sql, _HEAVY) for sql in _SLOW.strip().splitlines()),
    ]
)
