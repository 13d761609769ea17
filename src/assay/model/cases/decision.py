"""What a system decides to do with a question, and what a question asks for."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final, Literal

from msgspec import Struct

Decision = Literal["answer", "decline", "clarify"]
"""``answer``: give a query; ``decline``: say that the question has no answer, or none that the system would stand for;
``clarify``: ask back. In a case it is what is right to do, in a prediction what the system did."""

DECISIONS: Final[tuple[Decision, ...]] = ("answer", "decline", "clarify")

Given = Literal["answer", "decline", "clarify", "nothing"]
"""What came from a system; ``nothing``: no query, and no word that it declines or asks back."""


_LONGEST_NULL = 100
"""With all blanks around it: texts that are longer are queries, and need not be looked at."""


class Exchange(Struct, frozen=True, kw_only=True):
    """An earlier turn of a conversation."""

    question: str
    answer: str | None = None
    """The system's own answer to it, if it was asked live and gave one."""


def is_null_word(text: str) -> bool:
    """Whether a query is the bare word ``null``, by which EHRSQL and TrustSQL write that a question has no answer.

    No engine answers anything to it.
    """
    return len(text) <= _LONGEST_NULL and text.strip().rstrip(";").rstrip().lower() == "null"


_NOTHING: Final = re.compile(
    r"(?>[\s;\ufeff\u00ad\u200b-\u200d\u2060]|--[^\r\n]*+"
    r"|/\*(?!M?!)(?>[^*]|\*(?!/))*+(?:\*/|\Z)"  # unless MariaDB and MySQL run what is in it
    r"|(?:`{3,}|~{3,})(?:(?:sql|vql)?(?=`{3}|~{3})|[ \t]*+(?!null\b)\w*+(?=[ \t]*+(?:[\r\n]|\Z))|(?=[\s;]|--|/\*)))*+",
    re.IGNORECASE,
)


def holds_nothing(text: str) -> bool:
    """Whether a text gives no query and says nothing: white space, semicolons, comments, code fences without a content.

    This is the one rule for what is blank: such an answer counts as none. No engine finds a query in
    it.
    """
    # Nearly every text is a query, and begins with a letter.
    return not text or (not text[0].isalpha() and _NOTHING.fullmatch(text) is not None)


_WORDS: Final[dict[Decision, str]] = {
    "answer": "answer answers answered answerable feasible",
    "decline": "decline declines declined abstain abstains abstained abstention refuse refuses refused refusal"
    " unanswerable infeasible impossible",
    "clarify": "clarify clarifies clarified clarification ask asks askback ambiguous",
}
DECISION_WORDS: Final = MappingProxyType(
    {word: decision for decision, words in _WORDS.items() for word in words.split()}
)
"""Words for decisions, in small letters and without separators."""


def decision_said(value: object) -> Decision | None:
    """The decision that a value states: a word of `DECISION_WORDS`, or the truth value of declining; else None."""
    if isinstance(value, bool):
        return "decline" if value else "answer"
    if not isinstance(value, str):
        return None
    return DECISION_WORDS.get("".join(filter(str.isalnum, value)).casefold())
