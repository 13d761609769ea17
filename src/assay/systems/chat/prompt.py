"""The prompt that asks a chat model for SQL: a template, filled with a case and its database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from assay.errors import InputError
from assay.model import Case, DatabaseSchema, TableSchema, quoted
from assay.systems.placeholders import check_placeholders, fill

OF_THE_DATABASE = ("schema", "values", "tables", "dialect")
PLACEHOLDERS = ("question", "context", "database", "id", *OF_THE_DATABASE)
MOST_CHARACTERS = 60_000
"""Limit for the tables in one placeholder: about 15,000 tokens. Further tables are omitted, with a note."""

_DIALECTS = {
    "sqlite": "SQLite",
    "duckdb": "DuckDB",
    "postgres": "PostgreSQL",
    "mysql": "MySQL",
    "tsql": "SQL Server",
    "oracle": "Oracle",
    "snowflake": "Snowflake",
    "bigquery": "BigQuery",
}
_PARAGRAPH_END = re.compile(r"(\n[ \t]*\n\s*)")
_WORD = re.compile(r"[\w-]+")


class Prompt(Struct, frozen=True, kw_only=True):
    """The prompt that is sent for one case."""

    text: str
    note: str | None = None
    """The omitted part of the database; None if nothing was omitted."""


class PromptTemplate(Struct, frozen=True, kw_only=True):
    """A template with its name and text. Equal texts have equal digests."""

    name: str
    text: str

    @classmethod
    def named(cls, name: str | None) -> PromptTemplate:
        """The built-in template of that name, or the file at that path; None: the default. Raises InputError."""
        name = name or DEFAULT_TEMPLATE
        if name in TEMPLATES:
            return cls(name=name, text=TEMPLATES[name])
        path = Path(name)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            close = get_close_matches(name, TEMPLATES, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise InputError(
                f"{name!r} is not a prompt{hint}: use one of {', '.join(TEMPLATES)}, or the path of a file"
            ) from None
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise InputError(f"the prompt {name!r} cannot be read: {error}") from None
        if "question" not in check_placeholders([text], what=f"the prompt {name!r}", known=PLACEHOLDERS):
            raise InputError(f"the prompt {name!r} has no {{question}}: insert it at the place of the question")
        return cls(name=path.name, text=text)

    @property
    def digest(self) -> str:
        """A short hash of the text."""
        return blake2b(self.text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()

    @property
    def needs_schema(self) -> bool:
        """Whether the template shows any part of the database."""
        return not check_placeholders([self.text], what="the prompt", known=PLACEHOLDERS).isdisjoint(OF_THE_DATABASE)

    def filled(self, case: Case, schema: DatabaseSchema | None) -> Prompt:
        """The prompt for one case. ``schema`` None: the placeholders for the database's content stay empty."""
        shown = _Shown(case, schema)
        wanted = check_placeholders([self.text], what="the prompt", known=PLACEHOLDERS)
        values = {name: _VALUES[name](shown) if name in wanted else "" for name in PLACEHOLDERS}
        parts = _PARAGRAPH_END.split(self.text.strip("\n"))
        text = "".join(_paragraphs(parts, values)).strip("\n")
        return Prompt(text=text, note=shown.note)


def _paragraphs(parts: list[str], values: Mapping[str, str]) -> Iterator[str]:
    """The filled paragraphs, with the blank lines after them, without those whose placeholders are all empty."""
    for index in range(0, len(parts), 2):
        names = check_placeholders([parts[index]], what="the prompt", known=PLACEHOLDERS)
        if names and not any(values[name].strip() for name in names):
            continue
        yield fill(parts[index], values)
        yield from parts[index + 1 : index + 2]


class _Shown:
    """The parts of a case and of its database that a prompt shows, and what it had to omit."""

    def __init__(self, case: Case, schema: DatabaseSchema | None) -> None:
        self.case = case
        self.dialect = "" if schema is None else _DIALECTS.get(schema.dialect, schema.dialect)
        self.note: str | None = None
        self._every = () if schema is None else schema.tables

    def listed(self, draw: Callable[[TableSchema], str], between: str = "\n\n") -> str:
        """The tables as text: all of them, or those that the case names, as far as they fit."""
        chosen, texts = self._every, [draw(table) for table in self._every]
        if _length(texts, between) > MOST_CHARACTERS and (named := self._named()):
            chosen, texts = named, [draw(table) for table in named]
        kept: list[str] = []
        room = MOST_CHARACTERS
        for text in texts:
            room -= len(text) + len(between)
            if room < 0:
                break
            kept.append(text)
        if len(kept) < len(self._every):
            left = len(self._every) - len(kept)
            why = "the case names others" if len(kept) == len(chosen) else f"more than {MOST_CHARACTERS:,} characters"
            note = f"{left:,} of the database's {len(self._every):,} tables are not listed ({why})"
            kept.append(f"-- {note}")
            self.note = self.note or note
        return between.join(text for text in kept if text)

    def _named(self) -> tuple[TableSchema, ...]:
        """The tables whose full names occur in the case's context, otherwise in its question."""
        for text in (self.case.context, self.case.database, self.case.question):
            words = set(_WORD.findall((text or "").casefold()))
            named = tuple(table for table in self._every if table.name.casefold() in words)
            if named:
                return named
        return ()


