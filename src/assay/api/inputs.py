"""Turn what users pass for questions, answers and databases into Assay's own types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

from msgspec import Struct
from msgspec.structs import replace

from assay import registry
from assay.api.frames import as_result
from assay.api.in_memory import (
    BOTH,
    CASES,
    PREDICTIONS,
    check_positions,
    items_of,
    keyed_by_index,
    named_index,
    row_format,
    table_of,
)
from assay.api.shared_file import check_not_copied, check_own_predictions, fields_for_predictions, share_file
from assay.cases import join, load_predictions, load_questions
from assay.cases.from_records import read_cases, read_predictions, unanswered
from assay.cases.joining.join import with_missing
from assay.cases.load import check_queries, recognise
from assay.cases.records import shortened
from assay.cases.samples import first_questions, has_samples, with_samples
from assay.cases.values import is_absent
from assay.errors import CaseFileError, InputError, UsageError, plural
from assay.model import (
    Case,
    ComparisonOptions,
    Failure,
    FieldNames,
    Fingerprint,
    GivenResult,
    Joining,
    Prediction,
    Result,
)
from assay.model.cases.measures import with_read_measures
from assay.model.results.given import InvalidRows, answered_rows, result_from_rows
from assay.platform.spool import parts_of, spooled
from assay.platform.surface import flag, on_command_line, option
from assay.ports import LoadedCases, LoadedPredictions, System
from assay.runs.aggregate.difficulties import spelled_once
from assay.runs.aggregate.repeats import repeated
from assay.runs.reviews.finding import fingerprint_file
from assay.sql.extraction import (
    SEVERAL_QUERIES,
    are_queries,
    completion_of,
    completion_of_record,
    extracted,
    is_conversation,
)
from assay.systems.concurrency import Sayings
from assay.systems.predictions import answered, timed

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Ask: TypeAlias = Callable[[Case], "str | Prediction | Result | Sequence[Any] | None"]
Frame: TypeAlias = "pandas.DataFrame | polars.DataFrame | polars.LazyFrame | pyarrow.Table | pyarrow.RecordBatch"
CasesInput: TypeAlias = "str | PathLike[str] | Iterable[Case | Mapping[str, Any]] | Frame"
PredictionsInput: TypeAlias = (
    "str | PathLike[str] | Mapping[str, str | None] | Iterable[Prediction | Mapping[str, Any] | str | None] | Ask"
    " | Frame | pandas.Series[Any] | polars.Series | pyarrow.ChunkedArray[Any]"
)
OnCases: TypeAlias = Callable[[Sequence[Case]], None]

_UNMATCHED_SHOWN = 5
_SHORTEST_NAME = 4
_MOST_NAMES = 20_000


class FileOptions(Struct, frozen=True, kw_only=True):
    """How to read the two files and how to join them, where they do not show it themselves.

    The name of the questions' id (``case_fields.id``) holds for both files; ``prediction_fields`` take precedence.
    """

    case_format: str | None = None
    prediction_format: str | None = None
    case_fields: FieldNames = FieldNames()
    prediction_fields: FieldNames = FieldNames()
    limit: int | None = None
    """Keep only the first ``limit`` cases."""
    ignore_questions: bool = False
    """Do not check the questions and databases that predictions repeat."""
    difficulty_names: tuple[tuple[str, str], ...] = ()
    """What each difficulty is called, if all difficulties of the cases are among these."""


class Inputs(Struct, frozen=True, kw_only=True):
    """Cases with their answers, in the cases' order."""

    cases: Sequence[Case]
    predictions: Sequence[Prediction]
    """``repeats`` for each case, one after the other; of a live system one, to be filled by what it answers."""
    blank_rows: int
    """Blank rows of the question set, which were skipped."""
    unmatched: tuple[str, ...]
    """Ids of predictions that match no case."""
    case_name: str
    prediction_name: str
    files: tuple[Fingerprint, ...]
    cases_left_out: int = 0
    """Cases of the question set that `FileOptions.limit` left out."""
    joining: Joining | None = None
    """How predictions were joined with cases; None if a live system is asked."""
    unread: tuple[str, ...] = ()
    """The columns of the files that were not read."""
    notes: tuple[str, ...] = ()
    """What the files say of how the evaluation ended that wrote them."""
    repeats: int = 1
    """How many answers each question has, or is to have."""
    columns: tuple[str, ...] = ()
    """The columns of the question set, for messages."""
    case_format: str | None = None
    """The format of the question set, if it was named."""
    case_fields: FieldNames | None = None
    """The columns of the question set that were named. None: it was not read from a file."""


