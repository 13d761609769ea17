"""What Assay parses may hold secrets, and never reaches the log of the parser."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from assay.sql import read_shape, read_statement
from assay.sql.extraction import read_text
from assay.sql.schema.ddl import read_ddl
from assay.sql.statement import statement_kind
from assay.systems.denodo import is_one_query

SECRET = "q7-Secret-0042"
BEGINNINGS = ("Show me", "SHOW", "Use", "EXPLAIN", "Set", "CALL", "Describe", "Alter table", "Vacuum", "Grant", "Copy")
TEXTS = [f"{word} {SECRET} {rest}" for word in BEGINNINGS for rest in ("", "please", "= 1", "; SELECT 1")]


@pytest.mark.parametrize("dialect", ["denodo", "sqlite", "duckdb", "postgres", "mysql"])
def test_no_parsed_text_is_logged(dialect: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in TEXTS:
            read_text(text)
            read_text(f"Here it is:\n```sql\n{text}\n```")
            is_one_query(text)
            statement_kind(text, dialect)
            read_statement(text, dialect)
            read_shape(text, dialect)
            read_ddl(f"CREATE {text}; {text}", dialect)
    assert SECRET not in caplog.text


def test_other_callers_of_the_parser_keep_their_log() -> None:
    """In a process of its own, which has no log set up: Python then writes warnings to standard error."""
    script = (
        "import sys, sqlglot\n"
        "from assay.sql.statement import statement_kind\n"
        "statement_kind('Show me the key 0042', 'denodo')\n"
        "print('parsed', file=sys.stderr)\n"
        "sqlglot.parse('Show me the door')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "0042" not in done.stderr
    assert "Show me the door" in done.stderr
