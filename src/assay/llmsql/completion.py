"""From a completion to the queries in it, by the benchmark's rules."""

from __future__ import annotations

import re

MOST_QUERIES = 10

# (?i) as the benchmark's own pattern has it: one that knows Unicode.
_SELECT = re.compile(r"SELECT\b", re.IGNORECASE)
_END = re.compile(r";|\n{4}|```|\Z")
_PLACEHOLDERS = ("FROM 'Table'", 'FROM "Table"', "FROM Table")


def queries_in(completion: str) -> list[str]:
    """The first ten different queries in a text, in its order.

    Each SELECT begins one, a subquery's too; it ends at ``;``, at a code fence, at four newlines or
    with the text. Linear in the text's length.
    """
    if _is_one_query(completion):
        return [completion.strip()]
    found: dict[str, None] = {}
    for match in _SELECT.finditer(completion):
        end = _END.search(completion, match.end())
        assert end is not None  # the end of the text always is one
        found[completion[match.start() : end.start()].strip()] = None
        if len(found) == MOST_QUERIES:
            break
    return list(found)


def _is_one_query(completion: str) -> bool:
    """Whether it plainly is a query and nothing else, as most are: seen in a fraction of the time of the search."""
    return (
        completion[:7] == "SELECT "
        and completion.upper().count("SELECT") == 1
        and ";" not in completion
        and "```" not in completion
        and "\n\n\n\n" not in completion
    )


def with_table(query: str, table_id: str) -> str:
    """The query with the prompt's placeholder replaced by the question's table.

    In exactly these forms and this spelling: ``FROM 'Table'``, ``FROM "Table"``, ``FROM Table``.
    """
    name = table_id.replace('"', '""')
    for placeholder in _PLACEHOLDERS:
        query = query.replace(placeholder, f'FROM "{name}"')
    return query.strip()
