"""Find engines, metrics, case formats and reporters by name: the built-in ones and those of other packages.

All come through entry points (`assay.ports.plugins`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint

from assay.engines.loading import ANY_SCHEME, load_engine
from assay.errors import InputError, PluginError
from assay.model import DatabaseUrl, MetricInfo, Run
from assay.model.databases.suite import SUITE_MATCH
from assay.model.witness import AFTER_WITNESSES
from assay.ports import CaseFormat, CountingReporter, EngineClass, Metric, Reporter, StreamingReporter, System
from assay.ports.plugins import Group as Group  # noqa: PLC0414 - this module is their public place
from assay.ports.plugins import find as find  # noqa: PLC0414
from assay.ports.plugins import known, package_of, reference_of, unknown_metrics
from assay.ports.plugins import load as load  # noqa: PLC0414
from assay.ports.plugins import reference as reference  # noqa: PLC0414
from assay.ports.plugins import registered as registered  # noqa: PLC0414
from assay.sdmx.gc_pause import collector_paused
from assay.systems.options import SystemOptions

_BUILT_IN = {"missing": "assay.engines.missing:MissingEngine"}
"""An engine that no user names: see there."""
_ANY = "assay.engines.sqlalchemy.engine:engine_for_scheme"


def engine_references() -> dict[str, str]:
    """URL scheme to ``module:Class`` for every engine; under ``*`` the engine for SQLAlchemy's schemes."""
    found = {name: reference_of(entry) for name, entry in registered("assay.engines").items()}
    return {**found, **_BUILT_IN, ANY_SCHEME: _ANY}


def _is_ours(entry: EntryPoint) -> bool:
    return entry.module.startswith("assay.")


def engine_class(url: DatabaseUrl) -> EngineClass:
    """The engine for a URL: the one registered for its scheme, else SQLAlchemy's if it knows the scheme.

    Raises InputError if neither does.
    """
    if url.scheme in _BUILT_IN:
        return load_engine(_BUILT_IN[url.scheme])
    try:
        find("assay.engines", url.scheme)
    except InputError as error:
        from assay.engines.sqlalchemy.engine import engine_for_scheme

        if reference := engine_for_scheme(url.scheme):
            return load_engine(reference)
        raise InputError(f"{url}: {error}") from None
    loaded: EngineClass = load("assay.engines", url.scheme)
    return loaded


def open_system(url: str, options: SystemOptions) -> System:
    """Open the live system that a URL names, for example ``denodo:http://host:8008/answerDataQuestion``."""
    kind, colon, _ = url.partition(":")
    if not colon:
        raise InputError(f"{url!r} has no kind of system before it; known: {known('assay.systems')}")
    loaded = load("assay.systems", kind)
    if not callable(getattr(loaded, "open", None)):
        said = package_of(find("assay.systems", kind))
        raise PluginError(f"the kind of system {kind!r} of {said} cannot be opened: its class needs open(url, options)")
    opened: System = loaded.open(url, options)
    return opened


def metric(name: str) -> Metric:
    """An instance of the metric of that name."""
    instance: Metric = load("assay.metrics", name)()
    return instance


@lru_cache(maxsize=1)
def default_metrics() -> tuple[str, ...]:
    """The metrics of a run that names none: Assay's own with a default place, in the order of reports.

    Metrics of other packages never change such a run.
    """
    ours = [name for name, entry in registered("assay.metrics").items() if _is_ours(entry)]
    places = {name: MetricInfo.of(metric(name)).default_place for name in ours}
    return tuple(sorted((name for name in ours if places[name] is not None), key=lambda name: places[name] or 0))


def named_metrics(names: Sequence[str]) -> tuple[str, ...]:
    """The names of metrics, ``all`` replaced by every metric that needs nothing else, in the order of reports.

    Metrics that measure wall times, and those that come with a suite, witnesses or a retrieved context, are named.
    Raises InputError that answers each unknown name.
    """
    if "all" in names and "all" not in registered("assay.metrics"):
        names = [*(one for one in names if one != "all"), *_every_metric()]
    if unknown := [name for name in dict.fromkeys(names) if name not in registered("assay.metrics")]:
        raise unknown_metrics(unknown)
    return tuple(names)


def _every_metric() -> tuple[str, ...]:
    others = {name: entry for name, entry in registered("assay.metrics").items() if name not in default_metrics()}
    added = {name for name, entry in others.items() if entry.module == "assay.metrics.retrieval"}
    added |= {AFTER_WITNESSES, SUITE_MATCH}
    return (*default_metrics(), *(name for name in sorted(others) if name not in added and not _is_timed(name)))


def _is_timed(name: str) -> bool:
    return MetricInfo.of(metric(name)).timed


def case_formats() -> Sequence[CaseFormat]:
    """Every case format."""
    return [load("assay.cases", name)() for name in registered("assay.cases")]


def reporter(name: str) -> Reporter:
    """The reporter of that name."""
    instance: Reporter = load("assay.reports", name)()
    return instance


def render(name: str, run: Run) -> bytes:
    """A run in the format of that name. Raises PluginError if another package's reporter fails."""
    return b"".join(pieces(name, run))


def pieces(name: str, run: Run, *, drawn: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """A run in the format of that name, piece by piece, as far as its reporter can. Raises as `render` does.

    ``drawn`` is called now and then with how many cases are drawn, if the reporter can tell.
    """
    chosen, entry = reporter(name), find("assay.reports", name)
    what = f"the report format {name!r} of {package_of(entry)}"
    # Millions of values are made that no cycle holds: the garbage collector would take seconds to search them.
    with collector_paused():
        try:
            for piece in _pieces_of(chosen, run, drawn):
                if not isinstance(piece, bytes):
                    raise PluginError(f"{what} gave {type(piece).__name__} where bytes belong")
                yield piece
        except PluginError:
            raise
        except Exception as error:
            if _is_ours(entry):
                raise
            raise PluginError(f"{what} fails: {type(error).__name__}: {error}") from error


def _pieces_of(chosen: Reporter, run: Run, drawn: Callable[[int], None] | None) -> Iterator[object]:
    if drawn is not None and isinstance(chosen, CountingReporter):
        yield from chosen.counted_pieces(run, drawn)
    elif isinstance(chosen, StreamingReporter):
        yield from chosen.pieces(run)
    else:
        yield chosen.render(run)
