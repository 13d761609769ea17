"""The settings of a run, as a file says them. What is None is left to its default."""

from __future__ import annotations

import math
import re
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from assay.errors import UsageError
from assay.model import FieldNames, Leniency, Limits
from assay.model.gate import HEADLINE

_NAMES = ("case_fields", "prediction_fields")
_MEBIBYTE = 1024 * 1024


class GateSettings(Struct, frozen=True, kw_only=True):
    """What a run must reach, as the file says it (docs/guides/gates.md)."""

    min: dict[str, float | str] | None = None
    """Per metric, a number or a text such as ``80%``."""
    max_drop: dict[str, float | str] | None = None
    fail_on_regression: bool | str | tuple[str, ...] = False
    """True: the headline metric."""
    alpha: float | None = None
    must_pass: str | tuple[str, ...] = ()
    origin: str | None = None
    """The file, for messages; not read from it."""

    @property
    def regression_metrics(self) -> tuple[str, ...]:
        """The metrics, or ``headline`` for the headline metric."""
        if isinstance(self.fail_on_regression, bool):
            return (HEADLINE,) if self.fail_on_regression else ()
        return _several(self.fail_on_regression)

    @property
    def selectors(self) -> tuple[str, ...]:
        """The selectors of ``must_pass`` as a tuple, also where the file has a single one."""
        return _several(self.must_pass)


class LintFileSettings(Struct, frozen=True, kw_only=True):
    """How `assay lint` looks at the question set of the file (docs/guides/lint.md)."""

    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    dialect: str | None = None
    with_run: bool = False
    """Whether `assay run` of the file shows the findings beside its verdicts, as ``--lint`` does."""


class WitnessFileSettings(Struct, frozen=True, kw_only=True):
    """How `assay run` of the file looks for witnesses (docs/guides/strength.md)."""

    time: str | float | None = None
    """For each pair, such as ``2s``."""
    total: str | float | None = None
    """For all pairs together, such as ``10m``."""
    seed: int | None = None
    rows: int | None = None
    scratch: str | None = None
    """The URL of a server on which schemas may be made, to try its queries there."""
    with_run: bool = True
    """False: only where ``--witness`` asks for it."""


_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|m|min|h)?", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, None: 1.0}


def read_duration(given: str | float, *, of: str, from_zero: bool = False) -> float:
    """Seconds from a text such as ``500ms``, ``2s``, ``10m`` or ``1h``; a number alone is seconds.

    Raises UsageError, naming ``of``, for anything else, and for 0 unless ``from_zero``.
    """
    found = _DURATION.fullmatch(str(given).strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found is not None else math.nan
    if not math.isfinite(seconds) or (seconds == 0 and not from_zero):
        least = "from 0 up" if from_zero else "above 0"
        raise UsageError(f"{of} is {given!r}: write a time {least}, such as 500ms, 2s, 10m or 1h")
    return seconds


def _several(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


class RunFileSettings(Struct, frozen=True, kw_only=True):
    """The settings of a run, each None where it is left to its default."""

    cases: str | None = None
    predictions: str | None = None
    system: str | None = None
    headers: tuple[str, ...] | None = None
    """HTTP headers for the system, each ``NAME=VALUE``; ``${NAME}`` is taken from the environment."""
    concurrency: int | None = None
    repeat: int | None = None
    timing_iterations: int | None = None
    timing_budget_s: float | None = None
    db: str | None = None
    gold_db: str | None = None
    """The database of gold's queries, where that is another one."""
    output: str | None = None
    metrics: tuple[str, ...] | None = None
    limit: int | None = None
    columns: str | None = None
    relative_tolerance: float | None = None
    absolute_tolerance: float | None = None
    extra_columns: str | None = None
    duplicates: str | None = None
    case: str | None = None
    shape: str | None = None
    tolerance: float | None = None
    penalties: tuple[float, ...] | None = None
    """Of the reliability score, the gates' first."""
    timeout_s: float | None = None
    gold_timeout_s: float | None = None
    comparison_timeout_s: float | None = None
    max_rows: int | None = None
    max_memory_mib: int | None = None
    cache: str | None = None
    """Folder of the executions that runs share."""
    cache_size_mib: int | None = None
    suite: str | None = None
    """Folder of a suite on whose small databases answers are tried too."""
    workers: int | None = None
    backend: str | None = None
    name: str | None = None
    tags: tuple[str, ...] | None = None
    allow_unmatched: bool | None = None
    ignore_questions: bool | None = None
    extract: bool | None = None
    """False: do not extract the query from a prediction with words besides it."""
    case_format: str | None = None
    prediction_format: str | None = None
    case_fields: FieldNames = field(default_factory=FieldNames)
    prediction_fields: FieldNames = field(default_factory=FieldNames)
    gates: GateSettings | None = None
    baseline: str | None = None
    """Folder of the finished run that gates compare with."""
    lint: LintFileSettings | None = None
    witness: bool | WitnessFileSettings | None = None

    def overlaid(self, other: RunFileSettings) -> RunFileSettings:
        """These settings, overridden by those that ``other`` gives, except its ``cases``."""
        given = {
            name: value
            for name in self.__struct_fields__
            if name not in ("cases", *_NAMES) and (value := getattr(other, name)) is not None
        }
        # Name by name: a flag that names one column keeps the other names of the file.
        return replace(
            self,
            case_fields=_overlaid(self.case_fields, other.case_fields),
            prediction_fields=_overlaid(self.prediction_fields, other.prediction_fields),
            **given,
        )

    def tolerances(self) -> dict[str, float]:
        """The tolerances of numbers that are given, by their names as arguments."""
        given = {"relative_tolerance": self.relative_tolerance, "absolute_tolerance": self.absolute_tolerance}
        return {name: value for name, value in given.items() if value is not None}

    def cache_bytes(self) -> int | None:
        """The bound of the cache; None: the default."""
        return None if self.cache_size_mib is None else self.cache_size_mib * _MEBIBYTE

    def leniency(self) -> Leniency:
        """What does not count as a mistake. Raises UsageError for an unknown word."""
        declared: dict[str, Any] = {
            name: getattr(self, name) for name in ("extra_columns", "duplicates", "case", "shape", "tolerance")
        }
        return Leniency(**declared)

    def limits(self) -> Limits:
        """The caps for every query, the default ones where none are given."""
        default = Limits()
        memory = self.max_memory_mib
        comparing = default.comparison_timeout_s if self.comparison_timeout_s is None else self.comparison_timeout_s
        return Limits(
            timeout_s=default.timeout_s if self.timeout_s is None else self.timeout_s,
            max_rows=default.max_rows if self.max_rows is None else self.max_rows,
            max_memory_bytes=default.max_memory_bytes if memory is None else memory * _MEBIBYTE,
            gold_timeout_s=self.gold_timeout_s,
            comparison_timeout_s=comparing,
        )


def _overlaid(names: FieldNames, other: FieldNames) -> FieldNames:
    return replace(
        names, **{name: value for name in names.__struct_fields__ if (value := getattr(other, name)) is not None}
    )
