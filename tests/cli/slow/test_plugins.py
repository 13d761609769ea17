"""Metrics and reporters of another package, installed by its entry points: nothing else knows of them."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from processes import json_lines
from python_calamine import CalamineWorkbook

import commands
from assay import Gates, diff, leaderboard, load_run
from assay.model import MetricInfo
from assay.reports.blocks.run import RunReport

METRICS = '''
from assay import Score


class NearRows:
    name = "near_rows"
    label = "Rows <within> one"
    meaning = "as many rows as gold, give | or take one"
    binary = True

    def requests(self, case, prediction):
        return ()

    def gap(self, executions):
        gold, predicted = executions.golds[0].result, executions.predicted and executions.predicted.result
        return None if gold is None else abs(len(gold.rows) - (len(predicted.rows) if predicted else 0))

    def score(self, case, prediction, executions, comparison):
        gap = self.gap(executions)
        return Score(metric=self.name, value=None if gap is None else float(self.holds(gap)))

    def holds(self, gap):
        return gap <= 1


class RowGap(NearRows):
    name = "row_gap"
    label = "Row gap"
    binary = False
    lowest = 0
    highest = 1000
    higher_is_better = False
    guide_column = "Gap (rows)"

    def holds(self, gap):
        return gap


class Silent(NearRows):
    """Says nothing of itself but its name."""

    name = "silent"


class Liar(Silent):
    """Gives each case something else that cannot be counted, but for the last."""

    name = "liar"
    binary = False
    lowest, highest = 0, 5
    given = [7.0, -1.0, float("nan"), "high", None, 0.5]

    def score(self, case, prediction, executions, comparison):
        place = int(case.id[1:]) - 10
        value = self.given[place] if place < len(self.given) else 2.5
        return Score(metric=self.name if place != 6 else "other", value=value) if place != 7 else 1.0


class Half(Silent):
    """Says by inheritance that it is yes or no, and gives a half."""

    name = "half"

    def score(self, case, prediction, executions, comparison):
        return Score(metric=self.name, value=0.5 if case.id == "c10" else 1.0)


class Ids:
    name = "ids"
    suffix = ".ids"

    def render(self, run):
        return "".join(item.case.id + "\\n" for item in run.evidence).encode()


class Broken(Ids):
    name = "broken"

    def render(self, run):
        raise ValueError("no ink")


class Textual(Ids):
    name = "textual"

    def render(self, run):
        return "text"
'''
ENTRY_POINTS = """
[assay.metrics]
near_rows = their_assay:NearRows
row_gap = their_assay:RowGap
silent = their_assay:Silent
liar = their_assay:Liar
half = their_assay:Half

