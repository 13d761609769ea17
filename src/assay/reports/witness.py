"""The result of the search for a counterexample as text, as JSON and as a test for pytest."""

from __future__ import annotations

from assay.model.witness import Refutation
from assay.reports.json.run import document, refutation_fields
from assay.reports.text.refutation import refutation_text

__all__ = ["refutation_json", "refutation_text", "witness_test"]

FORMAT_VERSION = 1
_MAKE = {
    "sqlite": """    connection = sqlite3.connect(path)
    connection.executescript(WITNESS)
    connection.close()
""",
    "duckdb": """    connection = duckdb.connect(str(path))
    connection.execute(WITNESS)
    connection.close()
""",
}


def witness_test(outcome: Refutation, first_sql: str, second_sql: str) -> str:
    """A module with one test that makes the witness and asserts that the queries agree on it.

    Raises ValueError for an outcome without a witness.
    """
    if outcome.witness is None:
        raise ValueError("an outcome without a witness has no test")
    kind = outcome.engine.partition(" ")[0]
    kind = kind if kind in _MAKE else "sqlite"
    statements = "".join(f"{statement};\n" for statement in outcome.witness.statements)
    imports = ["import assay"] if kind == "sqlite" else ["import duckdb", "", "import assay"]
    head = ["import sqlite3"] if kind == "sqlite" else []
    head += ["from pathlib import Path", "", *imports]
    return "\n".join(
        [
            '"""Two queries that must agree, and a small database on which they did not."""',
            "",
            *head,
            "",
            f"FIRST = {_text(first_sql)}",
            f"SECOND = {_text(second_sql)}",
            f"WITNESS = {_text(statements)}",
            "",
            "",
            "def test_queries_agree(tmp_path: Path) -> None:",
            f"    {_docstring(outcome.reason)}",
            f'    path = tmp_path / "witness.{kind}"',
            _MAKE[kind].rstrip("\n"),
            f'    assay.assert_equivalent(SECOND, FIRST, database=f"{kind}:///{{path}}")',
            "",
        ]
    )


def _text(text: str) -> str:
    """A text as a Python literal, over several lines if it has several and none of them needs escapes."""
    plain = all(sign.isprintable() or sign == "\n" for sign in text)
    if "\n" in text and plain and '"""' not in text and "\\" not in text and not text.endswith('"'):
        return f'"""\\\n{text}"""'
    return repr(text)


def _docstring(reason: str) -> str:
    sentence = " ".join(reason.split())
    literal = repr(sentence[:1].upper() + sentence[1:] + ".")
    if "\\" in literal or '"' in literal:
        return literal
    return f'"""{literal[1:-1]}"""'


def refutation_json(outcome: Refutation, first_sql: str, second_sql: str) -> bytes:
    """The result of the search as one JSON document, UTF-8, ending in a line break.

    Top level: ``format`` (``assay-refutation``), ``version``, and the fields of
    `assay.model.witness.Refutation`. In ``witness``, ``first`` and ``second`` are results (``columns`` and
    ``rows``), ``statements`` the SQL that makes it.
    """
    return document(
        {
            "format": "assay-refutation",
            "version": FORMAT_VERSION,
            "first_sql": first_sql,
            "second_sql": second_sql,
            **refutation_fields(outcome),
        }
    )
