"""Tell the parent what a worker is doing right now, without a system call.

Each worker shares one small memory map with its parent. Before a step that may hang or crash, the code in the worker
calls `begin` with a label and a number of seconds, and `end` afterwards. The parent ends a worker that exceeds its
time, reads the label of the step that ended it, and tells all later workers: they find the label under `lost` and do
not run that step again.

Outside a worker the same calls have no effect, so code in a task needs no special case.
"""

from __future__ import annotations

import mmap
import struct
import time

from msgspec import Struct

from assay.engines.pool.wire import MAP_BYTES
from assay.ports import Loss

_LAYOUT = struct.Struct("=d16s")
_DEADLINE = struct.Struct("=d")
_TASK = struct.Struct("=q")
_TASK_AT = 32
_NO_TASK = 0
_NO_DEADLINE = 0.0


class HeartbeatState(Struct, frozen=True, kw_only=True):
    """The content of the map: the label of the running step, and the `time.monotonic` second at which it must end."""

    label: bytes
    deadline: float


class Heartbeat:
    """One worker's side of the map, and the losses reported by its parent."""

    __slots__ = ("_memory", "losses")

    def __init__(self, memory: mmap.mmap | bytearray) -> None:
        self._memory = memory
        self.losses: dict[bytes, Loss] = {}

    def begin(self, label: bytes, seconds: float) -> None:
        """Say that ``label`` (16 bytes) runs now and must end within ``seconds``."""
        _LAYOUT.pack_into(self._memory, 0, time.monotonic() + seconds, label)

    def end(self) -> None:
        """Say that no labelled step runs."""
        _DEADLINE.pack_into(self._memory, 0, _NO_DEADLINE)

    def take_up(self, task_id: int) -> None:
        """Say which task the worker does from now on."""
        _TASK.pack_into(self._memory, _TASK_AT, task_id + 1)


def read(memory: mmap.mmap | bytearray) -> HeartbeatState | None:
    """What the worker with this map is doing right now; None if it reported nothing."""
    deadline, label = _LAYOUT.unpack_from(memory, 0)
    return None if deadline == _NO_DEADLINE else HeartbeatState(label=label, deadline=deadline)


def read_task(memory: mmap.mmap | bytearray) -> int | None:
    """The id of the last task that the worker with this map started, or None."""
    (number,) = _TASK.unpack_from(memory, _TASK_AT)
    return None if number == _NO_TASK else number - 1


_current = Heartbeat(bytearray(MAP_BYTES))


def install(heartbeat: Heartbeat) -> None:
    """Make this the process's heartbeat. The worker's main function calls it once."""
    global _current  # noqa: PLW0603 - one process has one heartbeat, and its tasks find it here
    _current = heartbeat


def begin(label: bytes, seconds: float) -> None:
    """Like `Heartbeat.begin`, on this process's heartbeat."""
    _current.begin(label, seconds)


def end() -> None:
    """Like `Heartbeat.end`, on this process's heartbeat."""
    _current.end()


def lost(label: bytes) -> Loss | None:
    """How an earlier worker was lost while this label ran, or None."""
    return _current.losses.get(label)
