"""Gates on the command line: exit status 1 once everything is written, 2 before anything is done."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from processes import PASSWORD, json_lines, sqlite_file
from processes import assay as command

import assay
from assay.cli.app import app, run_command_line
from assay.cli.options.gates import GateFlags
from assay.demo import sdmx_path
from assay.errors import InputError, RunError, UsageError
from assay.model import Gates
from assay.registry import registered
from assay.scoring.selections.metrics import selection_metrics
from assay.settings import GateSettings
from assay.testing import DenodoEmulator
from many_cases import each

CASES = [
    {"id": f"q{n}", "question": f"number {n}?", "gold_sql": f"SELECT {n}", "difficulty": "hard" if n == 4 else "easy"}
    for n in range(5)
]
CASES[0]["tags"] = ["smoke"]
GOOD = [{"id": f"q{n}", "predicted_sql": f"SELECT {n}"} for n in range(5)]
FOUR = [*GOOD[:4], {"id": "q4", "predicted_sql": "SELECT 99"}]
NONE = [{"id": f"q{n}", "predicted_sql": "SELECT 99"} for n in range(5)]


ANSWERS = {"good": GOOD, "four": FOUR, "none": NONE}


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions, a database, answers of which all, four of five and none are right, and a run of each."""
    folder = tmp_path_factory.mktemp("gates")
    sqlite_file(folder / "shop.sqlite", "CREATE TABLE t(a INTEGER)")
    for name, rows in {"cases": CASES, **ANSWERS}.items():
        json_lines(folder / f"{name}.jsonl", rows)
    for name, answers in (("main", "good"), ("now", "four"), ("bad", "none")):
        files = (folder / "cases.jsonl", folder / f"{answers}.jsonl")
        database = f"sqlite:///{(folder / 'shop.sqlite').as_posix()}"
        assay.evaluate(*files, databases=database, metrics=["match", "bird_ex"], output=folder / name)
    return folder


