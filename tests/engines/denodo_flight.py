"""A small Arrow Flight SQL server, as much of one as Denodo's dialect asks for, backed by DuckDB."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from typing import Any

import duckdb
from pyarrow import flight

_TYPE = b"type.googleapis.com/arrow.flight.protocol.sql."


def fields(data: bytes) -> dict[int, bytes]:
    """The length-delimited fields of a protobuf message by number."""
    found: dict[int, bytes] = {}
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(data):
        key = varint()
        size = varint()
        if key & 7 == 2:
            found[key >> 3] = data[place : place + size]
            place += size
    return found


def message(number: int, content: bytes) -> bytes:
    """One length-delimited protobuf field."""
    size, left = b"", len(content)
    while left > 127:
        size += bytes([left & 127 | 128])
        left >>= 7
    return bytes([number << 3 | 2]) + size + bytes([left]) + content


class Session(flight.ServerMiddleware):  # type: ignore[misc]
    def sending_headers(self) -> dict[str, str]:
        return {"authorization": "Bearer session"}


class Credentials(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    def start_call(self, info: Any, headers: dict[str, list[str]]) -> Session:
        given = headers.get("authorization", [""])[0]
        if given.startswith("Basic "):
            given = base64.b64decode(given[6:] + "==").decode()
        if given not in ("ada:p@ss", "Bearer session"):
            raise flight.FlightUnauthenticatedError("bad credentials")
        return Session()


class AnyHandshake(flight.ServerAuthHandler):  # type: ignore[misc]
    def authenticate(self, outgoing: Any, incoming: Any) -> None:
        """The middleware has seen to that."""

    def is_valid(self, token: bytes) -> bytes:
        return b""


class FlightServer(flight.FlightServerBase):  # type: ignore[misc]
    """Prepared statements only, their text as their handle: that is how the driver asks."""

    def __init__(self) -> None:
        super().__init__("grpc://127.0.0.1:0", auth_handler=AnyHandshake(), middleware={"auth": Credentials()})
        self.release = threading.Event()

    def table(self, query: bytes) -> Any:
        try:
            with duckdb.connect() as database:
                return database.sql(query.decode()).to_arrow_table()
        except duckdb.Error as error:
            raise flight.FlightServerError(str(error).splitlines()[0]) from None

    def do_action(self, context: Any, action: Any) -> Iterator[bytes]:
        if action.type == "CreatePreparedStatement":
            query = fields(fields(action.body.to_pybytes())[2])[1]
            result = message(1, query) + message(2, self.table(query).schema.serialize().to_pybytes())
            yield message(1, _TYPE + b"ActionCreatePreparedStatementResult") + message(2, result)

    def get_flight_info(self, context: Any, descriptor: Any) -> Any:
        command = fields(descriptor.command)
        if b"PreparedStatement" not in command[1]:
            raise flight.FlightServerError("not supported")
        query = fields(command[2])[1]
        endpoints = [flight.FlightEndpoint(query, [])]
        return flight.FlightInfo(self.table(query).schema, descriptor, endpoints, -1, -1)

    def do_get(self, context: Any, ticket: Any) -> Any:
        if b"slow" in ticket.ticket:
            self.release.wait(600)
        return flight.RecordBatchStream(self.table(ticket.ticket))
