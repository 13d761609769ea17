"""Compare two runs over the same cases: what was fixed and broken, and how sure the difference is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import convert
from msgspec.structs import replace

from assay.errors import InputError
from assay.model import (
    CaseChange,
    CaseSide,
    ChangeKind,
    DiffSettings,
    Matching,
    Rate,
    ReviewedDiff,
    Run,
    RunDiff,
    RunHead,
)
from assay.runs.aggregate.rates import rate_of
from assay.runs.compare.metric_differences import Pairs, compare_groups, compare_metrics, paired_columns
from assay.runs.compare.notes import differing_databases, notes_of
from assay.runs.compare.same_cases import pair_cases
from assay.runs.reviews.applying import ReviewsChoice
from assay.runs.store.compared_cases import CaseRecord, RunRecords, read_records
from assay.sdmx.gc_pause import collector_paused

_EXAMPLES = 3


def diff_runs(
    baseline: Run | Path,
    candidate: Run | Path,
    *,
    settings: DiffSettings | None = None,
    labels: tuple[str, str] | None = None,
    reviews: ReviewsChoice = None,
) -> RunDiff:
    """Compare a run, in memory or in a folder, with an earlier one. ``labels`` are the names of the two.

    Everything is over the cases that both have, unchanged (`pair_cases`). Only the needed parts of a folder are read.

    Raises:
        InputError: there is no run in a folder, the runs are of two kinds, or they share no metric or no case.
        RunError: a run is unfinished or damaged; the message says where.
    """
    with collector_paused():
        old, new = read_records([baseline, candidate], reviews=reviews)
        return compare_records(old, new, settings or DiffSettings(), labels)


def compare_records(
    baseline: RunRecords, candidate: RunRecords, settings: DiffSettings, labels: tuple[str, str] | None = None
) -> RunDiff:
    """As `diff_runs`, for runs that were read already."""
    pairing = pair_cases(baseline.cases, candidate.cases)
    if not pairing.pairs:
        raise InputError(_nothing_shared(baseline, candidate, pairing.matching))
    pairs = pairing.pairs
    columns = paired_columns(baseline, candidate, pairs)
    first, second = labels or labels_of([baseline, candidate])
    other_data = differing_databases(baseline, candidate, {new.content.database for _, new in pairs})
    changes = []
    for old, new in pairs:
        kind, database = _kind(old, new), new.content.database
        changes.append(
            CaseChange(
                kind=kind,
                baseline=convert(old, CaseSide, from_attributes=True),
                candidate=convert(new, CaseSide, from_attributes=True),
                question=new.content.question,
                database=database,
                difficulty=new.difficulty,
                tags=new.tags,
                otherwise=kind == "still_wrong" and _wrong_otherwise(old, new, same_data=database not in other_data),
            )
        )
    diff = RunDiff(
        baseline=run_head(baseline, first),
        candidate=run_head(candidate, second),
        settings=settings,
        headline_metric=candidate.headline_metric,
        matching=pairing.matching,
        notes=(),
        metrics=compare_metrics(columns, pairs, settings),
        only_baseline_metrics=tuple(one for one in baseline.metrics if one not in candidate.metrics),
        only_candidate_metrics=tuple(one for one in candidate.metrics if one not in baseline.metrics),
        groups=compare_groups(columns, pairs, settings),
        changes=tuple(changes),
    )
    diff = replace(diff, reviewed=_reviewed(pairs, settings))
    return replace(diff, notes=tuple(notes_of(diff, baseline, candidate, pairs)))


def _reviewed(pairs: Pairs, settings: DiffSettings) -> ReviewedDiff | None:
    """The two runs by the reviewed verdicts, over the cases that both have scored then."""
    reviewed = sum(old.is_reviewed or new.is_reviewed for old, new in pairs)
    if not reviewed:
        return None
    scored = [
        (new.case_id, old.reviewed, new.reviewed)
        for old, new in pairs
        if old.reviewed is not None and new.reviewed is not None
    ]

    def rate(values: Sequence[float]) -> Rate:
        return rate_of(values, binary=set(values) <= {0.0, 1.0}, confidence=settings.confidence)

    return ReviewedDiff(
        reviewed=reviewed,
        baseline=rate([was for _, was, _ in scored]),
        candidate=rate([now for _, _, now in scored]),
        fixed=tuple(name for name, was, now in scored if (was, now) == (0.0, 1.0)),
        broken=tuple(name for name, was, now in scored if (was, now) == (1.0, 0.0)),
    )


def _nothing_shared(baseline: RunRecords, candidate: RunRecords, matching: Matching) -> str:
    if matching.changed:
        one = matching.changed[0]
        same = "the same id" if one.baseline_id == one.candidate_id else "the same question"
        why = (
            f"{len(matching.changed):,} have the same id or question in both, and each of them was changed: case "
            f"{one.candidate_id!r} has {same} and differs in {', '.join(one.parts)}"
        )
    else:
        why = f"the baseline has {_ids(baseline)}, the candidate {_ids(candidate)}"
    return (
        f"no case in common: {why}. Cases are compared by question, gold query, database, context and options; "
        "check that both runs are over one question set"
    )


def _ids(run: RunRecords) -> str:
    shown = ", ".join(repr(case.case_id) for case in run.cases[:_EXAMPLES])
    return f"cases, for example {shown}" if shown else "no case at all"


def _kind(old: CaseRecord, new: CaseRecord) -> ChangeKind:
    was, now = old.share, new.share
    if was is None or now is None:
        return "unscored"
    if was == now:
        return "still_right" if now == 1.0 else "still_wrong" if now == 0.0 else "flaky"
    if now > was:
        return "fixed" if (was, now) == (0.0, 1.0) else "better"
    return "broken" if (was, now) == (1.0, 0.0) else "worse"


def _wrong_otherwise(old: CaseRecord, new: CaseRecord, *, same_data: bool) -> bool:
    """Whether no wrong answer of one run is wrong in the same way as one of the other."""
    if same_data:
        # The results of one query can differ just because the clock does.
        asked = {query for query, _ in old.failing if query is not None}
        if any(query in asked for query, _ in new.failing):
            return False
    return {way for _, way in old.failing}.isdisjoint(way for _, way in new.failing)


def run_head(run: RunRecords, label: str) -> RunHead:
    """Name, source and headline metric of a compared run."""
    return RunHead(
        label=label,
        folder=run.folder,
        settings=run.settings,
        provenance=run.provenance,
        cases=len(run.cases),
        repeats=run.repeats,
        headline=run.aggregates.overall.rate(run.headline_metric),
    )


def labels_of(runs: Sequence[RunRecords]) -> tuple[str, ...]:
    """Labels for runs: the name, else the folder, else what was evaluated; numbered if these do not differ."""
    names = [
        run.settings.name
        or (run.folder and Path(run.folder).resolve().name)
        or Path(run.settings.predictions).stem
        or "run"
        for run in runs
    ]
    if len(set(names)) < len(names):
        # Runs of one name are distinguished by their folders.
        names = [
            name if names.count(name) == 1 or run.folder is None else f"{name} ({run.folder})"
            for name, run in zip(names, runs, strict=True)
        ]
    taken: list[str] = []
    for name in names:
        number, label = 1, name
        while label in taken:
            number += 1
            label = f"{name} ({number})"
        taken.append(label)
    return tuple(taken)
