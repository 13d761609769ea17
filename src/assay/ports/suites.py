"""Hold an answer against the small databases of its case."""

from __future__ import annotations

from typing import Protocol

from assay.model import Case, ComparisonOptions, Prediction
from assay.model.databases.suite import SuiteFinding


class ChecksSuite(Protocol):
    """Executes the gold query and an answer on the databases that a suite has for the case."""

    def check(self, case: Case, prediction: Prediction, options: ComparisonOptions) -> SuiteFinding:
        """How the answer fares. Never raises for what a query says or does."""
        ...
