"""A run that asks and judges at once, killed and interrupted as a command."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from processes import end_group, json_lines, lines, started, succeeds, until

from answering import Answering
from assay import load_run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals to a process group")

COUNT = 120
GOLDS = ("SELECT a FROM t", "SELECT count(*) FROM t", "SELECT max(a) FROM t")
SLOW = "SELECT count(*) FROM t x, t y, t z WHERE x.a + y.a > z.a"
ENDING = re.compile(
    r"^interrupted: finishing what is in flight \((\d+) cases?\); press Ctrl-C again to stop now$", re.M
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        connection.execute("CREATE TABLE t(a)")
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(120)])
        connection.commit()
    cases = [{"id": f"c{n}", "question": f"question {n}", "gold_sql": GOLDS[n % 3]} for n in range(COUNT)]
    json_lines(tmp_path / "cases.jsonl", cases)
    return tmp_path


@pytest.fixture
def server() -> Iterator[Answering]:
    answers = {f"question {n}": SLOW if n % 4 == 1 else GOLDS[n % 2] for n in range(COUNT)}
    with Answering(answers, most_delay_s=0.04) as server:
        yield server


def command(folder: Path, server: Answering, run: Path, *more: object) -> list[object]:
    return [
        *("run", folder / "cases.jsonl", "--system", f"http:{server.url}", "--db", f"sqlite:///{folder / 't.sqlite'}"),
        *("--body", '{"q": "{question}"}', "--query-path", "sql", "--concurrency", 3, "--workers", 2, "-o", run),
        *("--metrics", "match,bird_ex", *more),
    ]


def journal(run: Path, name: str) -> list[bytes]:
    path = run / name
    return [one for one in path.read_bytes().splitlines(keepends=True) if one.endswith(b"\n")] if path.exists() else []


def test_killed_at_any_moment_it_loses_nothing_and_asks_little_again(
    folder: Path, server: Answering, tmp_path: Path
) -> None:
    run, chance, kills = tmp_path / "run", random.Random(1), 0
    arguments = command(folder, server, run, "-q")
    before: dict[str, list[bytes]] = {"answers.jsonl": [], "journal.jsonl": []}
    while len(before["answers.jsonl"]) < COUNT and kills < 4:
        name = chance.choice(list(before))
        wanted = min(len(before[name]) + chance.randrange(1, 30), COUNT - 1)
        process = started(arguments)
        until(lambda name=name, wanted=wanted: lines(run / name) >= wanted, what=f"{wanted} lines of {name}")  # type: ignore[misc]
        end_group(process, signal.SIGKILL)
        kills += 1
        for one, held in before.items():
            now = journal(run, one)
            assert now[: len(held)] == held, "what was there stays as it was"
            before[one] = now
    asked = Counter(server.asked)
    succeeds(*arguments)
    answered = {json.loads(line)["prediction"]["case_id"] for line in before["answers.jsonl"]}
    assert all(server.asked[f"question {one[1:]}"] == asked[f"question {one[1:]}"] for one in answered)
    assert server.asked.total() <= COUNT + 3 * kills, "only what was in flight was asked again"
    for one, held in before.items():
        now = journal(run, one)
        assert now[: len(held)] == held
        assert len({json.loads(line)["digest"] for line in now}) == len(now) == COUNT
    succeeds(*command(folder, server, tmp_path / "whole", "-q"))
    resumed, at_once = load_run(run), load_run(tmp_path / "whole")
    assert [one.verdict for one in resumed.evidence] == [one.verdict for one in at_once.evidence]
    assert [one.scores for one in resumed.evidence] == [one.scores for one in at_once.evidence]


def test_the_first_ctrl_c_says_so_asks_no_more_and_keeps_what_arrived(
    folder: Path, server: Answering, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    arguments = command(folder, server, run)
    process = started(arguments)
    until(lambda: lines(run / "journal.jsonl") >= 5, what="cases judged")
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 3, said
    assert len(ENDING.findall(said)) == 1, said
    assert said.rstrip().endswith(f"finished cases are in {run}: the same command resumes")
    assert "Traceback" not in said
    answers, judged = journal(run, "answers.jsonl"), journal(run, "journal.jsonl")
    assert 5 <= len(judged) <= len(answers) < COUNT
    assert server.asked.total() <= len(answers) + 3
    succeeds(*arguments)
    assert journal(run, "journal.jsonl")[: len(judged)] == judged
    assert all(times <= 2 for times in server.asked.values())
    assert server.asked.total() <= COUNT + 3


def test_the_second_ctrl_c_ends_at_once(folder: Path, server: Answering, tmp_path: Path) -> None:
    with closing(sqlite3.connect(folder / "t.sqlite")) as connection:
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(120, 20_000)])
        connection.commit()  # now what is slow takes as long as its limit
    run = tmp_path / "run"
    process = started(command(folder, server, run, "--timeout", 600))
    until(lambda: lines(run / "answers.jsonl") >= 10, what="answers")
    os.killpg(process.pid, signal.SIGINT)
    said = ""
    assert process.stderr is not None
    while not ENDING.search(said):
        line = process.stderr.readline()
        assert line, said
        said += line
    os.killpg(process.pid, signal.SIGINT)
    _, rest = process.communicate(timeout=300)
    assert process.returncode == 3, rest
    assert "Traceback" not in rest
    assert "the same command resumes" in rest
