"""What several answers to the same question come to."""

from __future__ import annotations

from math import comb

from assay.errors import UsageError


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that at least one of ``k`` answers is right, ``c`` of the ``n`` that were given being so.

    The unbiased estimator of Chen et al. 2021 (Evaluating Large Language Models Trained on Code):
    1 - C(n-c, k) / C(n, k), drawn without replacement, in whole numbers until the last division.
    Raises `UsageError` unless 0 <= c <= n and 1 <= k <= n.
    """
    _check(n, c, k)
    every = comb(n, k)
    return (every - comb(n - c, k)) / every


def pass_all_k(n: int, c: int, k: int) -> float:
    """The chance that all of ``k`` answers are right (pass^k), ``c`` of the ``n`` that were given being so.

    C(c, k) / C(n, k), the unbiased estimator of Yao et al. 2024 (tau-bench). Raises as `pass_at_k` does.
    """
    _check(n, c, k)
    return comb(c, k) / comb(n, k)


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise UsageError(f"of n answers c are right and k are drawn, 0 <= c <= n and 1 <= k <= n: got {n}, {c}, {k}")
