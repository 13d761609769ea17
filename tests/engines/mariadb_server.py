"""A MariaDB server to test against: the one that ASSAY_MYSQL_URL names, else Debian's own, started for the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pymysql

from keeper import Keeper
from ports import free_port

_START_S = 300.0
_SBIN = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec")


class Unavailable(Exception):
    """There is no server, for the reason that this says."""


class MariadbServer:
    """A server on loopback with a data directory of its own, not run by root. Its administrator has no password."""

    def __init__(self) -> None:
        self._daemon = _find("mariadbd") or _find("mysqld")
        install = _find("mariadb-install-db") or _find("mysql_install_db")
        if self._daemon is None or install is None:
            raise Unavailable("no MariaDB server: install mariadb-server, or name one in ASSAY_MYSQL_URL")
        self._user = _unprivileged_user()
        self._folder = Path(tempfile.mkdtemp(prefix="assay-mariadb-"))
        self.host = "127.0.0.1"
        self.port = free_port(self.host)
        if self._user is not None:
            os.chown(self._folder, pwd.getpwnam(self._user).pw_uid, pwd.getpwnam(self._user).pw_gid)
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper = Keeper(self._folder)
        try:
            self._run([install, *self._options(), "--auth-root-authentication-method=normal", "--skip-test-db"])
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Start it, and return when it answers."""
        assert self._daemon is not None
        log = (self._folder / "output.log").open("ab")
        command = [self._daemon, *self._options(), f"--port={self.port}", f"--socket={self._folder / 'socket'}"]
        command += [f"--bind-address={self.host}", f"--pid-file={self._folder / 'pid'}", "--skip-name-resolve"]
        command += ["--innodb-buffer-pool-size=64M", "--skip-log-bin", f"--secure-file-priv={self._folder}"]
        # Each commit is written, though not flushed: with 0, `kill` would lose those of the last second.
        command += ["--innodb-flush-log-at-trx-commit=2", "--performance-schema=OFF"]
        self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder, **self._identity())
        log.close()
        end = time.monotonic() + _START_S
        while True:
            try:
                self.connect().close()
                return
            except pymysql.Error as error:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise Unavailable(f"MariaDB does not start: {error}; {self._log()}") from None
                time.sleep(0.05)

    def connect(self, **options: Any) -> Any:
        """A connection as administrator, with autocommit."""
        return pymysql.connect(host=self.host, port=self.port, user="root", autocommit=True, **options)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def processes(self) -> list[int]:
        """The ids of its processes."""
        return [] if self._process is None else [self._process.pid]

    def stand_still(self) -> None:
        """Stop its process, and return when every thread of it stands: on a busy machine one may run on for a while."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def go_on(self) -> None:
        """Let its process run again."""
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its data, which nobody needs written out first."""
        self.kill()
        self._keeper.close()

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self._folder

    def _options(self) -> list[str]:
        return ["--no-defaults", f"--datadir={self._folder / 'data'}", f"--tmpdir={self._folder}"]

    def _identity(self) -> dict[str, Any]:
        return {} if self._user is None else {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid}

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(command, capture_output=True, check=False, cwd=self._folder, **self._identity())
        if done.returncode != 0:
            raise Unavailable(f"{command[0]} fails: {(done.stderr or done.stdout).decode('utf-8', 'replace')[-500:]}")

    def _log(self) -> str:
        return (self._folder / "output.log").read_text(errors="replace")[-500:]


def _find(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *_SBIN)))


def _unprivileged_user() -> str | None:
    """Whom the server runs as: nobody else where the tests are not root's."""
    if os.geteuid() != 0:
        return None
    for name in ("mysql", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    raise Unavailable("a server must not run as root, and there is neither a user mysql nor nobody")
