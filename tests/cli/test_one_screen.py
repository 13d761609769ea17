"""What a verb prints on both streams, its summary and the lines around it, has at most 40 lines of 80 columns."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from processes import json_lines

import assay
from assay import registry
from assay.cli.app import run_command_line
from assay.demo import sdmx_path
from many_cases import each

SETS, CASES = 8, 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs by every metric: two over one question set, and one over each of seven others."""
    folder = tmp_path_factory.mktemp("screens")
    (folder / "db").mkdir()
    for name in "abcdef":
        (folder / "db" / name).mkdir()
        with closing(sqlite3.connect(folder / "db" / name / f"{name}.sqlite")) as connection:
            connection.execute("CREATE TABLE t (n INTEGER, name TEXT)")
            connection.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
            connection.commit()
    url = f"sqlite:///{folder}/db/{{db_id}}/{{db_id}}.sqlite"
    for number in range(SETS):
        size = CASES if number == 0 else 4 + number
        rows = [
            {
                "id": f"q{at}",
                "question": f"{number}: number {at}?",
                "db_id": "abcdef"[at % 6],
                "gold_sql": f"SELECT n, {at} FROM t ORDER BY n LIMIT 1" if at % 5 else "SELECT n FROM nowhere",
                "difficulty": ("easy", "medium", "hard", "extra")[at % 4],
            }
            for at in range(size)
        ]
        json_lines(folder / f"set{number}.jsonl", rows)
        for run in ("one", "two") if number == 0 else ("one",):
            wrong = 3 if run == "one" else 4
            answers = [f"SELECT {'n' if at % wrong else 'name'}, {at} FROM t ORDER BY n LIMIT 1" for at in range(size)]
            path = folder / f"{run}{number}.jsonl"
            path.write_text("".join(json.dumps({"id": f"q{at}", "sql": sql}) + "\n" for at, sql in enumerate(answers)))
            assay.evaluate(
                folder / f"set{number}.jsonl",
                path,
                databases=url,
                metrics=["all"],
                workers=1,
                output=folder / "runs" / f"{run}{number}",
            )
    return folder


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That folder as the working one, on a terminal of 80 columns."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")


def _lines(printed: tuple[str, str], width: int = 80) -> list[str]:
    """The lines of both streams as a terminal folds them."""
    lines = "".join(printed).splitlines()
    folded = [line[start : start + width] for line in lines for start in range(0, len(line) or 1, width)]
    return [line for line in folded if "━" not in line]


GATES = [0, 1, 2, 5, 27]


@each(("verb", "gates"), [(verb, gates) for verb in ("run", "report", "diff") for gates in GATES])
def test_summary_and_gates_fit_one_screen(
    here: None, capsys: pytest.CaptureFixture[str], verb: str, gates: int
) -> None:
    """With any number of gates, the first ten metrics of the run are shown with their values."""
    names = registry.named_metrics(["all"])
    flags = [word for name in names[:gates] for word in ("--min", f"{name}=1" if name != "ves" else f"{name}=0")]
    url = "sqlite:///db/{db_id}/{db_id}.sqlite"
    arguments = {
        "run": ["run", "set0.jsonl", "-p", "two0.jsonl", "--db", url, "--metrics", "all", "--no-reviews", "-q"],
        "report": ["report", "runs/two0"],
        "diff": ["diff", "runs/one0", "runs/two0"],
    }[verb]
    status = run_command_line([*arguments, *flags])
    printed = capsys.readouterr()
    lines = _lines(printed)
    assert status == (1 if gates else 0), printed.err
    assert len(lines) <= 40, "\n".join(lines)
    assert not gates or "gates: " in printed.err
    text = "\n".join(lines)
    assert [name for name in names[1:11] if not re.search(rf"\b{name}\b +[▲▼·]?\s*[+-]?\d", text)] == []


@each(
    "command",
    [
        "explain runs/one0 q1",
        "explain runs/one0 q3",
        "explain runs/one0 q5",
        "lint set0.jsonl --db sqlite:///db/{db_id}/{db_id}.sqlite",
        "lint set0.jsonl --db sqlite:///db/{db_id}/{db_id}.sqlite --runs runs/one0 --runs runs/two0",
        "lint set0.jsonl",
    ],
)
def test_an_explanation_and_a_lint_fit_one_screen(here: None, capsys: pytest.CaptureFixture[str], command: str) -> None:
    """Also with the lines around them, on both streams."""
    assert run_command_line([*shlex.split(command), *(["-q"] if command.startswith("lint") else [])]) == 0
    lines = _lines(capsys.readouterr())
    assert len(lines) <= 40, "\n".join(lines)


