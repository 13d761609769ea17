"""A report: one line of CSV for each case."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from assay.model import Run

_MANY = 1000


class CsvReporter:
    """One line for each answer, for a spreadsheet: what came of it, why, and every metric."""

    name = "csv"
    suffix = ".csv"

    def render(self, run: Run) -> bytes:
        """The whole file."""
        return b"".join(self.pieces(run))

    def pieces(self, run: Run) -> Iterator[bytes]:
        """The file in pieces: a long run is never in memory as a whole. A report may do without this method."""
        text = io.StringIO()
        writer = csv.writer(text)
        metrics = run.settings.metrics
        writer.writerow(["case", "database", "question", "outcome", "cause", "reason", *metrics])
        for number, item in enumerate(run.evidence, 1):
            verdict = item.verdict
            told = (item.case.id, item.case.database, item.case.question, verdict.outcome, item.cause, verdict.reason)
            scores = [score.value if (score := item.score(metric)) else None for metric in metrics]
            writer.writerow([*map(_plain, told), *scores])
            if number % _MANY == 0:
                yield _taken(text)
        yield _taken(text)


def _plain(text: str | None) -> str | None:
    """A spreadsheet runs what begins like a formula, and these texts come from a model."""
    return f"'{text}" if text and text[0] in "=+-@\t\r" else text


def _taken(text: io.StringIO) -> bytes:
    """What was written so far. A lone surrogate, which no file can hold, becomes an escape."""
    piece = text.getvalue().encode("utf-8", "backslashreplace")
    text.seek(0)
    text.truncate()
    return piece
