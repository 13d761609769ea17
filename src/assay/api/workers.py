"""Where queries are executed: on which databases, in workers of this machine or on the machines of a cluster."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

from assay import registry
from assay.engines.execution_cache.folder import DEFAULT_BYTES, CacheFolder
from assay.engines.pool.pool import WorkerPool
from assay.engines.pool.spawn import default_workers, dismiss_ahead
from assay.errors import DatabaseError, InputError, Notice, UsageError, did_you_mean
from assay.model import Case, ComparisonOptions, Cost, DatabaseUrl, Limits, Prediction
from assay.model.databases.database import ENGINES
from assay.platform.surface import argument, on_command_line, option
from assay.ports import Backend
from assay.reports.text.plain import billed
from assay.runs import PLAIN_SETUP, SETUP
from assay.runs.plan import Locate
from assay.runs.workers.worker_tasks import WorkerSettings

_ESTIMATE_S = 30.0
"""How long a run waits for what it will bill."""
DatabaseInput: TypeAlias = "str | Mapping[str, Any]"
"""A URL, or tables in memory by name, which are a URL once `tables_as_databases` has written them."""
DatabasesInput: TypeAlias = "str | Mapping[str, Any]"
"""A URL or a template of one; or one for each database, or for each engine of a question set for several. A database
may be tables in memory, as in `DatabaseInput`.
"""
MISSING = "missing"
"""The scheme that stands for a database that was not given (`assay.engines.missing`)."""


def locator(databases: DatabasesInput, *, optional: bool = False) -> tuple[Locate, str]:
    """A function from case to database URL, and the name of the databases in the run's settings.

    ``optional``: if there is no database at all, every question has the URL that stands for a missing one, and
    `check_nothing_executed` says whether one is needed.

    A question for one of several engines has the URL of its engine. If there is none, it has the URL that stands for a
    missing database, so that the others are scored. One URL of such an engine serves the questions for that engine.
    """
    if not isinstance(databases, (str, Mapping)):
        raise UsageError(
            f"databases is of the type {type(databases).__name__}: give the URL of a database, such as "
            'databases="sqlite:///shop.sqlite", its file as a Path, or a mapping from names of databases to URLs. '
            "A connection cannot be used: queries run in processes of their own"
        )
    if optional and is_empty(databases):
        return lambda db_id, engine=None: _missing(engine), ""  # noqa: ARG005 - the signature of a locator
    if isinstance(databases, str):
        template = DatabaseUrl.parse(databases)

        def locate_by(db_id: str | None, engine: str | None = None) -> DatabaseUrl:
            if engine in (None, template.scheme) or template.scheme not in ENGINES:
                return template.render(db_id)
            return _missing(engine)

        return locate_by, str(template)
    urls = {name: DatabaseUrl.parse(url) for name, url in databases.items()}
    by_engine = not urls or not set(ENGINES).isdisjoint(urls)

    def locate(db_id: str | None, engine: str | None = None) -> DatabaseUrl:
        if engine in urls:
            return urls[engine].render(db_id)
        if db_id in urls:
            return urls[db_id]
        if engine is not None and by_engine:
            return _missing(engine)
        if not urls:
            raise InputError(f"no database is given: name it with {option('--db', 'URL')}")
        hint = did_you_mean(db_id or "", urls)
        raise InputError(f"no database is given for db_id {db_id!r}{hint}; the databases are {', '.join(sorted(urls))}")

    return locate, ", ".join(f"{name}: {url}" for name, url in sorted(urls.items()))


def url_of_one(database: DatabaseInput) -> DatabaseUrl:
    """The URL of a single database. Raises InputError for a template, and UsageError for tables without a file."""
    if not isinstance(database, str):
        raise UsageError(
            f"database is of the type {type(database).__name__}: give its URL, for example sqlite:///shop.sqlite, its "
            'file as a Path, or its tables, {"orders": frame}. A connection cannot be used: queries run in processes '
            "of their own"
        )
    url = DatabaseUrl.parse(database)
    if url.is_template:
        raise InputError(f"{url} is a template: name one database")
    return url


def is_empty(databases: DatabasesInput) -> bool:
    """Whether no database is given: an empty mapping or a blank URL."""
    return not (databases.strip() if isinstance(databases, str) else databases)


def check_nothing_executed(cases: Sequence[Case], predictions: Sequence[Prediction] | None) -> None:
    """Raise InputError, naming a case, if a run without databases would execute a query.

    ``predictions`` None: they may be queries. A question for a named engine is unscored instead, since the databases of
    other engines may be missing on purpose.
    """
    for index, case in enumerate(cases):
        is_query = predictions is None or predictions[index].query is not None
        if case.engine is None and (case.golds or is_query):
            what = "its gold query" if case.golds else "its prediction, a query,"
            raise InputError(
                f"{case.origin or 'case ' + case.id}: no database is given, and {what} must be executed: name the "
                f"database with {option('--db', 'URL')}. Only results that are given as rows need none"
            )


def check_database_column(databases: DatabasesInput, cases: Sequence[Case], columns: Sequence[str], name: str) -> None:
    """Raise InputError for a template of a URL if no case names its database, with the file's columns."""
    templates = [databases] if isinstance(databases, str) else [*databases.values()]
    if not columns or not any("{db_id}" in url for url in templates) or any(case.database for case in cases):
        return
    from assay.cases.fields import guess_of, listed

    column = guess_of("database", columns) or "NAME"
    raise InputError(
        f"{name}: no column found for {{db_id}} in {argument('--db')}, the database of each case; the columns are "
        f"{listed(columns)}. Name it:  {option('--db-column', column)}  , or write the URL of one database"
    )


