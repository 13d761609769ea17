"""What makes two runs less comparable than they look, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from assay.errors import plural
from assay.model import Fingerprint, Matching, RunDiff, RunSettings
from assay.platform.surface import option
from assay.runs.compare.metric_differences import Pairs
from assay.runs.reviews.keys import database_digest
from assay.runs.store.compared_cases import RunRecords
from assay.stats import is_significant

_SHOWN = 5


def notes_of(diff: RunDiff, baseline: RunRecords, candidate: RunRecords, pairs: Pairs) -> Iterator[str]:
    """The notes on a comparison that is otherwise complete, the most serious first."""
    headline = next((one for one in diff.metrics if one.metric == diff.headline_metric), None)
    if _same_answers(baseline, candidate, pairs, [one.metric for one in diff.metrics]):
        yield "The two runs gave the same answers and got the same values: nothing differs between them."
    databases = Counter(new.content.database for _, new in pairs)
    differing = differing_databases(baseline, candidate, databases)
    if differing:
        cases = sum(databases[name] for name in differing)
        named = sorted(name for name in differing if name is not None)
        of_which = f" of {plural(len(named), 'database')} ({listed(named)})" if named else ""
        yield (
            f"The data{of_which} is not the same in both runs: changes in the {plural(cases, 'case')} on it may "
            "come from the data."
        )
    if candidate.settings.selection is not None and _structures(baseline) != _structures(candidate):
        yield (
            "The structures that selections were read with are not the same in both runs: changes may come from them."
        )
    yield from _of_cases(diff.matching)
    if headline is not None and headline.unscored:
        number = headline.unscored
        yield (
            f"{plural(number, 'case')} that both runs have {are(number)} left unscored by {headline.metric} in at "
            f"least one of them, and {are(number)} excluded."
        )
    timed = any(baseline.infos[name].timed for name in baseline.metrics if name in candidate.metrics)
    if found := settings_differ(baseline.settings, candidate.settings, timed=timed):
        yield (
            "The runs were scored with other settings, so that equal answers may score differently: "
            f"{'; '.join(found)}."
        )
    if diff.reviewed is not None:
        yield from reviews_note([baseline, candidate], [diff.baseline.label, diff.candidate.label])
    yield from versions_note([baseline, candidate])
    if baseline.repeats != candidate.repeats:
        was, now = ("once" if run.repeats == 1 else f"{run.repeats} times" for run in (baseline, candidate))
        yield (
            f"The baseline was asked each question {was}, the candidate {now}: "
            "a case counts by the mean of its answers."
        )
    for metrics, which in ((diff.only_baseline_metrics, "baseline"), (diff.only_candidate_metrics, "candidate")):
        if metrics:
            of_them = "that" if len(metrics) == 1 else "these"
            yield f"Only the {which} has {', '.join(metrics)}: {of_them} cannot be compared."
    # The test is about these cases, and the interval allows for others: they may disagree.
    if headline is not None and headline.clusters is not None and headline.low is not None:
        significant = is_significant(headline.p_value, diff.settings.alpha)
        if significant and headline.low <= 0.0 <= (headline.high or 0.0):
            yield (
                f"The difference in {headline.metric} varies much between the {headline.clusters} databases: it is "
                "significant on these cases, but its interval, which allows for other databases, includes 0."
            )


def _same_answers(baseline: RunRecords, candidate: RunRecords, pairs: Pairs, metrics: Sequence[str]) -> bool:
    if len(baseline.cases) != len(pairs) or len(candidate.cases) != len(pairs):
        return False
    scored = [metric for metric in metrics if metric in candidate.metrics]  # the others follow from verdicts
    old_places = [baseline.metrics.index(metric) for metric in scored]
    new_places = [candidate.metrics.index(metric) for metric in scored]
    return all(
        (old.query, old.answered) == (new.query, new.answered)
        and [old.values[at] for at in old_places] == [new.values[at] for at in new_places]
        for old, new in pairs
    )


def differing_databases(
    baseline: RunRecords, candidate: RunRecords, databases: Iterable[str | None]
) -> frozenset[str | None]:
    """The named databases whose content is known to differ between the two runs."""
    pairs = ((name, _digest(baseline, name), _digest(candidate, name)) for name in databases)
    return frozenset(name for name, was, now in pairs if was and now and was != now)


def _digest(run: RunRecords, name: str | None) -> str:
    """The fingerprint of the database that has this name in the cases; empty if the run has none."""
    return database_digest(run.settings, run.provenance, name)


def _structures(run: RunRecords) -> str | None:
    """The fingerprint of the structures, which follows those of the files."""
    settings = run.settings.selection
    sources = ", ".join(settings.structures) if settings is not None else ""
    return next((one.digest for one in run.provenance.inputs if sources and one.name == sources), None)


def _of_cases(matching: Matching) -> Iterator[str]:
    if matching.changed:
        parts = Counter(part for case in matching.changed for part in case.parts)
        told = ", ".join(f"{part} in {times:,}" for part, times in parts.items())
        yield (
            f"{plural(len(matching.changed), 'case')} changed between the runs ({told}) and "
            f"{are(len(matching.changed))} excluded: "
            f"{listed([case.candidate_id for case in matching.changed])}."
        )
    for ids, which in ((matching.added, "candidate"), (matching.removed, "baseline")):
        if ids:
            number = len(ids)
            yield f"{plural(number, 'case')} {are(number)} in the {which} alone, and excluded: {listed(ids)}."
    if matching.renamed:
        number = len(matching.renamed)
        yield (
            f"{plural(number, 'case')} {'has' if number == 1 else 'have'} another id in the candidate, and "
            f"{are(number)} compared nevertheless, since the content is equal: "
            f"{listed([f'{old} is now {new}' for old, new in matching.renamed])}."
        )


def settings_differ(old: RunSettings, new: RunSettings, *, timed: bool) -> list[str]:
    """The differing settings that affect verdicts, or times if these are scored."""
    before, after = _affecting(old, timed=timed), _affecting(new, timed=timed)
    return [
        f"{name} was {before[name]!r}, now {after[name]!r}"
        for name in before
        if name in after and before[name] != after[name]
    ]


def _affecting(settings: RunSettings, *, timed: bool) -> dict[str, object]:
    own = ("columns", "relative_tolerance", "absolute_tolerance")
    found = {name: getattr(settings, name) for name in own}
    limits = ("timeout_s", "max_rows", "max_result_bytes", "max_memory_bytes")
    found |= {name: getattr(settings.limits, name) for name in limits}
    found["leniency"] = settings.leniency.said or "none"
    if timed:
        found["timing_iterations"] = settings.timing_iterations
    if settings.selection is not None:
        found |= {name: getattr(settings.selection, name) for name in ("match_on", "count_hierarchy", "language")}
    return found


def reviews_note(runs: Sequence[RunRecords], labels: Sequence[str]) -> Iterator[str]:
    """A sentence where people's reviews were applied to some of the runs only."""
    having = [label for run, label in zip(runs, labels, strict=True) if run.has_reviews]
    if 0 < len(having) < len(runs):
        yield (
            f"Reviews are applied to {listed(having)} only, so that accuracy after reviews cannot be compared: give "
            f"{option('--reviews', 'FILE')} for all runs."
        )


def versions_note(runs: Sequence[RunRecords]) -> Iterator[str]:
    """A sentence where the runs were made with different versions of Assay or of a database engine."""
    found: list[str] = []
    told = [{"Assay": run.provenance.assay_version, **_by_name(run.provenance.engine_versions)} for run in runs]
    for name in dict.fromkeys(name for one in told for name in one):
        versions = list(dict.fromkeys(one[name] for one in told if name in one))
        if len(versions) > 1:
            found.append(f"{name} {' and '.join(versions)}")
    if found:
        yield f"The runs were not made with the same versions: {'; '.join(found)}."


def _by_name(fingerprints: Iterable[Fingerprint]) -> dict[str, str]:
    return {one.name: one.digest for one in fingerprints}


def listed(names: Collection[str]) -> str:
    """A list of the first few names."""
    shown = list(names)[:_SHOWN]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def are(number: int) -> str:
    """``is`` or ``are``, by the number."""
    return "is" if number == 1 else "are"
