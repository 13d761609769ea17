"""`assay view` over real HTTP: what it serves, to whom, and how it ends."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from processes import assay, refused, started, until

import assay as product
from assay import demo
from assay.model import Limits


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored run of the bundled sample."""
    folder = tmp_path_factory.mktemp("view")
    given = {"databases": f"sqlite:///{demo.build_database(folder)}", "limits": Limits(timeout_s=1.0), "workers": 1}
    product.evaluate(demo.cases_path(), demo.predictions_path(), **given, metrics=["match"], output=folder / "run")
    return folder / "run"


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(made, tmp_path / "run"))


class Viewer:
    """The command while it runs."""

    def __init__(self, *arguments: object, env: Mapping[str, str] | None = None) -> None:
        self.process = started(["view", *arguments], env=env)
        assert self.process.stdout is not None
        # A command that hangs before its first line must not hold up the tests.
        guard = threading.Timer(240, self.process.kill)
        guard.start()
        line = self.process.stdout.readline()
        guard.cancel()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", line)
        if found is None:
            self.process.kill()
            raise AssertionError(f"no address: {line!r} {self.process.communicate()}")
        self.port = int(found[1])

    def ask(
        self, method: str = "GET", path: str = "/", *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """One request on a connection of its own."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)) as connection:
            connection.request(method, path, body=body or None, headers=dict(headers or {}))
            response = connection.getresponse()
            return response, response.read()

    def end(self) -> tuple[int, str]:
        """Press Ctrl-C; give the exit status and what was said."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=300)
        return self.process.returncode, said


@pytest.fixture(scope="module")
def viewer(made: Path) -> Iterator[Viewer]:
    """One server for the tests that only ask."""
    running = Viewer(made, "--no-browser")
    yield running
    running.process.kill()
    running.process.communicate()


def test_it_serves_the_report_of_the_run(viewer: Viewer, made: Path, tmp_path: Path) -> None:
    product.load_run(made).report(tmp_path / "page.html")
    response, content = viewer.ask()
    assert response.status == 200
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Content-Encoding"] is None
    assert content == (tmp_path / "page.html").read_bytes()
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    hashes = re.findall(r"'sha256-[^']+'", policy)
    assert len(hashes) >= 2
    assert all(one.strip("'").encode() in content for one in hashes)
    assert "unsafe" not in policy


def test_every_answer_says_what_a_browser_must_not_do(viewer: Viewer) -> None:
    for method, path in (("GET", "/"), ("GET", "/elsewhere"), ("POST", "/")):
        response, _ = viewer.ask(method, path)
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert response.headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert response.headers["Access-Control-Allow-Origin"] is None


def test_it_packs_the_page_for_whoever_can_unpack_it(viewer: Viewer) -> None:
    _, plain = viewer.ask()
    response, packed = viewer.ask(headers={"Accept-Encoding": "br, gzip;q=0.8"})
    assert response.headers["Content-Encoding"] == "gzip"
    assert response.headers["Vary"] == "Accept-Encoding"
    assert len(packed) < len(plain) / 2
    assert gzip.decompress(packed) == plain
    response, content = viewer.ask(headers={"Accept-Encoding": "gzip;q=0, br"})
    assert response.headers["Content-Encoding"] is None
    assert content == plain


def test_head_gives_the_headers_alone(viewer: Viewer) -> None:
    response, content = viewer.ask("HEAD")
    _, whole = viewer.ask()
    assert (response.status, content) == (200, b"")
    assert int(response.headers["Content-Length"]) == len(whole)


@pytest.mark.parametrize(
    "path",
    ["/run.json", "/journal.jsonl", "/../run.json", "/%2e%2e/run.json", "//run.json", "/favicon.ico"],
)
def test_there_is_only_one_page(viewer: Viewer, path: str) -> None:
    response, content = viewer.ask(path=path)
    assert response.status == 404
    assert b"this page does not exist" in content


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"])
def test_other_methods_are_refused(viewer: Viewer, method: str) -> None:
    response, _ = viewer.ask(method, body=b"x" * 100)
    assert response.status == 405
    assert response.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "localhost@evil.example", "", "["]
)
def test_a_site_that_is_made_to_lead_here_gets_nothing(viewer: Viewer, host: str) -> None:
    response, content = viewer.ask(headers={"Host": host})
    assert response.status == 403
    assert b"loopback" in content
    assert b"<" not in content


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1:8000", "[::1]:8000", "127.0.0.2"])
def test_names_of_the_loopback_are_served(viewer: Viewer, host: str) -> None:
    response, _ = viewer.ask(headers={"Host": host})
    assert response.status == 200


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b" 403 "),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", b" 403 "),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", b"505"),
        (b"GET http://x.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b" 404 "),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b" 414 "),
    ],
)
def test_requests_that_are_none_harm_nobody(viewer: Viewer, sent: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=300) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            assert status in answer.readline()
    assert viewer.ask()[0].status == 200


