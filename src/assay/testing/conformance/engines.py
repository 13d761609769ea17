"""What every engine must hold, tried on a real database. The checks need only two tables, which `prepare` makes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from assay.errors import DatabaseError
from assay.model import DatabaseSchema, DatabaseUrl, Execution, Limits
from assay.ports import Engine, EngineClass
from assay.testing.conformance.checks import Check, Gap, checks, one_line, same, without_error
from assay.testing.conformance.outside import Reach, trespasses

Kind = Literal["integer", "text", "decimal", "real", "boolean", "date", "timestamp", "binary"]
"""The kinds of columns that the checks of an engine read."""

STANDARD_TYPES: Mapping[Kind, str] = {
    "integer": "BIGINT",
    "text": "VARCHAR(200)",
    "decimal": "DECIMAL(20, 4)",
    "real": "DOUBLE PRECISION",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "binary": "BLOB",
}
"""The column types of the two tables, in standard SQL."""
_LIMITS = Limits(timeout_s=10.0, max_memory_bytes=512 * 1024 * 1024)
_SHORT_S = 1.0
_SLACK_S = 300.0
"""How much longer than its limit a query may take, since a machine may be busy."""
_TEXT = "it''s 100% ü😀 :a ? $1"


def hexadecimal(value: bytes) -> str:
    """Bytes as standard SQL has them."""
    return f"X'{value.hex()}'"


class Adapter(Struct, frozen=True, kw_only=True):
    """One engine and a database to try it on.

    ``url`` is an empty database, ``absent`` a missing one (its password, if any, must not
    show up in messages), and ``write`` runs one statement in the first as someone who may write.
    ``types`` names the column types if they are not the standard ones.
    """

    engine: EngineClass
    url: DatabaseUrl
    absent: DatabaseUrl
    write: Callable[[str], None]
    types: Mapping[Kind, str] = field(default_factory=dict)
    binary_literal: Callable[[bytes], str] = hexadecimal
    """How the database writes bytes in a query."""
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    """The known gaps by the name of their check."""
    secrets: tuple[str, ...] = ()
    """Texts that no message may show."""


def prepare(adapter: Adapter) -> None:
    """Make the two tables that the checks read."""
    types = {**STANDARD_TYPES, **adapter.types}
    columns = ", ".join(f"a_{kind} {name}" for kind, name in types.items())
    adapter.write(f"CREATE TABLE kinds (id {types['integer']}, {columns})")
    binary = adapter.binary_literal(b"\x00\xff'")
    adapter.write(
        f"INSERT INTO kinds VALUES (1, 4611686018427387905, '{_TEXT}', 12345678901.2345, 0.1, TRUE, "
        f"'2024-02-29', '2024-02-29 12:34:56', {binary})"
    )
    adapter.write("INSERT INTO kinds VALUES (2, -1, '', -0.5, -2.5, FALSE, NULL, NULL, NULL)")
    adapter.write("INSERT INTO kinds (id) VALUES (3)")
    adapter.write(f"CREATE TABLE digit (d {types['integer']})")
    adapter.write(f"INSERT INTO digit VALUES {', '.join(f'({n})' for n in range(10))}")


@contextmanager
def _opened(adapter: Adapter, limits: Limits = _LIMITS) -> Iterator[Engine]:
    engine = adapter.engine.open(adapter.url, limits)
    try:
        yield engine
    finally:
        engine.close()


def _executed(engine: Engine, query: str) -> Execution:
    """An engine never raises for what a query does."""
    found: object = without_error(query[:200], lambda: engine.execute(query))
    assert isinstance(found, Execution), f"{query[:200]}: gave {type(found).__name__} where an Execution belongs"
    return found


def _rows(engine: Engine, query: str) -> tuple[tuple[object, ...], ...]:
    for _ in range(20):  # on a busy machine even a short query may meet a short limit
        execution = _executed(engine, query)
        if execution.status != "timeout":
            break
    assert execution.result is not None, f"{query[:200]}: {execution.failure}"
    same(execution.status, "rows" if execution.result.rows else "empty", where=f"{query[:200]}: the status")
    return tuple(execution.result.rows)


def _goes_on(engine: Engine, after: str) -> None:
    """The engine answers the next query."""
    same(_rows(engine, "SELECT 1"), ((1,),), where=f"SELECT 1 after {after[:60]!r}")


def _ends(adapter: Adapter, execution: Execution, status: str, kind: str) -> None:
    """A query came to nothing in this way, and says so."""
    _told(adapter, execution)
    found = (execution.status, execution.failure.kind if execution.failure is not None else None)
    same(found, (status, kind), where=f"{execution.query[:200]!r}: status and kind of its failure")


def _told(adapter: Adapter, execution: Execution) -> str:
    """A failure's message, which must be one line without secrets."""
    assert execution.failure is not None, f"{execution.query[:200]} ran: {execution.result}"
    one_line(f"{execution.query[:200]!r}: the failure's message", execution.failure.message, adapter.secrets)
    return execution.failure.message


