"""Families of hostile statements: one deed in every spelling that a server may read otherwise than a reader does."""

from __future__ import annotations

from itertools import product

from statements import Hostile, row

_REFUSED = ("refused", "writes", "error", "several_statements")

_BEFORE_INTO = (
    *("1 ", "1e1", "1.", "1.1", "1.e1", "1e+1", ".5", "1.5E-1", "\\N", "x'41'", "0x41 ", "b'1'", "'a'", "N'a'"),
    *("_utf8mb4'a'", "_gbk'a'", "DATE'2020-01-01'", "(1)", "@a", "@`a`", "@@version", "NULL ", "-1e0", "*FROM t "),
)
_INTO = (
    *("INTO OUTFILE", "into dumpfile", "InTo/**/OuTfIlE", "INTO\tDUMPFILE", "INTO -- x\n OUTFILE", "INTO#\nOUTFILE"),
    *("INTO\u00a0OUTFILE", "/*!INTO*/ OUTFILE", "INTO /*!50000 OUTFILE*/", "/*M!INTO OUTFILE*/"),
)
_HIDING = (
    *("--\u00a0", "--\u2003", "--\u3000", "--\ufeff", "--\x01", "--\x1c", "--x", "/* /* */", "-- \0", "# \0", "\u00a0"),
    *("/*!99999 */", "/*m! */", "'\\'", "_gbk'\u00e5\\'", "{", "[", "\x1a", "`a`.", "5--"),
)
_MYSQL_CALLS = (
    *("LOAD_FILE('{folder}/output.log')", "SLEEP(9)", "BENCHMARK(100000000, SHA2('a', 512))", "GET_LOCK('held', 9)"),
    *("SYS_EXEC('id')", "NEXTVAL(numbers)", "MASTER_POS_WAIT('x', 4, 9)"),
)
_MYSQL_CALLED = (
    *("SELECT {name}{rest}", "SELECT {lower} {rest}", "SELECT {name}/* x */{rest}", "SELECT `{lower}`{rest}"),
    *("SELECT {name}\n-- x\n{rest}", "SELECT {name}#\n{rest}", "SELECT {{fn {name}{rest}}}", "SELECT 1e1-{name}{rest}"),
    *("SELECT 1.e1{name}{rest}", "SELECT * FROM t WHERE a=1OR {name}{rest}", "SELECT /*!{name}*/{rest}"),
    *("SELECT (SELECT {name}{rest})", "SELECT * FROM t ORDER BY {name}{rest}", "SELECT \\N,{name}{rest}"),
    *("EXPLAIN SELECT {name}{rest}", "WITH x AS (SELECT {name}{rest} AS a) SELECT * FROM x"),
)


def _spelled(templates: tuple[str, ...], calls: tuple[str, ...]) -> list[str]:
    found = []
    for template, call in product(templates, calls):
        name, _, rest = call.partition("(")
        text = template.replace("{name}", name).replace("{lower}", name.lower()).replace("{rest}", f"({rest}")
        found.append(text.replace("{{", "{").replace("}}", "}"))
    return found


def mariadb() -> list[Hostile]:
    texts = [f"SELECT {before}{into} '{{folder}}/evil'" for before, into in product(_BEFORE_INTO, _INTO)]
    texts += [f"SELECT 1 {hiding}\nINTO OUTFILE '{{folder}}/evil'" for hiding in _HIDING]
    texts += [f"SELECT 1 {hiding}INTO DUMPFILE '{{folder}}/evil' -- '" for hiding in _HIDING]
    texts += _spelled(_MYSQL_CALLED, _MYSQL_CALLS)
    texts += ["SELECT * FROM mysql.global_priv", "SELECT * FROM `mysql` . `global_priv`", "TABLE mysql.user"]
    return [row(f"spelled {number}", text, *_REFUSED) for number, text in enumerate(dict.fromkeys(texts))]


