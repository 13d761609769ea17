"""Find out what a query returns if it reads other rows where its text lets it read any row of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from assay.comparison import Answer, compare
from assay.model import ComparisonOptions, DatabaseUrl, Result
from assay.ports import QueryExecutor
from assay.sql.any_row import MOST_LISTED, AnyRow, any_rows

_CHECK = ComparisonOptions(near_misses=False, sample_rows=0, boolean_is_integer=True)
MOST_CHOICES = MOST_LISTED


class OtherRows(Struct, frozen=True, kw_only=True):
    """What other rows would make of a query at one place."""

    place: AnyRow
    queries: tuple[str, ...]
    """The query with other rows read, one text per different result."""
    results: tuple[Result, ...]
    complete: bool
    """Whether these are all the other results that the place may lead to."""


def other_rows(executor: QueryExecutor, url: DatabaseUrl, query: str, own: Answer) -> Iterator[OtherRows]:
    """The places where reading other rows changes the answer on this data. ``own``: what the query returned."""
    for place in any_rows(query, executor.dialect(url)):
        checked = executor.execute(url, place.check())
        if checked.succeeded and not (checked.result and checked.result.rows):
            continue  # the rows agree
        listed = _listed(executor, url, place) if checked.succeeded else 0
        if listed:
            ways = iter([place.taking(row) for row in range(listed)])
        else:
            ways = place.ways(own.result.columns, _literals(executor, url, place) if checked.succeeded else ())
        queries, results = _changed(executor, url, ways, own)
        if not queries:
            continue
        # What was written from the tree must return what the text does, or its ways prove nothing.
        again = executor.execute(url, place.again).result
        if again is not None and compare(again, own, _CHECK).equal:
            yield OtherRows(place=place, queries=queries, results=results, complete=bool(listed))


def _listed(executor: QueryExecutor, url: DatabaseUrl, place: AnyRow) -> int:
    """How many different rows a scalar subquery has, where any of them may be read; 0 where they cannot be listed."""
    if place.kind != "scalar subquery" or place.is_ordered:
        return 0
    rows = executor.execute(url, place.distinct_rows()).result
    return 0 if rows is None or len(rows.rows) > MOST_LISTED else len(rows.rows)


def _literals(executor: QueryExecutor, url: DatabaseUrl, place: AnyRow) -> Sequence[str]:
    """What may be read at a place, as literals; none where they are too many to try."""
    query = place.values()
    rows = executor.execute(url, query).result if query is not None else None
    return () if rows is None or len(rows.rows) >= MOST_LISTED else [str(row[0]) for row in rows.rows]


def _changed(
    executor: QueryExecutor, url: DatabaseUrl, ways: Iterator[str], own: Answer
) -> tuple[tuple[str, ...], tuple[Result, ...]]:
    """The ways whose results differ from the query's own, and these results."""
    queries: list[str] = []
    results: list[Result] = []
    seen: set[str] = set()
    for way in ways:
        result = executor.execute(url, way).result
        if result is None or len(queries) == MOST_CHOICES:
            continue
        written = repr(sorted(map(repr, result.rows)))
        if written in seen or compare(result, own, _CHECK).equal:
            continue
        seen.add(written)
        queries.append(way)
        results.append(result)
    return tuple(queries), tuple(results)
