"""What PostgreSQL is asked, as a superuser, and the database that it is asked of.

``{folder}`` stands for a folder that the server may write to.
"""

from __future__ import annotations

from families import postgres
from statements import ANYWHERE, ENDLESS, Gap, once, row

SCRIPT = """
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'y');
CREATE TABLE big(a INTEGER);
INSERT INTO big SELECT i FROM generate_series(0, 999) i;
CREATE SEQUENCE numbers;
CREATE EXTENSION IF NOT EXISTS dblink;
CREATE EXTENSION IF NOT EXISTS tablefunc;
CREATE EXTENSION IF NOT EXISTS isn;
ANALYZE pg_authid;
CREATE FUNCTION writes() RETURNS INTEGER LANGUAGE plpgsql AS $$ BEGIN DELETE FROM t; RETURN 1; END $$;
CREATE FUNCTION writes_as_owner() RETURNS INTEGER LANGUAGE plpgsql SECURITY DEFINER
  AS $$ BEGIN UPDATE t SET b = 'evil'; RETURN 1; END $$;
CREATE FUNCTION writes_in_sql() RETURNS SETOF INTEGER LANGUAGE sql AS $$ DELETE FROM t RETURNING a $$;
CREATE FUNCTION runs(what TEXT) RETURNS INTEGER LANGUAGE plpgsql AS $$ BEGIN EXECUTE what; RETURN 1; END $$;
CREATE FUNCTION commits() RETURNS INTEGER LANGUAGE plpgsql AS $$ BEGIN COMMIT; DELETE FROM t; RETURN 1; END $$;
CREATE FUNCTION catches() RETURNS INTEGER LANGUAGE plpgsql AS $$
  BEGIN DELETE FROM t; RETURN 1; EXCEPTION WHEN OTHERS THEN RETURN 2; END $$;
CREATE FUNCTION swallows() RETURNS INTEGER LANGUAGE plpgsql AS $$
  BEGIN LOOP BEGIN PERFORM pg_sleep(5); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$;
CREATE FUNCTION spins() RETURNS INTEGER LANGUAGE plpgsql AS $$ BEGIN LOOP NULL; END LOOP; END $$;
CREATE FUNCTION recurses(i INTEGER) RETURNS INTEGER LANGUAGE plpgsql AS $$ BEGIN RETURN recurses(i + 1); END $$;
CREATE FUNCTION lifts() RETURNS TEXT LANGUAGE sql AS $$
  SELECT set_config('statement_timeout', '0', false) || pg_sleep(5) $$;
CREATE FUNCTION unlocks() RETURNS TEXT LANGUAGE sql AS $$ SELECT set_config('transaction_read_only', 'off', false) $$;
CREATE FUNCTION climbs() RETURNS INTEGER LANGUAGE plpgsql AS $$
  BEGIN PERFORM set_config('role', 'none', false); DELETE FROM t; RETURN 1; END $$;
CREATE FUNCTION takes_lock() RETURNS TEXT LANGUAGE sql AS $$ SELECT pg_advisory_lock(7)::text $$;
CREATE FUNCTION notifies() RETURNS TEXT LANGUAGE sql AS $$ SELECT pg_notify('evil', 'x')::text $$;
CREATE FUNCTION moves() RETURNS TEXT LANGUAGE sql AS $$ SELECT set_config('search_path', 'evil', false) $$;
CREATE FUNCTION dies() RETURNS BOOLEAN LANGUAGE sql AS $$ SELECT pg_terminate_backend(pg_backend_pid()) $$;
CREATE FUNCTION shouts() RETURNS INTEGER LANGUAGE plpgsql AS $$
  BEGIN FOR i IN 1..20000 LOOP RAISE NOTICE '%', repeat('x', 1000); END LOOP; RETURN 1; END $$;
CREATE FUNCTION writes_file(path TEXT) RETURNS INTEGER LANGUAGE plpgsql AS $$
  BEGIN PERFORM set_config('role', 'none', false);
  EXECUTE format('COPY (SELECT 1) TO %L', path); RETURN 1; END $$;
CREATE VIEW a_view AS SELECT writes() AS a;
CREATE OPERATOR !!! (RIGHTARG = TEXT, FUNCTION = runs);
"""

