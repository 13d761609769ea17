"""The work of a run: as objects, or in bytes until somebody looks at it, as 100,000 cases take 150 MB as objects."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import overload

import msgspec

from assay.errors import UsageError
from assay.kept import KeptLines
from assay.model import Case, DatabaseUrl, Prediction
from assay.runs.plan import TextReading, Work, answered, digest_of

_DIGEST_BYTES = 12


class WorkList(Sequence[Work]):
    """Work as objects. Answers may come later."""

    def __init__(self, works: Sequence[Work], bases: Mapping[str, str], *, extract: bool = True) -> None:
        """``bases``: see `assay.runs.plan.digest_of`. ``extract`` False: answers are evaluated as they come."""
        self._texts: TextReading = "live" if extract else "off"
        self._works = list(works)
        self._bases = bases
        self._digests: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._works)

    @overload
    def __getitem__(self, place: int) -> Work: ...
    @overload
    def __getitem__(self, place: slice) -> list[Work]: ...
    def __getitem__(self, place: int | slice) -> Work | list[Work]:
        return self._works[place]

    def answer(self, place: int, prediction: Prediction) -> None:
        """The answer to the case at that place has arrived."""
        self._works[place] = answered(self._works[place], prediction, self._texts)
        self._digests.pop(place, None)

    def url(self, place: int) -> DatabaseUrl:
        """The database of the work at that place."""
        return self._works[place].url

    def golds(self, place: int) -> Sequence[Hashable]:
        """What tells the golds of the work at that place from others."""
        return self._works[place].case.golds

    def digest(self, place: int) -> str:
        """The work's digest."""
        found = self._digests.get(place)
        if found is None:
            work = self._works[place]
            found = self._digests[place] = digest_of(work, self._bases)
        return found


class PackedWorks(Sequence[Work]):
    """Work in a temporary file, in its order. Each is unpacked when somebody asks for it, and not kept."""

    def __init__(self, count: int, works: Iterable[Work], bases: Mapping[str, str]) -> None:
        """Pack so many works, in their order. ``bases``: see `assay.runs.plan.digest_of`."""
        self._count = count
        self._lines = KeptLines(self._count, most_in_memory=1 << 20)
        self._answers_at = array("I", bytes(4 * self._count))
        self._digests = bytearray()
        self._golds = array("q")
        self._urls: list[DatabaseUrl] = []
        self._gold_urls: list[DatabaseUrl | None] = []
        self._url_at = array("I")
        self._odd: dict[int, Work] = {}
        """Work with text that is not valid Unicode."""
        numbers: dict[tuple[str, str | None], int] = {}
        for work in works:
            gold_url = work.gold_url
            number = numbers.setdefault((work.url.text, None if gold_url is None else gold_url.text), len(numbers))
            if number == len(self._urls):
                self._urls.append(work.url)
                self._gold_urls.append(gold_url)
            self._url_at.append(number)
            self._golds.append(hash(work.case.golds[:1]))
            self._digests += bytes.fromhex(digest_of(work, bases))
            self._keep(work)

    def _keep(self, work: Work) -> None:
        if work.index != len(self._url_at) - 1:
            raise UsageError(f"work {work.index} is not in its order")
        try:
            case, answer = msgspec.msgpack.encode(work.case), msgspec.msgpack.encode(work.prediction)
        except (UnicodeEncodeError, OverflowError):
            self._odd[work.index] = work
            return
        self._answers_at[work.index] = len(case)
        self._lines.keep(work.index, case + answer)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Work: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Work, ...]: ...
    def __getitem__(self, place: int | slice) -> Work | tuple[Work, ...]:
        if isinstance(place, slice):
            return tuple(map(self._at, range(self._count)[place]))
        return self._at(range(self._count)[place])

    def _at(self, place: int) -> Work:
        packed = self.packed(place)
        if packed is None:
            return self._odd[place]
        case, answer = packed
        return Work(
            index=place,
            case=_CASES.decode(case),
            prediction=_ANSWERS.decode(answer),
            url=self.url(place),
            gold_url=self.gold_url(place),
        )

    def packed(self, place: int) -> tuple[bytes, bytes] | None:
        """Case and answer in MessagePack, as a worker takes them; None for the few that have no such form."""
        if place in self._odd:
            return None
        line, border = self._lines.line(place), self._answers_at[place]
        return line[:border], line[border:]

    def url(self, place: int) -> DatabaseUrl:
        """The database of the work at that place."""
        return self._urls[self._url_at[place]]

    def gold_url(self, place: int) -> DatabaseUrl | None:
        """The database of gold's queries of the work at that place, where that is another one."""
        return self._gold_urls[self._url_at[place]]

    def digest(self, place: int) -> str:
        """The work's digest."""
        start = _DIGEST_BYTES * place
        return self._digests[start : start + _DIGEST_BYTES].hex()

    def golds(self, place: int) -> Sequence[Hashable]:
        """What tells the first gold of the work at that place from others."""
        return (self._golds[place],)


_CASES = msgspec.msgpack.Decoder(Case)
_ANSWERS = msgspec.msgpack.Decoder(Prediction)
