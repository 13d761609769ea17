"""DataCompyScore: precision, recall or F1 of the rows or columns that two tables share."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from assay.errors import InputError, UsageError
from assay.model import Failure
from assay.ragas.result import MetricResult, WrongArgument
from assay.ragas.tables.compare import compare_tables as _compare
from assay.ragas.tables.frames import as_table
from assay.ragas.tables.result import Measure, Mode, TableComparison
from assay.ragas.tables.table import TableOptions, Tolerance

_MODES: dict[str, Mode] = {"rows": "rows", "row": "rows", "columns": "columns", "column": "columns"}
_MEASURES: dict[str, Measure] = {"precision": "precision", "recall": "recall", "f1": "f1"}


class TableScore(Struct, frozen=True, kw_only=True):
    """A score and the comparison behind it. Without a score ``value`` is None, and ``failure`` says why."""

    value: float | None
    mode: Mode
    metric: Measure
    comparison: TableComparison | None = None
    failure: Failure | None = None

    @property
    def reason(self) -> str:
        """One sentence: the precision and recall, or what went wrong."""
        if self.failure is not None:
            return self.failure.message
        assert self.comparison is not None
        precision, recall = (self.comparison.score(self.mode, measure) for measure in ("precision", "recall"))
        said = f"Mode: {self.mode}, Precision: {precision:.4f}, Recall: {recall:.4f}"
        return "; ".join([said, *self.comparison.cautions()])

    def report(self) -> str:
        """The differences as plain text, or what went wrong."""
        return self.comparison.report() if self.comparison is not None else self.reason + "\n"


def compare_tables(
    reference: Any,
    response: Any,
    *,
    join_columns: str | Iterable[str] | None = None,
    abs_tol: Tolerance = 0.0,
    rel_tol: Tolerance = 0.0,
    ignore_case: bool = False,
    ignore_spaces: bool = False,
    sample_rows: int = 10,
) -> TableComparison:
    """Compare two tables: CSV texts, data frames, lists of dicts. `report()` of the result is text for people.

    Columns are paired by name in lower case, rows by position or, where given, by `join_columns`.
    Numbers agree within ``abs_tol + rel_tol * |response|``; both tolerances may be given by column, as
    ``{"price": 0.01, "default": 0.0}``. Raises InputError for a text that is not CSV and for tables
    that cannot be compared, UsageError for a value that is not a table.
    """
    options = TableOptions(
        join_columns=_names(join_columns),
        abs_tol=abs_tol,
        rel_tol=rel_tol,
        ignore_case=ignore_case,
        ignore_spaces=ignore_spaces,
        sample_rows=sample_rows,
    )
    return _compare(as_table(reference), as_table(response), options)


def _names(join_columns: str | Iterable[str] | None) -> tuple[str, ...]:
    if join_columns is None:
        return ()
    names = (join_columns,) if isinstance(join_columns, str) else tuple(join_columns)
    if not names:
        raise UsageError("join_columns is empty: name the columns that pair the rows, or leave it out")
    return names


class DataCompyScore:
    """ragas' metric of that name: compares the response's table with the reference's, without pandas or datacompy.

    rows: paired rows that agree in all shared columns, over the response's rows (precision) or the
    reference's (recall). columns: shared columns without a difference, over the response's or the
    reference's columns. From 0 to 1; higher is better. Attributes may be set, and are checked then.
    """

    __slots__ = ("abs_tol", "ignore_case", "ignore_spaces", "join_columns", "metric", "mode", "name", "rel_tol")

    def __init__(
        self,
        mode: Literal["rows", "columns", "row", "column"] = "rows",
        metric: Measure = "f1",
        name: str = "data_compare_score",
        *,
        join_columns: str | Iterable[str] | None = None,
        abs_tol: Tolerance = 0.0,
        rel_tol: Tolerance = 0.0,
        ignore_case: bool = False,
        ignore_spaces: bool = False,
    ) -> None:
        self.mode = mode
        self.metric = metric
        self.name = name
        self.join_columns = join_columns
        self.abs_tol = abs_tol
        self.rel_tol = rel_tol
        self.ignore_case = ignore_case
        self.ignore_spaces = ignore_spaces

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "mode" and (not isinstance(value, str) or value not in _MODES):
            raise WrongArgument(f"mode is {value!r}: one of 'rows' and 'columns'")
        if name == "metric" and (not isinstance(value, str) or value not in _MEASURES):
            raise WrongArgument(f"metric is {value!r}: one of 'precision', 'recall' and 'f1'")
        if name == "join_columns":
            value = _names(value) or None
        object.__setattr__(self, name, value)

    async def single_turn_ascore(self, sample: Any, callbacks: Any = None, timeout: float | None = None) -> float:  # noqa: ARG002 (ragas' signature)
        """The score of one sample; NaN where there is none (`detail` says why). Does not block the event loop."""
        return await asyncio.wait_for(asyncio.to_thread(self.single_turn_score, sample), timeout)

    def single_turn_score(self, sample: Any, callbacks: Any = None) -> float:  # noqa: ARG002 (ragas' signature)
        """The score of one sample; NaN where there is none: `detail` says why."""
        return self._result(sample).value

    async def ascore(self, reference: Any, response: Any) -> MetricResult:
        """``value`` and ``reason`` of one pair, as ragas' newer metrics give them. Does not block the event loop."""
        return await asyncio.to_thread(self.score, reference, response)

    def score(self, reference: Any, response: Any) -> MetricResult:
        """As `ascore`, without awaiting; from within a running event loop too."""
        return self._result({"reference": reference, "response": response})

    async def abatch_score(self, inputs: Iterable[Any]) -> list[MetricResult]:
        """The scores of many inputs, in their order: mappings with ``reference`` and ``response``, or samples."""
        return await asyncio.to_thread(self.batch_score, inputs)

    def batch_score(self, inputs: Iterable[Any]) -> list[MetricResult]:
        """As `abatch_score`, for callers that do not await. Each is a number; NaN where there is none."""
        return [self._result(sample) for sample in inputs]

    async def batch_ascore(self, samples: Iterable[Any]) -> list[MetricResult]:
        """Another name of `abatch_score`."""
        return await self.abatch_score(samples)

    def _result(self, sample: Any) -> MetricResult:
        detail = self.detail(sample)
        return MetricResult(math.nan if detail.value is None else detail.value, detail.reason)

    def detail(self, sample: Any) -> TableScore:
        """The score of one sample with the comparison behind it, or with the failure that left it without one.

        A sample is anything with the attributes ``response`` and ``reference``, or a mapping with these keys.
        """
        mode, metric = _MODES[self.mode], _MEASURES[self.metric]
        try:
            comparison = self._comparison(sample)
        except _Unusable as trouble:
            return TableScore(value=None, mode=mode, metric=metric, failure=trouble.failure)
        return TableScore(value=comparison.score(mode, metric), mode=mode, metric=metric, comparison=comparison)

    def _comparison(self, sample: Any) -> TableComparison:
        reference, response = (_attribute(sample, name) for name in ("reference", "response"))
        if _nothing(reference):
            raise _Unusable(Failure(stage="load", kind="no_gold", blame="gold", message="the sample has no reference"))
        if _nothing(response):
            raise _Unusable(
                Failure(stage="ask", kind="unanswered", blame="system", message="the sample has no response")
            )
        try:
            wanted = as_table(reference)
        except (InputError, UsageError) as error:
            raise _Unusable(
                Failure(stage="load", kind="unscorable", blame="gold", message=f"reference: {error}")
            ) from error
        try:
            given = as_table(response)
        except (InputError, UsageError) as error:
            raise _Unusable(
                Failure(stage="read", kind="unreadable_answer", blame="system", message=f"response: {error}")
            ) from error
        try:
            return compare_tables(
                wanted,
                given,
                join_columns=self.join_columns,
                abs_tol=self.abs_tol,
                rel_tol=self.rel_tol,
                ignore_case=self.ignore_case,
                ignore_spaces=self.ignore_spaces,
            )
        except InputError as error:
            raise _Unusable(
                Failure(stage="compare", kind="unscorable", blame="setup", message=f"the tables: {error}")
            ) from error


class _Unusable(Exception):
    """One sample cannot be scored."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure)


def _nothing(table: Any) -> bool:
    """Whether a table is absent; data frames give NaN for an absent text."""
    return table is None or (isinstance(table, float) and math.isnan(table))


def _attribute(sample: Any, name: str) -> Any:
    if isinstance(sample, Mapping):
        return sample.get(name)
    try:
        return getattr(sample, name)
    except AttributeError as error:
        raise UsageError(
            f"a sample has the attributes response and reference, and this {type(sample).__name__} has no {name}"
        ) from error
