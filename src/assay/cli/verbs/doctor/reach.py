"""What a database's URL leads to: connected under limits, read-only, and with nothing secret in what is said."""

from __future__ import annotations

from contextlib import closing
from itertools import zip_longest
from typing import Final

from msgspec.structs import replace

from assay import registry
from assay.cli.crash import without_secrets
from assay.cli.verbs.doctor.facts import Reached
from assay.errors import AssayError, InputError
from assay.model import DatabaseUrl, Limits
from assay.model.databases.secret import masked_address
from assay.ports import Engine, EngineClass

_VERSIONS: Final = {"postgres": "SELECT version()", "mysql": "SELECT version()"}
_FILES: Final = {"sqlite": "SQLite", "duckdb": "DuckDB"}
"""Read by a library: its version is the database's."""
_SYSTEMS: Final = ("http", "https", "chat", "command", "python", "denodo")


def reach(text: str, *, timeout_s: float, secrets: tuple[str, ...]) -> Reached:
    """Look at one URL. What cannot be reached is a finding, not an error."""
    try:
        url = DatabaseUrl.parse(text)
    except AssayError as error:
        # The text without what may be a password.
        shown = without_secrets(masked_address(text), secrets)
        return Reached(url=shown, reached=False, trouble=_told(error, secrets).replace(text, shown))
    shown = without_secrets(str(url), secrets)
    grants: tuple[str, ...] = ()
    try:
        limits = Limits(timeout_s=timeout_s)
        if url.is_template:
            raise InputError("this is a template: write the name of one database in place of {db_id}")
        if url.scheme in _SYSTEMS:
            raise InputError(
                "this names a live system, not a database: try it by  assay run CASES --system URL --limit 1"
            )
        engine_class = registry.engine_class(url)
        grants = _reader_grants(engine_class, url)
        engine_class.check(url)
        tell = getattr(engine_class, "warnings", None)
        rights = tuple(sentence.removeprefix(f"{url}: ") for sentence in tell(url)) if tell is not None else ()
        with closing(engine_class.open(url, limits)) as engine:
            found = Reached(
                url=shown,
                reached=True,
                engine=None if url.scheme in _FILES else engine_class.version(),
                read_only_file=url.scheme in _FILES,
                server=f"{_FILES[url.scheme]} {engine_class.version()}" if url.scheme in _FILES else _server(engine),
                rights=rights,
                rights_known=tell is not None,
                reader_grants=grants,
            )
            return replace(found, tables=_tables(engine), outside=_outside(engine))
    except AssayError as error:
        return Reached(url=shown, reached=False, trouble=_told(error, secrets), reader_grants=grants)
    except Exception as error:  # noqa: BLE001 - a driver raises what it likes, and one URL must not hide the others
        return Reached(url=shown, reached=False, trouble=_told(error, secrets), reader_grants=grants)


def _reader_grants(engine_class: EngineClass, url: DatabaseUrl) -> tuple[str, ...]:
    tell = getattr(engine_class, "reader_grants", None)
    return tuple(tell(url)) if tell is not None else ()


def _told(error: Exception, secrets: tuple[str, ...]) -> str:
    message = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
    return without_secrets(message, secrets)


def _outside(engine: Engine) -> tuple[str, ...] | None:
    """The queries that reach files, the network or extensions, tried on an engine of another package: the first of each
    kind before the second of any.
    """
    if type(engine).__module__.partition(".")[0] == "assay":
        return None
    from assay.testing.conformance.outside import trespasses

    by_reach: dict[str, list[str]] = {}
    for found in trespasses(engine):
        by_reach.setdefault(found.reach, []).append(str(found))
    return tuple(query for row in zip_longest(*by_reach.values()) for query in row if query is not None)


def _server(engine: Engine) -> str | None:
    query = _VERSIONS.get(engine.dialect)
    if query is None:
        return None
    execution = engine.execute(query)
    if execution.failure is not None:
        raise InputError(f"connected, and the first query failed: {execution.failure.message}")
    rows = execution.result.rows if execution.result is not None else ()
    return str(rows[0][0]) if rows else None


def _tables(engine: Engine) -> tuple[str, ...] | None:
    schema = getattr(engine, "schema", None)
    if schema is None:
        return None
    try:
        return tuple(
            table.name if table.namespace is None else f"{table.namespace}.{table.name}"
            for table in schema(with_values=False).tables
        )
    except AssayError:
        return None
