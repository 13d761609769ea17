"""A live system: a small HTTP server that turns questions into SQL, to be asked by Assay in place of a file.

    assay demo                                   # writes assay-demo/ with questions and a database
    python examples/live-system/server.py        # in another terminal; port 8090, or the one that you name
    assay run examples/live-system/eval.yaml --query-path sql --confidence-path confidence

A real one has a model where this one has rules. It takes {"question": …} and answers {"sql": …, "confidence": …}.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TABLES = ("customers", "products", "orders", "categories", "reviews")


def to_sql(question: str) -> tuple[str | None, float]:
    """A query for a question, and how sure it is; no query where no rule applies."""
    words = re.findall(r"\w+", question.lower())
    table = next((table for table in TABLES if table in words or table[:-1] in words), None)
    if table is None:
        return None, 0.0
    if {"how", "many"} <= set(words):
        return f"SELECT COUNT(*) FROM {table}", 0.9
    return f"SELECT name FROM {table}", 0.3


class Handler(BaseHTTPRequestHandler):
    """Answers one POST."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        sql, confidence = to_sql(asked["question"])
        body = json.dumps({"sql": sql, "confidence": confidence}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8090), Handler)
    print(f"answering at http://127.0.0.1:{server.server_port}/ask; Ctrl-C stops it", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()
