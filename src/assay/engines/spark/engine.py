"""Spark by Spark Connect: ``spark://host:15002/catalog/schema``."""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings as python_warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, ClassVar

from assay.engines.spark import errors, values
from assay.engines.spark.schema import read_schema
from assay.engines.spark.schema import with_values as with_values_of
from assay.engines.spark.text import wrapped
from assay.engines.spark.unity import is_databricks_host, reader_grants
from assay.engines.spark.url import SPARK_FORM, Address, spark_address
from assay.engines.warehouse.base import CHECK_TIMEOUT_S, Answer, Problem, Warehouse
from assay.errors import DatabaseError
from assay.model import Cell, DatabaseSchema, DatabaseUrl, Limits, Row
from assay.sql.statement import without_last_semicolon

TAG = "assay"
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.runSQLOnFiles": "false",  # otherwise text.`path` reads a file of the server
    "spark.sql.variable.substitute": "false",  # otherwise ${env:NAME} is replaced before the text is parsed
}
"""The first statements of each session. ANSI mode, among others, stays as the server has it."""
_RETRIES = 3
_GOODBYE_S = 2.0
_NO_RIGHTS = (
    "open Spark has no rights: anyone who can reach {place} may write tables, read files and run commands "
    "there. Assay only sends reads, but other clients of that port are not restricted"
)


class SparkEngine(Warehouse):
    """One schema of a Spark server, in its own session.

    Spark runs commands at once, so a text is sent to the server twice, each time in one request: first as the body of a
    common table expression, which parses only if the text is one query, and which is analysed but not run (this returns
    the columns and their types); then as it is, with the limit of rows. Rows arrive as Arrow batches. A query is ended
    by interrupting its session, which runs nothing else.

    The dialect is that of Databricks, a superset of Spark's: only there does sqlglot read ``v:a.b``, which Spark has
    since 4.3.
    """

    name: ClassVar[str] = "spark"
    dialect: ClassVar[str] = "databricks"
    form: ClassVar[str] = SPARK_FORM
    extra: ClassVar[str] = "spark"
    module: ClassVar[str] = "pyspark.sql.connect"
    package: ClassVar[str] = "pyspark-client"

    __slots__ = ("_address", "_wrapped")

    def __init__(self, url: DatabaseUrl, limits: Limits) -> None:
        super().__init__(url, limits)
        self._address: Address = spark_address(url)
        self._wrapped = False

    @classmethod
    def require(cls) -> None:
        """Raise MissingDependency without the client of Spark Connect."""
        super().require()
        with _importing():  # all of it now: it takes seconds, which must not count as a query's time
            from pyspark.sql.connect import client, dataframe, functions, plan, session  # noqa: F401
            from pyspark.sql.connect.client import retries  # noqa: F401

    @classmethod
    def version(cls) -> str:
        """The client's version."""
        cls.require()
        with _importing():
            import pyspark

        return f"pyspark-client {pyspark.__version__}"

    @classmethod
    def warnings(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """Warns that open Spark has no rights. None for Databricks, whose rights Assay does not read."""
        with closing(cls.open(url, Limits(timeout_s=CHECK_TIMEOUT_S, max_rows=1))) as engine:
            failure = engine._run("SELECT current_metastore()", check=False).failure
        if failure is None or failure.kind != "error":  # only Databricks knows this function
            return ()
        address = spark_address(url)
        return (_NO_RIGHTS.format(place=f"{address.host}:{address.port}"),)

    @classmethod
    def reader_grants(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """The statements that create a reader in Unity Catalog; empty for open Spark, which has no rights."""
        address = spark_address(url)
        return reader_grants(address) if is_databricks_host(address.host) else ()

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables and views of the URL's schema. Raises DatabaseError if they cannot be listed."""
        self._watchdog.start(self._limits.timeout_s)
        try:
            if self._connection is None:
                self._connection = self._connect()
            listed = read_schema(self._connection.session, dialect=self.dialect)
        except Exception as error:  # noqa: BLE001 - whatever the driver raises
            if self._watchdog.fired:
                self._drop()
                raise DatabaseError(f"its tables were not listed within {self._limits.timeout_s:g} s") from None
            problem = self._explain(error)
            why = errors.plain_message(error) if problem is None else problem.message
            raise DatabaseError(f"its tables cannot be listed: {why}") from None
        finally:
            self._watchdog.stop()
        return with_values_of(self, listed) if with_values else listed

    def _connect(self) -> _Session:
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.client.retries import DefaultPolicy
        from pyspark.sql.connect.session import SparkSession

        channel = DefaultChannelBuilder(self._address.connect_string)
        channel.set("user_agent", TAG)
        session = SparkSession(connection=channel)
        made = _Session(session)
        try:
            session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES, max_backoff=1000)])
            session.addTag(TAG)
            for name, value in _SETTINGS.items():
                session.conf.set(name, value)
            if self._address.catalog is not None:
                session.catalog.setCurrentCatalog(self._address.catalog)
            if self._address.schema is not None:
                session.catalog.setCurrentDatabase(self._address.schema)
        except BaseException:  # any error is passed to `_explain`; the session's channel must not stay open
            made.close()
            raise
        return made

    def _submit(self, query: str) -> Answer:
        from pyspark.sql.connect import functions
        from pyspark.sql.connect.dataframe import DataFrame
        from pyspark.sql.connect.plan import SQL

        session = self._connection.session
        text = without_last_semicolon(query, self.dialect)
        self._wrapped = True
        schema = DataFrame(SQL(wrapped(text)), session).schema
        self._wrapped = False
        frame: Any = DataFrame(SQL(text), session)
        types = [values.portable(field.dataType) for field in schema]
        if any(new is not field.dataType for new, field in zip(types, schema, strict=True)):
            numbered = frame.toDF(*(f"c{index}" for index in range(len(types))))
            frame = numbered.select(
                *(
                    functions.col(f"c{index}") if new is field.dataType else functions.col(f"c{index}").cast(new)
                    for index, (new, field) in enumerate(zip(types, schema, strict=True))
                )
            )
        # A server completes a partition's result before it sends any of it, so an unlimited result could fill its
        # memory: it gets the limit of rows, which preserves their order.
        frame = frame.limit(self._limits.max_rows + 1)
        stream = session.client.to_table_as_iterator(frame._plan.to_proto(session.client), {})
        fetch = _fetcher(stream, [values.interval_reader(field.dataType) for field in schema])
        kinds = tuple(field.dataType.simpleString() for field in schema)
        return Answer(columns=tuple(schema.names), types=kinds, fetch=fetch)

    def _cancel(self) -> None:
        connection = self._connection
        if connection is not None:
            connection.session.interruptAll()

    def _explain(self, error: BaseException) -> Problem | None:
        wrapped, self._wrapped = self._wrapped, False
        return errors.explain(error, place=f"{self._address.host}:{self._address.port}", wrapped=wrapped)

    def _secrets(self) -> Sequence[str]:
        return (*super()._secrets(), *filter(None, (self._address.token,)))


