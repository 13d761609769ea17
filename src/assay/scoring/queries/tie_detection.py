"""Find out which answers an ordered or limited query allows, by executing probes, whose results are checked."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from assay.comparison import Answer, compare
from assay.model import ComparisonOptions, Result, Row
from assay.scoring.queries.context import ExecutionContext
from assay.sql import TieProbe, tie_probes


class _Seen(Struct, frozen=True):
    """Rows before LIMIT and OFFSET, each with the number of its tie."""

    rows: Sequence[Row]
    ranks: Sequence[object]
    columns: Sequence[str]


_CHECK = ComparisonOptions(near_misses=False, sample_rows=0, boolean_is_integer=True)


def answers_with_ties(probes: ExecutionContext, query: str, result: Result, *, limited: bool) -> Answer | None:
    """The answers that a query's own text allows; None where its ties cannot be found.

    ``result`` is what the query returned. A probe that does not allow it is wrong, and the next one is tried.
    """
    for probe in tie_probes(query, probes.dialect, result.column_count):
        end = probe.offset + len(result.rows)
        for seen in _look(probes, probe, end if limited else None):
            rows = _shown(seen, probe.shown)
            if rows is None:
                continue
            answer = Answer.ranked(result, rows, seen.ranks, offset=probe.offset, ordered=probe.ordered)
            # The probe must allow the query's own result, or it proves nothing.
            if answer is not None and compare(result, answer, _CHECK).equal:
                return answer
    return None


def _look(probes: ExecutionContext, probe: TieProbe, end: int | None) -> Iterator[_Seen]:
    """The rows of a probe, if it can be trusted: as many as ``end`` needs, or all."""
    if probe.mirror is not None:
        up, down = probes.execute(probe.query).result, probes.execute(probe.mirror).result
        if up is not None and down is not None and (turned := mirrored_ranks(up.rows, down.rows)) is not None:
            yield _Seen(up.rows, turned, up.columns)
        return
    # Under a LIMIT, one row past the cut usually shows that nothing ties there.
    for short in (True, False) if end is not None else (False,):
        result = probes.execute(probe.first((end or 0) + 1) if short else probe.query).result
        if result is None:
            return
        rows, ranks = _rows_and_ranks(result.rows, probe)
        if not _in_order(ranks, probe):
            return
        if short and end is not None and len(rows) > end and end > 0 and ranks[end] == ranks[end - 1]:
            continue  # the cut falls into a tie: fetch all of it
        yield _Seen(rows, ranks, result.columns)
        return


def _shown(seen: _Seen, names: Sequence[str] | None) -> Sequence[Row] | None:
    """The rows with the outer query's columns; None where a name does not occur exactly once."""
    if names is None:
        return seen.rows
    there = [column.lower() for column in seen.columns]
    if any(there.count(name.lower()) != 1 for name in names):
        return None
    places = [there.index(name.lower()) for name in names]
    return [tuple(row[place] for place in places) for row in seen.rows]


def _rows_and_ranks(rows: Sequence[Row], probe: TieProbe) -> tuple[Sequence[Row], Sequence[object]]:
    if probe.ranked:
        return [row[:-1] for row in rows], [row[-1] for row in rows]
    return list(rows), [tuple(row[column] for column in probe.key_columns) for row in rows]


def _in_order(ranks: Sequence[object], probe: TieProbe) -> bool:
    """Whether ranks ascend from row to row; for keys, which have no order here, whether none comes back later."""
    if probe.ranked:
        return all(
            isinstance(first, int) and isinstance(second, int) and first <= second for first, second in pairwise(ranks)
        )
    told: set[str] = set()
    before: object = None
    for rank in ranks:
        if told and rank == before:
            continue
        before = rank
        alike = _folded(rank)  # keys that a collation may take for equal count as one
        if alike in told:
            return False
        told.add(alike)
    return True


def mirrored_ranks(up: Sequence[Row], down: Sequence[Row]) -> list[int] | None:
    """Number the ties of rows, given in two lists that sort each tie in opposite directions.

    A tie is the shortest run of rows that is reversed in the other list. None where the lists do not
    mirror each other: then something beyond the rows themselves decided the order within a tie.
    """
    if len(up) != len(down):
        return None
    ours, theirs = [repr(row) for row in up], [repr(row) for row in down]
    ranks: list[int] = []
    start = 0
    while start < len(ours):
        stop = _turn(ours, theirs, start)
        if stop is None:
            return None
        ranks += [start] * (stop - start)
        start = stop
    alike = [_folded(row) for row in up]
    apart = all(
        alike[place] != alike[place - 1] or ours[place] == ours[place - 1] or ranks[place] == ranks[place - 1]
        for place in range(1, len(up))
    )
    return ranks if apart else None


def _turn(ours: Sequence[str], theirs: Sequence[str], start: int) -> int | None:
    """The end of the tie that begins at ``start``: its last rows are the first of the other list."""
    first = theirs[start]
    last = start
    while last < len(ours) and ours[last] != first:
        last += 1
    # The next tie may have equal rows: take only as many as make the two lists mirror each other.
    for stop in range(last + 1, len(ours) + 1):
        if ours[stop - 1] != first:
            return None
        if all(ours[start + step] == theirs[stop - 1 - step] for step in range(stop - start)):
            return stop
    return None


def _folded(value: object) -> str:
    """A key or row as the most tolerant collation may see it: without case, accents and trailing blanks."""
    cells = value if isinstance(value, tuple) else (value,)
    return "\0".join(_folded_text(cell) if isinstance(cell, str) else repr(cell) for cell in cells)


def _folded_text(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).rstrip()
