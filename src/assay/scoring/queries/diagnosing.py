"""Ask why an answer is wrong, without risk to its verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from assay.model import Cause, DatabaseUrl, Diagnosis, Evidence, Execution
from assay.ports import Diagnoser
from assay.scoring.queries.case_databases import CaseDatabases
from assay.scoring.queries.comparing import GoldComparer
from assay.scoring.queries.recording import RecordingExecutor
from assay.scoring.time_limit import OutOfTimeError, TimeLimit

_OTHER = "Other"


class Causes:
    """Looks for the causes of wrong answers, once per answer and what it was judged by."""

    def __init__(
        self, diagnoser: Diagnoser, executor: RecordingExecutor, keeper: TimeLimit, comparer: GoldComparer
    ) -> None:
        self._diagnoser = diagnoser
        self._executor = executor
        self._keeper = keeper
        self._comparer = comparer

    def added_to(self, evidence: Evidence, at: CaseDatabases, golds: Sequence[Execution]) -> Evidence:
        """The evidence with its causes, which equal answers to equal golds share, whatever else is scored of them."""
        case, prediction = evidence.case, evidence.prediction
        if at.apart and evidence.verdict.failure is None:
            found = _of_two_databases(evidence)
            return replace(evidence, diagnosis=found, cause=found.title)
        asked = (case.golds, case.results, prediction.query, prediction.result, case.options)
        key = ("diagnosis", at.key, *asked, evidence.verdict)
        known = self._executor.recall(*key)
        if isinstance(known, Diagnosis):
            return replace(evidence, diagnosis=known, cause=known.title)
        evidence = diagnosed(
            self._diagnoser,
            self._keeper,
            evidence,
            at.predicted,
            partial(self._comparer.is_right_answer, case, at, golds),
        )
        if evidence.diagnosis is not None:
            self._executor.keep(evidence.diagnosis, *key)
        return evidence


def _of_two_databases(evidence: Evidence) -> Diagnosis:
    """The results alone tell: the queries are written for different databases."""
    near = evidence.comparison.near_misses if evidence.comparison is not None else ()
    words = "; ".join([evidence.verdict.reason, *(miss.detail for miss in near[:2])])
    note = "gold runs on another database: only the results are compared, and no clauses"
    return Diagnosis(causes=(Cause(kind="other", message=words),), notes=(note,), title=_OTHER)


def diagnosed(
    diagnoser: Diagnoser, keeper: TimeLimit, evidence: Evidence, url: DatabaseUrl, is_right: Callable[[str], bool]
) -> Evidence:
    """The evidence with its causes. A diagnosis that fails or takes too long says so in its place."""
    what = ("diagnosis", url.text, *evidence.case.golds, evidence.prediction.query)
    try:
        found = keeper.hold(what, lambda: diagnoser.diagnose(evidence, url, is_right))
    except OutOfTimeError as error:
        found = Diagnosis(causes=(), notes=(f"looking for the cause {error}",))
    except Exception as error:  # noqa: BLE001 - the case's boundary: a verdict must not be lost for want of its cause
        found = Diagnosis(causes=(), notes=(f"looking for the cause failed: {type(error).__name__}: {error}",))
    return evidence if found is None else replace(evidence, diagnosis=found, cause=found.title)
