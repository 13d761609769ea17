"""Execute target and answer on the same data, and compare the resulting observations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from assay.comparison import compare
from assay.model import DataScore, Failure, Result, Selection, SelectionSettings, TimeRange
from assay.sdmx.data.observations import DataQuery, DataSource, DataTrouble, Observation, UnknownDataset
from assay.sdmx.matching import Chosen, DatasetPair, Query, Side, pair_datasets
from assay.sdmx.structures.known import Structures

MOST_SELECTED = 1_000_000
"""How many observations one side may select."""
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

    Returns the score of the first matching target, else of the target with index ``first``. Never raises for anything
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


@dataclass(slots=True, kw_only=True)
class _Extract:
    """The observations of one side."""

    observations: dict[tuple[object, ...], float | str | None] = field(default_factory=dict)
    trouble: DataTrouble | None = None
    """Why some of the side's queries gave nothing."""
    unknown: list[str] = field(default_factory=list)
    """The datasets without data."""
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
        judges_time = pair.target is None or pair.target.time is not None
        _execute(pair.label, pair.target, target, source, judges_time=judges_time)
    wanted = any(pair.target is not None for pair in pairs)
    trouble = target.trouble
    if trouble is not None:
        blame = "gold" if trouble.refused else trouble.blame
        return _unscored(replace(trouble.failure(), blame=blame), f"the target cannot be executed: {trouble.message}")
    if target.is_cut:
        return _unscored(_truncated(), f"the target selects more than {MOST_SELECTED:,} observations: narrow it")
    if wanted and not target.observations:
        return _unscored(
            _nothing(),
            f"the target selects no observation of {source.name}, so that nothing can be compared: "
            "check its codes and periods, and whether these are the data of the cases",
        )
    for pair in pairs:
        judges_time = pair.target is None or pair.target.time is not None
        _execute(pair.label, pair.selected, selected, source, judges_time=judges_time)
    return _compare(target, selected, structures)


def _execute(label: str, side: Side | None, extract: _Extract, source: DataSource, *, judges_time: bool) -> None:
    for query in side.queries if side is not None else ():
        try:
            extract.take(source.select(_data_query(label, query, judges_time=judges_time)))
        except UnknownDataset as trouble:
            extract.unknown.append(label)
            extract.trouble = extract.trouble or trouble
        except DataTrouble as trouble:
            extract.trouble = trouble


def _data_query(label: str, query: Query, *, judges_time: bool) -> DataQuery:
    codes = {name: tuple(chosen.codes) for name, chosen in query.dimensions.items() if _restricts(chosen)}
    time: tuple[TimeRange, ...] = (query.time or ()) if judges_time else ()
    return DataQuery(dataset=label, codes=codes, time=time)


def _restricts(chosen: Chosen) -> bool:
    return bool(chosen.codes) and not chosen.everything


def _compare(target: _Extract, selected: _Extract, structures: Structures | None) -> DataScore:
    trouble = selected.trouble
    lacks = any(key not in selected.observations for key in target.observations)
    is_invented = trouble is not None and (
        trouble.refused or (structures is not None and all(structures.dataset(one) is None for one in selected.unknown))
    )
    if trouble is not None and not is_invented and not (lacks and isinstance(trouble, UnknownDataset)):
        return _unscored(trouble.failure(), f"the answer cannot be executed: {trouble.message}")
    same = trouble is None and not selected.is_cut and _same(target, selected)
    wanted, got = target.series(), selected.series()
    both = len(wanted & got)
    known = trouble is None or is_invented
    shared = sum(key in target.observations for key in selected.observations)
    return DataScore(
        match=same,
        reason=_reason(target, selected, shared, same=same),
        target_series=len(wanted),
        selected_series=len(got),
        shared_series=both,
        target_observations=len(target.observations),
        selected_observations=len(selected.observations),
        shared_observations=shared,
        series_precision=(both / len(got) if got else 0.0 if wanted else 1.0) if known else None,
        series_recall=both / len(wanted) if wanted else None if got else 1.0,
    )


def _same(target: _Extract, selected: _Extract) -> bool:
    compared = compare(selected.result(), target.result())
    return compared.equal if compared.decided else target.observations == selected.observations


def _reason(target: _Extract, selected: _Extract, shared: int, *, same: bool) -> str:
    if selected.trouble is not None:
        return f"part of the answer cannot be executed: {selected.trouble.message}"
    if same:
        return f"the same {shared:,} observation{'s' * (shared != 1)}"
    lacking, extra = len(target.observations) - shared, len(selected.observations) - shared
    more = "more than " if selected.is_cut else ""
    parts = [f"{lacking:,} of the target's {len(target.observations):,} observations are missing"] if lacking else []
    parts += [f"{more}{extra:,} are too many"] if extra else []
    return " and ".join(parts)


def _unscored(failure: Failure, message: str) -> DataScore:
    return DataScore(match=None, failure=replace(failure, message=message), reason=message)


def _truncated() -> Failure:
    return Failure(stage="execute", kind="truncated", blame="setup", message="")


def _nothing() -> Failure:
    return Failure(stage="execute", kind="unscorable", blame="setup", message="")
