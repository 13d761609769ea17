"""`--repeat N`: over real processes and HTTP, killed and resumed, and in every report."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import signal
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from processes import PASSWORD, assay, end_group, lines, sheet, started, until

from assay import load_run
from assay.demo import build_database, cases_path, sdmx_path
from assay.testing import ChatEmulator, DenodoEmulator, Fault, example, judge_by, same_text

SECRET = {"ASSAY_PASSWORD": PASSWORD}
QUESTIONS = [str(one["question"]) for one in example.questions()]
_SYSTEM = """
import json, pathlib, random, sys

FOLDER = pathlib.Path(__file__).parent
question = sys.stdin.read().strip()
with (FOLDER / "asked.log").open("a", encoding="utf-8") as log:
    log.write(question + "\\n")
calls = (FOLDER / "asked.log").read_text(encoding="utf-8").splitlines().count(question)
gold = json.loads((FOLDER / "golds.json").read_text(encoding="utf-8"))[question]
chance = random.Random(question).choice([0.0, 0.5, 1.0])
print(gold if random.Random(f"{question} {calls}").random() < chance else f"SELECT {calls}, 'wrong'")
"""
LIMIT = 10


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shop's database and a command that is right by a chance of its own for each question."""
    folder = tmp_path_factory.mktemp("flaky")
    build_database(folder)
    cases = [json.loads(line) for line in cases_path().read_text(encoding="utf-8").splitlines()]
    (folder / "golds.json").write_text(json.dumps({one["question"]: one["gold_sql"] for one in cases}))
    (folder / "ask.py").write_text(_SYSTEM)
    return folder


def command(shop: Path, run: Path, *more: object) -> list[object]:
    system = "command:" + shlex.join([sys.executable, str(shop / "ask.py")])
    return [
        *("run", cases_path(), "--db", f"sqlite:///{shop / 'shop.sqlite'}", "--metrics", "match,bird_ex", "-q"),
        *("--system", system, "--limit", LIMIT, "-o", run, "--workers", 1, *more),
    ]


@pytest.fixture(scope="module")
def flaky(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A run of three answers to each question, with its reports."""
    folder = tmp_path_factory.mktemp("reports")
    files = [("--html", "r.html"), ("--md", "r.md"), ("--xlsx", "r.xlsx"), ("--junit", "r.xml")]
    reports = [part for option, name in files for part in (option, folder / name)]
    done = assay(*command(shop, folder / "run", "--repeat", 3, *reports))
    assert (done.returncode, done.stderr) == (0, "")
    return folder, done


def cases_of(page: str) -> Any:
    """What the page's table knows of every case."""
    [held] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, flags=re.DOTALL)
    return json.loads(gzip.decompress(b64decode(json.loads(held)["index"])))


