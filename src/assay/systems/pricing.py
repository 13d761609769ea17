"""The cost of a system's answers, from its token counts and the prices of tokens."""

from __future__ import annotations

import warnings
from threading import Lock

from assay.model import TokenUsage
from assay.systems.options import SystemOptions


class Pricing:
    """Gives each answer its cost, and warns at the end if prices were given but no cost could be computed."""

    def __init__(self, options: SystemOptions) -> None:
        self._options = options
        self._lock = Lock()
        self._answers = self._with_tokens = self._with_cost = 0

    def cost_usd(self, tokens: TokenUsage | None) -> float | None:
        """The cost of one answer, as `SystemOptions.cost_usd` computes it."""
        cost = self._options.cost_usd(tokens)
        with self._lock:
            self._answers += 1
            self._with_tokens += tokens is not None
            self._with_cost += cost is not None
        return cost

    def close(self) -> None:
        """Warn once about unused prices."""
        with self._lock:
            answers, with_tokens, with_cost = self._answers, self._with_tokens, self._with_cost
            self._answers = 0
        if not self._options.has_prices or not answers or with_cost:
            return
        lacking = "the answer does not have" if answers == 1 else f"none of the {answers:,} answers has"
        path = self._options.tokens_path
        place = "" if path is None else f" at {path!r} (--tokens-path, in Python tokens_path)"
        what = "counts of both input and output tokens" if with_tokens else "token counts"
        warnings.warn(
            f"prices are given, but there is no cost: {lacking} {what}{place}",
            UserWarning,
            stacklevel=2,
        )
