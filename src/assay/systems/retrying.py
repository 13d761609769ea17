"""Retry after transient errors."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from assay.errors import AssayError
from assay.systems.options import SystemOptions

_Answer = TypeVar("_Answer")


class TryAgain(AssayError):
    """A transient error. Not raised outside this package."""

    def __init__(
        self,
        message: str,
        *,
        wait_s: float | None = None,
        nobody_there: bool = False,
        give_up_at: float | None = None,
        reached: bool = True,
        code: str | None = None,
    ) -> None:
        self.wait_s = wait_s
        """How long the server asked to wait; None: the usual back-off."""
        self.nobody_there = nobody_there
        """Whether not even a connection was made."""
        self.give_up_at = give_up_at
        """The reading of the monotonic clock after which no retry begins."""
        self.reached = reached
        """False if something other than the system answered or failed: a gateway, or a limit on requests."""
        self.code = code
        """As `assay.model.Failure.code`."""
        super().__init__(message)


def with_retries(attempt: Callable[[], _Answer], options: SystemOptions) -> _Answer:
    """Call ``attempt`` until it does not raise TryAgain, at most ``1 + options.retries`` times.

    The last TryAgain is raised; any other exception immediately.
    """
    import stamina

    # stamina logs each retry as a warning, which goes to standard error if logging is not set up. A library adds a
    # handler that does nothing, as is usual; the user's own handlers still receive the warning.
    logger = logging.getLogger("stamina")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())

    waited_s = options.retry_wait_s

    def decide(error: Exception) -> bool | float:
        nonlocal waited_s
        if not isinstance(error, TryAgain):
            return False
        usual_s, waited_s = waited_s, min(waited_s * 2, options.max_wait_s)
        if error.give_up_at is not None and monotonic() + usual_s >= error.give_up_at:
            return False
        return True if error.wait_s is None else min(error.wait_s, options.max_wait_s)

    for context in stamina.retry_context(
        on=decide,
        attempts=options.retries + 1,
        timeout=None,
        wait_initial=options.retry_wait_s,
        wait_max=options.max_wait_s,
        wait_jitter=options.retry_wait_s / 2,
    ):
        with context:
            return attempt()
    raise AssertionError("stamina gave up without raising")
