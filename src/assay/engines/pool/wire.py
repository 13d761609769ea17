"""The frames that the pool and its workers exchange: an 8-byte length, then a pickle.

Parent to worker: one `Hello`, then tuples ``(task_ids, losses, payloads)``. ``losses`` is a dict of label to Loss, and
``payloads`` a list that is pickled separately: if it cannot be unpickled in the worker, the tasks fail by their ids.
Worker to parent: tuples whose first item is one of the constants below.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from msgspec import Struct

READY = 0
"""``(READY,)``: the setup function has returned."""
ENDED = 1
"""``(ENDED, took_s, ends)``: the outcomes of the next tasks, and the seconds that they took together. Each of ``ends``
is one of these: ``(task_id, outcome)``, what the task function returned, bytes or a tuple of bytes; ``(task_id, None,
pickled)`` if it returned anything else, pickled separately so that a failure to unpickle only fails this task;
``(task_id, None, kind, message)``: the function raised, or the payload could not be unpickled."""
UNUSABLE = 3
"""``(UNUSABLE, error or None, traceback text)``: the setup function raised, and the worker ends."""
WORN = 4
"""``(WORN,)``: the worker holds too much memory after its tasks. It takes no other, and ends."""

MAP_BYTES = 64
"""The size of the memory that a worker shares with its parent (`assay.engines.pool.heartbeat`)."""

HEADER = struct.Struct("=Q")
_READ_BYTES = 256 * 1024


class Hello(Struct, frozen=True, kw_only=True):
    """The first message to a worker."""

    setup: str
    """``module:function``."""
    argument: bytes
    """The setup function's argument, pickled separately so that an error in unpickling it can be reported."""
    memory_limit_bytes: int | None


def send(descriptor: int, frame: bytes) -> None:
    """Write a complete frame. Raises OSError if the other side is gone."""
    header = HEADER.pack(len(frame))
    # A large frame is not copied: it may take most of the memory that a worker may have.
    for data in (header + frame,) if len(frame) <= _READ_BYTES else (header, frame):
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]


def read_frames(descriptor: int) -> Iterator[list[bytes]]:
    """Yield the frames that have arrived, as many at a time as there are, until the other side closes the pipe."""
    buffer = bytearray()
    while data := os.read(descriptor, _READ_BYTES):
        buffer += data
        frames = []
        position = 0
        while len(buffer) - position >= HEADER.size:
            start = position + HEADER.size
            end = start + HEADER.unpack_from(buffer, position)[0]
            if end > len(buffer):
                break
            frames.append(bytes(memoryview(buffer)[start:end]))
            position = end
        del buffer[:position]
        if frames:
            yield frames
