"""Numbers as the results of gates show them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from assay.errors import plural
from assay.model import MetricDiff, MetricInfo, Rate, Run

_MOST_PLACES = 6


def reading(metric: MetricInfo, rate: Rate, run: Run, *, apart_from: float | None = None) -> str:
    """``76.2 % [73.5, 78.7], 788 of 1,034, 3 unscored``. ``apart_from``: a value that it must not look equal to."""
    value = rate.value or 0.0
    text = number(metric, value, places=decimals(metric, value, apart_from)) + (" %" if metric.is_share else "")
    between = (
        "" if rate.low is None or rate.high is None else f" [{number(metric, rate.low)}, {number(metric, rate.high)}]"
    )
    # Means of several answers may add up to a whole number, which then is not a count.
    whole = float(rate.numerator).is_integer() and metric.is_share and run.settings.repeats == 1
    over = f"{rate.numerator:,.0f} of {rate.n:,}" if whole else f"mean of {rate.n:,}"
    return f"{text}{between}, {over}" + (f", {rate.unscored:,} unscored" if rate.unscored else "")


def change(metric: MetricInfo, found: MetricDiff, *, apart_from: float | None = None) -> str:
    """``74.7 %, baseline 76.2 %: -1.5 points [-3.1, +0.1], 1,030 cases, 4 gained, 19 lost``."""
    difference = found.difference or 0.0
    unit = " %" if metric.is_share else ""
    places = decimals(metric, difference, apart_from)
    text = f"{number(metric, found.candidate or 0.0)}{unit}, baseline {number(metric, found.baseline or 0.0)}{unit}: "
    text += f"{number(metric, difference, places=places, sign=True)}" + (" points" if unit else "")
    if found.low is not None and found.high is not None:
        text += f" [{number(metric, found.low, sign=True)}, {number(metric, found.high, sign=True)}]"
        text += f" by {plural(found.clusters, 'database')}" if found.clusters else ""
    text += f", {plural(found.n, 'case')}, {found.gained:,} gained, {found.lost:,} lost"
    return text + (f", {found.unscored:,} unscored" if found.unscored else "")


def decimals(metric: MetricInfo, value: float, other: float | None) -> int:
    """How many decimals show that the two values differ; one if there is no other value."""
    if other is None:
        return 1
    told = (n for n in range(1, _MOST_PLACES) if number(metric, value, places=n) != number(metric, other, places=n))
    return next(told, _MOST_PLACES)


def number(metric: MetricInfo, value: float, *, places: int = 1, sign: bool = False) -> str:
    """A value without its unit, a share times 100. Halves are rounded up; only 1 shows as 100.0, as in all reports."""
    shown = Decimal(f"{value * (100 if metric.is_share else 1):.12g}")
    text = str(shown.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))
    if metric.is_share and places == 1 and text == "100.0" and value < 1.0:
        text = "99.9"
    if not text.strip("-0."):
        text = text.lstrip("-")
    return f"+{text}" if sign and value > 0 and text.strip("0.") else text


def in_full(metric: MetricInfo, value: float) -> str:
    """The gate's value with all of its digits: ``80.0 %``, ``81.25 %``."""
    share = metric.is_share
    text = format(Decimal(f"{value * (100 if share else 1):.10g}"), "f")
    return (text if "." in text else f"{text}.0") + (" %" if share else "")


def size(metric: MetricInfo, value: float, *, exact: bool = False) -> str:
    """A distance, ``3.8 points`` between percentages, with enough digits that only 0 shows as 0."""
    places = next((n for n in range(1, _MOST_PLACES) if number(metric, value, places=n).strip("0.")), 1)
    text = in_full(metric, value).removesuffix(" %") if exact else number(metric, value, places=places)
    return f"{text} points" if metric.is_share else text


def p_value(value: float, *, sign: bool = False) -> str:
    """A p-value with two digits; ``sign`` puts ``=`` in front of it."""
    if value < 0.0001:
        return "< 0.0001"
    return ("= " if sign else "") + f"{value:.2g}"
