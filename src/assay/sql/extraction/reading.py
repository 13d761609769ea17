"""Read a text: it is a statement, or it contains one that counts, or neither."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from assay.model import ExtractionPlace
from assay.model.cases.decision import holds_nothing, is_null_word
from assay.sql.extraction.candidate import Candidate, choose
from assay.sql.extraction.fences import clean_query, without_end
from assay.sql.extraction.marked import marked_statements
from assay.sql.extraction.objects import beside_json, queries_in_json
from assay.sql.extraction.regions import begins_with_region, without_regions
from assay.sql.extraction.statements import is_statement, opening_of
from assay.sql.extraction.templates import split_completion, without_tokens

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
_THINKING_MARK = re.compile(r"</?\w+>|\[/?\w+\]|<[|｜][\w ]+[|｜]>|◁/?\w+▷")
_EMPTY_FENCE = re.compile(r"```\w*\s*```")
_BLANKS = " \t\r\n\f\v"
_UNREADABLE = f"{_BLANKS}\x85\xa0\u1680{''.join(map(chr, range(0x2000, 0x200C)))}\u2028\u2029\u202f\u205f\u2060\u3000"
"""Blanks around a statement that engines do not read, for example no-break spaces."""
_MOST_OTHERS = 5


class Reading(Struct, frozen=True, kw_only=True):
    """What a text holds.

    =========================================  =============================  =========
    text                                       ``query``                      ``place``
    =========================================  =============================  =========
    ``SELECT 1;``                              ``SELECT 1``                   None
    one code fence, ``<sql>…</sql>``           its content                    ``fence``
    several of them                            the last one's content         ``fence``
    ``{"sql": "SELECT 1"}``                    ``SELECT 1``                   ``json``
    prose with one statement                   the statement                  ``words``
    thinking, then a statement                 the statement                  ``words``
    two different statements in prose          None; both are ``others``      None
    thinking alone                             None                           None
    prose, or a refusal with a statement       None                           None
    =========================================  =============================  =========
    """

    query: str | None
    place: ExtractionPlace | None = None
    """Where in the text the query is; None if the text is the query, or has none."""
    words: str = ""
    """The text around the query, without the thinking."""
    complete: bool = True
    """False if the query extends to the end of the text and no mark ends it."""
    others: tuple[str, ...] = ()
    """Other statements in the text, which do not count: drafts, or all of several statements without a final one."""
    several: bool = False
    """Whether the text contains several different statements and marks none as the final one: the last of those in
    fences or tags counts, and none of those in prose."""
    only_thinking: bool = False
    """Whether the text ends within a model's thinking, or at its end."""


def refuses(words: str) -> bool:
    """Whether the author says that they do not, or cannot, answer the request."""
    return _REFUSES.search(words) is not None


def read_plain_text(text: str) -> Reading:
    """The query in a text that is not chat messages.

    A text that is a statement is that statement. Otherwise the statements in code fences and tags count, else those in
    JSON, else those in the words. Of several, the one counts that is marked as the final one; without such a mark, the
    last one in fences or tags, and none in JSON or words. A model's thinking is skipped. A text that declines has no
    query, except the word ``null`` if it is all of its answer.
    """
    if holds_nothing(text):
        return Reading(query=None)
    whole = without_tokens(text).strip(_UNREADABLE)
    if is_null_word(whole) or is_statement(whole):
        place: ExtractionPlace | None = None if whole == text.strip(_BLANKS) else "words"
        return Reading(query=without_end(whole), place=place, complete=whole.endswith(";"))
    answer, thoughts = split_completion(text)
    drafts = _statements_anywhere(thoughts) if thoughts else ()
    answer = without_tokens(answer)
    if holds_nothing(answer):
        return Reading(query=None, words=answer.strip(), others=drafts, only_thinking=bool(thoughts))
    if answer != text and (is_null_word(answer) or is_statement(answer)):
        complete = answer.rstrip().endswith(";")
        return Reading(query=without_end(answer), place="words", complete=complete, others=drafts)
    place, candidates = _candidates(answer)
    choice = choose(answer, candidates, last=place == "fence")
    if not candidates and opening_of(answer) in ("query", "command"):
        # A dialect that the parser does not know, or a mistake: the engine will report what is wrong.
        return Reading(query=without_end(answer), place=None if answer == text else "words")
    if choice is None:
        others = tuple(dict.fromkeys(candidate.query for candidate in candidates))[:_MOST_OTHERS]
        words = (beside_json(answer) if place == "json" else answer).strip()
        return Reading(query=None, words=words, others=others, several=len(others) > 1)
    chosen = choice.candidate
    if chosen.query == without_end(text):
        return Reading(query=chosen.query, complete=text.rstrip().endswith(";"))
    after = answer[chosen.end :].strip().lstrip(";`")
    words = _EMPTY_FENCE.sub("", f"{answer[: chosen.start].strip().rstrip('`')}\n{after}").strip()
    if not is_null_word(chosen.query) and refuses(without_regions(words)):
        return Reading(query=None, words=answer.strip())
    rest = _in_words(without_regions(answer)) if place == "fence" else ()
    others = (*drafts, *(candidate.query for candidate in (*candidates, *rest)))
    return Reading(
        query=without_end(chosen.query) if chosen.place == "words" else clean_query(chosen.query),
        place=chosen.place,
        words=words,
        complete=chosen.complete,
        others=tuple(dict.fromkeys(other for other in others if other != chosen.query))[:_MOST_OTHERS],
        several=choice.several,
    )


def _candidates(answer: str) -> tuple[ExtractionPlace, Sequence[Candidate]]:
    """The statements in a text that is not one, and where they are."""
    whole = answer.strip()
    as_json = whole.startswith(("{", "[", '"')) and not begins_with_region(whole)
    if not as_json and (marked := list(marked_statements(answer))):
        return "fence", marked
    in_json, declined = queries_in_json(answer)
    if (in_json or declined) and opening_of(answer) != "query":
        return "json", () if declined else in_json
    if as_json and (marked := list(marked_statements(answer))):
        return "fence", marked
    bare = whole.strip("`").strip().removeprefix("sql").strip()
    if is_null_word(bare):
        place: ExtractionPlace = "fence" if bare != whole else "words"
        return place, [Candidate(query=bare, start=0, end=len(answer), place=place)]
    from assay.sql.extraction.prose import statements_in_words

    return "words", statements_in_words(without_regions(answer))


def _in_words(text: str) -> Sequence[Candidate]:
    from assay.sql.extraction.prose import statements_in  # most texts are statements: its patterns compile slowly

    return statements_in(text)


def _statements_anywhere(text: str) -> tuple[str, ...]:
    """The statements in a model's thinking."""
    plain = _THINKING_MARK.sub(" ", text)
    candidates = list(marked_statements(plain)) or _in_words(plain)
    return tuple(dict.fromkeys(candidate.query for candidate in candidates))[:_MOST_OTHERS]