@pytest.fixture
def here(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the working folder."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(answers: str, *more: str, folder: str | None = None) -> int:
    files = ["cases.jsonl", "-p", f"{answers}.jsonl", "--db", "sqlite:///shop.sqlite"]
    return run_command_line(["run", *files, "--workers", "1", "-q", *(["-o", folder] if folder else []), *more])


def test_a_gate_that_is_just_reached_gives_0_and_one_that_is_not_gives_1(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("four", "--min", "match=80%", "--min-accuracy", "0.8") == 2, "the same gate twice"
    capsys.readouterr()
    assert report("now", "--min", "match=80%", "--must-pass", "tag:smoke") == 0
    told = capsys.readouterr()
    assert told.err.splitlines()[-1] == "gates: 2 of 2 passed"
    assert run("four", "--min-accuracy", "0.81", "--must-pass", "id:q1") == 1
    told = capsys.readouterr()
    assert told.err.splitlines()[-1] == "gates: 1 of 2 passed; missed: min match=0.81"
    assert "  ✗ min match=0.81: missed by 1.0 points (1 case short); found 80.0 % [37.6," in told.out
    assert "    96.4], 4 of 5; cases: q4\n" in told.out
    assert run("four", "--min-accuracy", "0.81", "--must-pass", "id:q1", "--full") == 1
    told = capsys.readouterr()
    assert "  min match=0.81   missed  wanted at least 81.0 %; found 80.0 % [37.6, 96.4], 4 of 5; missed by" in told.out
    assert "missed by 1.0 points (1 case short); cases: q4" in told.out


@pytest.mark.journey
def test_a_missed_gate_comes_after_the_run_is_kept_and_every_report_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = [f"--{name}={name}.out" for name in ("html", "md", "xlsx", "junit")]
    assert run("none", "--min", "match=0.5", "--must-pass", "difficulty:hard", "--json", *reports, folder="r") == 1
    document = json.loads(capsys.readouterr().out)
    assert [(gate["gate"], gate["passed"]) for gate in document["gates"]] == [
        ("min match=0.5", False),
        ("must-pass difficulty:hard", False),
    ]
    assert document["gates"][1]["case_ids"] == ["q4"]
    assert assay.load_run("r").aggregates.incorrect == 5
    html, markdown = Path("html.out").read_text(), Path("md.out").read_text()
    assert "min match=0.5" in html
    assert "0 of 2 passed" in html
    assert "### Gates: 0 of 2 passed" in markdown
    properties = {one.get("name"): one.get("value") for one in ElementTree.parse("junit.out").iter("property")}
    assert properties["gate.must-pass difficulty:hard"] == (
        "missed: wanted the case right; found 0 of 1 case right, 1 wrong; missed by 1 of 1 case; cases: q4"
    )
    from python_calamine import CalamineWorkbook

    rows = CalamineWorkbook.from_path("xlsx.out").get_sheet_by_name("Summary").to_python()
    assert ["min match=0.5", "missed"] in [row[:2] for row in rows]


def report(name: str, *options: str) -> int:
    return run_command_line(["report", name, *options])


def test_a_baseline_tells_a_drop_and_a_regression(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = ("--baseline", "main")
    assert run("four", "--metrics", "match", *baseline, "--max-drop", "match=20%", "--fail-on-regression") == 0
    assert report("now", *baseline, "--max-drop", "match=0.19") == 1
    assert "80.0 %, baseline 100.0 %: -20.0 points" in capsys.readouterr().out
    # 5 cases show nothing at 5 %: the exact test of 5 losses gives 0.0625.
    assert report("bad", *baseline, "--fail-on-regression") == 0
    assert report("bad", *baseline, "--fail-on-regression", "--alpha", "0.07") == 1
    assert "q0, q1, q2, q3, q4" in " ".join(capsys.readouterr().out.split())


def test_a_stored_run_is_held_to_gates_without_judging_it_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["report", "now", "--min", "match=0.8"]) == 0
    assert run_command_line(["report", "now", "--baseline", "main", "--max-drop", "bird_ex=1%", "--md", "n.md"]) == 1
    told = capsys.readouterr()
    assert "wrote n.md" in told.out
    assert "Gates: 0 of 1 passed" in told.out
    assert "### Gates" in Path("n.md").read_text()
    assert run_command_line(["report", "now", "--min", "ves=1"]) == 2
    assert "does not compute ves; it computes match, bird_ex" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--min", "match=80"], "80 percent is 0.8, or 80%"),
        (["--min", "match"], "write METRIC=VALUE"),
        (["--min", "match=much"], "'much' is not a number"),
        (["--min", "match=sNaN"], "'sNaN' is not a number"),
        (["--min", "bird_rves=80%"], "goes up to 111.8 and is not a percentage"),
        (["-o", "main", "--baseline", "main", "--max-drop", "match=0"], "is the run and its own baseline"),
        (["--min", "mach=0.8"], "did you mean 'match'"),
        (["--min", "ves=0.8"], "does not compute ves"),
        (["--max-drop", "match=1%"], "name its folder (--baseline RUN)"),
        (["--fail-on-regression"], "name its folder (--baseline RUN)"),
        (["--alpha", "0.1"], "--alpha is the level of --fail-on-regression"),
        (["--fail-on-regression", "--alpha", "5", "--baseline", "main"], "alpha is 5.0"),
        (["--baseline", "main"], "no gate compares with it"),
        (["--baseline", "nowhere", "--fail-on-regression"], "baseline cannot be used: nowhere is not a run folder"),
        (["--baseline", "half", "--fail-on-regression"], "baseline cannot be used: half is not finished"),
        (["--baseline", "main", "--max-drop", "spider_ex=1%"], "the baseline main does not compute spider_ex"),
        (["--baseline", "other", "--max-drop", "match=1%"], "has no case in common with the 5"),
        (["--must-pass", "smoke"], "write tag:NAME"),
        (["--must-pass", "tags:smoke"], "did you mean 'tag'"),
        (["--must-pass", "tag:smok"], "did you mean 'tag:smoke'"),
        (["--must-pass", "tag:hard"], "did you mean 'difficulty:hard'"),
        (["--limit", "2", "--must-pass", "id:q4"], "must-pass id:q4 matches no case"),
    ],
)
def test_a_gate_that_cannot_be_is_refused_before_anything_is_done(
    here: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    if "half" in options:
        Path("now").rename("half")
        settings = json.loads(Path("half/run.json").read_text())
        Path("half/run.json").write_text(json.dumps({**settings, "status": "running", "aggregates": None}))
    if "other" in options:
        other = assay.evaluate(
            [{"id": "q0", "question": "else?", "gold_sql": "SELECT 1"}], ["SELECT 1"], databases="sqlite:///shop.sqlite"
        )
        other.save("other")
    assert run("four", *options, folder="r") == 2
    assert said in capsys.readouterr().err
    assert not Path("r").exists()


def test_nobody_is_asked_where_a_gate_cannot_be(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = "import pathlib; pathlib.Path('asked').touch(); print('SELECT 1')"
    Path("ask.py").write_text(ask, encoding="utf-8")
    arguments = ["run", "cases.jsonl", "--system", "command:python ask.py", "--db", "sqlite:///shop.sqlite", "-q"]
    assert run_command_line([*arguments, "--must-pass", "tag:none"]) == 2
    assert "known: tag:smoke" in capsys.readouterr().err
    assert not Path("asked").exists()


def test_the_denodo_verb_has_gates_and_asks_nothing_where_one_cannot_be(
    server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    report = tmp_path / "r.xlsx"
    arguments = ["denodo", "--input", workbook, "--output", report, "--api-url", server.api_url, "-q"]
    arguments += ["--catalog-url", server.catalog_url, "--user", "demo", "--question-rows", "2"]
    secret = {"ASSAY_PASSWORD": PASSWORD}
    assert command(*arguments, "--must-pass", "difficulty:nowhere", env=secret).returncode == 2
    assert server.calls == ()
    limits = ["--ves-iterations", "1", "--min", "ves=0", "--min", "match=1"]
    status = command(*arguments, *limits, env=secret).returncode
    assert report.exists()
    assert status == int(assay.load_run(report.with_suffix(".run")).aggregates.correct < 2)


def test_a_settings_file_holds_gates_and_flags_weigh_more(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("sub").mkdir()
    Path("sub/eval.yaml").write_text(
        "cases: ../cases.jsonl\npredictions: ../four.jsonl\ndb: sqlite:///../shop.sqlite\nmetrics: [match, bird_ex]\n"
        "baseline: ../main\ngates:\n  min: {match: 90%, bird_ex: 0.8}\n  max_drop: {match: 0.2}\n"
        "  fail_on_regression: [match, bird_ex]\n  alpha: 0.01\n  must_pass: [tag:smoke]\n",
        encoding="utf-8",
    )
    assert run_command_line(["run", "sub/eval.yaml", "-q"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "gates: 5 of 6 passed; missed: min match=0.9"
    assert run_command_line(["run", "sub/eval.yaml", "-q", "--min-accuracy", "0.8", "--must-pass", "id:q4"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "gates: 6 of 7 passed; missed: must-pass id:q4"


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        ("{min: 0.8}", "eval.yaml, line 4, column 14: gates, min is 0.8 (a number), and a mapping is expected"),
        ("{max_drop: [match]}", "write  max_drop: {match: 1%}"),
        ("{minimum: {match: 0.8}}", "unknown gate 'minimum' (did you mean 'min'?)"),
        ("{min: {match: high}}", "eval.yaml, line 4, column 8: gates, min, match: 'high' is not a number"),
        ("{min: {match: [0.8]}}", "line 4, column 22: gates, min, match is a list, and a number or a text is expected"),
        ("{min: {match: 80}}", "80 percent"),
        ("[match]", "line 4, column 8: gates is a list, and a mapping is expected"),
    ],
)
def test_a_settings_file_that_cannot_be_read_says_where(
    here: Path, capsys: pytest.CaptureFixture[str], gates: str, said: str
) -> None:
    text = f"cases: cases.jsonl\npredictions: four.jsonl\ndb: sqlite:///shop.sqlite\ngates: {gates}\n"
    Path("eval.yaml").write_text(text, encoding="utf-8")
    assert run_command_line(["run", "eval.yaml"]) == 2
    assert said in capsys.readouterr().err


def test_selections_are_held_to_gates_of_their_own_metrics(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["sdmx", str(sdmx_path("cases.yaml")), "-p", str(sdmx_path("predictions.jsonl")), "-q"]
    arguments += ["--structures", str(sdmx_path("structures.xml"))]
    assert run_command_line([*arguments, "--min", "match=0.5"]) == 2
    assert "exact_match" in capsys.readouterr().err
    assert run_command_line([*arguments, "-o", "sel", "--min", "macro_recall=0.01", "--xlsx", "s.xlsx"]) == 0
    assert run_command_line([*arguments, "--baseline", "sel", "--fail-on-regression"]) == 0
    assert "fail-on-regression exact_match" in capsys.readouterr().out
    assert run_command_line([*arguments, "--min", "exact_match=1"]) == 1
    assert run_command_line([*arguments, "--min-accuracy", "0.1"]) == 0
    assert run_command_line(["report", "sel", "--min-accuracy", "90%"]) == 1
    assert "min exact_match=0.9" in capsys.readouterr().out
    from python_calamine import CalamineWorkbook

    rows = CalamineWorkbook.from_path("s.xlsx").get_sheet_by_name("Statistics").to_python()
    assert ["min macro_recall=0.01", "passed"] in [row[:2] for row in rows]


def test_a_run_in_python_is_checked_by_itself_and_against_another(here: Path) -> None:
    now = assay.load_run("now")
    passed, missed = now.check(assay.Gates(minimum=(("match", 0.8),), max_drop=(("match", 0.1),)), baseline="main")
    assert (passed.passed, missed.passed, missed.case_ids) == (True, False, ("q4",))
    assert now.check(Gates(fail_on_regression=("headline",)), baseline=assay.load_run("main"))[0].passed
    assert now.check(Gates()) == ()
    with pytest.raises(InputError, match="matches no case"):
        now.check(Gates(must_pass=("tag:none",)))
    with pytest.raises(UsageError, match="name its folder"):
        now.check(Gates(max_drop=(("match", 0.1),)))
    Path("main/journal.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(RunError, match="baseline cannot be used"):
        now.check(Gates(max_drop=(("match", 0.1),)), baseline="main")


@each(("text", "value"), [("0.8", 0.8), ("80%", 0.8), ("7.1%", 0.071), ("28.9 %", 0.289), ("1", 1.0), (".5", 0.5)])
def test_a_percentage_is_the_very_number_that_it_stands_for(text: str, value: float) -> None:
    assert GateFlags(minimum=[f"match={text}"]).gathered().minimum == (("match", value),)


def test_what_flags_and_file_say_adds_up_metric_by_metric() -> None:
    file = GateSettings(min={"match": 0.8, "bird_ex": "70%"}, must_pass="tag:a", fail_on_regression="bird_ex")
    gates = GateFlags(minimum=["match=0.9"], must_pass=["tag:a", "id:b"], fail_on_regression=True).gathered(file)
    assert gates.minimum == (("match", 0.9), ("bird_ex", 0.7))
    assert gates.must_pass == ("tag:a", "id:b")
    assert gates.fail_on_regression == ("bird_ex",)
    assert not GateFlags().gathered().any


def test_a_stored_run_shows_the_gates_that_it_was_made_with(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever it is shown; only gates that are asked for now decide how a command ends."""
    assert run("four", "--min", "match=0.9", "--must-pass", "id:q1", folder="held") == 1
    stored = assay.load_run("held")
    assert [(one.gate, one.passed) for one in stored.record.gates] == [
        ("min match=0.9", False),
        ("must-pass id:q1", True),
    ]
    assert stored.check(Gates()) == ()
    stored.save("copy")
    assert assay.load_run("copy").record.gates == stored.record.gates
    capsys.readouterr()
    assert report("held", "--html", "held.html", "--md", "held.md") == 0
    assert "gates:" not in capsys.readouterr().err
    assert all("min match=0.9" in Path(f"held.{kind}").read_text(encoding="utf-8") for kind in ("html", "md"))
    assert report("held") == 0
    assert "Gates: 1 of 2 passed" in capsys.readouterr().out
    assert report("held", "--min", "match=0.5") == 0
    told = capsys.readouterr()
    assert ("Gates: 1 of 1 passed" in told.out, told.err.splitlines()[-1]) == (True, "gates: 1 of 1 passed")
    assert run_command_line(["runs", ".", "--html", "trend.html"]) == 0
    trend = Path("trend.html").read_text(encoding="utf-8")
    assert "; gates: 1 of 2 missed" in trend
    assert run("four", folder="held") == 0, "what was demanded before is no demand of this command"


METRICS = {"sdmx": {metric.name for metric in selection_metrics(on_data=False)}}
"""Those of a verb, if they are not the registered ones."""


@each("verb", ["run", "denodo", "sdmx", "llmsql", "report", "diff", "init"])
def test_a_gates_help_names_metrics_that_the_verb_has(verb: str) -> None:
    command = app.every_verb()[verb]
    known = METRICS.get(verb, set(registered("assay.metrics")))
    helps = [one.help or "" for one in command.params if one.opts[0] in ("--min", "--max-drop", "--min-accuracy")]
    named = [name for text in helps for name in re.findall(r"(\w+)=", text)]
    assert len(named) == 3
    assert set(named) <= known
