"""The statements in the marked regions of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from msgspec.structs import replace

from assay.model.cases.decision import holds_nothing, is_null_word
from assay.sql.extraction.candidate import Candidate
from assay.sql.extraction.fences import OTHER_LANGUAGES, without_end
from assay.sql.extraction.objects import queries_in_json
from assay.sql.extraction.regions import SQL_LANGUAGES, TAG_NAME, Region, regions, without_regions
from assay.sql.extraction.statements import Parser, opening_of, pieces_of

_MARKUP = frozenset({"html", "xml", "markdown", "md"})
"""Languages of fences that may hold further fences or tags."""
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,7}|#x[\da-f]{1,6});", re.IGNORECASE)
_DEEPEST = 4


def is_one_region(text: str) -> bool:
    """Whether a text is one code fence or one tag and nothing else."""
    region = next(regions(text := text.strip()), None)
    return region is not None and region.start == 0 and region.end == len(text)


def marked_statements(text: str, *, start: int = 0, depth: int = 0) -> Iterator[Candidate]:
    """The statements in the marked regions of a text: SQL or JSON, also in a region within a region, or in its words.

    ``start``: the offset of the text in the one that is read.
    """
    for region in regions(text):
        if region.kind == "fence" and region.name in OTHER_LANGUAGES - _MARKUP:
            continue
        body = region.body(text)
        candidates = _sql_in(region, body) or _json_in(body)
        if candidates:
            for candidate in candidates:
                yield replace(candidate, start=start + region.start, end=start + region.end, complete=region.closed)
        elif depth < _DEEPEST:
            within = list(marked_statements(body, start=start + region.body_start, depth=depth + 1))
            if not within and region.kind != "fence" and (region.kind == "box" or TAG_NAME.fullmatch(region.name)):
                within = _in_words(without_regions(body), start + region.body_start)
            yield from within


def _sql_in(region: Region, body: str) -> list[Candidate]:
    """The statements of a region that holds SQL and nothing else."""
    is_sql = region.kind == "fence" and region.name in SQL_LANGUAGES
    if region.name in ("code", "pre"):
        body = _ENTITY.sub(lambda entity: unescape(entity[0]), body)
    candidates = []
    for piece in pieces_of(body):
        query = without_end(piece)
        if not holds_nothing(query) and (is_sql or is_null_word(query) or _begins_like_sql(query)):
            label = piece.rpartition(";")[2] if ";" in piece else ""
            candidates.append(Candidate(query=query, start=0, end=0, label=label, place="fence"))
    return candidates


def _json_in(body: str) -> list[Candidate]:
    """The queries of a region that holds JSON; none if that declines to give one."""
    if not body.lstrip().startswith(("{", "[")):
        return []
    candidates, declined = queries_in_json(body)
    return [] if declined else candidates


def _in_words(words: str, start: int) -> list[Candidate]:
    from assay.sql.extraction.prose import statements_in_words  # most texts are statements: its patterns compile slowly

    return [
        replace(candidate, start=start + candidate.start, end=start + candidate.end, place="fence")
        for candidate in statements_in_words(words)
    ]


def _begins_like_sql(query: str) -> bool:
    opening = opening_of(query)
    if query.isalpha():  # the name of a command, as in ``<code>SELECT</code>``
        return False
    return opening in ("query", "command") or (opening is not None and Parser().reads(query))
