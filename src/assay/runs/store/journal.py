"""The journal: one line per finished case, written when the case finishes, and read to resume."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import overload
from zlib import crc32

from msgspec import Struct

from assay.errors import RunError
from assay.model import Evidence
from assay.platform.safeguards import module
from assay.platform.spool import BINARY, read_at
from assay.runs.store.codec import current_line, decode_evidence, encode_evidence

NAME = "journal.jsonl"
ANSWERS = "answers.jsonl"
_CONTENTS = {NAME: b"evidence", ANSWERS: b"prediction"}
_LOOK_EVERY_S = {NAME: 0.02, ANSWERS: 0.0}
"""To look whether the file is still there takes as long as to write a case's line, and nothing compared with an
answer: no question is asked whose answer could not be kept. The file is looked at whole at the end."""
_BEGIN = b'{"digest":"'
_END = b"}\n"
_LINE = re.compile(rb'\{"digest":"([0-9a-f]{24})","(?:evidence|prediction)":(\{.*\})\}\n', re.DOTALL)


class JournalLine(Struct, frozen=True, kw_only=True):
    """One finished case."""

    number: int
    """The line's number, from 1."""
    digest: str
    content: bytes
    """The evidence, or the answer, as JSON."""
    start: int
    """The position in bytes if the content begins in the file."""


class Finished(Struct, frozen=True, kw_only=True):
    """Where the line of a finished case is: its number, and the bytes of its content."""

    number: int
    start: int
    length: int


class Journal:
    """Appends finished cases to ``RUN/journal.jsonl``, each line ``{"digest": ..., "evidence": ...}``.

    Under the name ``answers.jsonl`` it keeps a live system's answers, each line ``{"digest": ..., "prediction": ...}``.

    Whole lines are written with one call, so that a killed process leaves at most one torn line, the last:
    opening cuts it off. Only one process may write a folder's journal at a time. ``finished`` maps
    the digest of every case that an earlier run finished to the place of its line. ``forget`` begins a new file: what
    is still read from the earlier one stays whole.

    It knows the length and checksum of its own lines, so that it notices when another process cut,
    overwrote or extended the file.
    """

    def __init__(self, folder: Path, *, name: str = NAME, forget: bool = False) -> None:
        self.path: Path = folder / name
        self._descriptor = self._open(folder)
        try:
            if forget:
                self._begin_anew(folder)
            self._size = self._sum = 0
            self._waiting: list[bytes] = []
            self._looked = 0.0
            # The finished cases; a torn last line is cut off the file.
            finished: dict[str, Finished] = {}
            for line in read_lines(self.path):
                length = len(line.content)
                finished[line.digest] = Finished(number=line.number, start=line.start, length=length)
                self._sum = crc32(line_of(line.digest, line.content, _CONTENTS[self.path.name]), self._sum)
                self._size = line.start + length + len(_END)
            os.ftruncate(self._descriptor, self._size)
            self.finished: dict[str, Finished] = finished
        except BaseException:
            os.close(self._descriptor)
            raise

    def _open(self, folder: Path) -> int:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o644)
        lock(descriptor, folder)
        return descriptor

    def _begin_anew(self, folder: Path) -> None:
        if os.name != "posix":  # an open file keeps its name
            os.ftruncate(self._descriptor, 0)
            return
        self.path.unlink(missing_ok=True)
        emptied, self._descriptor = self._descriptor, self._open(folder)
        os.close(emptied)

    def content(self, place: Finished) -> bytes:
        """The evidence, or the answer, of a finished case, as JSON."""
        return read_at(self._descriptor, place.start, place.length)

    def append(self, digest: str, content: bytes) -> int:
        """Write one finished case, and return where its content begins. Raises RunError if the disk is full."""
        (start,) = self.put([(digest, content)])
        self.flush()
        return start

    def put(self, cases: Iterable[tuple[str, bytes]]) -> list[int]:
        """As `append` for several cases, but written by the next `flush`, together with all that was put before."""
        middle, size = b'","%s":' % _CONTENTS[self.path.name], self._size
        parts: list[bytes] = []
        starts: list[int] = []
        for digest, content in cases:
            name = digest.encode("ascii")
            parts += _BEGIN, name, middle, content, _END  # a content is copied once, by the join
            starts.append(size + len(_BEGIN) + len(name) + len(middle))
            size = starts[-1] + len(content) + len(_END)
        block = b"".join(parts)
        self._waiting.append(block)
        self._size = size
        self._sum = crc32(block, self._sum)
        return starts

    def flush(self) -> None:
        """Write what was put. Raises RunError if the disk is full."""
        if not self._waiting:
            return
        left, self._waiting = memoryview(self._waiting[0] if len(self._waiting) == 1 else b"".join(self._waiting)), []
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot write the finished case ({error.strerror}); what was finished before is kept: "
                "make room and run the same command again"
            ) from error
        now = monotonic()
        if now - self._looked >= _LOOK_EVERY_S[self.path.name]:
            self._looked = now
            self.check_there()

    def check_there(self) -> None:
        """Raise RunError if the file is missing, or its length differs from what was written into it."""
        with suppress(OSError):
            here = os.fstat(self._descriptor)
            if os.path.samestat(here, os.stat(self.path)):
                if here.st_size != self._size:
                    raise changed(self.path)
                return
        raise gone(self.path.parent)

    def check_whole(self) -> None:
        """Raise RunError if the file does not contain exactly the bytes that were read from it and written into it."""
        self.flush()
        self.check_there()
        found = 0
        with self.path.open("rb") as file:
            while block := file.read(1 << 20):
                found = crc32(block, found)
        if found != self._sum:
            raise changed(self.path)

    def close(self) -> None:
        """Write what was put, and close the file."""
        if self._descriptor >= 0:
            try:
                self.flush()
            finally:
                os.close(self._descriptor)
                self._descriptor = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_lines(path: Path) -> Iterator[JournalLine]:
    """The lines of a journal, except a torn last line. Raises RunError for any other damaged line."""
    begin = 0
    # A large buffer reads lines of a few kilobytes three times as fast.
    with path.open("rb", buffering=1 << 20) as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            found = _LINE.fullmatch(line)
            if found is None:
                raise damaged(path, number)
            yield JournalLine(
                number=number, digest=found[1].decode("ascii"), content=found[2], start=begin + found.start(2)
            )
            begin += len(line)


