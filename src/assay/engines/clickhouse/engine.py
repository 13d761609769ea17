"""ClickHouse through its HTTP interface and the driver clickhouse-connect.

Each query has its own ``query_id``, by which it is killed at its time limit, and is sent with ``readonly=1``: the
server itself then refuses writes, settings, and functions that reach outside. For values see
`assay.engines.clickhouse.values`.
"""

from __future__ import annotations

import logging
import math
import re
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import tzinfo
from functools import partial
from itertools import islice
from typing import Any, ClassVar

from assay.engines.clickhouse import catalogue
from assay.engines.clickhouse.errors import explain, is_conversion_error
from assay.engines.clickhouse.url import read_address
from assay.engines.clickhouse.values import QUERY_FORMATS, TICKS, converter, has_nanoseconds, has_zoneless_times
from assay.engines.reading import Column, failing, reading
from assay.engines.warehouse.base import Answer, Problem, Warehouse
from assay.errors import DatabaseError
from assay.model import DatabaseSchema, DatabaseUrl, Execution, Limits, Row
from assay.sql.comments import without_comments

_OWN_LIMITS = Limits(timeout_s=60.0)
_NESTED = re.compile(r"\b(?:JSON|Map|Variant|Dynamic|Tuple|Nested|Array)\b")
_AFTER_SERVER_S = 2.0
"""How much longer than the limit the client waits for an answer: the server is asked to end the query first."""
_TOO_LARGE = 396
"""The server's code for a result of more bytes than `max_result_bytes`."""
_SMALL_BLOCK = 1
"""How many rows a block has, and are fetched at once, if a block of the usual size is too large a result."""


