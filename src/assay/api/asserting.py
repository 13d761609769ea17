"""The assertion for tests: two queries give the same answer."""

from __future__ import annotations

from collections.abc import Sequence

from assay.api.single import gather_with_rows
from assay.errors import UnscoredError
from assay.model import ColumnRule, Limits, Verdict
from assay.reports.text.pair import HEAD_ROWS, pair_text


def assert_equivalent(
    predicted: str,
    gold: str | Sequence[str],
    *,
    database: str,
    columns: ColumnRule = "any",
    ordered: bool | None = None,
    limits: Limits | None = None,
) -> Verdict:
    """Assert that a predicted query gives the answer that gold, or one of several golds, gives on a database.

    Checks as `assay.check` does and takes the same arguments. Returns the verdict where the
    prediction is right.

    Raises:
        AssertionError: it is wrong. The message is plain text: the reason in its first line, near
            misses, both queries, the first rows of both results and the aligned difference.
        UnscoredError: it cannot be judged: gold fails, or a cap cut a result. This is not an
            AssertionError, so that a test which expects a wrong answer does not pass by a broken gold.
        InputError: the URL has no engine, or (as DatabaseError) the database cannot be read.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test, and none of these
    evidence, executions = gather_with_rows(
        predicted, gold, database=database, columns=columns, ordered=ordered, limits=limits, head_rows=HEAD_ROWS
    )
    if evidence.outcome == "correct":
        return evidence.verdict
    text = pair_text(evidence, executions)
    if evidence.outcome == "unscored":
        raise UnscoredError(f"cannot be judged, through no fault of the prediction: {text}")
    raise AssertionError(text)