class OwnInputs(Struct, frozen=True, kw_only=True):
    """Inputs that a package reads itself, in place of a question set, and what its run keeps of them."""

    read: Callable[[Any], Inputs]
    """Called while the workers start, with the predictions that `assay.evaluate` was given."""
    options: ComparisonOptions | None = None
    """How results are compared; None: as the arguments of `assay.evaluate` say."""
    head_rows: int | None = None
    """Rows of each result that the evidence keeps if a metric does not score the prediction as right; None: a few."""
    plain_queries: bool = False
    """Most queries need no parser: workers do not begin by importing one."""
    diagnose: bool = True
    """False: the causes of wrong predictions are not needed."""


def is_system(predictions: object) -> TypeGuard[System]:
    """Whether this is a live system."""
    return callable(getattr(predictions, "answer", None)) and callable(getattr(predictions, "describe", None))


def read_inputs(
    cases: CasesInput,
    predictions: PredictionsInput | System | None,
    options: FileOptions,
    *,
    allow_unmatched: bool,
    selections: bool = False,
    repeats: int = 1,
) -> Inputs:
    """Read both sides and join them. ``predictions`` None: they are in the cases' own file.

    ``repeats``: how many answers each question has; for 1, as many as a column of samples numbers.
    ``selections``: values in memory have the shapes of SDMX files. Raises InputError if a file cannot be used, if it
    is ambiguous which prediction belongs to which case, and if predictions match no case, unless ``allow_unmatched``.
    """
    _check_limit(options)
    if predictions is None and isinstance(cases, Iterator):
        cases = list(cases)  # both sides read them
    in_one = predictions is None or predictions is cases
    try:
        table = BOTH if in_one else CASES
        every_case, case_name, blank_rows = _read_cases(
            cases, options, selections=selections, table=table, samples=repeats if in_one else None
        )
    except CaseFileError as error:
        if selections or (swapped := _swapped(cases, predictions, options)) is None:
            raise
        raise UsageError(swapped) from error
    if not selections:
        check_queries(every_case.cases, case_name, predictions)
    wanted = _selected(every_case.cases, options)
    joining: Joining | None = None
    unmatched: tuple[str, ...] = ()
    unread, notes = every_case.unread, every_case.notes
    if is_system(predictions):
        # The system is asked only after everything else is known to be usable.
        answers: Sequence[Prediction] = tuple(Prediction(case_id=case.id) for case in wanted)
        prediction_name = predictions.describe()
    elif callable(predictions):
        answers = _ask_each(predictions, wanted)
        prediction_name = getattr(predictions, "__qualname__", type(predictions).__qualname__)
    else:
        own, other = options.prediction_fields, options.case_fields
        shared = share_file(cases, predictions, one_sheet=own.sheet in (None, other.sheet))
        reading = replace(
            options,
            prediction_fields=fields_for_predictions(own, other, every_case.columns, shared=shared),
            prediction_format=options.prediction_format
            or (options.case_format if shared else None)
            or _format_of_pairs(cases, predictions, options),
        )
        loaded, prediction_name = _answers(
            cases, predictions, reading, selections=selections, table=BOTH if in_one else PREDICTIONS, repeats=repeats
        )
        if shared:
            check_own_predictions(prediction_name, every_case, loaded, options.prediction_fields)
        try:
            every_case, loaded = keyed_by_index(cases, predictions, every_case, loaded)
            wanted = _selected(every_case.cases, options)
            joined = join(
                every_case,
                loaded,
                wanted=len(wanted),
                same_file=shared,
                ignore_questions=options.ignore_questions,
            )
            if joined.joining.by == "position" and not loaded.chosen and not shared:
                check_positions(cases, predictions)
        except InputError as error:
            raise InputError(f"{prediction_name}: {error}") from error
        if shared and every_case.missing:
            every_case, joined = with_missing(every_case, joined)
            wanted = _selected(every_case.cases, options)
        repeats = joined.repeats
        answers, unmatched, joining = joined.predictions[: len(wanted) * repeats], joined.unmatched, joined.joining
        unread, notes = joined.unread, joined.notes
        check_not_copied(prediction_name, repeated(wanted, repeats), answers, loaded.columns)
    if unmatched and not allow_unmatched:
        raise InputError(f"{prediction_name}: {_unmatched(unmatched, wanted, case_name)}")
    files = [fingerprint_file(fspath(source)) for source in (cases, predictions) if isinstance(source, (str, PathLike))]
    return Inputs(
        cases=wanted,
        predictions=answers,
        blank_rows=blank_rows,
        cases_left_out=len(every_case.cases) - len(wanted),
        unmatched=unmatched,
        case_name=case_name,
        prediction_name=prediction_name,
        files=tuple(files),
        joining=joining,
        unread=unread,
        notes=notes,
        repeats=repeats,
        columns=tuple(
            dict.fromkeys([*(one.name for one in every_case.beside), *(use.column for use in every_case.columns)])
        ),
        case_format=options.case_format,
        case_fields=options.case_fields if isinstance(cases, (str, PathLike)) else None,
    )


