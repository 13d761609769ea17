"""The file of reviews: what a line has to be, and what may be missing at its end."""

from __future__ import annotations

import os
import random
from pathlib import Path

import msgspec
import pytest
from tests.runs.reviews.reviewing import case_of, draw_of, evidence_of, review_of

from assay.errors import InputError
from assay.model import Leniency, Review
from assay.runs.reviews.collection import Reviews
from assay.runs.reviews.file import append_reviews, read_reviews

DRAW = draw_of(seed=-7, probability=1.5e-7)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "reviews.jsonl"


def written() -> list[Review]:
    case = case_of()
    item = evidence_of(case, "SELECT 'é\u2028\\' -- \U0001f600", result="ab12")
    return [
        review_of(case, "accept", item, note='a "note"\n\twith\x07 ends', draw=DRAW),
        review_of(case, "ambiguous", item, leniency=Leniency(tolerance=2.5e-07, duplicates="ignored")),
    ]


def test_each_beginning_of_a_review_is_ignored_with_a_note_and_then_removed(file: Path) -> None:
    first, second = written()
    for torn in (first, second):
        line = msgspec.json.encode(torn)
        for end in range(1, len(line)):
            file.unlink(missing_ok=True)
            append_reviews(file, [second if torn is first else first])
            whole = file.read_bytes()
            file.write_bytes(whole + line[:end])
            found = Reviews.read(file)
            assert (len(found.every), "line 2: the review was cut off" in found.note) == (1, True), line[:end]
            append_reviews(file, [torn])
            assert file.read_bytes() == whole + line + b"\n"
            assert Reviews.read(file).note == ""


OTHER_LAST_LINES = [
    b"to do: ask Ana about q7",
    b"// {",
    b"<<<<<<< HEAD",
    b"[",
    b"null",
    b'{"case_id":"q1","deci',
    b'{"id": "by hand", "case',
    b'{"id":"a","decision":"boom"}',
    b'{"id":"a","decision":oops',
    b'{"id":"a" "case_id"',
    b'{"id":"a"} trailing',
    b"\xff\xfe",
    b"{}",
]


@pytest.mark.parametrize("last", OTHER_LAST_LINES)
def test_any_other_last_line_is_named_and_never_deleted(file: Path, last: bytes) -> None:
    first, second = written()
    append_reviews(file, [first])
    file.write_bytes(file.read_bytes() + last)
    with pytest.raises(InputError, match="line 2: "):
        read_reviews(file)
    append_reviews(file, [second])
    assert file.read_bytes().split(b"\n")[1] == last
    with pytest.raises(InputError, match="line 2: "):
        read_reviews(file)


def test_whole_review_without_an_end_counts(file: Path) -> None:
    first, second = written()
    append_reviews(file, [first])
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    assert read_reviews(file) == [first]
    append_reviews(file, [second])
    assert read_reviews(file) == [first, second]


def test_no_byte_of_a_file_that_is_not_ours_is_lost(file: Path) -> None:
    """Whatever stands in the file, only the beginning of a review may go."""
    drawn = random.Random(35)
    first, second = written()
    line = msgspec.json.encode(first)
    for _ in range(300):
        damaged = bytearray(line)
        for _ in range(drawn.randint(1, 3)):
            damaged[drawn.randrange(len(damaged))] = drawn.randrange(256)
        content = bytes(damaged[: drawn.randint(1, len(damaged))])
        file.write_bytes(content)
        append_reviews(file, [second])
        lost = not file.read_bytes().startswith(content)
        assert not lost or (content.startswith(b'{"id":"'[: len(content)]) and b"\n" not in content.rstrip(b"\n"))


@pytest.mark.parametrize("at", ["yesterday", "", "2026-13-01T00:00:00Z", "31.12.2026", "1767225600"])
def test_time_that_is_none_is_named_by_its_line(file: Path, at: str) -> None:
    append_reviews(file, [written()[0], review_of(case_of(), "unsure", at=at)])
    with pytest.raises(InputError, match=r"line 2: at is .* which is not a time in ISO 8601"):
        read_reviews(file)


@pytest.mark.parametrize(
    ("decision", "fitting", "more"),
    [
        ("accept", {"correct"}, {}),
        ("reject", {"incorrect"}, {}),
        ("confirm", {"incorrect"}, {"verdict": "incorrect"}),
        ("confirm", {"correct", "incorrect", "unscored"}, {}),
        ("gold_wrong", {"unscored"}, {}),
        ("gold_wrong", {"correct", "incorrect", "unscored"}, {"gold": "SELECT 2"}),
        ("ambiguous", {"correct", "incorrect", "unscored"}, {}),
        ("unanswerable", {"correct", "incorrect", "unscored"}, {}),
        ("unsure", set(), {}),
    ],
)
def test_outcome_has_to_fit_the_decision(file: Path, decision: str, fitting: set[str], more: dict[str, str]) -> None:
    for outcome in (None, "correct", "incorrect", "unscored"):
        file.unlink(missing_ok=True)
        append_reviews(file, [review_of(case_of(), decision, outcome=outcome, **more)])
        if outcome is None or outcome in fitting:
            assert read_reviews(file)[0].outcome == outcome
        else:
            with pytest.raises(InputError, match=f"line 1: the outcome {outcome} does not fit the decision {decision}"):
                read_reviews(file)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_pipe_folder_or_device_is_refused_at_once(file: Path, kind: str) -> None:
    if kind == "folder":
        file.mkdir()
    elif not hasattr(os, "mkfifo"):
        pytest.skip("this system has no pipes with a name")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/null")
    with pytest.raises(InputError, match="is not a regular file"):
        read_reviews(file)
    with pytest.raises(InputError, match="is not a regular file"):
        append_reviews(file, written())
