"""A run on a Ray cluster gives what a run on one machine gives, whatever is lost on the way.

The cluster is real: two nodes of one processor each, as processes of this machine, on addresses of its loopback.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.errors import InputError, RunError
from assay.model import Case
from assay.model.witness import WitnessSettings
from assay.runs.backends import ray_connection
from assay.runs.progress import Progress
from ports import free_port
from running import sqlite_url

pytest.importorskip("ray", reason="Ray is not installed: pip install 'assay[ray]'")

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Ray's nodes share one machine on Linux alone"),
    # Ray itself leaves files open, and warns of its own future.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

_HOST = "127.0.0.2"
"""Ray takes 127.0.0.1 for the machine's outer address."""
_METRICS = ["match", "bird_ex", "spider_ex"]
_WAIT_S = 240.0
_PASSWORD = secrets.token_hex(12)
_VARIABLE = "ASSAY_TEST_CLUSTER_PASSWORD"


def _until(what: Callable[[], object], why: str) -> None:
    end = time.monotonic() + _WAIT_S
    while not what():
        assert time.monotonic() < end, why
        time.sleep(0.05)


def _is_of_pool(place: Path) -> bool:
    return b"assay.engines.pool" in (place / "cmdline").read_bytes()


class Cluster:
    """A head without workers of its own, and nodes of one processor."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started = 0
        self.port, self.client_port = free_port(_HOST), free_port(_HOST)
        self.nodes: list[subprocess.Popen[bytes]] = []
        self.known: list[int] = []
        """The nodes that the head was seen to know, and no others."""
        self.head = self._start(
            *("--head", "--port", str(self.port), "--ray-client-server-port", str(self.client_port)),
            *("--temp-dir", str(folder / "s"), "--include-dashboard", "false", "--num-cpus", "0"),
        )

    @property
    def address(self) -> str:
        return f"{_HOST}:{self.port}"

    def add_node(self) -> subprocess.Popen[bytes]:
        """Start a node, one after the other: Ray's nodes of one machine pick the names of their sockets."""
        node = self._start("--address", self.address, "--num-cpus", "1")
        self.nodes.append(node)
        return node

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        """End all processes of a node at once, as a power cut would."""
        with suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGKILL)
        node.wait()

    def pools_of(self, node: subprocess.Popen[bytes]) -> list[int]:
        """The process ids of the workers that Assay's actor has on a node."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if os.getsid(int(place.name)) != node.pid or not _is_of_pool(place):
                    continue
                parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
                # Where workers are forked, what forks them is of the pool, too.
                if b"assay.engines.pool.worker" in (place / "cmdline").read_bytes() or _is_of_pool(
                    place.parent / parent
                ):
                    found.append(int(place.name))
        return found

    def close(self) -> None:
        for node in (*self.nodes, self.head):
            self.kill(node)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "RAY_USAGE_STATS_ENABLED": "0",
            "ASSAY_NODE_CACHE": str(self.folder / "databases"),
            _VARIABLE: _PASSWORD,
        }
        path = self.folder / f"log{self._started}"
        self._started += 1
        with open(path, "ab") as log:
            started = subprocess.Popen(
                [
                    *(sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--block"),
                    *("--node-ip-address", _HOST, "--disable-usage-stats", "--object-store-memory", "80000000"),
                    *arguments,
                ],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
            )
        end = time.monotonic() + _WAIT_S
        while b"runtime started" not in path.read_bytes():
            if started.poll() is not None or time.monotonic() > end:
                for node in (*self.nodes, started):
                    self.kill(node)
                pytest.skip(f"Ray does not start here within {_WAIT_S:g} s: {path.read_text()[-300:]}")
            time.sleep(0.05)
        return started


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection((_HOST, port), timeout=1.0):
        return True
    return False


_WAIT_FOR_TWO = """
import sys, time, ray

ray.init(sys.argv[1], log_to_driver=False, logging_level="ERROR")
while sum(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]) != 2:
    time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent.parent))
        from keeper import Keeper
    folder = Path(tempfile.mkdtemp(prefix="ar-", dir="/tmp"))  # the path of a socket may have 107 characters
    keeper = Keeper(folder)
    made = None
    try:
        made = Cluster(folder)
        made.add_node()
        made.add_node()
        yield made
    finally:
        import ray

        ray.shutdown()
        if made is not None:
            made.close()
        keeper.close()


