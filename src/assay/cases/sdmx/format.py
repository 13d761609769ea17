"""SDMX case files and prediction files: conversations, each question with the right selections."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cases.fields import ALIASES, Field, normal
from assay.cases.text.decoding import head_of
from assay.errors import CaseFileError
from assay.model import Case, FieldNames, Prediction
from assay.model.verdicts.review import REVIEWS_FILE
from assay.ports import LoadedPredictions
from assay.sdmx.gc_pause import collector_paused

if TYPE_CHECKING:
    from assay.cases.sdmx.records import Record

_OF_QUERIES: tuple[Field, Field] = ("question", "gold")
_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".jsonl", ".ndjson"})


class SdmxFormat:
    """Cases whose ``conversation`` lists messages, a question of the role ``user`` with its ``target`` or ``targets``.

    A file contains one case, a list of them, several YAML documents, or a list under ``cases``; a folder contains such
    files, at any depth, read in the order of their paths. YAML, JSON or JSON Lines. Each code is the text as written,
    quoted or not: ``NO``, ``1.10``, ``007``, ``true`` and ``null`` are codes.
    """

    name = "sdmx"

    def recognises(self, path: Path) -> bool:
        """Whether the file starts with a conversation or a selection, or the folder contains such a file."""
        if path.is_dir():
            return any(_looks_right(file) for file in _files(path))
        return path.suffix.lower() in _SUFFIXES and _looks_right(path)

    def cases(self, path: Path, fields: FieldNames) -> tuple[Case, ...]:
        """Read cases. Raises CaseFileError with file, line and column, and with the wrong key."""
        from assay.cases.sdmx.case import TermCache, case_of
        from assay.cases.sdmx.records import records_of

        _fixed_names(path, fields, ())
        cases: list[Case] = []
        first: dict[str, str | None] = {}
        terms = TermCache()
        scripted: list[str] = []
        with collector_paused():
            for file in _files(path):
                called = _called(path, file)
                for record in records_of(file):
                    for value, place, keys in _each(file, record, wrappers=("cases",), of=("conversation", "id")):
                        _refuse_queries(file, value)
                        with _placed(file, record, keys):
                            case = case_of(value, origin=f"{called}, {place}", cache=terms, scripted=scripted)
                        if case.id in first:
                            raise CaseFileError(
                                f'the id "{case.id}" occurs twice: in {first[case.id]} and in {case.origin}. '
                                "Give each its own",
                                path=str(path),
                            )
                        first[case.id] = case.origin
                        cases.append(case)
        if scripted:
            warnings.warn(
                f"{path}: {len(scripted)} message{'s' * (len(scripted) > 1)} of the role assistant, first in the case "
                f"at {scripted[0]}, are neither sent nor scored: the history of a question is what the system "
                "under test answered itself",
                UserWarning,
                stacklevel=2,
            )
        return tuple(cases)

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """Read predictions, from a file (also a table: CSV, Excel, Parquet) or a folder of YAML and JSON files.

        Raises CaseFileError with file and place.

        Their answers are kept as they came (``TurnAnswer.raw``): interpreting them needs the structures.
        """
        from assay.cases.sdmx.answers import ANSWER_KEYS, PredictionReader
        from assay.cases.sdmx.records import records_of, records_of_table

        _fixed_names(path, fields, ("id", "prediction"))
        reader = PredictionReader(fields)
        predictions: list[Prediction] = []
        with collector_paused():
            for file in _files(path):
                called = _called(path, file)
                for record in records_of_table(file, fields, ANSWER_KEYS) or records_of(file):
                    predictions.extend(reader.read(file, called, record))
        return reader.loaded(path, predictions)


def _looks_right(path: Path) -> bool:
    head = head_of(path)
    return ("conversation" in head and "role" in head) or "indicator_selection" in head


def _files(path: Path) -> list[Path]:
    """The file itself, or the case files of a folder at any depth, without hidden ones and reviews.

    Raises CaseFileError.
    """
    if not path.is_dir():
        return [path]
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder, name) for name in names if not name.startswith(".") and name != REVIEWS_FILE]
    return sorted(
        (file for file in found if file.suffix.lower() in _SUFFIXES), key=lambda file: file.relative_to(path).parts
    )


def _called(path: Path, file: Path) -> str:
    """A file's name in origins: its path from the named folder."""
    return file.name if path == file else file.relative_to(path).as_posix()


def _fixed_names(path: Path, fields: FieldNames, free: Sequence[str]) -> None:
    for name in fields.__struct_fields__:
        if getattr(fields, name) is not None and name not in (*free, "shared_id"):
            raise CaseFileError(
                f"the name of the {name} was given, but the keys of SDMX cases are fixed: "
                "id, name, tags, comments, difficulty and conversation",
                path=str(path),
            )


def _refuse_queries(path: Path, value: object) -> None:
    """Raise CaseFileError for a question with a gold query, which belongs to another verb."""
    if not isinstance(value, dict) or "conversation" in value:
        return
    keys = {normal(str(key)) for key in value}
    asks, answers = (keys & {normal(name) for names in ALIASES[field] for name in names} for field in _OF_QUERIES)
    if len(asks | answers) > 1 and asks and answers:
        from assay.cases.sdmx.records import of_queries

        message = f"contains questions with gold queries, not targets of SDMX data: {of_queries(path)}"
        raise CaseFileError(message, path=str(path))


def _each(
    path: Path, record: Record, *, wrappers: Sequence[str], of: Sequence[str]
) -> Iterator[tuple[object, str, tuple[str | int, ...]]]:
    """The cases of a record, each with its place and path: the list under a wrapper key, or the record itself."""
    from assay.cases.sdmx.records import entries, mapping

    held = record.value
    wrapper = next((key for key in wrappers if isinstance(held, dict) and key in held), None)
    if not record.alone or wrapper is None or any(key in held for key in of):  # type: ignore[operator]
        yield held, record.place, ()
        return
    with _placed(path, record, ()):
        mapping(held, (), (wrapper,), like="a mapping")
        listed = entries(held[wrapper], (wrapper,), like="a list of cases")  # type: ignore[index]
    for number, value in enumerate(listed):
        yield value, f"item {number + 1}", (wrapper, number)


@contextmanager
def _placed(path: Path, record: Record, keys: tuple[str | int, ...]) -> Iterator[None]:
    """Add file and place to a Misread."""
    from assay.cases.sdmx.records import Misread

    try:
        yield
    except Misread as error:
        place = record.place_of((*keys, *error.keys), at_key=error.at_key)
        raise CaseFileError(str(error), path=str(path), place=place) from error
