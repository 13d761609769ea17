"""Where queries are executed: on this machine, or on the machines of a cluster."""

from __future__ import annotations

from assay.engines.pool.pool import WorkerPool
from assay.engines.pool.spawn import default_workers, dismiss_ahead
from assay.errors import UsageError
from assay.ports import Backend
from assay.runs import SETUP
from assay.runs.worker_tasks import WorkerSettings

_LOCAL, _RAY = "local", "ray"


def open_backend(name: str | None, worker: WorkerSettings, workers: int | None) -> Backend:
    """The backend of that name; None is this machine's.

    Raises UsageError for an unknown name, MissingDependency where the cluster's software is not installed, and
    InputError where the cluster is out of reach.
    """
    check_backend(name)
    if name in (None, _LOCAL):
        return local_pool(worker, default_workers() if workers is None else workers)
    if workers is not None and workers < 1:
        raise UsageError(f"a node needs at least one worker, and {workers} were asked for")
    dismiss_ahead()  # those are for this machine
    from assay.runs.backends.ray_cluster import RayBackend

    return RayBackend(
        address=None if name == _RAY else name,
        worker=worker,
        workers=workers,
        memory_limit_bytes=_memory_limit_bytes(worker),
    )


def check_backend(name: str | None) -> None:
    """Raise UsageError for a name that no backend has."""
    if name in (None, _LOCAL, _RAY) or (name.startswith(f"{_RAY}://") and len(name) > len(f"{_RAY}://")):
        return
    raise UsageError(f"backend is {name!r}: write local, ray, or ray://HOST:PORT (docs/guides/cluster.md)")


def local_pool(worker: WorkerSettings, workers: int) -> WorkerPool:
    """A pool of workers that judge cases on this machine; it is not started yet."""
    return WorkerPool(workers=workers, setup=SETUP, argument=worker, memory_limit_bytes=_memory_limit_bytes(worker))


def _memory_limit_bytes(worker: WorkerSettings) -> int:
    # Besides the engine's own memory a worker holds rows, and more of the same size while it compares them.
    return worker.limits.max_memory_bytes + 4 * worker.limits.max_result_bytes + worker.cache_bytes
