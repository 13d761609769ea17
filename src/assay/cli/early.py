"""Start the workers of a verb that needs them before its modules are imported: both import at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

_WITH_WORKERS = ("run", "llmsql", "demo", "check")
_ASKS_FIRST = ("--system", "--help", "-h", "--show-prompt", "--backend")
"""With these no query is executed soon, or none at all, or not on this machine."""

_SHARED = (
    "assay.engines.sqlite",
    "assay.metrics.match",
    "assay.runs.aggregate.summarize",
    "assay.runs.plan",
    "assay.runs.workers.worker_tasks",
    "assay.scoring.queries.metric_scores",
    "dataclasses",
    "importlib.metadata",
    "pickle",
    "queue",
)
"""What this process needs as much as its workers: a fork has it already."""
_SHARED_METRICS = ("assay.metrics.bird", "assay.metrics.denodo", "assay.metrics.spider", "assay.metrics.spider2")
"""Other metrics of a run that names none. Templates prepare for those that are imported."""


def start_workers(arguments: Sequence[str]) -> None:
    """Start as many workers as the command will use, as far as that is plain; it starts any others itself."""
    if not arguments or arguments[0] not in _WITH_WORKERS:
        return
    if any(one.partition("=")[0] in _ASKS_FIRST for one in arguments):
        return
    from assay.engines.pool.spawn import default_workers, start_ahead
    from assay.runs import PLAIN_SETUP, SETUP

    wanted = _number_after("--workers", arguments)
    # One pair takes one. How many outputs LLMSQL's verb gets is not known yet: few are judged before a second starts.
    count = 1 if arguments[0] in ("llmsql", "check") else default_workers()
    setup = PLAIN_SETUP if arguments[0] == "llmsql" else SETUP
    if count := count if wanted is None else min(count, wanted):
        for module in (*_SHARED, *(_SHARED_METRICS if arguments[0] in ("run", "demo") else ())):
            import_module(module)
        start_ahead(count, setup, alone=True)


def _number_after(flag: str, arguments: Sequence[str]) -> int | None:
    for place, one in enumerate(arguments):
        name, equals, value = one.partition("=")
        if name == flag:
            text = value if equals else next(iter(arguments[place + 1 : place + 2]), "")
            return int(text) if text.isascii() and text.isdigit() else 0
    return None
