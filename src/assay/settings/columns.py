"""The options that name the columns of a question set and of a file of predictions."""

from __future__ import annotations

from typing import Final

from assay.settings.setting import ANSWERS, QUESTIONS, Setting

CASE_COLUMNS: Final = {
    "id": Setting("--id-column", QUESTIONS, "Column of the ids in both files; @position: row numbers.", "NAME"),
    "question": Setting("--question-column", QUESTIONS, "Column of the questions.", "NAME"),
    "gold": Setting("--gold-column", QUESTIONS, "Column of the gold queries.", "NAME"),
    "database": Setting("--db-column", QUESTIONS, "Column of the database names.", "NAME"),
    "difficulty": Setting("--difficulty-column", QUESTIONS, "Column of the difficulty.", "NAME"),
    "tags": Setting("--tag-column", QUESTIONS, "Column of the tags.", "NAME"),
    "context": Setting("--context-column", QUESTIONS, "Column of the hints for a question.", "NAME"),
    "answerable": Setting("--answerable-column", QUESTIONS, "Column for whether a question has an answer.", "NAME"),
    "sheet": Setting("--sheet", QUESTIONS, "Worksheet. Default: the only one with the required columns.", "NAME"),
    "header_row": Setting(
        "--header-row",
        QUESTIONS,
        "Row of the header, from 0. Default: the first with the columns.",
        "N",
        least=0,
    ),
    "encoding": Setting("--encoding", QUESTIONS, "Text encoding, e.g. cp1252. Default: UTF-8.", "NAME"),
}
"""The options for the columns of a question set."""

PREDICTION_COLUMNS: Final = {
    "prediction": Setting("--prediction-column", ANSWERS, "Column of the predicted queries, or a path.", "NAME"),
    "id": Setting("--prediction-id-column", ANSWERS, "Column of the ids of predictions. Default: --id-column.", "NAME"),
    "question": Setting("--prediction-question-column", ANSWERS, "Column of the questions of predictions.", "NAME"),
    "decision": Setting("--decision-column", ANSWERS, "Column of the decisions: answer, decline, clarify.", "NAME"),
    "confidence": Setting("--confidence-column", ANSWERS, "Column of the confidence, from 0 to 1.", "NAME"),
    "context_tables": Setting(
        "--context-tables-column", ANSWERS, "Column of the tables that the system was given.", "NAME"
    ),
    "context_columns": Setting(
        "--context-columns-column", ANSWERS, "Column of the columns that the system was given.", "NAME"
    ),
    "sheet": Setting("--prediction-sheet", ANSWERS, "Worksheet of the predictions.", "NAME"),
    "header_row": Setting(
        "--prediction-header-row",
        ANSWERS,
        "Row of the header in the predictions' worksheet, from 0.",
        "N",
        least=0,
    ),
    "encoding": Setting("--prediction-encoding", ANSWERS, "Text encoding of the predictions. Default: UTF-8.", "NAME"),
}
"""The options for the columns of the predictions."""
