"""Watch the first cases of a run for a database in which no query succeeds."""

from __future__ import annotations

import warnings
from collections import Counter

from msgspec import Struct, field

from assay.model import CaseSummary

_CASES = 3
_FAILED = frozenset({"error", "unreadable_database"})


class FirstCases(Struct, kw_only=True):
    """Warns once if every query of the first cases failed in the database, before the run goes on.

    Each of these cases needs a gold query that was executed. Gold queries are mostly right, so that the database or the
    connection to it is the likely cause.
    """

    _messages: Counter[str] = field(default_factory=Counter)
    _cases: int = 0
    _is_over: bool = False

    def take(self, case: CaseSummary) -> None:
        """Look at a case that has just been scored."""
        if self._is_over or not case.golds:
            return
        failures = [execution.failure for execution in case.executions]
        if any(failure is None or failure.kind not in _FAILED for failure in failures):
            self._is_over = True
            return
        self._cases += 1
        self._messages.update(failure.message for failure in failures if failure is not None)
        if self._cases == _CASES:
            self._is_over = True
            ((message, _),) = self._messages.most_common(1)
            warnings.warn(
                f"every query of the first {_CASES} cases failed, gold queries included ({message}): is this the right "
                "database, and is it available? The run goes on; Ctrl-C ends it",
                UserWarning,
                stacklevel=2,
            )
