"""Read which tables and columns a system says that it was given.

Systems report it in many forms; these all give the same names::

    ["singer", "concert"]                            a list, or its text in a cell of CSV, also as Python prints it
    singer, concert                                  text with commas, semicolons or line ends
    [{"name": "singer", "columns": ["id", "age"]}]   objects; a column may be an object with a name, too
    {"singer": ["id", "age"], "concert": []}         columns by table
    singer(id, age)                                  the same as text
    CREATE TABLE singer (id INTEGER, age INTEGER)    DDL in any dialect, read as sqlglot's tokens

A table that is named without its columns, while others have theirs, was given whole: ``concert.*``. Nothing is looked
up here: `assay.sql.context.matching` says which of the names the database has.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct, field

from assay.errors import AssayError
from assay.sql.schema.create_table import made_table

_WAYS = ("context", "given", "provided", "selected", "linked", "pruned", "filtered", "retrieved")
"""How a table was given to a system. Of several, the first counts: the nearest to the query."""
TABLE_NAMES = tuple(
    tuple(f"{way}_{what}" for what in ("tables", "views", "schema") if f"{way}_{what}" != "selected_schema")
    for way in _WAYS
)
"""The usual names of a column, or a field of JSON, with the tables that a system was given, perhaps with their columns;
in tiers. A ``selected_schema`` may be one schema's name, and ``selected_columns`` may be what a query selects."""
COLUMN_NAMES = tuple((f"{way}_columns",) for way in _WAYS if way != "selected")
"""Those with the columns."""

_TABLE_KEYS = ("name", "table", "table_name", "tablename", "view", "view_name", "viewname")
_COLUMN_KEYS = ("columns", "column_names", "fields")
_COLUMN_NAME_KEYS = ("column", "column_name", "columnname", "name", "field")
_WRAPPER_KEYS = ("tables", "views")
_MAKES_TABLE = re.compile(r"\bcreate\b[\w\s]{0,60}?\b(?:table|view)\b", re.IGNORECASE)
_PLAIN = re.compile(r"[\w$#@ ]+")
_EVERY = ("*", "keep_all", "all")
"""In place of a table's columns: all of them."""
_NONE = ("drop_all",)
"""In place of a table's columns: the table was not given at all."""
_MOST_SHOWN = 60
_FORMS = "a list of names, text with commas, JSON with the columns by table, or DDL"


class InvalidContext(AssayError):
    """A value that names no tables or columns; the caller adds the value's location."""


class Context(Struct, frozen=True):
    """The names as a system reports them. None: it does not report them; empty: it was given none."""

    tables: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None


def read_context(tables: object = None, columns: object = None) -> Context:
    """The names in the value for tables, which may include columns, and in the value for columns. Blank values are
    ignored.

    Raises InvalidContext for anything that names no tables or columns.
    """
    found = _Names()
    said = tables is not None and _read_tables(tables, found)
    only_columns = columns is not None and _read_columns(columns, found)
    names = None if not said else tuple(dict.fromkeys(found.tables))
    has_columns = only_columns or found.has_columns
    if not has_columns:
        return Context(names)
    every = [_joined(table, "*") for table in found.whole] if not only_columns else []
    return Context(names, tuple(dict.fromkeys((*found.columns, *every))))


class _Names(Struct):
    """What was read so far."""

    tables: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    """Tables that are named without columns."""
    has_columns: bool = False
    """Whether some table is named with its columns."""

    def add(self, table: str, columns: Sequence[str] | None) -> None:
        """A table, with its columns if these are named."""
        self.tables.append(table)
        if columns is None:
            self.whole.append(table)
            return
        self.has_columns = True
        self.columns += [_joined(table, column) for column in columns]


def _read_tables(value: object, found: _Names) -> bool:
    """Add the tables that a value names. False if it is blank."""
    if isinstance(value, str):
        if not value.strip():
            return False
        parsed = _parsed(value)
        if parsed is None or isinstance(parsed, (list, tuple, dict)):
            return parsed is not None and _read_tables(parsed, found)
        if _MAKES_TABLE.search(value):
            for table, columns in _tables_of_ddl(value):
                found.add(table, columns)
            return True
        for item in _names_in(value):
            found.add(*_called(item))
        return True
    if isinstance(value, Mapping):
        _read_object(value, found)
        return True
    if isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, str) and item.strip():
                if _MAKES_TABLE.search(item):
                    _read_tables(item, found)
                else:
                    found.add(*_called(item.strip()))
            elif isinstance(item, Mapping):
                _read_object(item, found)
            else:
                raise InvalidContext(f"{_shown(item)} is not the name of a table: expected {_FORMS}")
        return True
    raise InvalidContext(f"{_shown(value)} names no tables: expected {_FORMS}")