def _many(columns: str, digits: int) -> str:
    """A query with 10 to the power of ``digits`` rows."""
    return f"SELECT {columns} FROM {', '.join(f'digit t{n}' for n in range(digits))}"


def _number(digits: int) -> str:
    return " + ".join(f"{10**n} * t{n}.d" for n in range(digits))


def _one_value(adapter: Adapter, column: str) -> list[object]:
    with _opened(adapter) as engine:
        return [row[0] for row in _rows(engine, f"SELECT {column} FROM kinds ORDER BY id")]


def integers_are_exact(adapter: Adapter) -> None:
    """Integers keep 64 bits, and NULL is None."""
    same(_one_value(adapter, "a_integer"), [4611686018427387905, -1, None])


def texts_are_exact(adapter: Adapter) -> None:
    """Texts may contain parameter signs of drivers, characters outside the basic plane, or nothing."""
    same(_one_value(adapter, "a_text"), [_TEXT.replace("''", "'"), "", None])


def decimals_are_exact(adapter: Adapter) -> None:
    """A decimal is a Decimal, not a float."""
    same(_one_value(adapter, "a_decimal"), [Decimal("12345678901.2345"), Decimal("-0.5"), None])


def reals_are_floats(adapter: Adapter) -> None:
    """A double-precision number is a float."""
    same(_one_value(adapter, "a_real"), [0.1, -2.5, None])


def truth_is_as_declared(adapter: Adapter) -> None:
    """Booleans are True and False with ``has_boolean_type``, else 1 and 0."""
    found = _one_value(adapter, "a_boolean")
    expected: list[object] = [True, False, None] if adapter.engine.has_boolean_type else [1, 0, None]
    same(found, expected)
    same([type(value) for value in found], [type(value) for value in expected], where="the types of truths")


def dates_are_dates(adapter: Adapter) -> None:
    """A date comes without a time."""
    found = _one_value(adapter, "a_date")
    same(found, [date(2024, 2, 29), None, None])
    same(type(found[0]), date, where="the type of a date")


def timestamps_are_datetimes(adapter: Adapter) -> None:
    """A timestamp is a datetime, exact to the second at least."""
    same(_one_value(adapter, "a_timestamp"), [datetime(2024, 2, 29, 12, 34, 56), None, None])  # noqa: DTZ001


def binaries_are_bytes(adapter: Adapter) -> None:
    """Binaries are bytes, also with NUL and quotes in them."""
    same(_one_value(adapter, "a_binary"), [b"\x00\xff'", None, None])


def signs_in_literals_stay(adapter: Adapter) -> None:
    """No sign in a query's text is taken for a parameter."""
    with _opened(adapter) as engine:
        same(_rows(engine, "SELECT '100%', '%s', ':a', '?', 7 % 4"), (("100%", "%s", ":a", "?", 3),))


