"""Estimate pass@k and pass^k from repeated answers: right in some of ``k`` tries, or in all of them."""

from __future__ import annotations

from math import comb

from assay.errors import UsageError


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The chance that at least one of ``k`` answers is right, if ``c`` of ``n`` were; None if ``n < k``.

    Unbiased: 1 - C(n-c, k) / C(n, k), the share of all choices of ``k`` of the ``n`` answers that contain a right one
    (Chen et al. 2021, arXiv:2107.03374). Raises `UsageError` for impossible counts.
    """
    _check(n, c, k)
    return None if n < k else 1.0 - comb(n - c, k) / comb(n, k)


def pass_all_k(n: int, c: int, k: int) -> float | None:
    """The chance that all of ``k`` answers are right, if ``c`` of ``n`` were; None if ``n < k``.

    Unbiased: C(c, k) / C(n, k), called pass^k (Yao et al. 2024, tau-bench, arXiv:2406.12045). Raises `UsageError` for
    impossible counts.
    """
    _check(n, c, k)
    return None if n < k else comb(c, k) / comb(n, k)


def _check(n: int, c: int, k: int) -> None:
    if k < 1:
        raise UsageError(f"k must be at least 1, got {k!r}")
    if not 0 <= c <= n:
        raise UsageError(f"right answers must lie within 0 and their number, got {c!r} of {n!r}")
