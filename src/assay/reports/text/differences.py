"""How differences, their intervals and their significance read in every report."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

_TENTH, _HUNDREDTH = Decimal("0.1"), Decimal("0.01")
_DIGITS = range(2, 7)


def points(value: float | None, *, signed: bool = True, share: bool = True) -> str:
    """A difference of shares in percentage points: ``+2.3``, ``-0.04`` where a tenth would hide it, ``0.0``.

    None reads ``n/a``. Without ``signed`` only the size; without ``share`` the difference itself.
    """
    if value is None:
        return "n/a"
    exact = Decimal(f"{value * (100 if share else 1):.12g}")
    shown = exact.quantize(_TENTH, ROUND_HALF_UP)
    if exact and not shown:
        shown = exact.quantize(_HUNDREDTH, ROUND_HALF_UP)
    size = f"{abs(shown):,}"
    if not signed:
        return size
    return f"+{size}" if exact > 0 else f"-{size}" if exact < 0 else size


def points_interval(low: float | None, high: float | None, *, share: bool = True) -> str:
    """``[-9.8, +0.7]``, or nothing without an interval: signed like the difference, candidate minus baseline."""
    return "" if low is None or high is None else f"[{points(low, share=share)}, {points(high, share=share)}]"


def p_text(value: float | None, *, alpha: float) -> str:
    """``0.003``, ``0.27``, ``< 0.001``, never rounded across ``alpha``; nothing for None."""
    if value is None:
        return ""
    if value < 0.001 and alpha > 0.001:
        return "< 0.001"
    for digits in _DIGITS:
        shown = f"{value:.{digits}f}"
        if (digits > 2 or value >= 0.1) and _side(float(shown), alpha) == _side(value, alpha):
            return shown
    return f"{value:.1g}"


def _side(value: float, alpha: float) -> int:
    """-1, 0 or 1: below, at or above ``alpha``."""
    return (value > alpha) - (value < alpha)


def p_said(value: float | None, *, alpha: float) -> str:
    """``p = 0.003``, ``p < 0.001``; nothing for None."""
    shown = p_text(value, alpha=alpha)
    return shown and (f"p {shown}" if shown.startswith("<") else f"p = {shown}")


def some(count: int) -> str:
    """An estimated count of cases, rounded up to two digits: 873 reads ``880``, 12,345 reads ``13,000``."""
    step = 10 ** max(0, len(str(count)) - 2)
    return f"{-(-count // step) * step:,}"