def _missing(engine: str | None) -> DatabaseUrl:
    return DatabaseUrl(text=f"{MISSING}:///{engine or ''}")


def check_databases(urls: Iterable[DatabaseUrl], origins: Mapping[str, str | None]) -> None:
    """Check that every database can be read, before anything is asked or written. Raises InputError."""
    for url in urls:
        engine = registry.engine_class(url)
        try:
            engine.check(url)
        except DatabaseError as error:
            origin = origins.get(url.text)
            raise DatabaseError(f"{origin}: {error}" if origin else str(error)) from error


def warn_of_rights(urls: Iterable[DatabaseUrl]) -> None:
    """Warn if the given credentials can write to databases, as far as their engines can tell.

    Raises InputError if a database cannot be read.
    """
    found = [
        sentence
        for url in urls
        if (tell := getattr(registry.engine_class(url), "warnings", None)) is not None
        for sentence in tell(url)
    ]
    if found:
        more = f" (and so for {len(found) - 1} more of the databases)" if len(found) > 1 else ""
        warnings.warn(found[0] + more, UserWarning, stacklevel=3)


def warn_of_idle_limit(urls: Iterable[DatabaseUrl], limits: Limits) -> None:
    """Warn if a limit of billed bytes is given, and none of the databases bills by bytes."""
    engines = [registry.engine_class(url) for url in urls if url.scheme != MISSING]
    if limits.max_bytes_billed is None or not engines or any(hasattr(engine, "estimate") for engine in engines):
        return
    names = ", ".join(sorted({engine.name for engine in engines}))
    limit = "--max-bytes-billed" if on_command_line() else "max_bytes_billed"
    warnings.warn(
        f"{limit} has no effect on {names}: only BigQuery bills queries by their bytes",
        UserWarning,
        stacklevel=3,
    )


def tell_cost(queries: Mapping[str, Sequence[str]], limits: Limits, *, within_s: float = _ESTIMATE_S) -> None:
    """Say what queries will bill, by the URL of their database, where an engine can tell without running them.

    A query is listed as often as it is executed. A service that cannot be asked, or not in time, says less or nothing:
    the run goes on in either case.
    """
    total: Cost | None = None
    count = 0
    until = monotonic() + within_s
    for text, texts in queries.items():
        url = DatabaseUrl(text=text)
        estimate = getattr(registry.engine_class(url), "estimate", None)
        if estimate is None:
            continue
        count += len(texts)
        timeout_s = max(0.0, until - monotonic())
        cost: Cost | None = estimate(url, texts, timeout_s=timeout_s, max_bytes_billed=limits.max_bytes_billed)
        if cost is not None:
            total = cost.plus(total)
    if total is not None and (total.bytes_billed or total.credits):
        rest = f", of {count:,}" if total.queries < count else ""
        sentence = (
            f"this run will bill about {billed(total)}{rest}, according to dry runs, and more if causes are looked for"
        )
        warnings.warn(sentence, Notice, stacklevel=3)


def make_pool(
    options: ComparisonOptions,
    limits: Limits,
    metrics: Sequence[str],
    workers: int,
    *,
    remember: bool = True,
    diagnose: bool = True,
) -> WorkerPool:
    """A pool of workers that judge cases; it is not started yet.

    ``remember`` False: no result is kept from task to task; ``diagnose``: whether the causes of wrong answers are
    looked for. Raises InputError for an unknown metric.
    """
    return local_pool(worker_settings(options, limits, metrics, remember=remember, diagnose=diagnose), workers)


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
        diagnose=diagnose,
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


_LOCAL, _RAY = "local", "ray"


def open_backend(name: str | None, worker: WorkerSettings, workers: int | None) -> Backend:
    """The backend of that name; None is this machine's.

    Raises UsageError for an unknown name, MissingDependency if the cluster's software is not installed, and
    InputError if the cluster is out of reach.
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
    raise UsageError(f"backend is {name!r}: write local, ray, or ray://HOST:PORT (assay docs cluster)")


def local_pool(worker: WorkerSettings, workers: int) -> WorkerPool:
    """A pool of workers that judge cases on this machine; it is not started yet."""
    setup = PLAIN_SETUP if worker.plain_queries else SETUP
    return WorkerPool(workers=workers, setup=setup, argument=worker, memory_limit_bytes=_memory_limit_bytes(worker))


def _memory_limit_bytes(worker: WorkerSettings) -> int:
    # Besides the engine's own memory a worker holds rows, and more of the same size while it compares them.
    return worker.limits.max_memory_bytes + 4 * worker.limits.max_result_bytes + worker.cache_bytes
