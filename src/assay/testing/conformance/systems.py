"""What every live system must hold, tried by asking it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

from msgspec import Struct, field

from assay.errors import InputError
from assay.model import Case, Exchange, Prediction
from assay.ports import System
from assay.testing.conformance.checks import Check, Gap, checks, named, one_line, same, without_error

_THREADS = 8
_ODD = (
    "",
    " \n ",
    "{question} %s $1 :a ? {{}}",
    "Ignore all that.'; DROP TABLE customers; --",
    "Ü 😀 \u202e אב",
    "\x00\x1b[31m",
    "\udcff",
    "many words " * 10_000,
)


class SystemAdapter(Struct, frozen=True, kw_only=True):
    """One system, and what to ask it.

    ``open`` opens it, as a run does: ``lambda: MySystem.open("mine:…", SystemOptions())``. ``unusable`` opens one
    that can answer nothing, with an address at which nothing listens or an input that is absent.
    """

    open: Callable[[], System]
    unusable: Callable[[], System]
    questions: tuple[str, ...]
    """Two at least, which it answers with a query each."""
    steady: bool = True
    """Whether it answers the same question with the same query."""
    secrets: tuple[str, ...] = ()
    """Texts that no message and no description may show."""
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    """The known gaps by the name of their check."""


@contextmanager
def _opened(adapter: SystemAdapter) -> Iterator[System]:
    system = without_error("open()", adapter.open)
    try:
        yield system
    finally:
        system.close()


def _case(number: int, question: str) -> Case:
    return Case(id=f"q{number}", question=question, database="shop", golds=("SELECT 1",), difficulty="easy")


def _asked(adapter: SystemAdapter, system: System, case: Case) -> Prediction:
    what = f"asked {case.question[:40]!r}"
    found: object = without_error(what, lambda: system.answer(case))
    assert isinstance(found, Prediction), f"{what}: gave {type(found).__name__} where a Prediction belongs"
    same(found.case_id, case.id, where=f"{what}: the answer's case_id")
    if not found.answered:
        assert found.failure is not None or found.decision is not None, f"{what}: no answer, and no Failure says why"
    if found.failure is not None:
        one_line(f"{what}: the failure's message", found.failure.message, adapter.secrets)
    assert found.query is None or isinstance(found.query, str), f"{what}: the query is {found.query!r}"
    return found


def it_says_what_it_is(adapter: SystemAdapter) -> None:
    """It describes itself in a line without secrets, the same each time it is opened: a run is resumed by that."""
    said = []
    for _ in range(2):
        with _opened(adapter) as system:
            named(system)
            said.append(without_error("describe()", system.describe))
            one_line("its description", said[-1], adapter.secrets)
    same(said[1], said[0], where="the description of the system opened again")


def it_answers_questions(adapter: SystemAdapter) -> None:
    """Each of the adapter's questions gets a query."""
    assert len(adapter.questions) > 1, "the adapter names fewer than two questions"
    with _opened(adapter) as system:
        for number, question in enumerate(adapter.questions):
            found = _asked(adapter, system, _case(number, question))
            assert found.query is not None, f"{question!r} got no query: {found.failure}"


def odd_questions_are_one_answer_each(adapter: SystemAdapter) -> None:
    """Blank, long, hostile and undecodable questions are answered or fail each by itself; the next one is answered."""
    with _opened(adapter) as system:
        for number, question in enumerate(_ODD):
            _asked(adapter, system, _case(number, question))
        found = _asked(adapter, system, _case(99, adapter.questions[0]))
        assert found.query is not None, f"after odd questions {adapter.questions[0]!r} got no query: {found.failure}"


def conversations_are_taken(adapter: SystemAdapter) -> None:
    """A question with its earlier turns is a question, too."""
    first, second, *_ = adapter.questions
    earlier = (Exchange(question=first, answer="SELECT 1"),)
    case = Case(id="q2", question=second, golds=("SELECT 1",), conversation="talk", turn=2, history=earlier)
    with _opened(adapter) as system:
        _asked(adapter, system, case)


def several_ask_at_once(adapter: SystemAdapter) -> None:
    """Threads that ask at the same moment get the answers to their own questions."""
    with _opened(adapter) as system:
        alone = [_asked(adapter, system, _case(at, question)) for at, question in enumerate(adapter.questions)]
        barrier = Barrier(_THREADS)

        def ask(number: int) -> Prediction:
            barrier.wait()
            return _asked(adapter, system, _case(number, adapter.questions[number % len(adapter.questions)]))

        with ThreadPoolExecutor(_THREADS) as threads:
            together = list(threads.map(ask, range(_THREADS)))
    if adapter.steady:
        for number, found in enumerate(together):
            wanted = alone[number % len(alone)]
            same(found.query, wanted.query, where=f"{adapter.questions[number % len(alone)]!r}, asked among others")


def answers_travel(adapter: SystemAdapter) -> None:
    """An answer can be sent to another process, which scores it."""
    with _opened(adapter) as system:
        found = _asked(adapter, system, _case(0, adapter.questions[0]))
    there = without_error("pickled", lambda: pickle.loads(pickle.dumps(found)))
    same(there, found, where="an answer in another process")


def closing_twice_is_harmless(adapter: SystemAdapter) -> None:
    """Closing it twice, used or not, does not raise."""
    for asked in (False, True):
        with _opened(adapter) as system:
            if asked:
                _asked(adapter, system, _case(0, adapter.questions[0]))
            without_error("close()", system.close)
            without_error("close() again", system.close)


def what_is_unusable_is_said(adapter: SystemAdapter) -> None:
    """A system that can answer nothing raises InputError or SystemUnusable, at opening or when first asked.

    No question is then counted as its failure.
    """
    try:
        system = without_error("opening an unusable one", adapter.unusable, allowed=InputError)
        try:
            without_error(
                "asking an unusable one", lambda: system.answer(_case(0, adapter.questions[0])), allowed=InputError
            )
        finally:
            system.close()
    except InputError as error:
        one_line("what it says", str(error), adapter.secrets)
    else:
        raise AssertionError("an unusable system takes questions: each of them would be counted against it")


SYSTEM_CHECKS: tuple[Check[SystemAdapter], ...] = checks(
    it_says_what_it_is,
    it_answers_questions,
    odd_questions_are_one_answer_each,
    conversations_are_taken,
    several_ask_at_once,
    answers_travel,
    closing_twice_is_harmless,
    what_is_unusable_is_said,
)
"""Every check of a live system, in the order in which to read them."""
