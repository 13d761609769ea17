"""Load question sets and predictions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from os import PathLike
from pathlib import Path

from msgspec.structs import replace

from assay.cases.fields import POSITION, did_you_mean, listed
from assay.cases.samples import first_questions, has_samples, with_samples
from assay.cases.text.decoding import check_size, closest_file, empty, head_of
from assay.cases.text.file_kinds import other_kind
from assay.errors import CaseFileError, InputError, UsageError
from assay.model import Case, FieldNames, Prediction
from assay.platform.shell import quoted
from assay.platform.spool import parts_of
from assay.platform.surface import argument, on_command_line
from assay.platform.surface import option as written
from assay.ports import CaseFormat, Column, LoadedCases, LoadedPredictions


def recognise(path: str | PathLike[str], formats: Sequence[CaseFormat], *, option: str = "--case-format") -> CaseFormat:
    """The format of a file. Raises CaseFileError with what to save it as if none recognises it.

    Formats of other packages are asked first, since they were installed for files of their own; those that take any
    file with their suffix last, after those that look at the content. ``option`` names a format.
    """
    path = Path(path)
    if fault := _own_fault(path):
        raise CaseFileError(fault, path=str(path))
    for format in sorted(formats, key=_turn):
        if format.recognises(path):
            return format
    if path.is_dir():
        within = sorted(entry.name for entry in path.iterdir() if any(format.recognises(entry) for format in formats))
        if not within and all(entry.name.startswith(".") for entry in path.iterdir()):
            raise CaseFileError("the folder is empty. Is this the right path?", path=str(path))
        hint = f", for example {path / within[0]}" if within else ""
        raise CaseFileError(f"is a folder: name a file in it{hint}", path=str(path))
    if kind := other_kind(path, None):
        raise CaseFileError(f"is {kind}", path=str(path))
    what = f'the suffix "{path.suffix}"' if path.suffix else "a name without a suffix"
    names = ", ".join(format.name for format in formats)
    raise CaseFileError(
        f"has {what}, which belongs to no format: save it as .csv, .xlsx, .json, .jsonl, .yaml or .parquet, or give "
        f"its format ({argument(option)}), one of {names}",
        path=str(path),
    )


def _own_fault(path: Path) -> str | None:
    """What to do with a run, a folder of runs or a report, which Assay wrote itself; None for any other path."""
    run = path.parent if path.name == "run.json" and (path.parent / "journal.jsonl").is_file() else path
    if (run / "run.json").is_file():
        return f"is a stored run, {_NO_INPUT}; its report:  assay report {run}"
    if path.is_dir() and any((one / "run.json").is_file() for one in path.iterdir()):
        return f"is a folder of runs, {_NO_INPUT}; to rank the runs:  assay leaderboard {path}"
    if path.suffix.lower() == ".json" and path.is_file() and _REPORT.match(head_of(path)):
        return f"is a report, {_NO_INPUT}"
    return None


_NO_INPUT = "not a file of questions or predictions: name the one that the run was made from"
_REPORT = re.compile(r'\s*\{\s*"format"\s*:\s*"assay-')


def _turn(format: CaseFormat) -> tuple[bool, bool, str]:
    ours = type(format).__module__.startswith("assay.")
    return ours, getattr(format, "by_suffix_alone", False), "" if ours else format.name


def load_cases(
    path: str | PathLike[str],
    *,
    formats: Sequence[CaseFormat],
    format: str | None = None,
    fields: FieldNames = FieldNames(),  # noqa: B008 (frozen)
    limit: int | None = None,
) -> Sequence[Case]:
    """Load a question set, in the file's order; ``limit`` keeps the first that many. Raises as `load_questions`."""
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}: ask for at least 1 case")
    cases: Sequence[Case] = load_questions(path, formats=formats, format=format, fields=fields).cases
    return cases[:limit]


def load_questions(
    path: str | PathLike[str],
    *,
    formats: Sequence[CaseFormat],
    format: str | None = None,
    fields: FieldNames = FieldNames(),  # noqa: B008 (frozen)
    samples: int | None = None,
) -> LoadedCases:
    """Load a question set, with the data needed for joining.

    ``format`` names one of ``formats``; None: the one that recognises the file. ``samples``: the rows contain the
    predictions, too, that many for each case, or, for 1, as many as a column numbers. Raises CaseFileError with file,
    row and column for an unusable file, including one in which two cases share an id; InputError for an unknown format;
    UsageError for a limit below 1.
    """
    path = Path(path)
    chosen = _format(path, formats, format, fields)
    with _nested_within_reason(path):
        found = chosen.cases(path, fields)
        if not isinstance(found, LoadedCases):
            cases = tuple(found)
            counted = all(case.id == str(place) for place, case in enumerate(cases))
            found = LoadedCases(cases=cases, by_position=counted)
    if not found.cases:
        raise CaseFileError("contains no question", path=str(path))
    if samples is not None:
        found = first_questions(found, repeats=samples)
    _no_id_twice(path, found.cases, "id", found.beside)
    return found


def check_queries(cases: Sequence[Case], name: str, predictions: object = None) -> None:
    """Raise CaseFileError if the cases are not for queries. ``name`` is their file, ``predictions`` the other one."""
    if cases and cases[0].turns:
        raise not_queries(name, predictions)


