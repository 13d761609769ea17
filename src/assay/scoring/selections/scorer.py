"""Score what an assistant selected: compare each question of a conversation with its target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from assay.model import (
    Case,
    DatabaseUrl,
    DatasetSelection,
    Diagnosis,
    Evidence,
    Failure,
    Prediction,
    Score,
    ScoredTerm,
    Selection,
    SelectionScore,
    SelectionSettings,
    Turn,
    TurnAnswer,
    TurnScore,
    Verdict,
)
from assay.ports import SelectionDiagnoser
from assay.scoring.selections.metrics import SelectionMetric, selection_metrics
from assay.sdmx.answers.parser import answer_notes, datasets_named, read_answer, silent_notes, without_selection
from assay.sdmx.data.execute import compare_on_data
from assay.sdmx.data.observations import DataSource
from assay.sdmx.matching import pair_datasets
from assay.sdmx.scoring import score_selection
from assay.sdmx.structures.known import Structures
from assay.sdmx.target_checks import gold_failure, odd_periods, stale_names, time_failure

SELECTED = DatabaseUrl(text="selections:")
"""The database URL of cases over selections, which have no database."""


class SelectionScorer(Struct, frozen=True, kw_only=True):
    """Scores selections. ``structures`` say what can be selected; with ``data`` it also compares what they return.

    ``diagnoser`` names the causes of wrong answers.
    """

    structures: Structures | None = None
    settings: SelectionSettings = SelectionSettings()
    data: DataSource | None = None
    diagnoser: SelectionDiagnoser | None = None

    def evidence(self, case: Case, prediction: Prediction, url: DatabaseUrl = SELECTED) -> Evidence:  # noqa: ARG002
        """Everything about one case. Without data it is pure: it reads only the answers' text."""
        asked = zip(_aligned(case, prediction), case.turns, strict=True)
        answers = [_read(one, turn, self.structures) for one, turn in asked]
        turns = tuple(
            self._turn_score(number, turn, answer)
            for number, (turn, answer) in enumerate(zip(case.turns, answers, strict=True), start=1)
        )
        turns = tuple(map(self._by_sound_gold, case.turns, turns))
        failure = next((answer.failure for answer in answers if answer.failure is not None), None)
        evidence = Evidence(
            case=case,
            prediction=replace(prediction, turns=tuple(answers)),
            verdict=self._noted(_verdict(turns, failure), case, answers, turns),
            scores=tuple(_scores(selection_metrics(on_data=self.data is not None), turns)),
            turns=turns,
        )
        if self.diagnoser is None or evidence.outcome != "incorrect":
            return evidence
        try:
            found = self.diagnoser.diagnose(evidence)
        except Exception as error:  # noqa: BLE001 - the case's boundary: a verdict must not be lost for want of its cause
            words = f"looking for the cause failed: {type(error).__name__}: {error}"
            found = Diagnosis(causes=(), notes=(words,))
        return evidence if found is None else replace(evidence, diagnosis=found, cause=found.title)

    def _by_sound_gold(self, turn: Turn, judged: TurnScore) -> TurnScore:
        """The score of one turn, or the gold query's failure if a target is wrong and no sound target was met exactly.

        The answer might meet the wrong target once that is corrected.
        """
        broken = [gold_failure(target, self.structures) for target in turn.targets]
        wrong = next((failure for failure in (*broken, *map(time_failure, turn.targets)) if failure is not None), None)
        if wrong is None:
            return judged
        # An answer can meet unreadable periods by writing exactly the same ones.
        met = judged.score is not None and judged.score.exact and broken[judged.score.target_index] is None
        return judged if met else TurnScore(number=judged.number, failure=wrong)

    def _noted(
        self, verdict: Verdict, case: Case, answers: Sequence[TurnAnswer], turns: Sequence[TurnScore]
    ) -> Verdict:
        """The verdict with notes on unread parts of the answers and on targets to be corrected."""
        notes: list[str] = []
        for turn, answer, judged in zip(case.turns, answers, turns, strict=True):
            if judged.score is None or answer.selection is None:
                continue
            notes += answer_notes(answer.raw) if answer.raw is not None else ()
            if not answer.selection.datasets:
                notes += silent_notes(answer.raw, answer.text)
            if any(one.state == "disjoint" for one in judged.score.time):
                notes += odd_periods(answer.selection)
            if self.settings.match_on != "id":
                notes += stale_names(turn.targets[judged.score.target_index], answer.selection, self.structures)
        if not notes or verdict.outcome == "unscored":
            return verdict
        more = f", and {len(notes) - _SHOWN:,} notes more" if len(notes) > _SHOWN else ""
        return replace(verdict, reason=f"{verdict.reason} (note: {'; '.join(notes[:_SHOWN])}{more})")

    def _turn_score(self, number: int, turn: Turn, answer: TurnAnswer) -> TurnScore:
        if not turn.targets:
            return TurnScore(number=number)
        if answer.failure is not None and answer.failure.blame != "system":
            return TurnScore(number=number, failure=answer.failure)
        # A missing or unreadable answer selects nothing.
        selection = answer.selection if answer.selection is not None else Selection()
        score = score_selection(selection, turn.targets, structures=self.structures, settings=self.settings)
        if score.undecided and answer.failure is None:
            return TurnScore(number=number, failure=_UNDECIDED)
        if answer.failure is not None:
            score = _earning_nothing(score)
        if self.data is not None:
            on_data = compare_on_data(
                selection,
                turn.targets,
                self.data,
                structures=self.structures,
                settings=self.settings,
                first=score.target_index,
            )
            if answer.failure is not None and on_data.match:
                on_data = replace(on_data, match=False, series_precision=0.0, series_recall=0.0)
            score = replace(score, data=on_data)
        return TurnScore(number=number, score=score, failure=answer.failure)


