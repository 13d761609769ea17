"""Find out what a query returns if it reads other rows where its text lets it read any row of several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod

from msgspec import Struct

from assay.comparison import Answer, compare
from assay.model import ComparisonOptions, DatabaseUrl, Result
from assay.ports import QueryExecutor
from assay.sql.probes.any_row import MOST_CANDIDATES, MOST_LISTED, AnyRow, any_rows
from assay.sql.probes.row_choices import MOST_COMBINED, RowChoice, are_apart, reading

_CHECK = ComparisonOptions(near_misses=False, sample_rows=0, boolean_is_integer=True)


class OtherRows(Struct, frozen=True, kw_only=True):
    """What other rows would make of a query at one place, or at several together."""

    queries: tuple[str, ...]
    """The query with other rows read, one text per different result."""
    results: tuple[Result, ...]
    complete: bool
    """Whether these are all the other results that the query may give."""


def other_rows(executor: QueryExecutor, url: DatabaseUrl, query: str, own: Answer) -> Iterator[OtherRows]:
    """What the query returns if other rows are read, where that changes the answer on this data: one place after the
    other, then all combinations, if they are few. ``own``: what the query returned.
    """
    places: list[AnyRow] = []
    options: list[Sequence[RowChoice]] = []
    for place in any_rows(query, executor.dialect(url)):
        checked = executor.execute(url, place.check())
        if checked.succeeded and not (checked.result and checked.result.rows):
            continue  # the rows agree
        places.append(place)
        options.append(_options(executor, url, place, own.result.columns) if checked.succeeded else ())
    ways: Iterable[str]
    for place, choices in zip(places, options, strict=True):
        if choices:
            ways = (reading([choice]) for choice in choices)
        else:
            ways = place.ways(own.result.columns, _literals(executor, url, place))
        yield from _found(executor, url, place, ways, own, complete=len(places) == 1 and bool(choices))
    if len(places) > 1 and 1 <= prod(map(len, options)) <= MOST_COMBINED and are_apart(places):
        ways = map(reading, product(*options))
        yield from _found(executor, url, places[0], ways, own, complete=True)


def _found(
    executor: QueryExecutor, url: DatabaseUrl, place: AnyRow, ways: Iterable[str], own: Answer, *, complete: bool
) -> Iterator[OtherRows]:
    """The ways that change the answer, if there are any and they can be believed."""
    changed, failed = _changed(executor, url, ways, own)
    if not changed:
        return
    # What was written from the tree must return what the text does, or its ways prove nothing.
    again = executor.execute(url, place.again).result
    if again is not None and compare(again, own, _CHECK).equal:
        yield OtherRows(queries=tuple(changed), results=tuple(changed.values()), complete=complete and not failed)


def _options(executor: QueryExecutor, url: DatabaseUrl, place: AnyRow, columns: tuple[str, ...]) -> Sequence[RowChoice]:
    """All choices at a place; none if they cannot be listed or are too many."""
    if place.kind == "scalar subquery":
        rows = None if place.is_ordered else executor.execute(url, place.distinct_rows()).result
        count = 0 if rows is None or len(rows.rows) > MOST_LISTED else len(rows.rows)
        return [RowChoice(place, row=row) for row in range(count)]
    query = place.candidates(columns)
    rows = executor.execute(url, query).result if query is not None else None
    if rows is None or len(rows.rows) >= MOST_CANDIDATES:
        return ()
    groups: dict[object, list[str]] = {}
    for group, label in rows.rows:
        groups.setdefault(group, []).append(str(label))
    if not groups or prod(map(len, groups.values())) > MOST_COMBINED:
        return ()
    return [RowChoice(place, labels=labels, columns=columns) for labels in product(*groups.values())]


def _literals(executor: QueryExecutor, url: DatabaseUrl, place: AnyRow) -> Sequence[str]:
    """What may be read at a place, as literals; none where they are too many to try."""
    query = place.values()
    rows = executor.execute(url, query).result if query is not None else None
    return () if rows is None or len(rows.rows) >= MOST_LISTED else [str(row[0]) for row in rows.rows]


def _changed(
    executor: QueryExecutor, url: DatabaseUrl, ways: Iterable[str], own: Answer
) -> tuple[dict[str, Result], bool]:
    """The ways whose results differ from the query's own, with these results; whether any failed or had no time."""
    found: dict[str, Result] = {}
    seen: set[str] = set()
    failed = False
    for way in ways:
        result = executor.execute(url, way).result
        if result is None:
            failed = True
            continue
        written = repr(sorted(map(repr, result.rows)))
        if written in seen or compare(result, own, _CHECK).equal:
            continue
        seen.add(written)
        found[way] = result
    return found, failed
