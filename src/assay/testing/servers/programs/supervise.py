"""supervise.py FOLDER PROGRAM ARGUMENT...: run a program until standard input ends, then end it and remove the folder.

Standard input is a pipe from the process that wants the server. It ends however that process ends. The program is
asked to end first, and killed together with all of its group when it does not end.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

PATIENCE_S = 5.0


def main(folder: str, *command: str) -> int:
    with Path(folder, "log").open("wb") as log:
        program = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=os.name != "nt"
        )
    stopped = threading.Event()
    threading.Thread(target=lambda: stopped.set() if not sys.stdin.buffer.read() else None, daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    while program.poll() is None and not stopped.wait(0.1):
        pass
    if program.poll() is None:
        program.terminate()
        with suppress(subprocess.TimeoutExpired):
            program.wait(PATIENCE_S)
    with suppress(OSError, AttributeError):
        os.killpg(program.pid, signal.SIGKILL)
    program.kill()
    program.wait()
    if not stopped.is_set():  # it ended by itself: whoever waits reads why in its log, and then closes the pipe
        stopped.wait(PATIENCE_S)
        return program.returncode or 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
