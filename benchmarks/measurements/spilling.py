"""Two results beyond memory: what comparing them takes of it, and what the files cost that hold them instead."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

from assay.comparison.codes import coder
from assay.comparison.compare import compare
from assay.engines.duckdb import DuckdbEngine, columnar
from assay.model import DatabaseUrl, Limits, Result
from assay.model.results.columns import ColumnRows
from assay.platform import memmap as spilling
from benchmarks.frame import NotHere, Setup, cpu_seconds

_FULL = 10_000_000
"""Rows at which the real threshold is passed several times; with fewer, it is lowered as much."""
_WATCH_S = 0.005
_SHUFFLED, _NOISY = "SELECT * FROM other", "SELECT * REPLACE (a * (1 + 1e-13) AS a) FROM other"
_MAKE = """
import sys, duckdb
with duckdb.connect(sys.argv[1], config={"memory_limit": "1GiB"}) as connection:
    connection.execute("SET enable_progress_bar = false")
    connection.execute(
        "CREATE TABLE t AS SELECT range AS id, range * 0.37 AS a, 'name ' || (range % 1000) AS b, range % 50 AS c,"
        " range % 7 AS d, range / 3.0 AS e, 'other ' || (range % 1000) AS f, range * 2 AS g"
        f" FROM range({int(sys.argv[2])})"
    )
    connection.execute("CREATE TABLE other AS SELECT * FROM t ORDER BY d DESC, c, id DESC")
"""


def beyond_memory(setup: Setup) -> dict[str, float]:
    """``setup.rows`` rows of eight columns in two orders, and with the noise of floats, in files and in memory."""
    if not Path("/proc/self/status").exists():
        raise NotHere("memory is read from /proc, which only Linux has")
    limits = Limits(timeout_s=3600, max_rows=2 * setup.rows, max_result_bytes=64 * 2**30, comparison_timeout_s=3600)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "wide.duckdb"))
        subprocess.run([sys.executable, "-c", _MAKE, path, str(setup.rows)], check=True)
        with closing(DuckdbEngine.open(DatabaseUrl.parse(f"duckdb:///{path}"), limits)) as engine:

            def judged(query: str, *, in_files: bool) -> None:
                gold, predicted = engine.execute("SELECT * FROM t").result, engine.execute(query).result
                assert gold is not None
                assert predicted is not None
                if not (_in_files(gold) == _in_files(predicted) == in_files):
                    raise NotHere(f"{setup.rows} rows are too few to be held in files: more of them with --rows")
                assert compare(predicted, gold).equal

            taken = {}
            with _spilling_beyond(spilling.MANY_BYTES * min(setup.rows, _FULL) // _FULL):
                for name, query in (("shuffled", _SHUFFLED), ("noisy", _NOISY)):
                    with _own_memory() as most:
                        spilled_s = cpu_seconds(partial(judged, query, in_files=True))
                    taken[name] = (spilled_s, most[0] / (2 * setup.rows))
            with _spilling_beyond(sys.maxsize):
                held_s = cpu_seconds(partial(judged, _SHUFFLED, in_files=False))
    return {
        "spill.memory": taken["shuffled"][1],
        "spill.noisy_memory": taken["noisy"][1],
        "spill.time": taken["shuffled"][0] / held_s,
    }


def _in_files(result: Result) -> bool:
    return isinstance(result.rows, ColumnRows) and isinstance(result.rows.columns[0].values, np.memmap)


@contextmanager
def _spilling_beyond(many_bytes: int) -> Iterator[None]:
    with patch.object(columnar, "MANY_BYTES", many_bytes), patch.object(coder, "MANY_BYTES", many_bytes):
        yield


@contextmanager
def _own_memory() -> Iterator[list[int]]:
    """The most memory of its own that this process takes beyond what it holds now, in bytes, as the only value.

    Pages of files do not count: the system takes them back when it needs some.
    """
    before = _anonymous()
    most = [0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_WATCH_S):
            most[0] = max(most[0], _anonymous() - before)

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield most
    finally:
        over.set()
        watching.join()


def _anonymous() -> int:
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0
