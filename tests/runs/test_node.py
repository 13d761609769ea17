"""A cluster's node on its own: databases by their content, batches in, outcomes out. No cluster is needed."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from msgspec.structs import replace

from assay import registry
from assay.api.workers import worker_settings
from assay.engines.sqlite import SqliteEngine
from assay.errors import AssayError, DatabaseError, InputError
from assay.model import Case, CaseOptions, ComparisonOptions, DatabaseUrl, Limits, Prediction
from assay.model.witness import Refutation, WitnessSettings
from assay.ports import NeededDatabase, Task, TaskDone
from assay.runs.aggregate.summarize import Summarizer
from assay.runs.backends import node as node_module
from assay.runs.backends.bundle import Bundle, bundle_of, chunks_of
from assay.runs.backends.node import Node, NodeSettings, pack_batch
from assay.runs.backends.node_databases import NodeDatabases
from assay.runs.backends.ray_connection import first_line
from assay.runs.backends.ray_node import check_versions, versions_here
from assay.runs.plan import Work
from assay.runs.store.codec import decode_evidence
from assay.runs.workers.worker_tasks import MatchTask, Timed, TimingTask
from many_cases import each

_SCRIPT = "CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1), (2)"


@pytest.fixture
def shop(make_sqlite: Callable[..., Path]) -> Path:
    make_sqlite(_SCRIPT, "there/shop/shop_other.sqlite")
    return make_sqlite(_SCRIPT, "there/shop/shop.sqlite")


def _needed(path: Path | str) -> NeededDatabase:
    url = DatabaseUrl(text=f"sqlite:///{path}")
    return NeededDatabase(url=url, fingerprint=SqliteEngine.fingerprint(url), version=SqliteEngine.version())


def _databases(cache: Path) -> NodeDatabases:
    return NodeDatabases(registry.engine_references(), cache)


def _send(databases: NodeDatabases, bundle: Bundle, folder: Path) -> None:
    for file in bundle.files:
        for chunk in chunks_of(str(folder / file.name)):
            databases.receive(bundle.digest, file.name, chunk)


def _bundle(path: Path) -> Bundle:
    return bundle_of(SqliteEngine, DatabaseUrl(text=f"sqlite:///{path}"), Limits())


def test_a_database_with_the_same_content_is_used_where_it_is(shop: Path, tmp_path: Path) -> None:
    databases = _databases(tmp_path / "cache")
    needed = _needed(shop)
    assert databases.locate(needed)
    assert databases.places == {needed.url.text: needed.url}
    for value in (_settings(), needed, _bundle(shop)):  # what travels
        assert pickle.loads(pickle.dumps(value)) == value
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("what", ["absent", "other", "relative"])
def test_any_other_database_is_sent_with_its_siblings_and_found_again(
    shop: Path, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed, bundle = _needed(shop), _bundle(shop)
    here = shop
    if what == "relative":
        monkeypatch.chdir(shop.parent)
        needed = _needed("shop.sqlite")
    else:
        here = shop.parent.rename(tmp_path / "driver") / "shop.sqlite"
    if what == "other":
        shop.parent.mkdir()
        shop.write_bytes(here.read_bytes() + b"\0" * 4096)
    databases = _databases(tmp_path / "cache")
    assert not databases.locate(needed)
    assert not databases.locate(needed, bundle)
    _send(databases, bundle, here.parent)
    assert databases.locate(needed, bundle)
    path = Path(databases.places[needed.url.text].path)
    assert path.read_bytes() == here.read_bytes()
    assert sorted(os.listdir(path.parent)) == ["shop.sqlite", "shop_other.sqlite"]
    assert path.parent.name == "shop"  # by which an engine knows its siblings
    again = _databases(tmp_path / "cache")
    assert again.locate(needed, bundle)
    assert again.places == databases.places
    assert os.listdir(tmp_path / "cache") == [bundle.digest]


def test_a_cached_database_that_somebody_changed_is_fetched_anew(shop: Path, tmp_path: Path) -> None:
    here = shop.parent.rename(tmp_path / "driver")
    needed = replace(_needed(here / "shop.sqlite"), url=DatabaseUrl(text=f"sqlite:///{shop}"))
    bundle = _bundle(here / "shop.sqlite")
    databases = _databases(tmp_path / "cache")
    _send(databases, bundle, here)
    assert databases.locate(needed, bundle)
    kept = Path(databases.places[needed.url.text].path)
    kept.write_bytes(kept.read_bytes()[:-1] + b"\1")
    again = _databases(tmp_path / "cache")
    assert not again.locate(needed, bundle)
    _send(again, bundle, here)
    assert again.locate(needed, bundle)
    assert kept.read_bytes() == (here / "shop.sqlite").read_bytes()


def test_a_database_that_changes_while_it_is_sent_is_not_kept(shop: Path, tmp_path: Path) -> None:
    bundle = _bundle(shop)
    needed = replace(_needed(shop), url=DatabaseUrl(text=f"sqlite:///{tmp_path}/elsewhere/shop.sqlite"))
    shop.write_bytes(shop.read_bytes()[:-1] + b"\1")
    databases = _databases(tmp_path / "cache")
    _send(databases, bundle, shop.parent)
    with pytest.raises(DatabaseError, match="changed while it was sent: run the same command again"):
        databases.locate(needed, bundle)
    assert os.listdir(tmp_path / "cache") == []


@each("name", ["../shop.sqlite", "/etc/shop.sqlite", "a/b", "..", "."])
def test_a_file_cannot_leave_the_cache(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is not a name of a file"):
        _databases(tmp_path / "cache").receive("0" * 32, name, b"")
    assert not (tmp_path / "cache").exists()


def test_another_version_and_a_database_without_room_are_refused_before_it_is_sent(shop: Path, tmp_path: Path) -> None:
    needed, bundle = _needed(shop), _bundle(shop)
    with pytest.raises(InputError, match=r"version \S+ on this node, and 1.2.3 on the driver"):
        _databases(tmp_path / "cache").locate(replace(needed, version="1.2.3"))
    huge = replace(bundle, files=(replace(bundle.files[0], size=1 << 60), *bundle.files[1:]))
    shop.unlink()
    with pytest.raises(InputError, match=r"bytes left for a database of .*ASSAY_NODE_CACHE"):
        _databases(tmp_path / "cache").locate(needed, huge)


def test_other_versions_of_a_node_are_refused() -> None:
    here = versions_here()
    check_versions(here, dict(here), "the node")
    for name in here:
        with pytest.raises(InputError, match=f"the node has {name} 0.0"):
            check_versions(here, here | {name: "0.0"}, "the node")
        with pytest.raises(InputError, match=f"{name} is not installed on the node"):
            check_versions(here, here | {name: None}, "the node")


def _settings(metrics: Sequence[str] = ("match",), workers: int = 2) -> NodeSettings:
    worker = worker_settings(ComparisonOptions(), Limits(), metrics)
    return NodeSettings(workers=workers, worker=worker, memory_limit_bytes=None)


def _taken(node: Node, count: int) -> dict[int, object]:
    found: dict[int, object] = {}
    until = monotonic() + 300
    while len(found) < count:
        assert monotonic() < until
        delivery = node.take(1.0)
        if delivery.error is not None:
            raise delivery.error
        found |= {one.task_id: one.outcome for one in delivery.outcomes if isinstance(one, TaskDone)}
    return found


def test_a_node_does_batches_on_its_own_copy_of_a_database(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_NODE_CACHE", str(tmp_path / "cache"))
    url = DatabaseUrl(text="sqlite:///only/there/shop.sqlite")
    needed, bundle = replace(_needed(shop), url=url), _bundle(shop)
    case = Case(id="1", question="How many?", golds=("SELECT count(*) FROM item",))

    def task(number: int, query: str) -> Task:
        prediction = Prediction(case_id="1", query=query)
        return Task(id=number, payload=Work(case=case, prediction=prediction, url=url), database=url)

    node = Node(_settings())
    try:
        node.wait_until_ready()
        node.locate(needed)
        for file in bundle.files:
            for chunk in chunks_of(str(shop.parent / file.name)):
                node.receive(bundle.digest, file.name, chunk)
        assert node.locate(needed, bundle)
        for first in (0, 2):
            node.give(pack_batch([task(first, "SELECT 2"), task(first + 1, "SELECT 3")], monotonic()))
        now = monotonic() - 1_000_000  # the driver's clock shows another time
        timing = TimingTask(gold="SELECT 1", predicted="SELECT 1", url=url, iterations=1, until=now + 60)
        node.give(pack_batch([Task(id=4, payload=timing, database=url)], now))
        pair = {"golds": ("SELECT id FROM item",), "predicted": "SELECT DISTINCT id FROM item", "url": url}
        match = MatchTask(options=CaseOptions(), witness=WitnessSettings(seconds=0.2, max_rows=0), **pair)
        node.give(pack_batch([Task(id=5, payload=match, database=url)], monotonic()))
        found = _taken(node, 6)
    finally:
        node.close()
    scored: list[Any] = [outcome for _, outcome in sorted(found.items()) if isinstance(outcome, tuple)]
    outcomes = [decode_evidence(line).outcome for line, _, _ in scored]
    assert [summary.outcome for summary in Summarizer().received(scored)] == outcomes
    assert outcomes == ["correct", "incorrect", "correct", "incorrect"]
    assert isinstance(found[4], Timed)
    assert not found[4].out_of_time
    assert isinstance(found[5], Refutation)  # the node's own copy has the schema that witnesses are made of
    assert found[5].differs


def test_a_worker_that_cannot_set_up_is_told() -> None:
    settings = _settings()
    node = Node(replace(settings, worker=replace(settings.worker, metrics=("no.such.module:Metric",))))
    try:
        with pytest.raises(AssayError, match="could not set up"):
            node.wait_until_ready()
    finally:
        node.close()


@pytest.mark.parametrize("most_waiting_bytes", [1, 1 << 25])
def test_a_node_that_winds_up_says_what_it_does_not_do(
    shop: Path, monkeypatch: pytest.MonkeyPatch, most_waiting_bytes: int
) -> None:
    # With room for one outcome the node waits for its driver at once, which waits for the answer to winding up.
    monkeypatch.setattr(node_module, "_MOST_WAITING_BYTES", most_waiting_bytes)
    url = DatabaseUrl(text=f"sqlite:///{shop}")
    case = Case(id="1", question="How many?", golds=("SELECT count(*) FROM item",))
    # All of them take so long that most are still to be done when the first is.
    counting = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000) SELECT count(*) FROM n UNION"
    )
    answers = [Prediction(case_id="1", query=f"{counting} SELECT {number}") for number in range(400)]
    works = [Work(case=case, prediction=answer, url=url) for answer in answers]
    tasks = [Task(id=number, payload=work, database=url) for number, work in enumerate(works)]
    node = Node(_settings())
    try:
        node.wait_until_ready()
        for start in range(0, 400, 25):  # a batch that is begun is done to its end
            node.give(pack_batch(tasks[start : start + 25], monotonic()))
        first = _taken(node, 1)
        dropped = node.stop_gracefully()
        done = first | _taken(node, 400 - len(dropped) - len(first))
        again = node.stop_gracefully()
    finally:
        node.close()
    assert dropped
    assert sorted([*done, *dropped]) == list(range(400))
    assert again == []


def _meetings(folder: Path, count: int, together: int) -> bytes:
    folder.mkdir()
    tasks = [Task(id=number, payload=(folder, together)) for number in range(count)]
    return pack_batch(tasks, monotonic(), shared=together > 1)


def test_free_workers_help_with_a_batch_that_may_be_parted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No task of the first batch ends before each worker has one; the other batch is for one worker alone."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(node_module, "SETUP", "node_tasks:meeting")
    node = Node(_settings(workers=3))
    try:
        node.wait_until_ready()
        node.give(_meetings(tmp_path / "parted", 12, together=3))
        parted = _taken(node, 12)
        node.give(_meetings(tmp_path / "whole", 40, together=1))
        whole = _taken(node, 40)
    finally:
        node.close()
    assert (sorted(parted), sorted(whole)) == (list(range(12)), list(range(40)))
    assert len(os.listdir(tmp_path / "parted")) == 3
    assert len(os.listdir(tmp_path / "whole")) == 1


@each(
    ("text", "told"),
    [
        ("no route", "no route"),
        ("lost\nTraceback:\n  a line", "lost"),
        ("from server:\nTraceback:\n  File x\nRuntimeError: no start\n", "from server: RuntimeError: no start"),
        ("", "OSError"),
    ],
)
def test_an_error_of_many_lines_is_told_in_one_that_says_something(text: str, told: str) -> None:
    assert first_line(OSError(text)) == told
