"""Ports for servers that are started by number: ones that no connection of anybody's is given meanwhile.

A port that the system picks (0) may be given to a client's end of a connection as soon as it is let go, even to one
that looks for the very server that is to have it. So these are below those that the system gives to clients.
"""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress
from pathlib import Path

_CLIENTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST, _LAST = 10_000, 32_767


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on, another one each time: processes of a parallel run do not agree on theirs."""
    last = _LAST
    with suppress(OSError, ValueError):
        last = min(last, int(_CLIENTS.read_text().split()[0]) - 1)
    if last - _FIRST < 1000:  # nothing is kept from clients here
        with socket.create_server((host, 0)) as listener:
            return int(listener.getsockname()[1])
    while True:
        port = _FIRST + secrets.randbelow(last - _FIRST + 1)
        with suppress(OSError), socket.create_server((host, port)):
            return port
