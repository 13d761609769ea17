"""Denodo over its SQLAlchemy dialect: Arrow Flight SQL (port 9994) or the PostgreSQL wire protocol (port 9996).

Both give typed columns, column names for empty results, and no row limit of the server's own. Neither has a read-only
mode, so any text that is not exactly one query is refused before it is sent, as over HTTP
(`assay.engines.denodo.engine`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from assay.engines.denodo.engine import refusal
from assay.engines.sqlalchemy.base import CHECK_TIMEOUT_S, SqlAlchemyBase, require
from assay.engines.url_parts import flag, read_parameters
from assay.errors import MissingDependency
from assay.model import DatabaseUrl, Execution, FailureKind

_ENCRYPTION = "use_encryption"
_AFTER_WATCHDOG_S = 0.1


class DenodoSqlAlchemyEngine(SqlAlchemyBase):
    """Common parts of both connections."""

    dialect: ClassVar[str] = "denodo"
    streams: ClassVar[bool] = False
    packages: ClassVar[tuple[str, ...]] = ()
    """What must be installed, each as ``module=distribution``."""

    __slots__ = ()

    @classmethod
    def version(cls) -> str:
        """The dialect's version, without Denodo's own."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            return f"denodo-sqlalchemy {version('denodo-sqlalchemy')}"
        except PackageNotFoundError:
            raise MissingDependency("denodo-sqlalchemy", "denodo") from None

    @classmethod
    def _require(cls, url: DatabaseUrl) -> None:  # noqa: ARG003
        require(cls.packages, "denodo")

    @classmethod
    def _settings(cls, parsed: Any, timeout_s: float) -> tuple[Any, dict[str, Any]]:
        shown = DatabaseUrl(text=parsed.render_as_string(hide_password=True))
        if _ENCRYPTION in parsed.query:
            values = parsed.query[_ENCRYPTION]
            given = [(_ENCRYPTION, value) for value in ((values,) if isinstance(values, str) else values)]
            read_parameters(shown, given, {_ENCRYPTION: flag}, form=cls.form)
        arguments = cls._connect_args(timeout_s, dict(parsed.query))
        return parsed.difference_update_query([_ENCRYPTION]), {"connect_args": arguments}

    @classmethod
    def _connect_args(cls, timeout_s: float, query: Mapping[str, object]) -> dict[str, object]:
        """The arguments of the driver's connect beyond the URL. ``query`` holds the URL's options."""
        raise NotImplementedError

    def execute(self, query: str) -> Execution:
        """Run one query under the limits. Never raises for what the query does."""
        # A refused text needs no connection.
        return self._unsendable(query) or refusal(query) or self._run(query)

    def _refusal(self, query: str) -> Execution | None:  # noqa: ARG002
        return None

    def _explain(self, error: BaseException) -> tuple[FailureKind, str] | None:
        # ADBC reports a failure by its status: in these, the query is not the cause.
        status = getattr(getattr(error, "status_code", None), "name", "")
        return ("unreadable_database", str(error)) if status in ("IO", "UNAUTHENTICATED") else None


class DenodoFlightSqlEngine(DenodoSqlAlchemyEngine):
    """Denodo 9.1 and newer over Arrow Flight SQL: ``denodo+flightsql://user:password@host:9994/database``.

    The connection is encrypted, as Denodo's is by default; ``?use_encryption=false`` makes it plain.
    """

    name: ClassVar[str] = "denodo+flightsql"
    packages: ClassVar[tuple[str, ...]] = (
        "sqlalchemy=sqlalchemy",
        "denodo.sqlalchemy=denodo-sqlalchemy",
        "adbc_driver_flightsql=adbc-driver-flightsql",
        "pyarrow=pyarrow",
    )

    __slots__ = ()

    @classmethod
    def _connect_args(cls, timeout_s: float, query: Mapping[str, object]) -> dict[str, object]:
        # The driver's own timeouts end a query that cannot be cancelled. They fire just after the watchdog has marked
        # it as timed out.
        seconds = str(timeout_s + _AFTER_WATCHDOG_S)
        arguments: dict[str, object] = {
            f"adbc.flight.sql.rpc.timeout_seconds.{what}": seconds for what in ("connect", "query", "fetch")
        }
        if _ENCRYPTION in query:
            arguments[_ENCRYPTION] = str(query[_ENCRYPTION]).lower()
        return arguments


class DenodoPsycopg2Engine(DenodoSqlAlchemyEngine):
    """Denodo over the PostgreSQL wire protocol: ``denodo+psycopg2://user:password@host:9996/database``."""

    name: ClassVar[str] = "denodo+psycopg2"
    packages: ClassVar[tuple[str, ...]] = (
        "sqlalchemy=sqlalchemy",
        "denodo.sqlalchemy=denodo-sqlalchemy",
        "psycopg2=psycopg2-binary",
    )

    __slots__ = ()

    @classmethod
    def _connect_args(cls, timeout_s: float, query: Mapping[str, object]) -> dict[str, object]:  # noqa: ARG003
        return {"connect_timeout": max(2, math.ceil(min(timeout_s, CHECK_TIMEOUT_S)))}
