"""Any Python callable, sync or async."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from importlib import import_module
from threading import Lock, Thread
from time import monotonic
from typing import Any

from msgspec.structs import replace

from assay.errors import InputError, SystemUnusable
from assay.model import Case, Prediction
from assay.model.cases.measures import with_read_measures
from assay.sql.extraction import extracted
from assay.systems.address import without_scheme
from assay.systems.options import SystemOptions
from assay.systems.predictions import NO_TIME, QuestionFailed, answered, answered_with_value, failed
from assay.systems.pricing import Pricing
from assay.systems.retrying import TryAgain, with_retries

_EXTRAS: dict[str, Callable[[Case], object]] = {
    "case": lambda case: case,
    "question": lambda case: case.question,
    "context": lambda case: case.context,
    "database": lambda case: case.database,
    "case_id": lambda case: case.id,
    "difficulty": lambda case: case.difficulty,
    "history": lambda case: case.history,
    "conversation": lambda case: case.conversation,
    "turn": lambda case: case.turn,
}


_OF_THE_CODE = (ImportError, NameError, NotImplementedError)
"""Exceptions in code that would fail at any question."""


class PythonSystem:
    """``python:package.module:function``: a callable that takes a question and returns a query.

    The first parameter gets the Case if it is annotated as `assay.Case` or called ``case``, otherwise
    the question's text. Further parameters are filled by name, with the case's values: ``question``,
    ``case``, ``context``, ``database``, ``case_id``, ``difficulty``, ``history``, ``conversation``, ``turn``; any other
    needs a default.
    It returns the query as text (a code fence is removed), rows instead (lists of cells, or objects by column),
    None for no answer, or a Prediction.

    Each call of a sync callable gets its own thread, several at once; async calls share one event loop. A call that
    exceeds the timeout is a failure: an async one is cancelled; a sync one cannot be, and continues in its
    thread. After a ConnectionError the call is retried; any other exception is the failure of that question.
    ``wall_time`` is measured here.
    """

    name = "python"

    def __init__(self, function: Callable[..., object], options: SystemOptions, *, label: str | None = None) -> None:
        self._function = function
        self._options = options
        self._pricing = Pricing(options)
        self._label = label or _label_of(function)
        self._names = _parameters(function, self._label)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = Lock()

    @classmethod
    def open(cls, url: str, options: SystemOptions) -> PythonSystem:
        """Import the callable, also from the current folder. Raises InputError if that fails."""
        reference = without_scheme(url, cls.name)
        module, colon, path = reference.partition(":")
        if not (module and colon and path):
            raise InputError(f"{url!r} does not name a callable: use {cls.name}:package.module:function")
        if options.headers:
            raise InputError("a Python callable does not take HTTP headers: omit them")
        if options.parameters:
            raise InputError("a Python callable does not take parameters: give its arguments defaults, or wrap it")
        if os.getcwd() not in sys.path and "" not in sys.path:
            sys.path.insert(0, os.getcwd())  # `python -m` looks there, too; a console script does not
        try:
            found: Any = import_module(module)
        # Importing runs the user's module: any exception means that it cannot be imported.
        except Exception as error:
            raise InputError(f"the module {module!r} cannot be imported: {type(error).__name__}: {error}") from error
        for name in path.split("."):
            if not hasattr(found, name):
                raise InputError(f"the module {module!r} has no {path!r}: check the name of the function")
            found = getattr(found, name)
        function: object = found
        if not callable(function):
            raise InputError(f"{reference} is {type(function).__name__} and cannot be called: name a function")
        return cls(function, options, label=reference)

    def describe(self) -> str:
        """The callable's name."""
        return f"{self.name}:{self._label}"

    def answer(self, case: Case) -> Prediction:
        """Call it for one question. A SystemUnusable that it raises ends the run."""
        try:
            return with_retries(lambda: self._answer_once(case), self._options)
        except (TryAgain, QuestionFailed) as error:
            rejected = isinstance(error, QuestionFailed) and error.rejected
            return failed(case, str(error), reached=error.reached, code=error.code, rejected=rejected)

    def close(self) -> None:
        """Stop the event loop, if there is one."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)
        self._pricing.close()

    def _answer_once(self, case: Case) -> Prediction:
        started = monotonic()
        values = [_EXTRAS[name](case) for name in self._names[:1]]
        named = {name: _EXTRAS[name](case) for name in self._names[1:]}
        try:
            given = self._call(values, named)
        except (SystemUnusable, QuestionFailed):
            raise
        except ConnectionError as error:
            name = type(error).__name__
            raise TryAgain(f"{self._label} raised {name}: {error}", reached=False, code=name) from None
        # The per-case boundary: an exception in the user's function is the failure of this one question.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            name = type(error).__name__
            of_code = isinstance(error, _OF_THE_CODE)
            raise QuestionFailed(f"{self._label} raised {name}: {error}", code=name, rejected=of_code) from None
        return self._understand(case, given, monotonic() - started)

    def _call(self, values: list[object], named: dict[str, object]) -> object:
        future: Future[object] = Future()
        future.set_running_or_notify_cancel()  # a sync call cannot be cancelled once it runs

        def run() -> None:
            try:
                future.set_result(self._function(*values, **named))
            except (Exception, SystemExit) as error:  # noqa: BLE001 - handed to the asking thread, which decides
                future.set_exception(error)
            except BaseException as error:  # noqa: BLE001 - raised in the asking thread, it would end that
                future.set_exception(_no_exception(error, self._label))

        started = monotonic()
        limit = self._options.timeout_s
        Thread(target=run, name="assay-python-system", daemon=True).start()
        given = _waited_for(future, limit, self._label)
        if inspect.isawaitable(given):
            awaited = asyncio.run_coroutine_threadsafe(_as_coroutine(given, self._label), self._event_loop())
            return _waited_for(awaited, max(0.0, started + limit - monotonic()), self._label, limit_s=limit)
        return given

    def _understand(self, case: Case, given: object, wall_time_s: float) -> Prediction:
        if isinstance(given, Prediction):
            given = with_read_measures(given)
            cost_usd = self._pricing.cost_usd(given.tokens) if given.cost_usd is None else given.cost_usd
            return extracted(replace(given, case_id=case.id, cost_usd=cost_usd))
        self._pricing.cost_usd(None)
        if given is not None and not isinstance(given, str):
            prediction = answered_with_value(case, given, timings_s=(("wall_time", wall_time_s),))
            if prediction is None:
                raise QuestionFailed(
                    f"{self._label} returned {type(given).__name__}: return the query as str, rows or chat messages as "
                    "a list, None, or a Prediction",
                    code="wrong type",
                    rejected=True,
                )
            return prediction
        return answered(case, given, timings_s=(("wall_time", wall_time_s),))

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=_run_loop, args=(self._loop,), name="assay-python-system-loop", daemon=True).start()
            return self._loop


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_wind_down())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _wind_down() -> None:
    unfinished = asyncio.all_tasks() - {asyncio.current_task()}
    for task in unfinished:
        task.cancel()
    await asyncio.gather(*unfinished, return_exceptions=True)


async def _as_coroutine(awaitable: Any, label: str) -> object:
    try:
        return await awaitable
    except (Exception, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt would end the event loop
        raise _no_exception(error, label) from None


def _no_exception(error: BaseException, label: str) -> QuestionFailed:
    """The failure of a question whose call raised a BaseException that is not an Exception."""
    name = type(error).__name__
    return QuestionFailed(f"{label} raised {name}: {error}", code=name)


def _waited_for(future: Future[object], wait_s: float, label: str, *, limit_s: float | None = None) -> object:
    try:
        return future.result(wait_s)
    except FutureTimeoutError:
        if future.done():  # a TimeoutError of the function's own
            raise
        future.cancel()
        raise QuestionFailed(f"{label} did not return within {limit_s or wait_s:g} s", code=NO_TIME) from None


def _label_of(function: Callable[..., object]) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', None) or 'builtins'}:{getattr(named, '__qualname__', named)}"


def _parameters(function: Callable[..., object], label: str) -> tuple[str, ...]:
    """The value for each parameter, as names in `_EXTRAS`, the first by its position. Raises InputError."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in callables have no signature
        return ("question",)
    if not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
        raise InputError(
            f"{label} does not take a positional argument: its first parameter gets the question, or the case"
        )
    first, *others = parameters
    names = ["case" if first.name == "case" or _is_case(first.annotation) else "question"]
    for other in others:
        if other.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        if other.name in _EXTRAS and other.kind is not inspect.Parameter.POSITIONAL_ONLY:
            names.append(other.name)
        elif other.default is inspect.Parameter.empty:
            raise InputError(
                f"{label} needs a parameter {other.name!r}, which cases do not have: rename it to one "
                f"of {', '.join(_EXTRAS)}, or give it a default"
            )
    return tuple(names)


def _is_case(annotation: object) -> bool:
    return annotation is Case or (isinstance(annotation, str) and annotation.rpartition(".")[2].strip("'\"") == "Case")
