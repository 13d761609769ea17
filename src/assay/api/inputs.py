"""What users pass for questions, answers and databases, brought to the vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

from assay import registry
from assay.cases import join, load_cases, load_predictions
from assay.errors import DatabaseError, InputError, UsageError
from assay.model import Case, DatabaseUrl, Failure, Fingerprint, Prediction
from assay.ports import FieldNames, LoadedPredictions, System
from assay.runs.plan import Locate

Ask: TypeAlias = Callable[[Case], "str | Prediction | None"]
CasesInput: TypeAlias = "str | PathLike[str] | Iterable[Case | Mapping[str, Any]]"
PredictionsInput: TypeAlias = (
    "str | PathLike[str] | Mapping[str, str | None] | Iterable[Prediction | Mapping[str, Any] | str | None] | Ask"
)
DatabasesInput: TypeAlias = "str | Mapping[str, str]"

_UNMATCHED_SHOWN = 5
_ALIASES = {"database": ("database", "db_id"), "gold": ("golds", "gold", "gold_sql", "query", "SQL", "Solution")}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How to read the two files, where that is not plain."""

    case_format: str | None = None
    prediction_format: str | None = None
    case_fields: FieldNames = FieldNames()  # noqa: RUF009 - frozen
    prediction_fields: FieldNames = FieldNames()  # noqa: RUF009 - frozen
    limit: int | None = None
    """Only the first so many cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Cases with their answers, in the cases' order."""

    cases: tuple[Case, ...]
    predictions: tuple[Prediction, ...]
    unmatched: tuple[str, ...]
    """Ids of predictions that fit no case."""
    case_name: str
    prediction_name: str
    files: tuple[Fingerprint, ...]


def is_system(predictions: object) -> TypeGuard[System]:
    """Whether this is a live system, to be asked."""
    return callable(getattr(predictions, "answer", None)) and callable(getattr(predictions, "describe", None))


def read_inputs(
    cases: CasesInput, predictions: PredictionsInput | System, options: FileOptions, *, allow_unmatched: bool
) -> Inputs:
    """Read both sides and join them.

    Raises InputError where a file cannot be used, and where predictions fit no case, unless
    ``allow_unmatched``.
    """
    every_case, case_name = _read_cases(cases, options)
    kept = every_case[: options.limit]
    files = [_fingerprint(fspath(source)) for source in (cases, predictions) if isinstance(source, (str, PathLike))]
    if is_system(predictions):
        # It is asked once everything else is known to be usable.
        answers = tuple(Prediction(case_id=case.id) for case in kept)
        unmatched: tuple[str, ...] = ()
        prediction_name = predictions.describe()
    elif callable(predictions):
        answers = tuple(_ask(predictions, case) for case in kept)
        unmatched = ()
        prediction_name = getattr(predictions, "__qualname__", type(predictions).__qualname__)
    else:
        loaded, prediction_name = _read_predictions(predictions, options)
        joined = join(every_case, loaded)
        answers, unmatched = joined.predictions[: len(kept)], joined.unmatched
    if unmatched and not allow_unmatched:
        shown = ", ".join(f'"{one}"' for one in unmatched[:_UNMATCHED_SHOWN])
        more = f" and {len(unmatched) - _UNMATCHED_SHOWN} more" if len(unmatched) > _UNMATCHED_SHOWN else ""
        raise InputError(
            f"{prediction_name}: {len(unmatched)} of the predictions fit no case of {case_name}: {shown}{more}. "
            "Remove them, correct their ids, or allow them (--allow-unmatched; in Python allow_unmatched=True)"
        )
    return Inputs(
        cases=kept,
        predictions=answers,
        unmatched=unmatched,
        case_name=case_name,
        prediction_name=prediction_name,
        files=tuple(files),
    )


def _fingerprint(path: str) -> Fingerprint:
    with open(path, "rb") as file:
        digest = blake2b(digest_size=16)
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return Fingerprint(name=Path(path).name, digest=digest.hexdigest())


def _read_cases(cases: CasesInput, options: FileOptions) -> tuple[tuple[Case, ...], str]:
    if isinstance(cases, (str, PathLike)):
        found = load_cases(
            cases, formats=registry.case_formats(), format=options.case_format, fields=options.case_fields
        )
        return found, fspath(cases)
    built = tuple(_case(number, given) for number, given in enumerate(cases))
    if not built:
        raise InputError("there is no case to evaluate")
    _no_id_twice([case.id for case in built], "cases")
    return built, f"{len(built)} cases in memory"


