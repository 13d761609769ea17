"""A cluster node's side of a run: it hosts worker pools, takes batches, and hands out outcomes.

It knows nothing of the cluster's software: `assay.runs.backends.ray` puts one on each node and calls it. Limits and
kills need the machine that the workers are on, so the pools are those of `assay.engines.pool`. There is one pool of one
worker for each worker, since a pool waits for its next batch, and the driver sends batches while others are being done.
"""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, time
from urllib.parse import quote

from assay.engines.database_files import fingerprint_file
from assay.engines.loading import engine_for
from assay.engines.pool.pool import WorkerPool
from assay.errors import AssayError, DatabaseError, InputError
from assay.model import DatabaseUrl
from assay.ports import NeededDatabase, Task, TaskDone, TaskLost
from assay.runs import SETUP
from assay.runs.backends.bundle import Bundle, is_file, is_whole
from assay.runs.store.codec import pack_task, unpack_task
from assay.runs.worker_tasks import CaseTask, MatchTask, TimingTask, WorkerSettings

CACHE_VARIABLE = "ASSAY_NODE_CACHE"
"""The environment variable that names the folder in which a node keeps databases."""
_MOST_WAITING_BYTES = 32 * 1024 * 1024
"""Outcomes of this size wait at most for the driver: then the workers wait, too."""
_OTHER_BYTES = 64 * 1024
"""What an outcome is taken to weigh that is no line of evidence."""
_ENOUGH = 512
_AT_ONCE = 16
"""How many tasks a worker gets at once: it waits between them for about as long as a hundredth of a short task."""
_LINGER_S = 0.1
"""How long outcomes are collected before they are handed out: each call takes as long as a short task."""
_LINGER_WITH_WORK_S = 0.5
"""How much longer while the node has a batch to begin: many nodes that hand out often would keep the driver busy."""
_LEFT_S = 24 * 3600.0
"""After how long unfinished files are nobody's any more."""
_SLACK = 1.1
"""How much more room than its size a database is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """What a node needs to know."""

    workers: int
    worker: WorkerSettings
    memory_limit_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a node hands out: outcomes, and the error after which there are no more."""

    outcomes: tuple[TaskDone | TaskLost, ...] = ()
    error: AssayError | None = None


