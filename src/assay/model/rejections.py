"""Decide what the rejections of a system or model are about: single questions, or every question."""

from __future__ import annotations

from collections import Counter
from typing import Generic, TypeVar

from assay.errors import SystemLost, SystemUnusable
from assay.model import Failure
from assay.model.failure import has_no_answer

_Question = TypeVar("_Question")
_Result = TypeVar("_Result")

_MOST_ALIKE = 3
"""Rejections alike after which a system without any answer counts as unusable."""
_MOST_REJECTIONS = 10
"""Rejections of any kind after which it does: the first questions may be those that no answer is given to."""
_IN_A_ROW = 3
"""Rejections in a row after which a system that has answered is asked a control question."""
_MOST_IN_A_ROW = 24
"""How many they become: each control question that is answered doubles them."""


class Rejections(Generic[_Question, _Result]):
    """Holds back rejections until it is known whether they are about the question or about every question.

    A system that has not answered any question is unusable if it rejects the first ones: three alike, ten different
    ones, or fewer if they are all there is.

    A system that has answered may reject a question, and it may also break for good: its path, its credentials or its
    form of answer changes. The texts of the two do not differ reliably, so a control question decides: after some
    rejections in a row, and for rejections at the end, a question that was answered is asked again. If it has an
    answer, the rejections are about their questions; if it fails now, the system is lost, and its rejections are
    asked again by the next run. The answer to any question that was sent after a rejection releases it, too.

        answer, 422, 422, answer                the two questions are rejected
        answer, 422, 422, 422, control: answer  the three questions are rejected
        answer, 404, 404, 404, control: 404     the system is lost; three questions have no answer
    """

    def __init__(self, *, answered: _Question | None = None) -> None:
        self._held: list[tuple[int, _Result, Failure]] = []
        """Rejections with their numbers among all results."""
        self.seen = 0
        """How many results there were so far."""
        self._others = False
        self.control: _Question | None = answered
        """A question that the system has answered, as it was asked; None before the first answer."""
        self._in_a_row = _IN_A_ROW
        self.unusable: SystemUnusable | None = None
        """What to raise once every question that was sent has its result. An answer among these settles it."""

    def sift(self, question: _Question, result: _Result, failure: Failure | None, *, begun: int) -> tuple[_Result, ...]:
        """The results to continue with. ``begun`` is `seen` when the question was sent. May set `unusable`."""
        self.seen += 1
        if failure is None or not has_no_answer(failure):
            self.control, self.unusable = question, None
            return (*self._released(begun), result)
        if failure.kind != "rejected":
            self._others = True
            return (result,)
        self._held.append((self.seen, result, failure))
        if self.control is None and self.unusable is None:
            alike = sum(other == failure for _, _, other in self._held)
            if alike >= _MOST_ALIKE or len(self._held) >= _MOST_REJECTIONS:
                self.unusable = self._unusable()
        return ()

    def answered(self, question: _Question) -> None:
        """Note a question that the system answered in an earlier run."""
        if self.control is None:
            self.control = question

    def needs_control(self, *, at_end: bool = False) -> bool:
        """Whether the control question decides on what is held."""
        return self.control is not None and len(self._held) >= (1 if at_end else self._in_a_row)

    def controlled(self, failure: Failure | None, *, begun: int) -> tuple[_Result, ...]:
        """The results to continue with, by the outcome of the control question. Raises SystemLost."""
        if self._held and has_no_answer(failure):
            raise self._lost()
        self._in_a_row = min(2 * self._in_a_row, _MOST_IN_A_ROW)
        return self._released(begun)

    def rest(self) -> tuple[_Result, ...]:
        """Those that are still held when all are asked. Raises SystemUnusable if every question was rejected."""
        if self._held and self.control is None and not self._others:
            raise self._unusable()
        return self._released(self.seen)

    def _released(self, begun: int) -> tuple[_Result, ...]:
        """Those that arrived before a question with an answer was sent."""
        released = tuple(result for number, result, _ in self._held if number <= begun)
        self._held = [entry for entry in self._held if entry[0] > begun]
        return released

    def _unusable(self) -> SystemUnusable:
        number, message = self._most_common()
        what = "the first question" if number == 1 else f"the first {number} questions"
        return SystemUnusable(f"{what} failed, so the others would fail, too: {message}")

    def _lost(self) -> SystemLost:
        number, message = self._most_common()
        what = "the last question" if number == 1 else f"the last {number} questions"
        return SystemLost(
            f"{what} failed, and so does one that was answered before: {message}. Answers are stored: once the system "
            "responds, run the same command to resume"
        )

    def _most_common(self) -> tuple[int, str]:
        """The number of rejections, and the most common message."""
        messages = Counter(failure.message for _, _, failure in self._held)
        ((message, _),) = messages.most_common(1)
        return messages.total(), message