@pytest.fixture
def two_nodes(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The cluster with two nodes, whatever the test before did to it."""
    while len([node for node in cluster.nodes if node.poll() is None]) < 2:
        cluster.add_node()
    there = [node.pid for node in cluster.nodes if node.poll() is None]
    if there != cluster.known:
        subprocess.run([sys.executable, "-c", _WAIT_FOR_TWO, cluster.address], check=True, timeout=_WAIT_S)
        cluster.known = there
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    monkeypatch.setattr(ray_connection, "_CONNECT_S", _WAIT_S)  # on a busy machine
    return cluster


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three databases, questions on them, and answers of all kinds."""
    folder = tmp_path_factory.mktemp("questions")
    for name in ("shop0", "shop1", "shop2"):
        for file in (name, f"{name}_other"):
            path = folder / "databases" / name / f"{file}.sqlite"
            rows = ", ".join(f"({n}, '{file}{n % 13}', {n * 1.5})" for n in range(500))
            sqlite_url(
                path,
                f"CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL);INSERT INTO item VALUES {rows};",
            )
    cases, answers = [], []
    for n in range(240):
        gold = f"SELECT name, count(*), avg(price) FROM item WHERE id > {n} GROUP BY name"
        if n % 4 == 0:  # slow enough that there is work left when something is lost
            gold = f"SELECT count(*), avg(one.price) FROM item one, item two WHERE one.price < two.price + {n}"
        wrong = (gold, gold.replace("avg", "sum"), f"SELECT name FROM item WHERE id = {n}", "SELECT 1 FROM nowhere", "")
        case = {"id": f"c{n}", "db_id": f"shop{n % 3}", "question": f"Which items of {n}?", "gold": gold}
        cases.append(json.dumps(case))
        answers.append(json.dumps({"id": f"c{n}", "prediction": wrong[n % 5]}))
    (folder / "cases.jsonl").write_text("\n".join(cases) + "\n")
    (folder / "answers.jsonl").write_text("\n".join(answers) + "\n")
    return folder


def _evaluate(questions: Path, output: Path, **more: Any) -> assay.Run:
    given = {"databases": f"sqlite:///{questions}/databases/{{db_id}}/{{db_id}}.sqlite", "metrics": _METRICS} | more
    return assay.evaluate(questions / "cases.jsonl", questions / "answers.jsonl", output=output, **given)


@pytest.fixture(scope="module")
def local(questions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run on this machine."""
    folder = tmp_path_factory.mktemp("local") / "run"
    _evaluate(questions, folder, workers=1)
    return folder


def _content(folder: Path) -> list[str]:
    """A journal's lines without their times and order, and without causes, whose repairs end by the clock."""
    lines = []
    for line in (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines():
        read = json.loads(re.sub(r'"wall_time_s":[0-9.e+-]+', '"wall_time_s":0', line))
        for name in ("cause", "diagnosis"):
            read["evidence"].pop(name, None)
        lines.append(json.dumps(read, sort_keys=True))
    return sorted(lines)


def _numbers(folder: Path) -> dict[str, Any]:
    aggregates: dict[str, Any] = json.loads((folder / "run.json").read_text())["aggregates"]
    return {name: aggregates[name] for name in ("cases", "correct", "incorrect", "unscored", "flags", "near_misses")}


def _assert_same(folder: Path, local: Path) -> None:
    assert _content(folder) == _content(local)
    assert _numbers(folder) == _numbers(local)


def test_a_cluster_judges_as_one_machine_does(
    two_nodes: Cluster, questions: Path, local: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = _evaluate(questions, tmp_path / "run", backend="ray")
    _assert_same(tmp_path / "run", local)
    assert run.settings.workers == 2
    assert capfd.readouterr().out == ""


def test_suites_and_witnesses_on_a_cluster_are_those_of_one_machine(
    two_nodes: Cluster, questions: Path, tmp_path: Path
) -> None:
    """Every node has the suite, and each pair is looked at where a case would be."""
    pairs = {
        "lucky": ("SELECT name FROM item WHERE id > 498", "SELECT name FROM item WHERE id = 499"),
        "equal": ("SELECT name FROM item WHERE id > 498", "SELECT name FROM item WHERE NOT id <= 498"),
        "wrong": ("SELECT count(*) FROM item", "SELECT count(*) FROM item WHERE id > 7"),
    }
    cases = [Case(id=name, question=f"{name}?", golds=(gold,)) for name, (gold, _) in pairs.items()]
    answers = {name: answer for name, (_, answer) in pairs.items()}
    url = f"sqlite:///{questions}/databases/shop0/shop0.sqlite"
    options: dict[str, Any] = {"databases": url, "metrics": ["match"]}
    first = assay.evaluate(cases, answers, workers=1, output=tmp_path / "first", **options)
    suite = tmp_path / "suite"
    assay.build_suite(cases, [first], databases=url, most_neighbours=3, output=suite, workers=1)
    options |= {"suite": suite, "witness": WitnessSettings(seconds=0.5)}
    here = assay.evaluate(cases, answers, workers=1, **options)
    there = assay.evaluate(cases, answers, backend="ray", **options)
    told = [[(item.case.id, item.scores, item.verdict) for item in run.evidence] for run in (here, there)]
    assert told[0] == told[1]
    values = {item.case.id: [score.value for score in item.scores] for item in there.evidence}
    assert values == {"lucky": [1.0, 0.0, 0.0], "equal": [1.0, 1.0, 1.0], "wrong": [0.0, 0.0, 0.0]}


def test_ray_client_judges_as_one_machine_does(
    two_nodes: Cluster, questions: Path, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS")
    _until(lambda: _listens(two_nodes.client_port), "Ray Client does not listen")
    _evaluate(questions, tmp_path / "run", backend=f"ray://{_HOST}:{two_nodes.client_port}")
    _assert_same(tmp_path / "run", local)


class _DeadServers:
    """Ray Client's servers, the first of which die as they start."""

    def __init__(self, patch: pytest.MonkeyPatch, dead: int) -> None:
        from ray.util.client.worker import Worker

        self.asked = 0
        init = Worker._server_init

        def start(worker: Any, *arguments: Any) -> None:
            self.asked += 1
            if self.asked <= dead:
                raise ConnectionAbortedError(f"Initialization failure:\nRuntimeError: {ray_connection._START_FAILED}.")
            init(worker, *arguments)

        patch.setattr(Worker, "_server_init", start)


def test_a_ray_client_whose_server_dies_at_once_is_given_another(
    two_nodes: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS")
    _until(lambda: _listens(two_nodes.client_port), "Ray Client does not listen")
    servers = _DeadServers(monkeypatch, dead=2)
    ray, leave = ray_connection.connected(f"ray://{_HOST}:{two_nodes.client_port}")
    assert leave is not None
    try:
        assert servers.asked == 3
        assert sum(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]) == 2
    finally:
        leave()


def test_a_ray_client_that_never_starts_leaves_the_way_to_a_cluster_open(
    two_nodes: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    _until(lambda: _listens(two_nodes.client_port), "Ray Client does not listen")
    servers = _DeadServers(monkeypatch, dead=99)
    with pytest.raises(InputError, match="Starting Ray client server failed"):
        ray_connection.connected(f"ray://{_HOST}:{two_nodes.client_port}")
    assert servers.asked == 3
    ray, leave = ray_connection.connected(None)  # RAY_ADDRESS
    assert leave is not None
    try:
        assert sum(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]) == 2
    finally:
        leave()


def test_a_node_without_the_databases_gets_them_with_those_beside_them(
    two_nodes: Cluster, questions: Path, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(questions)
    _evaluate(questions, tmp_path / "run", backend="ray", databases="sqlite:///databases/{db_id}/{db_id}.sqlite")
    found = [json.loads(line)["evidence"]["scores"] for line in _content(tmp_path / "run")]
    wanted = [json.loads(line)["evidence"]["scores"] for line in _content(local)]
    assert sorted(map(str, found)) == sorted(map(str, wanted))
    kept = sorted(two_nodes.folder.glob("databases/*/shop0/*"))
    assert [path.name for path in kept] == ["shop0.sqlite", "shop0_other.sqlite"]
    assert kept[0].read_bytes() == (questions / "databases/shop0/shop0.sqlite").read_bytes()


def test_a_node_lost_on_the_way_changes_nothing(
    two_nodes: Cluster, questions: Path, local: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    killed = []

    def kill(progress: Progress) -> None:
        if progress.finished >= 20 and not killed:
            victim = next(node for node in two_nodes.nodes if node.poll() is None and two_nodes.pools_of(node))
            killed.append(victim)
            two_nodes.kill(victim)

    _evaluate(questions, tmp_path / "run", backend="ray", on_progress=kill)
    assert killed
    _assert_same(tmp_path / "run", local)
    assert capfd.readouterr().out == ""  # where a report may go


def test_a_worker_killed_on_the_way_changes_nothing(
    two_nodes: Cluster, questions: Path, local: Path, tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        if progress.finished >= 20 and not killed:
            killed.extend(pid for node in two_nodes.nodes for pid in two_nodes.pools_of(node)[:1])
            for pid in killed:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    _evaluate(questions, tmp_path / "run", backend="ray", on_progress=kill)
    assert killed
    _assert_same(tmp_path / "run", local)


def test_a_driver_killed_goes_on_where_it_was(two_nodes: Cluster, questions: Path, local: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "assay", "run", str(questions / "cases.jsonl"), "--backend", "ray", "--quiet"]
    command += ["-p", str(questions / "answers.jsonl"), "-o", str(folder), "--metrics", ",".join(_METRICS)]
    command += ["--db", f"sqlite:///{questions}/databases/{{db_id}}/{{db_id}}.sqlite"]
    journal = folder / "journal.jsonl"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as driver:
        _until(lambda: driver.poll() is not None or (journal.exists() and journal.stat().st_size), "no case is judged")
        os.killpg(driver.pid, signal.SIGKILL)
    finished = journal.read_bytes().count(b"\n")
    assert finished
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_WAIT_S)
    assert done.returncode == 0, done.stderr
    _assert_same(folder, local)
    _until(lambda: not any(map(two_nodes.pools_of, two_nodes.nodes)), "workers of an ended driver go on")


def test_no_node_left_ends_the_run_and_keeps_what_was_finished(
    two_nodes: Cluster, questions: Path, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.runs.backends import ray_cluster

    monkeypatch.setattr(ray_cluster, "_WAIT_FOR_NODES_S", 0.0)

    def kill(progress: Progress) -> None:
        if progress.finished >= 20:
            for node in two_nodes.nodes:
                two_nodes.kill(node)

    with pytest.raises(RunError, match=r"no node of the Ray cluster is left .* finished cases are stored"):
        _evaluate(questions, tmp_path / "run", backend="ray", on_progress=kill)
    assert len(_content(tmp_path / "run")) >= 20
    monkeypatch.delenv("RAY_ADDRESS")
    _evaluate(questions, tmp_path / "run")  # what is missing, on this machine
    _assert_same(tmp_path / "run", local)


def test_a_database_too_large_to_be_sent_is_named_with_its_node(
    two_nodes: Cluster, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.runs.backends import ray_cluster

    monkeypatch.setattr(ray_cluster, "_MOST_SENT_BYTES", 4096)
    monkeypatch.chdir(questions)
    databases = "sqlite:///./databases/{db_id}/../{db_id}/{db_id}.sqlite"
    with (questions / "databases/shop0/shop0.sqlite").open("r+b") as file:
        before = file.read()
    more = "INSERT INTO item VALUES (1000, 'one more, so that no node has this content', 1)"
    sqlite_url(questions / "databases/shop0/shop0.sqlite", more)
    try:
        with pytest.raises(InputError, match=r"the node 127.0.0.2 \(\w+\): .*shop\d.sqlite is not there .* too many"):
            _evaluate(questions, tmp_path / "run", backend="ray", databases=databases)
        assert not (tmp_path / "run").exists()
    finally:
        (questions / "databases/shop0/shop0.sqlite").write_bytes(before)


def test_a_node_of_another_version_is_refused(
    two_nodes: Cluster, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.runs.backends import ray_node

    monkeypatch.setattr(ray_node, "versions_here", lambda: {"Assay": "99.9", "Python": "3.11"})
    with pytest.raises(InputError, match=r"the node .* has Assay .*, and Assay 99.9 started the run"):
        _evaluate(questions, tmp_path / "run", backend="ray")
    assert not (tmp_path / "run").exists()  # nothing was asked, and nothing written


def test_a_password_stays_out_of_the_cluster(
    two_nodes: Cluster, postgres: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    name = "cluster_shop"
    postgres.drop(name)
    postgres.create(name, "CREATE TABLE item (id int); INSERT INTO item VALUES (1), (2)")
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"ALTER ROLE {name} PASSWORD '{_PASSWORD}'")  # type: ignore[call-overload]
    cases = [{"id": "1", "question": "How many?", "gold": "SELECT count(*) FROM item"}]
    try:
        databases = postgres.database(name, user=name, password=_PASSWORD)
        with pytest.raises(InputError, match="contains a password, and these are not sent to a cluster"):
            assay.evaluate(cases, ["SELECT 2"], databases=databases, metrics=["match"], backend="ray")
        monkeypatch.setenv(_VARIABLE, _PASSWORD)
        referring = postgres.database(name, user=name, password="x").replace(":x@", f":${{{_VARIABLE}}}@")
        run = assay.evaluate(cases, ["SELECT 2"], databases=referring, metrics=["match"], backend="ray")
        assert run.aggregates.correct == 1
    finally:
        postgres.drop(name)
    for path in two_nodes.folder.rglob("*"):
        if path.is_file():
            assert _PASSWORD.encode() not in path.read_bytes(), path
