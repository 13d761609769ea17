"""`assay doctor`: what it says of packages, limits and databases is so, and holds nothing secret."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from assay import demo
from assay.cli.app import run_command_line
from assay.cli.verbs.doctor.installed import fits, packages
from assay.cli.verbs.doctor.machine import protections
from assay.cli.verbs.doctor.verb import findings_text
from many_cases import each

TOLD = [
    "sqlglot>=30,<31",
    'pyarrow>=16; extra == "arrow"',
    "psycopg[binary]>=3.2 ; extra == 'postgres'",
    "sqlalchemy (>=2.0) ; extra == 'sqlalchemy'",
    'pytz>=2024.1; python_version < "4" and extra == "ray"',
    'assay[arrow,pandas]; extra == "all"',
    "rich",
]


def _findings(*arguments: str | Path, status: int = 0, capsys: pytest.CaptureFixture[str]) -> Any:
    assert run_command_line(["doctor", *map(str, arguments), "--untried", "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_requirements_are_read_in_every_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.requires", lambda _: TOLD)
    found = [(extra, one.name, one.wanted) for extra, one in packages()]
    assert found == [
        (None, "sqlglot", ">=30,<31"),
        ("arrow", "pyarrow", ">=16"),
        ("postgres", "psycopg", ">=3.2"),
        ("sqlalchemy", "sqlalchemy", ">=2.0"),
        ("ray", "pytz", ">=2024.1"),
        (None, "rich", ""),
    ]


@each(
    ("there", "wanted", "right"),
    [
        ("30.30.0", ">=30,<31", True),
        ("31.0", ">=30,<31", False),
        ("29.9", ">=30,<31", False),
        ("1.4", ">=1.4.0", True),
        ("1.10", ">=1.9", True),
        ("2.0.0rc1", ">=2", True),
        ("3.0", "", True),
        ("3.0", "== 3.0", True),
        ("3.0.1", "==3.0", False),
        ("3.0.1", "==3.*", True),
        ("1", ">1", False),
        ("1", "<=1", True),
    ],
)
def test_versions_are_compared_as_numbers(there: str, wanted: str, right: bool) -> None:
    assert fits(there, wanted) is right


def test_what_is_missing_is_said_with_its_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["duckdb>=999", "no-such-package>=1", "click", 'no-such-driver>=2; extra == "postgres"']
    monkeypatch.setattr("importlib.metadata.requires", lambda _: asked)
    assert run_command_line(["doctor", "--untried"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "no-such-package is not installed: run python -m pip install 'no-such-package>=1'" in said
    assert "run python -m pip install 'duckdb>=999'" in said
    assert "postgres missing: PostgreSQL; run python -m pip install 'no-such-driver>=2'" in said
    assert "postgresql, postgres not installed: run python -m pip install 'no-such-driver>=2'" in said


def test_every_extra_for_users_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import metadata

    declared = set(metadata("assay").get_all("Provides-Extra") or ()) - {"all", "dev", "docs", "test"}
    found = _findings(capsys=capsys)
    assert {one["name"] for one in found["extras"]} == declared
    assert all(one["fits"] for one in found["packages"])
    assert {"sqlite", "duckdb"} <= {one["schemes"][0] for one in found["engines"] if one["version"]}


def test_each_limit_is_tried_and_holds() -> None:
    found = {one.name: one for one in protections()}
    assert set(found) == {"time", "memory", "writing", "files"}
    for name, one in found.items():
        assert one.holds or (name == "memory" and sys.platform != "linux"), one.tried


def test_a_file_is_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = demo.build_database(tmp_path)
    before = path.read_bytes()
    [one] = _findings(f"sqlite:///{path}", capsys=capsys)["reached"]
    assert one["reached"]
    assert one["server"].startswith("SQLite 3.")
    assert len(one["tables"]) == 9
    assert path.read_bytes() == before


def test_a_duckdb_file_is_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.t (a INT); CREATE VIEW v AS SELECT 1 AS one")
    [one] = _findings(f"duckdb:///{tmp_path}/a.duckdb", capsys=capsys)["reached"]
    assert one["server"] == f"DuckDB {duckdb.__version__}"
    assert sorted(one["tables"]) == ["s.t", "v"]


@each(
    ("url", "said"),
    [
        ("sqlite:///nowhere.sqlite", "there is no SQLite database"),
        ("sqlite:///{db_id}.sqlite", "write the name of one database"),
        ("http://127.0.0.1:1/ask", "a live system is named with --system"),
        ("postgresql://me:hush-hush@127.0.0.1:1/x", "127.0.0.1:1"),
        ("mysql://me:hush-hush@127.0.0.1:1/x", "127.0.0.1:1"),
        ("me:hush-hush@host", "has no scheme"),
        ("hush-hush@host", "has no scheme"),
        ("nonsense://me:hush-hush@host/x", "nonsense"),
    ],
)
def test_what_cannot_be_reached_is_a_finding_without_secrets(
    url: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    database = demo.build_database(tmp_path)
    assert run_command_line(["doctor", url, f"sqlite:///{database}", "--untried", "--json"]) == 2
    printed = capsys.readouterr()
    assert "hush" not in printed.out + printed.err
    unreached, reached = json.loads(printed.out)["reached"]
    assert said in unreached["trouble"]
    assert reached["reached"]  # one bad URL hides no other
    assert run_command_line(["doctor", url, "--untried"]) == 2
    printed = capsys.readouterr()
    assert "not reached" in printed.out
    assert "hush" not in printed.out + printed.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_pipe_is_no_database_and_is_not_waited_for(
    scheme: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    [one] = _findings(f"{scheme}:///{tmp_path}/pipe", status=2, capsys=capsys)["reached"]
    assert "is a pipe or a device" in one["trouble"]


def test_a_server_s_version_rights_and_tables_are_told(postgres: Any, capsys: pytest.CaptureFixture[str]) -> None:
    [one] = _findings(postgres.url, capsys=capsys)["reached"]
    assert one["reached"]
    assert one["server"].startswith("PostgreSQL ")
    assert "superuser" in " ".join(one["rights"])
    assert one["tables"] is not None
    assert run_command_line(["doctor", postgres.url, "--untried"]) == 0
    assert "careful" in capsys.readouterr().out


def test_lines_fit_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    def at_80(found: Any, *, width: int | None) -> str:
        assert width is None  # here nothing is a terminal
        drawn.append(findings_text(found, width=80))
        return drawn[0]

    monkeypatch.setattr("assay.cli.verbs.doctor.verb.findings_text", at_80)
    assert run_command_line(["doctor", "--untried"]) == 0
    assert capsys.readouterr().out.splitlines() == drawn[0].splitlines()
    long = [line for line in drawn[0].splitlines() if len(line) > 80]
    assert not [line for line in long if " " in line.strip()], long


def test_how_to_make_a_reader_is_told_even_where_nothing_can_be_reached(capsys: pytest.CaptureFixture[str]) -> None:
    urls = ("postgresql://u:pw@127.0.0.1:1/shop", "mysql://u:pw@127.0.0.1:1/shop")
    found = _findings(*urls, status=2, capsys=capsys)["reached"]
    assert ['GRANT CONNECT ON DATABASE "shop" TO assay' in one["reader_grants"] for one in found] == [True, False]
    assert ["GRANT SELECT ON `shop`.* TO 'assay'@'%'" in one["reader_grants"] for one in found] == [False, True]
    run_command_line(["doctor", *urls, "--untried"])
    assert "GRANT pg_read_all_data TO assay;" in capsys.readouterr().out
