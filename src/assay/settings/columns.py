"""The options that name the columns of a question set and of a file of predictions."""

from __future__ import annotations

from typing import Final

from assay.settings.setting import ANSWERS, QUESTIONS, Setting

CASE_COLUMNS: Final = {
    "id": Setting("--id-column", QUESTIONS, "Column of the ids, in both files ('@position': row numbers).", "NAME"),
    "question": Setting("--question-column", QUESTIONS, "Column of the questions.", "NAME"),
    "gold": Setting("--gold-column", QUESTIONS, "Column of the gold queries.", "NAME"),
    "database": Setting("--db-column", QUESTIONS, "Column of the databases' names.", "NAME"),
    "difficulty": Setting("--difficulty-column", QUESTIONS, "Column of the difficulty.", "NAME"),
    "tags": Setting("--tag-column", QUESTIONS, "Column of the cases' tags.", "NAME"),
    "context": Setting("--context-column", QUESTIONS, "Column of the hints that come with a question.", "NAME"),
    "answerable": Setting(
        "--answerable-column", QUESTIONS, "Column that says whether a question has an answer.", "NAME"
    ),
    "sheet": Setting("--sheet", QUESTIONS, "Sheet of a workbook. Default: the only one with the columns.", "NAME"),
    "header_row": Setting(
        "--header-row",
        QUESTIONS,
        "Row of the sheet that names the columns, from 0. Default: the first with them.",
        "N",
        least=0,
    ),
    "encoding": Setting("--encoding", QUESTIONS, "Encoding of a text file that is not UTF-8, such as cp1252.", "NAME"),
}
"""The options for the columns of a question set."""

PREDICTION_COLUMNS: Final = {
    "prediction": Setting(
        "--prediction-column", ANSWERS, "Column of the predicted queries, or a path as 'a.b[0].sql'.", "NAME"
    ),
    "id": Setting("--prediction-id-column", ANSWERS, "Column of the predictions' ids, if not --id-column.", "NAME"),
    "question": Setting("--prediction-question-column", ANSWERS, "Column of the predictions' questions.", "NAME"),
    "decision": Setting(
        "--decision-column", ANSWERS, "Column of the predictions: answers, declines or asks back.", "NAME"
    ),
    "confidence": Setting(
        "--confidence-column", ANSWERS, "Column of the predictions: how sure the system is, from 0 to 1.", "NAME"
    ),
    "context_tables": Setting(
        "--context-tables-column", ANSWERS, "Column of the predictions: the tables that the system was given.", "NAME"
    ),
    "context_columns": Setting(
        "--context-columns-column", ANSWERS, "Column of the predictions: the columns that it was given.", "NAME"
    ),
    "sheet": Setting("--prediction-sheet", ANSWERS, "Sheet of the predictions' workbook.", "NAME"),
    "header_row": Setting(
        "--prediction-header-row",
        ANSWERS,
        "Row of the predictions' sheet with the columns' names, from 0.",
        "N",
        least=0,
    ),
    "encoding": Setting(
        "--prediction-encoding", ANSWERS, "Encoding of the predictions, where it is not UTF-8.", "NAME"
    ),
}
"""The options for the columns of the predictions."""
