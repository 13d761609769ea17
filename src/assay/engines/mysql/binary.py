"""Read results with FLOAT columns in the binary protocol.

In the text protocol a server writes a FLOAT with six digits: 16777216 arrives as 16777200. So each query is prepared,
which returns the types of its columns. If one of them is FLOAT, the prepared query is executed, and its rows arrive in
binary form; any other query is executed as text. Preparing runs nothing, and a text that cannot be prepared reports its
error when it is executed.

PyMySQL has no prepared statements, but its methods for packets and column descriptions serve both protocols. All values
except FLOAT pass through the same converters as in the text protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import pymysql
from pymysql.connections import MySQLResult
from pymysql.constants import FIELD_TYPE
from pymysql.protocol import FieldDescriptorPacket

_PREPARE = 0x16
_EXECUTE = 0x17
_UNSIGNED = 0x20
_INTEGERS = {
    FIELD_TYPE.TINY: "b",
    FIELD_TYPE.SHORT: "h",
    FIELD_TYPE.YEAR: "h",
    FIELD_TYPE.INT24: "i",
    FIELD_TYPE.LONG: "i",
    FIELD_TYPE.LONGLONG: "q",
}
_MOMENTS = frozenset({FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP})
_DATES = frozenset({FIELD_TYPE.DATE, FIELD_TYPE.NEWDATE})
_KEPT_DIGITS = 6
_FLOAT_DIGITS = 9
"""A FLOAT keeps any decimal of 6 significant digits, and 9 digits identify any FLOAT."""
_MOST_DECIMALS = 30
"""The most that a type can declare; the server reports 31 for a number without a fixed number of decimals."""
_SMALLEST_NORMAL = 2.0**-126
"""A smaller one has less precision."""
_Read = Callable[[Any], object]


def execute_exactly(cursor: Any, query: str) -> bool:
    """Execute a query on an unbuffered cursor of PyMySQL in the binary protocol if it has a FLOAT column.

    False: it has none, or cannot be prepared, and nothing was executed. Raises what PyMySQL raises.
    """
    connection = cursor.connection
    connection._execute_command(_PREPARE, query)
    try:
        answer = connection._read_packet()
    except pymysql.err.MySQLError:
        if not connection.open:
            raise
        return False
    statement, column_count, parameter_count = struct.unpack_from("<xIHH", answer.get_all_data())
    if parameter_count:
        for _ in range(parameter_count + 1):  # their descriptions, and the end of these
            connection._read_packet()
    columns = [connection._read_packet(FieldDescriptorPacket) for _ in range(column_count)]
    if columns:
        connection._read_packet()  # the end of the descriptions
    if parameter_count or all(column.type_code != FIELD_TYPE.FLOAT for column in columns):
        return False
    connection._execute_command(_EXECUTE, struct.pack("<IBI", statement, 0, 1))
    result = BinaryResult(connection)
    result.init_unbuffered_query()
    connection._result = result
    cursor._executed = query
    cursor._do_get_result()
    return True


class BinaryResult(MySQLResult):  # type: ignore[misc] # PyMySQL has no types
    """The result of a prepared query, read row by row.

    A row is a zero byte, a bitmap of its NULLs that begins at the third bit, and the other values one after another.
    """

    is_binary = True

    def _get_descriptions(self) -> None:
        super()._get_descriptions()
        self._readers = [
            _reader(field, encoding, converter)
            for field, (encoding, converter) in zip(self.fields, self.converters, strict=True)
        ]

    def _read_row_from_packet(self, packet: Any) -> tuple[object, ...]:
        nulls = packet.read(1 + (self.field_count + 9) // 8)[1:]
        return tuple(
            [
                None if nulls[index + 2 >> 3] >> (index + 2 & 7) & 1 else read(packet)
                for index, read in enumerate(self._readers)
            ]
        )


def _reader(field: Any, encoding: str | None, converter: Callable[[Any], object] | None) -> _Read:
    """What reads a value of this column from a packet."""
    kind = field.type_code
    if kind == FIELD_TYPE.FLOAT:
        return lambda packet: shortest(packet.read_struct("<f")[0])
    if kind == FIELD_TYPE.DOUBLE and field.scale <= _MOST_DECIMALS:  # DOUBLE(M, D)
        return lambda packet: float(f"{packet.read_struct('<d')[0]:.{field.scale}f}")
    if kind == FIELD_TYPE.DOUBLE:
        return lambda packet: packet.read_struct("<d")[0]
    if (code := _INTEGERS.get(kind)) is not None:
        code = f"<{code.upper() if field.flags & _UNSIGNED else code}"
        return lambda packet: packet.read_struct(code)[0]
    text: _Read
    if kind in _DATES:
        text = _date
    elif kind in _MOMENTS:
        text = partial(_moment, digits=min(field.scale, 6))
    elif kind == FIELD_TYPE.TIME:
        text = partial(_time, digits=min(field.scale, 6))
    else:
        text = _text(encoding)
    return text if converter is None else lambda packet: converter(text(packet))


def _text(encoding: str | None) -> _Read:
    if encoding is None:
        return lambda packet: packet.read_length_coded_string()
    return lambda packet: packet.read_length_coded_string().decode(encoding)


def _date(packet: Any) -> str:
    year, month, day = _fields(packet, "<HBB")
    return f"{year:04}-{month:02}-{day:02}"


def _moment(packet: Any, *, digits: int) -> str:
    year, month, day, hour, minute, second, microsecond = _fields(packet, "<HBBBBBI")
    shown = f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
    return f"{shown}{_fraction(microsecond, digits)}"


def _time(packet: Any, *, digits: int) -> str:
    negative, days, hours, minute, second, microsecond = _fields(packet, "<BIBBBI")
    shown = f"{'-' if negative else ''}{days * 24 + hours:02}:{minute:02}:{second:02}"
    return f"{shown}{_fraction(microsecond, digits)}"


def _fraction(microsecond: int, digits: int) -> str:
    """The fraction of a second with the digits of its column's type, as in the text protocol."""
    return f".{microsecond:06}"[: digits + 1] if digits else ""


def _fields(packet: Any, layout: str) -> tuple[int, ...]:
    """The fields of a date or time. The server omits the last ones if they are zero."""
    data = packet.read(packet.read_uint8())
    return struct.unpack(layout, data.ljust(struct.calcsize(layout), b"\0"))


def shortest(value: float) -> float:
    """The shortest decimal that identifies a value of 32 bits."""
    for digits in range(_KEPT_DIGITS if abs(value) >= _SMALLEST_NORMAL else 1, _FLOAT_DIGITS):
        decimal = float(f"{value:.{digits}g}")
        try:
            if struct.unpack("<f", struct.pack("<f", decimal))[0] == value:
                return decimal
        except OverflowError:  # rounded up beyond the largest one
            continue
    return float(f"{value:.{_FLOAT_DIGITS}g}")
