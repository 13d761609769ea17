"""A suite on disk: it comes back as it was, and what is no whole suite is said, with the place."""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

from assay import registry
from assay.api.suites import check_fit
from assay.errors import InputError
from assay.model import Case, ComparisonOptions, DatabaseUrl, Limits, Prediction
from assay.model.databases.suite import Suite, SuiteCase, SuiteDatabase, SuiteLayout
from assay.runs.store.suite_folder import FILE, MOST_BYTES, check_place, read_suite, write_suite
from assay.runs.workers.suite_checking import SuiteChecker
from assay.sql.schema.create_table import only_makes
from assay.sql.schema.ddl import read_ddl
from many_cases import each

ROWS = ((1, "a\nb", None), (2**70, "é", b"\x00\xff"), (0.5, "", Decimal("1.10")))
LAYOUT = SuiteLayout(
    database="db",
    schema=read_ddl("CREATE TABLE t (a INT, b TEXT, c BLOB)", "sqlite").schema,
    tables=(('"t"', ("a", "b", "c")),),
)
CASE = SuiteCase(
    case_id="1",
    database="db",
    golds=("SELECT a FROM t",),
    databases=(SuiteDatabase(name="1", rows=(ROWS,), answers=2),),
)
SUITE = Suite(
    name="",
    digest="",
    engine="sqlite",
    layouts={"db": LAYOUT},
    cases={"1": CASE, "2": replace(CASE, case_id="2", databases=(), why="none")},
    made_with="a test",
)


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    """With every type of cell; twice the same bytes, and nothing beside the one file."""
    written = write_suite(tmp_path / "deep" / "suite", SUITE)
    assert read_suite(tmp_path / "deep" / "suite") == written
    first = (tmp_path / "deep" / "suite" / FILE).read_bytes()
    (tmp_path / "deep" / "suite" / f".{FILE}.left").write_bytes(b"killed while it wrote")
    write_suite(tmp_path / "deep" / "suite", SUITE)
    assert (tmp_path / "deep" / "suite" / FILE).read_bytes() == first
    assert os.listdir(tmp_path / "deep" / "suite") == [FILE]


@each(
    ("change", "said"),
    [
        (lambda data: data[:-9], "not whole"),
        (lambda data: b"".join(data.splitlines(keepends=True)[:-1]), "not whole"),
        (lambda data: data.replace(b'"why":"none"', b'"why":"nine"'), "changed after it was built"),
        (lambda data: data.replace(b'"version":1', b'"version":2', 1), "newer Assay"),
        (lambda data: data.replace(b'"assay-suite"', b'"something"', 1), "'something'"),
        (lambda _: b"", "not a suite"),
        (lambda _: b"\xff\x00\n", "not a suite"),
        (lambda _: b"[1]\n", "not a suite"),
    ],
)
def test_what_is_no_whole_suite_is_said(tmp_path: Path, change: Callable[[bytes], bytes], said: str) -> None:
    """The file and what is wrong with it."""
    write_suite(tmp_path, SUITE)
    path = tmp_path / FILE
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError, match=said) as raised:
        read_suite(tmp_path)
    assert FILE in str(raised.value)


def test_every_cut_is_noticed(tmp_path: Path) -> None:
    """Wherever a copy ends too early."""
    write_suite(tmp_path, SUITE)
    path = tmp_path / FILE
    data = path.read_bytes()
    for length in range(0, len(data) - 1, 37):
        path.write_bytes(data[:length])
        with pytest.raises(InputError):
            read_suite(tmp_path)


@each(
    ("ddl", "kind"),
    [
        ("ATTACH 'x' AS y", "table"),
        ("CREATE TABLE t (a INT, b TEXT, c BLOB); ATTACH 'x' AS y", "table"),
        ("CREATE TABLE t AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r", "table"),
        ("CREATE TABLE t (a) AS SELECT 1", "table"),
        ("CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END", "table"),
        ("CREATE VIEW t AS SELECT 1", "table"),
        ("CREATE TABLE t (a INT)", "view"),
        ("PRAGMA writable_schema = 1 /* CREATE TABLE t (a) */", "table"),
        ("CREATE TABLE t (a INT", "table"),
    ],
)
def test_statements_make_tables_alone(tmp_path: Path, ddl: str, kind: Literal["table", "view"]) -> None:
    """A suite comes from elsewhere, and its statements are executed: none fills a table, or does something else."""
    table = replace(LAYOUT.schema.tables[0], ddl=ddl, kind=kind)
    hostile = replace(LAYOUT, schema=replace(LAYOUT.schema, tables=(table,)))
    write_suite(tmp_path, replace(SUITE, layouts={"db": hostile}))
    with pytest.raises(InputError, match=r"line 2 .* makes no (table|view) alone"):
        read_suite(tmp_path)


def test_what_tables_are_made_of_stays_inside_their_statements(tmp_path: Path) -> None:
    """Types and constraints are put together to statements, too."""
    table = LAYOUT.schema.tables[0]
    typed = replace(table, columns=(replace(table.columns[0], type="INT); ATTACH 'x' AS y; --"), *table.columns[1:]))
    for hostile in (typed, replace(table, checks=("1) AS SELECT (1",)), replace(table, indexes=("DROP TABLE t",))):
        schema = replace(LAYOUT.schema, tables=(hostile,))
        write_suite(tmp_path, replace(SUITE, layouts={"db": replace(LAYOUT, schema=schema)}))
        with pytest.raises(InputError, match=r"line 2 .* (more than that|makes no index)"):
            read_suite(tmp_path)


