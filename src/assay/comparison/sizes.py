"""Sizes from which a comparison does less, or does it by numpy. `python -m benchmarks sizes` measures what set them."""

from __future__ import annotations

NEAR_MISS_CELLS = 200_000
"""With more cells than this on both sides together, near misses are not searched: they take most of the time."""
GREEDY_CELLS = 4_000_000
"""With more cells than this, a mismatch is shown by position: guessing which columns correspond needs a count of every
column's values."""
GREEDY_WORK = 20_000_000
"""Cells that are read to guess which columns correspond; the rest are paired by position."""
NUMPY_NUMBERS = 5_000
"""With more different numbers than this, numpy sorts them into clusters. With fewer it need not be loaded."""
NUMPY_CELLS = 4_001
"""From this many cells on, numpy adds up their hashes."""
NUMPY_ROUNDS = 50
"""Rounds of refinement after which numpy does so for fewer cells, too."""
NUMPY_STEPS = 100
"""Steps of a search among tied rows after which it does."""
