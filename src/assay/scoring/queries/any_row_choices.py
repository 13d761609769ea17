"""Find out what a query returns if it reads other rows where its text lets it read any row of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, combinations, product
from math import comb, prod

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.answer import Answer, Segment
from assay.comparison.compare import compare
from assay.model import ComparisonOptions, Result, Row
from assay.scoring.queries.context import ExecutionContext
from assay.scoring.queries.tie_detection import answers_with_ties
from assay.sql import read_shape
from assay.sql.probes.any_row import MOST_CANDIDATES, MOST_LISTED, AnyRow, any_rows
from assay.sql.probes.row_choices import MOST_COMBINED, RowChoice, are_apart, readings

_CHECK = ComparisonOptions(near_misses=False, sample_rows=0, boolean_is_integer=True)


class OtherRows(Struct, frozen=True, kw_only=True):
    """What other rows would make of a query at one place, or at several together."""

    queries: tuple[str, ...]
    """The query with other rows read, one text per different result; none if the results were put together."""
    results: tuple[Result, ...]
    complete: bool
    """Whether these are all the other results that the query may give."""


class _Attempt(Struct, frozen=True):
    """Ways to read other rows at one place, or at all together."""

    place: AnyRow
    ways: Iterable[str]
    """Texts of the query with other rows read."""
    complete: bool
    """Whether these are all."""
    choices: Sequence[RowChoice] = ()
    """What is read in each of these ways, if there is one place."""


def other_rows(probes: ExecutionContext, query: str, own: Answer, *, row_order: bool = True) -> Iterator[OtherRows]:
    """What the query returns if other rows are read, where that changes the answer on this data: one place after the
    other, then all combinations, if they are few. ``own``: what the query returned. ``row_order``: whether the tables'
    rows are read in other orders, too.
    """
    for attempt in _attempts(probes, query, own):
        if attempt.place.kind == "row order" and not row_order:
            continue
        together = _put_together(probes, attempt, own) if attempt.complete and attempt.choices else None
        if together is not None:
            if together:
                yield OtherRows(queries=(), results=tuple(together), complete=True)
            continue
        found: dict[str, Result] = {}
        complete = attempt.complete
        for way, result in _changes(probes, attempt, own):
            if result is None:
                complete = False
            else:
                found[way] = result
        if found:
            yield OtherRows(queries=tuple(found), results=tuple(found.values()), complete=complete)


def other_results(probes: ExecutionContext, query: str, own: Answer) -> Iterator[Result]:
    """As `other_rows`, one result after the other: the next is looked for when it is asked for. One group of bare
    columns at a time reads another row: if each of these results is right, so is nearly every combination.
    """
    for attempt in _attempts(probes, query, own, one_by_one=True):
        yield from (result for _, result in _changes(probes, attempt, own) if result is not None)


def _attempts(probes: ExecutionContext, query: str, own: Answer, *, one_by_one: bool = False) -> Iterator[_Attempt]:
    places: list[AnyRow] = []
    options: list[Sequence[RowChoice]] = []
    if _has_texts(own.result):
        for place in probes.merging_places(query):
            yield _Attempt(place, place.ways(), complete=False)
    for place in any_rows(query, probes.dialect):
        query_of_check = place.check()
        checked = None if query_of_check is None else probes.execute(query_of_check)
        if checked is not None and checked.succeeded and not (checked.result and checked.result.rows):
            continue  # the rows agree
        places.append(place)
        listed = checked is not None and checked.succeeded
        options.append(_options(probes, place, own.result.columns, one_by_one=one_by_one) if listed else ())
    ways: Iterable[str]
    for place, choices in zip(places, options, strict=True):
        if choices:
            ways = readings([choice] for choice in choices)
        else:  # what may be read, as literals; none if they are too many to try
            values = place.values()
            result = None if values is None else probes.execute(values).result
            rows = () if result is None or len(result.rows) >= MOST_LISTED else result.rows
            ways = place.ways(own.result.columns, [str(row[0]) for row in rows])
        yield _Attempt(place, ways, len(places) == 1 and bool(choices), choices)
    if len(places) > 1 and 1 <= prod(map(len, options)) <= MOST_COMBINED and are_apart(places):
        yield _Attempt(places[0], readings(product(*options)), complete=True)


def _has_texts(result: Result) -> bool:
    return any(isinstance(cell, str) for row in result.rows for cell in row)


def _put_together(probes: ExecutionContext, attempt: _Attempt, own: Answer) -> Sequence[Result] | None:
    """The other results, from one execution for each row that a group may read.

    None if groups do not give one row each, independently of one another: then every combination is executed.
    """
    if not attempt.place.gives_row_per_group or own.ordered:
        return None
    first = attempt.choices[0].labels
    single = [
        choice for choice in attempt.choices if sum(a != b for a, b in zip(choice.labels, first, strict=True)) <= 1
    ]
    results = [probes.execute(way).result for way in readings([choice] for choice in single)]
    base = results[0]
    if base is None:
        return None
    rows = {repr(row): row for row in base.rows}
    if len(rows) < len(base.rows):
        return None  # equal rows do not tell whose group they are
    variants: dict[int, dict[str, Row]] = {}
    """By group: its row in the first result, and the rows that its other choices give."""
    for choice, result in zip(single[1:], results[1:], strict=True):
        other = {} if result is None else {repr(row): row for row in result.rows}
        if result is None or len(other) < len(result.rows):
            return None
        removed, added = rows.keys() - other.keys(), other.keys() - rows.keys()
        group = next(place for place, label in enumerate(choice.labels) if label != first[place])
        if not removed and not added:
            continue
        known = variants.setdefault(group, {text: rows[text] for text in removed})
        if len(removed) != 1 or len(added) != 1 or next(iter(known)) not in removed:
            return None
        known |= {text: other[text] for text in added}
    if not variants:
        return ()
    if not _is_believed(probes, attempt.place, own):
        return ()
    varying = {next(iter(known)) for known in variants.values()}
    fixed = [row for text, row in rows.items() if text not in varying]
    # Texts equal only themselves, whatever the columns: nearly every choice differs from what the query returned in
    # these, which is found out in a hundredth of the time of a comparison.
    texts = Counter(_texts(own.result.rows))
    texts.subtract(_texts(fixed))
    own_texts = sorted(texts.elements()) if all(count >= 0 for count in texts.values()) else None
    others = []
    for chosen in product(*[known.values() for known in variants.values()]):
        result = replace(base, rows=(*fixed, *chosen))
        if sorted(_texts(chosen)) != own_texts or not compare(result, own, _CHECK, described=False).equal:
            others.append(result)
    return others


def _texts(rows: Iterable[Row]) -> Iterator[str]:
    return (cell for row in rows for cell in row if isinstance(cell, str))


def _changes(probes: ExecutionContext, attempt: _Attempt, own: Answer) -> Iterator[tuple[str, Result | None]]:
    """The ways that change the answer, one per different result; None for the result of a way that failed or had no
    time.
    """
    seen: set[str] = set()
    believed = False
    for way in chain(attempt.ways, _further_ways(probes, attempt.place, seen)):
        result = probes.execute(way).result
        if result is None:
            yield way, None
            continue
        results = [result]
        if attempt.place.decides_ties and result.rows:
            limited = read_shape(way, probes.dialect).limited
            answer = answers_with_ties(probes, way, result, limited=limited)
            results += choices_of(answer) if answer is not None else ()
        for other in results:
            written = repr(other.rows if own.ordered else sorted(map(repr, other.rows)))
            if written in seen:
                continue
            seen.add(written)
            if compare(other, own, _CHECK, described=False).equal:
                continue
            if not believed and not _is_believed(probes, attempt.place, own):
                return
            believed = True
            yield way, other


def _further_ways(probes: ExecutionContext, place: AnyRow, seen: Collection[str]) -> Iterator[str]:
    """More ways, if there were several results by the time that they are asked for."""
    if len(seen) < 2:
        return
    empty = {node: probes.execute(query).result for node, query in place.tables.items()}
    yield from place.further_ways({node: table.columns for node, table in empty.items() if table is not None})


def _is_believed(probes: ExecutionContext, place: AnyRow, own: Answer) -> bool:
    """Whether what was written from the tree returns what the text does. Else its ways prove nothing."""
    again = probes.execute(place.again).result
    return again is not None and compare(again, own, _CHECK, described=False).equal


def _options(
    probes: ExecutionContext, place: AnyRow, columns: tuple[str, ...], *, one_by_one: bool
) -> Sequence[RowChoice]:
    """All choices at a place; none if they cannot be listed or are too many."""
    if place.kind == "scalar subquery":
        rows = None if place.is_ordered else probes.execute(place.distinct_rows()).result
        count = 0 if rows is None or len(rows.rows) > MOST_LISTED else len(rows.rows)
        return [RowChoice(place, row=row) for row in range(count)]
    query = place.candidates(columns)
    rows = probes.execute(query).result if query is not None else None
    if rows is None or len(rows.rows) >= MOST_CANDIDATES:
        return ()
    groups: dict[object, list[str]] = {}
    for group, label in rows.rows:
        groups.setdefault(group, []).append(str(label))
    if not groups or prod(map(len, groups.values())) > MOST_COMBINED:
        return ()
    combined = product(*groups.values())
    if one_by_one:  # the first label of every group, and then each further label in place of its group's first
        first = tuple(labels[0] for labels in groups.values())
        others = ((number, label) for number, labels in enumerate(groups.values()) for label in labels[1:])
        replaced = ((*first[:number], label, *first[number + 1 :]) for number, label in others)
        return [RowChoice(place, labels=labels, columns=columns) for labels in (first, *replaced)]
    return [RowChoice(place, labels=labels, columns=columns) for labels in combined]


class RowTexts:
    """Rows as texts. A row that several results share is written once: choices differ in few rows."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._rows: list[Row] = []
        """The rows whose texts are known, so that no other row gets the number of one."""

    def in_order(self, rows: Iterable[Row]) -> tuple[str, ...]:
        """The same for the same rows in any order; different for other rows or types of cells."""
        if not isinstance(rows, tuple):  # made one by one: none is shared
            return tuple(sorted([repr(tuple(row)) for row in rows]))
        known = self._texts
        for row in rows:
            if id(row) not in known:
                known[id(row)] = repr(tuple(row))
                self._rows.append(row)
        return tuple(sorted([known[id(row)] for row in rows]))


