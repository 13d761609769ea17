"""A server on loopback that speaks the part of the Hugging Face hub's protocol that a download needs."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """What it serves, as ``{repository: {file name: path}}``, and what it was asked for."""

    def __init__(self, files: Mapping[str, Mapping[str, Path]]) -> None:
        self.files = files
        self.asked: list[str] = []
        self.status = 200
        self.address = ""

    def content(self, path: str) -> bytes | None:
        parts = path.partition("?")[0].strip("/").split("/")
        if len(parts) != 6 or parts[0] != "datasets" or parts[3] != "resolve" or parts[4] not in ("main", COMMIT):
            return None
        file = self.files.get("/".join(parts[1:3]), {}).get(parts[5])
        return file.read_bytes() if file is not None else None


@contextmanager
def serve(hub: Hub) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self, *, body: bool) -> None:
            hub.asked.append(f"{self.command} {self.path}")
            content = hub.content(self.path)
            if content is None or hub.status != 200:
                status = hub.status if hub.status != 200 else 404
                self.send_response(status)
                self.send_header("X-Error-Code", "EntryNotFound" if status == 404 else "Trouble")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body:
                self.wfile.write(content)

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
