"""The objects that live as long as the session: the workers, and the count of outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

from assay.errors import plural

if TYPE_CHECKING:
    from assay.api.single import CaseChecker
    from assay.pytest_plugin.expected import Expected

CASE = "assay.case"
OUTCOME = "assay.outcome"
FLAGS = "assay.flags"
DATABASE = "assay.database"
DIFFICULTY = "assay.difficulty"
KNOWN = "assay.known"
"""Names of each item's properties, for JUnit files and between the processes of pytest-xdist."""

_SHOWN = 10
_CHECKER = pytest.StashKey["CaseChecker"]()


def checker_of(config: pytest.Config) -> CaseChecker:
    """The session's workers. None starts before the first case is evaluated."""
    known = config.stash.get(_CHECKER, None)
    if known is None:
        from assay.api.single import CaseChecker

        known = config.stash[_CHECKER] = CaseChecker()
        config.add_cleanup(known.close)
    return known


class Tally:
    """Counts cases by outcome, and checks the requirements on the whole set.

    Registered with each session as a plugin of its own.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._outcomes: dict[str, str | None] = {}
        self._ids: dict[str, str] = {}
        """Ids of cases by node id."""
        self._states: dict[str, str] = {}
        """The known states of cases (`assay.pytest_plugin.expected`), by node id."""
        self._skipped: set[str] = set()
        self._selected = any("::" in str(argument) for argument in config.args)
        """Whether only some cases were selected: the whole set can then not be checked."""
        self._said: list[str] = []

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note that cases were left out, by -k, -m or --lf."""
        self._selected = self._selected or any(item.get_closest_marker("assay") for item in items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test's outcome. Called per phase, under pytest-xdist in the process that writes the summary."""
        said = {name: value for name, value in report.user_properties if name in (CASE, OUTCOME, KNOWN)}
        if CASE not in said:
            return
        self._ids[report.nodeid] = str(said[CASE])
        if report.skipped and not hasattr(report, "wasxfail"):
            self._skipped.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self._skipped:
            self._outcomes[report.nodeid] = str(said[OUTCOME]) if OUTCOME in said else None
            if KNOWN in said:
                self._states[report.nodeid] = str(said[KNOWN])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session if the share of correct answers is too low, and update the known failures."""
        if not self._outcomes or hasattr(self._config, "workerinput"):
            return
        from assay.pytest_plugin.expected import ABSENT, WRONG, expected_of, unknown_entries, write_known

        expected = expected_of(self._config)
        complete = self._complete(session)
        self._check_shares(session, expected, complete=complete)
        absent = self._named(lambda node, _: self._states.get(node) == ABSENT)
        if expected.baseline is not None and complete and len(absent) == len(self._outcomes):
            self._fail(session, f"assay: no case has the same content in the baseline {expected.baseline.folder}")
        elif absent:
            self._said.append(f"assay: missing in the baseline, or different there: {_listed(absent)}")
        if expected.file is not None and complete:
            known = write_known(expected.file, {**dict.fromkeys(self._skipped), **self._outcomes}, self._ids)
            self._said.append(f"assay: {plural(known, 'known failure')} written to {expected.file}")
        elif expected.file is not None:
            self._said.append(f"assay: {expected.file} not updated, since not all cases were evaluated")
        elif corrected := self._named(lambda node, one: one == "correct" and self._states.get(node) == WRONG):
            self._said.append(f"assay: listed as known failures, but correct now: {_listed(corrected)}")
        if expected.list is not None and complete and (unknown := unknown_entries(expected.list, self._ids)):
            self._said.append(f"assay: {expected.list.name} has entries that match no case: {_listed(unknown)}")

    def _check_shares(self, session: pytest.Session, expected: Expected, *, complete: bool) -> None:
        """Fail the session if too few answers are correct or too many cases are unscored."""
        from assay.pytest_plugin.expected import MAX_UNSCORED, MIN

        outcomes = list(self._outcomes.values())
        unscored = outcomes.count("unscored") / len(outcomes)
        for name, limit in ((MIN, expected.least), (MAX_UNSCORED, expected.most_unscored)):
            if limit is None:
                continue
            if not complete:
                self._said.append(f"assay: {name} not checked, since not all cases were evaluated")
            elif name == MIN and not self._reaches(limit):
                self._fail(session, f"assay: below {MIN} = {100 * limit:.10g} %")
            elif name == MAX_UNSCORED and unscored > limit:
                self._fail(session, f"assay: {100 * unscored:.3g} % unscored, above {name} = {100 * limit:.10g} %")

    def _complete(self, session: pytest.Session) -> bool:
        """Whether every case of the set was run: none left out, and no -x or Ctrl-C that ended the session early."""
        if self._selected:
            return False
        cache = getattr(self._config, "cache", None)
        if cache is not None and self._config.getoption("lf", default=False) and cache.get("cache/lastfailed", {}):
            return False  # files without a failure are not even collected, so that nothing in them is deselected
        ended = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        return ended and not session.shouldfail and not session.shouldstop

    def _fail(self, session: pytest.Session, why: str) -> None:
        self._said.append(why)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _named(self, wanted: Callable[[str, str | None], bool]) -> list[str]:
        return sorted(self._ids[node] for node, one in self._outcomes.items() if wanted(node, one))

    def _reaches(self, least: float) -> bool:
        scored = [one == "correct" for one in self._outcomes.values() if one in ("correct", "incorrect")]
        return bool(scored) and sum(scored) / len(scored) >= least

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write one line if any case was evaluated, and one for each requirement with a remark."""
        if self._outcomes:
            from assay.reports.text.plain import visible

            for line in (self.line(), *self._said):
                terminalreporter.write_line(visible(line))

    def line(self) -> str:
        """For example ``assay: 33 of 36 correct, 91.7 % [78.2, 97.1] · 1 unscored``."""
        from assay.reports.text.plain import interval, percent
        from assay.runs.aggregate.rates import rate_of

        outcomes = list(self._outcomes.values())
        scored = [float(one == "correct") for one in outcomes if one in ("correct", "incorrect")]
        rate = rate_of(scored, binary=True)
        line = f"assay: {sum(map(int, scored)):,} of {len(scored):,} correct"
        if scored:
            line += f", {percent(rate.value)} {interval(rate)}"
        for name, count in (("unscored", outcomes.count("unscored")), ("not evaluated", outcomes.count(None))):
            line += f" · {count:,} {name}" if count else ""
        return line


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
