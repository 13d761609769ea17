"""Headers for a gateway: sent with each request to every kind of server, and shown nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import assay
import commands
from assay.engines.denodo.config import DenodoConfig
from assay.engines.denodo.url import read_endpoint
from assay.errors import InputError
from assay.model import Case, DatabaseUrl, Secret
from assay.model.databases.secret import read_headers
from assay.systems.options import SystemOptions
from assay.testing import example
from many_cases import each
from replying import Request, replying

KEY = "gate way-4711&x=y:z"


@contextmanager
def _gateway() -> Iterator[tuple[str, list[Request]]]:
    """A server that answers as all kinds of systems at once, but only with the header of the gateway."""
    query, rows = "SELECT 1 AS a FROM t", [{"values": [{"column": "a", "value": 1}]}]
    answer = {"sql_query": query, "answer": KEY, "choices": [{"message": {"role": "assistant", "content": query}}]}

    def reply(request: Request) -> tuple[int, object]:
        if request.headers["X-Gateway-Key"] != KEY:
            return 403, {"message": f"no key; not {KEY}"}
        return 200, {"rows": rows} if "execute" in request.path else {**answer, "rows": rows}

    with replying(reply) as (url, seen):
        yield url, seen


@pytest.mark.parametrize("url", ["http:{}/ask", "denodo:{}/answerDataQuestion", "chat:{}/v1"])
def test_every_request_to_a_system_has_the_headers(url: str, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("{question}", encoding="utf-8")
    with _gateway() as (place, seen):
        parameters = {"model": "m"} if url.startswith("chat") else {}
        headers = {"X-Gateway-Key": KEY, "X-Tenant": "t1"}
        system = assay.open_system(url.format(place), headers=headers, parameters=parameters, prompt=str(prompt))
        prediction = system.answer(Case(id="1", question="q"))
        system.close()
    assert (prediction.query or "").startswith("SELECT 1 AS a FROM t")
    assert [(one.headers["X-Gateway-Key"], one.headers["X-Tenant"]) for one in seen] == [(KEY, "t1")]
    assert KEY not in system.describe() + repr(prediction)


def test_assay_denodo_sends_the_headers_to_both_servers_and_shows_them_nowhere(tmp_path: Path) -> None:
    workbook = example.write_workbook(tmp_path / example.WORKBOOK)
    with _gateway() as (place, seen):
        arguments = ["denodo", "--input", workbook, "--output", tmp_path / "out.xlsx", "--question-rows", 2]
        arguments += ["--api-url", f"{place}/answerDataQuestion", "--catalog-url", f"{place}/denodo-data-catalog"]
        arguments += ["--header", "X-Gateway-Key=${GATE_KEY}", "--header", "X-Tenant=t1"]
        arguments += ["--no-ves", "--html", tmp_path / "o.html"]
        done = commands.here([str(one) for one in arguments], env=_environment(GATE_KEY=KEY), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {one.path.partition("?")[0] for one in seen} == {
        "/answerDataQuestion",
        "/denodo-data-catalog/public/api/askaquestion/execute",
    }
    assert {(one.headers["X-Gateway-Key"], one.headers["X-Tenant"]) for one in seen} == {(KEY, "t1")}
    told = done.stdout + done.stderr
    told += "".join(path.read_bytes().decode("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file())
    for form in (KEY, "gate%20way-4711", "gate+way-4711"):
        assert form not in told


def test_a_settings_file_names_headers(tmp_path: Path, make_sqlite: Any) -> None:
    database = make_sqlite("CREATE TABLE t(b)")
    with _gateway() as (place, seen):
        (tmp_path / "eval.yaml").write_text(
            "cases:\n  - {id: '1', question: q, gold_sql: SELECT 1 AS a FROM t}\n"
            f"db: sqlite:///{database}\nsystem: http:{place}/ask\nheaders: ['X-Gateway-Key=${{GATE_KEY}}']\n",
            encoding="utf-8",
        )
        arguments = ["run", "eval.yaml", "-o", "r", "--query-path", "sql_query"]
        done = commands.here(arguments, env=_environment(GATE_KEY=KEY), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert [one.headers["X-Gateway-Key"] for one in seen] == [KEY]
        missing = commands.here([*arguments, "--overwrite"], env=_environment(), cwd=tmp_path)
    assert missing.returncode == 2
    assert "environment variable GATE_KEY, which is not set" in missing.stderr


def _environment(**given: str) -> dict[str, str]:
    import os

    return {**os.environ, **given}


@each(
    ("headers", "says"),
    [
        (["X-Key"], "write NAME=VALUE"),
        (["=abc-secret"], "write NAME=VALUE"),
        (["X Key=abc-secret"], "invalid name"),
        (["X-Key=abc-secret\nX: 1"], "is not valid in an HTTP header"),
        (["X-Key=äbc-secret"], "is not valid in an HTTP header"),
        (["X-Key="], "is empty"),
        (["X-Key=abc-secret", "x-key=abc-secret"], "given twice"),
        (["Content-Length=5"], "set by Assay itself"),
        (["X-Key=${NOT_SET}"], "environment variable NOT_SET"),
        (["X-Key: "], "is empty"),
        (["X-Key: abc-secret", "x-key=abc-secret"], "given twice"),
        (["abc-secret"], "write NAME=VALUE"),
        (["X-Key abc-secret"], "write NAME=VALUE"),
        ([": abc-secret"], "write NAME=VALUE"),
        (["Bearer abc-secret: x"], "invalid name"),
        (["abc-secret/x=="], "invalid name"),
    ],
)
def test_an_unusable_header_is_named_without_its_value(headers: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        read_headers(headers, {})
    assert "secret" not in str(caught.value)


def test_a_header_cannot_carry_other_credentials_than_the_options() -> None:
    headers = (("Authorization", Secret("Bearer abc")),)
    with pytest.raises(InputError, match="one Authorization"):
        SystemOptions(headers=headers, user="u")
    assert "abc" not in repr(SystemOptions(headers=headers))


def test_headers_survive_the_way_through_a_database_url() -> None:
    headers = (("X-Gateway-Key", Secret(KEY)), ("X-B", Secret("1+2/3{db_id}${HOME}")))
    config = DenodoConfig(url="http://host:9090/denodo-data-catalog", server_id=2)
    url = config.database_url(user="u", password=Secret("p"), headers=headers)
    assert read_endpoint(url).headers == headers
    assert read_endpoint(url).server_id == 2
    assert "4711" not in str(url)
    assert url.holds_secret
    plain = DatabaseUrl.parse("denodo+http://host/c?header=X-Key:secret1&header=X-B:secret2")
    assert str(plain).count("secret") == 0


@each("sign", ["=", ":", ": ", " = ", " : "])
@each("value", ["abc", "a=b", "a:b", "Bearer x=="])
def test_a_header_is_read_in_its_own_spelling_and_in_that_of_curl(sign: str, value: str) -> None:
    assert read_headers([f"X-Key{sign}{value}"], {}) == (("X-Key", Secret(value)),)


def test_the_row_of_a_header_is_answered_by_its_option() -> None:
    with pytest.raises(InputError, match="write  --header-row 3"):
        read_headers(["3"], {})


@each(
    "options",
    [
        ["--header", "X-Api-Key supersecret-1"],
        ["--header", "supersecret-1"],
        ["--header", "Api Key: supersecret-1"],
        ["--param", "api_key: supersecret-1"],
        ["--param", "api_key supersecret-1"],
        ["--param", "supersecret-1"],
        ["--user", "me:supersecret-1"],
        ["--body", '{"api_key": "supersecret-1", "q": "{question}"'],
        ["--body", '["supersecret-1"]'],
        ["--body", '{"api_key": "supersecret-1"}'],
        ["--body", '{"api_key": "supersecret-1", "q": "{question} {nothing}"}'],
    ],
    ids=lambda options: " ".join(options)[:40],
)
def test_no_message_about_an_unusable_option_shows_its_value(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "1", "question": "?", "gold_sql": "SELECT 1"}) + "\n")
    said = commands.here(
        ["run", "c.jsonl", "--system", "http://127.0.0.1:9/ask", "--db", "sqlite://", *options],
        env=_environment(),
        cwd=tmp_path,
    )
    assert said.returncode == 2
    assert "error" in said.stderr
    assert "supersecret" not in said.stdout + said.stderr
