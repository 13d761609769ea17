"""Which column contains what: the names that question sets and prediction files use for the same thing.

Names are compared without case, spaces, underscores and hyphens: ``Gold SQL``, ``gold-sql`` and
``goldSql`` are one name. Each field has *tiers* of names, the most specific first:

- the file's column in the first tier that has one is read; columns of later tiers are ignored
  (``gold_sql`` and ``query``: ``gold_sql`` contains the gold query);
- two columns of one tier must agree wherever both are filled; otherwise the file is ambiguous, which is an error
  (``sql`` and ``response`` in a prediction file);
- a column whose values are objects is never a query (Spider's parsed ``sql``, next to its ``query``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from assay.errors import CaseFileError
from assay.platform.surface import option, options
from assay.sql.context import COLUMN_NAMES, TABLE_NAMES

Field = Literal[
    "id",
    "question",
    "gold",
    "result",
    "database",
    "difficulty",
    "tags",
    "context",
    "prediction",
    "rows",
    "options",
    "answerable",
    "decision",
    "confidence",
    "context_tables",
    "context_columns",
]

POSITION = "@position"
"""As the name of the id field: use the zero-based row number as the id, even if the file has ids."""

WITHOUT_GOLD = "@none"
"""As the name of the gold column: the file has only questions and predictions; no column contains gold queries."""

ALIASES: Mapping[Field, tuple[tuple[str, ...], ...]] = {
    "id": (
        ("case_id",),
        ("question_id", "qid"),
        ("id",),
        ("instance_id", "example_id", "sample_id", "task_id", "query_id", "uid"),
        ("index", "idx"),
    ),
    "question": (
        ("question", "question_text"),
        ("nl_question", "natural_language_question", "user_question", "nl", "nl_query", "utterance"),
        ("prompt", "input", "user_input"),
        ("query",),
    ),
    "gold": (
        ("gold_sql", "gold_sqls", "gold_vql", "gold_query", "gold_queries", "gold", "golds"),
        (
            *("reference_sql", "reference_vql", "reference_query", "reference_queries", "reference", "references"),
            *("ground_truth_sql", "ground_truth_vql", "ground_truth_query", "ground_truth"),
            *("expected_sql", "expected_vql", "expected_query", "target_sql", "target_query"),
            *("solution", "solutions"),
        ),
        ("sql_query", "sql", "vql", "sql_queries"),
        ("query", "queries"),
    ),
    "result": (
        ("gold_result", "gold_results", "gold_rows", "gold_value"),
        ("expected_result", "expected_results", "expected_rows", "expected_value"),
        ("reference_result", "reference_results"),
    ),
    "database": (
        ("db_id", "database_id"),
        ("db_name", "database_name", "database", "db"),
    ),
    "difficulty": (
        ("difficulty", "difficulty_level"),
        ("hardness",),
        ("level",),
    ),
    "tags": (
        ("tags", "tag"),
        ("query_category", "categories", "category"),
    ),
    "context": (
        ("evidence",),
        ("additional_context",),
        ("context",),
        ("external_knowledge",),
        ("hint", "hints"),
        ("instructions",),
        ("full_instructions",),
    ),
    "answerable": (("answerable",),),
    "decision": (("decision",),),
    "confidence": (("confidence",),),
    "context_tables": TABLE_NAMES,
    "context_columns": COLUMN_NAMES,
    "options": (
        ("case_options",),
        ("options",),
    ),
    "prediction": (
        (
            *("predicted_sql", "predicted_vql", "predicted_query", "predicted", "prediction"),
            *("pred_sql", "pred_vql", "pred_query", "pred"),
        ),
        ("generated_sql", "generated_vql", "generated_query", "generated", "sql_generated", "vql_generated"),
        ("completion",),
        ("sql_query",),
        ("sql", "vql", "query", "response", "answer", "output"),
    ),
    "rows": (
        ("predicted_result", "predicted_rows", "predicted_value"),
        ("result_rows", "answer_rows"),
        ("rows",),
    ),
}

_WHAT: Mapping[Field, str] = {
    "id": "the id",
    "question": "the question",
    "gold": "the gold query",
    "result": "the expected result",
    "database": "the database's name",
    "difficulty": "the difficulty",
    "tags": "the tags",
    "context": "the context",
    "prediction": "the predicted query",
    "rows": "the predicted rows",
    "options": "the options of the case",
    "answerable": "whether the question has an answer",
    "decision": "the system's decision",
    "confidence": "how sure the system is",
    "context_tables": "the tables that the system was given",
    "context_columns": "the columns that the system was given",
}

_USUAL: Mapping[Field, tuple[str, ...]] = {
    "question": ("Question", "nl_question", "prompt", "query"),
    "gold": ("gold_sql", "Solution", "reference_sql", "sql_query", "query"),
}
"""Names for messages: of Denodo's workbook, and of other formats."""
_SEPARATORS = re.compile(r"[\s_\-]+")


_ROW_NUMBERS = re.compile(
    r"(?:(?:s|sl|sr|serial|lfd|row|case|test|question|frage|q|item)?(?:no|nr|num|number|nummer|numero|número|n°|#))"
    r"|row|case|testcase"
)
"""Names of columns that number the rows of a table, as `is_row_number` compares them."""


def is_row_number(name: str) -> bool:
    """Whether a column's name says that it numbers the rows: ``No.``, ``Nr``, ``#``, ``№``, ``S.No``, ``Row``."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    return _ROW_NUMBERS.fullmatch("".join(sign for sign in plain if sign.isalnum() or sign in "#°")) is not None


@lru_cache(maxsize=1024)
def normal(name: str) -> str:
    """A column's name in the form for comparing: without case, spaces, underscores and hyphens."""
    return _SEPARATORS.sub("", name).casefold()