def _read_object(value: Mapping[Any, Any], found: _Names) -> None:
    """Add an object: a table with a name, lists of tables and columns, or columns by table."""
    keys = {_letters(str(key)): key for key in value}
    wrapper = next((keys[key] for key in _WRAPPER_KEYS if key in keys), None)
    if wrapper is not None and isinstance(value[wrapper], (list, tuple, Mapping)):
        _read_tables(value[wrapper], found)
        columns = next((keys[_letters(key)] for key in _COLUMN_KEYS if _letters(key) in keys), None)
        if columns is not None and value[columns] is not None:
            found.has_columns = _read_columns(value[columns], found) or found.has_columns
            found.whole.clear()  # the columns of all tables are named
        return
    name = next((keys[_letters(key)] for key in _TABLE_KEYS if _letters(key) in keys), None)
    if name is not None and isinstance(value[name], str) and value[name].strip():
        columns = next((keys[_letters(key)] for key in _COLUMN_KEYS if _letters(key) in keys), None)
        _add_table(value[name].strip(), None if columns is None else value[columns], found)
        return
    for table, columns in value.items():
        if not isinstance(table, str) or not table.strip():
            raise InvalidContext(f"{_shown(value)} names no table: expected {_FORMS}")
        _add_table(table.strip(), columns, found)


def _add_table(table: str, columns: object, found: _Names) -> None:
    """Add a table with the value given for its columns."""
    if isinstance(columns, str):
        word = columns.strip().lower()
        if word in _NONE:
            return
        if word in _EVERY:
            columns = ["*"]
        elif _MAKES_TABLE.search(columns):
            _read_tables(columns, found)
            return
        else:
            columns = _items(columns)
    if columns is None or columns is True:
        found.add(table, None)
    elif isinstance(columns, Mapping):
        found.add(table, [_column_name(name) for name in columns])
    elif isinstance(columns, (list, tuple)):
        found.add(table, [_column_name(column) for column in columns])
    else:
        raise InvalidContext(f"{_shown(columns)} names no columns of the table {table!r}: expected a list of names")


def _column_name(column: object) -> str:
    """A column's name within its table's list: a text, or an object or a list that begins with the name."""
    if isinstance(column, Mapping):
        keys = {_letters(str(key)): key for key in column}
        column = next((column[keys[_letters(key)]] for key in _COLUMN_NAME_KEYS if _letters(key) in keys), None)
    elif isinstance(column, (list, tuple)) and column:
        column = column[0]
    if not isinstance(column, str) or not column.strip():
        raise InvalidContext(f"{_shown(column)} is not the name of a column: expected text, or an object with a name")
    return column.strip()


def _read_columns(value: object, found: _Names) -> bool:
    """Add the columns that a value names, each with its table if it has one. False if it is blank."""
    if isinstance(value, str):
        if not value.strip():
            return False
        parsed = _parsed(value)
        if parsed is None or isinstance(parsed, (list, tuple, dict)):
            return parsed is not None and _read_columns(parsed, found)
        if _MAKES_TABLE.search(value):
            return _read_columns({table: columns or ["*"] for table, columns in _tables_of_ddl(value)}, found)
        value = _names_in(value)
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, (list, tuple)):
        raise InvalidContext(f"{_shown(value)} names no columns: expected names (for example singer.age) in {_FORMS}")
    for item in value:
        found.columns += _columns_in(item)
    return True


def _columns_in(item: object) -> list[str]:
    """The columns that an entry of a list of columns names."""
    if isinstance(item, str) and item.strip():
        table, columns = _called(item.strip())
        if columns is None or item.strip()[len(table)] != "(":  # ``Meals (K-12)`` is a column's name
            return [item.strip()]
        return [_joined(table, column) for column in columns]
    if isinstance(item, (list, tuple)) and len(item) == 2 and all(isinstance(part, str) and part for part in item):
        return [_joined(item[0], item[1])]
    if isinstance(item, Mapping):
        keys = {_letters(str(key)): key for key in item}
        names = () if keys.keys() & set(map(_letters, _COLUMN_KEYS)) else map(_letters, _COLUMN_NAME_KEYS)
        name = next((item[keys[key]] for key in names if key in keys), None)
        of = next((item[keys[key]] for key in map(_letters, _TABLE_KEYS[1:]) if key in keys), None)
        if isinstance(name, str) and name.strip():
            return [_joined(of, name.strip()) if isinstance(of, str) and of else name.strip()]
        within = _Names()
        _read_object(item, within)
        return [*within.columns, *(_joined(table, "*") for table in within.whole)]
    raise InvalidContext(f"{_shown(item)} is not the name of a column: expected a name, for example singer.age")


