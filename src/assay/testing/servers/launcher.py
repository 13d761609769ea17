"""Start a database server in a Python environment of its own, wait until it answers, and stop it.

    with running("clickhouse") as server:
        ...  # server.url, and what to try with it: server.example

What happens: the server's packages, whose versions are pinned, are installed into a virtual environment in a cache
folder (`ServerEnvironment`), once. The server's program runs there under a supervisor, on a free port of the loopback
interface and with a temporary folder. The supervisor holds a pipe from this process. When the pipe closes, because the
server is stopped or because this process was killed, the supervisor ends the server and removes the folder.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from types import TracebackType

from assay.errors import AssayError
from assay.testing.servers.table import LOOPBACK, PROGRAMS, SERVERS, ServerKind

FOLDER_VARIABLE = "ASSAY_SERVERS"
_INSTALL_S = 1800.0
_POLL_S = 0.05
_STOP_S = 20.0


class ServerUnavailable(AssayError):
    """A test server cannot be started here. The message says what is missing."""


class ServerEnvironment:
    """A virtual environment with pinned packages in the cache folder, made at first use.

    The cache folder is the one that the variable ASSAY_SERVERS names, otherwise ``assay/servers`` in the user's cache
    folder. Other pins, or another version of Python, make another environment.
    """

    def __init__(self, name: str, packages: tuple[str, ...], *, cache: Path | None = None) -> None:
        self.packages = packages
        version = ".".join(map(str, sys.version_info[:2]))
        digest = blake2b("\n".join((version, *packages)).encode(), digest_size=4).hexdigest()
        self.folder = (cache or cache_folder()) / f"{name}-{digest}"

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def is_made(self) -> bool:
        """Whether the packages are installed."""
        return (self.folder / "complete").exists()

    def make(self) -> Path:
        """Install the packages unless they are installed, and return the interpreter.

        Two processes do this one after the other. Raises ServerUnavailable with the reason.
        """
        if not self.is_made:
            try:
                self.folder.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ServerUnavailable(f"the cache folder {self.folder.parent} cannot be made: {error}") from error
            with _locked(self.folder.with_suffix(".lock")):
                if not self.is_made:
                    self._install()
        return self.python

    def _install(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        options = ["-q", "--disable-pip-version-check", "--no-input", "--no-compile"]
        install = [str(self.python), "-m", "pip", "install", *options, *self.packages]
        for command in ([sys.executable, "-m", "venv", str(self.folder)], install):
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_INSTALL_S)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise ServerUnavailable(f"{' '.join(self.packages)} cannot be installed: {error}") from error
            if done.returncode:
                lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr.strip()]
                shutil.rmtree(self.folder, ignore_errors=True)
                raise ServerUnavailable(
                    f"{' '.join(self.packages)} cannot be installed (pip needs a package index): {lines[-1]}"
                )
        (self.folder / "complete").touch()


class RunningServer:
    """A server that was started. Leaving its context, or `stop`, ends it."""

    def __init__(self, kind: ServerKind, python: Path, *, port: int) -> None:
        self.kind = kind
        self.port = port or _free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="assay-server-"))
        self._places = {"port": str(self.port), "second_port": str(_free_port()), "folder": str(self.folder)}
        self._supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", str(PROGRAMS / "supervise.py"), str(self.folder), str(python)]
            + [argument.format(**self._places) for argument in kind.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=_plain_environment() | {name: value.format(**self._places) for name, value in kind.variables.items()},
            start_new_session=True,  # an interrupt at the terminal is for this process alone
        )

    @property
    def url(self) -> str:
        """The database URL for ``--db``."""
        return self.kind.url.format(**self._places)

    @property
    def example(self) -> str:
        """A command to try."""
        return self.kind.example.format(url=self.url, **self._places)

    def wait(self) -> None:
        """Return when the server answers. Raises ServerUnavailable with its last words where it does not."""
        end = time.monotonic() + self.kind.start_s
        while not self.kind.answers(self.port):
            ended = self._supervisor.poll() is not None
            if ended or time.monotonic() > end:
                words = self._last_words()
                self.stop()
                what = "ended" if ended else f"did not answer within {self.kind.start_s:g} s"
                raise ServerUnavailable(f"{self.kind.title}: the server {what}{': ' if words else ''}{words}")
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """End the server and remove what it wrote. Stopping twice is harmless."""
        assert self._supervisor.stdin is not None
        with suppress(OSError):
            self._supervisor.stdin.close()
        try:
            self._supervisor.wait(timeout=_STOP_S)
        except subprocess.TimeoutExpired:  # stopped by somebody, or the machine is very busy
            self._supervisor.kill()
            self._supervisor.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> RunningServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _last_words(self) -> str:
        with suppress(OSError):
            lines = (self.folder / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            return lines[-1][:500] if lines else ""
        return ""


def start(name: str, *, port: int = 0, cache: Path | None = None) -> RunningServer:
    """Start a server of the table and return when it answers. Raises ServerUnavailable with what is missing."""
    kind = SERVERS[name]
    if kind.needs_java is not None:
        _require_java(kind.needs_java)
    server = RunningServer(kind, ServerEnvironment(name, kind.packages, cache=cache).make(), port=port)
    try:
        server.wait()
    except BaseException:
        server.stop()
        raise
    return server


@contextmanager
def running(name: str, *, port: int = 0, cache: Path | None = None) -> Iterator[RunningServer]:
    """`start`, for a ``with``."""
    with start(name, port=port, cache=cache) as server:
        yield server


def cache_folder() -> Path:
    """Where the environments of the servers are."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).absolute()
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "assay" / "servers"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        port: int = listener.getsockname()[1]
        return port


def _plain_environment() -> dict[str, str]:
    """This process's variables, without those that change which modules a Python finds."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


def _require_java(oldest: int) -> None:
    """Raise ServerUnavailable unless a Java of this version or a newer one is installed."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=f"{home}/bin" if home else None)
    if program is None:
        raise ServerUnavailable(f"Java {oldest} or newer is not installed: install openjdk-{oldest}-jre-headless")
    shown = subprocess.run([program, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    version = re.search(r'version "(\d+)', shown)
    if version is None or int(version[1]) < oldest:
        raise ServerUnavailable(f"{program} is not Java {oldest} or newer: {shown.splitlines()[0] if shown else ''}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        try:
            import fcntl
        except ImportError:  # Windows, where two processes at once may do the work twice
            yield
        else:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
