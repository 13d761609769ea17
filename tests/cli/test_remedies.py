"""Messages that name the verb, the option or the line that helps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import assay
import commands
from assay.errors import CaseFileError, InputError, SystemUnusable
from many_cases import each


@each(
    "row",
    [
        {"id": "1", "question": "How many?", "gold_sql": "SELECT 1"},
        {"question": "How many?", "query": "SELECT 1", "db_id": "shop"},
        {"question_id": 7, "question": "How many?", "SQL": "SELECT 1"},
        {"Question": "How many?", "Solution": "SELECT 1"},
    ],
)
def test_a_question_set_of_queries_is_sent_from_sdmx_to_run(row: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"id": "1", "answer": "?"}\n')
    for name, content in (("q.json", json.dumps([row])), ("q.jsonl", json.dumps(row)), ("q.yaml", json.dumps([row]))):
        (tmp_path / name).write_text(content)
        done = commands.here(["sdmx", name, "--predictions", "p.jsonl"], cwd=tmp_path, env=dict(os.environ))
        assert done.returncode == 2
        assert f"{name}: contains questions with gold queries" in done.stderr
        assert f"assay run {name}" in " ".join(done.stderr.split())
        with pytest.raises(CaseFileError, match=r"call assay\.evaluate"):
            assay.evaluate_selections(tmp_path / name, tmp_path / "p.jsonl")


def test_a_table_given_to_sdmx_names_run(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id,question,gold_sql\n1,How many?,SELECT 1\n")
    with pytest.raises(InputError, match=r"for questions with gold queries, call assay\.evaluate"):
        assay.evaluate_selections(tmp_path / "q.csv", {})


class _Refuses(BaseHTTPRequestHandler):
    status = 401

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.mark.parametrize("scheme", ["http", "denodo:http", "chat:http"])
def test_refused_credentials_name_the_header_option(
    scheme: str, make_sqlite: Callable[..., Path], tmp_path: Path
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refuses) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"{scheme}://127.0.0.1:{server.server_port}/v1"
        (tmp_path / "q.jsonl").write_text('{"id": "1", "question": "How many?", "gold_sql": "SELECT 1"}\n')
        database = f"sqlite:///{make_sqlite('CREATE TABLE t(a);')}"
        done = commands.here(
            ["run", "q.jsonl", "--system", url, "--db", database, "--param", "model=m", "--retries", "0"],
            cwd=tmp_path,
            env=dict(os.environ),
        )
        assert done.returncode == 2
        assert "--header 'X-Api-Key=KEY'" in " ".join(done.stderr.split())
        system = assay.open_system(url, parameters={"model": "m"}, retries=0)
        with pytest.raises(SystemUnusable, match=r"headers=\{'X-Api-Key': 'KEY'\}"):
            assay.evaluate(tmp_path / "q.jsonl", system, databases=database)
        server.shutdown()
