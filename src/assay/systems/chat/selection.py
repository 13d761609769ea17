"""Find the data query in an SDMX assistant's message: in its attachments, else in its words."""

from __future__ import annotations

from assay.model import Failure
from assay.ports import ChatMessage
from assay.sdmx.answers.messages import Fetch, find_query


def selected(message: ChatMessage, fetch: Fetch) -> str | Failure | None:
    """What `find_query` finds in a message. Raises QuestionFailed for a file that cannot be fetched."""
    return find_query(message.content, message.custom_content, fetch)
