"""DataCompyScore: precision, recall or F1 of the rows or columns that two tables share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from math import isnan, nan
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import InputError, UsageError
from assay.model import Failure
from assay.ragas.comparison import Measure, Mode, TableComparison, TableOptions, Tolerance
from assay.ragas.surface import MetricResult, WrongArgument

_MODES: dict[str, Mode] = {"rows": "rows", "row": "rows", "columns": "columns", "column": "columns"}
_CHOICES = {"mode": ("rows", "columns", "row", "column"), "metric": ("precision", "recall", "f1")}
# The failure if a side of a sample is absent, or is not a table.
_SIDES = {
    "reference": (
        Failure(stage="load", kind="no_gold", blame="gold", message="the sample has no reference"),
        Failure(stage="load", kind="unscorable", blame="gold", message="reference: "),
    ),
    "response": (
        Failure(stage="ask", kind="unanswered", blame="system", message="the sample has no response"),
        Failure(stage="read", kind="unreadable_answer", blame="system", message="response: "),
    ),
}


class TableScore(Struct, frozen=True, kw_only=True):
    """A score and the comparison behind it. Without a score ``value`` is None, and ``failure`` says why."""

    value: float | None
    mode: Mode
    metric: Measure
    comparison: TableComparison | None = None
    failure: Failure | None = None

    @property
    def reason(self) -> str:
        """One sentence: the precision and recall, or the failure."""
        if self.failure is not None:
            return self.failure.message
        assert self.comparison is not None
        precision, recall = (self.comparison.score(self.mode, measure) for measure in ("precision", "recall"))
        scores = f"Mode: {self.mode}, Precision: {precision:.4f}, Recall: {recall:.4f}"
        return "; ".join([scores, *self.comparison.cautions()])

    def report(self) -> str:
        """The differences as plain text, or the failure."""
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

    Columns are paired by name in lower case, rows by position or, if given, by `join_columns`.
    Numbers agree within ``abs_tol + rel_tol * |response|``; both tolerances may be given by column, as
    ``{"price": 0.01, "default": 0.0}``. Raises InputError for a text that is not CSV and for tables
    that cannot be compared, UsageError for a value that is not a table.
    """
    from assay.ragas.compare import compare  # importing NumPy takes time
    from assay.ragas.tables import as_table

    options = TableOptions(
        join_columns=_names(join_columns),
        abs_tol=abs_tol,
        rel_tol=rel_tol,
        ignore_case=ignore_case,
        ignore_spaces=ignore_spaces,
        sample_rows=sample_rows,
    )
    return compare(as_table(reference), as_table(response), options)


def _names(join_columns: str | Iterable[str] | None) -> tuple[str, ...]:
    if join_columns is None:
        return ()
    names = (join_columns,) if isinstance(join_columns, str) else tuple(join_columns)
    if not names:
        raise UsageError("join_columns is empty: name the columns that pair the rows, or omit it")
    return names


class DataCompyScore:
    """ragas' metric of that name: compares the response's table with the reference's, without pandas or datacompy.

    rows: paired rows that agree in all shared columns, over the response's rows (precision) or the
    reference's (recall). columns: shared columns without a difference, over the response's or the
    reference's columns. From 0 to 1; higher is better. Attributes may be set, and are checked then.
    """

    __slots__ = ("metric", "mode", "name", *TableOptions.__struct_fields__)

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
        sample_rows: int = 10,
    ) -> None:
        """``sample_rows``: the number of differences that `detail` stores per column, and of unpaired rows per side."""
        self.mode = mode
        self.metric = metric
        self.name = name
        self.join_columns = join_columns
        self.abs_tol = abs_tol
        self.rel_tol = rel_tol
        self.ignore_case = ignore_case
        self.ignore_spaces = ignore_spaces
        self.sample_rows = sample_rows

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _CHOICES and value not in _CHOICES[name]:
            raise WrongArgument(f"{name} is {value!r}: use one of {', '.join(map(repr, _CHOICES[name]))}")
        super().__setattr__(name, (_names(value) or None) if name == "join_columns" else value)

    async def single_turn_ascore(self, sample: Any, callbacks: Any = None, timeout: float | None = None) -> float:  # noqa: ARG002 (ragas' signature)
        """The score of one sample; NaN if there is none (`detail` says why). Does not block the event loop."""
        return await asyncio.wait_for(asyncio.to_thread(self.single_turn_score, sample), timeout)

    def single_turn_score(self, sample: Any, callbacks: Any = None) -> float:  # noqa: ARG002 (ragas' signature)
        """The score of one sample; NaN if there is none: `detail` says why."""
        return self.batch_score([sample])[0].value

    async def ascore(self, reference: Any, response: Any) -> MetricResult:
        """``value`` and ``reason`` of one pair, as ragas' newer metrics give them. Does not block the event loop."""
        return await asyncio.to_thread(self.score, reference, response)

    def score(self, reference: Any, response: Any) -> MetricResult:
        """As `ascore`, without awaiting; also from within a running event loop."""
        return self.batch_score([{"reference": reference, "response": response}])[0]

    async def abatch_score(self, inputs: Iterable[Any]) -> list[MetricResult]:
        """The scores of many inputs, in their order: mappings with ``reference`` and ``response``, or samples."""
        return await asyncio.to_thread(self.batch_score, inputs)

    async def batch_ascore(self, samples: Iterable[Any]) -> list[MetricResult]:
        """Another name of `abatch_score`."""
        return await self.abatch_score(samples)

    def batch_score(self, inputs: Iterable[Any]) -> list[MetricResult]:
        """As `abatch_score`, for callers that do not await. Each is a number; NaN if there is none."""
        scores = map(self.detail, inputs)
        return [MetricResult(nan if score.value is None else score.value, score.reason) for score in scores]

    def detail(self, sample: Any) -> TableScore:
        """The score of one sample with the comparison behind it, or with the failure that prevented it.

        A sample is anything with the attributes ``response`` and ``reference``, or a mapping with these keys.
        """
        from assay.ragas.tables import as_table

        score = TableScore(value=None, mode=_MODES[self.mode], metric=self.metric)
        tables = []
        for side, (absent, unreadable) in _SIDES.items():
            source = _attribute(sample, side)
            if source is None or (isinstance(source, float) and isnan(source)):  # data frames give NaN
                return replace(score, failure=absent)
            try:
                tables.append(as_table(source))
            except (InputError, UsageError) as error:
                return replace(score, failure=replace(unreadable, message=f"{unreadable.message}{error}"))
        try:
            comparison = compare_tables(
                *tables, **{name: getattr(self, name) for name in TableOptions.__struct_fields__}
            )
        except InputError as error:
            failure = Failure(stage="compare", kind="unscorable", blame="setup", message=f"the tables: {error}")
            return replace(score, failure=failure)
        return replace(score, value=comparison.score(score.mode, score.metric), comparison=comparison)


def _attribute(sample: Any, name: str) -> Any:
    if isinstance(sample, Mapping):
        return sample.get(name)
    try:
        return getattr(sample, name)
    except AttributeError as error:
        raise UsageError(
            f"a sample needs the attributes response and reference, but this {type(sample).__name__} has no {name}"
        ) from error