def digest_of_line(line: bytes) -> str:
    """The digest that a line begins with; of a damaged line any text."""
    return line[len(_BEGIN) : len(_BEGIN) + 24].decode("latin-1")


def line_of(digest: str, content: bytes, kind: bytes = _CONTENTS[NAME]) -> bytes:
    """The line of a finished case, or of an answer."""
    return b'{"digest":"%s","%s":%s}\n' % (digest.encode("ascii"), kind, content)


def write_whole(path: Path, contents: Iterable[bytes]) -> list[str]:
    """Write a journal at once, and return its digests: the numbers of the lines in the form of digests."""
    digests: list[str] = []
    with path.open("wb") as file:
        for number, content in enumerate(contents):
            digests.append(f"{number:024x}")
            file.write(line_of(digests[-1], content))
    return digests


def damaged(path: Path, number: int) -> RunError:
    """The error for a line that cannot be read."""
    return RunError(
        f"{path}, line {number}: damaged; remove that line and run the same command again to score "
        "its case again, or make the run in another folder (-o)"
    )


def lock(descriptor: int, folder: Path) -> None:
    """Lock an open file of a run, or close it and raise RunError: another process writes the run in ``folder``.

    Windows has no such locks: there two runs in one folder are not noticed.
    """
    fcntl = module("fcntl")
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise RunError(
            f"{folder}: another process is writing this run; wait for it, or choose another folder"
        ) from error


def gone(folder: Path) -> RunError:
    """The error for a run's folder, or a file in it, that has disappeared."""
    return RunError(
        f"{folder}: was moved or deleted during the run. If it was moved, name its new path (-o) "
        "and run the same command again to resume; otherwise the run starts over"
    )


def changed(path: Path) -> RunError:
    """The error for a file that another process wrote or cut during the run."""
    return RunError(
        f"{path}: was changed by another program during the run, so finished cases may be lost: "
        "make sure that nothing else writes there, and run the same command again to resume"
    )


_MOST_DECODED = 5_000
"""A run of at most this many answers is decoded once and stays decoded; of a larger one, no evidence is kept."""


class LazyEvidence(Sequence[Evidence]):
    """A run's evidence, in the run's order: each is decoded when somebody reads it.

    ``decode`` gives the evidence of a place. A small run is decoded once, a case of a large one each time that it is
    read, so that reading it takes no memory. Equal to any sequence of equal evidence; pickled whole.
    """

    __slots__ = ("_count", "_decode", "_kept", "line", "lines")

    def __init__(
        self,
        count: int,
        decode: Callable[[int], Evidence],
        *,
        line: Callable[[int], bytes] | None = None,
        lines: Callable[[], Iterator[bytes]] | None = None,
    ) -> None:
        self.line = line
        """The line of a place as it is kept: in it, without decoding, one may look for what few evidences have."""
        self.lines = lines
        """All lines in order, which is faster than place by place."""
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
        if self._kept is None and self.lines is not None:
            return map(decode_evidence, self.lines())
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


def lines_of(evidence: Sequence[Evidence]) -> Iterator[bytes]:
    """Each evidence as a line of a journal. Those of a stored run are not decoded for it."""
    if isinstance(evidence, LazyEvidence) and evidence.lines is not None:
        return map(current_line, evidence.lines())
    return map(encode_evidence, evidence)
