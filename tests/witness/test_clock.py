"""When the time of a pair is up."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from assay.witness import clock


@dataclass
class _Time:
    """Both clocks, as a test sets them."""

    wall: float = 0.0
    thread: float = 0.0

    def monotonic(self) -> float:
        return self.wall

    def thread_time(self) -> float:
        return self.thread


def test_computing_counts_and_waiting_ends_it_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time that others took is not the pair's; an engine that computes in threads of its own still comes to an end."""
    time = _Time()
    monkeypatch.setattr(clock, "time", time)
    pair = clock.Clock(2.0)
    time.wall, time.thread = 5.0, 1.0
    assert not pair.is_over
    time.wall, time.thread = 6.5, 2.0
    assert pair.is_over
    waiting = clock.Clock(2.0)
    time.wall += 19.0
    assert not waiting.is_over
    time.wall += 1.0
    assert waiting.is_over
