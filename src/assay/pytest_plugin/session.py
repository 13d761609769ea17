"""The objects that live as long as the session: the workers that judge, and the count of outcomes."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Counts cases by outcome, and holds the whole set to what is demanded of it.

    Registered with each session as a plugin of its own.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._outcomes: dict[str, str | None] = {}
        self._ids: dict[str, str] = {}
        """Ids of cases by node id."""
        self._skipped: set[str] = set()
        self._selected = any("::" in str(argument) for argument in config.invocation_params.args)
        """Whether only some cases were asked for: nothing can then be said of the whole set."""
        self._said: list[str] = []

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note that cases were left out, by -k, -m or --lf."""
        self._selected = self._selected or any(item.get_closest_marker("assay") for item in items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test's outcome. Called per phase, under pytest-xdist in the process that writes the summary."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self._skipped.add(report.nodeid)
        elif report.when == "teardown":
            said = {name: value for name, value in report.user_properties if name in (CASE, OUTCOME)}
            if CASE in said and report.nodeid not in self._skipped:
                self._outcomes[report.nodeid] = str(said[OUTCOME]) if OUTCOME in said else None
                self._ids[report.nodeid] = str(said[CASE])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session where the share of right answers is too low, and write the known failures anew."""
        if not self._outcomes or hasattr(self._config, "workerinput"):
            return
        from assay.pytest_plugin.expected import MIN, expected_of, write_known

        expected = expected_of(self._config)
        complete = not self._selected and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if expected.least is not None and not complete:
            self._said.append(f"assay: not all cases were judged, so that {MIN} says nothing")
        elif expected.least is not None and not self._reaches(expected.least):
            self._said.append(f"assay: below {MIN} = {100 * expected.least:g} %")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        wrong = sorted({self._ids[node] for node, one in self._outcomes.items() if one == "incorrect"})
        mended = sorted(
            self._ids[node]
            for node, one in self._outcomes.items()
            if one == "correct" and expected.knows(self._ids[node], node)
        )
        if expected.file is not None and complete:
            write_known(expected.file, wrong)
            self._said.append(f"assay: {len(wrong):,} known failures written to {expected.file}")
        elif mended:
            more = f" and {len(mended) - 10:,} more" if len(mended) > 10 else ""
            self._said.append(f"assay: known to be wrong, and right now: {', '.join(mended[:10])}{more}")

    def _reaches(self, least: float) -> bool:
        judged = [one == "correct" for one in self._outcomes.values() if one in ("correct", "incorrect")]
        return bool(judged) and sum(judged) / len(judged) >= least

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write one line if any case was judged, and one for each demand that has something to say."""
        if self._outcomes:
            from assay.reports.text.plain import visible

            for line in (self.line(), *self._said):
                terminalreporter.write_line(visible(line))

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