def columns_keep_their_names(adapter: Adapter) -> None:
    """Columns keep their names without rows, too, and if two names are the same."""
    with _opened(adapter) as engine:
        empty = _executed(engine, "SELECT id, a_text AS b FROM kinds WHERE id < 0")
        same((empty.status, empty.columns, empty.row_count), ("empty", ("id", "b"), 0), where="a result without rows")
        assert empty.result is not None, "a result without rows is a result: its columns are known"
        twice = _executed(engine, "SELECT id AS a, id AS a FROM kinds WHERE id = 2")
        assert twice.result is not None, f"two columns of one name: {twice.failure}"
        same((twice.columns, tuple(twice.result.rows)), (("a", "a"), ((2, 2),)), where="two columns of one name")


def rows_keep_their_order(adapter: Adapter) -> None:
    """Rows keep their order over many chunks."""
    with _opened(adapter) as engine:
        found = _rows(engine, f"{_many(f'{_number(4)} AS n', 4)} ORDER BY n DESC")
    assert found == tuple((n,) for n in range(9999, -1, -1)), f"10,000 rows in order came otherwise: {found[:3]} …"


def comments_and_a_last_semicolon_are_harmless(adapter: Adapter) -> None:
    """A query with comments or blank statements is still one query."""
    with _opened(adapter) as engine:
        for end in (" ; ", ";; -- three", "; -- it's; so", ";\n; /* ; */ ;"):
            same(_rows(engine, f"/* one */ SELECT id -- two\nFROM kinds WHERE id = 1{end}"), ((1,),))


def no_statement_is_no_query(adapter: Adapter) -> None:
    """An empty text, spaces, comments and semicolons are refused as no query."""
    with _opened(adapter) as engine:
        for text in ("", " \n", "-- nothing", ";"):
            _ends(adapter, _executed(engine, text), "error", "no_query")


def several_statements_are_refused(adapter: Adapter) -> None:
    """Several statements in one text are refused, and none of them runs."""
    with _opened(adapter) as engine:
        for second in ("SELECT 2", "DROP TABLE kinds", "COMMIT"):
            _ends(adapter, _executed(engine, f"SELECT 1; {second}"), "refused", "several_statements")
        same(len(_rows(engine, "SELECT id FROM kinds")), 3, where="the rows of kinds")


def writes_change_nothing(adapter: Adapter) -> None:
    """Every write is refused as one, the content stays, and the next query runs."""
    before = adapter.engine.fingerprint(adapter.url)
    with _opened(adapter) as engine:
        for text in (
            "INSERT INTO digit VALUES (10)",
            "UPDATE digit SET d = 0",
            "DELETE FROM digit",
            "DROP TABLE digit",
            "CREATE TABLE more (a INTEGER)",
            "CREATE TABLE more AS SELECT d FROM digit",
            "ALTER TABLE digit ADD COLUMN e INTEGER",
            "CREATE VIEW more AS SELECT d FROM digit",
        ):
            _ends(adapter, _executed(engine, text), "refused", "writes")
            same(len(_rows(engine, "SELECT d FROM digit")), 10, where=f"the rows of digit after {text}")
    same(adapter.engine.fingerprint(adapter.url), before, where="the fingerprint after refused writes")


def sessions_cannot_be_steered(adapter: Adapter) -> None:
    """A query cannot change transactions or settings, and an attempt leaves no trace."""
    with _opened(adapter) as engine:
        for text in ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "SET x = 1", "I do not know."):
            execution = _executed(engine, text)
            _told(adapter, execution)
            assert execution.status in ("refused", "error"), f"{text}: its status is {execution.status}"
            same(len(_rows(engine, "SELECT d FROM digit")), 10, where=f"the rows of digit after {text}")


def errors_are_said_in_one_line(adapter: Adapter) -> None:
    """An error has a message of one line, and the next query runs. A text that cannot be read may be refused."""
    with _opened(adapter) as engine:
        for text in ("SELECT nothing_like_it FROM kinds", "SELECT * FROM nowhere", "SELECT '\udcff'"):
            _ends(adapter, _executed(engine, text), "error", "error")
            _goes_on(engine, text)
        unreadable = _executed(engine, "SELECT FROM WHERE")
        status = "refused" if unreadable.status == "refused" else "error"
        _ends(adapter, unreadable, status, status)
        _goes_on(engine, unreadable.query)


