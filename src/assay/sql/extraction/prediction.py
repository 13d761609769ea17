"""The query of a prediction, whatever the prediction's text is."""

from __future__ import annotations

from msgspec.structs import replace

from assay.model import Extraction, Failure, Prediction
from assay.model.cases.decision import is_null_word
from assay.sql.extraction.messages import completion_in_text
from assay.sql.extraction.reading import Reading, read_plain_text

ONLY_THINKING = "the text ends with the model's thinking, before an answer"


def read_text(text: str) -> Reading:
    """The query in a text, or in the chat messages that the text is as JSON."""
    if (message := completion_in_text(text)) is None:
        return read_plain_text(text)
    reading = read_plain_text(message)
    return reading if reading.query is None else replace(reading, place=reading.place or "json")


def extracted(prediction: Prediction) -> Prediction:
    """The prediction with the one query that its text contains; unchanged if the text is a statement or declines.

    The text stays in ``raw``. A text that is only a model's thinking is not an answer.
    """
    text = prediction.query
    if text is None or prediction.extraction is not None or prediction.given != "answer":
        return prediction
    reading = read_text(text)
    how = extraction_of(reading)
    if reading.only_thinking:
        failure = Failure(stage="ask", kind="unanswered", blame="system", message=ONLY_THINKING)
        return replace(prediction, query=None, raw=prediction.raw or text, extraction=how, failure=failure)
    if reading.query is None:
        return prediction if how is None else replace(prediction, extraction=how)
    if reading.place is None:
        return prediction
    return replace(prediction, query=reading.query, raw=prediction.raw or text, extraction=how)


def extraction_of(reading: Reading) -> Extraction | None:
    """How the query was extracted from a text; None if the text is the query, or contains none."""
    if reading.query is None:
        if not (reading.several or reading.only_thinking):
            return None
    elif reading.place is None or is_null_word(reading.query):
        return None
    return Extraction(place=reading.place, others=reading.others, several=reading.several)


def written(prediction: Prediction) -> Prediction:
    """The prediction with its original text in place of the query that was extracted from it.

    A tool call is not a text: its argument stays the query.
    """
    how = prediction.extraction
    if how is None or how.place == "tool":
        return prediction
    if how.place is None and prediction.query is not None:
        return replace(prediction, extraction=None)
    return replace(prediction, query=prediction.raw, raw=None, extraction=None, failure=None)
