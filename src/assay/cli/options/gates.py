"""The gate options, and the exit status that follows from gates."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Final

import click
from msgspec import Struct

from assay.cli.messages import tell
from assay.cli.options.declared import typed
from assay.cli.parsing.parameters import option
from assay.errors import CaseFileError, InputError, UsageError
from assay.model import GateResult, Gates, RunSettings
from assay.model.runs.gate import HEADLINE
from assay.settings import GateSettings, Settings, place_of

GATE_MISSED: Final = 1
"""The exit status if a gate is missed, whatever else happened."""
UNFINISHED: Final = 3
"""The exit status if the same command would evaluate more cases, and every gate passes."""
_MAX_UNSCORED: Final = "--max-unscored"


class CandidateGateFlags(Struct, frozen=True, kw_only=True):
    """The gates for a run, as typed."""

    minimum: Annotated[list[str] | None, typed(GateSettings, "min")] = None
    min_accuracy: Annotated[
        str | None, option(metavar="VALUE", help="Minimum accuracy: short for --min match=VALUE.")
    ] = None
    max_drop: Annotated[list[str] | None, typed(GateSettings, "max_drop")] = None
    fail_on_regression: Annotated[bool, typed(GateSettings, "fail_on_regression")] = False
    must_pass: Annotated[list[str] | None, typed(GateSettings, "must_pass")] = None
    max_unscored: Annotated[str | None, typed(GateSettings, "max_unscored")] = None


class GateFlags(CandidateGateFlags, frozen=True, kw_only=True):
    """The gates of a verb for one run, with the baseline to compare it with."""

    alpha: Annotated[float | None, typed(GateSettings, "alpha")] = None
    baseline: Annotated[str | None, typed(Settings, "baseline")] = None

    @property
    def any_given(self) -> bool:
        """Whether one was typed, including the baseline and the level."""
        return any(getattr(self, name) not in (None, False) for name in self.__struct_fields__)

    def gathered(
        self, file: GateSettings | None = None, *, run: RunSettings | None = None, metrics: Sequence[str] = ()
    ) -> Gates:
        """The gates of the flags and a settings file. ``run``: the settings of a stored run.

        Raises UsageError.
        """
        return gathered(self, alpha=self.alpha, file=file, run=run, metrics=metrics)


class SelectionGateFlags(GateFlags, frozen=True, kw_only=True):
    """The gates for a run of selections, whose metrics have other names."""

    minimum: Annotated[
        list[str] | None,
        typed(GateSettings, "min", help="Minimum of a metric, e.g. exact_match=80%; repeatable."),
    ] = None
    min_accuracy: Annotated[
        str | None, option(metavar="VALUE", help="Minimum accuracy: short for --min exact_match=VALUE.")
    ] = None
    max_drop: Annotated[
        list[str] | None,
        typed(GateSettings, "max_drop", help="Maximum drop below the baseline, e.g. macro_f1=1%. Can be repeated."),
    ] = None


def gathered(
    flags: CandidateGateFlags,
    *,
    alpha: float | None = None,
    file: GateSettings | None = None,
    alpha_alone: bool = False,
    run: RunSettings | None = None,
    metrics: Sequence[str] = (),
) -> Gates:
    """The gates of flags and a settings file. Per metric a flag takes precedence; selectors are combined.

    Without any gate: ``Gates()``. Raises UsageError for a value that cannot be read or is given twice; ranges,
    metrics and selectors are checked by `assay.api.gates`. ``alpha_alone``: the level may be given without a gate,
    because the verb has another use for it. ``run``: the settings of a stored run, which describe its metrics;
    ``metrics``: those of a run still to be made.
    """
    from assay.runs.aggregate.metric_infos import VERDICT

    file = file or GateSettings()
    of_run = metrics if run is None else run.metrics
    accuracy = next((name for name in VERDICT if name in of_run), VERDICT[0])
    least = [*(flags.minimum or ()), *([] if flags.min_accuracy is None else [f"{accuracy}={flags.min_accuracy}"])]
    where = f"{file.origin}, gates" if file.origin else "gates"
    regression = file.regression_metrics
    if flags.fail_on_regression and not regression:
        regression = (HEADLINE,)
    if not regression and not alpha_alone:
        if alpha is not None:
            raise UsageError("--alpha is the level of --fail-on-regression: add that, or leave the level out")
        if file.alpha is not None:
            raise _alpha_alone(file)
    drops = _from_file(f"{where}, max_drop", file.max_drop, run) | _from_flags(
        "--max-drop", flags.max_drop or (), run, accuracy
    )
    return Gates(
        minimum=tuple(
            {**_from_file(f"{where}, min", file.min, run), **_from_flags("--min", least, run, accuracy)}.items()
        ),
        max_drop=tuple(drops.items()),
        fail_on_regression=regression,
        alpha=alpha if alpha is not None else file.alpha if file.alpha is not None else Gates().alpha,
        must_pass=tuple(dict.fromkeys((*file.selectors, *(flags.must_pass or ())))),
        max_unscored=_share(where, flags.max_unscored, file),
    )


def _alpha_alone(file: GateSettings) -> InputError:
    message = "gates, alpha is the level of fail_on_regression: add that, or leave the level out"
    if file.origin is None:
        return InputError(message)
    place = place_of(Path(file.origin), "gates", "alpha")
    return CaseFileError(message, path=file.origin, place=place)


def _from_file(where: str, values: Mapping[str, float | str] | None, run: RunSettings | None) -> dict[str, float]:
    return {metric: _value(f"{where}, {metric}", metric, value, run) for metric, value in (values or {}).items()}


def _from_flags(option: str, given: Sequence[str], run: RunSettings | None, known: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for text in given:
        metric, equals, value = (part.strip() for part in text.partition("="))
        if not (metric and equals and value):
            raise UsageError(f"{option} {text!r}: write METRIC=VALUE, for example {known}=0.8 or {known}=80%")
        if metric in values:
            raise UsageError(f"{option} {metric} is given twice: {values[metric]:g} and {value}")
        values[metric] = _value(f"{option} {text}", metric, value, run)
    return values


def _share(where: str, typed_share: str | None, file: GateSettings) -> float | None:
    """The largest share of unscored cases: the option takes precedence over the file."""
    given, what = (file.max_unscored, f"{where}, max_unscored") if typed_share is None else (typed_share, _MAX_UNSCORED)
    if given is None:
        return None
    share = _number(f"{what}: invalid share {given!r}: write 0.05 or 5%", given)
    if 0.0 <= share <= 1.0:
        return share
    meant = f": {share:g} percent is {share:g}%" if 1.0 < share <= 100.0 and "%" not in str(given) else ""
    raise UsageError(f"{what}: {given} is not a share from 0 to 1, or from 0% to 100%{meant}")


def _value(where: str, metric: str, given: float | str, run: RunSettings | None) -> float:
    """Read ``0.8`` or ``80%``: both become the float nearest to 0.8, so that 4 of 5 reach it."""
    text = str(given).strip()
    number = text.removesuffix("%").strip()
    from assay.runs.aggregate.metric_infos import info_of

    if number != text and not (info := info_of(metric, run)).is_share:
        ends = "" if info.highest is None else f" goes up to {info.highest:.4g} and"
        raise UsageError(f"{where}: {metric}{ends} is not a percentage: write a number")
    return _number(f"{where}: {given!r} is not a number: write 0.8 or 80%", given)


def _number(invalid: str, given: float | str) -> float:
    """Read ``0.8`` or ``80%``. Raises UsageError with the message ``invalid``."""
    text = str(given).strip()
    number = text.removesuffix("%").strip()
    try:
        value = float(Decimal(number) / 100 if number != text else Decimal(number))
    except (InvalidOperation, OverflowError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(invalid)
    return value


def print_gates(results: Sequence[GateResult]) -> None:
    """Print the table of gates alone, as in the summary of a run. Prints nothing without gates."""
    if results:
        from assay.reports.console.printing import print_table

        print_table(results)


def concluding(results: Sequence[GateResult]) -> list[str]:
    """The line that `exit_for` prints, if any."""
    from assay.reports.blocks.gates import conclusion

    return [conclusion(results)] if results else []


def exit_for(results: Sequence[GateResult], *, unfinished: bool = False) -> None:
    """Print on standard error how many gates passed, and end with the exit status. Call it last.

    Status 1 if a gate is missed, otherwise 3 if ``unfinished``.
    """
    for text in concluding(results):
        # Flushed, so that the line is also last in a log that takes both streams.
        sys.stdout.flush()
        tell(text)
    if not all(result.passed for result in results):
        raise click.exceptions.Exit(GATE_MISSED)
    if unfinished:
        raise click.exceptions.Exit(UNFINISHED)