_MOST_COMPARED = 64
"""Up to this many choices are compared with the gold query."""


def choices_of(answer: Answer) -> Iterator[Result]:
    """The results of other choices among rows that tie: all if they are few, otherwise some. Tied rows of each come in
    two orders, in which any two of them change places.
    """
    for choice in (
        choices(answer.segments) if answer.ambiguous else [[part.rows[: part.take] for part in answer.segments]]
    ):
        for step in (1, -1) if answer.ordered else (1,):
            yield replace(answer.result, rows=tuple([row for part in choice for row in part[::step]]))


def with_rows(segments: Sequence[Segment], number: int, rows: Sequence[Row]) -> list[Sequence[Row]]:
    """The first choice, but for some rows of one segment."""
    return [
        segment.rows[: segment.take] if place != number else [*segment.rows[: segment.take - len(rows)], *rows]
        for place, segment in enumerate(segments)
    ]


def choices(segments: Sequence[Segment]) -> Iterator[Sequence[Sequence[Row]]]:
    """All choices, if they are few; otherwise the first, and the results of other rows in one segment at a time."""
    if prod(comb(len(segment.rows), segment.take) for segment in segments) <= _MOST_COMPARED:
        yield from product(*(combinations(segment.rows, segment.take) for segment in segments))
        return
    left = _MOST_COMPARED
    for number, segment in enumerate(segments):
        if segment.take == len(segment.rows):
            continue
        copies: dict[str, list[Row]] = {}
        for row in segment.rows:
            copies.setdefault(repr(row), []).append(row)
        # As many copies of a row as there may be, and a single one.
        for rows in sorted(copies.values(), key=len, reverse=True):
            for count in {1, min(len(rows), segment.take)}:
                if left == 0:
                    return
                left -= 1
                yield with_rows(segments, number, rows[:count])
