"""Find out which answers an ordered or limited query allows, by executing probes, whose results are checked."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from assay.comparison.answer import Answer
from assay.comparison.compare import compare
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
    """The answers that a query's own text allows; None if its ties cannot be found.

    ``result`` is what the query returned. A probe that does not allow it is wrong, and the next one is tried.
    """
    for probe in tie_probes(query, probes.dialect, result.column_count):
        end = probe.offset + len(result.rows)
        for seen in _look(probes, probe, end if limited else None):
            rows = seen.rows
            if probe.shown is not None:  # the outer query's columns, each of which must occur exactly once
                columns, names = [column.lower() for column in seen.columns], [name.lower() for name in probe.shown]
                if any(columns.count(name) != 1 for name in names):
                    continue
                rows = [tuple(row[columns.index(name)] for name in names) for row in seen.rows]
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
        rows: Sequence[Row] = result.rows
        ranks: Sequence[object]
        if probe.ranked:
            rows, ranks = [row[:-1] for row in rows], [row[-1] for row in rows]
        else:
            ranks = [tuple(row[column] for column in probe.key_columns) for row in rows]
        if not _in_order(ranks, probe):
            return
        if short and end is not None and len(rows) > end and end > 0 and ranks[end] == ranks[end - 1]:
            continue  # the cut falls into a tie: fetch all of it
        yield _Seen(rows, ranks, result.columns)
        return


def _in_order(ranks: Sequence[object], probe: TieProbe) -> bool:
    """Whether ranks ascend from row to row; for keys, which have no order here, whether none comes back later."""
    if probe.ranked:
        return all(
            isinstance(first, int) and isinstance(second, int) and first <= second for first, second in pairwise(ranks)
        )
    seen: set[str] = set()
    before: object = None
    for rank in ranks:
        if seen and rank == before:
            continue
        before = rank
        alike = _folded(rank)  # keys that a collation may take for equal count as one
        if alike in seen:
            return False
        seen.add(alike)
    return True


def mirrored_ranks(up: Sequence[Row], down: Sequence[Row]) -> list[int] | None:
    """Number the ties of rows, given in two lists that sort each tie in opposite directions.

    A tie is the shortest run of rows that is reversed in the other list. None if the lists do not
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
    texts = []
    for cell in value if isinstance(value, tuple) else (value,):
        text = repr(cell)
        if isinstance(cell, str):
            decomposed = unicodedata.normalize("NFKD", cell.casefold())
            text = "".join(letter for letter in decomposed if not unicodedata.combining(letter)).rstrip()
        texts.append(text)
    return "\0".join(texts)