def outcomes(run: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in load_run(run).evidence:
        found.setdefault(one.case.id, []).append(one.outcome)
    return found


def test_the_summary_says_how_steady_the_answers_are(flaky: tuple[Path, Any]) -> None:
    folder, _ = flaky
    done = assay("report", folder / "run", "--full")
    by_case = outcomes(folder / "run")
    right = sum(set(found) == {"correct"} for found in by_case.values())
    wrong = sum(set(found) == {"incorrect"} for found in by_case.values())
    assert 0 < right + wrong < LIMIT, "the command is not flaky"
    some = sum("correct" in found for found in by_case.values()) / LIMIT
    said = f"{LIMIT} questions, asked 3 times each: {right} stable right, {wrong} stable wrong, "
    assert f"{said}{LIMIT - right - wrong} flaky; pass@3 {some:.1%}".replace("%", " %") in done.stdout
    mean = sum(found.count("correct") / 3 for found in by_case.values()) / LIMIT
    assert f"match: {mean * 100:.1f} % [" in done.stdout
    flaky_ids = [id_ for id_, found in by_case.items() if len(set(found)) == 2]
    assert re.search(rf"flaky +{len(flaky_ids)} +{', '.join(flaky_ids[:10])}", done.stdout)


def test_every_report_tells_the_answers_apart(flaky: tuple[Path, Any]) -> None:
    folder, _ = flaky
    page = (folder / "r.html").read_text(encoding="utf-8")
    index = cases_of(page)
    assert (len(index["link"]), len(set(index["link"]))) == (3 * LIMIT, 3 * LIMIT)
    assert index["answer"] == [f"answer {number} of 3" for number in (1, 2, 3)] * LIMIT
    assert all(f"pass^{k}" in page for k in (1, 2, 3))

    markdown = (folder / "r.md").read_text(encoding="utf-8")
    assert re.search(r"<summary>kq-\d+, answer \d of 3 · incorrect", markdown)
    prose = re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", markdown, flags=re.M | re.S))
    assert "@k" not in prose, "a plain @k notifies somebody"

    names = [case.attrib["name"] for case in ElementTree.parse(folder / "r.xml").iter("testcase")]
    assert (len(names), len(set(names))) == (3 * LIMIT, 3 * LIMIT)

    details = sheet(folder / "r.xlsx", "Details")
    assert [row["Repeat"] for row in details] == [1, 2, 3] * LIMIT
    assert len({row["Question ID"] for row in details}) == LIMIT


def test_a_stored_run_is_drawn_again(flaky: tuple[Path, Any], tmp_path: Path) -> None:
    folder, done = flaky
    drawn = assay("report", folder / "run", "--json", tmp_path / "r.json", "--html", tmp_path / "r.html")
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert (tmp_path / "r.html").read_bytes() == (folder / "r.html").read_bytes()
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [(one["case"]["id"], one["prediction"]["repeat"]) for one in report["cases"]] == [
        (one.case.id, one.prediction.repeat) for one in load_run(folder / "run").evidence
    ]
    assert report["aggregates"]["repeats"]["asked"] == 3
    shown = assay("report", folder / "run")
    assert shown.stdout.splitlines()[:3] == done.stdout.splitlines()[:3]


def test_a_command_asked_again_is_not(flaky: tuple[Path, Any], shop: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(flaky[0] / "run", tmp_path / "run"))  # judging anew changes what others look at
    before = Counter((shop / "asked.log").read_text(encoding="utf-8").splitlines())
    assert set(before.values()) == {3}
    assert assay(*command(shop, run, "--repeat", 3)).returncode == 0
    assert assay(*command(shop, run, "--repeat", 3, "--rescore")).returncode == 0
    assert Counter((shop / "asked.log").read_text(encoding="utf-8").splitlines()) == before
    other = assay(*command(shop, run, "--repeat", 2))
    assert (other.returncode, "repeats was 3, now 2" in other.stderr) == (2, True)


def test_a_file_with_fewer_answers_than_expected_is_refused(shop: Path, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "kq-01", "predicted_sql": "SELECT 1"}\n')
    given = ("run", cases_path(), "-p", answers, "--db", f"sqlite:///{shop / 'shop.sqlite'}", "--limit", 1, "-q")
    done = assay(*given, "--repeat", 2)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "has one answer to each question, and --repeat expects 2" in done.stderr
    assert assay(*given, "--repeat", 1).returncode == 0
    assert assay(*given, "--repeat", 0).returncode == 2


def test_a_file_of_settings_says_it_too(shop: Path, tmp_path: Path) -> None:
    shop = Path(shutil.copytree(shop, tmp_path / "shop"))  # its command counts what it is asked
    system = "command:" + shlex.join([sys.executable, str(shop / "ask.py")])
    (tmp_path / "cases.jsonl").write_bytes(b"".join(cases_path().read_bytes().splitlines(keepends=True)[:2]))
    settings = {"cases": "cases.jsonl", "system": system, "db": f"sqlite:///{shop / 'shop.sqlite'}", "repeat": 2}
    path = tmp_path / "eval.yaml"
    path.write_text(json.dumps({**settings, "output": "run", "metrics": ["match"]}), encoding="utf-8")
    done = assay("run", path, "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert [len(found) for found in outcomes(tmp_path / "run").values()] == [2, 2]


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a process group")
def test_killed_while_asking_it_goes_on_and_asks_nothing_twice(
    server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    run, output = tmp_path / "out.run", tmp_path / "out.xlsx"
    answered = len(QUESTIONS) + 4
    server.faults.add(Fault(kind="slow", after=answered, seconds=600))
    arguments: list[object] = [
        *("denodo", "--input", workbook, "--output", output, "--api-url", server.api_url, "--user", "demo"),
        *("--catalog-url", server.catalog_url, "--ves-iterations", "1", "-q", "--concurrency", 2, "--repeat", 2),
    ]
    process = started(arguments, env=SECRET)
    until(
        lambda: lines(run / "answers.jsonl") == answered and server.asked.total() == answered + 2,
        what="one answer to each question, four again, and two in flight",
    )
    end_group(process, signal.SIGKILL)
    assert (process.returncode, output.exists()) == (-9, False)
    server.faults.clear()
    done = assay(*arguments, env=SECRET)
    assert (done.returncode, done.stderr) == (0, "")
    # Two questions were on their way when it was killed: nobody has their answers.
    assert server.asked.total() == 2 * len(QUESTIONS) + 2
    assert set(server.asked.values()) == {2, 3}
    assert lines(run / "answers.jsonl") == 2 * len(QUESTIONS)
    details = sheet(output, "Details")
    assert [row["Repeat"] for row in details] == [1, 2] * len(QUESTIONS)
    assert sheet(output, "Summary")[-1]["Number of Samples"] == len(QUESTIONS)
    assert assay(*arguments, env=SECRET).returncode == 0
    assert server.asked.total() == 2 * len(QUESTIONS) + 2


def test_conversations_are_had_several_times(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    def reply(messages: Any) -> str:
        question = str(messages[-1]["content"])
        asked[question] += 1
        # Of every two answers the second is one that nobody can read.
        return "I have no data on that." if asked[question] % 2 else '[{"dataset_id": "A:B", "filters": "?"}'

    with ChatEmulator(answers=reply, token="k") as server:
        arguments = ["sdmx", sdmx_path("cases.yaml"), "--system", f"chat:{server.deployment_url()}", "--repeat", 2]
        arguments += ["--structures", sdmx_path("structures.xml"), "-o", tmp_path / "run", "-q"]
        arguments += ["--xlsx", tmp_path / "r.xlsx", "--html", tmp_path / "r.html", "--md", tmp_path / "r.md"]
        done = assay(*arguments, env={"ASSAY_TOKEN": "k"})
        assert (done.returncode, done.stderr) == (0, "")
        before = server.asked.total()
        assert assay(*arguments, env={"ASSAY_TOKEN": "k"}).returncode == 0
        assert server.asked.total() == before
    run = load_run(tmp_path / "run")
    cases = list(dict.fromkeys(one.case.id for one in run.evidence))
    assert [(one.case.id, one.prediction.repeat) for one in run.evidence] == [(id_, n) for id_ in cases for n in (0, 1)]
    assert run.aggregates.cases == len(cases)
    totals = run.aggregates.selection
    assert totals is not None
    assert totals.by_turn[0].cases <= len(cases)
    assert all(count.count == len(set(count.case_ids)) for count in (*totals.wrong_terms, *totals.time_states))
    rows = sheet(tmp_path / "r.xlsx", "Overview")
    assert [(row["id"], row["repeat"]) for row in rows] == [(id_, n) for id_ in cases for n in (1, 2)]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert cases_of(page)["answer"] == ["answer 1 of 2", "answer 2 of 2"] * len(cases)


@pytest.fixture
def model() -> Iterator[ChatEmulator]:
    with ChatEmulator(answers=judge_by(same_text), token="k") as running:
        yield running


def test_a_judge_judges_every_answer_beside_its_own_verdict(
    flaky: tuple[Path, Any], model: ChatEmulator, tmp_path: Path
) -> None:
    folder, _ = flaky
    env = {"OPENAI_BASE_URL": model.openai_url, "OPENAI_API_KEY": "k"}
    opinions = tmp_path / "opinions.jsonl"
    given = ("judge", folder / "run", "--model", "any", "-q")
    done = assay(*given, "-o", opinions, "--calibrate", "--json", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    numbers = json.loads(done.stdout)
    # Where a right answer is the gold query's own text and a wrong one is not, the judge says what execution says.
    assert numbers["calibration"]["disagreements"] == []
    assert (numbers["cases"], numbers["equivalent"]["n"]) == (LIMIT, LIMIT)
    evidence = load_run(folder / "run").evidence
    assert numbers["equivalent"]["value"] == pytest.approx(
        sum(one.outcome == "correct" for one in evidence) / 3 / LIMIT
    )
    written = [json.loads(line) for line in opinions.read_text(encoding="utf-8").splitlines()]
    assert [(one["case_id"], one["repeat"], one["execution"]) for one in written] == [
        (one.case.id, one.prediction.repeat + 1, one.outcome) for one in evidence
    ]
    labels = tmp_path / "labels.csv"
    labels.write_text("id,equivalent\nkq-01,yes\n")
    refused = assay(*given, "--calibrate", "--labels", labels, env=env)
    assert (refused.returncode, "3 answers to each" in refused.stderr) == (2, True)
