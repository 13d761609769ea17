"""The schemas of a worker's databases, each read once: for causes, for the lint of the gold query, for whatever else
asks."""

from __future__ import annotations

from assay.engines.pool.executor import Executor
from assay.errors import DatabaseError
from assay.model import DatabaseSchema, DatabaseUrl

_MOST = 200


class KnownSchemas:
    """Gives the schema of a database, from memory if it was read before."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._known: dict[str, DatabaseSchema | DatabaseError | None] = {}

    def __call__(self, url: DatabaseUrl) -> DatabaseSchema | None:
        """The schema; None if it cannot be read."""
        try:
            return self.read(url)
        except DatabaseError:
            return None

    def read(self, url: DatabaseUrl) -> DatabaseSchema | None:
        """The schema; None if the engine cannot describe it. Raises DatabaseError if it cannot be read."""
        if url.text not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            try:
                self._known[url.text] = self._executor.schema(url)
            except DatabaseError as error:
                self._known[url.text] = error
        found = self._known[url.text]
        if isinstance(found, DatabaseError):
            raise found
        return found
