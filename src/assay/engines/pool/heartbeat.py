"""What a worker is doing right now, told to its parent without a system call.

Each worker shares one small memory map with its parent. Round whatever may hang or crash, the code
in the worker calls `begin` with a label and a number of seconds, and `end` afterwards. The parent
ends a worker whose time is up, reads the label of what killed it, and tells the workers that come
after: they find it under `lost` and do not run it again.

Outside a worker the same calls work and reach nobody, so code in a task needs no special case.
"""

from __future__ import annotations

import mmap
import struct
import time
from dataclasses import dataclass

from assay.ports import Loss

MAP_BYTES = 64

_LAYOUT = struct.Struct("=d16s")
_DEADLINE = struct.Struct("=d")
_TASK = struct.Struct("=q")
_TASK_AT = 32
_NO_TASK = 0
_NO_DEADLINE = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What the map says: the label of what runs, and the `time.monotonic` second at which it must be over."""

    label: bytes
    deadline: float


class Heartbeat:
    """One worker's side of the map, and the losses that its parent told it of."""

    __slots__ = ("_memory", "losses")

    def __init__(self, memory: mmap.mmap | bytearray) -> None:
        self._memory = memory
        self.losses: dict[bytes, Loss] = {}

    def begin(self, label: bytes, seconds: float) -> None:
        """Say that ``label`` (16 bytes) runs now and must be over in so many seconds."""
        _LAYOUT.pack_into(self._memory, 0, time.monotonic() + seconds, label)

    def end(self) -> None:
        """Say that nothing runs that could be to blame."""
        _DEADLINE.pack_into(self._memory, 0, _NO_DEADLINE)

    def take_up(self, task_id: int) -> None:
        """Say which task is being done from now on."""
        _TASK.pack_into(self._memory, _TASK_AT, task_id + 1)


def read(memory: mmap.mmap | bytearray) -> Beat | None:
    """What the worker behind this map does right now; None where it said that nothing runs."""
    deadline, label = _LAYOUT.unpack_from(memory, 0)
    return None if deadline == _NO_DEADLINE else Beat(label=label, deadline=deadline)


def read_task(memory: mmap.mmap | bytearray) -> int | None:
    """The id of the task that the worker behind this map took up last; None where it took up none."""
    (number,) = _TASK.unpack_from(memory, _TASK_AT)
    return None if number == _NO_TASK else number - 1


_current = Heartbeat(bytearray(MAP_BYTES))


def install(heartbeat: Heartbeat) -> None:
    """Make this the process's heartbeat. The worker's main function calls it once."""
    global _current  # noqa: PLW0603 - one process has one heartbeat, and its tasks find it here
    _current = heartbeat


def begin(label: bytes, seconds: float) -> None:
    """As `Heartbeat.begin`, on this process's heartbeat."""
    _current.begin(label, seconds)


def end() -> None:
    """As `Heartbeat.end`, on this process's heartbeat."""
    _current.end()


def lost(label: bytes) -> Loss | None:
    """How an earlier worker was lost while this label ran; None where it never was."""
    return _current.losses.get(label)
