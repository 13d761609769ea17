"""Load question sets and predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from os import PathLike
from pathlib import Path

from msgspec.structs import replace

from assay.cases.fields import POSITION, did_you_mean
from assay.cases.text.decoding import check_size, closest_file, empty
from assay.errors import CaseFileError, InputError, UsageError
from assay.model import Case, FieldNames, Prediction
from assay.platform.spool import parts_of
from assay.ports import CaseFormat, LoadedCases, LoadedPredictions


def recognise(path: str | PathLike[str], formats: Sequence[CaseFormat]) -> CaseFormat:
    """The format of a file. Raises CaseFileError with the known formats where none recognises it.

    Those of other packages are asked first, since somebody installed them for files of their own; those that take any
    file with their suffix last, after those that look at the content.
    """
    path = Path(path)
    for format in sorted(formats, key=_turn):
        if format.recognises(path):
            return format
    names = ", ".join(format.name for format in formats)
    if path.is_dir():
        within = sorted(entry.name for entry in path.iterdir() if any(format.recognises(entry) for format in formats))
        if not within and all(entry.name.startswith(".") for entry in path.iterdir()):
            raise CaseFileError("is an empty folder: was what belongs into it written elsewhere?", path=str(path))
        hint = f", such as {within[0]}" if within else ""
        raise CaseFileError(f"is a folder: name a file in it{hint}", path=str(path))
    what = f'the suffix "{path.suffix}"' if path.suffix else "a name without a suffix"
    raise CaseFileError(f"has {what}, which no format takes: give its format, one of {names}", path=str(path))


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
) -> LoadedCases:
    """Load a question set, with the data needed for joining.

    ``format`` names one of ``formats``; None: the one that recognises the file. Raises CaseFileError with file, row and
    column for an unusable file, including one in which two cases share an id; InputError for an unknown format;
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
        raise CaseFileError("holds no question", path=str(path))
    _no_id_twice(path, found.cases, "id")
    return found


@contextmanager
def _nested_within_reason(path: Path) -> Iterator[None]:
    """Reject files that nest deeper than Python's stack, whichever reader notices it first."""
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
) -> LoadedPredictions:
    """Load a prediction file, in its order. Raises as `load_cases` does."""
    path = Path(path)
    chosen = _format(path, formats, format, fields)
    with _nested_within_reason(path):
        loaded = chosen.predictions(path, fields)
    if loaded.by_position and fields.id == POSITION:
        loaded = replace(loaded, stated=True, chosen=True)
    if not loaded.predictions:
        raise CaseFileError("holds no prediction", path=str(path))
    _no_id_twice(path, loaded.predictions, "case_id")
    return loaded


def _format(path: Path, formats: Sequence[CaseFormat], name: str | None, fields: FieldNames) -> CaseFormat:
    chosen = None
    if name is not None:
        chosen = next((format for format in formats if format.name == name), None)
        if chosen is None:
            names = [format.name for format in formats]
            raise InputError(
                f'no case format is called "{name}"{did_you_mean(name, names)}: there is {", ".join(names)}'
            )
    check_file(path)
    chosen = chosen or recognise(path, formats)
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
            raise CaseFileError(f'does not exist: there is no folder "{folder}"', path=str(path))
        near = closest_file(path)
        hint = f'; did you mean "{near}"?' if near else ""
        raise CaseFileError(f'does not exist in the folder "{folder}"{hint}', path=str(path))
    if path.is_file() and path.stat().st_size == 0:
        raise empty(path)
    check_size(path)


def _no_id_twice(path: Path, rows: Sequence[Case] | Sequence[Prediction], name: str) -> None:
    """``name`` is that of the id."""
    id_of = attrgetter(name)
    if len(set(map(id_of, parts_of(rows, name)))) == len(rows):
        return
    first: dict[str, str | None] = {}
    for row in rows:
        id_ = id_of(row)
        if id_ in first:
            raise CaseFileError(
                f'the id "{id_}" occurs twice: at {first[id_]} and at {row.origin}. Give each its own; '
                f'to use row numbers instead, give "{POSITION}" as the name of the id',
                path=str(path),
            )
        first[id_] = row.origin
