"""`assay run --system chat:…`: a model without a pipeline, asked over HTTP for the SQL itself."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from processes import assay, sheet

from assay.demo import build_database, cases_path
from assay.testing import ChatAnswer, ChatEmulator

LIMIT = 12
KEY = "sk-of-the-test"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shop's database and its questions."""
    folder = tmp_path_factory.mktemp("shop")
    build_database(folder)
    shutil.copy(cases_path(), folder)
    return folder


def cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in cases_path().read_text(encoding="utf-8").splitlines()][:LIMIT]


def question_of(messages: Sequence[Any]) -> str:
    [message] = messages
    return re.findall(r"^Question: (.*)$", message["content"], re.M)[-1]


def half_right(messages: Sequence[Any]) -> ChatAnswer:
    """Gold for every second question, in a fence among words; a word of regret for the others."""
    asked = question_of(messages)
    place, case = next((place, case) for place, case in enumerate(cases()) if case["question"] == asked)
    if place % 2:
        return ChatAnswer(content="I cannot tell from these tables.")
    return ChatAnswer(
        content=f"<think>easy</think>Here it is.\n```sql\n{case['gold_sql']};\n```",
        usage={"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010},
    )


def command(shop: Path, server: ChatEmulator, run: Path, *more: object) -> list[object]:
    system = ("--system", f"chat:{server.openai_url}", "--param", "model=test")
    database = ("--db", f"sqlite:///{shop / 'shop.sqlite'}", "--metrics", "match")
    return ["run", shop / "cases.jsonl", *system, *database, "--limit", LIMIT, "-q", "-o", run, *more]


def evidence(run: Path) -> list[dict[str, Any]]:
    found = [json.loads(line)["evidence"] for line in (run / "journal.jsonl").read_bytes().splitlines()]
    return sorted(found, key=lambda one: str(one["case"]["id"]))


def _words_asked(found: list[dict[str, Any]]) -> int:
    """The input of the answers whose usage the emulator counted itself."""
    return sum(one["prediction"]["tokens"]["input"] for one in found[1::2])


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_a_model_is_assayed_without_any_code(shop: Path, tmp_path: Path, *, streams: bool) -> None:
    report, workbook = tmp_path / "report.html", tmp_path / "report.xlsx"
    with ChatEmulator(answers=half_right, token=KEY, model="test", streams=streams) as server:
        prices = ("--price-in", 2, "--price-out", 10, "--html", report, "--xlsx", workbook, "--json")
        done = assay(*command(shop, server, tmp_path / "run", *prices), env={"OPENAI_API_KEY": KEY})
        assert (done.returncode, done.stderr) == (0, "")
        assert len(server.calls) == LIMIT
        again = assay(*command(shop, server, tmp_path / "run"), env={"OPENAI_API_KEY": KEY})
        assert (again.returncode, len(server.calls)) == (0, LIMIT)
    found = evidence(tmp_path / "run")
    assert [one["verdict"]["outcome"] for one in found] == ["correct", "incorrect"] * (LIMIT // 2)
    right, wrong = found[0]["prediction"], found[1]["prediction"]
    assert right["query"] == cases()[0]["gold_sql"]
    assert right["explanation"] == "Here it is."
    assert right["tokens"] == {"input": 1000, "output": 10, "total": 1010}
    assert right["cost_usd"] == pytest.approx(0.0021)
    assert dict(right["timings_s"])["total_execution_time"] > 0
    assert wrong["failure"]["kind"] == "clarification"
    assert "I cannot tell from these tables." in wrong["failure"]["message"]
    totals = json.loads(done.stdout)["aggregates"]["usage"]
    assert (totals["input"], totals["answers_with_cost"]) == (1000 * LIMIT // 2 + _words_asked(found), LIMIT)
    assert "test on cases<" in report.read_text(encoding="utf-8")
    assert re.search(r"Cost</\w+>\s*<\w+[^>]*>\d\.\d{4} USD<", report.read_text(encoding="utf-8"))
    shown = sheet(workbook, "Details")[0]
    assert (shown["Input tokens"], shown["Cost (USD)"]) == (1000, pytest.approx(0.0021))
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


def test_another_prompt_is_another_question(shop: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "mine.txt"
    prompt.write_text("{dialect}\n\n{tables}\n\nHints: {context}\n\nQuestion: {question}\n", encoding="utf-8")
    with ChatEmulator(answers=half_right) as server:
        arguments = command(shop, server, tmp_path / "run", "--prompt", prompt)
        assert assay(*arguments).returncode == 0
        assert len(server.calls) == LIMIT
        prompt.write_text("{dialect}\n\n{tables}\n\nQuestion: {question}\n", encoding="utf-8")
        refused = assay(*arguments)
        assert (refused.returncode, len(server.calls)) == (2, LIMIT)
        assert assay(*arguments, "--overwrite").returncode == 0
        assert len(server.calls) == 2 * LIMIT


def test_a_wrong_key_ends_the_run(shop: Path, tmp_path: Path) -> None:
    with ChatEmulator(answers=half_right, token=KEY) as server:
        done = assay(*command(shop, server, tmp_path / "run", "--concurrency", 1), env={"OPENAI_API_KEY": "wrong"})
        assert len(server.calls) == 1
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "refuses the credentials" in done.stderr
    assert "wrong" not in done.stderr


def test_the_prompt_can_be_seen_without_asking(shop: Path, tmp_path: Path) -> None:
    with ChatEmulator(answers=half_right) as server:
        for name, shown in (
            (None, ("CREATE TABLE order_items", "\"customers\".\"city\": 'Paris', 'Amsterdam'", "SQL dialect: SQLite")),
            ("llmsql-0", ('Table: "customers"\nColumns: id (INTEGER), name (TEXT)', "SQL:")),
            ("llmsql-5", ("Kestrel Bridge", "Cold Tooth")),
        ):
            more = ("--show-prompt", *(() if name is None else ("--prompt", name)))
            done = assay(*command(shop, server, tmp_path / "run", *more))
            assert (done.returncode, done.stderr) == (0, "")
            assert f"Question: {cases()[0]['question']}\n" in done.stdout
            assert all(text in done.stdout for text in shown), done.stdout
        assert server.calls == ()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--prompt", "llmsq-1"), "did you mean 'llmsql-1'?"),
        (("--prompt", "bad.txt"), "did you mean {schema}?"),
        (("--prompt", "silent.txt"), "has no {question}"),
        (("--price-in", "1"), "price_out is missing: give the prices"),
        (("--show-prompt", "--system", "python:json:loads"), "is sent no prompt"),
    ],
)
def test_what_cannot_be_meant_is_said_before_anything_is_asked(
    more: tuple[str, ...], said: str, shop: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.txt").write_text("{shema} {question}", encoding="utf-8")
    (tmp_path / "silent.txt").write_text("{schema}", encoding="utf-8")
    with ChatEmulator(answers=half_right) as server:
        arguments = command(shop, server, tmp_path / "run")
        if "--system" in more:
            del arguments[arguments.index("--param") : arguments.index("--param") + 2]
        done = assay(*arguments, *more, cwd=tmp_path)
        assert server.calls == ()
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert said in done.stderr
    assert not (tmp_path / "run").exists()