_POSTGRES_ALONE = (
    *("(pid).{name} FROM pg_stat_activity", "(1::bigint).{name}", "(0.5::float8).{name}", "('x'::text).{name}"),
    *('(1::int)."{name}"', "t.{name} FROM (SELECT 9::float8) t(x)", 't."{name}" FROM (SELECT 9::bigint) t'),
    *("(1::bigint) . /* x */ {upper}", "(x).{name} FROM (VALUES (1::bigint)) v(x)", '(1::bigint).U&"{escaped}"'),
    *("count(*) FROM t WHERE (1::bigint).{name} IS NULL", "1 ORDER BY (1::bigint).{name}", "(1::bigint)\n.\n{name}"),
    *(
        "pg_catalog.{name}(1)",
        '"pg_catalog"."{name}" (1)',
        "{name}/* /* */ */(1)",
        "1+{upper}(1)",
        "1a$x$,{name}(1)--$x$",
    ),
)
_POSTGRES_NAMES = (
    *("pg_terminate_backend", "pg_cancel_backend", "pg_advisory_lock", "pg_advisory_xact_lock_shared", "pg_sleep"),
    *("pg_try_advisory_lock", "setseed", "pg_read_file", "pg_ls_dir", "lo_unlink", "lo_creat", "lo_import"),
    *("pg_log_backend_memory_contexts", "pg_stat_reset_single_table_counters", "pg_sleep_for", "dblink_exec"),
    *("pg_create_restore_point", "pg_drop_replication_slot", "pg_stat_reset_shared", "pg_promote"),
)
_POSTGRES_TEXTS = (
    *("table_to_xml('pg_authid', true, true, '')", "schema_to_xml('pg_catalog', true, true, '')"),
    *("database_to_xmlschema(true, true, '')", "table_to_xml_and_xmlschema('pg_authid', true, true, '')"),
    *("query_to_xml_and_xmlschema('TABLE t', true, true, '')", "cursor_to_xml('x', 1, true, true, '')"),
    *("aws_s3.query_export_to_s3('SELECT 1', 'x', 'y')", "aws_lambda.invoke('x', '{}')", "net.http_get('http://x')"),
    *("net.http_post('http://x')", "http_get('http://x')", "pg_buffercache_evict(1)", "lambda_async('x', '{}')"),
    *("azure_storage.blob_put('a', 'b', 'c')", "pg_rotate_logfile()", "pg_stat_reset()", "setseed(0.25)"),
    *("pg_read_binary_file('/etc/passwd')", "pg_replication_origin_create('evil')", "pg_current_logfile()"),
)


def postgres() -> list[Hostile]:
    texts = []
    for template, name in product(_POSTGRES_ALONE, _POSTGRES_NAMES):
        escaped = name.replace("_", "\\005f")
        texts.append(
            "SELECT " + template.replace("{name}", name).replace("{upper}", name.upper()).replace("{escaped}", escaped)
        )
    for call in _POSTGRES_TEXTS:
        texts += [f"SELECT {call}", f"SELECT * FROM {call} x", f"SELECT * FROM t, LATERAL {call.upper()} x"]
        texts.append(f"WITH x AS MATERIALIZED (SELECT {call}) SELECT count(*) FROM x")
    return [row(f"spelled {number}", text, "refused") for number, text in enumerate(dict.fromkeys(texts))]


