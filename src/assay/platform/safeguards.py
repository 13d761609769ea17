"""What the operating system lends to protect a run from what it judges, and what it does not lend here.

One place asks the system; whatever uses such a protection asks this module, so that what a run says of them is what it
has. On Linux all hold.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from types import ModuleType

from msgspec import Struct

STATISTICS = "/proc/self/statm"
"""Where Linux tells what a process holds."""


class Protection(Struct, frozen=True, kw_only=True):
    """One thing that the operating system may or may not lend."""

    name: str
    """Such as ``limit of a query's memory``."""
    holds: bool
    """Whether it holds on this system."""
    does: str
    """What it does where it holds: a sentence."""
    without: str
    """What may happen where it does not: a sentence."""


def module(name: str) -> ModuleType | None:
    """A module of the standard library that only some systems have; None where this one has not."""
    try:
        return import_module(name)
    except ImportError:
        return None


def caps_memory() -> bool:
    """Whether a process can be told how much memory it may take, and told apart what it holds: Linux alone."""
    return sys.platform.startswith("linux") and module("resource") is not None and os.path.exists(STATISTICS)


def caps_address_space() -> bool:
    """Whether a process's address space can be limited. macOS has the call and refuses it."""
    return sys.platform != "darwin" and module("resource") is not None


def has_timer() -> bool:
    """Whether a timer can interrupt Python code."""
    return hasattr(signal, "setitimer") and hasattr(signal, "SIGALRM")


def has_locks() -> bool:
    """Whether a file can be locked until its process ends."""
    return module("fcntl") is not None


def has_process_groups() -> bool:
    """Whether a process can be ended with all that it started."""
    return os.name == "posix" and hasattr(os, "killpg")


def protections() -> tuple[Protection, ...]:
    """What protects a run on this system and what does not, in a fixed order."""
    return (
        Protection(
            name="limit of a query's memory",
            holds=caps_memory(),
            does="A query that takes more memory than it may fails, and its worker goes on.",
            without="One query can take all memory where the engine's own limit does not count what it takes.",
        ),
        Protection(
            name="limit of a workbook's memory",
            holds=caps_address_space(),
            does="A hostile workbook fails at a limit of memory and processor time.",
            without="Reading a hostile workbook ends with its time limit alone, and can take all memory until then.",
        ),
        Protection(
            name="interruption of a comparison",
            holds=has_timer(),
            does="A comparison or a metric that takes too long is interrupted.",
            without="A comparison or a metric that takes too long costs its worker process, which is replaced.",
        ),
        Protection(
            name="lock of a run's folder",
            holds=has_locks(),
            does="A second process that would write the same run stops at once.",
            without="Two processes that write one run are not noticed: see that only one does.",
        ),
        Protection(
            name="end of a command's children",
            holds=has_process_groups(),
            does="A command that is asked and takes too long is ended with all processes that it started.",
            without="Processes that such a command started go on after it is ended.",
        ),
    )


def unsupported_safeguards() -> tuple[str, ...]:
    """The names of what this system does not lend; none on Linux."""
    return tuple(one.name for one in protections() if not one.holds)
