"""The order of several runs as far as pairwise tests establish it. Runs are named by their index, from 0."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice

from assay.errors import UsageError


def letter_groups(count: int, distinct: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """Give each of ``count`` runs letters, so that two runs share a letter if and only if they are not in ``distinct``.

    The compact letter display by insertion and absorption (Piepho, Journal of Computational and Graphical Statistics
    13, 2004): ``a`` goes to the group that contains the first run. Each letter of a run occurs once, in alphabetical
    order; after ``z`` come the capitals, then other scripts' letters. Pairs may be in any order and repeated. Raises
    `UsageError` for a pair that does not name two of the runs.
    """
    groups = [frozenset(range(count))] if count else []
    for pair in sorted({_pair(one, other, count) for one, other in distinct}):
        members = set(pair)
        whole = [group for group in groups if not members <= group]
        # Split every group that holds both into two, each without one of them; drop groups contained in others.
        parts = {group - {member} for group in groups if members <= group for member in pair}
        groups = whole + [part for part in parts if not any(part < other for other in (*whole, *parts))]
    names = _letters(len(groups))
    lettered = list(zip(sorted(groups, key=sorted), names, strict=True))
    return tuple("".join(name for group, name in lettered if run in group) for run in range(count))


def rank_bounds(count: int, better: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The best and the worst rank, from 1, that are possible for each of ``count`` runs.

    ``better`` holds the pairs ``(winner, loser)`` that a test distinguishes: a run's best rank is 1 plus the number of
    runs that beat it, its worst ``count`` minus the number that it beats. With p-values corrected across all pairs, all
    bounds hold at once at the tests' level. Pairs may be in any order and repeated. Raises `UsageError` for a pair that
    does not name two of the runs, or that also occurs in reverse.
    """
    pairs = set(better)
    for winner, loser in pairs:
        _pair(winner, loser, count)
        if (loser, winner) in pairs:
            raise UsageError(f"runs {winner} and {loser} are each listed as better than the other")
    losses, wins = [0] * count, [0] * count
    for winner, loser in pairs:
        wins[winner] += 1
        losses[loser] += 1
    return tuple((1 + lost, count - won) for lost, won in zip(losses, wins, strict=True))


def _pair(one: int, other: int, count: int) -> tuple[int, int]:
    if one == other or not (0 <= one < count and 0 <= other < count):
        raise UsageError(f"a pair must name two of the {count} runs by their index from 0, got ({one!r}, {other!r})")
    return min(one, other), max(one, other)


def _letters(count: int) -> list[str]:
    latin = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    further = (chr(point) for point in range(0x3B1, 0x110000) if chr(point).isalpha())
    return list(islice(chain(latin, further), count))
