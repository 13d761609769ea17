"""The schemas of a worker's databases, each read once."""

from __future__ import annotations

from assay.engines.pool.executor import Executor
from assay.errors import DatabaseError
from assay.model import DatabaseSchema, DatabaseUrl

_MOST = 200


class KnownSchemas:
    """Gives the schema of a database; None where it cannot be read."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._known: dict[str, DatabaseSchema | None] = {}

    def __call__(self, url: DatabaseUrl) -> DatabaseSchema | None:
        """The schema, from memory where it was read before."""
        if url.text not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[url.text] = self._read(url)
        return self._known[url.text]

    def _read(self, url: DatabaseUrl) -> DatabaseSchema | None:
        try:
            return self._executor.schema(url)
        except DatabaseError:
            return None
