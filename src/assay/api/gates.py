"""Gates: checked before a run is made, evaluated afterwards."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from assay import registry
from assay.errors import InputError, RunError, UsageError
from assay.model import Case, DiffSettings, GateResult, Gates, RunDiff
from assay.model import Run as RunRecord
from assay.platform.surface import option
from assay.runs.aggregate.metric_infos import InfoOf, info_of, knowing
from assay.runs.gates.checks import check_cases, check_gates, check_metrics, resolved
from assay.runs.gates.results import evaluate_gates
from assay.runs.store.folder import load_run, read_finished, run_folder


class GateKeeper(Struct, frozen=True, kw_only=True):
    """Gates that fit a run still to be made, and the baseline that they compare with."""

    gates: Gates = Gates()
    baseline: RunRecord | None = None

    def check_cases(self, cases: Sequence[Case]) -> None:
        """Check that every selector fits a case of the run, and that the baseline has one of the cases unchanged.

        Raises InputError otherwise.
        """
        check_cases(self.gates, cases)
        if self.baseline is None or not cases:
            return
        from assay.runs.store.compared_cases import content_of

        known = {content_of(item.case) for item in self.baseline.evidence}
        if not any(content_of(case) in known for case in cases):
            raise InputError(
                f"the baseline, made from {self.baseline.settings.cases}, has no case in common with the "
                f"{len(cases):,} of this run (cases are compared by question, gold query, database, context and "
                "options): name another run"
            )

    def judged(self, run: RunRecord) -> RunRecord:
        """The run with the results of its gates. Raises InputError for a selector that matches no case."""
        if not self.gates.any:
            return run
        self.check_cases([item.case for item in run.evidence])
        return replace(run, gates=results_of(self.gates, run, self.baseline))


class DiffGates:
    """Gates for the candidate of a comparison, which they use: nothing is compared again."""

    def __init__(self, gates: Gates, baseline: Path, candidate: Path) -> None:
        """Check, before anything is compared, that the gates can be evaluated. Raises as `keeper_of` does."""
        settings = read_finished(candidate).settings
        check_gates(gates, knowing(settings))
        known = _known_metrics()
        check_metrics(gates, settings.metrics, known=known)
        self.gates: Gates = resolved(gates, settings.metrics)
        if gates.needs_baseline:
            has = read_finished(baseline).settings.metrics
            check_metrics(gates_that_compare(self.gates), has, known=known, of=f"the baseline {baseline}")
        self.baseline: Path = baseline
        self.candidate: Path = candidate

    def judged(self, diff: RunDiff) -> RunDiff:
        """The comparison, made at the gates' level, with their results."""
        run = load_run(self.candidate)
        compared = {*(metric for metric, _ in self.gates.max_drop), *self.gates.fail_on_regression}
        # The comparison already names the cases that lost in its headline metric.
        names_wanted = compared - {diff.headline_metric}
        baseline = load_run(self.baseline) if names_wanted else None
        return replace(diff, gates=evaluate_gates(self.gates, run, diff=diff, baseline=baseline))


def keeper_of(
    gates: Gates,
    metrics: Sequence[str],
    *,
    baseline: RunRecord | str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    is_new: bool = False,
    infos: InfoOf = info_of,
) -> GateKeeper:
    """Check, before a run is made, that its gates can be evaluated, and read its baseline.

    ``metrics`` are those that the run computes, ``output`` is its folder; ``is_new``: it is still to be made, so that
    metrics can be added; ``infos`` describes the metrics of a run that exists already.

    Raises:
        UsageError: a value is out of range, something is demanded twice, or the baseline is needed and absent,
            is given and not needed, or is the run itself.
        InputError: the run does not compute a metric, or there is no run in the baseline's folder.
        RunError: the baseline is unfinished or damaged.
    """
    if not gates.any and baseline is None:
        return GateKeeper(gates=gates)
    check_gates(gates, infos)
    known = _known_metrics()
    check_metrics(gates, metrics, known=known, is_new=is_new)
    gates = resolved(gates, metrics)
    if baseline is None:
        if gates.needs_baseline:
            asked = "max-drop" if gates.max_drop else "fail-on-regression"
            raise UsageError(f"{asked} compares with an earlier run: name its folder ({option('--baseline', 'RUN')})")
        return GateKeeper(gates=gates)
    if not gates.needs_baseline:
        raise UsageError(
            f"a baseline is given, and no gate compares with it: add {option('--max-drop')} or "
            f"{option('--fail-on-regression')} "
            "(to compare two runs without a gate:  assay diff RUN_A RUN_B)"
        )
    if isinstance(baseline, RunRecord):
        record, named = baseline, "the baseline"
    else:
        baseline = run_folder(Path(baseline))
        if output is not None and Path(output).resolve() == Path(baseline).resolve():
            raise UsageError(f"{os.fspath(baseline)} is the run and its own baseline: name another folder for one")
        record, named = _read(baseline), f"the baseline {os.fspath(baseline)}"
    check_metrics(gates_that_compare(gates), record.settings.metrics, known=known, of=named)
    return GateKeeper(gates=gates, baseline=record)


def _known_metrics() -> tuple[Sequence[str], Sequence[str]]:
    """The metrics of queries, and those of selections."""
    from assay.scoring.selections.metrics import selection_metrics

    return tuple(registry.registered("assay.metrics")), [metric.name for metric in selection_metrics(on_data=True)]


def gates_that_compare(gates: Gates) -> Gates:
    """Only the gates that compare with a baseline."""
    return replace(gates, minimum=(), must_pass=(), max_unscored=None)


def _read(folder: Path) -> RunRecord:
    try:
        return load_run(folder)
    except RunError as error:
        raise RunError(f"the baseline cannot be used: {error}") from error
    except InputError as error:
        raise InputError(f"the baseline cannot be used: {error}") from error


def results_of(gates: Gates, run: RunRecord, baseline: RunRecord | None) -> tuple[GateResult, ...]:
    """The results of the gates; the runs are compared only if a gate needs it."""
    if baseline is None or not gates.needs_baseline:
        return evaluate_gates(gates, run)
    from assay.runs.compare.diff import diff_runs

    diff = diff_runs(baseline, run, settings=DiffSettings(alpha=gates.alpha))
    return evaluate_gates(gates, run, diff=diff, baseline=baseline)
