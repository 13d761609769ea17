"""The worker's side of a run's search for witnesses: one right answer and its gold queries."""

from __future__ import annotations

from msgspec.structs import replace

from assay.comparison.answer import Answer
from assay.comparison.lenient import compare_leniently
from assay.diagnosis.diagnoser import CauseFinder
from assay.errors import DatabaseError
from assay.model import STRICT, Case, ComparisonOptions, Evidence, Prediction, Verdict
from assay.model.witness import Refutation
from assay.runs.workers.known_schemas import KnownSchemas
from assay.runs.workers.witness_worker import WitnessTask, WitnessWorker, WitnessWorkerSettings
from assay.runs.workers.worker_tasks import MatchTask, WorkerSettings
from assay.scoring.queries.gold_answers import read_answers
from assay.witness.clock import Clock

_SETTLED = ("proved", "bounded", "tie")
_AGREED = ("no_difference", "out_of_time")


class MatchWorker:
    """Looks for a database that distinguishes a right answer from the gold query, by the comparison of its case."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._options = settings.options
        self._scratch = settings.scratch
        self._worker = WitnessWorker(
            WitnessWorkerSettings(
                engines=settings.engines, limits=settings.limits, cache_bytes=settings.cache_bytes // 2
            )
        )

        self._causes = MatchCauses(self._worker)

    def __call__(self, task: MatchTask) -> Refutation:
        """The outcome. An answer that one gold query accepts on every database need not be accepted by the others."""
        first: Refutation | None = None
        for gold in task.golds:
            leniency = task.options.leniency.over(self._options.leniency)
            options = replace(self._options, columns=task.options.columns or self._options.columns, leniency=STRICT)
            asked = WitnessTask(
                first=gold,
                second=task.predicted,
                url=task.url,
                seconds=task.witness.seconds,
                seed=task.witness.seed,
                max_rows=task.witness.max_rows,
                options=options,
                scratch=self._scratch,
            )
            found = self._as_compared(
                self._worker(asked), replace(options, leniency=leniency), ordered=task.options.ordered
            )
            found = found if not found.differs else self._causes.named(found, asked, options)
            first = first or found
            if not first.differs:
                return first
            if found is not first and (found.kind in _SETTLED or found.why in _AGREED):
                return replace(found, notes=(*found.notes, "by another gold query of the case than it was scored by"))
        assert first is not None
        return first

    def close(self) -> None:
        """Close every connection. Closing twice is harmless."""
        self._worker.close()

    def _as_compared(self, found: Refutation, options: ComparisonOptions, *, ordered: bool | None) -> Refutation:
        """The outcome under a comparison that the search does not know: what is forgiven is not a difference."""
        if found.witness is None or not found.differs:
            if (
                ordered
                and found.kind in (*_SETTLED, "unknown")
                and (found.proof is None or "same text" not in found.proof.rules)
            ):
                return _unknown(found, "the case demands the gold query's row order, but the gold query does not order")
            return found
        if options.leniency == STRICT and ordered is None:
            return found
        gold, predicted = found.witness.first, found.witness.second
        answer = Answer.bag(gold) if ordered is not True else Answer.strict(gold)
        if ordered is None and "order_only" in found.tags:
            return found  # the gold query asks for the order, and no leniency forgives it
        if compare_leniently(predicted, answer, options).equal:
            return _unknown(found, "the difference that was found is one that the case or the run forgives")
        return found


def _unknown(found: Refutation, reason: str) -> Refutation:
    return Refutation(
        kind="unknown",
        why="comparison",
        reason=reason,
        notes=found.notes,
        engine=found.engine,
        trials=found.trials,
        seconds=found.seconds,
        seed=found.seed,
    )


_LOOKED_AGAIN = 0.1
"""With this part of the pair's computing a repaired query is held against the gold query on other databases."""


class MatchCauses:
    """Names what differs between the gold query and a match, by repairs that are executed on the witness."""

    def __init__(self, worker: WitnessWorker) -> None:
        self._worker = worker
        self._schemas = KnownSchemas(worker.executor)

    def named(self, found: Refutation, task: WitnessTask, options: ComparisonOptions) -> Refutation:
        """The refutation with the causes of its difference; as it is if the queries cannot be compared."""
        if found.witness is None or not found.differs or task.url is None:
            return found
        finder = CauseFinder(self._worker.executor, self._schemas)
        evidence = Evidence(
            case=Case(id="", question="", golds=(task.first,)),
            prediction=Prediction(case_id="", query=task.second),
            verdict=Verdict(outcome="incorrect", reason=found.witness.difference),
        )
        try:
            # Whether a query gives the gold query's result on the witness, and nothing else that is found quickly
            # parts them. All such queries together may take what the pair itself may.
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
                again = replace(task, second=query, url=task.url, seconds=task.seconds * _LOOKED_AGAIN, max_rows=0)
                return not self._worker(again).differs

            told = finder.diagnose(evidence, task.url, is_right)
        except DatabaseError:  # the server for scratch schemas went away
            return found
        if told is None or told.notes or not any(cause.gold or cause.predicted for cause in told.causes):
            return found
        causes = tuple(cause for cause in told.causes if cause.kind not in ("other", "rewrite", "ambiguous_gold"))
        return replace(found, causes=causes, repair=told.repair)
