"""A server may send a secret back in any text: no file, page, log or message of a run shows it."""

from __future__ import annotations

import json
import logging
import zipfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote_plus

import pytest

import assay
from assay.errors import InputError, SystemUnusable
from assay.model import Case
from assay.model.databases.secret import MASK, masked, secret_forms, shown_location
from many_cases import each
from replying import Request, replying

USER, PASSWORD = "auditor", "pä/ss wörd&\"ten'<x>"
PAIR = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
FORMS = (PASSWORD, quote(PASSWORD, safe=""), quote(PASSWORD), quote_plus(PASSWORD), json.dumps(PASSWORD)[1:-1], PAIR)
CUT = "x" * 285 + " " + PASSWORD
"""Messages are cut at 300 characters: within the secret."""
_ROWS = json.dumps({"rows": [{"values": [{"column": "a", "value": 1}]}]})


@contextmanager
def _serving(answers: Mapping[str, tuple[int, str, Mapping[str, str], str]]) -> Iterator[str]:
    """A server: by the beginning of the path the status, reason phrase, headers and body of each answer."""

    def reply(request: Request) -> tuple[Any, ...]:
        status, reason, headers, content = next(
            answer for start, answer in answers.items() if request.path.startswith(start)
        )
        return (status, reason), content, headers

    with replying(reply) as (url, _):
        yield url.removeprefix("http://")


def _denodo(text: str, *, query: str = "SELECT 1 AS a FROM t") -> str:
    texts = dict.fromkeys(("answer", "query_explanation", "execution_result", "raw_graph", text), text)
    return json.dumps({**texts, "sql_query": query, "tables_used": [text, f"bank.{text}"], "related_questions": [text]})


def _http(text: str, *, query: str = "SELECT 1 AS a FROM t") -> str:
    times = {text: 1.5, "total": 2}
    said = {"sql": query, "answer": text, "times": times, "sure": text, "usage": {text: 1}}
    return json.dumps({**said, "given": {text: [text]}})


def _chat(text: str, *, query: str = "SELECT 1 AS a FROM t") -> str:
    message = {
        "content": f"{text}\n```sql\n{query}\n```\n{text}" if query else text,
        "refusal": text if not query else None,
    }
    return json.dumps({"choices": [{"message": message, "finish_reason": text}], "model": text})


def _system(kind: str, place: str, folder: Path) -> Any:
    access = {"user": USER, "password": PASSWORD, "retries": 0}
    if kind == "denodo":
        return assay.open_system(f"denodo:http://{place}/answerDataQuestion", **access)
    if kind == "http":
        paths = {"query_path": "sql", "tokens_path": "usage", "times_path": "times", "confidence_path": "sure"}
        paths["context_path"] = "given"
        return assay.open_system(f"http:http://{place}/answer", **access, **paths)
    prompt = folder / "prompt.txt"
    prompt.write_text("{question}", encoding="utf-8")
    return assay.open_system(f"chat:http://{place}/answer/v1", **access, parameters={"model": "m"}, prompt=str(prompt))


_BODY = {"denodo": _denodo, "http": _http, "chat": _chat}


def _answers(kind: str, text: str) -> dict[str, tuple[int, str, Mapping[str, str], str]]:
    """Answers in which a server repeats the text everywhere, by name."""
    error = json.dumps({"detail": {"error": text, "traceback": text}, "error": {"message": text}, "message": text})
    ascii_text = quote(text)
    return {
        "answered": (200, "OK", {}, _BODY[kind](text)),
        "no query": (200, "OK", {}, _BODY[kind](text, query="")),
        "other fields": (200, "OK", {}, json.dumps({text: text})),
        "text": (200, "OK", {}, text),
        "list": (200, "OK", {}, json.dumps([text])),
        "not found": (404, ascii_text, {"X-Said": ascii_text}, error),
        "refused": (400, ascii_text, {}, error),
        "failed": (500, ascii_text, {}, error),
        "plain error": (503, ascii_text, {"Retry-After": "0"}, text),
        "redirect": (302, ascii_text, {"Location": f"http://u:{ascii_text}@sso/login?p={ascii_text}#{ascii_text}"}, ""),
    }


_CATALOG = "/denodo-data-catalog"


@pytest.mark.parametrize("kind", ["denodo", "http", "chat", "catalog"])
@pytest.mark.filterwarnings("ignore")
def test_no_text_of_a_server_leads_a_secret_into_a_run(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither of a system nor of the Data Catalog on which queries are executed."""
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    names = ["answered", "other fields", "text", "redirect"]
    names += ["plain error"] if kind == "catalog" else ["no query", "refused"]
    system = "denodo" if kind == "catalog" else kind
    login = f"{USER}:{quote(PASSWORD, safe='')}@" if kind == "catalog" else ""
    for text in (" ".join(FORMS), CUT):
        answers = _answers(system, text)
        for name in names:
            rows, answer = (200, "OK", {}, _ROWS), answers[name]
            if kind == "catalog":
                rows, answer = answer, (200, "OK", {}, _denodo("fine"))
            with _serving({_CATALOG: rows, "/answer": answer}) as place:
                said += _run(system, place, f"denodo+http://{login}{place}{_CATALOG}", tmp_path / f"{len(text)}_{name}")
    _assert_masked(tmp_path, [*said, caplog.text, *capfd.readouterr()])


def _run(kind: str, place: str, database: str, folder: Path) -> list[str]:
    """Evaluate one case and write every report. Gives the messages."""
    case = Case(id="1", question="q", golds=("SELECT 1 AS a FROM t",))
    system = _system(kind, place, folder.parent)
    try:
        run = assay.evaluate([case], system, databases=database, metrics=["match"], workers=1, output=folder)
    except (InputError, SystemUnusable) as error:
        return [str(error)]
    finally:
        system.close()
    for suffix in ("md", "xlsx", "json"):
        run.report(folder / f"out.{suffix}")
    return [run.summary() if callable(getattr(run, "summary", None)) else ""]


def _assert_masked(folder: Path, texts: list[str]) -> None:
    for path in folder.rglob("*"):
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as book:
                texts += [book.read(name).decode("utf-8", "replace") for name in book.namelist()]
        elif path.is_file():
            texts.append(path.read_bytes().decode("utf-8", "replace"))
    for text in texts:
        for form in (*FORMS, PASSWORD[:8], quote(PASSWORD)[:12]):
            assert form not in text, text[max(0, text.index(form) - 300) :][:500]


@each(
    ("location", "shown"),
    [
        ("http://u:secret@host:9090/a/b?token=secret#secret", "http://host:9090/a/b?…"),
        ("/login;jsessionid=secret?next=/x", "/login?…"),
        ("//host/a", "//host/a"),
        ("https://[::1]:8/a", "https://[::1]:8/a"),
        ("http://[broken", "an address that cannot be read"),
        ("http://host:secret/", "an address that cannot be read"),
        ("", ""),
    ],
)
def test_a_redirect_shows_where_it_leads_and_no_session(location: str, shown: str) -> None:
    assert shown_location(location) == shown


@each("length", range(len(PASSWORD) + 1))
def test_a_secret_that_a_cut_divides_is_masked(length: int) -> None:
    cut = masked(f"said: {PASSWORD[:length]}…", secret_forms(PASSWORD))
    assert PASSWORD[:4] not in cut
    assert length < 4 or cut == f"said: {MASK}…"


def test_each_form_of_a_secret_reads_as_the_secret() -> None:
    assert set(FORMS) <= set(secret_forms(PASSWORD, user=USER))
    assert unquote_plus(quote_plus(PASSWORD)) == PASSWORD
