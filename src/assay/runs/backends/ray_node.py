"""The driver's side of one node of a Ray cluster: a thread, and the node's actor."""

from __future__ import annotations

import importlib
import os
import pickle
import platform
import threading
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from statistics import fmean
from time import monotonic
from typing import Any, Protocol

from assay._version import __version__
from assay.errors import AssayError, InputError
from assay.model import DatabaseUrl
from assay.ports import NeededDatabase, TaskDone, TaskLost
from assay.runs.backends.batches import MOST_TASKS, Batch, Costs
from assay.runs.backends.bundle import Bundle, chunks_of
from assay.runs.backends.node import NodeSettings, pack_batch
from assay.runs.backends.ray_connection import first_line

START_S = 120.0
"""How long an actor may take until its workers are ready. It waits for the node's CPUs."""
_TAKE_S = 1.0
_AHEAD_S = 1.0
"""Seconds of tasks that each worker of a node has ready: enough until it gets more, and little at the run's end."""
_BATCH_S = 0.5
"""How long the workers of a node should be at one batch."""


class Driver(Protocol):
    """What the thread of a node needs of the whole backend."""

    ray: Any
    closed: bool
    change: threading.Condition
    work: deque[Batch]
    needed: dict[str, NeededDatabase]
    costs: Costs

    def bundle(self, needed: NeededDatabase) -> Bundle:
        """The files of a database."""
        ...

    def deliver(self, outcomes: list[TaskDone | TaskLost]) -> None:
        """Hand over outcomes."""
        ...

    def lost(self, node: NodeThread, why: str) -> None:
        """The node is gone, or its actor."""
        ...

    def failed(self, error: BaseException) -> None:
        """The run cannot go on."""
        ...


class NodeThread(threading.Thread):
    """The driver's thread for one node: it starts the node's actor, sends batches, and collects outcomes."""

    def __init__(self, backend: Driver, node_id: str, address: str, *, settings: NodeSettings, cpus: int) -> None:
        super().__init__(name=f"assay-node-{node_id[:8]}", daemon=True)
        self.node_id = node_id
        self.workers = settings.workers
        self._settings = settings
        self.ready = False
        self.batches: dict[int, Batch] = {}
        """The batches that the node has, by the id of each unfinished task's batch."""
        self._backend = backend
        self._ray = backend.ray
        self._name = f"the node {address} ({node_id[:8]})"
        self._cpus = min(cpus, settings.workers)
        self._actor: Any = None
        self._of_task: dict[int, Batch] = {}
        self._located: set[str] = set()

    def run(self) -> None:
        """Serve until the backend closes, or the node is lost."""
        backend = self._backend
        try:
            self._start()
            while self._feed():
                delivery = self._call("take", _TAKE_S)
                outcomes = list(delivery.outcomes)
                with self._backend.change:
                    self._note_costs(outcomes)
                    self._drop([outcome.task_id for outcome in outcomes])
                if outcomes:
                    self._backend.deliver(outcomes)
                if delivery.error is not None:
                    raise delivery.error
        except AssayError as error:
            if not backend.closed:
                backend.failed(self._named(error))
        except Exception as error:  # noqa: BLE001 - Ray raises many kinds for a node that is gone
            if not backend.closed:
                with suppress(Exception):
                    self._ray.kill(self._actor)
                backend.lost(self, f"{self._name}: {first_line(error)}")

    def _note_costs(self, outcomes: Sequence[TaskDone | TaskLost]) -> None:
        """Note what tasks cost if their batch may be split."""
        taken: defaultdict[str, list[float]] = defaultdict(list)
        for outcome in outcomes:
            batch = self._of_task.get(outcome.task_id)
            if batch is not None and batch.shared and isinstance(outcome, TaskDone):
                taken[batch.name].append(outcome.took_s)
        for name, seconds in taken.items():
            self._backend.costs.note(name, fmean(seconds), tasks=len(seconds))

    def check(self, url: DatabaseUrl) -> None:
        """See that the node reaches a database. Called by another thread; raises InputError if it does not."""
        try:
            self._locate(url)
        except AssayError as error:
            raise self._named(error) from error
        except Exception:  # noqa: BLE001 - the node is gone, which its own thread notices, too
            return

    def stop_gracefully(self) -> list[int]:
        """Let the node begin no further task. Returns the ids of those that it will not do. For another thread."""
        try:
            dropped: list[int] = self._call("wind_up")
        except Exception:  # noqa: BLE001 - the node is gone, and no other is given its batches now
            dropped = []
        with self._backend.change:
            self._drop(dropped)
        return dropped

    def _drop(self, task_ids: Sequence[int]) -> None:
        for task_id in task_ids:
            batch = self._of_task.pop(task_id, None)
            if batch is not None:
                del batch.tasks[task_id]
                if not batch.tasks:
                    del self.batches[id(batch)]

    def end(self) -> None:
        """End the node's workers. Called by another thread."""
        actor, self._actor = self._actor, None
        if actor is None:
            return
        with suppress(Exception):  # the node may be gone, and then so are its workers
            self._ray.wait([actor.do.remote("close")], timeout=2.0)
        with suppress(Exception):
            self._ray.kill(actor)

    def _named(self, error: AssayError) -> AssayError:
        text = str(error)
        return error if error.args != (text,) or self._name in text else type(error)(f"{self._name}: {text}")

    def _start(self) -> None:
        ray, driver = self._ray, self._backend
        strategy = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        place = strategy(self.node_id, soft=False)
        actor = _actor_class(ray).options(scheduling_strategy=place, num_cpus=self._cpus, max_concurrency=4).remote()
        self._actor = actor
        if driver.closed:
            self.end()
        try:
            check_versions(versions_here(), ray.get(actor.versions.remote(), timeout=START_S), self._name)
            self._call("start", pickle.dumps(self._settings), timeout_s=START_S)
        except ray.exceptions.GetTimeoutError as error:
            raise TimeoutError(f"was not ready within {START_S:g} s: are its CPUs taken by other jobs?") from error
        with driver.change:
            self.ready = True
            driver.change.notify_all()

    def _feed(self) -> bool:
        """Send batches while the node wants more. Return False if the backend is closed."""
        backend = self._backend
        while True:
            with backend.change:
                if not self.batches:
                    backend.change.wait_for(lambda: backend.work or backend.closed)
                if backend.closed:
                    return False
                if not backend.work or not self._wants_more():
                    return True
                batch = self._chosen(backend.work)
                self.batches[id(batch)] = batch
                tasks = list(batch.tasks.values())
            if tasks[0].database is not None:
                self._locate(tasks[0].database)
            with backend.change:
                self._of_task.update(dict.fromkeys(batch.tasks, batch))
            self._call("give", pack_batch(tasks, monotonic(), shared=batch.shared))

    def _wants_more(self) -> bool:
        """Whether the workers would soon be idle: each has a second's work ahead, and at least one task is ready."""
        batches = list(self.batches.values())
        count = sum(len(batch.tasks) for batch in batches)
        if count >= MOST_TASKS * (self.workers + 1):
            return False
        left_s = sum(len(batch.tasks) * self._backend.costs.of(batch.name) for batch in batches)
        return left_s < _AHEAD_S * self.workers or count <= self.workers + self.workers // 4

    def _chosen(self, work: deque[Batch]) -> Batch:
        """The first batch on a database that the node has, else the first: as much as its workers do in a moment."""
        place = next((place for place, batch in enumerate(work) if batch.name in self._located), 0)
        count = int(_BATCH_S * self.workers / max(self._backend.costs.of(work[place].name), 1e-6))
        head = work[place].head(count)
        if head is not None:
            return head
        batch = work[place]
        del work[place]
        return batch

    def _locate(self, url: DatabaseUrl) -> None:
        needed = self._backend.needed.get(url.text)
        if needed is None or url.text in self._located:
            return
        if not self._call("locate", needed):
            bundle = self._backend.bundle(needed)
            if not self._call("locate", needed, bundle):
                folder = os.path.dirname(os.path.abspath(url.path))
                for file in bundle.files:
                    for chunk in chunks_of(os.path.join(folder, file.name)):
                        self._call("receive", bundle.digest, file.name, chunk)
                if not self._call("locate", needed, bundle):
                    raise InputError(f"{url} could not be kept there: its files changed in the node's folder")
        self._located.add(url.text)

    def _call(self, name: str, *arguments: object, timeout_s: float | None = None) -> Any:
        """Call the node. Raises what it raised, and Ray's errors if it is gone."""
        actor = self._actor
        if actor is None:
            raise ConnectionError("it was closed")
        worked, answer = pickle.loads(self._ray.get(actor.do.remote(name, *arguments), timeout=timeout_s))
        if not worked:
            raise answer
        return answer


