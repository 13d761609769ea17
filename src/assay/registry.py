"""Find engines, metrics, case formats and reporters by name: the built-in ones and those of other packages.

All come through entry points (`assay.engines`, `assay.systems`, `assay.metrics`, `assay.cases`,
`assay.reports`), loaded by name and only when asked for. A name that two packages register, or one that fails to
load, is an error that names the package and the cause.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from assay.engines.loading import ANY_SCHEME, load_engine
from assay.errors import InputError, PluginError, did_you_mean
from assay.model import DatabaseUrl, MetricInfo, Run
from assay.model.runs.metric_names import metric_hint
from assay.ports import CaseFormat, CountingReporter, EngineClass, Metric, Reporter, StreamingReporter, System
from assay.sdmx.gc_pause import collector_paused
from assay.systems.options import SystemOptions

_BUILT_IN = {"missing": "assay.engines.missing:MissingEngine"}
"""An engine that no user names: see there."""
_ANY = "assay.engines.sqlalchemy.engine:engine_for_scheme"

Group = Literal["assay.engines", "assay.systems", "assay.metrics", "assay.cases", "assay.reports"]

_NOUNS: dict[str, str] = {
    "assay.engines": "engine",
    "assay.systems": "kind of system",
    "assay.metrics": "metric",
    "assay.cases": "case format",
    "assay.reports": "report format",
}


@lru_cache(maxsize=8)
def registered(group: Group) -> dict[str, EntryPoint]:
    """The entry points of a group by name. Raises PluginError where two packages register one name."""
    found: dict[str, EntryPoint] = {}
    for entry in _installed(tuple(sys.path)).select(group=group):
        other = found.get(entry.name)
        if other is not None and other.value != entry.value:
            raise PluginError(
                f"the {_NOUNS[group]} {entry.name!r} is registered twice: "
                f"by {_package(other)} and by {_package(entry)}; uninstall one of them"
            )
        found[entry.name] = entry
    return found


@lru_cache(maxsize=1)
def _installed(_path: tuple[str, ...]) -> Any:
    """The entry points of every package on a path, each of which is a file to read: what `select` chooses from."""
    return entry_points()


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} ({entry.value})" if entry.dist is not None else entry.value


def find(group: Group, name: str) -> EntryPoint:
    """The entry point of that name. Raises InputError with the closest name where there is none."""
    entries = registered(group)
    if name in entries:
        return entries[name]
    hint = metric_hint(name, entries) if group == "assay.metrics" else did_you_mean(name, entries)
    noun = _NOUNS[group]
    raise InputError(f"no {noun} is called {name!r}{hint}: there is {', '.join(sorted(entries))}")


def load(group: Group, name: str) -> Any:
    """Load what is registered under that name. Raises PluginError where that fails, with package and cause."""
    entry = find(group, name)
    try:
        return entry.load()
    except Exception as error:
        raise PluginError(
            f"the {_NOUNS[group]} {name!r} of {_package(entry)} fails to load: {type(error).__name__}: {error}"
        ) from error


def reference(group: Group, name: str) -> str:
    """``module:Class`` of what is registered under that name, for a worker to load."""
    return _reference(find(group, name))


def engine_references() -> dict[str, str]:
    """URL scheme to ``module:Class`` for every engine; under ``*`` the engine for SQLAlchemy's schemes."""
    found = {name: _reference(entry) for name, entry in registered("assay.engines").items()}
    return {**found, **_BUILT_IN, ANY_SCHEME: _ANY}


def _is_ours(entry: EntryPoint) -> bool:
    return entry.module.startswith("assay.")


def _reference(entry: EntryPoint) -> str:
    return f"{entry.module}:{entry.attr}"  # without the extras that an entry point may name after it


def engine_class(url: DatabaseUrl) -> EngineClass:
    """The engine for a URL: the one registered for its scheme, else SQLAlchemy's if it knows the scheme.

    Raises InputError where neither does.
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
    """Open the live system that a URL such as ``denodo:http://host:8008/answerDataQuestion`` names."""
    kind, colon, _ = url.partition(":")
    if not colon:
        raise InputError(
            f"{url!r} names no system: "
            "write denodo:URL, http:URL, chat:MODEL, command:COMMAND or python:MODULE:FUNCTION"
        )
    loaded = load("assay.systems", kind)
    if not callable(getattr(loaded, "open", None)):
        said = _package(find("assay.systems", kind))
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


def case_formats() -> Sequence[CaseFormat]:
    """Every case format."""
    return [load("assay.cases", name)() for name in registered("assay.cases")]


def reporter(name: str) -> Reporter:
    """The reporter of that name."""
    instance: Reporter = load("assay.reports", name)()
    return instance


def render(name: str, run: Run) -> bytes:
    """A run in the format of that name. Raises PluginError where another package's reporter fails."""
    return b"".join(pieces(name, run))


def pieces(name: str, run: Run, *, drawn: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """A run in the format of that name, piece by piece, as far as its reporter can. Raises as `render` does.

    ``drawn`` is called now and then with how many cases are drawn, if the reporter can tell.
    """
    chosen, entry = reporter(name), find("assay.reports", name)
    what = f"the report format {name!r} of {_package(entry)}"
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