_DUCKDB_CALLS = (
    *("enable_logging('QueryLog', storage = 'file', storage_path = '{folder}/evil')", "enable_profiling()"),
    *("disable_logging()", "truncate_duckdb_logs()", "read_text('/etc/passwd')", "glob('/etc/*')", "checkpoint()"),
    *("query('SELECT 1')", "query_table('t')", "sniff_csv('/etc/passwd')", "duckdb_secrets()", "force_checkpoint()"),
    *("register_external_resource('evil')", "parquet_scan('/etc/passwd')", "json_execute_serialized_sql('{}')"),
)
_DUCKDB_CALLED = (
    *("SELECT * FROM {name}{rest}", "FROM {name} {rest}", 'FROM "{name}"{rest}', "FROM {name}/* /* x */ */{rest}"),
    *("FROM main.{name}{rest}", "FROM {name} -- x\n{rest}", "FROM\u00a0{name}{rest}", "FROM {name}\u2003{rest}"),
    *(
        "SELECT * FROM t, LATERAL {name}{rest}",
        "SELECT (SELECT count(*) FROM {name}{rest})",
        "EXPLAIN FROM {name}{rest}",
    ),
    *("SELECT 1a$x$ FROM {name}{rest}--$x$", "SELECT E'\\'' FROM {name}{rest}", "DESCRIBE FROM {name}{rest}"),
    *(
        "WITH x AS (FROM {name}{rest}) FROM x",
        "FROM t UNION ALL BY NAME FROM {name}{rest}",
        "SUMMARIZE FROM {name}{rest}",
    ),
)
_DUCKDB_SCALARS = ("setseed(0.5)", "sleep_ms(60000)", "write_log('evil')", "getenv('HOME')")


def duckdb() -> list[Hostile]:
    texts = _spelled(_DUCKDB_CALLED, _DUCKDB_CALLS)
    for call in _DUCKDB_SCALARS:
        texts += [f"SELECT {call}", f"SELECT {call.upper()}", f"SELECT 1 WHERE {call.replace('(', ' (')} IS NULL"]
        texts.append(f"SELECT list_transform([1], x -> {call})")
    return [row(f"spelled {number}", text, "refused", "error") for number, text in enumerate(dict.fromkeys(texts))]


_LARGE = (
    *(
        "printf('%1500000000d', 1)",
        "format('{:>1500000000}', 'x')",
        "repeat('x', 1500000000)",
        "lpad('x', 1500000000, 'y')",
    ),
    *(
        "repeat('x', 900000000) || repeat('y', 900000000)",
        "list_resize([1], 300000000)",
        "upper(repeat('x', 1500000000))",
    ),
    *("bitstring('0', 2000000000)", "md5(repeat('x', 1500000000))", "hex(repeat('x', 700000000))"),
    *("string_split(repeat('x,', 50000000), ',')", "replace(repeat('x', 300000000), 'x', 'yyyy')"),
    *("array_to_string(range(100000000), ',')", "to_json(range(100000000))", "encode(repeat('x', 1500000000))"),
    *("damerau_levenshtein(repeat('a', 40000), repeat('b', 40000))", "reverse(repeat('x', 1500000000))"),
)


def duckdb_memory() -> list[Hostile]:
    kinds = ("out_of_memory", "error", "timeout", "truncated")
    texts = [f"SELECT {call}" for call in _LARGE] + [f"SELECT length({call}::VARCHAR)" for call in _LARGE]
    return [row(f"memory {number}", text, *kinds) for number, text in enumerate(texts)]


def sqlite() -> list[Hostile]:
    calls = ("load_extension('evil')", "readfile('/etc/passwd')", "writefile('{folder}/evil', 'x')", "edit('x')")
    templates = (
        *("SELECT {name}{rest}", "SELECT {lower} {rest}", 'SELECT "{lower}"{rest}', "SELECT [{name}]{rest}"),
        *("SELECT `{name}`{rest}", "SELECT {name}/* x */{rest}", "SELECT {name}-- x\n{rest}", "VALUES({name}{rest})"),
        *("SELECT 1 WHERE {name}{rest}", "SELECT (SELECT {name}{rest})", "EXPLAIN SELECT {name}{rest}"),
    )
    texts = _spelled(templates, calls)
    for pragma in ("query_only = 0", "journal_mode = DELETE", "writable_schema = 1", "hard_heap_limit = 0"):
        texts += [f"PRAGMA {pragma}", f"pRaGmA/**/{pragma}", f"PRAGMA main.{pragma}", f"EXPLAIN PRAGMA {pragma}"]
    return [row(f"spelled {number}", text, "refused", "error", "writes") for number, text in enumerate(texts)]