def _actor_class(ray: Any) -> Any:
    """The actor that hosts a `Node`. Ray sends it as code, so that it can say what the node has, even without Assay.

    Answers are packed in the actor, so that errors arrive as they were raised.
    """

    class AssayNode:
        def __init__(self) -> None:
            self.node: Any = None

        def versions(self) -> dict[str, str | None]:
            import platform
            from importlib import metadata

            try:
                assay: str | None = metadata.version("assay")
            except metadata.PackageNotFoundError:
                assay = None
            return {"Assay": assay, "Python": ".".join(platform.python_version_tuple()[:2])}

        def do(self, name: str, *arguments: Any) -> bytes:
            import pickle

            from assay.errors import AssayError
            from assay.runs.backends.node import Node

            try:
                if name == "start":
                    self.node = Node(pickle.loads(arguments[0]))
                    return pickle.dumps((True, self.node.wait_until_ready()))
                return pickle.dumps((True, getattr(self.node, name)(*arguments)), 5)
            except AssayError as error:
                return pickle.dumps((False, error), 5)

    return ray.remote(AssayNode)


def versions_here() -> dict[str, str | None]:
    """What is installed on this machine."""
    return {"Assay": __version__, "Python": ".".join(platform.python_version_tuple()[:2])}


def check_versions(here: Mapping[str, str | None], there: Mapping[str, str | None], node: str) -> None:
    """Raise InputError if a node has other versions, naming both."""
    for name, wanted in here.items():
        found = there.get(name)
        if found is None:
            raise InputError(f"{name} is not installed on {node}: install {name} {wanted} there, as in the run's image")
        if found != wanted:
            raise InputError(
                f"{node} has {name} {found}, and {name} {wanted} started the run: their verdicts could differ, so use "
                "one image, or one environment, for all"
            )