def _parsed(text: str) -> object:
    """The list or object that a text is, in JSON or as Python prints it; the text itself if it is neither."""
    bare = text.strip()
    if bare.lower() in ("null", "none", "nan"):
        return None
    if not bare.startswith(("[", "{")):
        return text
    from assay.sql.extraction.embedded_json import read_json

    try:
        return read_json(bare)
    except (ValueError, RecursionError):
        pass
    try:
        return literal_eval(bare)  # reads only literals, and executes nothing
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        if bare.startswith("[") and re.fullmatch(r"(?:\[[^\[\]]+\][\s,;.]*)+", bare):
            return text  # names in SQL Server's brackets
        raise InvalidContext(f"{_shown(text)} is neither JSON nor a list of names: expected {_FORMS}") from None


_QUOTED = r"""\"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]"""
_ITEM = re.compile(rf"""(?:{_QUOTED}|\((?:{_QUOTED}|[^()"`\[]|\([^()]*\))*\)|[^,;\n\r("`\[])+""")


def _items(text: str) -> list[str]:
    """The names in a text with commas, semicolons or line ends, quotes and parentheses kept whole."""
    items = [item.strip() for item in _ITEM.findall(text)]
    rest = _ITEM.sub("", text)
    if rest.strip(",; \t\r\n"):
        raise InvalidContext(f"{_shown(text)} cannot be split into names: expected {_FORMS}")
    return [item for item in items if item]


_NOT_IN_NAMES = re.compile(r"[:=|{}【】]|^#")


def _names_in(text: str) -> list[str]:
    """Like `_items`, for a text of only names. Raises InvalidContext for a schema in another form."""
    items = _items(text)
    for item in items:
        name = re.sub(_QUOTED, "", _called(item)[0])
        if _NOT_IN_NAMES.search(name):
            raise InvalidContext(f"{_shown(item)} is not a name: expected {_FORMS}")
    return items


_CALLED = re.compile(rf"""((?:{_QUOTED}|[^("`\[])+)\((.*)\)\s*""", re.DOTALL)


def _called(item: str) -> tuple[str, list[str] | None]:
    """The table that a text names, with the columns in parentheses after it; None if there are none."""
    match = _CALLED.fullmatch(item)
    if match is None or not match[1].strip() or not _is_balanced(match[2]):
        return item, None
    # A type may follow a name, ``singer(id: INTEGER)``.
    columns = [column if column[0] in '"`[' else column.partition(":")[0].strip() for column in _items(match[2])]
    return match[1].strip(), [column for column in columns if column]


def _is_balanced(text: str) -> bool:
    """Whether no parenthesis is closed that was not opened: ``%) Free (K-12`` is a part of a column's name."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0


_DOTTED = re.compile(rf"""(?:{_QUOTED}|[^."`\[]+)(?:\.(?:{_QUOTED}|[^."`\[]+))*""")


def _joined(table: str, column: str) -> str:
    """A column with its table, which may have its schema before it."""
    return f"{table if _DOTTED.fullmatch(table) else _quoted(table)}.{_written(column)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _written(column: str) -> str:
    """A column's name as it can follow a table's name and a dot."""
    if column == "*" or _PLAIN.fullmatch(column) or (column[0] in '"`[' and column[-1] in '"`]' and len(column) > 1):
        return column
    return _quoted(column)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _tables_of_ddl(text: str) -> Iterator[tuple[str, list[str] | None]]:
    """The tables and views that a text of DDL makes, each with its columns; None if it does not list them."""
    read = 0
    starts = [match.start() for match in _MAKES_TABLE.finditer(text)]
    for start, end in zip(starts, (*starts[1:], len(text)), strict=True):
        found = _table_of_ddl(text[start:end])
        if found is not None:
            read += 1
            yield found
    if not read:
        raise InvalidContext(f"{_shown(text)} is not DDL that names a table")


@lru_cache(maxsize=2048)
def _table_of_ddl(statement: str) -> tuple[str, list[str] | None] | None:
    """The table that one statement makes. Prompts repeat the statements of a database for each question."""
    for dialect in ("sqlite", "mysql", ""):  # the dialect is unknown: dialects differ in quotes and comments
        made = made_table(statement, dialect)
        if made is not None:
            name = ".".join(map(_written, made.name))
            return name, list(made.columns) if made.columns else _selected(statement)
    return None


def _selected(statement: str) -> list[str] | None:
    """The columns of a view that is made by a query; None if they cannot be read."""
    from assay.sql.schema.ddl import read_ddl

    tables = read_ddl(statement, "sqlite").schema.tables or read_ddl(statement, "").schema.tables
    return [column.name for column in tables[0].columns] or None if tables else None


def context_beside(said: Mapping[Any, Any]) -> Context:
    """The context in an object with an answer, under one of the usual names. Raises InvalidContext."""
    keys = {_letters(str(key)): key for key in reversed(list(said))}
    tables, columns = (
        next((said[keys[_letters(name)]] for tier in tiers for name in tier if _letters(name) in keys), None)
        for tiers in (TABLE_NAMES, COLUMN_NAMES)
    )
    return read_context(tables, columns)
