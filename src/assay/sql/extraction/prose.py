"""Find statements in prose: their beginning and their end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.sql.extraction.candidate import Candidate
from assay.sql.extraction.statements import ENDS_STATEMENT, GOES_ON, NOTES, WITH, Parser, masked, opening_of

_TITLE_LINE = re.compile(r"\n[ \t>]*[A-Z][a-z'’]+\b")
_SENTENCE = re.compile(
    r"[\W_]*+(?:\d+[\W_]*+)?(?:[A-Z][A-Za-z'’]*+(?:[*_]*:|[ \t]*[.!*_]*+[ \t]*(?:\r?\n|\Z)|,?(?>[ ][a-z'’]++)++[^\w=(])"
    r"|(?:[a-z'’]++[ ,]++){3}[a-z]|[^\W\d_a-zA-Z\u00aa-\u024f])"
)
"""The beginning of a sentence or a heading. SQL that no parser can read must not be mistaken for one."""

_VALUES = r"(?-i:VALUES)\s*\((?!\s*SELECT\b)"
_AT_LINE_START = re.compile(rf"^[ \t>*#-]*(?P<query>\(*(?:{WITH}|SELECT\b|{_VALUES}))", re.MULTILINE | re.IGNORECASE)
_AFTER_A_MARK = re.compile(
    rf"(?:[:`\"'“‘„«「『.!?：。！？；，]|\*\*)[ \t\u3000*]*(?P<query>\(*(?:{WITH}|SELECT\b|{_VALUES}))",
    re.IGNORECASE,
)
_WITHIN_A_LINE = re.compile(r"(?<!\w)(?P<before>\w*+)(?<![ \t])[ \t]++(?P<query>SELECT\b)")
_OPERATOR = r"(?i:IN|EXISTS|ANY|ALL|SOME|AND|OR|AS|NOT|LIKE|FROM|JOIN|ON|WHEN|THEN|ELSE|BY|UNION)"
_IN_PARENTHESES = re.compile(
    rf"(?:\A|(?!{_OPERATOR}\b)\b\w+[ \t]+|[^\x00-\x7f])(?P<open>[(（])[ \t]*(?P<query>{WITH}|SELECT\b)"
)
_OTHER_SQL = re.compile(
    r"\b(?:SELECT|FROM|WHERE|JOIN|UNION|EXCEPT|INTERSECT|WITH|ORDER|LIMIT|INSERT|UPDATE|DELETE)\b|[=<>]"
)
_COMMAND_WITHIN = re.compile(
    r"\b(?:INSERT\s+INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|ALTER\s+TABLE|(?:DROP|CREATE)\s+(?:\w+\s+)*?(?:TABLE|VIEW))\b"
)
_DANGLING = re.compile(
    r"(?:\b(?:UNION|ALL|EXCEPT|INTERSECT|MINUS|AS|IN|EXISTS|INTO\s+\S+|VIEW\s+\S+)|\bSELECT\b[^.:;!?]*[(,=])\s*\Z"
)
"""The end of an incomplete statement."""
_SQL_WORD = re.compile(r"\b(?:SELECT|FROM|WHERE|JOIN|UNION|EXCEPT|INTERSECT|INTO|TABLE|VIEW|VALUES|SET|AS|ON|HAVING)\b")
_SENTENCE_BREAK = re.compile(r"[.:!?`：。！？](?:\s|\Z)|[\"“”]|\n[ \t]*\n")
_ASKED = re.compile(r"[`\"'”’»」)*]*\s?[?？]")
"""What follows a statement that is in a question."""
_CLOSED_BY = {"`": r"`(?!\w)", '"': r"\"(?!\w)", "'": r"'(?!\w)", "**": r"\*\*", "“": "”", "‘": "’", "„": "[“”]"}
_CLOSED_BY |= {"«": "»", "「": "」", "『": "』"}
"""Marks round a statement, with the patterns of the marks that close them."""
_HAS_FROM = re.compile(r"\bFROM\b", re.IGNORECASE)
_FULL_STOP = re.compile(r"\.(?=[ \t]+[A-Z][a-z'’]*\b)")
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
_AFTER_END = " \t\r\n\u3000;`\"'”’»」』)）*.。！？；"
_STOP = re.compile(f"[;。；]|{ENDS_STATEMENT.pattern}", ENDS_STATEMENT.flags)

_MOST_STARTS = 50
"""Limit for the positions in one text at which a statement is searched."""
_MOST_CLOSES = 8
"""Limit for the closing quotation marks at which a quoted statement may end."""
_MOST_CUTS = 12
"""Limit for the line ends at which a statement in prose may end."""


def statements_in_words(text: str) -> list[Candidate]:
    """Like `statements_in`, unless the text begins with SQL that the parser cannot read: then none of it is prose."""
    found = statements_in(text)
    opening = opening_of(text)
    begins_elsewhere = bool(found) and NOTES.sub("", text[: found[0].start]).strip(" (") != ""
    return [] if opening == "command" or (opening == "query" and begins_elsewhere) else found


def statements_in(text: str) -> list[Candidate]:
    """The statements in prose, in order.

    One begins at the start of a line, after a colon, a quotation mark or the end of a sentence, or anywhere in capital
    letters if it has a FROM. It ends at its semicolon or backtick, or before prose on a new line.
    """
    parser = Parser()
    if (within := _in_parentheses(text, parser)) is not None:
        return [within]
    marked = (match for pattern in (_AT_LINE_START, _AFTER_A_MARK) for match in _first(pattern, text))
    starts = {match.start("query"): True for match in marked}
    for match in _first(_WITHIN_A_LINE, text):
        if opening_of(f"{match['before']} ") is None:
            starts.setdefault(match.start("query"), False)
    ordered = sorted(starts)[:_MOST_STARTS]
    # "Select the customers …" is usually advice in prose; "SELECT 1" and "select 1" are queries.
    for title_case in (False, True):
        found: list[Candidate] = []
        for start in ordered:
            word = text[start : start + 8].lstrip("(")
            if (word[:1].isupper() and word[1:2].islower()) is not title_case or (found and start < found[-1].end):
                continue
            before = text[found[-1].end if found else 0 : start]
            if word.startswith("VALUES") and _SQL_WORD.search(text[:start]):
                continue
            if _belongs_to_other_sql(before, alone=bool(found), marked=starts[start]):
                continue
            candidate = _statement_at(text, start, parser, marked=starts[start])
            if candidate is not None and not _ASKED.match(text, candidate.end):
                found.append(candidate)
        if found:
            return found
    return []


def _belongs_to_other_sql(before: str, *, alone: bool, marked: bool) -> bool:
    """Whether the text before a SELECT is another statement, or the beginning of the one that it ends.

    ``alone``: a statement ends where the text begins. ``marked``: the SELECT follows a line break or another mark.
    """
    if before.strip().endswith(";") and not (alone and before.strip() == ";"):
        return True
    if _COMMAND_WITHIN.search(before) or _DANGLING.search(before):
        return True
    return not marked and _SQL_WORD.search(_SENTENCE_BREAK.split(before)[-1]) is not None


def _in_parentheses(text: str, parser: Parser) -> Candidate | None:
    """The statement in parentheses, if nothing else in the text looks like SQL: it is not part of another statement."""
    match = _IN_PARENTHESES.search(text)
    if match is None:
        return None
    start = match.start("query")
    plain = masked(text[start:])
    depth = 1
    for mark in re.finditer(r"[()（）]", plain):
        depth += 1 if mark[0] in "(（" else -1
        if depth == 0:
            query = text[start : start + mark.start()].rstrip(" \t\r\n;")
            end = start + mark.end()
            around = f"{text[: match.start('open')]} {text[end:]}"
            if _HAS_FROM.search(query) and not _OTHER_SQL.search(around) and parser.reads(query):
                return Candidate(query=query, start=match.start("open"), end=end)
            break
    return None


def _first(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    for _, match in zip(range(_MOST_STARTS), pattern.finditer(text), strict=False):
        yield match


def _statement_at(text: str, start: int, parser: Parser, *, marked: bool) -> Candidate | None:
    """The statement that begins there; None if that is prose, or if another kind of statement follows it."""
    if (quoted := _in_quotes(text, start, parser)) is not None:
        return quoted
    end, complete = _end_of(text, start)
    body = text[start:end]
    in_capitals = body.lstrip("(")[:4].isupper()
    for place, query in enumerate(_cuts(body)):
        if not (_HAS_FROM.search(query) or (marked and in_capitals)):
            return None
        # The parser may not know what an engine supports: capital letters in one paragraph are SQL, too.
        known = (
            place == 0 and marked and in_capitals and query[-1] != "." and " FROM " in f" {' '.join(query.split())} "
        )
        if not parser.reads(query) and not (known and not _TITLE_LINE.search(query)):
            continue
        stop = start + len(query)
        return (
            Candidate(query=query, start=start, end=stop, complete=complete or stop < end)
            if _is_prose(text[stop:])
            else None
        )
    return None


def _in_quotes(text: str, start: int, parser: Parser) -> Candidate | None:
    """The statement between the quotation mark before it and the first one at which the parser can read it."""
    opening = text[start - 1 : start] if text[max(start - 2, 0) : start] != "**" else "**"
    closing = _CLOSED_BY.get(opening)
    if closing is None:
        return None
    for _, close in zip(range(_MOST_CLOSES), re.finditer(closing, text[start:]), strict=False):
        query = text[start : start + close.start()].rstrip(" \t\r\n;")
        is_cut = (
            opening in "`'\"" and query.count(opening) % 2 == 1
        )  # it ends within a quoted name or string of its own
        if not is_cut and (" " in query or "\n" in query) and parser.reads(query):
            return Candidate(query=query, start=start, end=start + close.start())
    return None


def _cuts(body: str) -> Iterator[str]:
    """The forms in which the statement may be meant: the whole text, without its full stop, or without lines
    of prose."""
    whole = body.rstrip()
    yield whole
    if whole.endswith((".", "。")):
        yield whole[:-1]
    for _, stop in zip(range(_MOST_CUTS), _FULL_STOP.finditer(masked(whole)), strict=False):
        yield whole[: stop.start()]
    cut = len(whole)
    for _ in range(_MOST_CUTS):
        cut = whole.rfind("\n", 0, cut)
        if cut < 0:
            return
        if _is_prose(whole[cut:]):
            yield whole[:cut].rstrip()


def _is_prose(tail: str) -> bool:
    """Whether what follows a statement is neither part of it nor a further statement."""
    tail = tail.lstrip(_AFTER_END)
    if (notes := NOTES.match(tail)) is not None:
        tail = tail[notes.end() :]
    if ENDS_STATEMENT.match(tail) or not re.search(r"\w", tail):
        return True
    if opening_of(tail) == "query":  # a separate candidate
        return True
    return not GOES_ON.match(tail) and opening_of(tail) != "command" and _SENTENCE.match(tail) is not None


def _end_of(text: str, start: int) -> tuple[int, bool]:
    """The end of the statement that begins there, and whether a mark ends it."""
    plain = masked(text[start:])
    mark = _STOP.search(plain)
    stop = mark.start() if mark else len(plain)
    place = depth = 0
    for blank in _BLANK_LINE.finditer(plain, 0, stop):
        paragraph = plain[place : blank.start()]
        depth += paragraph.count("(") - paragraph.count(")")
        place = blank.end()
        is_open = depth > 0 or paragraph.rstrip().endswith(",")
        if not is_open and blank.end() < stop and not GOES_ON.match(plain, blank.end()):
            return start + blank.start(), True
    return start + stop, mark is not None
