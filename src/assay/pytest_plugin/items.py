"""A case as a test."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import pytest

from assay.api.inputs import as_prediction
from assay.api.single import CaseChecker
from assay.errors import AssayError
from assay.model import Case, Evidence, Prediction
from assay.ports import Executions
from assay.pytest_plugin.expected import WRONG, expected_of
from assay.pytest_plugin.session import CASE, DATABASE, DIFFICULTY, FLAGS, KNOWN, OUTCOME
from assay.pytest_plugin.sources import CaseFile, keywords_of
from assay.reports.text.pair import HEAD_ROWS, pair_text
from assay.reports.text.plain import one_line
from assay.runs.plan import Work, to_judge
from assay.systems.concurrency import Sayings

CALLABLE = "assay_predict"
MAPPING = "assay_predictions"

AnswersOf: TypeAlias = Callable[[object, str], Prediction]
"""From the fixture's value and a case's id to the answer."""


def _by_file() -> None:
    """An item whose answer is known: it uses no fixture."""


def _by_callable(assay_predict: object) -> None:
    """An item whose answer comes from a callable: its parameter is the fixture."""


def _by_mapping(assay_predictions: object) -> None:
    """An item whose answer comes from a mapping or a file."""


_FUNCTIONS: dict[str | None, Callable[..., None]] = {None: _by_file, CALLABLE: _by_callable, MAPPING: _by_mapping}


class AssayItem(pytest.Function):
    """One case. Its setup executes the gold query; its call asks for the prediction and evaluates it.

    So a failing gold query is an error, like a fixture that fails, and the system is not asked; a wrong answer is
    a failure.
    """

    def __init__(
        self,
        *,
        work: Work,
        read: CaseFile,
        source: str | None,
        answers: AnswersOf,
        talks: dict[str, Sayings],
        checker: CaseChecker,
        **rest: Any,
    ) -> None:
        super().__init__(callobj=_FUNCTIONS[source], **rest)
        self.case: Case = work.case
        self._work = work
        self._read = read
        self._source = source
        self._answers = answers
        self._talks = talks
        """The earlier answers in the file's conversations, by their names."""
        self._checker = checker
        self.extra_keyword_matches.update(keywords_of(work.case))
        self.add_marker("assay")
        if not work.case.gold_count and work.case.expects == "answer":
            self.add_marker(pytest.mark.skip(reason="the case has no gold query"))
        state = expected_of(self.config).state(work.case, self.nodeid)
        known = (
            (CASE, work.case.id),
            (DATABASE, work.case.database),
            (DIFFICULTY, work.case.difficulty),
            (KNOWN, state),
        )
        self.user_properties.extend((name, value) for name, value in known if value is not None)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The item's location, for pytest: only the file, since not every format gives a case's line."""
        return self.path, 0, self.name

    def setup(self) -> None:
        """Set up fixtures, then check that the gold query has a result."""
        super().setup()
        evidence, executions = self._scored(Prediction(case_id=self.case.id))
        if evidence.outcome == "unscored":
            self._record(evidence)
            self._fail_unscored(evidence, executions)

    def runtest(self) -> None:
        """Ask for the answer and evaluate it."""
        __tracebackhide__ = _is_not_told
        evidence, executions = self._scored(self._prediction())
        self._record(evidence)
        if evidence.outcome == "incorrect":
            self._allow_wrong(evidence.verdict.reason)
            pytest.fail(pair_text(evidence, executions), pytrace=False)
        if evidence.outcome == "unscored":
            self._fail_unscored(evidence, executions)

    def _allow_wrong(self, reason: str) -> None:
        """End the test as an expected failure if its answer may be wrong."""
        expected = expected_of(self.config)
        state = expected.state(self.case, self.nodeid)
        if expected.allows(state):
            known = "known to be wrong" if state == WRONG else "wrong"
            pytest.xfail(f"{known}: {one_line(reason, limit=200)}")

    def _scored(self, prediction: Prediction) -> tuple[Evidence, Executions]:
        __tracebackhide__ = _is_not_told
        read = self._read
        try:
            return self._checker.score(
                self.case,
                to_judge(self.case, prediction, extract=read.extract),
                self._work.url,
                gold_url=self._work.gold_url,
                options=read.options,
                limits=read.limits,
                head_rows=HEAD_ROWS,
            )
        except AssayError as error:
            message = str(error)
        return _fail(message)

    def _prediction(self) -> Prediction:
        """The answer. Raises what the user's callable raises; an unusable value fails the item."""
        __tracebackhide__ = _is_not_told
        if self._source is None:
            return self._work.prediction
        given = self.funcargs[self._source]
        answer = self._ask(given) if self._source == CALLABLE else None
        try:
            if self._source == CALLABLE:
                prediction = as_prediction(answer, self.case)
                if self.case.conversation is not None:
                    self._talks.setdefault(self.case.conversation, Sayings()).note(self.case, prediction)
                return prediction
            return self._answers(given, self.case.id)
        except AssayError as error:
            message = str(error)
        return _fail(message)

    def _ask(self, predict: Any) -> object:
        __tracebackhide__ = _is_not_told
        if not callable(predict):
            _fail(f"the fixture {CALLABLE} returns {type(predict).__name__}: return a callable (case -> query)")
        said = self._talks.get(self.case.conversation or "")
        # If an earlier turn could not be asked, its own test fails; this one is still asked.
        asked = self.case if said is None else said.told(self.case)
        try:
            answer = predict(asked)
        except Exception:
            # The per-case boundary: a system that raises has not answered. pytest shows its traceback.
            self._set(OUTCOME, "incorrect")
            self._allow_wrong("the system raised an exception")
            raise
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            _fail(f"the callable from the fixture {CALLABLE} is async: use a plain one, for example with asyncio.run")
        return answer

    def _fail_unscored(self, evidence: Evidence, executions: Executions) -> NoReturn:
        """End the test, as an expected failure if some cases may stay unscored: the session checks their share."""
        __tracebackhide__ = _is_not_told
        if expected_of(self.config).most_unscored is not None:
            pytest.xfail(f"unscored: {one_line(evidence.verdict.reason, limit=200)}")
        _fail(f"unscored: {pair_text(evidence, executions)}")

    def _record(self, evidence: Evidence) -> None:
        """Record the outcome for reports, JUnit files and other processes."""
        self._set(OUTCOME, evidence.outcome)
        self._set(FLAGS, ", ".join(sorted(evidence.verdict.flags)))

    def _set(self, name: str, value: str) -> None:
        self.user_properties[:] = [one for one in self.user_properties if one[0] != name]
        if value:
            self.user_properties.append((name, value))


def _is_not_told(excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether to hide a frame of this module: only from the traceback of the user's own exception.

    If only the message is shown, hiding every frame would make pytest add a remark.
    """
    return bool(getattr(excinfo.value, "pytrace", True))


def _fail(message: str) -> NoReturn:
    """Fail without a traceback of this package."""
    __tracebackhide__ = _is_not_told
    pytest.fail(message, pytrace=False)
