"""Read the text of a prediction: it is a statement, or it contains exactly one, or neither."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.model import Extraction, ExtractionPlace, Prediction
from assay.model.cases.decision import holds_nothing, is_null_word
from assay.sql.extraction.candidate import Candidate, choose
from assay.sql.extraction.fences import (
    clean_query,
    fenced,
    is_one_fence,
    thinking_in,
    without_end,
    without_fences,
    without_thinking,
)
from assay.sql.extraction.objects import beside_json, queries_in_json
from assay.sql.extraction.statements import is_statement, opening_of

_REFUSES = re.compile(
    r"\b(?:I|we)(?: am|'m|’m| are|'re|’re)?(?: sorry[,.]?(?: but)? I)? ?"
    r"(?:cannot|can ?not|can't|can’t|could not|couldn't|unable to|not able to|won't|will not|decline to|refuse to) "
    r"(?:\w+ ){0,2}?(?:answer|write|generate|provide|produce|create|give|formulate|construct|help|determine|"
    r"assist|comply|judge|compare|decide|evaluate|assess|do that|do this)"
    r"|\b(?:question|request|it|this|that)(?: \w+){0,2} (?:cannot|can ?not|can't|can’t|could not|couldn't) be "
    r"(?:\w+ )?(?:answered|determined|expressed)(?! (?:by|from|in|using|with|without) (?:a single|just|one|only)\b)"
    r"|\b(?:unanswerable|not answerable)\b"
    r"|\b(?:I|we) (?:must |have to )?decline\b|\bno (?:SQL )?(?:query|statement) (?:can|could) answer\b"
    r"|\b(?:I|we) (?:do not|don't|don’t) know (?:the|an) answer\b"
    r"|\bje ne (?:peux|puis) pas\b|\bno (?:puedo|es posible)\b|\bnon posso\b|\bnão posso\b"
    r"|\b(?:is|it's) (?:not possible|impossible) to (?:\w+ ){0,2}?(?:answer|write|generate|provide|determine)"
    r"|^\W*(?:(?:sql|query|answer|final answer)\W+)?null\W*$",
    re.IGNORECASE | re.MULTILINE,
)
_THINKING_MARK = re.compile(r"</?(?:think|thinking|reasoning)>", re.IGNORECASE)
_END_MARK = re.compile(r"(?:\s*(?:<\|\w+\|>|</s>))+\s*\Z")
"""Tokens with which models end a text."""
_EMPTY_FENCE = re.compile(r"```\w*\s*```")
_BLANKS = " \t\r\n\f\v"
_UNREADABLE = f"{_BLANKS}\x85\xa0\u1680{''.join(map(chr, range(0x2000, 0x200C)))}\u2028\u2029\u202f\u205f\u2060\u3000"
"""Blanks around a statement that engines do not read, for example no-break spaces."""
_MOST_OTHERS = 5


class Reading(Struct, frozen=True, kw_only=True):
    """What a text holds.

    ======================================  ==========================  =========
    text                                    ``query``                   ``place``
    ======================================  ==========================  =========
    ``SELECT 1;``                           ``SELECT 1``                None
    one code fence                          its content                 ``fence``
    ``{"sql": "SELECT 1"}``                 ``SELECT 1``                ``json``
    prose with one statement                the statement               ``words``
    thinking, then a statement              the statement               ``words``
    two different statements                None; both are ``others``   None
    prose, or a refusal with a statement    None                        None
    ======================================  ==========================  =========
    """

    query: str | None
    place: ExtractionPlace | None = None
    """Where in the text the query is; None if the text is the query, or has none."""
    words: str = ""
    """The text around the query, without the thinking."""
    bare: bool = False
    """Whether the text has no words besides the query: it is a statement, one code fence or one JSON object."""
    complete: bool = True
    """False if the query extends to the end of the text and no mark ends it."""
    others: tuple[str, ...] = ()
    """Other statements in the text, which do not count: drafts, or all of several statements without a final one."""


def refuses(words: str) -> bool:
    """Whether the author says that they do not, or cannot, answer the request."""
    return _REFUSES.search(words) is not None


def _without_end_mark(text: str) -> str:
    return _END_MARK.sub("", text) if text.rstrip().endswith(">") else text


def read_text(text: str) -> Reading:
    """The query in a text.

    A text that is a statement is that statement. Otherwise the code fences count, else JSON, else statements in the
    words, if they contain exactly one statement, or mark one as the final one. Text between ``<think>`` and
    ``</think>`` is skipped. A text that declines has no query, except the word ``null`` if it is all of its answer.
    """
    if holds_nothing(text):
        return Reading(query=None)
    whole = _without_end_mark(text).strip(_UNREADABLE)
    if is_null_word(whole) or is_statement(whole):
        place: ExtractionPlace | None = None if whole == text.strip(_BLANKS) else "words"
        return Reading(query=without_end(whole), place=place, bare=True, complete=whole.endswith(";"))
    answer = without_thinking(text)
    drafts = _drafts(text) if answer != text else ()
    if holds_nothing(answer):
        return Reading(query=None, words=answer.strip())
    if answer != text and is_statement(answer):
        complete = answer.rstrip().endswith(";")
        return Reading(query=without_end(answer), place="words", complete=complete, others=drafts)
    answer = _without_end_mark(answer)
    place, found = _found(answer)
    chosen = choose(answer, found)
    if not found and opening_of(answer) in ("query", "command"):
        # A dialect that the parser does not know, or a mistake: the engine will report what is wrong.
        return Reading(query=without_end(answer), bare=answer == text, place=None if answer == text else "words")
    if chosen is None:
        others = tuple(dict.fromkeys(candidate.query for candidate in found))
        words = (beside_json(answer) if place == "json" else answer).strip()
        return Reading(query=None, words=words, others=others[:_MOST_OTHERS])
    if chosen.query == without_end(text):
        return Reading(query=chosen.query, bare=True, complete=text.rstrip().endswith(";"))
    after = answer[chosen.end :].strip().lstrip(";`")
    words = _EMPTY_FENCE.sub("", f"{answer[: chosen.start].strip().rstrip('`')}\n{after}").strip()
    if not is_null_word(chosen.query) and refuses(without_fences(words)):
        return Reading(query=None, words=answer.strip())
    rest = _in_words(without_fences(answer)) if place == "fence" else ()
    others = (*drafts, *(candidate.query for candidate in (*found, *rest)))
    return Reading(
        query=clean_query(chosen.query) if place != "words" else without_end(chosen.query),
        place=place,
        words=words,
        bare=answer == text and place != "words" and (is_one_fence(text) or not words),
        complete=chosen.complete,
        others=tuple(dict.fromkeys(one for one in others if one != chosen.query))[:_MOST_OTHERS],
    )


def _found(answer: str) -> tuple[ExtractionPlace, Sequence[Candidate]]:
    """The statements in a text that is not one, and where they are."""
    whole = answer.strip()
    as_json = whole.startswith(("{", "[", '"'))
    if not as_json and (found := list(fenced(answer))):
        return "fence", found
    found, declined = queries_in_json(answer)
    if (found or declined) and opening_of(answer) != "query":
        return "json", () if declined else found
    if as_json and (found := list(fenced(answer))):
        return "fence", found
    bare = whole.strip("`").strip().removeprefix("sql").strip()
    if is_null_word(bare):
        return "fence" if bare != whole else "words", [Candidate(query=bare, start=0, end=len(answer))]
    from assay.sql.extraction.prose import statements_in_words

    return "words", statements_in_words(without_fences(answer))


def _in_words(text: str) -> Sequence[Candidate]:
    from assay.sql.extraction.prose import statements_in  # most texts are statements: its patterns take long to compile

    return statements_in(text)


def _drafts(text: str) -> tuple[str, ...]:
    """The statements in a model's thinking."""
    thoughts = _THINKING_MARK.sub(" ", thinking_in(text))
    found = list(fenced(thoughts)) or _in_words(thoughts)
    return tuple(dict.fromkeys(candidate.query for candidate in found))[:_MOST_OTHERS]


def extracted(prediction: Prediction, *, live: bool = False) -> Prediction:
    """The prediction with the one query that its text contains; unchanged if the text is a statement or declines.

    ``live``: a system returned the text in this run. The text stays in ``raw``.
    """
    text = prediction.query
    if text is None or prediction.extraction is not None or prediction.given != "answer":
        return prediction
    reading = read_text(text)
    if reading.query is None:
        if len(reading.others) < 2:
            return prediction
        return replace(prediction, extraction=Extraction(place=None, others=reading.others, live=live))
    if reading.place is None:
        return prediction
    plain = is_null_word(reading.query) or (live and reading.bare)
    how = None if plain else Extraction(place=reading.place, others=reading.others, live=live)
    return replace(prediction, query=reading.query, raw=prediction.raw or text, extraction=how)


def written(prediction: Prediction) -> Prediction:
    """The prediction with its original text in place of the query that was extracted from it.

    A tool call is not a text: its argument stays the query.
    """
    found = prediction.extraction
    if found is None or found.place == "tool":
        return prediction
    query = prediction.query if found.place is None else prediction.raw
    return replace(prediction, query=query, raw=None if query == prediction.raw else prediction.raw, extraction=None)