class ClickhouseEngine(Warehouse):
    """One database of a ClickHouse server: ``clickhouse://user:password@host:port/database``."""

    name: ClassVar[str] = "clickhouse"
    dialect: ClassVar[str] = "clickhouse"
    form: ClassVar[str] = "clickhouse://USER:PASSWORD@HOST:PORT/DATABASE"
    extra: ClassVar[str] = "clickhouse"
    module: ClassVar[str] = "clickhouse_connect"
    package: ClassVar[str] = "clickhouse-connect>=1.12,<2"

    __slots__ = ("_address", "_query_id", "_settings", "_zone")

    def __init__(self, url: DatabaseUrl, limits: Limits) -> None:
        super().__init__(url, limits)
        self._address = read_address(url, form=self.form)
        self._query_id: str | None = None
        self._settings: dict[str, object] = {}
        self._zone: tzinfo | None = None

    @classmethod
    def version(cls) -> str:
        """The driver's version; the server's is part of the database's fingerprint."""
        cls.require()
        from importlib.metadata import version

        return f"clickhouse-connect {version('clickhouse-connect')}"

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """A hash of the content and the server's version: see `assay.engines.clickhouse.catalogue`."""
        with cls._reading(url) as engine:
            return catalogue.fingerprint(engine)

    @classmethod
    def warnings(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """What the user in the URL may do beyond reading. Raises DatabaseError as `check` does."""
        with cls._reading(url) as engine:
            found = catalogue.warnings(engine)
            if engine.is_read_only_profile:
                return ()
            return tuple(f"{url}: {sentence}" for sentence in found)

    @classmethod
    def reader_grants(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """Statements that create a user who may only read this database."""
        return catalogue.reader_grants(read_address(url, form=cls.form).database)

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables and views of the database. Raises DatabaseError if they cannot be listed."""
        return catalogue.read_schema(_Own(self), with_values=with_values)

    @property
    def settings(self) -> dict[str, object]:
        """What queries are sent with, once connected."""
        return self._settings

    def own(self, query: str) -> Execution:
        """Run one of Assay's own queries, which needs no check."""
        return self._run(query, check=False)

    @classmethod
    @contextmanager
    def _reading(cls, url: DatabaseUrl) -> Iterator[_Own]:
        """An engine for Assay's own queries. Its DatabaseErrors name the URL."""
        with closing(cls.open(url, _OWN_LIMITS)) as engine:
            try:
                yield _Own(engine)
            except DatabaseError as error:
                raise DatabaseError(f"{url}: {error}") from None

    def _connect(self) -> Any:
        import clickhouse_connect

        logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)  # its errors contain what it logs
        limits = self._limits
        client: Any = clickhouse_connect.get_client(
            **self._address.arguments,
            database=self._address.database,
            client_name="assay",
            autogenerate_session_id=False,  # a session runs one query at a time: another one could not end it
            query_limit=0,
            query_retries=0,
            send_receive_timeout=math.ceil(limits.timeout_s + _AFTER_SERVER_S),
            tz_mode="schema",
        )
        self._zone = client.server_tz
        wanted = {
            "max_execution_time": math.ceil(limits.timeout_s),
            "max_memory_usage": limits.max_memory_bytes,
            "max_result_bytes": limits.max_result_bytes,
            "cancel_http_readonly_queries_on_client_close": 1,
            "log_comment": "assay",
            "readonly": 1,
        }
        # A user with its own profile may not change some settings: then the profile's values apply.
        self._settings = {
            name: value
            for name, value in wanted.items()
            if (known := client.server_settings.get(name)) is None or not known.readonly
        }
        if "readonly" in self._settings and str(client.server_settings["readonly"].value) != "0":
            del self._settings["readonly"]
        client.http = _PoolOfQuery(client.http, self._check_clock)
        return client

    def _submit(self, query: str) -> Answer:
        # The driver appends a FORMAT clause, which must not follow a semicolon.
        text = (without_comments(query, self.dialect) if ";" in query else query).strip().rstrip("; \n\t")
        with self._reading_values(text):
            stream, in_ticks, most = self._opened(text)
        names, kinds = stream.source.column_names, [kind.name for kind in stream.source.column_types]
        zones: dict[int, tzinfo] = {}
        if not names:  # without rows there are no blocks, and so no names
            with stream:
                pass
            names = [name for name, _ in self._described(text)]
            return Answer(columns=tuple(names), fetch=lambda _: [])
        if not self._connection.protocol_version and any(map(has_zoneless_times, kinds)):
            zones = catalogue.zones([kind for _, kind in self._described(text)])
        assert self._zone is not None
        columns = list(zip(names, kinds, strict=True))
        converters = [
            converter(kind, self._zone, zones.get(index), in_ticks=name in in_ticks)
            for index, (name, kind) in enumerate(columns)
        ]
        is_cut = False

        def rows() -> Iterator[Row]:
            nonlocal is_cut
            try:
                with self._reading_values(text), stream as blocks:
                    for block in blocks:
                        attempts = [
                            (lambda cells=cells: cells) if convert is None else partial(convert, cells)
                            for convert, cells in zip(converters, block, strict=True)
                        ]
                        with reading(partial(failing, columns, attempts)):
                            cells_of_columns = [attempt() for attempt in attempts]
                        yield from zip(*cells_of_columns, strict=True)
            except Exception as error:
                is_cut = _is_too_large(error)
                if not is_cut:
                    raise

        following = rows()

        def fetch(count: int) -> list[Row]:
            return list(islice(following, min(count, most)))

        return Answer(columns=tuple(names), types=tuple(kinds), fetch=fetch, is_cut=lambda: is_cut)

    def _opened(self, text: str) -> tuple[Any, set[str], int]:
        """The stream of a query's blocks, the columns in ticks, and how many rows to fetch at once.

        If the first block alone is too large, blocks of a few rows come, which are counted here.
        """
        try:
            return (*self._asked(text, {}), sys.maxsize)
        except Exception as error:
            if not _is_too_large(error):
                raise
        return (*self._asked(text, {"max_block_size": _SMALL_BLOCK, "max_result_bytes": 0}), _SMALL_BLOCK)

    def _asked(self, text: str, settings: Mapping[str, object]) -> tuple[Any, set[str]]:
        stream = self._ask(text, settings)
        columns = zip(stream.source.column_names, stream.source.column_types, strict=True)
        in_ticks = {name for name, kind in columns if has_nanoseconds(kind.name)}
        if in_ticks:  # asked once more, for all digits
            self._cancel()
            with stream:
                pass
            stream = self._ask(text, settings, dict.fromkeys(in_ticks, TICKS))
        return stream, in_ticks

    def _ask(
        self, text: str, settings: Mapping[str, object], formats: Mapping[str, Mapping[str, str]] | None = None
    ) -> Any:
        self._query_id = f"assay-{uuid.uuid4()}"
        return self._connection.query_column_block_stream(
            text,
            settings={**self._settings, **settings, "query_id": self._query_id},
            query_formats=QUERY_FORMATS,
            column_formats=formats,
        )

    def _reading_values(self, text: str) -> AbstractContextManager[None]:
        """Name the columns if a value cannot be read. The driver does not say which column it is in."""

        def columns() -> list[Column]:
            described = self._described(text)
            return [(name, kind) for name, kind in described if _NESTED.search(kind)] or described

        return reading(columns, also=self._is_conversion_error)

    def _described(self, text: str) -> list[tuple[str, str]]:
        """The names and types of a query's columns, without running it."""
        described = self._connection.query(f"DESCRIBE TABLE (\n{text}\n)", settings=self._settings)
        return [(row[0], row[1]) for row in described.result_rows]

    def _cancel(self) -> None:
        connection, query_id = self._connection, self._query_id
        if connection is not None and query_id is not None:
            connection.command(f"KILL QUERY WHERE query_id = '{query_id}' ASYNC")

    def _is_conversion_error(self, error: Exception) -> bool:
        return is_conversion_error(error)

    def _explain(self, error: BaseException) -> Problem | None:
        return explain(error, self._address, connecting=self._connection is None)

    def _secrets(self) -> Sequence[str]:
        token = self._address.arguments.get("access_token")
        return (*super()._secrets(), *((token,) if token else ()))


class _PoolOfQuery:
    """The driver's pool of connections. What is read from them ends with the query's time.

    The driver reads a block as a whole, whose rows may be long.
    """

    def __init__(self, pool: Any, check_clock: Callable[[], None]) -> None:
        self._pool = pool
        self._check_clock = check_clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def request(self, *arguments: Any, **options: Any) -> Any:
        """Send a request."""
        response = self._pool.request(*arguments, **options)
        read = response.stream

        def stream(*arguments: Any, **options: Any) -> Iterator[bytes]:
            for chunk in read(*arguments, **options):
                self._check_clock()
                yield chunk

        response.stream = stream
        return response


def _is_too_large(error: BaseException) -> bool:
    return getattr(error, "code", None) == _TOO_LARGE


class _Own:
    """An engine for readers of catalogues: their queries need no check."""

    def __init__(self, engine: ClickhouseEngine) -> None:
        self._engine = engine

    @property
    def is_read_only_profile(self) -> bool:
        """Whether the user's own profile is read-only. Known once connected."""
        return "readonly" not in self._engine.settings

    def execute(self, query: str) -> Execution:
        return self._engine.own(query)


class ClickhouseSecureEngine(ClickhouseEngine):
    """The same over HTTPS: ``clickhouses://user:password@host/database``, by default on port 8443."""

    name: ClassVar[str] = "clickhouses"

    __slots__ = ()


class ClickhouseSqlAlchemyEngine(ClickhouseEngine):
    """The same under the scheme that clickhouse-connect has for SQLAlchemy."""

    name: ClassVar[str] = "clickhousedb"

    __slots__ = ()
