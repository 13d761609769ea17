"""Extract the queries of a completion by the rules of LLMSQL's benchmark."""

from __future__ import annotations

import re

from msgspec.structs import replace

from assay.model import Case, Failure, Prediction

MOST_QUERIES = 10

# (?i) with Unicode, as in the benchmark's own pattern.
_SELECT = re.compile(r"SELECT\b", re.IGNORECASE)
_END = re.compile(r";|\n{4}|```|\Z")
_PLACEHOLDERS = ("FROM 'Table'", 'FROM "Table"', "FROM Table")


def queries_in(completion: str) -> list[str]:
    """The first ten different queries in a text, in order.

    Each SELECT begins a query, including a subquery's; it ends at ``;``, at a code fence, at four newlines or at the
    end of the text. Linear in the text's length.
    """
    if _is_one_query(completion):
        return [completion.strip()]
    found: dict[str, None] = {}
    for match in _SELECT.finditer(completion):
        end = _END.search(completion, match.end())
        assert end is not None  # the end of the text always ends it
        found[completion[match.start() : end.start()].strip()] = None
        if len(found) == MOST_QUERIES:
            break
    return list(found)


def _is_one_query(completion: str) -> bool:
    """Whether the text clearly is one query and nothing else, the usual case: a much faster check than the search."""
    return (
        completion[:7] == "SELECT "
        and completion.upper().count("SELECT") == 1
        and ";" not in completion
        and "```" not in completion
        and "\n\n\n\n" not in completion
    )


def with_table(query: str, table_id: str) -> str:
    """The query with the prompt's placeholder replaced by the question's table.

    The placeholder counts only in these forms and this spelling: ``FROM 'Table'``, ``FROM "Table"``, ``FROM Table``.
    """
    name = table_id.replace('"', '""')
    for placeholder in _PLACEHOLDERS:
        query = query.replace(placeholder, f'FROM "{name}"')
    return query.strip()


def completed(case: Case, prediction: Prediction) -> Prediction:
    """The answer with the first query of its text if the case takes completions; else unchanged.

    The text stays in ``raw``. A text without a query is the system's failure; a text that was too long to be stored
    completely is not read.
    """
    table, text = case.options.table, prediction.raw if prediction.raw is not None else prediction.query
    too_long = prediction.failure is not None and prediction.failure.kind == "unreadable_answer"
    if table is None or text is None or too_long:
        return prediction
    queries = queries_in(text)
    if not queries:
        failure = prediction.failure or Failure(
            stage="read", kind="no_query", blame="system", message="the completion contains no SELECT"
        )
        return replace(prediction, query=None, raw=text, failure=failure)
    return replace(prediction, query=with_table(queries[0], table), raw=text, failure=None)


def candidates(case: Case, prediction: Prediction) -> list[str]:
    """The queries of a `completed` answer after the first, as they are executed."""
    table, text = case.options.table, prediction.raw
    if table is None or text is None or prediction.query is None:
        return []
    return [with_table(query, table) for query in queries_in(text)[1:]]
