"""Accuracy as it stands once other databases were looked at."""

from __future__ import annotations

from typing import ClassVar

from assay.metrics.match import Match


class MatchAfterWitnesses(Match):
    """`match`, but 0 for an answer that differs from the gold query on another database like it
    (`assay docs strength`).

    Scored as `match` at first; the search for witnesses then says which matches are refuted. Only a run that looks for
    witnesses has it.
    """

    name: ClassVar[str] = "match_after_witnesses"
    heading: ClassVar[str] = "Accuracy after witnesses"
    meaning: ClassVar[str] = "match, without answers that a database like the real one refutes"