def monstrous_texts_are_survived(adapter: Adapter) -> None:
    """Deep nesting, megabytes and NUL are run or refused within the time, and the next query runs."""
    with _opened(adapter, Limits(timeout_s=_SHORT_S * 3)) as engine:
        for text in (
            f"SELECT {'(' * 3000}1{')' * 3000}",
            f"SELECT {'1 + ' * 600_000}1",
            f"SELECT '{'x' * 10_000_000}",
            "SELECT 1 \x00 + 1",
            "SELECT '\x00",
        ):
            started = time.monotonic()
            execution = _executed(engine, text)
            took_s = time.monotonic() - started
            assert took_s < 3 * _SHORT_S + _SLACK_S, f"{text[:30]!r} took {took_s:.0f} s, and its limit is 3 s"
            if execution.failure is not None:
                _told(adapter, execution)
            _goes_on(engine, text)


def what_takes_too_long_is_ended(adapter: Adapter) -> None:
    """A sum over 10^12 rows is ended at the limit, twice, and the next query runs."""
    endless = _many("SUM(t0.d * t5.d + t11.d)", 12)
    with _opened(adapter, Limits(timeout_s=_SHORT_S, max_memory_bytes=_LIMITS.max_memory_bytes)) as engine:
        _rows(engine, "SELECT 1")
        for _ in range(2):
            started = time.monotonic()
            execution = _executed(engine, endless)
            took_s = time.monotonic() - started
            assert took_s < _SHORT_S + _SLACK_S, f"an endless query took {took_s:.0f} s, and its limit is 1 s"
            assert execution.status == "timeout", f"an endless query: {execution.status}, {execution.failure}"
            assert f"{_SHORT_S:g} s" in _told(adapter, execution), f"the limit is not in: {_told(adapter, execution)}"
            _goes_on(engine, "an endless query")


def rows_are_capped(adapter: Adapter) -> None:
    """A result of 10^9 rows is cut at once; a result of exactly the limit is whole."""
    with _opened(adapter, Limits(timeout_s=60.0, max_rows=1000)) as engine:
        same(len(_rows(engine, _many("t0.d", 3))), 1000, where="the rows of a result of exactly the limit")
        execution = _executed(engine, _many("t0.d", 9))  # who reads on to its end meets the time limit
        found = (execution.status, execution.row_count)
        same(found, ("truncated", 1000), where=f"10^9 rows under a limit of 1,000 ({execution.failure})")
        assert "1,000 rows" in _told(adapter, execution), f"the limit is not in: {_told(adapter, execution)}"
        _goes_on(engine, "a result of 10^9 rows")


def bytes_are_capped(adapter: Adapter) -> None:
    """A result of few wide rows is cut at the byte limit."""
    wide = ", ".join(f"a_text AS c{n}" for n in range(200))
    with _opened(adapter, Limits(timeout_s=60.0, max_result_bytes=1_000_000)) as engine:
        execution = _executed(engine, f"SELECT {wide} FROM kinds, {_many('', 4).partition('FROM ')[2]} WHERE id = 1")
        same(execution.status, "truncated", where=f"10^4 wide rows under a limit of 1 MB ({execution.failure})")
        assert "bytes" in _told(adapter, execution), f"the limit is not in: {_told(adapter, execution)}"
        kept = execution.row_count or 0
        assert 0 < kept < 5000, f"{kept:,} rows of 40 kB were kept under a limit of 1 MB"
        _goes_on(engine, "wide rows")


_SHOWN_WAYS = 5


def _stays_inside(adapter: Adapter, reach: Reach) -> None:
    with _opened(adapter, replace(_LIMITS, timeout_s=5.0)) as engine:
        found = [str(one) for one in trespasses(engine, (reach,))]
        more = f"; and {len(found) - _SHOWN_WAYS} more" if len(found) > _SHOWN_WAYS else ""
        assert not found, f"{reach}: {'; '.join(found[:_SHOWN_WAYS])}{more}"
        _goes_on(engine, f"tried {reach}")


def no_query_reads_files(adapter: Adapter) -> None:
    """No query returns the content or the name of a file."""
    _stays_inside(adapter, "reading")


