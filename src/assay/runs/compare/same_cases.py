"""Which cases of two runs are the same: by their content first, whatever their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec import Struct

from assay.model import ChangedCase, Matching
from assay.runs.store.compared_cases import CaseRecord

_PARTS = (
    ("question", "question"),
    ("gold", "golds"),
    ("database", "database"),
    ("context", "context"),
    ("options", "options"),
)
"""The names of the parts of a case's content in `ChangedCase.parts`."""


class Pairing(Struct, frozen=True, kw_only=True):
    """The cases that two runs share, and the ones that they do not."""

    pairs: tuple[tuple[CaseRecord, CaseRecord], ...]
    """Pairs of the baseline's and the candidate's record with equal content, in the candidate's order."""
    matching: Matching


def pair_cases(baseline: Sequence[CaseRecord], candidate: Sequence[CaseRecord]) -> Pairing:
    """Find the cases that both runs have.

    Cases with equal content are the same: first those with equal ids, then those whose content remains just once on
    each side, which were renamed. Among the rest, cases with equal question and database, or else equal ids, are one
    case that was changed, which is not compared. All others were added or removed.
    """
    search = _Search(baseline, candidate)
    search.by_id(lambda case: case.content)
    search.unique(lambda case: case.content)
    same = search.taken()
    search.by_id(_asked)
    search.unique(_asked)
    search.by_id(lambda case: case.case_id)
    changed = search.taken()
    pairs = tuple((baseline[old], candidate[new]) for old, new in same)

    def changed_case(old: CaseRecord, new: CaseRecord) -> ChangedCase:
        parts = tuple(part for part, field in _PARTS if getattr(old.content, field) != getattr(new.content, field))
        return ChangedCase(baseline_id=old.case_id, candidate_id=new.case_id, parts=parts)

    return Pairing(
        pairs=pairs,
        matching=Matching(
            paired=len(pairs),
            renamed=tuple((old.case_id, new.case_id) for old, new in pairs if old.case_id != new.case_id),
            changed=tuple(changed_case(baseline[old], candidate[new]) for old, new in changed),
            added=tuple(candidate[new].case_id for new in sorted(search.new)),
            removed=tuple(baseline[old].case_id for old in sorted(search.old)),
        ),
    )


def _asked(case: CaseRecord) -> tuple[str, str | None]:
    return case.content.question, case.content.database


class _Search:
    """The remaining cases of both sides, as places in their runs, and the pairs found since `taken` was last called."""

    def __init__(self, baseline: Sequence[CaseRecord], candidate: Sequence[CaseRecord]) -> None:
        self.baseline, self.candidate = baseline, candidate
        self.old = dict.fromkeys(range(len(baseline)))
        self.new = dict.fromkeys(range(len(candidate)))
        self.found: list[tuple[int, int]] = []

    def by_id(self, key: Callable[[CaseRecord], Hashable]) -> None:
        """Pair cases with equal ids and equal keys."""
        places = {self.baseline[old].case_id: old for old in reversed(self.old)}
        for new in list(self.new):
            case = self.candidate[new]
            old = places.get(case.case_id)
            if old is not None and old in self.old and key(self.baseline[old]) == key(case):
                self._take(old, new)

    def unique(self, key: Callable[[CaseRecord], Hashable]) -> None:
        """Pair cases whose key remains just once on each side: several could not be distinguished."""
        old_places = _single((key(self.baseline[old]), old) for old in self.old)
        new_places = _single((key(self.candidate[new]), new) for new in self.new)
        for found, new in new_places.items():
            old = old_places.get(found)
            if old is not None:
                self._take(old, new)

    def taken(self) -> list[tuple[int, int]]:
        """The pairs found, in the candidate's order."""
        found, self.found = sorted(self.found, key=lambda pair: pair[1]), []
        return found

    def _take(self, old: int, new: int) -> None:
        del self.old[old], self.new[new]
        self.found.append((old, new))


def _single(entries: Iterable[tuple[Hashable, int]]) -> dict[Hashable, int]:
    """The place of each key that occurs once."""
    listed = list(entries)
    times = Counter(key for key, _ in listed)
    return {key: place for key, place in listed if times[key] == 1}
