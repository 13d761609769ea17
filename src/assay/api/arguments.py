"""Check what a caller asks of an evaluation, before anything is read or started."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Final, get_args

from assay import registry
from assay.errors import UsageError
from assay.model import ColumnRule, Limits, MetricInfo
from assay.model.witness import AFTER_WITNESSES, MOST_ROWS, WitnessSettings
from assay.platform.surface import argument, flag, on_command_line
from assay.ports import Metric
from assay.runs.store.results_table import REPEAT_COLUMN, RESULT_COLUMNS
from assay.settings import Settings
from assay.settings.setting import KINDS, fault_of_path, fields_of, is_of


def check_limits(limits: Limits) -> None:
    """Raise UsageError for caps under which no query can run."""
    check_values({name: getattr(limits, name) for name in _LIMITS})
    for name in ("max_memory_bytes", "max_result_bytes"):
        size = getattr(limits, name)
        if not is_of(size, int) or size < 1:
            raise UsageError(f"{name} is {size!r}: give a whole number of bytes from 1 up")


def check_output(output: object) -> None:
    """Raise UsageError for a run's folder that is called like a report."""
    suffix = PurePath(output).suffix.lower() if isinstance(output, str | os.PathLike) else ""
    if suffix not in _REPORTS or Path(str(output)).is_dir():
        return
    kind = _REPORTS[suffix]
    write = f"--{kind} {output}" if on_command_line() else f"run.report({str(output)!r})"
    raise UsageError(
        f"{argument('--output')} is {str(output)!r}, and names the folder of a run: for a report write  {write}"
    )


_REPORTS: Final = {".html": "html", ".htm": "html", ".xlsx": "xlsx", ".md": "md", ".json": "json", ".xml": "junit"}


def check_values(given: Mapping[str, object]) -> None:
    """Raise UsageError for a value that no setting of this name can have. None is left to its default."""
    for name, value in given.items():
        field = fields_of(Settings)[_SETTINGS.get(name, name)]
        setting = field.setting
        if name == "output":
            check_output(value)
        if value is None or setting is None:
            continue
        if setting.is_path:
            fault = fault_of_path(os.fspath(value)) if isinstance(value, str | os.PathLike) else "is not a path"
            if fault is not None:
                raise UsageError(f"{name} is {value!r}, which {fault}: give a path")
            continue
        if not any(is_of(value, kind) for kind in field.kinds):
            raise UsageError(f"{name} is {value!r}: give {KINDS[field.kinds[0]]}")
        if setting.words and value not in setting.words:
            raise UsageError(f"{name} is {value!r}: write {' or '.join(map(repr, setting.words))}")
        if isinstance(value, int | float) and not setting.has(value):
            raise UsageError(f"{name} is {value!r}: give {KINDS[field.kinds[0]]} {setting.reach}")


_SETTINGS: Final = {"repeats": "repeat", "timing_extra_s": "timing_budget_s"}
"""Arguments that are a setting of another name, or have its values."""
_LIMITS: Final = ("timeout_s", "gold_timeout_s", "comparison_timeout_s", "max_rows", "max_bytes_billed")


def metrics_asked_for(metrics: Sequence[str | Metric] | None) -> Sequence[str | Metric]:
    """The metrics of a run, by name or as objects; the built-in ones unless some are named. Raises UsageError."""
    if metrics is None:
        return registry.default_metrics()
    if isinstance(metrics, str):
        raise UsageError(f"metrics is the text {metrics!r}: give a list of names, such as [{metrics!r}]")
    if not metrics:
        raise UsageError("metrics is empty: name at least one, or leave it out for the built-in ones")
    named = iter(registry.named_metrics([one for one in metrics if isinstance(one, str)]))
    if "all" in metrics:
        return [*(one for one in metrics if not isinstance(one, str)), *dict.fromkeys(named)]
    return metrics


def with_witnesses(asked: Sequence[str | Metric], witness: WitnessSettings | None) -> Sequence[str | Metric]:
    """The metrics; the one that counts refuted matches as wrong is among them only if witnesses are looked for."""
    if AFTER_WITNESSES in asked and witness is None:
        raise UsageError(
            f"the metric {AFTER_WITNESSES} says what witnesses leave: ask for these, with {flag('--witness')}"
        )
    if witness is None:
        return asked
    return [*(one for one in asked if one != AFTER_WITNESSES), AFTER_WITNESSES]


def witness_settings(asked: bool | WitnessSettings) -> WitnessSettings | None:  # noqa: FBT001 - the caller's own word
    """How to look for witnesses; None: not at all. Raises UsageError for values out of range."""
    if asked is False:
        return None
    found = WitnessSettings() if asked is True else asked
    if not (math.isfinite(found.seconds) and found.seconds > 0):
        raise UsageError(f"the seconds for each pair are {found.seconds!r}: give a positive number")
    if found.total_s is not None and not (math.isfinite(found.total_s) and found.total_s >= 0):
        raise UsageError(f"the seconds for all pairs are {found.total_s!r}: give a number from 0 up")
    if not 0 <= found.max_rows <= MOST_ROWS:
        raise UsageError(f"max_rows is {found.max_rows!r}: give 0 to {MOST_ROWS}")
    return found


def check_names(metrics: Sequence[MetricInfo], repeats: int) -> None:
    """Raise UsageError for names that collide: each metric is a column, and DuckDB ignores case in names."""
    names = [metric.name.casefold() for metric in metrics]
    for metric, name in zip(metrics, names, strict=True):
        if names.count(name) > 1:
            raise UsageError(f"the metric {metric.name!r} is asked for twice")
        if name in RESULT_COLUMNS or (name == REPEAT_COLUMN and repeats > 1):
            raise UsageError(f"the metric {metric.name!r} is called like a column of the results: rename it")


def check_options(columns: str, *, relative_tolerance: float = 0.0, absolute_tolerance: float = 0.0) -> None:
    """Raise UsageError for an unknown column rule or a tolerance out of its range."""
    if columns not in get_args(ColumnRule):
        raise UsageError(f"columns is {columns!r}: write 'any' or 'strict'")
    if not 0 <= relative_tolerance < 1:
        raise UsageError(f"relative_tolerance is {relative_tolerance!r}: give a number from 0 up, and below 1")
    if not 0 <= absolute_tolerance < math.inf:
        raise UsageError(f"absolute_tolerance is {absolute_tolerance!r}: give a number from 0 up")


def checked_penalties(penalties: Sequence[float]) -> tuple[float, ...]:
    """The penalties of the reliability score, each once, in order. Raises UsageError for one below 0."""
    for penalty in penalties:
        if not (math.isfinite(penalty) and penalty >= 0.0):
            raise UsageError(
                f"a penalty is {penalty!r}: give the cost of a wrong answer as a number of at least 0, for example 10"
            )
    return tuple(dict.fromkeys(map(float, penalties)))


def read_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The labels of a run, each once, in order. Raises UsageError for one that is empty."""
    if isinstance(tags, str):
        raise UsageError(f"tags is the text {tags!r}: give a list of labels, such as [{tags!r}]")
    if strange := [tag for tag in tags if not isinstance(tag, str)]:
        raise UsageError(f"a tag is {strange[0]!r}: give texts, such as smoke or model=gpt-4.1")
    cleaned = [tag.strip() for tag in tags]
    if "" in cleaned:
        raise UsageError("a tag is empty: give it a name, such as smoke or model=gpt-4.1")
    return tuple(dict.fromkeys(cleaned))
