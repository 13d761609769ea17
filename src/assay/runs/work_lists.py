"""The work of a run."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import overload

from msgspec.structs import replace

from assay.model import DatabaseUrl, Prediction
from assay.platform.spool import Spool, spooled
from assay.runs.plan import Work, digest_of
from assay.runs.store.codec import pack_task

_DIGEST_BYTES = 12


class Works(Sequence[Work]):
    """The work of a run, in the order of the question set. The answers of a live system come later.

    More than `LARGE` works lie in a temporary file, as 100,000 take 150 MB as objects. Then the encoded form of a work
    is both its line in that file and its worker's task, so that the main process never decodes it. Digests, databases
    and hashes of gold queries are in memory.
    """

    def __init__(self, works: Iterable[Work], bases: Mapping[str, str]) -> None:
        """``bases``: see `assay.runs.plan.digest_of`."""
        self._bases = bases
        self._digests = bytearray()
        self._golds = array("q")
        self._urls: dict[DatabaseUrl, int] = {}
        self._url_at = array("I")
        self._answered: dict[int, Work] = {}
        """Works whose answers came later."""
        self._works = spooled(map(self._noted, works), Work)
        self._url_of = list(self._urls)

    def _noted(self, work: Work) -> Work:
        self._digests += bytes.fromhex(digest_of(work, self._bases))
        self._golds.append(hash(work.case.golds[:1]))
        self._url_at.append(self._urls.setdefault(work.url, len(self._urls)))
        return work

    def __len__(self) -> int:
        return len(self._url_at)

    @overload
    def __getitem__(self, index: int) -> Work: ...
    @overload
    def __getitem__(self, index: slice) -> list[Work]: ...
    def __getitem__(self, index: int | slice) -> Work | list[Work]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        return self._answered.get(index) or self._works[index]

    def answer(self, index: int, prediction: Prediction) -> None:
        """Set the prediction of a work."""
        work = self._answered[index] = replace(self[index], prediction=prediction)
        self._digests[_DIGEST_BYTES * index : _DIGEST_BYTES * (index + 1)] = bytes.fromhex(digest_of(work, self._bases))

    def task(self, index: int) -> object:
        """The work in the form in which a worker takes it."""
        if isinstance(self._works, Spool) and index not in self._answered:
            return self._works.line(index) or self._works[index]
        return pack_task(self[index])

    def url(self, index: int) -> DatabaseUrl:
        """The database of a work."""
        return self._url_of[self._url_at[index]]

    def gold(self, index: int) -> int:
        """A hash of the first gold query of a work."""
        return self._golds[index]

    def digest(self, index: int) -> str:
        """The digest of a work."""
        return self._digests[_DIGEST_BYTES * index : _DIGEST_BYTES * (index + 1)].hex()