def closest(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The closest of ``names``, if ``name`` is a likely misspelling of one: at least ``cutoff`` (0 to 1) similar."""
    from difflib import get_close_matches

    by_normal = {normal(candidate): candidate for candidate in reversed(list(names))}
    near = get_close_matches(normal(name), by_normal, n=1, cutoff=cutoff)
    return by_normal[near[0]] if near else None


def did_you_mean(name: str | None, names: Iterable[str], *, form: str = " ({})") -> str:
    """For a message, the closest of ``names`` as a question within ``form``; empty without a name or a close one."""
    near = None if name is None else closest(name, names)
    return form.format(f'did you mean "{near}"?') if near else ""


def listed(names: Sequence[str], *, most: int = 12) -> str:
    """Names in quotes for a message, cut if there are too many to read."""
    shown = ", ".join(f'"{name}"' for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


_OPTIONS: Mapping[str, str] = {
    "database": "--db-column",
    "tags": "--tag-column",
    "context_tables": "--context-tables-column",
    "context_columns": "--context-columns-column",
}


def option_of(field: Field) -> str:
    """The option that names the column of a field."""
    return _OPTIONS.get(field, f"--{field}-column")


def sheet_option(name: str, wanted: Sequence[Field], value: object = None) -> str:
    """The option for the sheet that has the ``wanted`` fields, ``--sheet`` or ``--prediction-sheet``, to copy."""
    return options((f"--prediction-{name}" if "prediction" in wanted else f"--{name}", value))


def describe(field: Field) -> str:
    """The name of a field in messages."""
    return _WHAT[field]


def columns_of(
    field: Field,
    named: str | None,
    columns: Sequence[str],
    *,
    path: str,
    without: Sequence[str] = (),
    within: Sequence[str] = (),
) -> tuple[str, ...]:
    """The columns that contain a field; several only if they share a tier; empty if the file has none.

    ``named`` is a column's exact name as the user gave it; if the file lacks it, the error offers the closest one.
    Columns in ``without`` already belong to another field; ``within`` are paths into columns, for the message.
    """
    if named == WITHOUT_GOLD:
        return ()
    if named is not None:
        if named in columns:
            return (named,)
        hint = did_you_mean(named, (*columns, *within), form="; {}")
        raise CaseFileError(
            f'unknown column "{named}" for {describe(field)}; '
            f"the columns are {listed((*columns, *within)) or 'missing'}{hint}",
            path=path,
        )
    for tier in ALIASES[field]:
        wanted = {normal(name) for name in tier}
        found = tuple(column for column in columns if normal(column) in wanted and column not in without)
        if found:
            return found
    return ()


BOTH_SIDES = frozenset(map(normal, ("sql_query", "sql_queries", "sql", "vql", "query", "queries")))
"""Names that question sets use for gold queries, and prediction files for predictions."""


def missing_columns(
    missing: Mapping[Field, Sequence[str]],
    columns: Sequence[str],
    *,
    path: str,
    within: Sequence[str] = (),
    used: Sequence[str] = (),
    hint: str = "",
) -> CaseFileError:
    """The error for a file without columns for required fields. ``missing``: per field the columns that look like it.

    It ends with the options that name these columns, to copy, and with the other columns that look like a query's: no
    name says which is right. Columns in ``used`` contain other fields already.
    """
    named: list[tuple[str, object]] = []
    others: list[str] = []
    taken: set[str] = set(used)
    for field, found in missing.items():
        close = guess_of(field, columns)
        candidates = (close, *_by_likeness(field, found))
        guess = next((column for column in candidates if column is not None and column not in taken), None)
        taken |= set() if guess is None else {guess}
        named.append((option_of(field), "NAME" if guess is None else guess))
        if field != "question" and guess is not None and guess != close:
            others += [option(option_of(field), column) for column in found if column not in taken]
    usual = " and ".join(listed(_USUAL.get(field) or [tier[0] for tier in ALIASES[field]]) for field in missing)
    left = [column for column in (*columns, *within) if column not in used]
    there = f"the columns are {listed(left)}" if left else "the file has no columns"
    if used:
        there = f"{listed(used)} {'has another field' if len(used) == 1 else 'have other fields'}"
        there += f", which leaves {listed(left) or 'no column'}"
    return CaseFileError(
        f"no column found for {' or '.join(map(describe, missing))}; {there}. "
        f"Name {'it' if len(missing) == 1 else 'them'}:  {'  or  '.join([options(*named), *others])}  "
        f"(usual names: {usual})"
        f"{hint and '. '}{hint}",
        path=path,
    )


def guess_of(field: Field, columns: Sequence[str]) -> str | None:
    """The column whose name is probably a misspelling of a usual one for this field."""
    known = [name for tier in ALIASES[field] for name in tier]
    ordered = _by_likeness(field, columns)
    return next((column for column in ordered if closest(column, known, cutoff=0.75)), None)


def _by_likeness(field: Field, columns: Sequence[str]) -> list[str]:
    """The columns, those first whose names are most like the usual ones for this field."""
    from difflib import SequenceMatcher

    known = [normal(name) for tier in ALIASES[field] for name in tier]

    def likeness(column: str) -> float:
        name = normal(column)
        return max(SequenceMatcher(None, name, one).ratio() + (len(one) > 1 and one in name) for one in known)

    return sorted(columns, key=likeness, reverse=True)
