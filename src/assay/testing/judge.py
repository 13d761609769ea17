"""A judge that follows a rule instead of a model, for tests and for trying `assay judge` without a model.

with ChatEmulator(answers=judge_by(same_text)) as server:
    ...  # assay judge RUN --model chat:<server.openai_url> --param model=any
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from assay.testing.chat import ChatAnswers, Messages, last_question

_QUERY = re.compile(
    r"^(?P<fence>=====\w+) query (?P<number>[12])\n(?P<text>.*?)\n(?P=fence) end of query (?P=number)$", re.M | re.S
)


def fenced_queries(prompt: str) -> tuple[str, str]:
    """The two queries in a judge's prompt, as they are between the fences. Raises ValueError without fences."""
    found = {one["number"]: one["text"] for one in _QUERY.finditer(prompt)}
    if set(found) != {"1", "2"}:
        raise ValueError("the prompt does not contain two fenced queries")
    return found["1"], found["2"]


def judge_by(decide: Callable[[str, str], bool]) -> ChatAnswers:
    """Answers for a chat model that judges by the rule ``decide``."""

    def answer(messages: Messages) -> str:
        first, second = fenced_queries(last_question(messages))
        return verdict(decide(first, second))

    return answer


def verdict(equivalent: bool, *, difference: str | None = None) -> str:  # noqa: FBT001 - the one thing it says
    """An answer in the form that a judge is asked for."""
    said = difference if difference is not None else "" if equivalent else "they are written differently"
    return json.dumps({"query_1": "rows", "query_2": "rows", "difference": said, "equivalent": equivalent})


def same_text(first: str, second: str) -> bool:
    """A rule: two queries are equivalent if they differ only in case, blanks and a final semicolon."""
    plain = [re.sub(r"\s+", " ", query).strip(" ;").casefold() for query in (first, second)]
    return plain[0] == plain[1]
