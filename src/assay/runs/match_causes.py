"""Where a match that another database parts from gold differs from it: a witness as the evidence for a cause."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from assay.diagnosis.diagnoser import CauseFinder
from assay.errors import DatabaseError
from assay.model import Case, ComparisonOptions, DatabaseUrl, Evidence, Prediction, Verdict
from assay.model.witness import Refutation
from assay.runs.known_schemas import KnownSchemas
from assay.runs.witness_worker import WitnessTask, WitnessWorker
from assay.scoring.queries.gold_answers import read_answers
from assay.witness.clock import Clock

_LOOKED_AGAIN = 0.1
"""With this part of the pair's computing a repaired query is held against gold on other databases."""


class MatchCauses:
    """Names what differs between gold and a match, by repairs that are executed on the witness."""

    def __init__(self, worker: WitnessWorker) -> None:
        self._worker = worker
        self._schemas = KnownSchemas(worker.executor)

    def named(self, found: Refutation, task: WitnessTask, options: ComparisonOptions) -> Refutation:
        """The refutation with the causes of its difference; as it is where the queries cannot be compared."""
        if found.witness is None or not found.differs or task.url is None:
            return found
        finder = CauseFinder(self._worker.executor, self._schemas)
        evidence = Evidence(
            case=Case(id="", question="", golds=(task.first,)),
            prediction=Prediction(case_id="", query=task.second),
            verdict=Verdict(outcome="incorrect", reason=found.witness.difference),
        )
        try:
            told = finder.diagnose(evidence, task.url, self._is_right(found, task, task.url, options))
        except DatabaseError:  # the server for scratch schemas went away
            return found
        if told is None or told.notes or not any(cause.gold or cause.predicted for cause in told.causes):
            return found
        causes = tuple(cause for cause in told.causes if cause.kind not in ("other", "rewrite", "ambiguous_gold"))
        return replace(found, causes=causes, repair=told.repair)

    def _is_right(
        self, found: Refutation, task: WitnessTask, url: DatabaseUrl, options: ComparisonOptions
    ) -> Callable[[str], bool]:
        """Whether a query gives gold's result on the witness, and nothing else that is found quickly parts them.

        All such queries together may take what the pair itself may.
        """
        witness = found.witness
        assert witness is not None
        clock = Clock(task.seconds)

        def is_right(query: str) -> bool:
            if clock.is_over:
                return False
            scratch = self._worker.made_again(witness)
            result = None if scratch is None else scratch.execute(query).result
            if scratch is None or result is None:
                return False
            if not read_answers(scratch, task.first, witness.first).compare(result, options).equal:
                return False
            again = replace(task, second=query, url=url, seconds=task.seconds * _LOOKED_AGAIN, max_rows=0)
            return not self._worker(again).differs

        return is_right
