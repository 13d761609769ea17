"""What workers that judge cases need to know, and a pool of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from assay import registry
from assay.api.backends import local_pool
from assay.engines.execution_cache.folder import DEFAULT_BYTES, CacheFolder
from assay.engines.pool.pool import WorkerPool
from assay.errors import UsageError
from assay.model import ComparisonOptions, Limits
from assay.runs.worker_tasks import WorkerSettings


def make_pool(
    options: ComparisonOptions,
    limits: Limits,
    metrics: Sequence[str],
    workers: int,
    *,
    remember: bool = True,
    head_rows: int | None = None,
    plain_queries: bool = False,
    diagnose: bool | None = None,
    cache: CacheFolder | None = None,
) -> WorkerPool:
    """A pool of workers that judge cases; it is not started yet.

    ``remember`` False: no result is kept from task to task; ``diagnose``: whether the causes of wrong answers are
    looked for, None where results are kept; ``head_rows`` and ``plain_queries``: see `evaluate_inputs`; ``cache``:
    executions that runs share.

    Raises InputError for an unknown metric.
    """
    settings = worker_settings(
        options,
        limits,
        metrics,
        remember=remember,
        head_rows=head_rows,
        plain_queries=plain_queries,
        cache=cache,
    )
    if diagnose is not None:
        settings = replace(settings, diagnose=diagnose)
    return local_pool(settings, workers)


def worker_settings(
    options: ComparisonOptions,
    limits: Limits,
    metrics: Sequence[str],
    *,
    remember: bool = True,
    head_rows: int | None = None,
    plain_queries: bool = False,
    diagnose: bool = True,
    cache: CacheFolder | None = None,
) -> WorkerSettings:
    """What workers that judge cases need to know. Raises InputError for an unknown metric."""
    return WorkerSettings(
        engines=registry.engine_references(),
        metrics=tuple(registry.reference("assay.metrics", name) for name in metrics),
        options=options,
        limits=limits,
        head_rows=head_rows,
        plain_queries=plain_queries,
        execution_cache=cache,
        remember=remember,
        diagnose=diagnose and remember,
    )


def cache_folder(path: str | os.PathLike[str] | None, most_bytes: int | None = None) -> CacheFolder | None:
    """The folder of executions that runs share. Raises UsageError for a bound of nothing, InputError for no folder."""
    if most_bytes is not None and most_bytes < 1:
        raise UsageError(f"cache_bytes is {most_bytes!r}: give a number of bytes from 1 up")
    if path is None:
        return None
    folder = CacheFolder(Path(path).absolute(), most_bytes=DEFAULT_BYTES if most_bytes is None else most_bytes)
    folder.check()
    return folder
