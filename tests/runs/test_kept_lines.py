"""Lines are found again wherever they are kept, and lazily decoded evidence is as good as a tuple of it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model import Case, Evidence, Prediction, Verdict
from assay.platform.spool import Spool
from assay.runs.store import journal as kept_lines
from assay.runs.store.journal import LazyEvidence


@given(lines=st.lists(st.binary(max_size=40), max_size=40), most=st.integers(0, 60))
def test_each_line_is_read_in_memory_and_in_a_temporary_file(lines: list[bytes], most: int) -> None:
    spool = Spool[bytes](bytes, buffer_bytes=most)
    for index, line in enumerate(lines):
        spool.append_line(line)
        assert spool.line(index) == line
    assert [spool.line(index) for index in range(len(spool))] == lines
    spool.close()


def test_lines_of_a_file_are_read_after_it_lost_its_name(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\n")
    spool = Spool[bytes](bytes, path=path)
    spool.note(4, 3)
    path.unlink()
    assert spool.line(0) == b"two"
    with pytest.raises(IndexError):
        spool.line(1)


def evidence_of(number: int) -> Evidence:
    return Evidence(
        case=Case(id=str(number), question=""),
        prediction=Prediction(case_id=str(number)),
        verdict=Verdict(outcome="correct", reason=""),
    )


@pytest.mark.parametrize("most", [0, 10], ids=["decoded_each_time", "decoded_once"])
def test_lazy_evidence_is_as_good_as_a_tuple(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_lines, "_MOST_DECODED", most)
    decoded: list[int] = []

    def decode(place: int) -> Evidence:
        decoded.append(place)
        return evidence_of(place)

    lazy, plain = LazyEvidence(5, decode), tuple(map(evidence_of, range(5)))
    assert decoded == []
    assert lazy[3] == plain[3]
    assert lazy[-1] == plain[-1]
    assert decoded == [3, 4], "only what was read is decoded"
    assert tuple(lazy) == plain
    assert (lazy[1:4], lazy[::-1], len(lazy)) == (plain[1:4], plain[::-1], 5)
    assert lazy == plain
    assert plain == lazy
    assert lazy != plain[:4]
    assert hash(lazy) == hash(plain)
    assert pickle.loads(pickle.dumps(lazy)) == plain
    with pytest.raises(IndexError):
        lazy[5]
    assert (len(decoded) == 5) == (most == 10), "a small run is decoded once"
