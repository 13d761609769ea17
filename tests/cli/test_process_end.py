"""The command line ends its process itself: nothing that Python would still have done is left out."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import atexit, threading
from assay.__main__ import main


def late():
    threading.main_thread().join()  # which Python calls ended once it waits for the other threads
    print("thread", flush=True)


atexit.register(lambda: print("exit function"))  # not flushed
threading.Thread(target=late).start()
main()
"""


@pytest.mark.parametrize(("arguments", "status"), [(["--version"], 0), (["no-such-verb"], 2)])
def test_threads_and_exit_functions_are_finished_and_their_output_is_written(arguments: list[str], status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status
    assert done.stdout.splitlines()[-2:] == ["thread", "exit function"]
