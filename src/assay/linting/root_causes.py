"""Root causes of several findings: their wording, and how findings of one or several gold queries share them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from assay.model.lint import LintFinding

BLANKS = "blanks at the ends of texts, or repeated blanks between words"
"""For example, the data has the text `` AAF``, and queries write ``AAF``."""
_EMPTIES = ("unknown-literal", "join-shares-no-value", "not-in-null")
"""Rules whose findings can explain an empty result."""


def letter_case_of(column: str) -> str:
    """The root cause of values that differ in letter case."""
    return f"the letter case of values of {column}"


def as_texts(column: str, kind: str) -> str:
    """The root cause of a column that contains numbers or dates as texts."""
    return f"{column} contains {kind} as texts"


def without_values(column: str) -> str:
    """The root cause of NULLs in a column."""
    return f"{column} has rows without a value"


def explained(findings: Sequence[LintFinding]) -> list[LintFinding]:
    """The findings of one gold query; an empty result gets the root cause of what empties it."""
    behind = next((one.root_cause for one in findings if one.rule in _EMPTIES and one.root_cause), "")
    return [
        replace(one, root_cause=behind) if one.rule == "empty-result" and not one.root_cause else one
        for one in findings
    ]


def shared(findings: Iterable[LintFinding]) -> list[LintFinding]:
    """All findings; those of one query in several cases have that query as their root cause."""
    found = list(findings)
    cases: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for one in found:
        cases[one.database, _plain(one.query)].add(one.case_id)
    return [
        replace(one, root_cause=f"{one.rule} for one query in several cases: {_plain(one.query)}")
        if not one.root_cause and one.query and len(cases[one.database, _plain(one.query)]) > 1
        else one
        for one in found
    ]


def _plain(query: str) -> str:
    return " ".join(query.rstrip("; \n").split())