[assay.reports]
ids = their_assay:Ids
broken = their_assay:Broken
textual = their_assay:Textual
"""
SAID = "Rows <within> one: as many rows as gold, give | or take one"


def _assay(*arguments: str | Path, folder: Path, installed: bool = True) -> subprocess.CompletedProcess[str]:
    site = [str(folder / "site")] if installed else []
    path = os.pathsep.join([*site, *(os.path.abspath(entry) for entry in sys.path if entry)])
    plain = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    return commands.run([str(one) for one in arguments], cwd=folder, env=plain)


def _job(answers: str, run: str, metrics: str) -> list[str]:
    command = ["run", "cases.jsonl", "-p", answers, "--db", "sqlite:///shop.sqlite", "--metrics", metrics, "-o", run]
    return [*command, "--workers", "1", "-q"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A question set, two sets of answers, the installed package, and a run of each."""
    folder = tmp_path_factory.mktemp("plugins")
    package = folder / "site" / "their_assay-1.0.dist-info"
    package.mkdir(parents=True)
    (folder / "site" / "their_assay.py").write_text(METRICS, encoding="utf-8")
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: their-assay\nVersion: 1.0\n", encoding="utf-8")
    (package / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    with sqlite3.connect(folder / "shop.sqlite") as connection:
        connection.execute("CREATE TABLE t(a INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(40)])
    connection.close()
    cases = [{"id": f"c{n}", "question": f"q{n}", "gold_sql": f"SELECT a FROM t WHERE a < {n}"} for n in range(10, 20)]
    for name, wrong in (("old", 3), ("new", 7)):
        answers = [
            {"id": f"c{n}", "predicted_sql": f"SELECT a FROM t WHERE a < {n + (wrong if n % 2 else 0)}"}
            for n in range(10, 20)
        ]
        json_lines(folder / f"{name}.jsonl", answers)
    json_lines(folder / "cases.jsonl", cases)
    for name in ("old", "new"):
        done = _assay(*_job(f"{name}.jsonl", name, "match,near_rows,row_gap,silent"), folder=folder)
        assert done.returncode == 0, done.stderr
    return folder


def test_the_terminal_says_what_a_metric_of_another_package_is(folder: Path) -> None:
    shown = _assay("report", "new", "--full", folder=folder).stdout
    assert f"near_rows: {SAID}" in shown
    assert "Row gap" in shown
    assert "silent:" not in shown


def test_every_format_says_it_and_draws_it_alike_where_the_package_is_gone(folder: Path) -> None:
    drawn: dict[bool, dict[str, bytes]] = {}
    for installed in (True, False):
        there = folder / f"reports-{installed}"
        files = {name: there / f"run.{name}" for name in ("html", "md", "json", "junit")}
        told = [argument for name, path in files.items() for argument in (f"--{name}", path)]
        done = _assay("report", "new", *told, "--xlsx", there / "run.xlsx", folder=folder, installed=installed)
        assert done.returncode == 0, done.stderr
        drawn[installed] = {name: path.read_bytes() for name, path in files.items()}
    assert drawn[True] == drawn[False]
    assert "&lt;within&gt; one: as many rows as gold, give | or take one" in drawn[True]["html"].decode()
    assert b"| Rows &#60;within&#62; one: as many rows as gold, give &#124; or take one |" in drawn[True]["md"]
    infos = json.loads(drawn[True]["json"])["settings"]["metric_infos"]
    assert {one["name"]: (one["label"], one["highest"], one["higher_is_better"]) for one in infos} == {
        "match": ("", 1.0, True),
        "near_rows": ("Rows <within> one", 1.0, True),
        "row_gap": ("Row gap", 1000.0, False),
        "silent": ("", 1.0, True),
    }
    book = CalamineWorkbook.from_path(folder / "reports-False" / "run.xlsx")
    cells = [cell for name in book.sheet_names for row in book.get_sheet_by_name(name).to_python() for cell in row]
    assert SAID in [str(cell).strip() for cell in cells]
    assert "Gap (rows)" in cells
    assert "row_gap" not in book.get_sheet_by_name(book.sheet_names[1]).to_python()[0]


def test_a_value_of_no_share_reads_as_the_number_it_is(folder: Path) -> None:
    run = load_run(folder / "new").record
    row = next(one for one in RunReport(run).metrics if one.metric == "row_gap")
    assert (row.figure.text, row.share, row.graded) == ("3.50", False, True)
    assert "350" not in _assay("report", "new", folder=folder).stdout
    led = _assay(*_job("new.jsonl", "gap", "row_gap"), "--to", "md=gap.md", "--to", "html=gap.html", folder=folder)
    assert led.returncode == 0, led.stderr
    for name in ("gap.md", "gap.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "3.50" in text
        assert "█" not in text  # a bar from 0 to 1 would be full, whatever the number
        assert 'class="bar"' not in text


def test_gates_know_its_range_its_label_and_which_way_is_better(folder: Path) -> None:
    def gate(*given: str, run: str = "new") -> subprocess.CompletedProcess[str]:
        return _assay("report", run, "--full", *given, folder=folder, installed=False)

    passed = gate("--min", "near_rows=50%", "--max-drop", "row_gap=2", "--baseline", "old")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "Rows <within> one: at least 50.0 %" in passed.stdout
    assert "Row gap: at most 2.0 above the baseline" in passed.stdout
    missed = gate("--max-drop", "row_gap=1.9", "--baseline", "old")
    assert missed.returncode == 1
    assert "3.5, baseline 1.5: +2.0" in missed.stdout
    better = gate("--max-drop", "row_gap=0", "--fail-on-regression", "--baseline", "new", run="old")
    assert better.returncode == 0, better.stdout + better.stderr
    for demand, said in (
        ("near_rows=2", "min near_rows is 2: give a number from 0 to 1"),
        ("row_gap=1", "of row_gap lower is better"),
        ("row_gap=80%", "row_gap goes up to 1000 and is not a percentage"),
    ):
        refused = gate("--min", demand)
        assert refused.returncode == 2, demand
        assert said in refused.stderr


def test_a_diff_says_it_and_which_way_is_better(folder: Path) -> None:
    shown = _assay("diff", "old", "new", "--md", "diff.md", "--html", "diff.html", folder=folder, installed=False)
    assert shown.returncode == 0, shown.stderr
    text = _assay("diff", "old", "new", "--full", folder=folder, installed=False).stdout
    assert f"near_rows: {SAID}" in text
    assert "as many rows as gold, give &#124; or take one" in (folder / "diff.md").read_text(encoding="utf-8")
    assert "&lt;within&gt; one: as many rows as gold" in (folder / "diff.html").read_text(encoding="utf-8")
    gap = diff(folder / "old", folder / "new").metric("row_gap")
    assert gap is not None
    assert (gap.difference, gap.improvement, gap.gained, gap.lost) == (2.0, -2.0, 0, 5)


def test_a_ranking_puts_first_what_is_lowest_where_that_is_better(folder: Path) -> None:
    board = leaderboard([folder / "new", folder / "old"], metric="row_gap")
    assert [(one.run.label, one.rank) for one in board.standings] == [("old", 1), ("new", 2)]
    assert "Row gap" in board.summary()
    assert "lowest row_gap" in board.summary() or "significantly below" in board.summary()


def test_what_a_metric_gives_beyond_its_word_costs_that_case_alone(folder: Path) -> None:
    done = _assay(*_job("new.jsonl", "lied", "match,liar,half"), folder=folder)
    assert done.returncode == 0, done.stderr
    found = {item.case.id: item.score("liar") for item in load_run(folder / "lied").evidence}
    told = {name: score.value if score.failure is None else score.failure.message for name, score in found.items()}
    assert told == {
        "c10": "the metric 'liar' gave 7.0, and says that its values go from 0.0 to 5.0 (lowest, highest)",
        "c11": "the metric 'liar' gave -1.0, and says that its values go from 0.0 to 5.0 (lowest, highest)",
        "c12": "the metric 'liar' failed with UsageError: the value of 'liar' is nan: "
        "give None and a Failure if there is none",
        "c13": "the metric 'liar' failed with TypeError: must be real number, not str",
        "c14": None,
        "c15": 0.5,
        "c16": "the metric 'liar' gave a score under the name 'other'",
        "c17": "the metric 'liar' gave 1.0 where an assay.Score belongs",
        "c18": 2.5,
        "c19": 2.5,
    }
    rate = load_run(folder / "lied").rate("half")
    assert rate is not None
    assert (rate.n, rate.unscored, rate.value) == (9, 1, 1.0)


def test_what_a_metric_leads_is_titled_by_its_label(folder: Path) -> None:
    done = _assay(*_job("new.jsonl", "led", "near_rows"), folder=folder)
    assert done.returncode == 0, done.stderr
    view = RunReport(load_run(folder / "led").record)
    assert (view.headline_metric, view.headline_name) == ("near_rows", "Rows <within> one")


def test_an_older_run_goes_on_and_is_drawn_as_before(folder: Path) -> None:
    job = _job("new.jsonl", "older", "match,bird_soft_f1,near_rows")
    assert _assay(*job, folder=folder).returncode == 0
    now = _assay("report", "older", "--to", "html=-", folder=folder).stdout
    file = folder / "older" / "run.json"
    content = json.loads(file.read_bytes())
    del content["settings"]["metric_infos"]
    file.write_text(json.dumps(content), encoding="utf-8")
    journal = (folder / "older" / "journal.jsonl").read_bytes()
    assert _assay("report", "older", "--to", "html=-", folder=folder).stdout == now
    gone = _assay("report", "older", folder=folder, installed=False)
    assert gone.returncode == 0, gone.stderr
    assert "near_rows" in gone.stdout
    again = _assay(*job, folder=folder)
    assert again.returncode == 0, again.stderr
    assert (folder / "older" / "journal.jsonl").read_bytes() == journal


def test_reports_of_any_package_are_written_by_name(folder: Path) -> None:
    done = _assay("report", "new", "--to", "ids=deep/ids.txt", "--to", "md=again.md", folder=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "deep" / "ids.txt").read_text(encoding="utf-8").split() == [f"c{n}" for n in range(10, 20)]
    assert "wrote deep/ids.txt" in done.stdout
    assert (folder / "again.md").read_bytes()
    printed = _assay("report", "new", "--to", "ids=-", folder=folder)
    assert printed.stdout.split() == [f"c{n}" for n in range(10, 20)]
    run = _assay(*_job("new.jsonl", "named", "match"), "--to", "ids=run.ids", folder=folder)
    assert run.returncode == 0, run.stderr
    assert (folder / "run.ids").is_file()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--to", "idz=x"), "unknown report format 'idz' (did you mean 'ids'?)"),
        (("--to", "ids"), "--report 'ids': write NAME=FILE"),
        (("--to", "=x"), "write NAME=FILE"),
        (("--to", "html=a", "--html", "b"), "the report html is to be written twice, to b and to a"),
        (("--to", "ids=a", "--to", "ids=b"), "the report ids is to be written twice"),
        (("--to", "ids=-", "--md", "-"), "--md - and --report ids=- would be mixed on standard output"),
        (
            ("--to", "broken=x"),
            "'broken' of their-assay (their_assay:Broken) fails: ValueError: no ink",
        ),
        (("--to", "textual=x"), "gave str where bytes belong"),
    ],
)
def test_a_report_that_cannot_be_is_told(folder: Path, given: tuple[str, ...], said: str) -> None:
    done = _assay("report", "new", *given, folder=folder)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr


def test_gates_in_python_ask_the_run(folder: Path) -> None:
    run = load_run(folder / "new")
    (result,) = run.check(Gates(minimum=(("near_rows", 0.5),)))
    assert result.wanted == "Rows <within> one: at least 50.0 %"
    assert {info.name for info in run.record.settings.metric_infos} == {"match", "near_rows", "row_gap", "silent"}
    assert all(isinstance(info, MetricInfo) for info in run.record.settings.metric_infos)
