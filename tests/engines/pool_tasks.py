"""What the pool's workers run in these tests. They import it by the path that the parent sends along."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from assay.engines.pool import heartbeat
from assay.engines.pool.executor import Executor
from assay.model import DatabaseUrl, Execution

LABEL = b"0123456789abcdef"


def echo(argument: object) -> Callable[[object], object]:
    """Tasks are ``(verb, value)``; see `_act`."""
    return lambda payload: _act(argument, payload)


def execute(argument: dict[str, Any]) -> Callable[[Any], Execution]:
    """Tasks are ``(url, query)``."""
    executor = Executor(**argument)
    return lambda payload: executor.execute(DatabaseUrl.parse(payload[0]), payload[1])


def broken(_argument: object) -> Callable[[object], object]:
    raise ValueError("the setup is broken")


def fatal(_argument: object) -> Callable[[object], object]:
    os._exit(7)


def _act(argument: object, payload: Any) -> object:
    verb, value = payload
    match verb:
        case "echo":
            return (argument, value, os.getpid())
        case "raise":
            raise ValueError(value)
        case "exit":
            os._exit(value)
        case "segfault":
            ctypes.string_at(0)
        case "suicide":
            os.kill(os.getpid(), signal.SIGKILL)
        case "nap":
            time.sleep(value)
        case "wait for":
            while not os.path.exists(value):
                time.sleep(0.01)
        case "bomb":
            return len(bytearray(value))
        case "run":
            exec(value)  # code of a test
        case "print":
            print(value, flush=True)
            os.write(1, b"raw bytes on descriptor 1")
            return sys.stdin.read()
        case "labelled":
            return _labelled(*value)
        case "fall apart":  # under another label each time
            return _labelled(os.urandom(16), "abort")
        case "return":
            return value
        case "unpicklable":
            return lambda: None
    return None


def _labelled(label: bytes, what: str) -> object:
    if loss := heartbeat.lost(label):
        return loss
    heartbeat.begin(label, 0.2 if what == "hang" else 600)  # a machine may take its time to end what aborts
    if what == "hang":
        time.sleep(600)
    os.abort()