class Node:
    """Does batches on this machine. Its methods may be called by several threads."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._batches: deque[deque[Task]] = deque()
        self._begun: list[deque[Task]] = []
        """The batches of which a worker has some tasks: what is left of them."""
        self._waiting: deque[TaskDone | TaskLost] = deque()
        self._waiting_bytes = 0
        self._change = threading.Condition()
        self._ready = 0
        self._error: AssayError | None = None
        self._closed = False
        self._databases = NodeDatabases(settings.worker.engines)
        self._pools = [
            WorkerPool(workers=1, setup=SETUP, argument=settings.worker, memory_limit_bytes=settings.memory_limit_bytes)
            for _ in range(settings.workers)
        ]
        for pool in self._pools:
            pool.start()  # here, so that `close` ends every worker
        self._threads = [
            threading.Thread(target=self._serve, args=(pool,), name="assay-node", daemon=True) for pool in self._pools
        ]
        for thread in self._threads:
            thread.start()

    def wait_until_ready(self) -> None:
        """Return when every worker has set up. Raises the error for which one did not."""
        with self._change:
            self._change.wait_for(lambda: self._ready == len(self._pools) or self._error is not None)
            if self._error is not None:
                raise self._error

    def locate(self, needed: NeededDatabase, bundle: Bundle | None = None) -> bool:
        """See `NodeDatabases.locate`."""
        return self._databases.locate(needed, bundle)

    def receive(self, digest: str, name: str, chunk: bytes) -> None:
        """See `NodeDatabases.receive`."""
        self._databases.receive(digest, name, chunk)

    def give(self, packed: bytes) -> None:
        """Take a batch that `pack_batch` packed, whose database is located. Returns at once."""
        database, tasks = pickle.loads(packed)
        place = None if database is None else self._databases.places.get(database)
        with self._change:
            self._batches.append(deque(_placed(task, place) for task in tasks))
            self._change.notify_all()

    def wind_up(self) -> list[int]:
        """Begin no further task of those given so far. Returns the ids of the tasks that are not done therefore."""
        with self._change:
            dropped = [task.id for batch in (*self._batches, *self._begun) for task in batch]
            for batch in (*self._batches, *self._begun):
                batch.clear()
            self._batches.clear()
        return dropped

    def take(self, wait_s: float) -> Delivery:
        """The outcomes since the last call, after at most ``wait_s`` seconds, if there are none yet."""
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._error is not None, timeout=wait_s)
            if self._waiting:
                self._change.wait_for(self._has_enough, timeout=_LINGER_S)
                self._change.wait_for(lambda: self._has_enough() or not self._batches, timeout=_LINGER_WITH_WORK_S)
            outcomes = tuple(self._waiting)
            self._waiting.clear()
            self._waiting_bytes = 0
            self._change.notify_all()
            return Delivery(outcomes=outcomes, error=self._error)

    def _has_enough(self) -> bool:
        return len(self._waiting) >= _ENOUGH or self._error is not None

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the workers that are alive now."""
        return tuple(pid for pool in self._pools for pid in pool.pids)

    def close(self) -> None:
        """End the workers now."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        for pool in self._pools:
            pool.close()
        for thread in self._threads:
            thread.join(timeout=1.0)

    def _serve(self, pool: WorkerPool) -> None:
        try:
            pool.wait_until_ready()
            with self._change:
                self._ready += 1
                self._change.notify_all()
            for outcome in pool.run(self._given()):
                self._put(outcome)
        except AssayError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - the driver must hear of it: it waits for these outcomes
            self._fail(AssayError(f"a node of the cluster failed: {type(error).__name__}: {error}"))

    def _given(self) -> Iterator[Sequence[Task]]:
        """The batches for one worker, a few tasks at a time, so that the rest can still be dropped."""
        while True:
            with self._change:
                self._change.wait_for(lambda: self._batches or self._closed)
                if self._closed:
                    return
                batch = self._batches.popleft()
                self._begun.append(batch)
                self._change.notify_all()
            try:
                while part := self._part(batch):
                    yield part
            finally:
                with self._change:
                    self._begun.remove(batch)

    def _part(self, batch: deque[Task]) -> list[Task]:
        with self._change:
            return [batch.popleft() for _ in range(min(_AT_ONCE, len(batch)))]

    def _put(self, outcome: TaskDone | TaskLost) -> None:
        found = outcome.outcome if isinstance(outcome, TaskDone) else b""
        with self._change:
            self._change.wait_for(lambda: self._waiting_bytes < _MOST_WAITING_BYTES or self._closed)
            self._waiting.append(outcome)
            self._waiting_bytes += len(found) if isinstance(found, bytes) else _OTHER_BYTES
            if len(self._waiting) in (1, _ENOUGH):
                self._change.notify_all()

    def _fail(self, error: AssayError) -> None:
        with self._change:
            if not self._closed:
                self._error = self._error or error
            self._change.notify_all()


def pack_batch(tasks: Sequence[Task], now: float) -> bytes:
    """A batch for `Node.give`. Moments of this machine's clock become the seconds until then."""
    database = tasks[0].database
    packed = [replace(_shifted(task, -now), database=None) for task in tasks]
    return pickle.dumps((None if database is None else database.text, packed), 5)


def _shifted(task: Task, seconds: float) -> Task:
    payload = task.payload
    if isinstance(payload, TimingTask) and payload.until is not None:
        return replace(task, payload=replace(payload, until=payload.until + seconds))
    return task


def _placed(task: Task, place: DatabaseUrl | None) -> Task:
    """The task with the database where this node has it."""
    task = _shifted(task, monotonic())
    if place is None:
        return task
    if isinstance(task.payload, (TimingTask, MatchTask)):
        return replace(task, payload=replace(task.payload, url=place))
    payload = unpack_task(task.payload, CaseTask)
    return task if payload.url == place else replace(task, payload=pack_task(replace(payload, url=place)))


