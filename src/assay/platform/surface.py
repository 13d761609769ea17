"""The names of options in messages: as on the command line, or as in Python.

A message names an option by `option`, and the surface says how it is written there: ``--question-column 'User asked'``,
or ``files=FileOptions(case_fields=FieldNames(question='User asked'))``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from assay.platform.shell import quoted

_ON_COMMAND_LINE: ContextVar[bool] = ContextVar("assay_on_command_line", default=False)

_FIELDS: Final = {
    "--id-column": ("case_fields", "id"),
    "--question-column": ("case_fields", "question"),
    "--gold-column": ("case_fields", "gold"),
    "--db-column": ("case_fields", "database"),
    "--difficulty-column": ("case_fields", "difficulty"),
    "--tag-column": ("case_fields", "tags"),
    "--context-column": ("case_fields", "context"),
    "--answerable-column": ("case_fields", "answerable"),
    "--sheet": ("case_fields", "sheet"),
    "--header-row": ("case_fields", "header_row"),
    "--encoding": ("case_fields", "encoding"),
    "--prediction-column": ("prediction_fields", "prediction"),
    "--prediction-id-column": ("prediction_fields", "id"),
    "--decision-column": ("prediction_fields", "decision"),
    "--confidence-column": ("prediction_fields", "confidence"),
    "--context-tables-column": ("prediction_fields", "context_tables"),
    "--context-columns-column": ("prediction_fields", "context_columns"),
    "--prediction-sheet": ("prediction_fields", "sheet"),
    "--prediction-header-row": ("prediction_fields", "header_row"),
    "--prediction-encoding": ("prediction_fields", "encoding"),
    "--limit": ("", "limit"),
    "--case-format": ("", "case_format"),
    "--prediction-format": ("", "prediction_format"),
    "--ignore-questions": ("", "ignore_questions"),
}
"""Options that are a field of `assay.FileOptions`, with the room of the field in it."""
_ARGUMENTS: Final = {"--db": "databases", "--gold-db": "gold_databases", "--system": "predictions"}
"""Options whose argument has another name in Python."""
_NUMBERS: Final = ("--header-row", "--prediction-header-row", "--limit")


@contextmanager
def command_line() -> Iterator[None]:
    """A context in which messages name options as they are written on the command line."""
    token = _ON_COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _ON_COMMAND_LINE.reset(token)


def on_command_line() -> bool:
    """Whether messages are read on the command line."""
    return _ON_COMMAND_LINE.get()


def option(name: str, value: object = None) -> str:
    """An option with its value, to copy; without a value, its name alone."""
    return options((name, value))


def flag(name: str) -> str:
    """An option without a value, to copy: ``--overwrite``, or ``overwrite=True``."""
    return options((name, True))


def options(*named: tuple[str, object]) -> str:
    """Several options, to copy together: fields of files share one ``FileOptions`` in Python."""
    if on_command_line():
        return " ".join(name if value in (None, True) else f"{name} {quoted(str(value))}" for name, value in named)
    rooms: dict[str, list[str]] = {}
    arguments = []
    for name, value in named:
        if (field := _FIELDS.get(name)) is None:
            written = _ARGUMENTS.get(name, name.removeprefix("--").replace("-", "_"))
            arguments.append(f"{written}={'...' if value is None else repr(value)}")
            continue
        room, attribute = field
        shown = "..." if value is None else str(value) if name in _NUMBERS else repr(value)
        rooms.setdefault(room, []).append(f"{attribute}={shown}")
    inner = [
        text
        for room, fields in rooms.items()
        for text in (fields if not room else [f"{room}=FieldNames({', '.join(fields)})"])
    ]
    return ", ".join([*([f"files=FileOptions({', '.join(inner)})"] if inner else []), *arguments])
