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
from assay.model.verdicts.verdict import Outcome
from assay.platform.safeguards import module
from assay.platform.spool import BINARY

_DECISIONS: Sequence[str] = ReviewDecision.__args__  # type: ignore[attr-defined]
_START = b'{"id":"'
"""How every line begins that is written here."""
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
    return [review for _, review in read_lines(path)[0]]


def read_lines(path: Path) -> tuple[list[tuple[int, Review]], str]:
    """As `read_reviews`, each with the number of its line, and a note if the last line was left out.

    Raises InputError, naming the line, for one that is not a review. Only the beginning of a review, cut off while
    Assay wrote it as the last line, is left out; the next `append_reviews` removes it. A line that is there twice, as
    after a merge, counts once.
    """
    try:
        _check_is_file(path)
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    found: dict[str, tuple[int, Review]] = {}
    lines, note = content.split(b"\n"), ""
    if _is_torn(lines[-1]):
        lines.pop()
        note = f"{path}, line {len(lines) + 1}: the review was cut off while it was written, and is ignored"
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        review = _review(line, f"{path}, line {number}")
        first, earlier = found.setdefault(review.id, (number, review))
        if earlier != review:
            raise InputError(
                f"{path}, line {number}: a different review from line {first} under the same id, {review.id}"
            )
    return list(found.values()), note


def _check_is_file(path: Path) -> None:
    """Raises InputError for a folder, a pipe or a device: reading a pipe waits for its writer."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a regular file: name a file for the reviews")


def _is_torn(line: bytes) -> bool:
    """Whether this is the beginning of a line that Assay wrote: nothing that a person or another program left there."""
    if not line.startswith(_START[: len(line)]):
        return False
    return bool(line) and any(_is_cut(part) for part in (line, line.rstrip(b"+-.0123456789Ee")))


def _is_cut(text: bytes) -> bool:
    """Whether this is JSON to which only the end is missing."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return str(error) == "Input data was truncated"
    return False


def _review(line: bytes, place: str) -> Review:
    line = line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r")
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        raise InputError(f"{place}: a mark of a merge conflict: keep the lines of both sides, and remove the marks")
    try:
        review = _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: {_trouble(line, error)}. Correct the line, or remove it") from error
    if trouble := _contradiction(review):
        raise InputError(f"{place}: {trouble}. Correct the line, or remove it")
    return review


def _contradiction(review: Review) -> str:
    """What of a review cannot be; empty: nothing."""
    try:
        datetime.fromisoformat(review.at)
    except ValueError:
        return f"at is {review.at!r}, which is not a time in ISO 8601, for example 2026-03-31T10:15:00Z"
    usual: dict[ReviewDecision, Outcome | None] = {"accept": "correct", "reject": "incorrect"}
    usual |= {"confirm": review.verdict} if review.verdict is not None else {"confirm": review.outcome}
    usual |= {"gold_wrong": "unscored"} if review.gold is None else {}
    usual |= {"unsure": None, "undo": None}
    expected = usual.get(review.decision, review.outcome)
    if review.outcome in (None, expected):
        return ""
    fitting = f"write {expected}, or leave it out" if expected else "leave it out"
    return f"the outcome {review.outcome} does not fit the decision {review.decision}: {fitting}"


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

    Several processes may append to one file at the same time. Raises InputError if it cannot be written.
    """
    lines = b"".join(_ENCODE(review) + b"\n" for review in reviews)
    try:
        _check_is_file(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o644)
        try:
            if fcntl := module("fcntl"):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            _end_last_line(descriptor)
            left = memoryview(lines)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)  # and gives up the lock
    except OSError as error:
        raise InputError(f"{path}: the review cannot be written ({error.strerror})") from error


def _end_last_line(descriptor: int) -> None:
    """Remove the beginning of a review: a process was killed while it wrote it. Any other last line gets its end."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    content = bytearray()
    while len(content) < size and b"\n" not in content:
        start = max(0, size - len(content) - 65536)
        os.lseek(descriptor, start, os.SEEK_SET)
        content[:0] = os.read(descriptor, size - len(content) - start)
    last = bytes(content.rpartition(b"\n")[2])
    if _is_torn(last):
        os.ftruncate(descriptor, size - len(last))
    elif last:
        os.write(descriptor, b"\n")


def in_force(reviews: Iterable[Review]) -> list[Review]:
    """The reviews without those that were taken back."""
    every = list(reviews)
    undone = {review.undoes for review in every if review.decision == "undo"}
    return [review for review in every if review.decision != "undo" and review.id not in undone]