POSTGRES = [
    *ANYWHERE,
    *postgres(),
    row(
        "twenty views whose query is compiled",
        "SELECT count(*) FROM " + ", ".join(f"information_schema.columns a{i}" for i in range(20)),
        "timeout",
    ),
    row("sixty tables crossed", "SELECT count(*) FROM " + ", ".join(f"big a{i}" for i in range(60)), "timeout"),
    row(
        "sixty tables joined",
        "SELECT count(*) FROM "
        + ", ".join(f"big a{i}" for i in range(60))
        + " WHERE "
        + " AND ".join(f"a0.a = a{i}.a" for i in range(1, 60)),
        "rows",
        "timeout",
    ),
    row("delete in a with clause", "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", "writes"),
    row("update in a with clause", "WITH x AS (UPDATE t SET b = 'evil' RETURNING *) TABLE x", "writes"),
    row("insert in a with clause", "WITH x AS (INSERT INTO t VALUES (9, 'x') RETURNING *) SELECT 1", "writes"),
    row("write two with clauses deep", "WITH x AS (WITH y AS (DELETE FROM t RETURNING 1) TABLE y) TABLE x", "error"),
    row("merge", "MERGE INTO t USING big ON t.a = big.a WHEN MATCHED THEN DELETE", "writes"),
    row("truncate", "TRUNCATE t", "writes"),
    row("select into", "SELECT * INTO evil FROM t", "writes"),
    row("select into temporary", "SELECT * INTO TEMP t FROM big", "writes"),
    row("with, select into", "WITH x AS (TABLE t) SELECT * INTO UNLOGGED evil FROM x", "writes"),
    row("lock rows", "SELECT * FROM t FOR UPDATE", "writes"),
    row("share rows", "SELECT * FROM t FOR KEY SHARE SKIP LOCKED", "writes"),
    row("lock table", "LOCK TABLE t IN ACCESS EXCLUSIVE MODE", "refused"),
    row("copy to a file", "COPY t TO '{folder}/evil'", "writes"),
    row("copy to a program", "COPY t TO PROGRAM 'cat > {folder}/evil'", "writes"),
    row("copy from a program", "COPY t FROM PROGRAM 'touch {folder}/evil; echo 9'", "writes"),
    row("copy from a file", "COPY t FROM '/etc/passwd'", "writes"),
    row("copy to the client", "COPY t TO STDOUT", "writes"),
    row("copy from the client", "COPY t FROM STDIN", "writes"),
    row("do block", "DO $$ BEGIN DELETE FROM t; END $$", "refused"),
    row("do block in another language", 'DO LANGUAGE plpython3u \'open("evil", "w")\'', "refused"),
    row("call", "CALL evil()", "refused"),
    row("prepare a delete", "PREPARE evil AS DELETE FROM t", "refused"),
    row("execute", "EXECUTE evil", "refused"),
    row("deallocate", "DEALLOCATE ALL", "refused"),
    row("cursor", "DECLARE evil CURSOR WITH HOLD FOR SELECT * FROM t", "refused"),
    row("create function", "CREATE FUNCTION evil() RETURNS int LANGUAGE sql AS 'SELECT 1'", "writes"),
    row("create extension", "CREATE EXTENSION file_fdw", "writes"),
    row("create event trigger", "CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION writes()", "writes"),
    row("create rule", "CREATE RULE evil AS ON INSERT TO t DO INSTEAD NOTHING", "writes"),
    row("create server", "CREATE SERVER evil FOREIGN DATA WRAPPER dblink_fdw", "writes"),
    row("create role", "CREATE ROLE evil SUPERUSER LOGIN", "writes"),
    row("create database", "CREATE DATABASE evil", "writes"),
    row("create tablespace", "CREATE TABLESPACE evil LOCATION '{folder}'", "writes"),
    row("create subscription", "CREATE SUBSCRIPTION evil CONNECTION '' PUBLICATION p", "writes"),
    row("drop owned", "DROP OWNED BY CURRENT_USER CASCADE", "writes"),
    row("drop database", "DROP DATABASE postgres WITH (FORCE)", "writes"),
    row("alter system", "ALTER SYSTEM SET archive_command = 'touch {folder}/evil'", "writes"),
    row("alter role", "ALTER ROLE CURRENT_USER SET statement_timeout = 0", "writes"),
    row("alter database", "ALTER DATABASE postgres SET default_transaction_read_only = off", "writes"),
    row("grant", "GRANT ALL ON t TO PUBLIC", "writes"),
    row("revoke", "REVOKE ALL ON t FROM PUBLIC", "writes"),
    row("comment on", "COMMENT ON TABLE t IS 'evil'", "writes"),
    row("reindex", "REINDEX TABLE t", "writes"),
    row("cluster", "CLUSTER t", "writes"),
    row("analyze", "ANALYZE t", "writes"),
    row("refresh", "REFRESH MATERIALIZED VIEW evil", "writes"),
    row("reassign", "REASSIGN OWNED BY CURRENT_USER TO postgres", "writes"),
    row("import schema", "IMPORT FOREIGN SCHEMA public FROM SERVER evil INTO public", "writes"),
    row("explain analyze a delete", "EXPLAIN ANALYZE DELETE FROM t", "writes"),
    row("explain by options", "EXPLAIN (ANALYZE, BUFFERS) WITH x AS (DELETE FROM t RETURNING 1) TABLE x", "writes"),
    row("explain create", "EXPLAIN ANALYZE CREATE TABLE evil AS SELECT 1", "writes"),
    row("explain execute", "EXPLAIN ANALYZE EXECUTE evil", "refused", "error"),
    row("set", "SET statement_timeout = 0", "refused"),
    row("set local", "SET LOCAL transaction_read_only = off", "refused"),
    row("set transaction", "SET TRANSACTION READ WRITE", "refused"),
    row("set role", "SET ROLE NONE", "refused"),
    row("reset all", "RESET ALL", "refused"),
    row("discard", "DISCARD ALL", "refused"),
    row("show", "SHOW data_directory", "refused"),
    row("load", "LOAD '/tmp/evil.so'", "refused"),
    row("listen", "LISTEN evil", "refused"),
    row("notify", "NOTIFY evil, 'x'", "refused"),
    row("checkpoint", "CHECKPOINT", "refused"),
    row("prepare transaction", "PREPARE TRANSACTION 'evil'", "refused"),
    row("rollback, prepared", "ROLLBACK PREPARED 'evil'", "refused"),
    row("savepoint", "SAVEPOINT evil", "refused"),
    row("security label", "SECURITY LABEL ON TABLE t IS 'evil'", "writes"),
    row("setting by function", "SELECT set_config('statement_timeout', '0', false)", "refused"),
    row("setting, schema named", "SELECT pg_catalog.set_config('role', 'none', false)", "refused"),
    row("setting, quoted", "SELECT \"set_config\"('statement_timeout', '0', false)", "refused"),
    row("setting, escaped", "SELECT U&\"set_\\0063onfig\"('statement_timeout', '0', false)", "refused"),
    row("setting, escaped otherwise", "SELECT U&\"set!005fconfig\" UESCAPE '!'('role', 'none', false)", "refused"),
    row("setting behind a comment", "SELECT set_config/* /* */ */('statement_timeout', '0', false)", "refused"),
    row(
        "settings as a table", "WITH x AS (UPDATE pg_settings SET setting = '0' RETURNING 1) TABLE x", "writes", "error"
    ),
    row("secret setting", "SELECT current_setting('primary_conninfo')", "error", "rows"),
    row("password hashes", "SELECT rolname, rolpassword FROM pg_authid", "refused", "error"),
    row("password hashes by view", "SELECT * FROM pg_catalog.pg_shadow", "refused", "error"),
    row("passwords of other servers", "SELECT umoptions FROM pg_user_mapping", "refused", "error"),
    row("password hashes in statistics", "SELECT histogram_bounds::text FROM pg_stats", "refused"),
    row("password hashes in the table of statistics", "SELECT stavalues1 FROM pg_catalog.pg_statistic", "refused"),
    row("password hashes in a toast table", 'TABLE pg_toast."pg_toast_2619"', "refused"),
    row("passwords of subscriptions", "SELECT subconninfo FROM pg_subscription", "refused"),
    row(
        "passwords of other servers by view",
        "SELECT option_value FROM information_schema.user_mapping_options",
        "refused",
    ),
    row("a switch that stays for the session", "SELECT isn_weak(true)", "refused"),
    row("the same as an attribute", "SELECT (true).isn_weak", "refused"),
    row("next value", "SELECT nextval('numbers')", "writes", "error"),
    row("set value", "SELECT setval('numbers', 99)", "writes", "error"),
    row("sleep", "SELECT pg_sleep(30)", "refused"),
    row("sleep for", "SELECT pg_sleep_for('1 hour')", "refused"),
    row("sleep per row", "SELECT a, pg_sleep(0.01) FROM big", "refused"),
    row("read a file", "SELECT pg_read_file('/etc/passwd')", "refused"),
    row("read a binary file", "SELECT pg_read_binary_file('/etc/passwd')", "refused"),
    row("list a folder", "SELECT * FROM pg_ls_dir('/')", "refused"),
    row("stat a file", "SELECT pg_stat_file('/etc/passwd')", "refused"),
    row("access rules", "SELECT * FROM pg_hba_file_rules()", "refused"),
    row("import a large object", "SELECT lo_import('/etc/passwd')", "refused"),
    row("export a large object", "SELECT lo_export(1, '{folder}/evil')", "refused"),
    row("make a large object", "SELECT lo_from_bytea(0, 'evil')", "refused"),
    row("put into a large object", "SELECT lo_put(1, 0, 'evil')", "refused"),
    row("unlink a large object", "SELECT lo_unlink(1)", "refused"),
    row("write a large object", "SELECT lowrite(lo_open(1, 131072), 'evil')", "refused"),
    row("dblink", "SELECT * FROM dblink('dbname=postgres', 'SELECT 1') AS x(a int)", "refused"),
    row("dblink that writes", "SELECT dblink_exec('dbname=' || current_database(), 'DELETE FROM t')", "refused"),
    row("dblink that stays", "SELECT dblink_connect('evil', 'dbname=postgres')", "refused"),
    row("crosstab", "SELECT * FROM crosstab('SELECT writes(), 1, 1') AS x(a int, b int)", "refused"),
    row(
        "crosstab that climbs",
        "SELECT * FROM crosstab('SELECT set_config(''role'', ''none'', false), '''', ''''') AS x(a text, b text)",
        "refused",
    ),
    row(
        "crosstab that writes a file",
        "SELECT * FROM crosstab2('SELECT set_config(''role'', ''none'', false), "
        "lo_export(1, ''{folder}/evil'')::text, ''x''')",
        "refused",
    ),
    row(
        "crosstab that climbs, then writes a file",
        "SELECT * FROM crosstab('SELECT set_config(''role'', ''none'', false), ''x'', ''x'' ', "
        "'SELECT lo_export(lo_from_bytea(0, ''evil''), ''{folder}/evil'')') AS x(a text, b text)",
        "refused",
    ),
    row(
        "connectby",
        "SELECT * FROM connectby('(SELECT 1 AS a, set_config(''role'', ''none'', false) AS b) x', "
        "'a', 'b', '1', 0) AS y(a int, b text, c int)",
        "refused",
    ),
    row("query in an xml", "SELECT query_to_xml('DELETE FROM t', true, true, '')", "refused"),
    row("whole database in an xml", "SELECT length(database_to_xml(true, true, '')::text)", "refused"),
    row(
        "query in a text search",
        "SELECT * FROM ts_stat('SELECT set_config(''role'', ''none'', false)::tsvector')",
        "refused",
    ),
    row("terminate others", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity", "refused"),
    row("cancel others", "SELECT pg_cancel_backend(pid) FROM pg_stat_activity", "refused"),
    row("reload", "SELECT pg_reload_conf()", "refused"),
    row("switch the log", "SELECT pg_switch_wal()", "refused"),
    row("rotate the log", "SELECT pg_rotate_logfile()", "refused"),
    row("promote", "SELECT pg_promote()", "refused"),
    row("backup", "SELECT pg_backup_start('evil')", "refused"),
    row("replication slot", "SELECT pg_create_physical_replication_slot('evil', true)", "refused"),
    row("restore point", "SELECT pg_create_restore_point('evil')", "refused"),
    row("logical message", "SELECT pg_logical_emit_message(false, 'evil', 'x')", "refused"),
    row("reset statistics", "SELECT pg_stat_reset()", "refused"),
    row("notify by function", "SELECT pg_notify('evil', 'x')", "refused"),
    row("export a snapshot", "SELECT pg_export_snapshot()", "refused"),
    row("advisory lock", "SELECT pg_advisory_lock(7)", "refused"),
    row("advisory lock, tried", "SELECT pg_try_advisory_xact_lock_shared(7)", "refused"),
    row("log of the memory", "SELECT pg_log_backend_memory_contexts(pg_backend_pid())", "refused"),
    row("collations", "SELECT pg_import_system_collations('public')", "refused"),
    row("function that writes", "SELECT writes()", "writes"),
    row("function that writes as its owner", "SELECT writes_as_owner()", "writes"),
    row("function that writes in sql", "SELECT * FROM writes_in_sql()", "writes"),
    row("function that runs a delete", "SELECT runs('DELETE FROM t')", "writes"),
    row("function that runs a copy", "SELECT runs('COPY t TO ''{folder}/evil''')", "error"),
    row("function that runs a program", "SELECT runs('COPY t TO PROGRAM ''cat > {folder}/evil''')", "error"),
    row("function that sets", "SELECT runs('SET statement_timeout = 0'), runs('SELECT pg_sleep(5)')", "timeout"),
    row("function that begins to write", "SELECT runs('SET TRANSACTION READ WRITE')", "error"),
    row("function that locks", "SELECT runs('LOCK TABLE t IN ACCESS EXCLUSIVE MODE')", "writes", "error"),
    row("function that listens", "SELECT runs('LISTEN evil')", "rows", "error"),
    row("function that loads", "SELECT runs('LOAD ''/tmp/evil.so''')", "error"),
    row("function that makes a table", "SELECT runs('CREATE TEMP TABLE t(a int)')", "writes", "error"),
    row("function in an operator", "SELECT !!! 'DELETE FROM t'", "writes"),
    row("function in a where", "SELECT * FROM t WHERE writes() = 1", "writes"),
    row("function in a view", "SELECT * FROM a_view", "writes"),
    row("function that commits", "SELECT commits()", "error"),
    row("function that catches", "SELECT catches()", "rows"),
    row("function that swallows its end", "SELECT swallows()", "timeout"),
    row("function that spins", "SELECT spins()", "timeout"),
    row("function that calls itself", "SELECT recurses(0)", "error"),
    row("function that lifts the limit", "SELECT lifts()", "timeout", "error"),
    row("function that lifts read-only", "SELECT unlocks()", "error"),
    row("function that climbs", "SELECT climbs()", "writes"),
    row("function that keeps a lock", "SELECT takes_lock()", "rows"),
    row("function that notifies", "SELECT notifies()", "rows"),
    row("function that moves the path", "SELECT moves()", "rows"),
    row("function that ends its session", "SELECT dies()", "unreadable_database", "error"),
    row("function that shouts", "SELECT shouts()", "rows", "timeout"),
    row("dollar quotes that hide", "SELECT $x$ ; $x$; DELETE FROM t", "several_statements"),
    row("dollar quotes inside a name", "SELECT 1 AS a$x$; DELETE FROM t; --$x$", "several_statements"),
    row("escape text that hides", "SELECT E'\\''; DELETE FROM t; --'", "several_statements"),
    row("backslash that hides nothing", "SELECT '\\'; DELETE FROM t; --'", "several_statements"),
    row("nested comment that hides", "SELECT 1 /* /* */ ; */; DELETE FROM t", "several_statements"),
    row("text split by a line", "SELECT 'a'\n'b;'; DELETE FROM t", "several_statements"),
    row("numbered parameter", "SELECT $1", "error"),
    row("broken utf-8 in bytes", "SELECT convert_from('\\xff', 'UTF8')", "error"),
    row("nul by function", "SELECT chr(0)", "error"),
    row("nul by escape", "SELECT E'\\000'", "error"),
    row("half a pair by escape", "SELECT E'\\ud800'", "error"),
    row("10^12 numbers", "SELECT * FROM generate_series(1, 1000000000000)", "truncated", "timeout", "out_of_memory"),
    row("10^12 numbers, select list", "SELECT generate_series(1, 1000000000000)", "truncated", "timeout"),
    row("10^12 numbers, counted", "SELECT count(*) FROM generate_series(1, 1000000000000)", "timeout", "out_of_memory"),
    row("cross joins", "SELECT count(*) FROM big a, big b, big c, big d", "timeout"),
    row("cross joins, sorted", "SELECT * FROM big a, big b, big c ORDER BY random()", "timeout", "out_of_memory"),
    row("1 GB of text", "SELECT repeat('x', 1000000000)", "timeout", "out_of_memory", "truncated", "error"),
    row("2 GB of text", "SELECT repeat('x', 2147483647)", "error"),
    row("many large texts", f"{ENDLESS} SELECT repeat('x', 1000000) FROM n", "truncated", "timeout"),
    row(
        "text bomb by groups",
        f"{ENDLESS} SELECT string_agg(repeat('x', 100000), '') FROM n",
        "timeout",
        "error",
        "out_of_memory",
    ),
    row(
        "array bomb",
        "SELECT array_agg(repeat('x', 10000)) FROM big a, big b",
        "timeout",
        "error",
        "out_of_memory",
        "truncated",
    ),
    row("array of 2^27", "SELECT array_fill(1, ARRAY[134217727])", "timeout", "error", "out_of_memory", "truncated"),
    row("pad bomb", "SELECT lpad('', 1000000000, 'xy')", "timeout", "truncated", "error", "out_of_memory"),
    row(
        "texts that double",
        "WITH RECURSIVE s(x) AS (SELECT 'x' UNION ALL SELECT x || x FROM s) SELECT length(x) FROM s",
        "timeout",
        "error",
        "out_of_memory",
    ),
    row("json without end", "SELECT repeat('[', 1000000)::json", "error"),
    row("nested json", "SELECT (repeat('[', 5000) || repeat(']', 5000))::jsonb", "error", "rows", "crashed"),
    row(
        "xml bomb",
        'SELECT xmlparse(document \'<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx"><!ENTITY y "&x;&x;&x;&x;&x;&x;&x;&x;">'
        '<!ENTITY z "&y;&y;&y;&y;&y;&y;&y;&y;">]><a>&z;</a>\')',
        "rows",
        "error",
    ),
    row(
        "xml that reads a file",
        "SELECT xmlparse(document '<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>')",
        "rows",
        "error",
    ),
    row(
        "regular expression that explodes", "SELECT repeat('a', 5000) ~ '^(a|aa)+(\\1)+$b'", "timeout", "rows", "error"
    ),
    row(
        "regular expression that counts",
        "SELECT 'a' ~ '((((a{1,100}){1,100}){1,100}){1,100})'",
        "error",
        "timeout",
        "rows",
    ),
    row("numbers that explode", "SELECT 9.9 ^ 99999 * factorial(30000)", "timeout", "rows", "error"),
    row("factorial", "SELECT factorial(1000000)", "timeout", "error"),
    row("nested arrays", "SELECT " + "ARRAY[" * 2000 + "1" + "]" * 2000, "error", "timeout"),
    row(
        "temporary files",
        "SELECT count(*) FROM (SELECT DISTINCT i, repeat('x', 500) FROM generate_series(1, 100000000) i) x",
        "timeout",
        "out_of_memory",
    ),
    row(
        "window over a cross join",
        "SELECT sum(a.a) OVER (ORDER BY b.a, c.a) FROM big a, big b, big c",
        "timeout",
        "out_of_memory",
    ),
    row(
        "1600 columns of text",
        "SELECT " + ", ".join(["repeat('x', 100000)"] * 1600),
        "truncated",
        "error",
        "out_of_memory",
        "timeout",
    ),
    row("1700 columns", "SELECT " + ", ".join(["1"] * 1700), "error"),
]

POSTGRES = once(POSTGRES)

GAPS = [
    Gap(
        "function that writes a file",
        "SELECT writes_file('{folder}/evil')",
        "a function that is in the database already may take back the superuser's role and COPY to a file: "
        "a read-only transaction lets that pass, and the text of the query does not show it",
    ),
]
