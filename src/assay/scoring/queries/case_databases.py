"""On which database each side's queries are executed."""

from __future__ import annotations

from msgspec import Struct

from assay.model import DatabaseUrl


class CaseDatabases(Struct, frozen=True, kw_only=True):
    """Where the predictions of a case run, and where its gold."""

    predicted: DatabaseUrl
    gold: DatabaseUrl

    @property
    def apart(self) -> bool:
        """Whether they are two databases."""
        return self.gold is not self.predicted and self.gold != self.predicted

    @property
    def key(self) -> str:
        """What tells these databases from others."""
        return self.predicted.text if not self.apart else f"{self.predicted.text}\0{self.gold.text}"
