"""A server of the tests goes with them, also when they are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

_STARTS = """
import os, subprocess, sys
from pathlib import Path
from keeper import Keeper
keeper = Keeper(Path(os.environ["FOLDER"]))
server = [sys.executable, "-c", "import time; time.sleep(600)", os.environ["FOLDER"]]
print(subprocess.Popen(server, stdout=subprocess.DEVNULL).pid, flush=True)
if sys.argv[1] == "closes":
    keeper.close()
else:
    sys.stdin.read()
"""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are found in /proc, which Linux has")
@pytest.mark.parametrize("end", ["closes", "is killed"])
def test_a_server_is_ended_and_its_folder_removed(tmp_path: Path, end: str) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "data").write_text("rows")
    with subprocess.Popen(
        [sys.executable, "-c", _STARTS, end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), "FOLDER": str(folder)},
    ) as tests:
        assert tests.stdout is not None
        server = Path("/proc") / tests.stdout.readline().decode().strip() / "cmdline"
        if end == "is killed":
            assert folder.exists()
            tests.send_signal(signal.SIGKILL)
        else:
            assert tests.wait(timeout=300) == 0
            assert not folder.exists()
    until = time.monotonic() + 300
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not folder.exists()
    assert os.fsencode(folder) not in _text(server)  # another process may have its number by now


def _text(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
