"""Sizes from which a comparison does less, or does it by numpy.

`python -m benchmarks sizes` measures what set them. The figures here are of 2026-11-29.
"""

from __future__ import annotations

NEAR_MISS_CELLS = 200_000
"""With more cells than this on both sides together, near misses are not searched.

At this size the search takes four times as long as the comparison.
"""
GREEDY_CELLS = 4_000_000
"""With more cells than this, a difference is shown column by column, without guessing which columns correspond.

At this size the comparison and the guess take 7 s.
"""
GREEDY_WORK = 20_000_000
"""Cells that are read to guess which columns correspond; the rest are paired by position."""
NUMPY_NUMBERS = 5_000
"""With more different numbers than this, numpy sorts them into clusters: 0.4 ms in place of 5 ms.

Loading numpy takes 90 ms, which most runs then need not wait for.
"""
NUMPY_CELLS = 4_001
"""From this many cells on, numpy adds up their hashes: 50 rounds take 1.3 ms in place of 30 ms."""
NUMPY_ROUNDS = 50
"""Rounds of refinement after which numpy adds up the hashes of fewer cells, too."""
NUMPY_STEPS = 100
"""Steps of a search among tied rows after which it does."""
