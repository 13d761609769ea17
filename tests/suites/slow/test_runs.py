"""A run on a suite: the verdict stays, `suite_match` stands beside it, and what does not fit ends before it begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import assay
from assay.cli.app import run_command_line
from assay.model import Case
from running import sqlite_url


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database, its cases and answers as files, and a run over them."""
    from small_shop import CASES, LUCKY, SCRIPT

    made = tmp_path_factory.mktemp("suites")
    sqlite_url(made / "shop.sqlite", SCRIPT)
    cases = [{"id": one.id, "question": one.question, "gold_sql": one.golds[0]} for one in CASES]
    answers = [{"id": name, "predicted_sql": query} for name, query in LUCKY.items()]
    for name, lines in (("cases.jsonl", cases), ("answers.jsonl", answers)):
        (made / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    _evaluated(made, output=made / "runs" / "first")
    return made


def _evaluated(folder: Path, **options: object) -> assay.Run:
    cases = options.pop("cases", folder / "cases.jsonl")
    database = f"sqlite:///{folder}/shop.sqlite"
    given = {"databases": database, "metrics": ["match"], "workers": 1, **options}
    return assay.evaluate(cases, folder / "answers.jsonl", **given)  # type: ignore[arg-type]


def test_a_suite_from_build_to_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line builds it, says what it holds, and a run says which answers it parts from gold, and where."""
    from small_shop import CASES

    suite = folder / "suites" / "shop"
    command = ["suite", "build", str(folder / "cases.jsonl"), str(folder / "runs" / "first"), "-o", str(suite)]
    assert run_command_line([*command, "--workers", "1", "-q"]) == 0
    assert "answers of 1 run: 2 of 4 distinguished from the gold query" in capsys.readouterr().out
    assert run_command_line([*command, "-q"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert run_command_line(["suite", "show", str(suite), "a", "--database", "1"]) == 0
    assert "INSERT INTO" in capsys.readouterr().out
    run = _evaluated(folder, suite=suite, output=folder / "runs" / "second")
    scores = {item.case.id: item.score("suite_match") for item in run.evidence}
    assert {name: score.value for name, score in scores.items() if score is not None} == {
        "a": 0.0,
        "b": 0.0,
        "c": 1.0,
        "d": 1.0,
        "e": None,
    }
    assert [item.outcome for item in run.evidence] == ["correct"] * 4 + ["incorrect"]
    told = scores["a"]
    assert told.detail is not None
    assert "distinguished by database" in told.detail
    assert "singer" in told.detail
    rate = run.record.aggregates.overall.rate("suite_match")
    assert (rate.numerator, rate.n, rate.unscored) == (2.0, 4, 1)
    with pytest.raises(assay.RunError, match="suite was"):
        _evaluated(folder, output=folder / "runs" / "second")

    gated = [
        "run",
        str(folder / "cases.jsonl"),
        "--predictions",
        str(folder / "answers.jsonl"),
        "--metrics",
        "match",
        "-q",
    ]
    gated += ["--db", f"sqlite:///{folder}/shop.sqlite", "--suite", str(suite), "--workers", "1"]
    assert run_command_line([*gated, "--min", "suite_match=99%"]) == 1
    assert "suite_match" in capsys.readouterr().err

    changed = [replace(CASES[0], golds=("SELECT name FROM singer WHERE age > 31",)), *CASES[1:]]
    with pytest.warns(UserWarning, match="other gold queries of case a"):
        noted = _evaluated(folder, cases=changed, suite=suite)
    assert noted.evidence[0].score("suite_match") is not None
    assert [item.score("suite_match").value for item in noted.evidence] == [None, 0.0, 1.0, 1.0, None]  # type: ignore[union-attr]
    assert any("other gold queries" in note for note in noted.record.provenance.notes)


def test_what_does_not_fit_ends_with_status_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No such run, a run of other cases, no database, a folder of something else, a metric without a suite."""
    cases, first = str(folder / "cases.jsonl"), str(folder / "runs" / "first")
    other = folder / "other.jsonl"
    other.write_text(json.dumps({"id": "z", "question": "else?", "gold_sql": "SELECT 1"}) + "\n")
    regold = folder / "regold.jsonl"
    line = {"id": "a", "question": "older than 30?", "gold_sql": "SELECT name FROM singer WHERE age > 31"}
    regold.write_text(json.dumps(line) + "\n")
    database, output = f"sqlite:///{folder}/shop.sqlite", str(folder / "made")
    answers = ["--predictions", str(folder / "answers.jsonl"), "--db", database, "-q"]
    for arguments, said in (
        (["suite", "build", cases, str(folder / "runs" / "none"), "-o", output], "none"),
        (["suite", "build", str(other), first, "-o", output], "has none of the 1 cases"),
        (["suite", "build", str(regold), first, "-o", output], "other gold queries of case a"),
        (["suite", "build", cases, "-o", output], "--db"),
        (["suite", "build", cases, first, "-o", str(folder / "runs")], "contains no suite"),
        (["suite", "build", cases, first, "-o", output, "--keeps", "all"], "'declared'"),
        (["suite", "show", str(folder / "runs")], "contains no suite"),
        (["run", cases, *answers, "--suite", str(folder / "nowhere")], "is not a folder"),
        (["run", cases, *answers, "--metrics", "suite_match"], "needs a suite"),
    ):
        assert run_command_line(arguments) == 2, arguments
        assert said in capsys.readouterr().err, arguments
    assert not Path(output).exists()


def test_a_case_by_hand_needs_no_run(folder: Path) -> None:
    """Neighbours of gold alone make a suite, and a gold that fails has none."""
    cases = [
        Case(id="1", question="?", golds=("SELECT name FROM singer WHERE age < 40",)),
        Case(id="2", question="?", golds=("SELECT nothing FROM singer",)),
    ]
    suite = assay.build_suite(cases, databases=f"sqlite:///{folder}/shop.sqlite", workers=1)
    assert suite.cases["1"].databases
    assert suite.cases["1"].neighbours_told > 0
    assert (suite.cases["2"].databases, suite.cases["2"].why) == ((), "the gold query fails on its database")


def test_a_suite_of_duckdb_parts_what_sqlite_s_would(tmp_path: Path) -> None:
    """Built and used on DuckDB, with types of its own, formulas and views; sqlite's runs do not take it."""
    import duckdb

    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
        connection.execute(
            "CREATE TABLE a (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, m mood, l INTEGER[], v INTEGER, "
            "twice INTEGER GENERATED ALWAYS AS (v * 2))"
        )
        connection.execute(
            "INSERT INTO a (id, name, m, l, v) SELECT i, 'n' || i, (['sad', 'glad'])[i % 2 + 1]::mood, [i], i "
            "FROM range(1, 8) t(i)"
        )
    pairs = {
        "lucky": ("SELECT name FROM a WHERE v > 3", "SELECT name FROM a WHERE id > 3"),
        "formula": ("SELECT name FROM a WHERE twice > 7", "SELECT name FROM a WHERE v * 2 > 7"),
        "list": ("SELECT l[1] FROM a WHERE m = 'sad'", "SELECT id FROM a WHERE m = 'sad'"),
    }
    cases = [Case(id=name, question=f"{name}?", golds=(gold,)) for name, (gold, _) in pairs.items()]
    answers = {name: answer for name, (_, answer) in pairs.items()}
    url = f"duckdb:///{tmp_path}/d.duckdb"
    options: dict[str, Any] = {"databases": url, "metrics": ["match"], "workers": 1}
    first = assay.evaluate(cases, answers, **options)
    assert {item.outcome for item in first.evidence} == {"correct"}
    suite = tmp_path / "suite"
    made = assay.build_suite(cases, [first], databases=url, most_neighbours=4, output=suite, workers=1)
    assert all(case.databases for case in made.cases.values()), made.cases
    run = assay.evaluate(cases, answers, suite=suite, **options)
    scores = {item.case.id: item.score("suite_match") for item in run.evidence}
    assert {name: score.value for name, score in scores.items() if score is not None} == {
        "lucky": 0.0,
        "formula": 1.0,
        "list": 0.0,
    }
    other = sqlite_url(tmp_path / "s.sqlite", "CREATE TABLE a (id INT)")
    with pytest.raises(assay.InputError, match="another engine"):
        assay.evaluate(cases, answers, suite=suite, **(options | {"databases": other}))
