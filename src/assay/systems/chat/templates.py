"""The built-in templates of prompts that ask a chat model for SQL.

A template is text with placeholders (`assay.systems.chat.prompt.PLACEHOLDERS`). A paragraph is left out where it has
placeholders and all of them are empty for the case.
"""

from __future__ import annotations

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
