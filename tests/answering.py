"""Asking a system every case at once, and a system behind HTTP that answers by a plan, each after a moment."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from assay.model import Case, Prediction
from assay.ports import System
from assay.systems.concurrency import Asker


def ask_all(
    system: System,
    cases: Sequence[Case],
    *,
    concurrency: int,
    on_answer: Callable[[Prediction], None],
    answered: Case | None = None,
) -> None:
    """Ask every case once, so many at a time; each answer goes to ``on_answer`` as it arrives."""
    Asker(system, cases, concurrency=concurrency, answered=answered).run(on_answer)


class Answering:
    """Answers ``{"q": question}`` with ``{"sql": …}``. A context manager."""

    def __init__(self, answers: dict[str, str], *, most_delay_s: float = 0.0, seed: int = 1) -> None:
        self.asked: Counter[str] = Counter()
        self.most: int | None = None
        """After so many questions every other one is refused in a way that makes the system unusable."""
        self.down: frozenset[str] = frozenset()
        """Questions that are answered with status 503, however often they are asked."""
        self.token: str | None = None
        """The bearer's token that every question must come with; None: any or none."""
        self.open = threading.Event()
        """While it is not set, questions wait."""
        self.open.set()
        self._answers = answers
        self._delays = random.Random(seed)
        self._most_delay_s = most_delay_s
        self._lock = threading.Lock()

    def __enter__(self) -> Answering:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["q"]
                known = outer.token in (None, self.headers.get("Authorization", "").removeprefix("Bearer "))
                status, content = outer._answer(question) if known else (401, b"Unauthorized")
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """To be given after ``http:``."""
        return f"http://127.0.0.1:{self._server.server_port}/ask"

    def _answer(self, question: str) -> tuple[int, bytes]:
        with self._lock:
            self.asked[question] += 1
            delay = self._delays.random() * self._most_delay_s
            refused = self.most is not None and self.asked.total() > self.most
        if refused:
            return 401, b"Unauthorized"
        if question in self.down:
            return 503, b"Service Unavailable"
        self.open.wait(300)
        time.sleep(delay)
        return 200, json.dumps({"sql": self._answers[question]}).encode()
