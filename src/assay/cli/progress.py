"""Progress with time left on a terminal, plain lines elsewhere. All on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from assay.runs.execute import OnProgress, Progress

_LINE_EVERY_S = 10.0


@contextmanager
def progress(*, quiet: bool) -> Iterator[OnProgress]:
    """Something to call with each Progress of a run."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _Lines()


class _Lines:
    """A line now and then, and where something was taken over from before."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _LINE_EVERY_S
        self._started = time.monotonic()

    def __call__(self, state: Progress) -> None:
        if state.finished == state.resumed and state.resumed:
            print(f"{state.resumed} of {state.total} cases were finished before and are kept", file=sys.stderr)
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _LINE_EVERY_S
        done = state.finished - state.resumed
        left = (now - self._started) / max(done, 1) * (state.total - state.finished)
        print(f"{state.finished} of {state.total} cases, about {left:.0f} s left", file=sys.stderr, flush=True)


@contextmanager
def _bar() -> Iterator[OnProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True, refresh_per_second=8) as bar:
        task = bar.add_task("judging", total=None)

        def show(state: Progress) -> None:
            description = f"judging ({state.resumed} kept from before)" if state.resumed else "judging"
            bar.update(task, total=state.total, completed=state.finished, description=description)

        yield show