def no_query_writes_files(adapter: Adapter) -> None:
    """No query writes a file, or makes a table."""
    _stays_inside(adapter, "writing")


def no_query_reaches_the_network(adapter: Adapter) -> None:
    """No query connects to a port."""
    _stays_inside(adapter, "network")


def no_query_loads_an_extension(adapter: Adapter) -> None:
    """No query installs or loads code."""
    _stays_inside(adapter, "extensions")


def content_has_a_fingerprint(adapter: Adapter) -> None:
    """The fingerprint stays the same for the same content and changes with it."""
    first = adapter.engine.fingerprint(adapter.url)
    assert first, "the fingerprint is empty"
    same(adapter.engine.fingerprint(adapter.url), first, where="the fingerprint of the same content")
    adapter.write("UPDATE kinds SET a_real = 7.5 WHERE id = 3")
    changed = adapter.engine.fingerprint(adapter.url)
    adapter.write("UPDATE kinds SET a_real = NULL WHERE id = 3")
    assert changed != first, "the content has changed, and its fingerprint has not"


def what_is_absent_is_said(adapter: Adapter) -> None:
    """``check`` raises DatabaseError without secrets for an absent database, and accepts one that exists."""
    adapter.engine.check(adapter.url)
    said = ""
    try:
        adapter.engine.check(adapter.absent)
    except DatabaseError as error:
        said = str(error)
    assert said.strip(), f"check() takes {adapter.absent} for a database"
    one_line("what check() says", said, adapter.secrets)


def engines_are_told_apart(adapter: Adapter) -> None:
    """Two engines work at once, give the library's version and siblings as URLs, and may be closed twice."""
    one_line("its version", adapter.engine.version())
    with _opened(adapter) as one, _opened(adapter) as other:
        same(_rows(one, "SELECT 1"), _rows(other, "SELECT 1"), where="two engines at once")
        strange = [url for url in one.siblings() if not isinstance(url, DatabaseUrl)]
        assert not strange, f"siblings() gave {strange[:1]!r} where URLs belong"
        other.close()
        _goes_on(one, "the other engine was closed")


def tables_are_described(adapter: Adapter) -> None:
    """An engine with ``schema`` lists the tables with their columns, the same each time, and values on request."""
    with _opened(adapter) as engine:
        describe: Callable[..., DatabaseSchema] | None = getattr(engine, "schema", None)
        if describe is None:
            return
        found = without_error("schema()", describe)
        same(found.dialect, engine.dialect, where="the dialect of the schema")
        columns = {table.name.lower(): [column.name.lower() for column in table.columns] for table in found.tables}
        wanted = {"kinds": ["id", *(f"a_{kind}" for kind in STANDARD_TYPES)], "digit": ["d"]}
        same({name: columns.get(name) for name in wanted}, wanted, where="the columns of the tables")
        same(without_error("schema() again", describe), found, where="the schema, asked again")
        bare = without_error("schema(with_values=False)", lambda: describe(with_values=False))
        told = [column.name for table in bare.tables for column in table.columns if column.values]
        assert not told, f"schema(with_values=False) has values of {told[:3]}"


CHECKS: tuple[Check[Adapter], ...] = checks(
    integers_are_exact,
    texts_are_exact,
    decimals_are_exact,
    reals_are_floats,
    truth_is_as_declared,
    dates_are_dates,
    timestamps_are_datetimes,
    binaries_are_bytes,
    signs_in_literals_stay,
    columns_keep_their_names,
    rows_keep_their_order,
    comments_and_a_last_semicolon_are_harmless,
    no_statement_is_no_query,
    several_statements_are_refused,
    writes_change_nothing,
    sessions_cannot_be_steered,
    no_query_reads_files,
    no_query_writes_files,
    no_query_reaches_the_network,
    no_query_loads_an_extension,
    errors_are_said_in_one_line,
    monstrous_texts_are_survived,
    what_takes_too_long_is_ended,
    rows_are_capped,
    bytes_are_capped,
    content_has_a_fingerprint,
    what_is_absent_is_said,
    engines_are_told_apart,
    tables_are_described,
)
"""Every check, in the order in which to read them."""
