"""A small server that speaks the Data Catalog's execute endpoint, backed by DuckDB, with faults on demand."""

from __future__ import annotations

import base64
import json
import threading
import time
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import duckdb

PATH = "/denodo-data-catalog/public/api/askaquestion/execute"
OWN = "ada:p%40ss%2Fw%3Ard@"
"""The credentials that the server accepts, as a URL has them."""


@dataclass
class Catalog:
    """The server's data, what it was asked, and how it misbehaves."""

    database: duckdb.DuckDBPyConnection
    user: str = "ada"
    password: str = "p@ss/w:rd"
    token: str = "tok-123"
    fault: str | None = None
    """One of the cases of `Handler.misbehave`."""
    raw: bytes = b""
    spared: tuple[str, ...] = ()
    """Queries that are answered well whatever the fault."""
    masked: tuple[str, ...] = ()
    """Queries whose rows come with masked values."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    connections: set[tuple[str, int]] = field(default_factory=set)
    drop_kept: bool = False
    """Close each connection right after its answer without saying so."""
    release: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    def url(self, *, credentials: str = OWN, options: str = "") -> str:
        return f"denodo+http://{credentials}127.0.0.1:{self.port}/denodo-data-catalog{options}"


def load(folder: Path) -> duckdb.DuckDBPyConnection:
    """A bank of a few customers and loans, from CSV files written here."""
    connection = duckdb.connect()
    files = {
        "customer": "id,name,city\n1,Ada,Oslo\n2,Bob,Rome\n3,Cid,Oslo\n4,Dee,\n",
        "loan": "id,customer_id,amount\n1,1,100.5\n2,1,200\n3,2,50.25\n4,3,200\n",
    }
    connection.execute("CREATE SCHEMA bank")
    for name, text in files.items():
        path = folder / f"{name}.csv"
        path.write_text(text, encoding="utf-8")
        connection.execute(f"CREATE TABLE bank.{name} AS SELECT * FROM read_csv('{path}')")
    return connection


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for the client to acknowledge its headers
    catalog: Catalog

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        catalog = self.catalog
        catalog.connections.add(self.client_address)
        catalog.paths.append(self.path)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        catalog.asked.append(body)
        pair = base64.b64encode(f"{catalog.user}:{catalog.password}".encode()).decode()
        if self.headers.get("authorization") not in (f"Basic {pair}", f"Bearer {catalog.token}"):
            self.answer(401, {"message": f"Bad credentials {self.headers.get('authorization')}\n\tat trace"})
        elif catalog.fault is not None and body["vql"] not in catalog.spared:
            self.misbehave(catalog.fault, body["vql"])
        else:
            self.run(body["vql"], body["limit"])
        if catalog.drop_kept:
            self.close_connection = True

    def run(self, vql: str, limit: int) -> None:
        cursor = self.catalog.database.cursor()
        try:
            cursor.execute(vql.split(" CONTEXT", maxsplit=1)[0].rstrip("; "))
            names = [column[0] for column in cursor.description or []]
            rows = cursor.fetchmany(limit)
        except duckdb.Error as error:
            self.answer(500, {"message": f"{str(error).splitlines()[0]}\n\tat com.denodo.Something(secret)"})
            return
        cells = [[{"column": n, "value": plain(v)} for n, v in zip(names, row, strict=True)] for row in rows]
        found: dict[str, Any] = {"rows": [{"values": row} for row in cells]} if rows else {"rows": None}
        self.answer(200, {**found, "masked": True} if vql in self.catalog.masked else found)

    def misbehave(self, fault: str, vql: str) -> None:
        match fault:
            case "slow":
                self.catalog.release.wait(600)
                self.answer(200, {})
            case "trickle":
                self.begin(200, "application/json", 1_000_000)
                while not self.catalog.release.wait(0.05):
                    self.wfile.write(b" ")
            case "500":
                self.answer(500, {"message": "View 'x' not found\n\tat com.denodo.Parser"})
            case "500-html" | "404" | "503" | "504" | "403":
                self.begin(int(fault[:3]), "text/html", 0)
            case "quoting":
                message = f"Error executing '{vql}': connection refused"
                self.answer(200, {"rows": [], "executionErrors": [{"message": message}]})
            case "404-spring":
                self.answer(404, {"status": 404, "error": "Not Found", "path": self.path})
            case "redirect":
                self.send_response(302)
                self.send_header("Location", "/login")
                self.send_header("Content-Length", "0")
                self.end_headers()
            case "cut":
                self.begin(200, "application/json", 1000)
                self.wfile.write(b'{"rows": [{"values": [')
                self.close_connection = True
            case "garbage":
                self.send(200, b'{"rows": [{"values": [}', "application/json")
            case "html":
                self.send(200, b"<html>Sign in</html>", "text/html")
            case "echo":
                self.answer(500, {"message": f"user {self.catalog.user} with {self.catalog.password} may not"})
            case "raw":
                self.send(200, self.catalog.raw, "application/json")

    def answer(self, status: int, content: object) -> None:
        self.send(status, json.dumps(content).encode(), "application/json")

    def send(self, status: int, data: bytes, kind: str) -> None:
        self.begin(status, kind, len(data))
        self.wfile.write(data)

    def begin(self, status: int, kind: str, length: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.end_headers()


def plain(value: object) -> object:
    """A value as the server's JSON has it."""
    if isinstance(value, date | datetime):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what some of these tests are about."""


def start(folder: Path) -> tuple[Catalog, Server]:
    catalog = Catalog(database=load(folder))
    handler = type("CatalogHandler", (Handler,), {"catalog": catalog})
    server = Server(("127.0.0.1", 0), handler)
    catalog.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return catalog, server


def seconds_of(what: Any) -> tuple[Any, float]:
    """What a call gives, and how long it took."""
    began = time.monotonic()
    return what(), time.monotonic() - began
