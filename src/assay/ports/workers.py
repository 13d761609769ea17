"""Where tasks are done, and how one that hangs is noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Literal, Protocol

from msgspec import Struct

from assay.model import DatabaseUrl

LABEL_BYTES = 16
"""The length in bytes of a label that tells a `Pulse` what runs."""


LossKind = Literal["timeout", "crashed", "out_of_memory"]


class Loss(Struct, frozen=True, kw_only=True):
    """How a worker was lost while something ran."""

    kind: LossKind
    message: str
    """A clause without a subject, for example ``ended its process with SIGSEGV``."""


class Pulse(Protocol):
    """How a worker says what it does right now, so that the process that waits for it can end what hangs.

    Work that may hang or crash is done between ``begin`` and ``end``. `lost` tells a later worker which work ended
    an earlier one, so that it skips that work.
    """

    def begin(self, label: bytes, seconds: float) -> None:
        """Say that ``label`` (`LABEL_BYTES` long) runs now and must end within ``seconds``."""
        ...

    def end(self) -> None:
        """Say that the labelled work has ended."""
        ...

    def lost(self, label: bytes) -> Loss | None:
        """How an earlier worker was lost while this label ran; None if it never was."""
        ...


LostKind = Literal["timeout", "crashed", "out_of_memory", "error"]


class Task(Struct, frozen=True, kw_only=True):
    """One unit of work. Its id is unique within a run of the backend; its payload must pickle."""

    id: int
    payload: object
    database: DatabaseUrl | None = None
    """The database on which it executes queries, for a backend of several machines; None: it needs none, or any."""


class TaskDone(Struct, frozen=True):
    """A task's outcome, as the task function returned it."""

    task_id: int
    outcome: object
    took_s: float = 0.0
    """About how long it took in its worker."""


class TaskLost(Struct, frozen=True):
    """A task without an outcome.

    Its function raised (``error``, ``out_of_memory``), or its worker was lost repeatedly, or outside of a labelled
    step.
    """

    task_id: int
    kind: LostKind
    message: str


class NeededDatabase(Struct, frozen=True, kw_only=True):
    """A database that tasks will need, so that a machine can tell whether it has the same one."""

    url: DatabaseUrl
    fingerprint: str
    """The hash of its content, or of something that changes with it."""
    version: str
    """The version of its engine on the machine that started the run."""
    origin: str | None = None
    """The place of the first case on it, for messages."""


class Backend(Protocol):
    """Where a run's tasks are done: in worker processes of this machine, or on the machines of a cluster.

    A context manager: leaving it ends the workers. It is used by one thread.
    """

    @property
    def size(self) -> int:
        """How many tasks run at once."""
        ...

    def expect(self, databases: Sequence[NeededDatabase]) -> None:
        """Say which databases the tasks of later runs need. Raises `assay.errors.InputError` if one cannot be reached.

        It is called before anything is asked or written.
        """
        ...

    @property
    def in_flight(self) -> int:
        """How many tasks were given to workers, and are not done."""
        ...

    def run(self, batches: Iterable[Sequence[Task] | None], *, shared: bool = False) -> Iterator[TaskDone | TaskLost]:
        """Run every task and yield each outcome soon after it is there, in no particular order.

        A batch is done by one worker, unless that is lost: the unfinished tasks then go to another one. ``shared``: as
        far as possible, but it may be taken apart, so that no worker is idle for long. None among the batches: there is
        none now, and `soon` will say when to ask again. Leaving the iteration early closes the backend.
        """
        ...

    def soon(self, call: Callable[[], None]) -> None:
        """Have the thread that iterates over `run` call this before it waits again, and then ask for batches again.

        Safe to call from any thread, and from a signal handler. If no `run` is in progress, the next one calls it.
        """
        ...

    def stop_gracefully(self) -> None:
        """Begin no further task: `run` ends when those in flight are done. Safe to call from a signal handler."""
        ...

    def wait_until_ready(self) -> None:
        """Return when every worker is ready, for callers that must not spend that time later."""
        ...

    def close(self) -> None:
        """End the workers now. Closing twice is harmless."""
        ...

    def __enter__(self) -> Backend: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