def _case(number: int, given: Case | Mapping[str, Any]) -> Case:
    if isinstance(given, Case):
        return given
    if not isinstance(given, Mapping):
        raise UsageError(f"case {number} is {type(given).__name__}: give assay.Case or a mapping")
    gold = next((given[name] for name in _ALIASES["gold"] if given.get(name)), ())
    golds = (gold,) if isinstance(gold, str) else tuple(gold)
    database = next((given[name] for name in _ALIASES["database"] if given.get(name) is not None), None)
    tags = given.get("tags") or ()
    return Case(
        id=str(given.get("id", given.get("question_id", number))),
        question=str(given.get("question", "")),
        database=None if database is None else str(database),
        golds=golds,
        difficulty=given.get("difficulty"),
        tags=(tags,) if isinstance(tags, str) else tuple(tags),
        context=given.get("context", given.get("evidence")),
        origin=f"case {number}",
    )


def _no_id_twice(ids: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise InputError(f"the id {one!r} occurs twice among the {what}: give each its own")
        seen.add(one)


def _read_predictions(predictions: Any, options: FileOptions) -> tuple[LoadedPredictions, str]:
    if isinstance(predictions, (str, PathLike)):
        loaded = load_predictions(
            predictions,
            formats=registry.case_formats(),
            format=options.prediction_format,
            fields=options.prediction_fields,
        )
        return loaded, fspath(predictions)
    if isinstance(predictions, Mapping):
        built = [_prediction(str(case_id), query) for case_id, query in predictions.items()]
        return LoadedPredictions(predictions=tuple(built)), "a mapping in memory"
    items = list(predictions)
    by_position = all(item is None or isinstance(item, str) for item in items)
    built = [_prediction(str(number), item) for number, item in enumerate(items)]
    _no_id_twice([one.case_id for one in built], "predictions")
    name = f"{len(built)} predictions in memory"
    return LoadedPredictions(predictions=tuple(built), by_position=by_position), name


def _prediction(case_id: str, given: Any) -> Prediction:
    if isinstance(given, Prediction):
        return given
    if isinstance(given, Mapping):
        names = ("query", "predicted_sql", "prediction", "completion", "sql")
        query = next((given[name] for name in names if name in given), None)
        return _prediction(str(given.get("id", given.get("question_id", given.get("case_id", case_id)))), query)
    if given is not None and not isinstance(given, str):
        raise UsageError(f"the prediction for {case_id!r} is {type(given).__name__}: give its query as text, or None")
    if given is None:
        return Prediction(case_id=case_id, failure=_no_answer("the system gave no answer to this case"))
    return Prediction(case_id=case_id, query=given)


def _ask(system: Ask, case: Case) -> Prediction:
    try:
        answer = system(case)
    except Exception as error:  # noqa: BLE001 - the per-case boundary: a system's failure is its answer
        message = f"the system raised {type(error).__name__}: {error}"
        failure = Failure(stage="ask", kind="ask_failed", blame="system", message=message)
        return Prediction(case_id=case.id, failure=failure)
    return answer if isinstance(answer, Prediction) else _prediction(case.id, answer)


def _no_answer(message: str) -> Failure:
    return Failure(stage="ask", kind="unanswered", blame="system", message=message)


def locator(databases: DatabasesInput) -> tuple[Locate, str]:
    """From case to database URL, and how to name it in the run's settings."""
    if isinstance(databases, str):
        template = DatabaseUrl.parse(databases)
        return template.render, str(template)
    urls = {name: DatabaseUrl.parse(url) for name, url in databases.items()}

    def locate(db_id: str | None) -> DatabaseUrl:
        if db_id in urls:
            return urls[db_id]
        raise InputError(f"no database is given for db_id {db_id!r}: there is {', '.join(sorted(urls))}")

    return locate, ", ".join(f"{name}: {url}" for name, url in sorted(urls.items()))


def check_databases(urls: Iterable[DatabaseUrl], origins: Mapping[str, str | None]) -> None:
    """See that every database can be read, before anything is asked or written. Raises DatabaseError."""
    for url in urls:
        try:
            registry.engine_class(url).check(url)
        except DatabaseError as error:
            origin = origins.get(url.text)
            raise DatabaseError(f"{origin}: {error}" if origin else str(error)) from error