def test_many_at_once_and_one_that_says_nothing(viewer: Viewer) -> None:
    statuses: list[int] = []
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=300):
        threads = [threading.Thread(target=lambda: statuses.append(viewer.ask()[0].status)) for _ in range(12)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(300)
    assert statuses == [200] * 12


def test_it_listens_on_the_loopback_only(viewer: Viewer) -> None:
    own = {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    others = sorted(address for address in own if not str(address).startswith("127."))
    if not others:
        pytest.skip("this machine has no address but the loopback's")
    with pytest.raises(ConnectionRefusedError), socket.create_connection((str(others[0]), viewer.port), timeout=60):
        pass


def test_a_run_that_changes_on_disk_is_drawn_anew(run: Path) -> None:
    viewer = Viewer(run, "--no-browser")
    try:
        _, before = viewer.ask()
        assert viewer.ask()[1] == before
        stored = json.loads((run / "run.json").read_text(encoding="utf-8"))
        good = json.dumps({**stored, "settings": {**stored["settings"], "name": "Named since"}})
        (run / "run.json").write_text(good, encoding="utf-8")
        _, after = viewer.ask()
        assert b"Named since" in after
        assert b"Named since" not in before
        (run / "run.json").write_text("{", encoding="utf-8")
        response, content = viewer.ask()
        assert response.status == 503
        assert b"run.json" in content
        (run / "run.json").write_text(good, encoding="utf-8")
        assert viewer.ask()[1] == after
    finally:
        status, said = viewer.end()
    assert status == 0
    assert "Traceback" not in said


def test_two_runs_are_shown_beside_each_other(run: Path, made: Path, tmp_path: Path) -> None:
    viewer = Viewer(made, run, "--no-browser")
    try:
        _, content = viewer.ask()
        product.diff(made, run).report(tmp_path / "diff.html")
        assert content == (tmp_path / "diff.html").read_bytes()
        stored = json.loads((run / "run.json").read_text(encoding="utf-8"))
        named = {**stored, "settings": {**stored["settings"], "name": "Named since"}}
        (run / "run.json").write_text(json.dumps(named), encoding="utf-8")
        assert b"Named since" in viewer.ask()[1]
    finally:
        viewer.end()
    assert "nowhere" in refused("view", made, tmp_path / "nowhere", "--no-browser", "--idle", "5")


def test_it_ends_when_nobody_asks_any_more(run: Path) -> None:
    viewer = Viewer(run, "--no-browser", "--idle", "0.5")
    _, said = viewer.process.communicate(timeout=300)
    assert viewer.process.returncode == 0
    assert "0.5 s without a request" in said


def test_each_request_prolongs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.cli.view import server as view_server

    now_s = 0.0
    monkeypatch.setattr(view_server, "time", SimpleNamespace(monotonic=lambda: now_s))
    with view_server.ReportServer(view_server.OnePage(view_server.LivePage([], lambda: b"a page")), 0) as server:
        serving = threading.Thread(target=server.serve_until_idle, args=(100.0,), daemon=True)
        serving.start()
        for _ in range(3):
            now_s += 99.0
            with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=300)) as connection:
                connection.request("GET", "/")
                assert connection.getresponse().read() == b"a page"
            assert serving.is_alive()
        while serving.is_alive():  # what was answered last may count as answered a little later
            now_s += 101.0
            serving.join(1.0)


def test_it_opens_the_address_in_a_browser(run: Path, tmp_path: Path) -> None:
    script = tmp_path / "browser.py"
    script.write_text(f"import sys, pathlib; pathlib.Path({str(tmp_path / 'opened')!r}).write_text(sys.argv[1])")
    viewer = Viewer(run, env={"BROWSER": f"{sys.executable} {script} %s"})
    opened = tmp_path / "opened"
    until(lambda: opened.exists() and bool(opened.read_text()), what="a browser at work")
    viewer.end()
    assert opened.read_text() == f"http://127.0.0.1:{viewer.port}/"


def test_a_port_may_be_named_and_is_free_again_at_once(run: Path) -> None:
    viewer = Viewer(run, "--no-browser")
    viewer.ask()
    viewer.end()
    again = Viewer(run, "--no-browser", "--port", viewer.port)
    try:
        assert again.port == viewer.port
    finally:
        again.end()


def test_a_port_that_is_taken_is_said(viewer: Viewer, run: Path) -> None:
    done = assay("view", run, "--no-browser", "--port", viewer.port)
    assert done.returncode == 2
    assert f"port {viewer.port} on 127.0.0.1" in done.stderr
    assert "--port" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("broken", ["nothing", "no run", "unfinished", "damaged", "cut"])
def test_what_cannot_be_shown_is_said_before_anything_is_served(run: Path, broken: str) -> None:
    stored = json.loads((run / "run.json").read_text(encoding="utf-8"))
    folder = run.parent / "nowhere" if broken == "nothing" else run
    if broken == "no run":
        (run / "run.json").unlink()
    elif broken == "cut":
        (run / "journal.jsonl").write_bytes(b"")
    elif folder is run:
        content = "{" if broken == "damaged" else json.dumps({**stored, "status": "running"})
        (run / "run.json").write_text(content, encoding="utf-8")
    done = assay("view", folder, "--no-browser", "--idle", "5")
    assert done.returncode == 2
    assert done.stdout == ""
    assert str(folder) in done.stderr
    assert "Traceback" not in done.stderr
