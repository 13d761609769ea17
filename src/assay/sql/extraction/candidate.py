"""A statement within a text, and which of several counts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from assay.model import ExtractionPlace

_THING = r"(?:\s+(?:SQL|VQL|query|statement|answer|version|code|one|solution|result|form|attempt|try))+"
_FINAL = re.compile(
    rf"\b(?:final|finali[sz]ed|corrected|revised){_THING}\b"
    r"|\A\W*(?:(?:so|and|now|then|the)\s+)*(?:final(?:ly|i[sz]ed)?|corrected|revised)\W*\Z",
    re.IGNORECASE,
)
_DRAFT = re.compile(
    rf"\b(?:draft|first|initial|preliminary){_THING}\b|\b(?:a|my|first|rough|initial)\s+draft\b"
    r"|\A\W*(?:(?:the|so)\s+)*(?:draft|initial|preliminary)\W*\Z",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|no|neither|nor|nearly|almost|far\s+from|unlike|before|until|way\s+to|ne|nicht|keine?|\w+n['’]t)\s+"
    rf"(?:[\w'’]+\s+){{0,4}}?(?:(?P<final>{_FINAL.pattern}|final\b)|{_DRAFT.pattern})",
    re.IGNORECASE,
)
_RUN = (
    r"(?:run(?:ning)?|us(?:e|ing)|execut(?:e|ing)|submit(?:ting)?|send(?:ing)?|tak(?:e|ing)|writ(?:e|ing)|try(?:ing)?)"
)
_ADVISED_AGAINST = re.compile(
    rf"(?:\b(?:do\s+not|don['’]t|never|(?:should|must|would|can)\s+not|(?:should|must|would|ca)n['’]t|cannot|not\s+to)\s+"
    rf"(?:ever\s+|just\s+|simply\s+)?{_RUN}|\b(?:avoid|instead\s+of|rather\s+than)(?:\s+{_RUN})?)"
    r"(?:\s+(?:this|that|it|the|a|following|below|wrong|old|SQL|query|statement|one|like|as|something))*[\s:;,`'\"“*]*\Z",
    re.IGNORECASE,
)
"""The end of a sentence before a statement that is not to be used."""
_TAKEN_BACK = re.compile(
    r"(?:^|(?<=[.!,—–-]))\W*(?:(?:oh|hmm|oops|wait|actually|sorry|no|but|hold\s+on|hang\s+on|on\s+second\s+thought)\W+)*"
    r"(?:(?:that|this|it|the\s+above|the\s+(?:query|statement|answer)(?:\s+above)?)"
    r"(?:['’]s|\s+(?:is|was|looks|seems))\s+(?:\w+\s+)??(?:wrong|incorrect|mistaken|invalid|not\s+(?:right|correct))\b"
    r"|(?:that|this|it)\s+(?:is|was)n['’]t\s+(?:quite\s+)?(?:right|correct)\b"
    r"|(?:scratch|ignore|disregard|forget|strike)\s+(?:that|this|it|the\s+above)\b"
    r"|(?:I\s+(?:made|see)\s+an?\s+(?:mistake|error)|my\s+mistake)\b"
    r"|(?<=\W)no(?=\s*(?:[.,!:;—–-]|$)))",
    re.IGNORECASE | re.MULTILINE,
)
"""Words after a statement by which its author retracts it."""
_NOT_TAKEN_BACK = re.compile(r"\b(?:not|n['’]t|never|nothing)\s+(?:wrong|incorrect|mistaken|invalid)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_COMMENT = re.compile(r"\s*(?:--(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/)", re.DOTALL)
_MOST_LABEL = 200


class Candidate(Struct, frozen=True, kw_only=True):
    """A statement that a text contains, from ``start`` up to ``end``."""

    query: str
    start: int
    end: int
    complete: bool = True
    """False if the statement extends to the end of the text and nothing marks its end."""
    draft: bool = False
    label: str = ""
    """The adjacent comments, in which its author may call it the draft or the final one."""
    place: ExtractionPlace = "words"


class Choice(Struct, frozen=True, kw_only=True):
    """The statement of a text that counts."""

    candidate: Candidate
    several: bool = False
    """Whether it counts only as the last of several different ones."""


def choose(text: str, found: Sequence[Candidate], *, last: bool) -> Choice | None:
    """The statement that counts; None if there is none, or none of several different ones is marked as the final one.

    ``last``: without such a mark, the last of several counts.

    A statement that the author advises against does not count. One that is retracted before a further one is a draft.

    A statement that occurs twice is one. Its author may call it the draft or the final one in an adjacent comment, or
    else in the sentence before it; what precedes a code fence applies to each statement in it.
    """
    every: dict[str, Candidate] = {}
    finals: dict[str, Candidate] = {}
    others: dict[str, Candidate] = {}
    place, before = 0, ""
    for number, candidate in enumerate(found):
        if number == 0 or candidate.start != found[number - 1].start:
            before = _sentence_before(text[place : candidate.start])
        place = candidate.end
        if _ADVISED_AGAINST.search(before):
            continue
        labels = map(_marks, (_first_comment(candidate.query), candidate.label, before))
        is_draft, is_final = next(filter(any, labels), (False, False))
        key = " ".join(candidate.query.split()).rstrip("; ")
        groups = [every]
        if not (is_draft or candidate.draft or _is_taken_back(text, found, number)):
            groups += [others, finals] if is_final else [others]
        for group in groups:
            group[key] = group.pop(key, candidate)  # the last of its repetitions decides its rank
    for group in (every, finals, others):
        if len(group) == 1:
            return Choice(candidate=next(iter(group.values())))
    if not last or not every:
        return None
    return Choice(candidate=list((finals or others or every).values())[-1], several=True)


def _is_taken_back(text: str, found: Sequence[Candidate], number: int) -> bool:
    """Whether the words between a statement and the next one say that it is wrong."""
    end = found[number].end
    following = next((candidate.start for candidate in found[number + 1 :] if candidate.start >= end), None)
    if following is None:
        return False
    words = text[end:following].lstrip("`~;")[:_MOST_LABEL]
    return _TAKEN_BACK.search(words) is not None and _NOT_TAKEN_BACK.search(words) is None


def _marks(label: str) -> tuple[bool, bool]:
    """Whether a label calls a statement a draft, and whether it calls it the final one. Not the final one: a draft."""
    denied = any(found["final"] for found in _NEGATED.finditer(label))
    said = _NEGATED.sub(" ", label)
    is_final = _FINAL.search(said) is not None
    return _DRAFT.search(said) is not None or (denied and not is_final), is_final


def _sentence_before(text: str) -> str:
    """The last sentence of the line before a statement."""
    lines = [line for line in text[-_MOST_LABEL:].splitlines() if line.strip()]
    return _SENTENCE_END.split(lines[-1].strip())[-1] if lines else ""


def _first_comment(query: str) -> str:
    comment = _COMMENT.match(query)
    return (comment["line"] or comment["block"] or "") if comment else ""
