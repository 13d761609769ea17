"""The worker's side of a run's search for witnesses: one right answer beside its golds."""

from __future__ import annotations

from msgspec.structs import replace

from assay.comparison import Answer, compare_leniently
from assay.model import STRICT, ComparisonOptions
from assay.model.witness import Refutation
from assay.runs.match_causes import MatchCauses
from assay.runs.witness_worker import WitnessTask, WitnessWorker, WitnessWorkerSettings
from assay.runs.worker_tasks import MatchTask, WorkerSettings

_SETTLED = ("proved", "bounded", "tie")
_AGREED = ("no_difference", "out_of_time")


class MatchWorker:
    """Looks for a database that parts a right answer from gold, by the comparison of its case."""

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
        """What came of it. An answer that one gold accepts on every database need not be accepted by the others."""
        first: Refutation | None = None
        for gold in task.golds:
            found = self._beside(gold, task)
            first = first or found
            if not first.differs:
                return first
            if found is not first and (found.kind in _SETTLED or found.why in _AGREED):
                return replace(found, notes=(*found.notes, "by another gold of the case than it was judged by"))
        assert first is not None
        return first

    def close(self) -> None:
        """Close every connection. Closing twice is harmless."""
        self._worker.close()

    def _beside(self, gold: str, task: MatchTask) -> Refutation:
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
        return found if not found.differs else self._causes.named(found, asked, options)

    def _as_compared(self, found: Refutation, options: ComparisonOptions, *, ordered: bool | None) -> Refutation:
        """The outcome under a comparison that the search does not know: what is forgiven is no difference."""
        if found.witness is None or not found.differs:
            if (
                ordered
                and found.kind in (*_SETTLED, "unknown")
                and (found.proof is None or "same text" not in found.proof.rules)
            ):
                return _unknown(found, "the case demands gold's row order, which gold's text does not ask for")
            return found
        if options.leniency == STRICT and ordered is None:
            return found
        gold, predicted = found.witness.first, found.witness.second
        answer = Answer.bag(gold) if ordered is not True else Answer.strict(gold)
        if ordered is None and "order_only" in found.tags:
            return found  # gold asks for the order, and no leniency forgives it
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
