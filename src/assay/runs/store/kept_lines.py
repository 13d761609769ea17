"""Evidence that stays in lines of JSON until somebody reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from assay.model import Evidence

_MOST_DECODED = 5_000
"""A run of at most this many answers is decoded once and stays decoded; of a larger one, no evidence is kept."""


class LazyEvidence(Sequence[Evidence]):
    """A run's evidence, in the run's order: each is decoded when somebody reads it.

    ``decode`` gives the evidence of a place. A small run is decoded once; of a large one, whoever needs an evidence
    twice decodes it twice, so that reading it takes no memory. Equal to any sequence of equal evidence; pickled whole.
    """

    __slots__ = ("_count", "_decode", "_kept", "line")

    def __init__(
        self,
        count: int,
        decode: Callable[[int], Evidence],
        *,
        line: Callable[[int], bytes] | None = None,
    ) -> None:
        self.line = line
        """The line of a place as it is kept: in it, without decoding, one may look for what few evidences have."""
        self._count = count
        self._decode = decode
        self._kept: list[Evidence | None] | None = [None] * count if count <= _MOST_DECODED else None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Evidence: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Evidence, ...]: ...
    def __getitem__(self, place: int | slice) -> Evidence | tuple[Evidence, ...]:
        if isinstance(place, slice):
            return tuple(map(self._at, range(self._count)[place]))
        return self._at(range(self._count)[place])

    def __iter__(self) -> Iterator[Evidence]:
        return map(self._at, range(self._count))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<evidence of {self._count:,} answers>"

    def __reduce__(self) -> tuple[type[tuple[Evidence, ...]], tuple[list[Evidence]]]:
        return tuple, (list(self),)

    def _at(self, place: int) -> Evidence:
        kept = self._kept
        if kept is None:
            return self._decode(place)
        found = kept[place]
        if found is None:
            found = kept[place] = self._decode(place)
        return found
