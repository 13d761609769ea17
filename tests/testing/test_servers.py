"""The launcher of database servers for trials and tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.testing.__main__ import main
from assay.testing.servers import SERVERS, ServerEnvironment, ServerKind, ServerUnavailable, launcher
from assay.testing.servers.launcher import RunningServer
from assay.testing.servers.table import accepts

PLAIN = ServerKind(
    title="Files",
    packages=(),
    arguments=("-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory", "{folder}"),
    url="http://127.0.0.1:{port}/",
    example="curl {url}",
    answers=accepts,
)
PYTHON = Path(sys.executable)


def gone(pid: int) -> bool:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_a_server_answers_while_it_is_wanted_and_leaves_nothing_behind() -> None:
    with RunningServer(PLAIN, PYTHON, port=0) as server:
        server.wait()
        assert server.url == f"http://127.0.0.1:{server.port}/"
        assert server.example == f"curl {server.url}"
        assert accepts(server.port)
        folder = server.folder
        assert folder.is_dir()
    assert not accepts(server.port)
    assert not folder.exists()
    server.stop()


def test_a_server_ends_with_the_process_that_started_it() -> None:
    text = (
        "import sys, time; from pathlib import Path; import test_servers as t;"
        "s = t.RunningServer(t.PLAIN, t.PYTHON, port=0); s.wait();"
        "print(s.port, s.folder, s._supervisor.pid, flush=True); time.sleep(600)"
    )
    variables = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    starter = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env=variables)
    port, folder, supervisor = starter.stdout.readline().split()
    assert accepts(int(port))
    starter.kill()
    starter.communicate()
    assert gone(int(supervisor))
    assert not accepts(int(port))
    assert not Path(folder).exists()


def test_a_server_that_ends_at_once_says_its_last_words() -> None:
    kind = replace(PLAIN, arguments=("-c", "raise SystemExit('no disk')"))
    with RunningServer(kind, PYTHON, port=0) as server:
        with pytest.raises(ServerUnavailable, match="Files: the server ended: no disk"):
            server.wait()
        assert not server.folder.exists()


def test_a_server_that_does_not_answer_is_given_up() -> None:
    kind = replace(PLAIN, arguments=("-c", "import time; time.sleep(600)"), start_s=0.2)
    with RunningServer(kind, PYTHON, port=0) as server, pytest.raises(ServerUnavailable, match=r"within 0\.2 s"):
        server.wait()


def test_a_server_that_ignores_the_request_to_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    stubborn = (
        "import signal, socket, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(600)"
    )
    with RunningServer(replace(PLAIN, arguments=("-c", stubborn, "{port}")), PYTHON, port=0) as server:
        server.wait()
    assert not accepts(server.port)


def test_packages_that_cannot_be_installed_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    environment = ServerEnvironment("absent", ("assay-absent==1",), cache=tmp_path)
    with pytest.raises(ServerUnavailable, match=r"assay-absent==1 cannot be installed .*index"):
        environment.make()
    assert not environment.folder.exists()


def test_the_cache_folder_is_the_users_unless_the_variable_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(launcher.FOLDER_VARIABLE, raising=False)
    assert launcher.cache_folder() == tmp_path / "assay" / "servers"
    monkeypatch.setenv(launcher.FOLDER_VARIABLE, str(tmp_path / "own"))
    first = ServerEnvironment("clickhouse", ("chdb==1",))
    assert first.folder.parent == tmp_path / "own"
    assert first.folder != ServerEnvironment("clickhouse", ("chdb==2",)).folder


@pytest.mark.parametrize(
    ("shown", "message"),
    [(None, "Java 17 or newer is not installed"), ('openjdk version "11.0.2"', "is not Java 17 or newer: openjdk")],
)
def test_a_missing_or_old_java_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str | None, message: str
) -> None:
    (tmp_path / "bin").mkdir()
    if shown is not None:
        program = tmp_path / "bin" / "java"
        program.write_text(f"#!/bin/sh\necho '{shown}' >&2\n")
        program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ServerUnavailable, match=message):
        launcher._require_java(17)


def test_the_command_says_why_a_server_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(launcher.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert main(["--clickhouse"]) == 2
    assert "the server cannot start: chdb" in capsys.readouterr().err


def test_every_server_says_how_it_is_tried() -> None:
    for kind in SERVERS.values():
        assert "{port}" in kind.url
        assert "{url}" in kind.example
        assert all("==" in package or "<" in package or package == "numpy" for package in kind.packages)
