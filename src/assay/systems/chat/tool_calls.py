"""Tool calls of a chat model that end within their arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from assay.ports import ToolCall
from assay.sql.extraction import read_text
from assay.sql.extraction.tool_calls import runs_queries

_JSON_BEGINS = re.compile(r"\s*(?:(?:```|~~~)\w*\s*)?(?=[{\[\"])")


def incomplete_call(calls: Iterable[ToolCall], query_tool: str | None, *, cut_off: bool) -> ToolCall | None:
    """The first call of a query tool whose arguments are incomplete; None if all are complete.

    Arguments that begin as JSON have to be JSON. Other arguments may be the query itself: ``cut_off`` says that the
    answer ended at its length limit, and the query then needs an end mark.
    """
    for call in calls:
        if not runs_queries(call.name, query_tool):
            continue
        begin = _JSON_BEGINS.match(call.arguments)
        if begin is None:
            if cut_off and not read_text(call.arguments).complete:
                return call
        elif not _ends(call.arguments[begin.end() :]):
            return call
    return None


def _ends(text: str) -> bool:
    """Whether a text that begins as JSON consists of complete JSON values, perhaps followed by other characters."""
    decoder = json.JSONDecoder(strict=False)
    while _JSON_BEGINS.match(text := text.lstrip()):
        try:
            _, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            return False
        text = text[end:]
    return True
