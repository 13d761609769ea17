"""Progress with time left on a terminal, plain lines elsewhere. All on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from assay.runs.plan import OnProgress
from assay.runs.progress import Progress

_LINE_EVERY_S = 10.0


def ending(state: Progress) -> str:
    """What the first Ctrl-C does."""
    count = f"{state.in_flight} {state.noun.removesuffix('s') if state.in_flight == 1 else state.noun}"
    return f"interrupted: finishing what is in flight ({count}); press Ctrl-C again to stop now"


@contextmanager
def progress(*, quiet: bool) -> Iterator[OnProgress]:
    """A function to call with each Progress of a run."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _Lines()


class _Lines:
    """Prints a line now and then, one when earlier results are reused, and one at the first Ctrl-C."""

    def __init__(self) -> None:
        self._stage = ""
        self._ending = False
        self._started = self._next = 0.0

    def __call__(self, state: Progress) -> None:
        now = time.monotonic()
        if state.ending and not self._ending:
            self._ending = True
            print(ending(state), file=sys.stderr, flush=True)
        if state.stage != self._stage:
            self._stage, self._started, self._next = state.stage, now, now + _LINE_EVERY_S
            if state.resumed:
                kept = f"{state.resumed} of {state.total} {state.noun} were finished before and are kept"
                print(f"{state.stage}: {kept}", file=sys.stderr)
        if now < self._next:
            return
        self._next = now + _LINE_EVERY_S
        done = state.finished - state.resumed
        left = state.left_s
        if left is None:
            left = (now - self._started) / max(done, 1) * (state.total - state.finished)
        left = left if state.most_left_s is None else min(left, state.most_left_s)
        judged = "" if state.judged is None else f", {state.judged} scored"
        message = f"{state.stage}: {state.finished} of {state.total} {state.noun}{judged}, about {left:.0f} s left"
        print(message, file=sys.stderr, flush=True)


@contextmanager
def _bar() -> Iterator[OnProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TaskID, TextColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Left(ProgressColumn):
        """The time left: as the run estimates it, else by the pace so far."""

        max_refresh = 0.5

        def render(self, task: Task) -> Text:
            seconds = task.fields.get("left_s")
            seconds = task.time_remaining if seconds is None else seconds
            return Text("-:--:--" if seconds is None else str(timedelta(seconds=int(seconds))))

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Left())
    with Bar(*columns, console=Console(stderr=True), transient=True, refresh_per_second=8) as bar:
        stages: dict[str, TaskID] = {}
        said: list[str] = []
        shown: list[str] = []

        def line(stage: str, total: int) -> TaskID:
            if stage not in stages:
                stages[stage] = bar.add_task(stage, total=total)
            return stages[stage]

        def show(state: Progress) -> None:
            if state.ending and not said:
                said.append(ending(state))
                bar.console.print(said[0], markup=False, highlight=False, soft_wrap=True)
            names = [state.stage] if state.judged is None else [state.stage, "scoring"]
            if names != shown:
                shown[:] = names
                lines = [line(name, state.total) for name in names]
                for one in stages.values():
                    bar.update(one, visible=one in lines)
            if state.judged is not None:
                bar.update(stages["scoring"], completed=state.judged, left_s=state.left_s)
            kept = f" ({state.resumed} kept from before)" if state.resumed else ""
            kept += "" if state.most_left_s is None else f" (at most {state.most_left_s:.0f} s left)"
            bar.update(
                stages[state.stage],
                total=state.total,
                completed=state.finished,
                left_s=state.left_s,
                description=f"{state.stage}{kept}",
            )

        yield show
