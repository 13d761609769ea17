"""``reviews.jsonl``: one decision per line, appended and never rewritten."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import msgspec

from assay.errors import InputError, did_you_mean
from assay.model.verdicts.review import REVIEWS_FILE, Review, ReviewDecision
from assay.platform.safeguards import module
from assay.platform.spool import BINARY

_DECISIONS: Sequence[str] = ReviewDecision.__args__  # type: ignore[attr-defined]
_DECODE = msgspec.json.Decoder(Review).decode
_ENCODE = msgspec.json.Encoder().encode


def new_id() -> str:
    """An id for a review."""
    return uuid4().hex[:16]


def now() -> str:
    """The time of a review: ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def reviews_beside(cases: Path) -> Path:
    """Where the reviews of a question set are kept."""
    return (cases if cases.is_dir() else cases.parent) / REVIEWS_FILE


def read_reviews(path: Path) -> list[Review]:
    """Every line, in the file's order, those that are taken back and those that take them back included.

    Raises as `read_lines` does.
    """
    return [review for _, review in read_lines(path)]


def read_lines(path: Path) -> list[tuple[int, Review]]:
    """As `read_reviews`, each with the number of its line.

    Raises InputError, naming the line, for one that is no review. A last line that was cut off while it was written is
    left out; the next `append_reviews` removes it. A line that is there twice, as after a merge, counts once.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    found: dict[str, tuple[int, Review]] = {}
    for number, line in enumerate(_whole(content).split(b"\n"), 1):
        if not line.strip():
            continue
        review = _review(line, f"{path}, line {number}")
        first, earlier = found.setdefault(review.id, (number, review))
        if earlier != review:
            raise InputError(f"{path}, line {number}: another review than line {first} under the same id, {review.id}")
    return list(found.values())


def _whole(content: bytes) -> bytes:
    """A file without a last line that was cut off."""
    lines, _, last = content.rpartition(b"\n")
    return content if _is_review(last) else lines


def _is_review(line: bytes | bytearray) -> bool:
    try:
        _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _review(line: bytes, place: str) -> Review:
    line = line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r")
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        raise InputError(f"{place}: a mark of a merge conflict: keep the lines of both sides, and remove the marks")
    try:
        return _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: {_trouble(line, error)}. Correct the line, or remove it") from error


def _trouble(line: bytes, error: Exception) -> str:
    try:
        raw = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return f"not a line of JSON ({error})"
    if isinstance(raw, dict) and isinstance(decision := raw.get("decision"), str) and decision not in _DECISIONS:
        return f"the decision {decision!r} is unknown{did_you_mean(decision, _DECISIONS)}: {', '.join(_DECISIONS)}"
    return f"not a review ({error})"


def append_reviews(path: Path, reviews: Iterable[Review]) -> None:
    """Write reviews behind those that are there, and onto the disk, before returning.

    Several processes may append to one file at the same time. Raises InputError where it cannot be written.
    """
    lines = b"".join(_ENCODE(review) + b"\n" for review in reviews)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o644)
        try:
            if fcntl := module("fcntl"):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            _cut_torn_line(descriptor)
            left = memoryview(lines)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)  # and gives up the lock
    except OSError as error:
        raise InputError(f"{path}: the review cannot be written ({error.strerror})") from error


def _cut_torn_line(descriptor: int) -> None:
    """Remove a last line without an end: a process was killed while it wrote it.

    A whole review to which only the line's end is missing, as editors leave it, gets its end.
    """
    size = os.lseek(descriptor, 0, os.SEEK_END)
    content = bytearray()
    while len(content) < size and b"\n" not in content:
        start = max(0, size - len(content) - 65536)
        os.lseek(descriptor, start, os.SEEK_SET)
        content[:0] = os.read(descriptor, size - len(content) - start)
    _, _, torn = content.rpartition(b"\n")
    if not torn:
        return
    if _is_review(torn):
        os.write(descriptor, b"\n")
    else:
        os.ftruncate(descriptor, size - len(torn))


def in_force(reviews: Iterable[Review]) -> list[Review]:
    """The reviews without those that were taken back."""
    every = list(reviews)
    undone = {review.undoes for review in every if review.decision == "undo"}
    return [review for review in every if review.decision != "undo" and review.id not in undone]
