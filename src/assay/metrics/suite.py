"""Is an answer right on the small databases of a suite, too?"""

from __future__ import annotations

from typing import ClassVar

from assay.metrics.base import unscorable, unscored
from assay.metrics.match import Match
from assay.model import Case, Comparison, Prediction, Score
from assay.model.databases.suite import SuiteFinding
from assay.ports import Executions


class SuiteMatch(Match):
    """`match`, and the gold query's result on every database that the run's suite has for the case.

    None as for `match`, and if the suite has no database for the case: whatever the answer is.
    """

    name: ClassVar[str] = "suite_match"
    heading: ClassVar[str] = "Match on the suite"
    meaning: ClassVar[str] = "a match, and the gold query's result on every database of the suite (--suite)"
    binary: ClassVar[bool] = True

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """1 if the answer matches and no database of the suite distinguishes it from the gold query."""
        finding = executions.suite
        if finding is None:
            return unscored(self.name, unscorable("setup", "the run has no suite: name one with --suite"))
        if finding.problem:
            return unscored(self.name, unscorable("setup", finding.problem))
        matched = super().score(case, prediction, executions, comparison)
        if matched.value is None:
            return matched
        value = 1.0 if matched.value == 1.0 and finding.agreed == finding.databases else 0.0
        return Score(metric=self.name, value=value, detail=said(finding))


def said(finding: SuiteFinding) -> str:
    """The result of the suite, in a sentence, with the database that shows it."""
    count = f"agrees on {finding.agreed} of {finding.databases} suite databases"
    if not finding.parted_by:
        return f"{count}: {finding.difference}" if finding.difference else count
    names = ", ".join(finding.parted_by)
    by = f"{'database' if len(finding.parted_by) == 1 else 'databases'} {names} of the case"
    shown = f", on {'; '.join(finding.witness)}" if finding.witness else ""
    return f"{count}; distinguished by {by}: {finding.difference}{shown}"