def _length(texts: list[str], between: str) -> int:
    return sum(len(text) + len(between) for text in texts)


def _ddl(table: TableSchema) -> str:
    """The CREATE TABLE statement, including the keys."""
    return f"{table.ddl};"


def _values(table: TableSchema) -> str:
    return "\n".join(
        f"{table.quoted_name}.{quoted(column.name, table.quote)}: {', '.join(column.values)}"
        for column in table.columns
        if column.values
    )


def _as_llmsql(table: TableSchema) -> str:
    columns = ", ".join(f"{column.name} ({column.type})" if column.type else column.name for column in table.columns)
    lines = [f"Table: {table.quoted_name}", f"Columns: {columns}"]
    if table.primary_key:
        lines.append(f"Primary key: {', '.join(table.primary_key)}")
    for key in table.foreign_keys:
        referenced = f" ({', '.join(key.referenced)})" if key.referenced else ""
        lines.append(f"Foreign key: {', '.join(key.columns)} refers to {quoted(key.table, table.quote)}{referenced}")
    if table.first_row:
        lines.append(f"First row: {', '.join(table.first_row)}")
    return "\n".join(lines)


_VALUES: Mapping[str, Callable[[_Shown], str]] = {
    "question": lambda shown: shown.case.question,
    "context": lambda shown: (shown.case.context or "").strip(),
    "database": lambda shown: shown.case.database or "",
    "id": lambda shown: shown.case.id,
    "dialect": lambda shown: shown.dialect,
    "schema": lambda shown: shown.listed(_ddl),
    "values": lambda shown: shown.listed(_values, "\n"),
    "tables": lambda shown: shown.listed(_as_llmsql),
}


_DDL = """\
You write one SQL query that answers a question from the database described below.

SQL dialect: {dialect}

Database:
{schema}

Values in it, the first few of each column:
{values}

What else is known: {context}

Question: {question}

Answer with one read-only query in a ```sql code fence, and with nothing else. Use only tables and columns that are \
listed above. Select what the question asks for, in the order in which it asks, and no other columns.
"""

_DDL_OR_NULL = (
    _DDL.rstrip()
    + """ If the database cannot answer the question, or you are not sure enough of your query, answer null instead.
"""
)

_LLMSQL_TASK = """\
Write one {dialect} SELECT that answers the last question from the tables given with it. Answer with SQL alone.
"""

_LLMSQL_CASE = """\
Hints: {context}

Question: {question}
{tables}
SQL:
"""

# Tables, rows and questions made up for this project.
_SHOTS = (
    """\
Question: Which bridge is the longest?
Table: "bridges"
Columns: name (TEXT), river (TEXT), length_m (REAL), opened (INTEGER)
First row: 'Kestrel Bridge', 'Ouse', 412.5, 1931
SQL: SELECT "name" FROM "bridges" ORDER BY "length_m" DESC LIMIT 1;
""",
    """\
Question: How many ferries leave Tallinn before 9 in the morning?
Table: "1-204-7"
Columns: ferry (TEXT), from port (TEXT), to port (TEXT), departs (TEXT)
First row: 'Aurora', 'Tallinn', 'Helsinki', '07:30'
SQL: SELECT COUNT(*) FROM "1-204-7" WHERE "from port" = 'Tallinn' AND "departs" < '09:00';
""",
    """\
Question: What is the average price of the lamps that are in stock?
Table: "lamps"
Columns: model (TEXT), price (REAL), stock (INTEGER)
First row: 'Dusk 2', 39.9, 0
SQL: SELECT AVG("price") FROM "lamps" WHERE "stock" > 0;
""",
    """\
Question: Which coaches have trained more than one team?
Table: "seasons"
Columns: year (INTEGER), team (TEXT), coach (TEXT)
First row: 2014, 'North End', 'M. Okoye'
SQL: SELECT "coach" FROM "seasons" GROUP BY "coach" HAVING COUNT(DISTINCT "team") > 1;
""",
    """\
Question: In which year was the only peak above 8000 m climbed for the first time?
Table: "2-11-3"
Columns: peak (TEXT), height in m (INTEGER), first ascent (INTEGER)
First row: 'Cold Tooth', 7210, 1968
SQL: SELECT "first ascent" FROM "2-11-3" WHERE "height in m" > 8000;
""",
)


def _llmsql(shots: int) -> str:
    return "\n".join([_LLMSQL_TASK, *_SHOTS[:shots], _LLMSQL_CASE])


TEMPLATES = {
    "ddl": _DDL,
    "ddl-or-null": _DDL_OR_NULL,
    "llmsql-0": _llmsql(0),
    "llmsql-1": _llmsql(1),
    "llmsql-5": _llmsql(5),
}
"""By name, the default first. The templates in LLMSQL's form give the question, a table's columns with their types, and
its first row, after the number of worked examples in the template's name."""

DEFAULT_TEMPLATE = "ddl"