def test_stored_gates_are_shown_and_do_not_set_the_status(here: None, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that missed its gates says so when it is read again."""
    url = "sqlite:///db/{db_id}/{db_id}.sqlite"
    typed = ["run", "set1.jsonl", "-p", "one1.jsonl", "--db", url, "-q", "-o", "missed", "--min", "match=1"]
    assert run_command_line(typed) == 1
    capsys.readouterr()
    assert run_command_line(["report", "missed"]) == 0
    printed = capsys.readouterr()
    assert "gates: 0 of 1 passed; missed: min match=1 (as stored; the status is 0" in printed.err
    assert len(_lines(printed)) <= 40


def test_a_ranking_and_what_is_left_out_fit_one_screen(here: None, capsys: pytest.CaptureFixture[str]) -> None:
    """The runs over other questions are one line, whatever their number."""
    assert run_command_line(["leaderboard", "runs"]) == 0
    printed = capsys.readouterr()
    assert "left out, over other questions: " in printed.err
    assert len(printed.err.splitlines()) == 1
    assert len(_lines(printed)) <= 40


@pytest.fixture(scope="module")
def selections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of selections with data, and its command."""
    folder = tmp_path_factory.mktemp("selections")
    for name in ("cases.yaml", "predictions.jsonl", "structures.xml"):
        shutil.copyfile(sdmx_path(name), folder / name)
    row = "DATAFLOW,INDICATOR,COUNTRY,FREQUENCY,TIME_PERIOD,OBS_VALUE\nIMF.RES:WEO(1.0.0),LP,MEX,A,2020,1\n"
    (folder / "data.csv").write_text(row, encoding="utf-8")
    files = (folder / "cases.yaml", folder / "predictions.jsonl")
    given = {"structures": folder / "structures.xml", "data": folder / "data.csv"}
    for run, match_on in (("one", "id_and_name"), ("two", "id")):
        assay.evaluate_selections(*files, **given, match_on=match_on, output=folder / run)
    return folder


@pytest.fixture
def in_selections(selections: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(selections)
    monkeypatch.setenv("COLUMNS", "80")


@each("verb", ["sdmx", "report", "diff"])
def test_a_run_of_selections_fits_one_screen_with_the_metrics_that_no_other_stands_for(
    in_selections: None, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    given = ("--structures", "structures.xml", "--data", "data.csv")
    arguments = {
        "sdmx": ["sdmx", "cases.yaml", "-p", "predictions.jsonl", *given, "-q"],
        "report": ["report", "one"],
        "diff": ["diff", "one", "two"],
    }[verb]
    assert run_command_line(arguments) == 0
    lines = _lines(capsys.readouterr())
    assert len(lines) <= 40, "\n".join(lines)
    text = "\n".join(lines)
    assert [
        name for name in ("observations_match", "time_range") if not re.search(rf"\b{name}\b +[▲▼·]?\s*[+-]?\d", text)
    ] == []


def test_an_explanation_of_a_selection_says_what_differs_and_which_option_decides(
    in_selections: None, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [item for item in assay.load_run("one").evidence if item.outcome == "incorrect"]
    assert len(wrong) > 5
    for item in wrong:
        assert run_command_line(["explain", "one", item.case.id]) == 0
        printed = capsys.readouterr().out
        assert re.search(r"\(\+ too many, - missing\):\n    [^\n:]+: [+-]", printed), printed
        through = any(turn.score is not None and turn.score.equivalences for turn in item.turns)
        assert ("--count-hierarchy" in printed) == through, printed


def test_the_cases_of_a_cause_are_listed(here: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Every one of them, however the cause is written: a summary names only the first."""
    run = assay.load_run("runs/one0")
    causes = Counter(one.cause for one in run.record.summaries if one.cause)
    assert causes
    for cause in causes:
        for name in (cause, cause.upper(), cause.lower().replace(" ", "_")):
            assert run_command_line(["explain", "runs/one0", name]) == 0
            listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
            assert listed == [one.case_id for one in run.record.summaries if one.cause == cause]
