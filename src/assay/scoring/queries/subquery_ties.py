"""Find the gold query's possible answers if an inner part of it chooses among tied rows: a subquery, a CTE, a
ROW_NUMBER.

The other choices are executed if they are few. Each gives a right answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice, product

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.answer import Answer
from assay.model import Ambiguity, Result, Row
from assay.scoring.queries.any_row_choices import RowTexts, other_rows
from assay.scoring.queries.context import ExecutionContext
from assay.scoring.queries.tie_detection import answers_with_ties
from assay.sql import chooses_by_number
from assay.sql.probes.inner_limit import InnerLimit, inner_limits
from assay.sql.probes.row_number import TieBreak, row_numbers, tie_breaks
from assay.sql.probes.row_order import reordered

_MOST_CHOICES = 40
"""At most this many other choices of the gold query are executed."""
_MOST_COMBINATIONS = 1_000


class InnerChoices(Struct, frozen=True, kw_only=True):
    """The answers that the gold query's inner choices lead to."""

    queries: tuple[str, ...] = ()
    """Gold with another choice, one text per choice: their results are right as well."""
    results: tuple[Result, ...] = ()
    """Other right answers that need no further execution."""
    taken: int = 0
    tied: int = 0
    complete: bool = True
    """Whether these are all the other choices."""
    any_row: bool = False
    """They come from reading any row of several, and from nothing else."""

    def ambiguity(self, choices: int) -> Ambiguity:
        """The ambiguity in counts, given how many different answers the choices led to."""
        return Ambiguity(
            taken_rows=self.taken,
            tied_rows=self.tied,
            choices=choices if self.complete else None,
            inside=True,
            any_row=self.any_row,
            complete=self.complete,
        )


def inner_choices(probes: ExecutionContext, query: str, result: Result) -> InnerChoices | None:
    """The other choices that the gold query's inner parts may make; None if there are none, or none can be found."""
    dialect = probes.dialect
    found = [_TiedLimit.detect(probes, limit) for limit in inner_limits(query, dialect)]
    sites = [site for site in found if site is not None]
    by_number = _numbered(probes, query, result) if chooses_by_number(query) else None
    if not sites:
        return by_number
    # Several cuts are tried one at a time: their combinations would be too many, so the choices are incomplete.
    choices = InnerChoices(
        queries=tuple(islice((query for site in sites for query in site.queries), _MOST_CHOICES)),
        taken=sum(site.taken for site in sites),
        tied=sum(site.tied for site in sites),
        complete=len(sites) == 1 and sites[0].complete,
    )
    if by_number is None:
        return choices
    return replace(
        choices,
        queries=(*choices.queries, *by_number.queries),
        results=by_number.results,
        taken=choices.taken + by_number.taken,
        tied=choices.tied + by_number.tied,
        complete=False,
    )


def with_any_rows(
    choices: InnerChoices | None, probes: ExecutionContext, query: str, own: Answer
) -> InnerChoices | None:
    """The choices together with those of places where the gold query reads any row of several; ``own``: what the
    gold query returned."""
    # The choices of a ROW_NUMBER are known: reading the rows in other orders finds no more than they do.
    found = list(other_rows(probes, query, own, row_order=choices is None))
    if not found:
        return choices
    whole = next((one for one in found if one.complete), None)
    taken = found if whole is None else [whole]
    queries = tuple(text for one in taken for text in one.queries)
    results = tuple(result for one in taken if not one.queries for result in one.results)
    if choices is None:
        return InnerChoices(queries=queries, results=results, complete=whole is not None, any_row=True)
    return replace(choices, queries=(*choices.queries, *queries), results=(*choices.results, *results), complete=False)


class _TiedLimit(Struct, frozen=True, kw_only=True):
    """One inner LIMIT that cuts a tie."""

    queries: tuple[str, ...]
    taken: int
    tied: int
    complete: bool

    @classmethod
    def detect(cls, probes: ExecutionContext, limit: InnerLimit) -> _TiedLimit | None:
        """The other choices at this LIMIT; None if it cuts no tie."""
        alone = probes.execute(limit.alone).result
        if alone is not None:
            answer = answers_with_ties(probes, limit.alone, alone, limited=True)
            if answer is not None:
                return cls._of_answer(answer, limit, alone)
        width = limit.width if alone is None else alone.column_count
        if width is None:
            return None
        # Correlated: it chooses again for each outer row. The two extreme choices, and the rows in other orders, show
        # whether that matters.
        queries = limit.extremes(width)
        if limit.query.dialect == "sqlite":
            queries += tuple(reordered(limit.query, often=True))
        return cls(queries=queries, taken=0, tied=0, complete=False)

    @classmethod
    def _of_answer(cls, answer: Answer, limit: InnerLimit, alone: Result) -> _TiedLimit | None:
        ambiguity = answer.ambiguity
        if ambiguity is None:
            return None
        width = alone.column_count
        kept: list[int] = []
        open_places: list[tuple[range, int]] = []
        for segment in answer.segments:
            places = range(segment.start, segment.start + len(segment.rows))
            if segment.take == len(segment.rows):
                kept += places
            else:
                open_places.append((places, segment.take))
        ways = product(*(combinations(places, take) for places, take in open_places))
        first = list(islice(ways, _MOST_CHOICES + 1))
        queries = tuple(
            limit.taking(sorted([*kept, *(place for part in way for place in part)]), width)
            for way in first[:_MOST_CHOICES]
        )
        return cls(
            queries=queries,
            taken=ambiguity.taken_rows,
            tied=ambiguity.tied_rows,
            complete=len(first) <= _MOST_CHOICES,
        )


