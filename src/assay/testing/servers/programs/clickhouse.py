"""clickhouse.py PORT FOLDER: a small ClickHouse server over HTTP around chdb, the real engine, on loopback.

It does what clients of ClickHouse's HTTP interface expect: the query in the body or in ``query``, every other parameter
a setting of that query (``readonly`` and the limits too), ``database``, ``query_id`` (also for KILL QUERY), parameters
``param_x``, blocks streamed as they come, and the exception's code in a header. Users: ``default`` without a password
may do everything; ``reader`` with the password ``reader`` may only read. Sessions, roles, quotas and compression are
missing.
"""

import base64
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

chdb: Any = import_module("chdb")

USERS = {"default": "", "reader": "reader"}
TRANSPORT = {
    "query", "query_id", "database", "default_format", "compress", "decompress", "buffer_size", "wait_end_of_query",
    "session_id", "session_timeout", "session_check", "quota_key", "role", "user", "password", "stacktrace",
    "client_protocol_version", "enable_http_compression", "http_headers_progress_interval_ms",
    "send_progress_in_http_headers", "cancel_http_readonly_queries_on_client_close",
}  # fmt: skip
STATUS = {516: 403, 193: 403, 194: 403, 497: 403, 60: 404, 81: 404, 159: 408}
STREAMED = ("Native", "TabSeparated", "CSV", "RowBinary", "JSONEachRow")
FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*$", re.IGNORECASE)
READS = re.compile(r"\s*\(*\s*(SELECT|WITH)\b", re.IGNORECASE)
INSERT = re.compile(rb"\s*INSERT\b[^'\n]*\bFORMAT\s+\w+\s*\n", re.IGNORECASE)
KILL = re.compile(r"\s*KILL\s+QUERY\b", re.IGNORECASE)
QUERY_ID = re.compile(r"\bquery_id\s*=\s*'([^']*)'", re.IGNORECASE)


def quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Refused(Exception):
    """What is answered with an exception of ClickHouse's."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    data_folder: ClassVar[str]

    def do_GET(self) -> None:
        path = urlsplit(self.path)
        if path.path == "/ping":
            self.whole(200, b"Ok.\n")
            return
        given = dict(parse_qsl(path.query, keep_blank_values=True))
        body = b"".join(self.body())
        try:
            if (encoding := self.headers.get("Content-Encoding")) and body:
                raise Refused(f"Code: 48. DB::Exception: {encoding} is not supported here: connect with compress=False")
            user = self.user(given)
            data = body
            if (text := given.pop("query", None)) is None:
                found = INSERT.match(body)
                start, data = (found[0], body[found.end() :]) if found else (body, b"")
                text = start.decode()
            self.answer(text, data, given, user)
        except Exception as error:  # noqa: BLE001 - whatever chdb raises is the answer
            self.failed(str(error))

    do_POST = do_GET  # noqa: N815

    def body(self) -> Iterator[bytes]:
        if self.headers.get("Transfer-Encoding") != "chunked":
            yield self.rfile.read(int(self.headers.get("Content-Length") or 0))
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def user(self, given: dict[str, str]) -> str:
        name = self.headers.get("X-ClickHouse-User") or given.get("user") or "default"
        password = self.headers.get("X-ClickHouse-Key") or given.get("password") or ""
        scheme, _, credentials = (self.headers.get("Authorization") or "").partition(" ")
        if scheme == "Basic":
            name, _, password = base64.b64decode(credentials).decode().partition(":")
        if USERS.get(name) != password:
            raise Refused(
                f"Code: 516. DB::Exception: {name}: Authentication failed: password is incorrect, or there is no user "
                "with such name. (AUTHENTICATION_FAILED)"
            )
        return name

    def answer(self, text: str, data: bytes, given: dict[str, str], user: str) -> None:
        connection = chdb.connect(self.data_folder)
        try:
            if database := given.get("database"):
                connection.query(f"USE `{database}`")
            # A comment in the query stands for the id that the client gave it: chdb gives it another one.
            if KILL.match(text):
                text = QUERY_ID.sub(lambda match: f"position(query, '/* {match[1]} */') > 0", text)
            text = text.strip().rstrip(";")
            found = FORMAT.search(text)
            form = found[1] if found else given.get("default_format") or "TabSeparated"
            parameters = {name[6:]: value for name, value in given.items() if name.startswith("param_")}
            settings = {name: given[name] for name in given.keys() - TRANSPORT if not name.startswith("param_")}
            readonly = settings.pop("readonly", "2" if user == "reader" else "0")
            for name, value in settings.items():
                if not name.isidentifier():
                    raise Refused(f"Code: 115. DB::Exception: Unknown setting '{name}'. (UNKNOWN_SETTING)")
                connection.query(f"SET {name} = {quoted(value)}")
            connection.query(f"SET readonly = {quoted(readonly)}")  # the last: after it no setting may change
            if data:
                self.insert(connection, text, data)
                self.whole(200, b"")
                return
            if form in STREAMED and READS.match(text) and not parameters:
                self.streamed(connection.send_query(f"{text} /* {given.get('query_id')} */", form), form)
            else:
                with_parameters = {"params": parameters} if parameters else {}
                self.whole(200, connection.query(text, form, **with_parameters).bytes(), form)
        finally:
            connection.close()

    def insert(self, connection: Any, text: str, data: bytes) -> None:
        with tempfile.NamedTemporaryFile(dir=self.data_folder) as file:
            file.write(data)
            file.flush()
            connection.query(FORMAT.sub(lambda match: f"FROM INFILE '{file.name}' FORMAT {match[1]}", text.strip()))

    def streamed(self, blocks: Any, form: str) -> None:
        try:
            first = next(blocks, None)
            self.head(200, form, chunked=True)
            while first is not None:
                if block := first.bytes():
                    try:
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
                    except OSError:  # the client does not want the rest
                        self.close_connection = True
                        return
                try:
                    first = next(blocks, None)
                except Exception as error:  # noqa: BLE001 - after the status: the connection breaks off, as ClickHouse's does
                    message = f"\r\n__exception__\r\n{error}".encode()
                    with suppress(OSError):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(message), message))
                    self.close_connection = True
                    return
            self.wfile.write(b"0\r\n\r\n")
        finally:
            with suppress(Exception):
                blocks.close()

    def failed(self, message: str) -> None:
        message = message[max(message.find("Code: "), 0) :]
        code = re.match(r"Code: (\d+)", message)
        number = int(code[1]) if code else 1002
        version = " (version 26.9.2.1 (official build))"
        self.whole(STATUS.get(number, 500), (message.strip() + version + "\n").encode(errors="replace"), code=number)

    def whole(self, status: int, body: bytes, form: str = "TabSeparated", code: int | None = None) -> None:
        self.head(status, form, length=len(body), code=code)
        self.wfile.write(body)

    def head(self, status: int, form: str, *, length: int = 0, chunked: bool = False, code: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self.send_header("X-ClickHouse-Server-Display-Name", "assay")
        self.send_header("X-ClickHouse-Format", form)
        self.send_header("X-ClickHouse-Timezone", "UTC")
        self.send_header("X-ClickHouse-Summary", json.dumps({"read_rows": "0", "read_bytes": "0"}))
        if code is not None:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def main(port: str, folder: str) -> None:
    keeper = chdb.connect(folder)  # the engine lives while a connection is open
    keeper.query("SELECT 1")
    Handler.data_folder = folder
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
