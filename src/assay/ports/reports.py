"""What draws a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

from assay.model import Run


class Reporter(Protocol):
    """Draws a run's numbers in one format. It computes nothing of its own."""

    name: str
    suffix: str

    def render(self, run: Run) -> bytes:
        """The whole report."""
        ...


@runtime_checkable
class StreamingReporter(Reporter, Protocol):
    """A reporter that makes its report piece by piece, so that even a hundred thousand cases fit into memory."""

    def pieces(self, run: Run) -> Iterator[bytes]:
        """The whole report, cut anywhere."""
        ...


@runtime_checkable
class CountingReporter(StreamingReporter, Protocol):
    """A reporter that also says how far it is: drawing ten thousand cases takes seconds."""

    def counted_pieces(self, run: Run, drawn: Callable[[int], None]) -> Iterator[bytes]:
        """As `pieces`; ``drawn`` is called now and then with how many of the run's cases are drawn."""
        ...