def _aligned(case: Case, prediction: Prediction) -> list[TurnAnswer]:
    """One answer for each question. Files may answer only the questions that have a target."""
    given = list(prediction.turns)
    wanted = [bool(turn.targets) for turn in case.turns]
    if len(given) == len(wanted):
        return given
    if len(given) == sum(wanted):
        rest = iter(given)
        return [next(rest) if scored else TurnAnswer() for scored in wanted]
    if len(given) > len(wanted):
        # A user's message without an answer need not be a question of the case.
        told = [one for one in given if one.raw is not None or one.failure is None]
        given = told if len(told) == len(wanted) else given
    if len(given) > len(wanted):
        message = (
            f"{prediction.origin or 'the prediction'} contains {len(given)} answers, and the case {len(wanted)} "
            f"question{'s' * (len(wanted) != 1)}: which answers which cannot be told"
        )
        unknown = Failure(stage="read", kind="unreadable_answer", blame="setup", message=message)
        return [TurnAnswer(failure=unknown) for _ in wanted]
    failure = prediction.failure or Failure(
        stage="ask", kind="unanswered", blame="system", message="the system gave no answer to this question"
    )
    return given + [TurnAnswer(failure=failure) for _ in wanted[len(given) :]]


def _read(answer: TurnAnswer, turn: Turn, structures: Structures | None) -> TurnAnswer:
    if answer.selection is not None or answer.failure is not None:
        return answer
    read = Selection() if answer.raw is None else read_answer(answer.raw, structures)
    # Words are the right answer to a question if one of its targets selects nothing.
    expects_data = bool(turn.targets) and all(target.datasets for target in turn.targets)
    if isinstance(read, Selection) and not read.datasets and expects_data:
        words = without_selection(answer.raw, answer.text)
        if words is not None:
            return replace(answer, failure=Failure(stage="read", kind="no_query", blame="system", message=words))
    if answer.raw is None:
        return replace(answer, selection=Selection())
    if isinstance(read, Failure):
        wrong = _wrong_datasets(answer.raw, turn, structures) if read.kind == "unknown_structure" else None
        return replace(answer, failure=read) if wrong is None else replace(answer, selection=wrong)
    # In the targets' own format the selection says everything that the text says.
    own_shape = '"dimension_name"' in answer.raw and '"filters"' not in answer.raw
    return replace(answer, selection=read, raw=None if own_shape else answer.raw)


def _wrong_datasets(raw: str, turn: Turn, structures: Structures | None) -> Selection | None:
    """A selection of the answer's datasets, for an answer whose key cannot be read and whose datasets are all wrong.

    None if one of the datasets is the target's: then only the structures can tell what was selected in it.
    """
    named = datasets_named(raw, structures)
    unread = tuple(DatasetSelection(dataset=name) for name in named)
    wanted = [pair for target in turn.targets for pair in pair_datasets(target, Selection(datasets=unread), None)]
    if not unread or any(pair.target is not None and pair.selected is not None for pair in wanted):
        return None
    return Selection(datasets=unread)


_UNDECIDED = Failure(
    stage="score",
    kind="unscorable",
    blame="judge",
    message=(
        "the queries of the target are too many and too intricate to tell whether an answer selects the same series: "
        "write it with fewer queries"
    ),
)


