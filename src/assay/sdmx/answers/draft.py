"""Collect a selection piece by piece: within a query, repeated parts are joined."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from assay.model.cases.selection import DatasetSelection, DimensionSelection, Selection, Term, TimeRange
from assay.sdmx.structures.identifiers import code_of

_ALL_TIME = TimeRange()
WILDCARD = "*"


class DatasetDraft:
    """One dataset's selection under construction."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        self._terms: dict[str, dict[Term, None]] = {}
        self._everything: set[str] = set()
        self._time: tuple[TimeRange, ...] | None = None

    def add(self, dimension: str, terms: Iterable[Term] = (), *, everything: bool = False) -> None:
        """Add terms to those of a dimension. A term ``*`` is a wildcard, which covers all others.

        A term's id can be a code's URN. A code that is given under two names is two terms.
        """
        known = self._terms.setdefault(dimension, {})
        if everything:
            self._everything.add(dimension)
        for given in terms:
            if given.id == WILDCARD:
                self._everything.add(dimension)
                continue
            known[Term(id=code_of(given.id), name=given.name) if ":" in given.id else given] = None

    def add_codes(self, dimension: str, codes: Iterable[str] | None) -> None:
        """Add codes to a dimension. None: every code."""
        if codes is None:
            self.add(dimension, everything=True)
        else:
            self.add(dimension, (Term(id=code) for code in codes))

    def add_time(self, ranges: tuple[TimeRange, ...] | None) -> None:
        """Add periods to the dataset's. None says nothing about time; ``()`` is all of time, and covers all others."""
        if ranges is None:
            return
        if not ranges or self._time == () or _ALL_TIME in ranges:
            self._time = ()
        else:
            self._time = tuple(dict.fromkeys((*(self._time or ()), *ranges)))

    def finish(self) -> DatasetSelection:
        """The collected selection, with dimensions and terms in order of first appearance."""
        dimensions = tuple(
            DimensionSelection(dimension=dimension, everything=True)
            if dimension in self._everything
            else DimensionSelection(dimension=dimension, terms=tuple(_without_unnamed(terms)))
            for dimension, terms in self._terms.items()
        )
        return DatasetSelection(dataset=self.dataset, dimensions=dimensions, time=self._time)


def _without_unnamed(terms: Collection[Term]) -> Iterable[Term]:
    """The terms without those that repeat a named code without its name."""
    named = {term.id for term in terms if term.name is not None}
    return (term for term in terms if term.name is not None or term.id not in named) if named else terms


class SelectionDraft:
    """A whole selection under construction: the union of its queries, even of several on one dataset."""

    def __init__(self) -> None:
        self._queries: list[DatasetDraft | DatasetSelection] = []

    def dataset(self, dataset: str) -> DatasetDraft:
        """The draft of another query on that dataset."""
        draft = DatasetDraft(dataset)
        self._queries.append(draft)
        return draft

    def add(self, selection: Selection) -> None:
        """Add the queries of a whole selection."""
        self._queries += selection.datasets

    def finish(self) -> Selection:
        """The queries in the order of appearance, without repeats."""
        finished = [one.finish() if isinstance(one, DatasetDraft) else one for one in self._queries]
        return Selection(datasets=tuple(dict.fromkeys(finished) if finished[1:] else finished))
