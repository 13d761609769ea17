"""Execute target and answer on the same data, and compare the resulting observations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from assay.comparison.compare import compare
from assay.errors import plural
from assay.model import DataScore, Failure, Result, Selection, SelectionSettings
from assay.sdmx.data.observations import DataQuery, DataSource, DataTrouble, Observation, UnknownDataset
from assay.sdmx.matching import DatasetPair, Side, pair_datasets
from assay.sdmx.structures.known import Structures

MOST_SELECTED = 1_000_000
"""The maximum number of observations per side."""
_COLUMNS = ("dataset", "series", "period", "value")


def compare_on_data(
    selected: Selection,
    targets: Sequence[Selection],
    source: DataSource,
    *,
    structures: Structures | None,
    settings: SelectionSettings,
    first: int = 0,
) -> DataScore:
    """Compare the observations that a selection gives on the data with those of the targets.

    Returns the score of the first matching target, otherwise of the target with index ``first``. Never raises for
    anything
    missing in a source or a selection.
    """
    ignored = frozenset(settings.ignored_dimensions)
    order = sorted(range(len(targets)), key=lambda place: place != first)
    scores = []
    for place in order:
        pairs = pair_datasets(targets[place], selected, structures, ignored=ignored)
        scores.append(_compare_pairs(pairs, source, structures))
        if scores[-1].match:
            break
    return next((score for score in scores if score.match), scores[0])


class _Extract(Struct, kw_only=True):
    """The observations of one side."""

    observations: dict[tuple[object, ...], float | str | None] = field(default_factory=dict)
    troubles: list[tuple[str, DataTrouble]] = field(default_factory=list)
    """The queries without a result: their dataset, and why."""
    is_cut: bool = False

    def take(self, observations: Iterable[Observation]) -> None:
        for dataset, series, period, value in observations:
            if len(self.observations) >= MOST_SELECTED:
                self.is_cut = True
                return
            self.observations[dataset, series, period] = value

    def series(self) -> set[tuple[object, ...]]:
        return {(dataset, series) for dataset, series, _ in self.observations}

    def result(self) -> Result:
        rows = tuple(
            (dataset, ".".join(f"{name}={code}" for name, code in series), period, value)  # type: ignore[attr-defined]
            for (dataset, series, period), value in self.observations.items()
        )
        return Result(columns=_COLUMNS, rows=rows)


def _compare_pairs(pairs: Sequence[DatasetPair], source: DataSource, structures: Structures | None) -> DataScore:
    target, selected = _Extract(), _Extract()
    for pair in pairs:
        _execute(pair, pair.target, target, source)
    if target.troubles:
        _, trouble = target.troubles[0]
        blame = "gold" if trouble.refused else trouble.blame
        return _unscored(replace(trouble.failure(), blame=blame), f"the target cannot be executed: {trouble.message}")
    if target.is_cut:
        failure = Failure(stage="execute", kind="truncated", blame="setup", message="")
        return _unscored(failure, f"the target selects more than {MOST_SELECTED:,} observations: narrow it")
    if not target.observations and any(pair.target is not None for pair in pairs):
        return _unscored(
            Failure(stage="execute", kind="unscorable", blame="setup", message=""),
            f"the target selects no observation of {source.name}, so that nothing can be compared: "
            f"check its codes and periods, and whether these are the data of the cases{source.doubt}",
        )
    for pair in pairs:
        _execute(pair, pair.selected, selected, source)
    return _compare(target, selected, structures)


def _execute(pair: DatasetPair, side: Side | None, extract: _Extract, source: DataSource) -> None:
    """Add the observations of one side of a pair. Time counts unless the target says nothing about it."""
    judges_time = pair.target is None or pair.target.time is not None
    for query in side.queries if side is not None else ():
        codes = {
            name: tuple(chosen.codes)
            for name, chosen in query.dimensions.items()
            if chosen.codes and not chosen.everything
        }
        time = (query.time or ()) if judges_time else ()
        try:
            extract.take(source.select(DataQuery(dataset=pair.label, codes=codes, time=time)))
        except DataTrouble as trouble:
            extract.troubles.append((pair.label, trouble))


def _compare(target: _Extract, selected: _Extract, structures: Structures | None) -> DataScore:
    invented = [trouble for label, trouble in selected.troubles if _is_invented(label, trouble, structures)]
    others = [trouble for label, trouble in selected.troubles if not _is_invented(label, trouble, structures)]
    lacks = any(key not in selected.observations for key in target.observations)
    # An answer with an invented part is wrong whatever its other parts give, and so is one that lacks observations of
    # the target if only other datasets are not available. Any other failure could hide the missing observations.
    if not invented and not all(lacks and _is_unknown(one) for one in others):
        trouble = next(one for one in others if not (lacks and _is_unknown(one)))
        return _unscored(trouble.failure(), f"the answer cannot be executed: {trouble.message}")
    same = not selected.troubles and not selected.is_cut
    if same:
        compared = compare(selected.result(), target.result())
        same = compared.equal if compared.decided else target.observations == selected.observations
    wanted, got = target.series(), selected.series()
    both = len(wanted & got)
    recall = both / len(wanted) if wanted else None if got else 1.0
    shared = sum(key in target.observations for key in selected.observations)
    return DataScore(
        match=same,
        reason=_reason(target, selected, (*invented, *others), shared, same=same),
        target_series=len(wanted),
        selected_series=len(got),
        shared_series=both,
        target_observations=len(target.observations),
        selected_observations=len(selected.observations),
        shared_observations=shared,
        series_precision=None if others else both / len(got) if got else 0.0 if wanted else 1.0,
        series_recall=recall if all(map(_is_unknown, others)) else None,
    )


def _is_unknown(trouble: DataTrouble) -> bool:
    """Whether only the data lack a dataset, which is then not one of the target's."""
    return isinstance(trouble, UnknownDataset)


def _is_invented(label: str, trouble: DataTrouble, structures: Structures | None) -> bool:
    """Whether the answer is wrong: for a request that a service refuses, or for a dataset that the structures do not
    have."""
    if trouble.refused:
        return True
    return _is_unknown(trouble) and structures is not None and structures.dataset(label) is None


def _reason(target: _Extract, selected: _Extract, troubles: Sequence[DataTrouble], shared: int, *, same: bool) -> str:
    if troubles:
        return f"part of the answer cannot be executed: {troubles[0].message}"
    if same:
        return f"the same {plural(shared, 'observation')}"
    lacking, extra = len(target.observations) - shared, len(selected.observations) - shared
    more = "more than " if selected.is_cut else ""
    parts = [f"{lacking:,} of the target's {len(target.observations):,} observations are missing"] if lacking else []
    parts += [f"{more}{extra:,} are extra"] if extra else []
    return " and ".join(parts)


def _unscored(failure: Failure, message: str) -> DataScore:
    return DataScore(match=None, failure=replace(failure, message=message), reason=message)