def _unmatched(ids: Sequence[str], cases: Sequence[Case], case_name: str) -> str:
    shown = ", ".join(f'"{one}"{_near(one, cases)}' for one in ids[:_UNMATCHED_SHOWN])
    more = f" and {len(ids) - _UNMATCHED_SHOWN} more" if len(ids) > _UNMATCHED_SHOWN else ""
    return (
        f"{plural(len(ids), 'prediction')} without a matching case in {case_name}: {shown}{more}. Remove them, correct "
        f"their ids, or allow them ({flag('--allow-unmatched')})"
    )


def _near(name: str, cases: Sequence[Case]) -> str:
    """The id that a prediction's may mean; nothing where ids are numbers or too many to look through."""
    if len(name) < _SHORTEST_NAME or name.isdigit() or len(cases) > _MOST_NAMES:
        return ""
    near = get_close_matches(name, [case.id for case in parts_of(cases, "id")], n=1, cutoff=0.8)
    return f' (did you mean "{near[0]}"?)' if near else ""


def _check_limit(options: FileOptions) -> None:
    if options.limit is not None and options.limit < 1:
        raise UsageError(f"the limit is {options.limit}: ask for at least 1 case")


def read_cases_only(cases: CasesInput, options: FileOptions) -> tuple[Sequence[Case], str]:
    """The cases of a question set and its name for messages, for who needs no answers. Raises as `read_inputs`."""
    _check_limit(options)
    found, name, _ = _read_cases(cases, options, selections=False)
    check_queries(found.cases, name)
    return _selected(found.cases, options), name


def _selected(cases: Sequence[Case], options: FileOptions) -> Sequence[Case]:
    """The cases to evaluate: as many as the limit allows, each difficulty in one spelling."""
    return _with_difficulties_spelled_once(cases, dict(options.difficulty_names))[: options.limit]


def _with_difficulties_spelled_once(cases: Sequence[Case], names: Mapping[str, str]) -> Sequence[Case]:
    said = dict.fromkeys(case.difficulty for case in parts_of(cases, "difficulty"))
    once = dict(zip(said, spelled_once(said), strict=True))
    if all(name is None or name in names for name in said):
        once = {name: None if name is None else names[name] for name in said}
    if all(name == spelling for name, spelling in once.items()):
        return cases
    return spooled(
        (
            case if case.difficulty == once[case.difficulty] else replace(case, difficulty=once[case.difficulty])
            for case in cases
        ),
        Case,
    )


def _format_of_pairs(cases: CasesInput, predictions: object, options: FileOptions) -> str | None:
    """The format of the questions, if lines or a folder of predictions beside them are its own; else None."""
    if not isinstance(cases, (str, PathLike)) or not isinstance(predictions, (str, PathLike)):
        return None
    path = Path(predictions)
    of_folder = path.is_dir() and any(not entry.name.startswith(".") for entry in path.iterdir())
    if not of_folder and path.suffix.lower() not in (".txt", ".sql"):
        return None
    formats = {one.name: one for one in registry.case_formats()}
    named = formats.get(options.case_format or "")
    try:
        found = named or recognise(cases, tuple(formats.values()))
    except InputError:
        return None
    return found.name if getattr(found, "answers_in_folder" if of_folder else "pairs", False) else None


def _answers(
    cases: CasesInput, predictions: Any, options: FileOptions, *, selections: bool, table: Path, repeats: int
) -> tuple[LoadedPredictions, str]:
    """The predictions, from the cases' own file where none are given."""
    if predictions is not None:
        return _read_predictions(predictions, options, selections=selections, table=table, repeats=repeats)
    try:
        return _read_predictions(cases, options, selections=selections, table=table, repeats=repeats)
    except CaseFileError as error:
        if options.prediction_fields.prediction is not None:
            raise
        raise InputError(
            f"give --predictions or --system, or a question set that contains the predictions, too: {error}"
            if on_command_line()
            else f"no predictions are given, and the question set does not contain them: {error}. Give them as the "
            "second argument, or name their column"
        ) from error