class SparkConnectEngine(SparkEngine):
    """The same under Spark Connect's own scheme: ``sc://host:port/;token=…``."""

    name: ClassVar[str] = "sc"

    __slots__ = ()


class _Session:
    """A session, which is released when it is closed. A server that does not respond is not waited for."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def close(self) -> None:
        goodbye = threading.Thread(target=self._release, name="assay-spark-release", daemon=True)
        goodbye.start()
        goodbye.join(_GOODBYE_S)

    def _release(self) -> None:
        with suppress(Exception):
            self.session.stop()


def _fetcher(stream: Iterator[Any], readers: Sequence[Callable[[Any], Cell] | None]) -> Any:
    """Returns the next rows of a stream of Arrow tables, between which the driver sends other messages."""
    waiting: Any = None
    start = 0

    def fetch(wanted: int) -> list[Row]:
        nonlocal waiting, start
        while waiting is None or start >= waiting.num_rows:
            waiting = next((part for part in stream if hasattr(part, "num_rows")), None)
            start = 0
            if waiting is None:
                return []
        part = waiting.slice(start, wanted)
        start += part.num_rows
        rows = values.rows_of(part)
        if not any(readers):
            return rows
        return [tuple([read(cell) if read else cell for read, cell in zip(readers, row, strict=True)]) for row in rows]

    return fetch


@contextmanager
def _importing() -> Iterator[None]:
    """Keep the driver's output at import, and later of each error, off the terminal: the evidence contains it.

    In a process whose main module has no file (``python -c``, a worker) the driver believes that it runs one of its own
    doctests and exits, so it is given a file.
    """
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    python_warnings.filterwarnings(
        "ignore", module=r"pyspark\.sql\.connect\.client"
    )  # the warning that it has retried enough
    main = sys.modules["__main__"]
    is_shown_a_file = not hasattr(main, "__file__")
    if is_shown_a_file:
        main.__file__ = ""
    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore")
            yield
    finally:
        if is_shown_a_file:
            del main.__file__
