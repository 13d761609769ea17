"""The bundled example: an invented bank, questions with their gold VQL, and an AI SDK's answers to them.

The answers are right, wrong, over-specified, without a query, slow and failing. Every VQL text also
runs on DuckDB.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from assay.errors import MissingDependency

USER = "demo"
PASSWORD = "demo-password"
WORKBOOK = "sample_input.xlsx"
COLUMNS = ("Question", "Solution", "difficulty", "Context")


def tables_folder() -> Path:
    """The CSV files of the bank: branch, client, account, transfer."""
    return _bundled("harbour_bank")


def answers_path() -> Path:
    """The file of the emulated AI SDK's answers, as `DenodoEmulator` reads it."""
    return _bundled("answers.jsonl")


def questions() -> tuple[Mapping[str, Any], ...]:
    """The questions with ``question``, ``solution``, ``difficulty`` and ``context`` (or None)."""
    lines = _bundled("questions.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


def write_workbook(path: Path) -> Path:
    """Write the questions as the workbook that `assay denodo --input` reads. The same bytes every time.

    Raises OSError if it cannot be written, MissingDependency without XlsxWriter.
    """
    try:
        import xlsxwriter
    except ImportError:
        raise MissingDependency("xlsxwriter", None) from None
    # Written under another name and renamed, so that an interruption leaves no half workbook under this name.
    draft = path.with_name(f".{path.name}.part")
    options = {"strings_to_formulas": False, "strings_to_urls": False, "in_memory": True}
    with xlsxwriter.Workbook(str(draft), options) as workbook:
        workbook.set_properties({"title": "Questions to Harbour Bank", "created": datetime(2025, 1, 1, tzinfo=UTC)})
        sheet = workbook.add_worksheet("Questions")
        wrapped = workbook.add_format({"text_wrap": True, "valign": "top"})
        for column, (name, width) in enumerate(zip(COLUMNS, (44, 70, 12, 40), strict=True)):
            sheet.set_column(column, column, width, wrapped)
            sheet.write_string(0, column, name, workbook.add_format({"bold": True}))
        for row, question in enumerate(questions(), start=1):
            for column, name in enumerate(("question", "solution", "difficulty", "context")):
                sheet.write(row, column, question[name])
        sheet.freeze_panes(1, 0)
    draft.replace(path)
    return path


def _bundled(name: str) -> Path:
    found = resources.files(__name__).joinpath(name)
    if not isinstance(found, Path):
        raise FileNotFoundError(f"{name} of the bundled example is not a plain file ({found}): install assay unzipped")
    return found
