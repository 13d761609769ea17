"""Score answers by the cases as people's reviews corrected them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from assay.model import Case, Verdict
from assay.model.failure import is_final
from assay.ports import Backend, CaseScorer, Task, TaskLost
from assay.runs.plan import Works, plan_places
from assay.runs.store.codec import decode_evidence, pack_task


def verdicts_by(
    corrected: Mapping[int, Case],
    works: Works,
    pool: Backend | None,
    scorer: CaseScorer | None,
    *,
    ended: Callable[[], bool],
) -> Iterator[tuple[int, Verdict | None]]:
    """The verdict of each answer by its corrected case, by places. None: it could not be scored for now."""
    changed = {place: replace(works[place], case=case) for place, case in corrected.items()}
    if scorer is not None:
        for place, work in changed.items():
            yield place, _final(scorer.evidence(work.case, work.prediction, work.url).verdict)
        return
    if pool is None:
        return
    batches = plan_places(list(changed), works.url, lambda place: changed[place].case.golds, pool.size)
    tasks = (
        [Task(id=place, payload=pack_task(changed[place]), database=changed[place].url) for place in batch]
        for batch in batches
        if not ended()
    )
    for outcome in pool.run(tasks, shared=True):
        if isinstance(outcome, TaskLost):
            yield outcome.task_id, None
            continue
        match outcome.outcome:
            case (bytes() as line, _, _):
                yield outcome.task_id, _final(decode_evidence(line).verdict)


def _final(verdict: Verdict) -> Verdict | None:
    """The verdict, unless it is unscored by a failure that may pass."""
    failure = verdict.failure
    return verdict if is_final(failure) or (failure is not None and failure.stage == "ask") else None