def _swapped(cases: Any, predictions: Any, options: FileOptions) -> str | None:
    """What to write if values in memory are given in the wrong order; None if they are not, or if both are files."""
    files = (str, PathLike)
    if predictions is None or cases is predictions or (isinstance(cases, files) and isinstance(predictions, files)):
        return None
    try:
        answers, _ = _read_predictions(cases, options, selections=False)
        questions, _, _ = _read_cases(predictions, options, selections=False)
    except (InputError, UsageError):
        return None
    columns = [
        next((f" (column {use.column!r})" for use in loaded.columns if use.field == field), "")
        for loaded, field in ((answers, "prediction"), (questions, "gold"))
    ]
    return (
        f"the questions and the predictions are swapped: the first argument contains predictions{columns[0]}, "
        f"the second questions with gold queries{columns[1]}. Give the questions first:  "
        "evaluate(questions, predictions, …)"
    )


def _read_cases(
    cases: CasesInput, options: FileOptions, *, selections: bool, table: Path = CASES, samples: int | None = None
) -> tuple[LoadedCases, str, int]:
    """The cases, their name for messages, and how many blank rows were skipped. ``samples``: as of `load_questions`."""
    if isinstance(cases, (str, PathLike)):
        formats = registry.case_formats()
        found = load_questions(
            cases, formats=formats, format=options.case_format, fields=options.case_fields, samples=samples
        )
        return found, fspath(cases), sum(getattr(one, "blank_rows", 0) for one in formats)
    if isinstance(cases, Mapping):
        raise UsageError("the cases are one mapping: give a list of mappings, one for each case")
    given: list[Any] = items_of(cases, "cases")
    if not given:
        raise InputError("there is no case to evaluate")
    if all(isinstance(one, Case) for one in given):
        built = LoadedCases(cases=cast("tuple[Case, ...]", tuple(given)))
    else:
        other = next((number for number, one in enumerate(given) if not isinstance(one, Mapping)), None)
        if other is not None:
            what = f"case {other} is {type(given[other]).__name__}"
            raise UsageError(f"{what}: give all cases as assay.Case, or all as mappings")
        if selections:
            from assay.cases.sdmx.in_memory import cases_in_memory

            built = LoadedCases(cases=cases_in_memory(cast("list[Mapping[str, Any]]", given)))
        else:
            rows = table_of(table, given)
            reader = row_format(options.case_format, rows.columns, argument="case_format")
            fields = named_index(cases, options.case_fields, columns=rows.columns)
            built = read_cases(rows, fields) if reader is None else reader.cases_of(rows, fields)
    if samples is not None:
        built = first_questions(built, repeats=samples)
    _no_id_twice([case.id for case in parts_of(built.cases, "id")], "cases")
    return built, f"{plural(len(built.cases), 'case')} in memory", 0


