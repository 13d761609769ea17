"""`assay check`, as a user runs it: one pair, judged as a run judges it, with all that is known of it."""

from __future__ import annotations

import html
import io
import json
from pathlib import Path
from typing import Any

import pytest
from processes import plain, sqlite_file

import assay
from assay.cli.options.query_texts import read_queries
from many_cases import each

GOLD = "SELECT name FROM t WHERE age >= 21"
DB = ("--db", "sqlite:///t.sqlite")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "INSERT INTO t VALUES (1, 'Ann', 20), (2, 'Bob', 21), (3, 'C\x1b[2J', 22)"
    sqlite_file(tmp_path / "t.sqlite", f"CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INT); {rows}")
    return tmp_path


def _check(folder: Path, *arguments: str) -> Any:
    return plain("check", *arguments, cwd=folder)


def test_a_wrong_query_is_shown_with_rows_cause_and_repair(folder: Path) -> None:
    """Status 1; the row that differs is marked, and nothing in a cell steers the terminal."""
    shown = _check(folder, "SELECT name FROM t WHERE age > 21", GOLD, *DB)
    assert shown.returncode == 1, shown.stderr
    first, *lines = shown.stdout.splitlines()
    assert first.startswith("INCORRECT: ")
    assert any(line.strip() == "- Bob" for line in lines), shown.stdout
    assert any(line.startswith("cause: ") for line in lines)
    assert "repair, executed and correct:" in lines
    assert "\x1b" not in shown.stdout
    assert shown.stderr == ""


@each(
    ("predicted", "golds", "flags", "outcome"),
    [
        ("SELECT name FROM t WHERE age > 20", [GOLD], {}, "correct"),
        ("SELECT name, age FROM t WHERE age > 20", [GOLD], {"--extra-columns": "allowed"}, "correct"),
        ("SELECT 1.0000001", ["SELECT 1.0"], {"--relative-tolerance": "1e-6"}, "correct"),
        ("SELECT 1, 2", ["SELECT 2, 1"], {"--columns": "strict"}, "incorrect"),
        ("SELECT id FROM t ORDER BY id DESC", ["SELECT id FROM t ORDER BY id"], {"--unordered": ""}, "correct"),
        ("SELECT 2", ["SELECT 1", "SELECT 2"], {}, "correct"),
        ("SELECT x FROM t", [GOLD], {}, "incorrect"),
        ("SELECT name FROM t", ["SELECT x FROM t"], {}, "unscored"),
    ],
)
def test_outcome_and_status(
    folder: Path, predicted: str, golds: list[str], flags: dict[str, str], outcome: str
) -> None:
    """0 correct, 1 incorrect, 2 not to be judged; without flags the verdict is that of the library's call."""
    given = [part for pair in flags.items() for part in pair if part]
    shown = _check(folder, predicted, *golds, *DB, *given, "--json")
    document = json.loads(shown.stdout)
    assert (document["format"], document["verdict"]["outcome"]) == ("assay-pair", outcome)
    assert shown.returncode == {"correct": 0, "incorrect": 1, "unscored": 2}[outcome]
    if not flags:
        assert (
            assay.check(predicted, golds, database=f"sqlite:///{folder / 't.sqlite'}").reason
            == (document["verdict"]["reason"])
        )


def test_witnesses_say_how_sure_a_match_is_and_what_parts_a_wrong_pair(folder: Path) -> None:
    """A match by chance is refuted and stays correct; of a wrong answer there is a small database, and the cause."""
    chance = _check(folder, "SELECT name FROM t WHERE id >= 2", GOLD, *DB, "--witness")
    assert chance.returncode == 0, chance.stderr
    assert "how sure: " in chance.stdout
    assert "SQL that makes this database:" in chance.stdout
    wrong = json.loads(_check(folder, "SELECT name FROM t", GOLD, *DB, "--witness", "--json").stdout)
    assert (wrong["verdict"]["outcome"], wrong["verdict"]["strength"]) == ("incorrect", "settled")
    assert wrong["refutation"]["witness"]["statements"]
    assert wrong["diagnosis"]["causes"]
    same = json.loads(_check(folder, f"{GOLD};", GOLD, *DB, "--witness", "--json").stdout)
    assert same["verdict"]["strength"] == "same_text"


def test_queries_from_files_and_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """@FILE and -, with a byte order mark or without."""
    (folder / "gold.sql").write_text(f"\ufeff{GOLD};\n", encoding="utf-8")
    assert _check(folder, GOLD, "@gold.sql", *DB).returncode == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"\ufeff{GOLD}".encode())))
    assert read_queries(SQL_PREDICTED="-", SQL_GOLD=f"@{folder / 'gold.sql'}") == [GOLD, f"{GOLD};\n"]


def test_a_query_may_open_with_a_comment(folder: Path) -> None:
    """Of which the parser does not take the dashes for an option."""
    golds = [f"{comment}{GOLD}" for comment in ("-- the adults\n", "--\n", "-- a = b\n--db\n")]
    shown = _check(folder, f"--adults\n{GOLD}", *golds, *DB)
    assert (shown.returncode, shown.stderr) == (0, "")


def test_what_never_ends_is_no_query(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a device or a file too large for a query no more is read than tells so."""
    with (folder / "large.sql").open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(assay.UsageError, match=r"large\.sql: the file has more than 16 MiB"):
        read_queries(SQL=f"@{folder / 'large.sql'}")
    if Path("/dev/zero").exists():
        with pytest.raises(assay.UsageError, match="more than 16 MiB"):
            read_queries(SQL="@/dev/zero")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" " * (17 * 2**20))))
    with pytest.raises(assay.UsageError, match="standard input has more than 16 MiB"):
        read_queries(SQL="-")


@each(
    ("predicted", "gold"),
    [
        ("SELECT 1 UNION ALL SELECT 1", "SELECT 1"),
        ("SELECT name, age FROM t", "SELECT name FROM t"),
        ("SELECT id FROM t ORDER BY id DESC", "SELECT id FROM t ORDER BY id"),
        ("SELECT '7'", "SELECT 7"),
        ("SELECT 'ann'", "SELECT 'Ann'"),
        ("SELECT 99", "SELECT 7"),
        ("SELECT 7", "SELECT 7"),
        ("SELECT x FROM t", "SELECT name FROM t"),
        ("SELECT name FROM t", "SELECT x FROM t"),
    ],
)
def test_the_librarys_call_has_the_near_misses_that_are_printed(folder: Path, predicted: str, gold: str) -> None:
    database = f"sqlite:///{(folder / 't.sqlite').as_posix()}"
    verdict = assay.check(predicted, gold, database=database)
    printed = [line for line in _check(folder, predicted, gold, *DB).stdout.splitlines() if "near miss: " in line]
    told = [f"near miss: {miss.kind.replace('_', ' ')}: {miss.detail}" for miss in verdict.near_misses]
    assert [line.strip() for line in printed] == told
    assert all(line in html.unescape(verdict._repr_html_()) for line in told)