def _numbered(probes: ExecutionContext, query: str, result: Result) -> InnerChoices | None:
    """The other choices of ROW_NUMBER or DISTINCT ON; None if they change nothing.

    RANK lets all rows pass that tie with one that passes: if that gives no other rows, nothing ties, unless an
    aggregate over the rows hides it. If the choices cannot be listed, some are made by breaking the ties.
    """
    dialect = probes.dialect
    numbers = row_numbers(query, dialect)
    possible = probes.execute(numbers.ranked).result if numbers is not None else None
    if numbers is not None and possible is not None and numbers.apart is not None:
        if _same(possible, result):
            return None
        apart = [probes.execute(one).result for one in numbers.apart]
        chosen = _chosen([found.rows for found in apart if found is not None])
        if chosen is not None and any(_same(replace(result, rows=way), result) for way in chosen.ways):
            return InnerChoices(
                results=tuple(replace(result, rows=way) for way in chosen.ways), taken=chosen.taken, tied=chosen.tied
            )
    ways = [way for one in tie_breaks(query, dialect) for way in _broken(probes, one)]
    if not ways and (possible is None or _same(possible, result)):
        return None
    others = tuple(way for way, found in ways if not _same(found, result))
    if ways and not others:
        return None
    counted = possible is not None and len(possible.rows) > len(result.rows)
    return InnerChoices(
        queries=others,
        taken=len(result.rows) if counted else 0,
        tied=len(possible.rows) if counted and possible is not None else 0,
        complete=False,
    )


def _broken(probes: ExecutionContext, place: TieBreak) -> list[tuple[str, Result]]:
    """The ways to break the ties of one place, with their results. None if one cannot be executed."""
    columns: tuple[str, ...] = ()
    if place.columns_of is not None:
        found = probes.execute(place.columns_of).result
        if found is None or not found.columns:
            return []
        columns = found.columns
    ways: list[tuple[str, Result]] = []
    for way in place.ways(columns):
        result = probes.execute(way).result
        if result is None:
            return []
        ways.append((way, result))
    return ways


class _Chosen(Struct, frozen=True):
    ways: Sequence[tuple[Row, ...]]
    taken: int
    tied: int


def _chosen(found: Sequence[Sequence[Row]]) -> _Chosen | None:
    """All choices of rows that keep each partition's size: its sure rows, completed from its possible ones."""
    if len(found) != 3:
        return None
    there, possible, sure = (_by_part(rows) for rows in found)
    choices: list[list[tuple[Row, ...]]] = []
    number, taken, tied = 1, 0, 0
    for part, rows in there.items():
        ways = _ways(sure.get(part, []), possible.get(part, []), len(rows))
        if ways is None:
            return None
        if len(ways) > 1:
            taken += len(rows) - len(sure.get(part, []))
            tied += len(possible[part]) - len(sure.get(part, []))
        number *= len(ways)
        if number > _MOST_COMBINATIONS:
            return None
        choices.append(ways)
    return _Chosen([tuple(row for part in way for row in part) for way in product(*choices)], taken, tied)


def _by_part(rows: Sequence[Row]) -> dict[object, list[Row]]:
    parts: dict[object, list[Row]] = {}
    for row in rows:
        parts.setdefault(row[-1], []).append(row[:-1])
    return parts


def _ways(sure: Sequence[Row], possible: Sequence[Row], count: int) -> list[tuple[Row, ...]] | None:
    """All ways to complete the sure rows from the possible ones; None if they are too many or inconsistent."""
    rest = {place: repr(row) for place, row in enumerate(possible)}
    for row in map(repr, sure):
        place = next((place for place, text in rest.items() if text == row), None)
        if place is None:
            return None
        del rest[place]
    missing = count - len(sure)
    if missing < 0 or missing > len(rest):
        return None
    ways = list(islice(combinations(rest, missing), _MOST_COMBINATIONS + 1))
    if len(ways) > _MOST_COMBINATIONS:
        return None
    return [(*sure, *(possible[place] for place in way)) for way in ways]


def _same(first: Result, second: Result) -> bool:
    return sorted(map(repr, first.rows)) == sorted(map(repr, second.rows))


def different(answers: Sequence[Answer]) -> Iterator[Answer]:
    """The answers without those that allow the same rows as another."""
    texts = RowTexts()
    seen: set[tuple[object, ...]] = set()
    for answer in answers:
        rows: tuple[object, ...] = texts.in_order(answer.result.rows)
        if answer.ordered or answer.ambiguous:
            # A form that is the same for tied rows that are equal as for rows in a fixed order.
            tied = [(texts.in_order(segment.rows), segment.take) for segment in answer.segments]
            parts = [part[:take] if part[:1] == part[-1:] else ((take, part),) for part, take in tied]
            rows = ("ordered", *chain.from_iterable(parts))
        if rows not in seen:
            seen.add(rows)
            yield answer
