"""Schemas on a server that a user names for them: none is left, however the work ends."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from assay import registry
from assay.errors import DatabaseError, InputError, UsageError
from assay.model import DatabaseUrl
from assay.model.witness import SCRATCH_PREFIX, ScratchServer
from assay.runs.trials import scratch_maker

_WAIT_S = 5.0
"""How long the server may take to notice that a worker ended."""


@contextmanager
def scratch_server(text: str) -> Iterator[ScratchServer]:
    """A server for scratch schemas. Those that the caller's workers made are dropped at the end, after the workers.

    Raises InputError for a URL whose engine makes none, and DatabaseError where the server cannot be used.
    """
    url = DatabaseUrl.parse(text)
    maker = scratch_maker(registry.engine_references(), url)
    if maker is None or url.is_template:
        raise InputError(
            f"{url}: scratch schemas are made on PostgreSQL servers: write postgresql://user@host/database"
        )
    maker.drop_scratch(url, SCRATCH_PREFIX)  # what killed processes left; fails where the server cannot be used
    prefix = f"{SCRATCH_PREFIX}{secrets.token_hex(4)}_"
    try:
        yield ScratchServer(url=url, dialect=registry.engine_class(url).dialect, prefix=prefix)
    finally:
        try:
            maker.drop_scratch(url, prefix, wait_s=_WAIT_S)
        except DatabaseError as error:  # what was found is worth more than a clean server
            message = f"scratch schemas {prefix}… may be left, which the next use of the server drops: {error}"
            warnings.warn(message, stacklevel=2)


def check_scratch(server: ScratchServer, dialects: Iterable[str]) -> None:
    """Raise UsageError where the server answers for none of these dialects."""
    wanted = sorted(set(dialects))
    if wanted and server.dialect not in wanted:
        raise UsageError(
            f"the queries are of the dialect {', '.join(wanted)}: a server for scratch schemas answers its own alone"
        )
