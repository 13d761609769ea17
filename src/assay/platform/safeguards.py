"""What the operating system provides to protect a run from the queries it executes, and what is missing here.

All checks of the system are in this module, and all users of such a protection ask it, so that a run reports the
protections it really has. On Linux all are available.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from types import ModuleType

from msgspec import Struct

STATISTICS = "/proc/self/statm"
"""Where Linux reports the memory of a process."""


class Protection(Struct, frozen=True, kw_only=True):
    """A protection that the operating system may provide."""

    name: str
    """For example ``limit of a query's memory``."""
    holds: bool
    """Whether this system provides it."""
    does: str
    """What it does if available: a sentence."""
    without: str
    """What may happen without it: a sentence."""


def module(name: str) -> ModuleType | None:
    """A module of the standard library that only some systems have; None if this one does not."""
    try:
        return import_module(name)
    except ImportError:
        return None


def caps_memory() -> bool:
    """Whether the memory of a process can be limited and measured separately: Linux only."""
    return sys.platform.startswith("linux") and module("resource") is not None and os.path.exists(STATISTICS)


def caps_address_space() -> bool:
    """Whether a process's address space can be limited. macOS has the call but refuses it."""
    return sys.platform != "darwin" and module("resource") is not None


def has_timer() -> bool:
    """Whether a timer can interrupt Python code."""
    return hasattr(signal, "setitimer") and hasattr(signal, "SIGALRM")


def has_locks() -> bool:
    """Whether a file can be locked until its process ends."""
    return module("fcntl") is not None


def has_process_groups() -> bool:
    """Whether a process can be ended together with all that it started."""
    return os.name == "posix" and hasattr(os, "killpg")


def protections() -> tuple[Protection, ...]:
    """What protects a run on this system and what does not, in a fixed order."""
    return (
        Protection(
            name="limit of a query's memory",
            holds=caps_memory(),
            does="A query that exceeds its memory limit fails, and its worker continues.",
            without="One query can take all memory if the engine's own limit does not count what it takes.",
        ),
        Protection(
            name="limit of a workbook's memory",
            holds=caps_address_space(),
            does="A hostile workbook fails at a limit of memory and processor time.",
            without="Reading a hostile workbook ends only at its time limit, and can take all memory until then.",
        ),
        Protection(
            name="interruption of a comparison",
            holds=has_timer(),
            does="A comparison or a metric that takes too long is interrupted.",
            without="A comparison or a metric that takes too long ends its worker process, which is replaced.",
        ),
        Protection(
            name="lock of a run's folder",
            holds=has_locks(),
            does="A second process that would write the same run stops immediately.",
            without="Two processes that write one run are not detected: make sure that only one does.",
        ),
        Protection(
            name="end of a command's children",
            holds=has_process_groups(),
            does="A command that takes too long is ended with all processes that it started.",
            without="Processes started by a command continue after it is ended.",
        ),
    )


def unsupported_safeguards() -> tuple[str, ...]:
    """The names of the protections that this system does not provide; none on Linux."""
    return tuple(one.name for one in protections() if not one.holds)