def _earning_nothing(score: SelectionScore) -> SelectionScore:
    """The score of an answer that failed: 0, even if a target or a dimension of it wants nothing selected."""
    return replace(
        score,
        exact=False,
        dimensions=tuple(replace(one, precision=0.0, recall=0.0, f1=0.0) for one in score.dimensions),
        macro_precision=0.0,
        macro_recall=0.0,
        macro_f1=0.0,
        micro_precision=0.0,
        micro_recall=0.0,
        micro_f1=0.0,
        dataset_precision=0.0,
        dataset_recall=0.0,
        series_precision=0.0,
        series_recall=0.0,
    )


def _scores(metrics: Sequence[SelectionMetric], turns: Sequence[TurnScore]) -> Iterator[Score]:
    unscored = next((turn.failure for turn in turns if turn.score is None and turn.failure is not None), None)
    scored = [turn.score for turn in turns if turn.score is not None]
    for metric in metrics:
        failure, values = unscored, [value for score in scored if (value := metric.value(score)) is not None]
        if failure is None and metric.on_data:
            failure = next((score.data.failure for score in scored if score.data and score.data.failure), None)
        if failure is None and not values:
            failure = Failure(stage="score", kind="unscorable", blame="assay", message=metric.absent)
        value = None if failure is not None else min(values) if metric.binary else fmean(values)
        yield Score(metric=metric.name, value=value, failure=failure)


def _verdict(turns: Sequence[TurnScore], failure: Failure | None) -> Verdict:
    unscored = next((turn.failure for turn in turns if turn.score is None and turn.failure is not None), None)
    if unscored is not None:
        return Verdict(outcome="unscored", reason=unscored.message, failure=unscored)
    scored = [(turn.number, turn.score) for turn in turns if turn.score is not None]
    if not scored:
        nothing = Failure(
            stage="load", kind="no_gold", blame="gold", message="no question of the conversation has a target"
        )
        return Verdict(outcome="unscored", reason=nothing.message, failure=nothing)
    if failure is not None:
        return Verdict(outcome="incorrect", reason=failure.message, failure=failure)
    wrong = [(number, score) for number, score in scored if not score.exact]
    if not wrong:
        return Verdict(outcome="correct", reason="the selection is the target's, term by term")
    several = len(turns) > 1
    reasons = [f"{f'question {number}: ' if several else ''}{_reason(score)}" for number, score in wrong]
    return Verdict(outcome="incorrect", reason="; ".join(reasons))


def _reason(score: SelectionScore) -> str:
    """What is wrong, in a few words: ``INDICATOR: 1 too many (GDP_CONST); COUNTRY: 2 missing (MEX, USA)``."""
    parts = [f"dataset {_named(score.missing_datasets)} was not selected"] if score.missing_datasets else []
    parts += [f"dataset {_named(score.extra_datasets)} is not in the target"] if score.extra_datasets else []
    for dimension in score.dimensions:
        _, extra, missing = dimension.counts
        told = []
        if missing:
            told.append(f"{missing:,} missing ({_named(list(map(_with_name, dimension.false_negatives)))})")
        if extra:
            told.append(f"{extra:,} too many ({_named(list(map(_with_name, dimension.false_positives)))})")
        if told:
            parts.append(f"{dimension.dimension}: {', '.join(told)}")
    parts += [f"time range: {_TIME[one.state]}" for one in score.time if one.state in _TIME]
    parts += _of_the_whole(score) if not parts else []
    if score.data is not None and score.data.failure is None:
        parts.append(f"executed: {score.data.reason}")
    return "; ".join(parts)


def _of_the_whole(score: SelectionScore) -> list[str]:
    """What is wrong if each dimension and the time by themselves equal the target's."""
    parts = [f"not selected: {score.missing_series}"] if score.missing_series else []
    parts += [f"too many: {score.extra_series}"] if score.extra_series else []
    if not parts:
        return ["each dimension has the target's codes, and the queries are too many and too intricate to be compared"]
    return [f"each dimension has the target's codes, and the queries together not its series ({', '.join(parts)})"]


_TIME = {
    "overlap": "overlaps with the target's",
    "disjoint": "has nothing of the target's",
    "missing": "not selected",
    "unexpected": "selected, if the target wants all of time",
}
_SHOWN = 3


def _with_name(term: ScoredTerm) -> str:
    """The code, with its name if that is what is wrong."""
    return f"{term.id} “{term.name}”" if term.note == "name_differs" and term.name else term.id


def _named(ids: Sequence[str]) -> str:
    shown = ", ".join(one if len(one) <= 40 else one[:39] + "…" for one in ids[:_SHOWN])
    return shown if len(ids) <= _SHOWN else f"{shown}, …"