class NodeDatabases:
    """Finds databases on this node: where the driver has them, or in the node's cache, by their content."""

    def __init__(self, engines: Mapping[str, str], cache: Path | None = None) -> None:
        self.places: dict[str, DatabaseUrl] = {}
        """Where each located database is, by its URL on the driver."""
        self._engines = engines
        self._cache = cache or _cache_folder()
        self._incoming: dict[str, Path] = {}

    def locate(self, needed: NeededDatabase, bundle: Bundle | None = None) -> bool:
        """Find a database; from then on tasks on it are done where it is. False: its files must be sent first.

        ``bundle`` says which files those are. Raises InputError where the database cannot be used on this node.
        """
        engine = engine_for(needed.url, self._engines)
        version = engine.version()
        if version != needed.version:
            raise InputError(
                f"the engine of {needed.url.scheme} databases has version {version} on this node, and "
                f"{needed.version} where the run was started: install the same on both"
            )
        if not is_file(engine, needed.url):
            engine.check(needed.url)
            self.places[needed.url.text] = needed.url
            return True
        path = needed.url.path
        if os.path.isabs(path) and os.path.isfile(path) and _fingerprint(path) == needed.fingerprint:
            self.places[needed.url.text] = needed.url
            return True
        if bundle is None:
            return False
        return self._in_cache(needed, bundle)

    def receive(self, digest: str, name: str, chunk: bytes) -> None:
        """Take the next piece of a file of the bundle with this digest."""
        if name != os.path.basename(name) or name in ("", ".", ".."):
            raise InputError(f"{name!r} is no name of a file")
        try:
            folder = self._incoming.get(digest)
            if folder is None:
                self._make_cache()
                folder = self._incoming[digest] = Path(tempfile.mkdtemp(prefix="incoming-", dir=self._cache))
            with open(folder / name, "ab") as file:
                file.write(chunk)
        except OSError as error:
            self._drop(digest)
            raise self._full(error) from error

    def _in_cache(self, needed: NeededDatabase, bundle: Bundle) -> bool:
        target = self._cache / bundle.digest
        held = target / bundle.folder
        try:
            if digest_folder := self._incoming.pop(bundle.digest, None):
                if not is_whole(str(digest_folder), bundle.files):
                    shutil.rmtree(digest_folder, ignore_errors=True)
                    raise DatabaseError(f"{needed.url} changed while it was sent: run the same command again")
                self._adopt(digest_folder, held)
            if not held.is_dir():
                self._check_room(bundle)
                return False
            if not is_whole(str(held), bundle.files):  # someone changed the cache: fetch it again
                shutil.rmtree(target, ignore_errors=True)
                return False
        except OSError as error:
            raise self._full(error) from error
        path = os.path.join(held, bundle.files[0].name)
        text = f"{needed.url.scheme}:///{quote(path, safe='/: ', errors='surrogateescape')}"
        options = needed.url.text.partition("?")[2]
        self.places[needed.url.text] = DatabaseUrl(text=f"{text}?{options}" if options else text)
        return True

    def _adopt(self, incoming: Path, held: Path) -> None:
        """Give received files their place, at once: another process of this node may be fetching them, too."""
        whole = Path(tempfile.mkdtemp(prefix="whole-", dir=self._cache))
        os.rename(incoming, whole / held.name)
        try:
            os.rename(whole, held.parent)
        except OSError:
            shutil.rmtree(whole, ignore_errors=True)
            if not held.is_dir():
                raise

    def _check_room(self, bundle: Bundle) -> None:
        self._make_cache()
        free = shutil.disk_usage(self._cache).free
        if free < bundle.size * _SLACK:
            raise InputError(
                f"{self._cache} has {free:,} bytes left for a database of {bundle.size:,}: make room, or name another "
                f"folder in {CACHE_VARIABLE} on the node"
            )

    def _make_cache(self) -> None:
        self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in self._cache.glob("incoming-*"):  # of a run that was killed
            with suppress(OSError):
                if time() - left.stat().st_mtime > _LEFT_S:
                    shutil.rmtree(left, ignore_errors=True)
        if hasattr(os, "getuid") and os.stat(self._cache).st_uid != os.getuid():
            raise InputError(f"{self._cache} belongs to another user: name another folder in {CACHE_VARIABLE}")

    def _drop(self, digest: str) -> None:
        if folder := self._incoming.pop(digest, None):
            shutil.rmtree(folder, ignore_errors=True)

    def _full(self, error: OSError) -> InputError:
        return InputError(
            f"{self._cache} cannot keep a database ({error.strerror or error}): name another folder in "
            f"{CACHE_VARIABLE} on the node"
        )


def _fingerprint(path: str) -> str | None:
    try:
        return fingerprint_file(path)
    except OSError:
        return None


def _cache_folder() -> Path:
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named)
    return Path(tempfile.gettempdir()) / f"assay-databases-{os.getuid() if hasattr(os, 'getuid') else 'all'}"