@each(
    "ddl",
    [
        'CREATE TABLE "from" ("as" INT, "select" DECIMAL(10, 2)) WITHOUT ROWID;',
        'CREATE TEMP TABLE IF NOT EXISTS "a"."values" (x INT CHECK (x IN (SELECT 1 AS y)), y AS (x + 1)) STRICT',
        "CREATE VIRTUAL TABLE f USING fts5(body)",
        "CREATE TABLE t -- ; (\n(a TEXT DEFAULT 'x; AS SELECT')",
    ],
)
def test_statements_of_every_table_are_read(ddl: str) -> None:
    """What a table may be called, and what its columns may say."""
    assert only_makes(ddl, "table", "sqlite")


def test_rows_that_do_not_fit_their_tables_are_said(tmp_path: Path) -> None:
    """By the case's line and the database; and what is there twice."""
    short = replace(CASE, databases=(SuiteDatabase(name="1", rows=(ROWS, ROWS)),))
    wide = replace(CASE, databases=(SuiteDatabase(name="1", rows=(((1, 2),),)),))
    for wrong, said in ((short, "rows of 2 tables, not 1"), (wide, "not of its 3 columns")):
        write_suite(tmp_path, replace(SUITE, cases={"1": wrong}))
        with pytest.raises(InputError, match=f"line 3 .*{said}"):
            read_suite(tmp_path)
    write_suite(tmp_path, replace(SUITE, cases={"1": CASE, "2": CASE}))
    with pytest.raises(InputError, match=r"line 4 .* the case 1 occurs twice"):
        read_suite(tmp_path)


def test_what_has_no_end_or_fills_the_memory_is_not_read(tmp_path: Path) -> None:
    """A device, a pipe, a file of many gigabytes."""
    (tmp_path / FILE).symlink_to("/dev/zero")
    with pytest.raises(InputError, match="a pipe or a device"):
        read_suite(tmp_path)
    (tmp_path / FILE).unlink()
    with (tmp_path / FILE).open("wb") as file:
        file.truncate(MOST_BYTES + (1 << 20))
    with pytest.raises(InputError, match="513 MiB"):
        read_suite(tmp_path)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_database_that_cannot_be_made_is_no_agreement(engine: str) -> None:
    """Where a constraint refuses a row, or the engine a table, nothing is said of the answer."""
    ddl = "CREATE TABLE t (a INT NOT NULL, b TEXT, c BLOB)"
    rows = (((None, "x", None),),)
    layout = replace(LAYOUT, schema=read_ddl(ddl, engine).schema)
    entry = replace(CASE, databases=(SuiteDatabase(name="1", rows=rows),))
    suite = replace(SUITE, engine=engine, layouts={"db": layout}, cases={"1": entry})
    checker = SuiteChecker(suite, dict(registry.engine_references()), Limits())
    case = Case(id="1", question="?", golds=CASE.golds, database="db")
    found = checker.check(case, Prediction(case_id="1", query="SELECT b FROM t"), ComparisonOptions())
    checker.close()
    assert found.problem == "database 1 of the suite cannot be made here: a constraint refuses a row", found


def test_nothing_else_is_overwritten(tmp_path: Path) -> None:
    """Neither a suite unless it is asked for, nor another folder, nor a file."""
    check_place(tmp_path / "new", overwrite=False)
    check_place(tmp_path, overwrite=False)
    write_suite(tmp_path / "suite", SUITE)
    with pytest.raises(InputError, match="--overwrite"):
        check_place(tmp_path / "suite", overwrite=False)
    check_place(tmp_path / "suite", overwrite=True)
    with pytest.raises(InputError, match="contains no suite"):
        check_place(tmp_path, overwrite=True)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        check_place(tmp_path / "file", overwrite=True)
    for name, said in (("nowhere", "not a folder"), ("file", "not a folder"), (".", "no suite")):
        with pytest.raises(InputError, match=said):
            read_suite(tmp_path / name)


def test_a_suite_of_something_else_is_not_used(tmp_path: Path) -> None:
    """Other cases, other golds, another engine: by name; where some fit, the others are named."""
    suite = write_suite(tmp_path, SUITE)
    own = [Case(id=one, question="", database="db", golds=("SELECT a FROM t",)) for one in ("1", "2")]
    url = DatabaseUrl.parse("sqlite:///x.sqlite")
    urls = {url.text: url}
    assert check_fit(suite, own, urls) == ()
    changed = replace(own[1], golds=("SELECT b FROM t",))
    absent = replace(own[0], id="7")
    notes = check_fit(suite, [own[0], changed, absent], urls)
    assert [("case 2" in note, "case 7" in note) for note in notes] == [(True, False), (False, True)]
    with pytest.raises(InputError, match="other gold queries of case 2"):
        check_fit(suite, [changed], urls)
    with pytest.raises(InputError, match="other cases: it has none called '7'"):
        check_fit(suite, [absent], urls)
    with pytest.raises(InputError, match="are for sqlite"):
        check_fit(suite, own, {"d": DatabaseUrl.parse("duckdb:///x.duckdb")})
