"""The emulated chat server."""

from assay.testing.chat.answers import (
    ChatAnswer,
    ChatAnswers,
    Messages,
    last_question,
    query_attachment,
    read_answers,
)
from assay.testing.chat.emulator import ChatEmulator

__all__ = [
    "ChatAnswer",
    "ChatAnswers",
    "ChatEmulator",
    "Messages",
    "last_question",
    "query_attachment",
    "read_answers",
]
