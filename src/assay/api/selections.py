"""Evaluate SDMX assistants: read the cases, check them, ask, judge, make the run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from assay._version import __version__
from assay.api.arguments import check_values, read_tags
from assay.api.inputs import CasesInput, FileOptions, Inputs, OnCases, is_system, read_inputs
from assay.api.public import public
from assay.api.reviewing import Reviews, ReviewsInput, reviews_for
from assay.api.run import Run
from assay.api.running import carry_out, provenance_of
from assay.api.selection_data import check_ignored, digest_of_data, open_data
from assay.diagnosis.selections import SelectionCauses
from assay.errors import InputError, UsageError
from assay.model import (
    Case,
    FieldNames,
    Fingerprint,
    Limits,
    MetricInfo,
    Prediction,
    Provenance,
    RunSettings,
    Selection,
    SelectionScore,
    SelectionSettings,
)
from assay.ports import System
from assay.runs.aggregate.repeats import check_repeats, repeated
from assay.runs.plan import Job, OnProgress, Works, plan_work
from assay.scoring.selections.metrics import selection_metrics
from assay.scoring.selections.scorer import SELECTED, SelectionScorer
from assay.sdmx.answers.parser import datasets_named, read_answer
from assay.sdmx.data.execute import compare_on_data
from assay.sdmx.data.observations import DataSource
from assay.sdmx.gc_pause import collector_paused
from assay.sdmx.scoring import score_selection
from assay.sdmx.structures.known import Structures, missing_datasets, missing_parts, shown_source
from assay.sdmx.structures.load import load_structures

MatchOn: TypeAlias = Literal["id_and_name", "id"]
StructuresInput: TypeAlias = "Structures | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None"
AnswersInput: TypeAlias = (
    "str | os.PathLike[str] | Mapping[str, Any] | Iterable[Prediction | Mapping[str, Any]] | System"
)
_FORMAT = "sdmx"


@public
def evaluate_selections(
    cases: CasesInput,
    predictions: AnswersInput,
    *,
    structures: StructuresInput = None,
    data: str | os.PathLike[str] | None = None,
    match_on: MatchOn = "id_and_name",
    count_hierarchy: bool = False,
    ignore_dimensions: Sequence[str] = (),
    language: str = "en",
    verify_ssl: bool = True,
    concurrency: int = 4,
    repeats: int = 1,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    rescore: bool = False,
    name: str | None = None,
    tags: Sequence[str] = (),
    limit: int | None = None,
    allow_unmatched: bool = False,
    prediction_id: str | None = None,
    reviews: ReviewsInput | Literal[False] | None = None,
    on_cases: OnCases | None = None,
    on_progress: OnProgress | None = None,
) -> Run:
    """Score what an SDMX assistant selected, term by term, against each question's target.

    Args:
        cases: a YAML or JSON file, a folder of these, or `Case` values (`assay docs sdmx`).
        predictions: a live system (`open_system`), a file, a mapping from case id to answer, or
            `Prediction` values. An answer is a selection in the targets' shape, StatGPT's JSON
            query, an SDMX REST URL, series keys, or a list of answers, one for each question.
        structures: files, folders or the URL of an SDMX service, or what
            `assay.sdmx.structures.load.load_structures` made of them; they give names to codes, tell which codes
            exist, and read keys. None: nothing is known of them.
        match_on: ``id_and_name``: a term is right if both are the target's, as far as both are
            known; ``id``: the code alone counts.
        data: a file or folder of SDMX-CSV and SDMX-ML data, or the URL of an SDMX REST service: targets and answers
            are executed on it, and what both give is compared.
        count_hierarchy: a code that a hierarchy expands counts as equal to all of its children together.
        ignore_dimensions: dimensions that are left out of targets and answers, for example ``FREQUENCY``.
        verify_ssl: whether the certificate of a data service is verified.
        language: the language of names taken from code lists.
        concurrency: how many conversations a live system has at once.
        repeats: how often a live system has each conversation (`assay docs repeats`).
        output: a folder for the run. A question that it contains an answer to is not asked again.
        overwrite: discard an earlier run in the folder.
        rescore: re-score the live system's answers in the folder, without asking again.
        name: a name for the run.
        tags: labels for the run, for example ``["nightly", "model=gpt-4.1"]``: `list_runs` selects runs by them.
        limit: evaluate only the first N cases.
        allow_unmatched: accept predictions that match no case; they are named in the provenance.
        prediction_id: the key of the predictions' ids, if it is not a known one; ``@position``: the
            n-th prediction answers the n-th case.
        reviews: what people decided about the question set, as `evaluate` takes it.
        on_cases: called with the cases once they are read, before a live assistant is asked; an exception
            from it ends the evaluation.
        on_progress: called with the progress after each case.

    Raises:
        InputError: a file, structure or service cannot be used. Nothing was written then.
        MissingDependency: structures are wanted, and the extra ``sdmx`` is not installed.
        RunError: ``output`` contains another run.
        UsageError: the arguments do not go together.
    """
    if match_on not in ("id_and_name", "id"):
        raise UsageError(f"match_on is {match_on!r}: write 'id_and_name' or 'id'")
    check_values(
        {
            "concurrency": concurrency,
            "repeats": repeats,
            "output": output,
            "name": name,
            "limit": limit,
            "allow_unmatched": allow_unmatched,
        }
    )
    reviewed = reviews_for(cases, reviews)
    system = predictions if is_system(predictions) else None
    check_repeats(repeats, several=not callable(predictions) or system is not None)
    options = FileOptions(
        case_format=_FORMAT,
        prediction_format=_FORMAT,
        prediction_fields=FieldNames(id=prediction_id),
        limit=limit,
    )
    inputs = read_inputs(
        cases,
        predictions,
        options,
        allow_unmatched=allow_unmatched,
        selections=True,
        repeats=1 if system is not None else repeats,
    )
    repeats = inputs.repeats if system is None else repeats
    _check_cases(inputs.cases)
    if on_cases is not None:
        on_cases(inputs.cases)
    sources = _sources(structures)
    known = _known(structures, sources, inputs.cases, inputs.predictions, language)
    check_ignored(ignore_dimensions, inputs.cases, known)
    metrics = selection_metrics(on_data=data is not None)
    settings = RunSettings(
        cases=inputs.case_name,
        predictions=inputs.prediction_name,
        database="",
        metrics=tuple(metric.name for metric in metrics),
        metric_infos=tuple(map(MetricInfo.of, metrics)),
        limits=Limits(),
        name=name,
        repeats=repeats,
        tags=read_tags(tags),
        selection=SelectionSettings(
            structures=tuple(map(shown_source, sources)),
            match_on=match_on,
            count_hierarchy=count_hierarchy,
            language=language,
            ignored_dimensions=tuple(dict.fromkeys(ignore_dimensions)),
            data=None if data is None else shown_source(os.fspath(data)),
        ),
    )
    provenance = _provenance(inputs, known, reviewed, output)

    def job(answers: Sequence[Prediction], known: Structures | None) -> Job:
        bases = {SELECTED.text: f"{__version__} {_digest(known)}{digest_of_data(data)}"}
        return Job(
            settings=settings,
            provenance=replace(_provenance(inputs, known, reviewed, output), started_at=provenance.started_at),
            works=Works(plan_work(repeated(inputs.cases, repeats), answers, lambda _: SELECTED), bases),
            metrics=metrics,
            scorer=_scorer(known, settings.selection or SelectionSettings(), source),
            bases=bases,
            reviews=reviewed,
        )

    def answered(answers: tuple[Prediction, ...]) -> Job:
        # A service is also asked for the datasets that the answers name.
        return job(answers, _known(structures, sources, inputs.cases, answers, language, before=known))

    asked = inputs.predictions if system is None else [answer for answer in inputs.predictions for _ in range(repeats)]
    source = open_data(data, known, language=language, verify_ssl=verify_ssl)
    # Paused once for all phases: each time the collector resumes, it scans all the values that are kept.
    paused = collector_paused() if system is None else nullcontext()
    with paused, nullcontext() if source is None else closing(source):
        return carry_out(
            job(asked, known),
            None,
            system=system,
            cases=inputs.cases,
            answered=answered,
            output=output,
            overwrite=overwrite,
            rescore=rescore,
            concurrency=concurrency,
            on_progress=on_progress,
        )


@public
def check_selection(
    answer: Selection | str,
    target: Selection | Sequence[Selection],
    *,
    structures: StructuresInput = None,
    data: str | os.PathLike[str] | None = None,
    match_on: MatchOn = "id_and_name",
    count_hierarchy: bool = False,
    ignore_dimensions: Sequence[str] = (),
    language: str = "en",
) -> SelectionScore:
    """Score one selection, or the text of one in any form that answers come in, against its target.

    With several targets the closest one counts. The other arguments are those of
    `evaluate_selections`. Raises InputError if the text cannot be read, UsageError without a target.
    """
    targets = (target,) if isinstance(target, Selection) else tuple(target)
    if not targets:
        raise UsageError("the target is missing: give a Selection, or several that are acceptable")
    sources = _sources(structures)
    settings = SelectionSettings(
        structures=tuple(map(shown_source, sources)),
        match_on=match_on,
        count_hierarchy=count_hierarchy,
        language=language,
        ignored_dimensions=tuple(dict.fromkeys(ignore_dimensions)),
        data=None if data is None else shown_source(os.fspath(data)),
    )
    wanted = [dataset.dataset for one in targets for dataset in one.datasets]
    named = datasets_named(answer) if isinstance(answer, str) else [one.dataset for one in answer.datasets]
    known = _load(structures, sources, wanted, named, language)
    selection = answer if isinstance(answer, Selection) else read_selection(answer, structures=known)
    score = score_selection(selection, targets, structures=known, settings=settings)
    source = open_data(data, known, language=language, verify_ssl=True)
    if source is None:
        return score
    with closing(source):
        compared = compare_on_data(
            selection, targets, source, structures=known, settings=settings, first=score.target_index
        )
    return replace(score, data=compared)


judge_selection = check_selection
"""The earlier name, kept for callers."""


def _scorer(known: Structures | None, settings: SelectionSettings, data: DataSource | None) -> SelectionScorer:
    causes = SelectionCauses(structures=known, settings=settings)
    return SelectionScorer(structures=known, settings=settings, data=data, diagnoser=causes)


def _check_cases(cases: Sequence[Case]) -> None:
    odd = next((case for case in cases if not case.turns), None)
    if odd is not None:
        raise InputError(
            f"{odd.origin or f'case {odd.id!r}'}: has no conversation with a target selection: "
            "for a question set with SQL, use  assay run"
        )


def _sources(structures: StructuresInput) -> tuple[str, ...]:
    if structures is None:
        return ()
    if isinstance(structures, Structures):
        return structures.sources
    if isinstance(structures, (str, os.PathLike)):
        return (os.fspath(structures),)
    return tuple(os.fspath(one) for one in structures)


def _is_service(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _known(
    structures: StructuresInput,
    sources: Sequence[str],
    cases: Sequence[Case],
    predictions: Sequence[Prediction],
    language: str,
    *,
    before: Structures | None = None,
) -> Structures | None:
    """The structures of every dataset that a target or an answer names; ``before``: those already known of targets."""
    if isinstance(structures, Structures) or not any(map(_is_service, sources)):
        return before or _load(structures, sources, (), (), language)
    wanted = [
        dataset.dataset for case in cases for turn in case.turns for one in turn.targets for dataset in one.datasets
    ]
    named = list(_named(predictions))
    if before is not None and set(named) <= set(wanted):
        return before
    return _load(structures, sources, wanted, named, language)


def _load(
    structures: StructuresInput, sources: Sequence[str], wanted: Sequence[str], named: Sequence[str], language: str
) -> Structures | None:
    """Load structures; ``wanted`` are the targets' datasets, ``named`` the answers', which a service may lack."""
    if structures is None or isinstance(structures, Structures):
        return structures
    # Without a named dataset there is nothing to ask a service for.
    asked = sources if wanted or named else [source for source in sources if not _is_service(source)]
    if not asked:
        return Structures((), sources=tuple(sources))
    return load_structures(asked, language=language, datasets=wanted, optional=named)


def _named(predictions: Sequence[Prediction]) -> Iterator[str]:
    """The datasets that answers name."""
    for prediction in predictions:
        for turn in prediction.turns:
            if turn.selection is not None:
                yield from (dataset.dataset for dataset in turn.selection.datasets)
            elif turn.raw is not None:
                yield from datasets_named(turn.raw)


def _provenance(
    inputs: Inputs, known: Structures | None, reviews: Reviews | None, folder: str | os.PathLike[str] | None
) -> Provenance:
    provenance = provenance_of(inputs, reviews=reviews, folder=folder)
    if known is None:
        return provenance
    name = ", ".join(known.sources) or "structures in memory"
    return replace(
        provenance,
        inputs=(*provenance.inputs, Fingerprint(name=name, digest=_digest(known))),
        notes=(*known.notes, *_missing(known, inputs.cases)),
    )


def _missing(known: Structures, cases: Sequence[Case]) -> tuple[str, ...]:
    """What the structures lack of the datasets that targets name; gaps in other datasets do not matter."""
    names = dict.fromkeys(
        dataset.dataset for case in cases for turn in case.turns for one in turn.targets for dataset in one.datasets
    )
    found = {dataset.id: dataset for name in names if (dataset := known.dataset(name)) is not None}
    return (*missing_datasets(names, known), *missing_parts(found.values()))


def _digest(known: Structures | None) -> str:
    """A hash of all that the structures say."""
    if known is None:
        return ""
    digest = blake2b(digest_size=16)
    for dataset in known.datasets:
        digest.update(f"{dataset.id}|{dataset.name}|{dataset.time_dimension}\n".encode())
        for dimension in dataset.dimensions:
            digest.update(f"{dimension.id}|{sorted(dimension.available or ())}|{dimension.missing}\n".encode())
            if dimension.codes is not None:
                digest.update(f"{dimension.codes.whole}\n".encode())
                for code, code_name in dimension.codes.names.items():
                    digest.update(f"{code}|{code_name}|{dimension.codes.children.get(code)}\n".encode())
    return digest.hexdigest()


@public
def read_selection(text: str, *, structures: StructuresInput = None, language: str = "en") -> Selection:
    """Read the text of a selection in any form that answers come in (`assay docs sdmx`).

    Raises InputError if it cannot be read, or needs structures to be read.
    """
    sources = _sources(structures)
    known = _load(structures, sources, (), datasets_named(text), language)
    read = read_answer(text, known)
    if not isinstance(read, Selection):
        raise InputError(read.message)
    return read
