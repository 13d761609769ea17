"""A condition on a value that its column never contains."""

from collections.abc import Iterator
from difflib import get_close_matches

from assay.linting.gold import ColumnValues, Found, Gold
from assay.linting.root_causes import BLANKS, letter_case_of
from assay.model.lint import LintRule
from assay.sql.query import Query, Span

RULE = LintRule(
    name="unknown-literal",
    severity="warning",
    needs="database",
    finds="an equality with a value that never occurs in its column",
    why=(
        "The condition is never true (or, negated, always): the gold query has a typing error, or the data has changed."
    ),
    remedy="Write the value as it is in the data.",
    bad="SELECT name FROM singer WHERE country = 'USA'  -- the data has 'United States'",
    good="SELECT name FROM singer WHERE country = 'United States'",
)
_MOST_COMPARED = 5_000


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    if gold.database is None:
        return
    for one in query.predicates:
        column = query.column_of(one.left)
        stored = None if column is None else query.stored(column)
        if one.operator not in ("=", "<>", "in") or stored is None:
            continue
        values = gold.database.values(stored)
        if values is None or not values.whole or not values.counts:
            continue
        for side in one.right:
            text = query.value_of(side)
            if text is None or not _seems_absent(text, values):
                continue
            if one.operator == "<>" and not text.strip():
                continue  # so it tests for a value that is not blank
            # The database has the last word: its types and collations decide what is equal.
            if gold.database.holds(stored, text, is_number=side.is_number) is False:
                yield _found(text, query.span(side), values, str(stored))


def _seems_absent(text: str, values: ColumnValues) -> bool:
    return text not in values.counts and not any(str(value) == text for value in values.counts)


def _found(text: str, place: Span | None, values: ColumnValues, column: str) -> Found:
    texts = {str(value): count for value, count in values.counts.items()}
    plain = " ".join(text.casefold().split())
    same = [one for one in texts if " ".join(one.casefold().split()) == plain]
    if same:
        how = "blanks" if same[0].casefold() != text.casefold() else "upper and lower case"
        both = "blanks and case" if how == "blanks" and " ".join(same[0].split()) != " ".join(text.split()) else how
        return Found(
            evidence=f"{text!r} never occurs in {column}; {same[0]!r}, which differs only in {both}, does "
            f"({_times(texts[same[0]])}).",
            place=place,
            severity="error",
            remedy=f"Write {same[0]!r}.",
            root_cause=BLANKS if how == "blanks" else letter_case_of(column),
        )
    pool = list(texts)[:_MOST_COMPARED]
    near = get_close_matches(text, pool, n=3, cutoff=0.6) if len(text) < 100 else []
    near = (
        near
        or [
            one
            for one in pool
            if len(text) > 2 and (plain in one.casefold() or (len(one) > 2 and one.casefold() in plain))
        ][:3]
    )
    if near:
        nearest = ", ".join(f"{one[:60]!r} ({_times(texts[one])})" for one in near)
        hint = f"the most similar values are {nearest}" if len(near) > 1 else f"the most similar value is {nearest}"
    else:
        some = ", ".join(repr(one[:40]) for one in sorted(pool, key=lambda one: -texts[one])[:5])
        hint = f"it contains {'only ' if len(texts) <= 5 else ''}{some}{' …' if len(texts) > 5 else ''}"
    root = f"{text!r} is not among the values of {column}"
    return Found(evidence=f"{text!r} never occurs in {column}; {hint}.", place=place, root_cause=root)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
