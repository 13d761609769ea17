"""The objects that live as long as the session: the workers that judge, and the count of outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from assay.api.case_worker import CaseChecker

CASE = "assay.case"
OUTCOME = "assay.outcome"
FLAGS = "assay.flags"
DATABASE = "assay.database"
DIFFICULTY = "assay.difficulty"
"""Names of each item's properties, for JUnit files and between the processes of pytest-xdist."""

_CHECKER = pytest.StashKey["CaseChecker"]()


def checker_of(config: pytest.Config) -> CaseChecker:
    """The session's workers. None starts before the first case is judged."""
    known = config.stash.get(_CHECKER, None)
    if known is None:
        from assay.api.case_worker import CaseChecker

        known = config.stash[_CHECKER] = CaseChecker()
        config.add_cleanup(known.close)
    return known


class Tally:
    """Counts cases by outcome. Registered with each session as a plugin of its own."""

    def __init__(self) -> None:
        self._outcomes: dict[str, str | None] = {}
        self._skipped: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test's outcome. Called per phase, under pytest-xdist in the process that writes the summary."""
        if report.skipped:
            self._skipped.add(report.nodeid)
        elif report.when == "teardown":
            said = {name: value for name, value in report.user_properties if name in (CASE, OUTCOME)}
            if CASE in said and report.nodeid not in self._skipped:
                self._outcomes[report.nodeid] = str(said[OUTCOME]) if OUTCOME in said else None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write one line if any case was judged."""
        if self._outcomes:
            terminalreporter.write_line(self.line())

    def line(self) -> str:
        """Such as ``assay: 33 of 36 correct, 91.7 % [78.2, 97.1] · 1 unscored``."""
        from assay.reports.text.plain import interval, percent
        from assay.runs.aggregate.rates import rate_of

        outcomes = list(self._outcomes.values())
        judged = [float(one == "correct") for one in outcomes if one in ("correct", "incorrect")]
        rate = rate_of(judged, binary=True)
        line = f"assay: {sum(map(int, judged)):,} of {len(judged):,} correct"
        if judged:
            line += f", {percent(rate.value)} {interval(rate)}"
        for name, count in (("unscored", outcomes.count("unscored")), ("not judged", outcomes.count(None))):
            line += f" · {count:,} {name}" if count else ""
        return line
