"""A gate of lint is not passed if the database of a gold query cannot be reached, or rejects the login."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay
from assay.cli.app import run_command_line
from assay.testing import DenodoEmulator, example
from running import sqlite_url


@pytest.fixture(scope="module")
def catalog() -> Iterator[DenodoEmulator]:
    with DenodoEmulator(tables=example.tables_folder(), user="demo", password="right-password") as server:
        yield server


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    golds = ["SELECT name FROM branch", "SELECT city FROM branch"]
    path.write_text(
        "".join(
            json.dumps({"id": f"q{i}", "question": f"Which {i}?", "gold_sql": gold}) + "\n"
            for i, gold in enumerate(golds)
        )
    )
    return path


def url_of(kind: str, catalog: DenodoEmulator, folder: Path) -> str:
    address = catalog.catalog_url.removeprefix("http://")
    return {
        "wrong password": f"denodo+http://demo:wrong@{address}",
        "no credentials": f"denodo+http://{address}",
        "refused": "denodo+http://demo:right-password@127.0.0.1:1/denodo-data-catalog",
        "file": f"sqlite:///{folder}/gone.sqlite",
        "duckdb": f"duckdb:///{folder}/gone.duckdb",
        "postgres": "postgresql://demo:secret-word@127.0.0.1:1/shop",
        "mysql": "mysql://demo:secret-word@127.0.0.1:1/shop",
        "clickhouse": "clickhouse://demo:secret-word@127.0.0.1:1/shop",
    }[kind]


KINDS = ("wrong password", "no credentials", "refused", "file", "duckdb", "postgres", "mysql", "clickhouse")


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_that_cannot_be_read_decides_no_gate(
    kind: str, catalog: DenodoEmulator, cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["lint", str(cases), "--db", url_of(kind, catalog, tmp_path), "-q", "--workers", "1"]
    status = run_command_line([*command, "--fail-on", "error"])
    said = capsys.readouterr()
    assert status == 2
    assert "--fail-on error is not decided" in said.err
    assert "secret-word" not in said.err
    assert "right-password" not in said.err
    assert run_command_line(command) == 0
    headline = " ".join(capsys.readouterr().out.split("Before you trust it")[0].split())
    assert "the database of 2 cases cannot be read" in headline


def test_the_reason_of_a_rejected_login_is_said(catalog: DenodoEmulator, cases: Path, tmp_path: Path) -> None:
    for kind, why in {
        "wrong password": "rejects user 'demo'",
        "no credentials": "requires a user and password",
    }.items():
        report = assay.lint(cases, databases=url_of(kind, catalog, tmp_path), workers=1)
        (gap,) = report.gaps
        assert why in gap.why
        assert gap.cases == ("q0", "q1")
        assert "gold-fails" in gap.rules


def test_one_missing_database_of_several_decides_no_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = "CREATE TABLE branch (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO branch VALUES (1, 'Pier');"
    sqlite_url(tmp_path / "here.sqlite", table)
    path = tmp_path / "cases.jsonl"
    rows = [
        {"id": name, "question": "Which?", "db_id": name, "gold_sql": "SELECT name FROM branch"}
        for name in ("here", "gone")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["lint", str(path), "--db", f"sqlite:///{tmp_path}/{{db_id}}.sqlite", "-q", "--fail-on", "error"]
    assert run_command_line(command) == 2
    assert "the database of case gone cannot be read" in capsys.readouterr().err
