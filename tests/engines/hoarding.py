"""An engine whose queries keep memory, in the process or in their connection, and what runs it in workers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from assay.engines.pool import memory
from assay.engines.pool.executor import Executor
from assay.model import DatabaseSchema, DatabaseUrl, Execution, Limits, Result

MIB = 1024 * 1024
_kept: list[bytes] = []


class HoardingEngine:
    """A query is ``SELECT`` and a text of a verb and a number of MiB, such as ``SELECT 'use 20'``.

    ``use`` takes that much for a moment, ``hold`` keeps it as long as the connection is open, and ``leak`` for good.
    """

    name = "hoard"
    dialect = "sqlite"
    has_boolean_type = True

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held: list[bytes] = []

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> Self:
        return cls(limits)

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        pass

    @classmethod
    def version(cls) -> str:
        return "1"

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        return url.text

    def execute(self, query: str) -> Execution:
        found = re.search(r"(use|hold|leak) (\d+)", query)
        verb, size = (found[1], int(found[2]) * MIB) if found else ("nothing", 0)
        taken = b"x" * size
        if verb == "hold":
            self._held.append(taken)
        elif verb == "leak":
            _kept.append(taken)
        rows = ((verb, len(taken)),)
        columns = ("verb", "bytes")
        return Execution(
            query=query,
            status="rows",
            result=Result(columns=columns, rows=rows),
            wall_time_s=0.001,
            row_count=1,
            columns=columns,
        )

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        return ()

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        raise NotImplementedError

    def close(self) -> None:
        self._held.clear()


def several(argument: dict[str, Any]) -> Callable[[Any], tuple[list[Execution], int]]:
    """Tasks are ``(url, queries)``. What they give is their executions, and the most bytes that the process held."""
    executor = Executor(**argument)

    def run(payload: tuple[str, list[str]]) -> tuple[list[Execution], int]:
        found = [executor.execute(DatabaseUrl.parse(payload[0]), query) for query in payload[1]]
        status = Path("/proc/self/status").read_text()
        return found, next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))

    return run


def keeping(_argument: object) -> Callable[[Any], int]:
    """Tasks are numbers of MiB, which the process keeps."""

    def keep(size: int) -> int:
        process = memory.current()
        process.at_rest = lambda: process.settle(0)
        _kept.append(b"x" * (size * MIB))
        return len(_kept)

    return keep
