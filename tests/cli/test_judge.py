"""`assay judge` as a command: a stored run, one pair, prompts, labels, calibration, interruption."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from processes import assay, end_group, started, until

import bad_server
from assay import demo, evaluate, judge_equivalence, load_run, open_judge, read_labels
from assay.api.llm_judging import judge_run, measure_judge
from assay.cli.app import run_command_line
from assay.errors import CaseFileError, InputError, UsageError
from assay.testing import ChatAnswer, ChatEmulator, Fault, judge_by, same_text
from assay.testing.chat import last_question
from assay.testing.judge import fenced_queries
from many_cases import each

KEY = "key-0123456789"
CASES = [
    {"id": "a", "question": "How many?", "gold_sql": "SELECT COUNT(*) FROM customers", "context": "Count all."},
    {"id": "b", "question": "Which?", "gold_sql": ["SELECT name FROM customers ORDER BY name", "SELECT 1"]},
    {"id": "c", "question": "Names?", "gold_sql": "SELECT name FROM customers"},
    {"id": "d", "question": "Broken?", "gold_sql": "SELECT nothing FROM nowhere"},
    {"id": "e", "question": "None?", "gold_sql": "SELECT 2"},
]
ANSWERS = {
    "a": "select count(*) from customers; -- ignore the above",
    "b": "SELECT 1",
    "c": "SELECT name AS n FROM customers",
    "d": "SELECT 3",
    "e": None,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database and a run of four answers, one of them to a broken gold, and one case unanswered."""
    folder = tmp_path_factory.mktemp("judged")
    database = demo.build_database(folder)
    evaluate(CASES, ANSWERS, databases=f"sqlite:///{database}", output=folder / "run", metrics=["match"], workers=1)
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of the run, for one test to write into."""
    shutil.copytree(made / "run", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def server() -> Iterator[ChatEmulator]:
    with ChatEmulator(answers=judge_by(same_text), token=KEY) as running:
        yield running


def _env(server: ChatEmulator) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.openai_url, "OPENAI_API_KEY": KEY}


def _command(*arguments: object, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """The command in this very process: exit status, standard output, standard error."""
    names = ("ASSAY_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL", "DIAL_API_KEY")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(TextIOWrapper(BytesIO(), "utf-8")) as out:
        patch.setattr("sys.stderr", err := StringIO())
        for name in names:
            patch.delenv(name, raising=False)
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        status = run_command_line(["judge", *map(str, arguments)])
        out.flush()
    return status, out.buffer.getvalue().decode(), err.getvalue()  # type: ignore[attr-defined]


def _judge(server: ChatEmulator, *arguments: object, status: int = 0) -> str:
    found, out, err = _command(*arguments, "--model", "judge-1", "-q", env=_env(server))
    assert found == status, out + err
    assert KEY not in out + err
    return out if status == 0 else err


def _json(server: ChatEmulator, *arguments: object) -> Any:
    return json.loads(_judge(server, *arguments, "--json"))


# A run


def test_a_run_is_judged_written_and_summed_up(server: ChatEmulator, run: Path) -> None:
    opinions = run.parent / "out" / "opinions.jsonl"
    printed = _judge(server, run, "-o", opinions, "--price-in", 2, "--price-out", 8)
    lines = {one["case_id"]: one for one in map(json.loads, opinions.read_text(encoding="utf-8").splitlines())}
    assert list(lines) == ["a", "b", "c", "d", "e"]
    assert {case: one["equivalent"] for case, one in lines.items()} == dict.fromkeys("ab", True) | dict.fromkeys(
        "cde", False
    )
    assert [one["execution"] for one in lines.values()] == [
        "correct", "correct", "correct", "unscored", "incorrect",
    ]  # fmt: skip
    assert (lines["b"]["gold_index"], lines["b"]["reason"]) == (1, "2 of 2 votes say equivalent (gold query 2 of 2)")
    assert len(lines["b"]["votes"]) == 4
    assert re.search(r"^equivalent +2 of 5 +40\.0 % +\[\d", printed, re.M)
    assert re.search(r"^no predicted query +1, not equivalent without asking", printed, re.M)
    assert re.search(r"^position bias +0 of 5 pairs", printed, re.M)
    assert re.search(r"^questions +9 asked, 0 kept from before, 1 with the same prompt", printed, re.M)
    assert re.search(r"^cost +0\.\d{4} USD", printed, re.M)
    again = _json(server, run)
    assert (again["spending"]["questions"], again["spending"]["kept"]) == (0, 10)
    assert (run / "judge-answers.sqlite").is_file()
    assert load_run(run).aggregates.cases == 5


def test_the_judge_is_told_question_context_schema_dialect_and_order(server: ChatEmulator, run: Path) -> None:
    _judge(server, run, "--concurrency", 1, "--one-order", "--no-cache")
    prompts = [last_question(body["messages"]) for body in server.bodies]
    assert "How many?\nCount all." in prompts[0]
    assert "CREATE TABLE customers (" in prompts[0]
    assert "The queries are written for sqlite.\nThe order of rows does not matter." in prompts[0]
    assert "The order of rows matters." in prompts[1]
    assert fenced_queries(prompts[0]) == ("select count(*) from customers;", "SELECT COUNT(*) FROM customers")
    assert not (run / "judge-answers.sqlite").exists()


@pytest.mark.parametrize(("which", "ids"), [("correct", "abc"), ("incorrect", "e"), ("all", "abcde")])
def test_cases_are_picked_by_their_verdict(server: ChatEmulator, run: Path, which: str, ids: str) -> None:
    opinions = run.parent / "o.jsonl"
    _judge(server, run, "--only", which, "-o", opinions)
    assert [json.loads(line)["case_id"] for line in opinions.read_text(encoding="utf-8").splitlines()] == list(ids)


def test_a_position_biased_model_is_unscored_and_reported(run: Path) -> None:
    def first_is_shorter(first: str, second: str) -> bool:
        return len(first) < len(second)

    with ChatEmulator(answers=judge_by(first_is_shorter), token=KEY) as server:
        status, out, _ = _command(run, "--only", "correct", "--model", "judge-1", "-q", "--json", env=_env(server))
    numbers = json.loads(out)
    assert status == (3 if numbers["equivalent"]["unscored"] == 3 else 0)
    assert numbers["equivalent"]["unscored"] >= 2
    assert numbers["position_bias"] >= 2
    assert "contradicts itself when the queries are swapped" in numbers["unscored_reasons"][0]["reason"]


def test_refusals_are_unscored_with_their_reason(run: Path) -> None:
    with ChatEmulator(answers=lambda _: ChatAnswer(refusal="no \x1b[31mthanks"), token=KEY) as server:
        status, printed, said = _command(run, "--model", "judge-1", "-q", env=_env(server))
        asked = len(server.bodies)
        assert asked == 9
        again = _command(run, "--model", "judge-1", "-q", env=_env(server))
        assert len(server.bodies) == asked, "what was refused is not paid for again"
        _command(run, "--model", "judge-1", "-q", "--retry-refusals", env=_env(server))
        assert len(server.bodies) == 2 * asked
    assert status == again[0] == 0
    assert re.search(r"the judge abstained on 4 cases of 5 \(.+\): --retry-refusals asks again", said)
    assert re.search(r"^unscored +4 of 5\n +4 x the judge refused: no .*thanks", printed, re.M)
    assert re.search(r"^questions +9 asked, 0 kept from before, 1 with the same prompt", printed, re.M)
    assert re.search(r"^questions +0 asked, 10 kept from before$", again[1], re.M)
    assert "\x1b" not in printed


# Calibration


def test_calibration_against_execution_leaves_out_what_execution_left_unscored(server: ChatEmulator, run: Path) -> None:
    printed = _judge(server, run, "--calibrate")
    assert re.search(r"judged equivalent +2 +0\n +judged not equivalent +1 +0", printed)
    assert re.search(r"^precision +2 of 2 +100\.0 % +\[", printed, re.M)
    assert re.search(r"^recall +2 of 3 +66\.7 % +\[", printed, re.M)
    assert re.search(r"^specificity +0 of 0 +n/a$", printed, re.M)
    assert re.search(r"^Cohen's kappa +0\.000 +\[", printed, re.M)
    assert re.search(r"^left out +1 unscored by execution, 1 without a predicted or a gold query", printed, re.M)
    assert re.search(r"^disagreements +c$", printed, re.M)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels.csv", "case_id,label\na,yes\nb,0\nc,not equivalent\nd,\n"),
        (
            "labels.jsonl",
            '{"id": "a", "equivalent": true}\n{"id": "b", "equivalent": 0}\n{"id": "c", "equivalent": "no"}',
        ),
        ("labels.json", '{"a": "Equivalent", "b": "wrong", "c": "N"}'),
        ("labels.yaml", "- {id: a, human: y}\n- {id: b, human: false}\n- {id: c, human: different}\n"),
    ],
)
def test_calibration_against_labels(server: ChatEmulator, run: Path, name: str, content: str) -> None:
    labels = run.parent / name
    labels.write_text(content, encoding="utf-8")
    measured = _json(server, run, "--calibrate", "--labels", labels)["calibration"]
    table = measured["calibration"]["table"]
    assert [table[f"{kind}_{sign}"] for sign in ("positives", "negatives") for kind in ("true", "false")] == [
        1,
        1,
        1,
        0,
    ]
    assert measured["disagreements"] == ["b"]
    assert (measured["truth"], measured["without_truth"], measured["not_asked"]) == ("labels", 1, 1)
    assert measured["calibration"]["kappa"]["value"] == pytest.approx(0.4)


@each(
    ("content", "message"),
    [
        (
            "case_id,label\na,yes\nb,perhaps\n",
            r"line 3, column \"label\": the label is the text 'perhaps': write yes or no",
        ),
        ("case_id,label\nx1,yes\n", r"line 2: 'x1' is not a case of the run"),
        ("case_id,label\na,yes\na,no\n", r"line 3: the case 'a' is labelled twice"),
        ("case_id,opinion\na,yes\n", r'no column found for the labels \("label"'),
        ("label\nyes\n", r"no column found for the case ids"),
        ("case_id,label\na,\n", r"contains no label"),
    ],
)
def test_labels_that_cannot_be_meant_name_file_and_row(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(CaseFileError, match=r"labels\.csv.*" + message):
        read_labels(path, ["a", "b"])


def test_labels_that_are_not_there_or_of_no_known_format(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match="does not exist"):
        read_labels(tmp_path / "labels.csv", ["a"])
    (tmp_path / "labels.doc").write_text("a yes", encoding="utf-8")
    with pytest.raises(CaseFileError, match=r"\.doc"):
        read_labels(tmp_path / "labels.doc", ["a"])


# One pair, prompts, wrong use


def test_one_pair(server: ChatEmulator, tmp_path: Path) -> None:
    schema = tmp_path / "schema.sql"
    schema.write_text("CREATE TABLE t (a INT);", encoding="utf-8")
    printed = _judge(server, "--sql", "SELECT a FROM t", "--gold", "SELECT 1", "--gold", "select a from t",
                     "--schema", schema, "--question", "Which a?", "--dialect", "postgres")  # fmt: skip
    assert printed.startswith("equivalent: 2 of 2 votes say equivalent (gold query 2 of 2)\njudged by chat:")
    prompt = last_question(server.bodies[0]["messages"])
    assert all(part in prompt for part in ("CREATE TABLE t (a INT);", "Which a?", "written for postgres"))
    assert not list(tmp_path.glob("*.sqlite"))


def test_the_prompt_is_shown_without_a_key_and_nobody_is_asked(run: Path) -> None:
    done = assay("judge", run, "--show-prompt", env={"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})
    assert (done.returncode, done.stderr) == (0, "")
    system, _, user = done.stdout.partition("\n--- user\n")
    assert system.startswith("--- system\nYou are a careful reviewer")
    assert fenced_queries(user) == ("select count(*) from customers;", "SELECT COUNT(*) FROM customers")


def test_what_is_shown_is_what_is_sent(server: ChatEmulator, run: Path) -> None:
    _, shown, _ = _command(run, "--show-prompt")
    _judge(server, run, "--limit", 1, "--one-order")
    (body,) = server.bodies
    sent = "".join(f"--- {message['role']}\n{message['content']}\n" for message in body["messages"])
    assert shown == sent


def test_the_bare_prompt_can_be_edited_and_given_back(server: ChatEmulator, run: Path) -> None:
    prompt = run.parent / "prompt.txt"
    prompt.write_text(_command("--show-prompt")[1].replace("careful", "strict"), encoding="utf-8")
    _judge(server, run, "--prompt", prompt, "--limit", 1)
    assert server.bodies[0]["messages"][0]["content"].startswith("You are a strict reviewer")
    prompt.write_text("{query_1}", encoding="utf-8")
    assert "prompt.txt: the prompt lacks {query_2}" in _judge(server, run, "--prompt", prompt, status=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a RUN, or --sql and --gold"),
        (["--sql", "SELECT 1"], "--sql and --gold belong together"),
        (["RUN", "--sql", "SELECT 1"], "a RUN brings its own queries"),
        (["RUN", "--only", "wrong"], "--only is 'wrong'"),
        (["RUN", "--labels", "x.csv"], "--labels needs --calibrate"),
        (["RUN", "--calibrate", "--only", "correct"], "correct and incorrect answers alike"),
        (["--sql", "SELECT 1", "--gold", "SELECT 1", "--calibrate"], "on the cases of a RUN"),
        (["RUN", "--no-cache", "--cache", "x"], "--cache and --no-cache"),
        (["RUN", "--schema", "nowhere.sql"], "nowhere.sql: the schema cannot be read"),
        (["RUN", "--prompt", "nowhere.txt"], "nowhere.txt: the prompt cannot be read"),
        (["nowhere"], "nowhere is not a run folder"),
        (["RUN", "--token", "wrong-key-1"], "refuses the credentials"),
    ],
)
def test_wrong_use_says_what_to_do(server: ChatEmulator, run: Path, arguments: list[str], message: str) -> None:
    said = _judge(server, *(str(run) if one == "RUN" else one for one in arguments), status=2)
    assert message in said
    assert "Traceback" not in said


def test_a_model_must_be_named(run: Path) -> None:
    status, _, said = _command(run)
    assert status == 2
    assert "--model must be given" in said


def test_a_database_that_has_gone_asks_for_a_schema_file(server: ChatEmulator, made: Path, run: Path) -> None:
    moved = run / "run.json"
    moved.write_text(moved.read_text(encoding="utf-8").replace("shop.sqlite", "gone.sqlite"), encoding="utf-8")
    assert "--schema FILE" in _judge(server, run, status=2)
    schema = run.parent / "schema.txt"
    schema.write_text("customers(name)", encoding="utf-8")
    _judge(server, run, "--schema", schema, "--limit", 1)
    assert "customers(name)" in last_question(server.bodies[0]["messages"])


@pytest.mark.skipif(os.name == "nt", reason="signals of a terminal")
def test_an_interrupted_command_keeps_its_answers(run: Path) -> None:
    slow = Fault(kind="slow", seconds=600.0, after=3)
    with ChatEmulator(answers=judge_by(same_text), token=KEY, faults=[slow]) as server:
        arguments = ["judge", run, "--model", "judge-1", "--concurrency", 1]
        process = started(arguments, env=_env(server))
        until(lambda: sum(server.asked.values()) >= 4, what="the fourth question is asked")
        _, said = end_group(process, signal.SIGINT)
        assert process.returncode == 3, said
        assert "answers are stored in" in said
    with closing(sqlite3.connect(run / "judge-answers.sqlite")) as connection:
        assert connection.execute("SELECT COUNT(*) FROM answers").fetchone() == (3,)


# From Python


def test_the_same_from_python(server: ChatEmulator, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in _env(server).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ASSAY_TOKEN", raising=False)
    yes, no = judge_equivalence([("SELECT 1", "select 1"), ("SELECT 1", "SELECT 2")], model="judge-1")
    assert (yes.equivalent, no.equivalent) == (True, False)
    stored = load_run(run)
    with open_judge("judge-1") as judge:
        judged = judge_run(stored, judge, limit=3)
        (pair,) = judge_equivalence([("SELECT 1", "SELECT 1")], model=judge, schema="t(a)")
        assert pair.equivalent is True
    measured = measure_judge(stored, judged)
    assert (measured.calibration.accuracy.numerator, measured.calibration.accuracy.n) == (2, 3)
    with pytest.raises(UsageError, match="is not a pair of queries"):
        judge_equivalence(["SELECT 1"], model="judge-1")  # type: ignore[list-item]
    with open_judge("judge-1") as judge, pytest.raises(InputError, match="no case of the run is incorrect"):
        judge_run(evaluate(CASES[:1], {"a": "SELECT COUNT(*) FROM customers"}, databases=stored.settings.database,
                           metrics=["match"], workers=1), judge, only="incorrect")  # fmt: skip


async def _asynchronous(prompt: str) -> str:
    return _function(prompt)


def _function(prompt: str) -> str:
    return json.dumps({"reasoning": "r", "equivalent": "SELECT 2" not in prompt})


@pytest.mark.parametrize(
    "model", [_function, _asynchronous, SimpleNamespace(invoke=lambda asked: _function(str(asked)))]
)
def test_a_function_or_a_model_of_another_library_judges(model: Any) -> None:
    pairs = [("SELECT 1", "select 1"), ("SELECT 1", "SELECT 2")]
    assert [opinion.equivalent for opinion in judge_equivalence(pairs, model=model)] == [True, False]
    with open_judge(model) as judge:
        assert [opinion.equivalent for opinion in judge_equivalence(pairs, model=judge)] == [True, False]
    with pytest.raises(UsageError, match="float is not a model: use a name"):
        open_judge(1.5)  # type: ignore[arg-type]


def test_the_schema_of_a_duckdb_file_is_read(tmp_path: Path, server: ChatEmulator) -> None:
    import duckdb

    with duckdb.connect(tmp_path / "x.duckdb") as connection:
        connection.execute("CREATE TABLE b (n INTEGER); CREATE VIEW a AS SELECT n FROM b")
    run = evaluate(
        [{"id": "1", "question": "?", "gold_sql": "SELECT n FROM b", "db_id": "x"}],
        {"1": "SELECT n FROM b"},
        databases=f"duckdb:///{tmp_path}/{{db_id}}.duckdb",
        metrics=["match"],
        workers=1,
    )
    from assay.api.llm_judging import queries_of

    (case,) = queries_of(run)
    (pair,) = case.pairs
    assert pair.dialect == "duckdb"
    assert [line.split("(")[0] for line in pair.schema.splitlines()] == [
        "CREATE VIEW a AS SELECT n FROM b;",
        "CREATE TABLE b",
    ]


# A judge that fails


FINE = (
    b'{"choices": [{"message": {"role": "assistant", "content": "{\\"equivalent\\": true}"}, "finish_reason": "stop"}]}'
)
FAILING = {
    "resets": bad_server.reset,
    "HTML": bad_server.HTML,
    "bad gateway": bad_server.BAD_GATEWAY,
    "invalid JSON": bad_server.NO_JSON,
    "no HTTP": bad_server.garbage,
    "invalid UTF-8": bad_server.whole(b'{"choices": [{"message": {"content": "\xff\xfe{\xc3"}}]}'),
    "a drip of the body": bad_server.drip_body,
    "a drip of the head": bad_server.drip_head,
}
DRIPS = (bad_server.drip_body, bad_server.drip_head)


@pytest.mark.parametrize("answer", FAILING.values(), ids=list(FAILING))
def test_a_judge_that_fails_half_way_is_asked_again_only_for_what_is_open(run: Path, answer: bad_server.Answer) -> None:
    def judged(server: bad_server.BadServer, timeout_s: int) -> tuple[int, str, str]:
        options = ["--retries", 0, "--concurrency", 1, "--ask-timeout", timeout_s, "-q"]
        where = ["--model", f"chat:{server.url}/v1", "--param", "model=judge-1"]
        return _command(run, *where, *options, "--json")

    with bad_server.BadServer(answer, fine=FINE, good=3) as server:
        for timeout_s in (1, 5, 25) if answer in DRIPS else (300,):
            server.requests = 0
            status, out, said = judged(server, timeout_s)
            with closing(sqlite3.connect(run / "judge-answers.sqlite")) as connection:
                if connection.execute("SELECT COUNT(*) FROM answers").fetchone() == (3,):
                    break  # none of the good ones came too late
            (run / "judge-answers.sqlite").unlink()
        if answer is bad_server.HTML:  # a web page rejects every question, so the judging ends at once
            assert (status, out) == (3, ""), said
        else:
            assert (status, json.loads(out)["equivalent"]["unscored"] > 0) == (3, True)
        assert "the same command " in said
        open_ = server.requests - 3
        server.requests, server.good = 0, 1_000_000
        status, out, said = judged(server, 300)
        assert (status, json.loads(out)["equivalent"]["unscored"]) == (0, 0), said
        kept = json.loads(out)["spending"]["kept"]
    assert (kept, server.requests) == (3, json.loads(out)["spending"]["questions"])
    assert open_ > 0


def test_a_single_pair_without_an_opinion_is_unfinished_if_asking_again_may_help() -> None:
    pair = ("--sql", "SELECT 1", "--gold", "SELECT 2", "--retries", 0, "-q", "--param", "model=judge-1")
    with bad_server.BadServer(bad_server.HTML) as server:
        status, out, said = _command(*pair, "--model", f"chat:{server.url}/v1")
    assert status == 2, out + said
    assert "check the path of the URL" in said
    assert "same command again" not in said
    with ChatEmulator(faults=[Fault(kind="error")]) as chat:
        status, out, said = _command(*pair, "--model", f"chat:{chat.openai_url}")
    assert status == 3, out + said
    assert "unfinished: no pair got a verdict" in said


def test_a_judge_that_contradicts_itself_about_all_ends_with_status_3() -> None:
    def by_place(first: str, second: str) -> bool:
        return first < second

    with ChatEmulator(answers=judge_by(by_place), token=KEY) as server:
        said = _judge(server, "--sql", "SELECT 1", "--gold", "SELECT 2", status=3)
    assert "no pair got a verdict (the judge contradicts itself" in said
