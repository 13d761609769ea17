"""`assay run --system`: commands, Python callables and HTTP endpoints, asked about the bundled shop."""

from __future__ import annotations

import json
import shlex
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import pytest
from processes import assay

from assay.demo import build_database, cases_path, predictions_path

_SYSTEM = """
import json, os, pathlib, sys

FOLDER = pathlib.Path(__file__).parent
ANSWERS = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))

def sql_for(question):
    with (FOLDER / "asked.log").open("a", encoding="utf-8") as log:
        log.write(question + "\\n")
    if "ASSAY_PASSWORD" in os.environ:
        raise RuntimeError("the password of another system is none of mine")
    return ANSWERS[question]

if __name__ == "__main__":
    print(sql_for(sys.stdin.read().strip()))
"""
LIMIT = 12


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shop's database and a system that knows the bundled answers."""
    folder = tmp_path_factory.mktemp("shop")
    build_database(folder)
    (folder / "mine.py").write_text(_SYSTEM)
    (folder / "answers.json").write_text(json.dumps(bundled_answers()))
    return folder


def bundled_answers() -> dict[str, str]:
    """The first cases' bundled answers, by question."""
    predictions = [json.loads(line) for line in predictions_path().read_text(encoding="utf-8").splitlines()]
    by_id = {one["id"]: one["predicted_sql"] for one in predictions}
    cases = [json.loads(line) for line in cases_path().read_text(encoding="utf-8").splitlines()]
    return {case["question"]: by_id.get(case["id"]) or "" for case in cases[:LIMIT]}


def outcomes(run: Path) -> dict[str, str]:
    found = [json.loads(line)["evidence"] for line in (run / "journal.jsonl").read_bytes().splitlines()]
    return {one["case"]["id"]: one["verdict"]["outcome"] for one in found}


def judge(shop: Path, run: Path, *more: object, **env: str) -> Any:
    arguments = ("run", cases_path(), "--db", f"sqlite:///{shop / 'shop.sqlite'}", "--metrics", "match", "-q")
    return assay(*arguments, "--limit", LIMIT, "--timeout", 60, "-o", run, *more, cwd=shop, env=env)


@pytest.fixture(scope="module")
def expected(shop: Path) -> dict[str, str]:
    """The verdicts on the same answers from a file."""
    from assay import FileOptions, evaluate

    run = evaluate(
        cases_path(),
        predictions_path(),
        databases=f"sqlite:///{shop / 'shop.sqlite'}",
        metrics=["match"],
        files=FileOptions(limit=LIMIT),
    )
    found = {item.case.id: item.verdict.outcome for item in run.evidence}
    assert set(found.values()) >= {"correct", "incorrect"}
    return found


def commands(shop: Path) -> dict[str, tuple[str, ...]]:
    script = shlex.join([sys.executable, str(shop / "mine.py")])
    return {"command": (f"command:{script}",), "python": ("python:mine:sql_for",)}


@pytest.mark.parametrize("kind", ["command", "python"])
def test_a_system_gets_the_verdicts_of_its_answers_and_is_asked_once(
    kind: str, shop: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    log = shop / "asked.log"
    log.unlink(missing_ok=True)
    system = ("--system", *commands(shop)[kind], "--concurrency", 3)
    first = judge(shop, tmp_path / "run", *system, ASSAY_PASSWORD="of-another", ASSAY_USER="somebody")
    assert (first.returncode, first.stderr) == (0, "")
    assert outcomes(tmp_path / "run") == expected
    assert sorted(log.read_text(encoding="utf-8").splitlines()) == sorted(bundled_answers())
    again = judge(shop, tmp_path / "run", *system)
    assert (again.returncode, again.stderr) == (0, "")
    assert len(log.read_text(encoding="utf-8").splitlines()) == LIMIT


def test_an_http_system_is_asked_by_template_and_several_at_once(
    shop: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    with _endpoint(together=4) as (address, bodies):
        done = judge(
            shop,
            tmp_path / "run",
            *("--system", f"http:{address}/ask", "--concurrency", 4, "--query-path", "data.0.sql"),
            *("--body", '{"q": "{question}", "db": "{database}"}', "--param", "dialect=sqlite"),
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert outcomes(tmp_path / "run") == expected
    assert sorted(body["q"] for body in bodies) == sorted(bundled_answers())
    assert all((body["db"], body["dialect"]) == ("shop", "sqlite") for body in bodies)


@pytest.mark.parametrize(
    "template", ["""'{"q": "{question}", "db": "{database}"}'""", '{q: "{question}", db: "{database}"}']
)
def test_a_settings_file_says_how_an_http_system_is_asked(
    template: str, shop: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    with _endpoint(together=4) as (address, bodies):
        (tmp_path / "eval.yaml").write_text(
            f"cases: {cases_path()}\n"
            f"db: sqlite:///{(shop / 'shop.sqlite').as_posix()}\n"
            f"limit: {LIMIT}\noutput: run\nsystem: http:{address}/ask\nconcurrency: 4\nquery_path: data.0.sql\n"
            f"request_template: {template}\nparam: {{dialect: sqlite}}\nsystem_timeout_s: 300\nretries: 0\n",
            encoding="utf-8",
        )
        done = assay("run", "eval.yaml", "-q", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert outcomes(tmp_path / "run") == expected
    assert all((body["db"], body["dialect"]) == ("shop", "sqlite") for body in bodies)


def test_a_system_that_is_not_there_stops_before_anything_is_written(shop: Path, tmp_path: Path) -> None:
    for system, named in (
        ("command:./no-such-thing", "no-such-thing"),
        ("python:mine:no_such", "no_such"),
        ("oracle:x", "oracle"),
    ):
        done = judge(shop, tmp_path / "run", "--system", system)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert named in done.stderr
        assert not (tmp_path / "run").exists()


def test_predictions_and_a_system_do_not_go_together(shop: Path, tmp_path: Path) -> None:
    done = judge(shop, tmp_path / "run", "--system", "python:mine:sql_for", "-p", predictions_path())
    assert (done.returncode, (tmp_path / "run").exists()) == (2, False)
    assert "--predictions and --system" in done.stderr


class _endpoint:  # noqa: N801 - used as a function
    """An HTTP server that answers only once ``together`` questions wait for it at one time."""

    def __init__(self, *, together: int) -> None:
        answers, bodies, barrier = bundled_answers(), [], Barrier(together)
        self._bodies: list[dict[str, Any]] = bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                bodies.append(body)
                try:
                    barrier.wait(timeout=300)
                except BrokenBarrierError:
                    self.send_error(500, "the questions did not come together")
                    return
                content = json.dumps({"data": [{"sql": answers[body["q"]]}]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def __enter__(self) -> tuple[str, list[dict[str, Any]]]:
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}", self._bodies

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
