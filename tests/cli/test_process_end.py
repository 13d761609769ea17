"""The end of the command's process is short, and leaves nothing out that Python does there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import atexit, sys, threading
from assay.__main__ import main


def late():
    threading.main_thread().join()  # which Python calls ended once it waits for the other threads
    print("thread", flush=True)


atexit.register(lambda: print("exit function"))  # not flushed
threading.Thread(target=late).start()
log = open(sys.argv.pop(), "w")
log.write("not flushed")
try:
    main()
finally:
    print("finally")
"""


@pytest.mark.parametrize(("arguments", "status"), [(["--version"], 0), (["no-such-verb"], 2)])
def test_threads_and_exit_functions_are_finished_and_their_output_is_written(
    arguments: list[str], status: int, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments, str(log)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status
    assert done.stdout.splitlines()[-3:] == ["finally", "thread", "exit function"]
    assert log.read_text() == "not flushed"


def test_the_command_may_be_called_in_a_thread() -> None:
    program = """
import sys, threading
from assay.__main__ import main
sys.argv = ["assay", "--version"]
called = threading.Thread(target=main)
called.start()
called.join()
print("goes on")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "goes on")