def not_queries(name: str, predictions: object = None) -> CaseFileError:
    """The error for a file of targets for an SDMX assistant that is given as a question set."""
    answers = quoted(str(predictions)) if isinstance(predictions, (str, PathLike)) else "FILE"
    instead = f"write  assay sdmx {quoted(name)} --predictions {answers}"
    instead = instead if on_command_line() else "call assay.evaluate_selections"
    return CaseFileError(f"contains targets for an SDMX assistant, not gold queries: {instead}", path=name)


@contextmanager
def _nested_within_reason(path: Path) -> Iterator[None]:
    """Reject files that nest deeper than Python's stack, no matter which reader notices it."""
    try:
        yield
    except RecursionError:
        raise CaseFileError("is nested too deeply to be read", path=str(path)) from None


def load_predictions(
    path: str | PathLike[str],
    *,
    formats: Sequence[CaseFormat],
    format: str | None = None,
    fields: FieldNames = FieldNames(),  # noqa: B008 (frozen)
    repeats: int = 1,
) -> LoadedPredictions:
    """Load a prediction file, in its order. Raises as `load_cases` does, and as `with_samples` for ``repeats``."""
    path = Path(path)
    chosen = _format(path, formats, format, fields, option="--prediction-format")
    with _nested_within_reason(path):
        loaded = chosen.predictions(path, fields)
    if loaded.by_position and fields.id == POSITION:
        loaded = replace(loaded, stated=True, chosen=True)
    if not loaded.predictions:
        raise CaseFileError("contains no prediction", path=str(path))
    loaded = with_samples(loaded, str(path), repeats=repeats)
    if not has_samples(loaded):
        _no_id_twice(path, loaded.predictions, "case_id", loaded.beside)
    return loaded


def _format(
    path: Path,
    formats: Sequence[CaseFormat],
    name: str | None,
    fields: FieldNames,
    *,
    option: str = "--case-format",
) -> CaseFormat:
    chosen = None
    if name is not None:
        chosen = next((format for format in formats if format.name == name), None)
        if chosen is None:
            names = [format.name for format in formats]
            raise InputError(
                f'unknown case format "{name}"{did_you_mean(name, names)}; the formats are {", ".join(names)}'
            )
    check_file(path)
    if chosen is None:
        chosen = recognise(path, formats, option=option)
        by_suffix = getattr(chosen, "by_suffix_alone", False) or path.suffix.lower() in (".txt", ".sql")
        if by_suffix and (kind := other_kind(path, chosen.name)):
            raise CaseFileError(f"is {kind}", path=str(path))
    if fields.sheet is not None and chosen.name != "xlsx":
        raise UsageError(f"{path}: a sheet was named ({fields.sheet!r}), and the format {chosen.name} has none")
    if fields.encoding is not None and not getattr(chosen, "takes_encoding", False):
        raise UsageError(
            f"{path}: an encoding was named ({fields.encoding!r}), and the format {chosen.name} has its own"
        )
    return chosen


def check_file(path: Path) -> None:
    """Raise for a missing file, with the closest name in its folder, and for an empty one."""
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            raise CaseFileError(f'does not exist, nor does its folder "{folder}"', path=str(path))
        near = closest_file(path)
        hint = f'; did you mean "{near}"?' if near else ""
        raise CaseFileError(f'does not exist in the folder "{folder}"{hint}', path=str(path))
    if path.is_file() and path.stat().st_size == 0:
        raise empty(path)
    check_size(path)


def _no_id_twice(path: Path, rows: Sequence[Case] | Sequence[Prediction], name: str, unused: Sequence[Column]) -> None:
    """Raise CaseFileError if an id occurs more than once. ``name`` is the id's field, ``unused`` the other columns."""
    id_of = attrgetter(name)
    if len(set(map(id_of, parts_of(rows, name)))) == len(rows):
        return
    origins: dict[str, list[str]] = {}
    for row in rows:
        origins.setdefault(id_of(row), []).append(row.origin or "")
    (first, places), *others = [(id_, places) for id_, places in origins.items() if len(places) > 1]
    most = max(map(len, origins.values()))
    times = "twice" if len(places) == 2 else f"{len(places)} times"
    message = f'the id "{first}" occurs {times}: {_joined([f"in {place}" for place in places[:_MOST_PLACES]])}'
    if others:
        message += (
            f"; so {'does' if len(others) == 1 else 'do'} {listed([id_ for id_, _ in others], most=_MOST_PLACES)}"
        )
    option = "--prediction-id-column" if name == "case_id" else "--id-column"
    unique = [column.name for column in unused if len({str(value) for value in column.values}) == len(rows)]
    message += (
        f". Give each its own; or name another column of ids, for example  {written(option, (*unique, 'NAME')[0])}"
    )
    message += f"; or use row numbers:  {written(option, POSITION)}"
    if name == "case_id":
        message += (
            f". If these are several answers to one question, write  {written('--repeat', most)}  or number them in a "
            'column "sample"'
        )
    raise CaseFileError(message, path=str(path))


def _joined(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


_MOST_PLACES = 5
