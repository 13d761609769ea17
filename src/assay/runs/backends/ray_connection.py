"""Find a Ray cluster within a bounded time, or say why there is none."""

from __future__ import annotations

import importlib
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from assay.errors import InputError, MissingDependency
from assay.platform.surface import option

_CONNECT_S = 60.0
_START_FAILED = "Starting Ray client server failed"
"""Ray Client's message if the process that it starts for a client died at once, as one that is forked next to many
threads may: another one starts."""
_MOST_STARTS = 3


def connected(address: str | None) -> tuple[Any, Callable[[], None] | None]:
    """Ray, connected to the cluster, and what leaves the cluster again; None if it was connected before.

    Raises InputError if the cluster is out of reach.
    """
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError as error:
        raise MissingDependency("ray", "ray") from error
    if ray.is_initialized():
        return ray, None
    named = address or os.environ.get("RAY_ADDRESS")
    shown = named or "this machine"
    if named is not None:
        _check_reachable(named)

    try:
        _within(_CONNECT_S, lambda: _connect(ray, named or "auto"))
    except TimeoutError:
        raise InputError(
            f"the Ray cluster at {shown} did not answer within {_CONNECT_S:g} s: is that its address?"
        ) from None
    except Exception as error:
        address = option("--backend", "ray://HOST:10001")
        advice = f"start one with  ray start --head, or name its address ({address})"
        raise InputError(f"there is no Ray cluster to use at {shown} ({first_line(error)}): {advice}") from error
    restore = _silenced()

    def leave() -> None:
        ray.shutdown()
        restore()

    return ray, leave


def _connect(ray: Any, address: str) -> None:
    """Connect, and leave Ray as it was if that fails: it would take the next cluster for one behind Ray Client."""
    for started in range(1, _MOST_STARTS + 1):
        try:
            ray.init(address, log_to_driver=False, logging_level="ERROR", configure_logging=True)
        except Exception as error:
            ray.shutdown()
            if started == _MOST_STARTS or _START_FAILED not in str(error):
                raise
        else:
            return


def _silenced() -> Callable[[], None]:
    """Silence Ray's function that prints messages of nodes, such as of one that is lost, on standard output.

    No option of Ray's keeps it from that, and a report may be going there. Who runs the command hears of a lost node
    where it matters: from the run. Returns what lets it print again.
    """
    module = importlib.import_module("ray._private.worker")
    name = "print_to_stdstream"
    printer = getattr(module, name, None)
    if printer is None:
        return lambda: None
    setattr(module, name, lambda *_, **__: None)
    return lambda: setattr(module, name, printer)


def _check_reachable(address: str) -> None:
    """Raise InputError if no server listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").partition("/")[0].rpartition(":")
    if not host or not port.isdecimal():
        if address in ("auto", "local"):
            return
        raise InputError(
            f"{address!r} is not an address of a Ray cluster: write ray://HOST:10001, or RAY_ADDRESS=HOST:6379"
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=5.0):
            pass
    except (OSError, OverflowError) as error:
        raise InputError(
            f"no Ray cluster can be reached at {address} ({error}): is it running, and is the port right? "
            "Ray Client's default is 10001"
        ) from error


def _within(seconds: float, function: Callable[[], None]) -> None:
    """Call a function that may never return. Raises TimeoutError if it does not in time, or what it raised."""
    raised: list[BaseException] = []

    def call() -> None:
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            raised.append(error)

    thread = threading.Thread(target=call, name="assay-connect", daemon=True)
    thread.start()
    thread.join(timeout=seconds)
    if thread.is_alive():
        raise TimeoutError
    if raised:
        raise raised[0]


def first_line(error: BaseException) -> str:
    """The first line of an error's text: Ray's go on for many. If that only introduces the others, the last, too."""
    lines = str(error).strip().splitlines()
    if not lines:
        return type(error).__name__
    return f"{lines[0]} {lines[-1].strip()}" if len(lines) > 1 and lines[0].endswith(":") else lines[0]
