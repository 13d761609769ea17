"""Golds that came near their time limit: on a slower machine their cases would be in no rate."""

from __future__ import annotations

from collections.abc import Iterator

from assay.model import CaseSummary, Limits
from assay.reports.text.plain import one_line, plural, seconds

_NEAR = 0.5
"""From this share of the limit on, a gold is near it."""
_NAMED = 5


class SlowGolds:
    """Notes, case by case, which golds took half of their time limit or more, and which ran out of it."""

    def __init__(self, limits: Limits) -> None:
        self._limit_s = limits.of_gold.timeout_s
        self._near: dict[str, float] = {}
        self._out: dict[str, None] = {}

    def take(self, case: CaseSummary) -> None:
        """Look at the golds of one answer."""
        for gold in case.golds:
            if gold.status == "timeout":
                self._out[case.case_id] = None
            elif (took_s := gold.took_s) is not None and took_s >= _NEAR * self._limit_s:
                self._near[case.case_id] = max(took_s, self._near.get(case.case_id, 0.0))

    def notes(self) -> Iterator[str]:
        """One sentence for all of them; none where gold is quick."""
        limit = seconds(self._limit_s)
        if self._out:
            advice = "--gold-timeout gives gold more time than predictions have"
            yield f"Of {plural(len(self._out), 'case')} gold ran out of its {limit} ({_named(self._out)}): {advice}."
        if self._near:
            longest = max(self._near.values())
            yield (
                f"Of {plural(len(self._near), 'case')} gold took half of its {limit} or more, at most "
                f"{seconds(longest)} ({_named(self._near)}): on a slower machine they may be in no rate."
            )


def _named(ids: dict[str, float] | dict[str, None]) -> str:
    shown = ", ".join(one_line(name, limit=40) for name in list(ids)[:_NAMED])
    return f"{shown}, …" if len(ids) > _NAMED else shown
