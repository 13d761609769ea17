"""`assay leaderboard`, as a user runs it: every format says the same of the same runs."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from processes import json_lines, plain, sqlite_file

import assay
from assay.cli.view.folder import FolderSite, holds_runs
from many_cases import each

RIGHT = {"one": {0, 1, 2, 3}, "two": {0, 1, 4}, "three": {0}}
HOSTILE = "x_%&#<b>$\\^~{}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs over six cases on two databases, one over other cases, and one that is not finished."""
    folder = tmp_path_factory.mktemp("board")
    for name in ("a", "b"):
        sqlite_file(folder / f"{name}.sqlite")
    questions = [
        {
            "id": f"q{at}",
            "question": f"number {at}? {HOSTILE}",
            "db_id": "ab"[at % 2],
            "gold_sql": f"SELECT {at}",
            "difficulty": ("easy", "hard")[at // 3],
            "tags": [HOSTILE],
        }
        for at in range(6)
    ]
    sets = {"dev.jsonl": questions, "small.jsonl": [{**one, "gold_sql": "SELECT 9"} for one in questions[:2]]}
    for name, rows in sets.items():
        json_lines(folder / name, rows)
    for name, right in [*RIGHT.items(), ("other", {0})]:
        cases = folder / ("small.jsonl" if name == "other" else "dev.jsonl")
        answers = [
            assay.Prediction(case_id=f"q{at}", query=f"SELECT {at if at in right else -1}", cost_usd=0.25)
            for at in range(2 if name == "other" else 6)
        ]
        assay.evaluate(
            cases,
            answers,
            databases=f"sqlite:///{folder}/{{db_id}}.sqlite",
            metrics=["match", "bird_ex"],
            workers=1,
            output=folder / "runs" / name,
            name=f"{name} {HOSTILE}" if name == "two" else None,
        )
    (folder / "runs" / "begun").mkdir()
    head = json.loads((folder / "runs" / "one" / "run.json").read_bytes())
    (folder / "runs" / "begun" / "run.json").write_text(
        json.dumps({**head, "status": "running", "order": [], "aggregates": None})
    )
    return folder


def _leaderboard(folder: Path, *arguments: str) -> Any:
    return plain("leaderboard", *arguments, cwd=folder)


def test_a_folder_is_ranked_and_what_is_left_out_is_told(folder: Path) -> None:
    """The runs over the question set that most share; the unfinished one and the one over other cases are named."""
    shown = _leaderboard(folder, "runs", "--full")
    assert shown.returncode == 0, shown.stderr
    assert "not finished: runs/begun" in shown.stderr
    assert "left out, over other questions: runs/other" in shown.stderr
    ranking = shown.stdout.partition("Ranking")[2].splitlines()[2:5]
    assert [line.split()[3] for line in ranking] == ["one", "two", "three"]
    for title in ("Every metric", "By difficulty: match", "By database: match", "Who alone is right", "cost"):
        assert title in shown.stdout
    assert "All runs have 1 case right, none has 1 case; on 4 cases they disagree." in shown.stdout
    alone = _leaderboard(folder, "runs", "--cases", "small", "--full")
    assert alone.stdout.startswith("1 run by match\nOne run, other: match 0.0 %")


def test_every_format_has_the_rates_of_the_json(folder: Path) -> None:
    """CSV and the workbook have each rate, LaTeX and Markdown the leading ones, and none a text that is markup."""
    formats = ("html", "md", "csv", "latex", "xlsx", "json")
    runs = [f"runs/{name}" for name in RIGHT]
    targets = [part for name in formats for part in (f"--{name}", f"out/board.{name}")]
    shown = _leaderboard(folder, *runs, *targets)
    assert shown.returncode == 0, shown.stderr
    made = {name: (folder / "out" / f"board.{name}").read_bytes() for name in formats}
    board = json.loads(made["json"])
    detail = board["detail"]
    assert detail["only_right"] == [[0, 2, 3], [1, 0, 2], [0, 0, 0]]
    assert (detail["alone_right"], detail["alone_wrong"]) == ([["q2", "q3"], ["q4"], []], [[], [], ["q1"]])
    assert [[answer["value"] for answer in case["answers"]] for case in detail["cases"]] == [
        [float(at in right) for right in RIGHT.values()] for at in range(6)
    ]
    rows = list(csv.DictReader(io.StringIO(made["csv"].decode())))
    told = {(row["run"], row["kind"], row["group"], row["metric"]): row["value"] for row in rows}
    labels = [one["run"]["label"] for one in board["standings"]]
    for group in detail["groups"]:
        for label, rates in zip(labels, group["rates"], strict=True):
            for metric, rate in zip(detail["metrics"], rates, strict=True):
                assert float(told[label, group["kind"], group["name"] or "", metric]) == rate["value"]
    assert len(told) == sum(len(group["rates"]) * len(detail["metrics"]) for group in detail["groups"])
    assert {row["cost_usd"] for row in rows} == {"1.5"}
    latex = made["latex"].decode()
    assert r"two x\_\%\&\#\textless{}b\textgreater{}\$\textbackslash{}\textasciicircum{}\textasciitilde{}\{\}" in latex
    body = latex.partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    assert {line.count(" & ") for line in body.strip().splitlines()} == {latex.splitlines()[3].count(" & ")}
    assert [re.findall(r"\d+\.\d", line)[0] for line in body.strip().splitlines()] == ["66.7", "50.0", "16.7"]
    page = made["html"].decode()
    assert "<b>$" not in page
    assert page.count("<script") == 2
    with zipfile.ZipFile(io.BytesIO(made["xlsx"])) as book:
        assert [name for name in book.namelist() if "worksheets/sheet" in name] == [
            f"xl/worksheets/sheet{number}.xml" for number in (1, 2, 3)
        ]


def test_a_run_named_twice_counts_once(folder: Path) -> None:
    board = json.loads(_leaderboard(folder, "runs/one", "runs/../runs/one", "runs/two", "--json", "-").stdout)
    assert [one["run"]["label"].split()[0] for one in board["standings"]] == ["one", "two"]


@each(
    ("arguments", "said"),
    [
        (("runs/one", "runs/other"), "no case in common"),
        (("runs", "--cases", "dve*"), "the question sets are dev.jsonl, small.jsonl"),
        (("runs/one", "--cases", "dev"), "omit it"),
        (("runs/begun",), "not finished"),
    ],
)
def test_unusable_input(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    """Status 2, and what to do."""
    shown = _leaderboard(folder, *arguments)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert said in shown.stderr


def test_a_folder_is_served_with_every_page_a_click_away(folder: Path, tmp_path: Path) -> None:
    """The list leads to each run, each comparison and the leaderboard; a new run is there at the next request, and
    nothing is read that is no run of the folder."""
    runs = tmp_path / "runs"
    shutil.copytree(folder / "runs", runs, ignore=shutil.ignore_patterns("three"))
    assert holds_runs(runs)
    assert not holds_runs(runs / "one")
    site = FolderSite(runs)

    def links() -> set[str]:
        page = site.find("/", "")
        assert page is not None
        return set(map(html.unescape, re.findall(r'href="(/[^"]+)"', page.content.decode())))

    before = links()
    assert {"/run?at=one", "/run?at=two", "/run?at=other", "/diff?a=one&b=two", "/leaderboard?of=one"} <= before
    shutil.copytree(folder / "runs" / "three", runs / "three")
    new = links() - before
    assert "/run?at=three" in new
    # Runs that began in the same second stand in the order of their names.
    assert "/diff?a=two&b=three" in new or {"/diff?a=one&b=three", "/diff?a=three&b=two"} <= new
    for link in links():
        path, _, query = link.partition("?")
        page = site.find(path, query)
        assert page is not None
        assert "frame-ancestors 'none'" in page.policy
    board = site.find("/leaderboard", "of=three")
    assert board is not None
    assert b'href="/run?at=two"' in board.content
    asked = ("at=../runs/one", f"at={runs / 'one'}", "at=begun", "at=", "at=%00", "b=one")
    assert [site.find("/run", query) for query in asked] == [None] * len(asked)
    assert site.find("/run/one", "") is None
    shutil.rmtree(runs / "two")
    assert site.find("/diff", "a=one&b=two") is None


def _spoil(run: Path, way: str) -> None:
    """Leave of a run what a copy that is under way, or a full disk, leaves."""
    journal = run / "journal.jsonl"
    if way == "absent":
        journal.unlink()
    elif way == "cut":
        journal.write_bytes(journal.read_bytes()[:-40])
    elif way == "empty":
        journal.write_bytes(b"")
    elif way == "pipe":
        (run / "run.json").unlink()
        os.mkfifo(run / "run.json")
    else:
        (run / "run.json").write_bytes((run / "run.json").read_bytes()[:200])


@pytest.mark.parametrize("way", ["absent", *("cut", "empty", "pipe", "head")])
def test_a_run_that_cannot_be_read_keeps_no_other_from_its_place(folder: Path, tmp_path: Path, way: str) -> None:
    """In a folder it is left out and told; named itself it is an error. Served, it comes back once it is whole."""
    if way == "pipe" and not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    runs = tmp_path / "runs"
    shutil.copytree(folder / "runs", runs, ignore=shutil.ignore_patterns("other", "begun"))
    _spoil(runs / "two", way)
    shown = _leaderboard(tmp_path, "runs", "--full")
    assert shown.returncode == 0, shown.stderr
    assert "left out" in shown.stdout + shown.stderr
    assert "runs/two" in shown.stdout + shown.stderr
    assert shown.stdout.startswith("2 runs by match")
    named = _leaderboard(tmp_path, "runs/one", "runs/two")
    assert (named.returncode, named.stdout) == (2, "")
    site = FolderSite(runs)
    board = site.find("/leaderboard", "of=one")
    assert board is not None
    assert "two x_" not in re.sub(r"(?s)<script.*?</script>", "", board.content.decode())
    assert (index := site.find("/", "")) is not None
    assert "one" in index.content.decode()
    for name in ("run.json", "journal.jsonl"):
        (runs / "two" / name).unlink(missing_ok=True)
        shutil.copy(folder / "runs" / "two" / name, runs / "two" / name)
    whole = site.find("/leaderboard", "of=one")
    assert whole is not None
    assert whole.content != board.content
    assert b"two x_" in whole.content


def test_where_no_run_can_be_read_it_is_an_error(folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(folder / "runs" / name, tmp_path / "runs" / name)
        _spoil(tmp_path / "runs" / name, "empty")
    shown = _leaderboard(tmp_path, "runs")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "6 of 6 cases of the run are missing" in shown.stderr