def _no_id_twice(ids: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            several = f", or write {option('--repeat', 'N')} for N answers to each question"
            raise InputError(
                f"the id {one!r} occurs twice among the {what}: give each its own"
                f"{several if what == 'predictions' else ''}"
            )
        seen.add(one)


def _read_predictions(
    predictions: Any, options: FileOptions, *, selections: bool, table: Path = PREDICTIONS, repeats: int = 1
) -> tuple[LoadedPredictions, str]:
    if isinstance(predictions, (str, PathLike)):
        loaded = load_predictions(
            predictions,
            formats=registry.case_formats(),
            format=options.prediction_format,
            fields=options.prediction_fields,
            repeats=repeats,
        )
        return loaded, fspath(predictions)
    keys: list[str | None] | None = None
    if isinstance(predictions, Mapping):
        keys, items = [str(case_id) for case_id in predictions], list(predictions.values())
        name = "a mapping in memory"
    else:
        items = items_of(predictions, "predictions")
        name = f"{plural(len(items), 'prediction')} in memory"
    if not items:
        raise InputError("there is no prediction to evaluate")
    if keys is None and is_conversation(items):
        raise InputError(
            "the predictions are one conversation: give one list of messages per case, for example "
            '{"case id": [{"role": "assistant", "content": "SELECT …"}]}'
        )
    items = [_without_messages(item) for item in items]
    if all(isinstance(one, Prediction) for one in items):
        loaded = LoadedPredictions(predictions=tuple(extracted(with_read_measures(one)) for one in items))
    elif any(isinstance(one, Prediction) for one in items):
        raise UsageError("some predictions are assay.Prediction and some are not: give all of one kind")
    elif selections:
        from assay.cases.sdmx.in_memory import predictions_in_memory

        loaded = predictions_in_memory(items if keys is None else dict(zip(map(str, keys), items, strict=True)))
    else:
        rows = table_of(table, items, keys)
        row_format(options.prediction_format, (), argument="prediction_format")
        fields = named_index(predictions, options.prediction_fields, columns=rows.columns)
        loaded = read_predictions(rows, fields)
        if loaded.by_position and not any(isinstance(one, Mapping) for one in items):
            # Bare query texts are in the cases' order.
            loaded = replace(loaded, stated=True)
    loaded = with_samples(loaded, name, repeats=repeats)
    if not has_samples(loaded):
        _no_id_twice([one.case_id for one in parts_of(loaded.predictions, "case_id")], "predictions")
    return loaded, name


def _without_messages(item: Any) -> Any:
    """A prediction in memory as a reader of files gets it: chat messages as their text, a list as rows."""
    if isinstance(item, str) or is_absent(item):
        return item if isinstance(item, str) else None
    text = completion_of_record(item) if isinstance(item, Mapping) else completion_of(item)
    if text is not None:
        return text
    if are_queries(item):
        raise InputError(f"a prediction {SEVERAL_QUERIES}. The list begins with {shortened(str(next(iter(item))))}")
    return {"rows": list(item)} if isinstance(item, (list, tuple)) else item


def _ask_each(system: Ask, cases: Sequence[Case]) -> tuple[Prediction, ...]:
    """Ask about one case after the other; a turn of a conversation with what was answered before it."""
    talks: dict[str, Sayings] = {}
    found: dict[int, Prediction] = {}
    for place, case in sorted(enumerate(cases), key=lambda one: one[1].turn or 0):
        if case.conversation is None:
            found[place] = _ask(system, case)
            continue
        said = talks.setdefault(case.conversation, Sayings())
        asked = said.before(case)
        found[place] = asked if isinstance(asked, Prediction) else _ask(system, asked)
        said.note(case, found[place])
    return tuple(found[place] for place in range(len(cases)))


def _ask(system: Ask, case: Case) -> Prediction:
    started = monotonic()
    try:
        answer = system(case)
    except Exception as error:  # noqa: BLE001 - the per-case boundary: a system's failure is its answer
        message = f"the system raised {type(error).__name__}: {error}"
        code = type(error).__name__
        failure = Failure(stage="ask", kind="ask_failed", blame="system", message=message, code=code)
        return Prediction(case_id=case.id, failure=failure)
    took_s = monotonic() - started
    return timed(as_prediction(answer, case), took_s)


def as_prediction(answer: object, case: Case) -> Prediction:
    """A callable's answer to a case as a Prediction. Raises UsageError unless it is one, text, messages, rows, None."""
    if isinstance(answer, Prediction):
        answer = with_read_measures(answer)
        return extracted(answer if answer.case_id == case.id else replace(answer, case_id=case.id))
    if is_absent(answer):
        return Prediction(case_id=case.id, failure=unanswered("the system gave no answer to this case"))
    if not isinstance(answer, str) and (text := completion_of(answer)) is not None:
        answer = text
    if are_queries(answer):
        raise UsageError(f"the system's answer to case {case.id!r} {SEVERAL_QUERIES}")
    if not isinstance(answer, str):
        # Rows in place of a query: lists, an object with ``rows``, a Result, an Arrow table or a data frame.
        try:
            given = answered_rows(answer)
            if given is None:
                found = as_result(answer)
                given = result_from_rows(list(found.rows), found.columns, cells="typed")
            elif not isinstance(answer, (Mapping, GivenResult)):
                given = replace(given, cells="typed")
        except InvalidRows as error:
            message = f"the result that the system answered {error}"
            failure = Failure(stage="read", kind="unreadable_answer", blame="system", message=message)
            return Prediction(case_id=case.id, failure=failure)
        except UsageError:
            raise UsageError(
                f"the system answered case {case.id!r} with {type(answer).__name__}: give text, chat messages, rows, "
                "or None"
            ) from None
        return Prediction(case_id=case.id, result=given)
    return answered(case, answer)
