"""Hints on the two files of a run and its database: swapped files, predictions in place of questions, no ``--db``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Final

from assay.errors import CaseFileError, InputError, UsageError
from assay.model.databases.mistyped import FILE_SCHEMES
from assay.platform.shell import command_line
from assay.ports import LoadedCases, LoadedPredictions
from assay.settings import Settings

_FOLDERS: Final = ("", "database", "databases", "dev_databases", "dbs", "db", "data", "test_database")
_NAMES: Final = ("{db_id}/{db_id}", "{db_id}")
_TEMPLATE: Final = "sqlite:///databases/{db_id}/{db_id}.sqlite"


@contextmanager
def roles_checked(settings: Settings, *, verb: str = "run") -> Iterator[None]:
    """A context for reading the files of a run: an error says if the files are swapped, recognised by their content."""
    try:
        yield
    except CaseFileError as error:
        if settings.cases is None or (hint := _hint(settings, Path(settings.cases), verb)) is None:
            raise
        raise UsageError(hint) from error


def _hint(settings: Settings, cases: Path, verb: str) -> str | None:
    own = _predictions(cases, settings)
    if own is None:
        return None
    predictions = None if settings.predictions is None else Path(settings.predictions)
    questions = None if predictions is None else _questions(predictions, settings)
    if predictions is not None and questions is not None:
        return (
            f"the two files are swapped: {cases} contains predictions{_column(own, 'prediction')}, "
            f"{predictions} questions with gold queries{_column(questions, 'gold')}. Write  "
            f"{command_line(['assay', 'run', str(predictions), '--predictions', str(cases)])}"
        )
    if predictions is not None or _questions(cases, settings) is not None:
        return None
    wanted = (
        "" if verb != "run" else f": write  assay run questions.jsonl {command_line(['--predictions', str(cases)])}"
    )
    return (
        f"{cases} contains predictions{_column(own, 'prediction')} and no gold queries. Name the question set{wanted}"
    )


def _questions(path: Path, settings: Settings) -> LoadedCases | None:
    from assay import registry
    from assay.cases import load_questions

    try:
        return load_questions(path, formats=registry.case_formats(), fields=settings.case_fields)
    except InputError:
        return None


def _predictions(path: Path, settings: Settings) -> LoadedPredictions | None:
    from assay import registry
    from assay.cases import load_predictions

    try:
        return load_predictions(path, formats=registry.case_formats(), fields=settings.prediction_fields)
    except InputError:
        return None


def _column(loaded: LoadedCases | LoadedPredictions, field: str) -> str:
    names = [one.column for one in loaded.columns if one.field == field]
    return f" (column {names[0]!r})" if names else ""


def missing_database(settings: Settings) -> UsageError:
    """The error for a run without ``--db``, with the URL that fits its question set.

    Raises InputError if the question set cannot be read: that is to be corrected first.
    """
    from assay import registry
    from assay.cases import load_questions

    url = "sqlite:///shop.sqlite"
    if settings.cases is not None:
        with roles_checked(settings):
            loaded = load_questions(
                settings.cases,
                formats=registry.case_formats(),
                format=settings.case_format,
                fields=settings.case_fields,
            )
        url = _url_for([case.database for case in loaded.cases if case.database], Path(settings.cases).parent) or url
    return UsageError(
        "--db must be given: the database on which the queries are executed. For these questions, for example  "
        f"--db {command_line([url])}  (a server: postgresql://user@host/shop)"
    )


def template_in(folder: Path) -> str | None:
    """The URL of the databases in a folder: a template, or the only one; None if there is none."""
    for suffix, scheme in FILE_SCHEMES.items():
        if any(one.stem == one.parent.name for one in folder.glob(f"*/*{suffix}")):
            return f"{scheme}:///{(folder / _NAMES[0]).as_posix()}{suffix}"
        if found := sorted(folder.glob(f"*{suffix}")):
            one = found[0] if len(found) == 1 else folder / f"{{db_id}}{suffix}"
            return f"{scheme}:///{one.as_posix()}"
    return None


def _url_for(names: list[str], folder: Path) -> str | None:
    """The URL of the databases of these names, by the files that exist; None if no name is known and no file found."""
    for base, inner in product((folder, Path()), _FOLDERS):
        for suffix, scheme in FILE_SCHEMES.items():
            for pattern in _NAMES if names else ():
                if (base / inner / f"{pattern.format(db_id=names[0])}{suffix}").is_file():
                    return f"{scheme}:///{(base / inner / pattern).as_posix()}{suffix}"
            if not names and (found := sorted((base / inner).glob(f"*{suffix}"))):
                return f"{scheme}:///{found[0].as_posix()}"
    return _TEMPLATE if names else None
