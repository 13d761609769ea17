"""Hints on the two files of a run and its database: swapped files, predictions in place of questions, no ``--db``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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
    if predictions is not None or _may_have_gold(own) or _questions(cases, settings) is not None:
        return None
    wanted = (
        "" if verb != "run" else f": write  assay run questions.jsonl {command_line(['--predictions', str(cases)])}"
    )
    return (
        f"{cases} contains predictions{_column(own, 'prediction')} and no gold queries. Name the question set{wanted}"
    )


def _may_have_gold(loaded: LoadedPredictions) -> bool:
    """Whether a column beside the predictions may have gold queries, by its name or by its values."""
    from assay.cases.fields import ALIASES, guess_of, normal
    from assay.cases.records import holds_query

    known = {normal(alias) for tier in ALIASES["prediction"] for alias in tier}
    others = [column for column in loaded.beside if normal(column.name) not in known]
    values = (value for column in others for value in column.values if isinstance(value, str))
    return guess_of("gold", [column.name for column in loaded.beside]) is not None or any(map(holds_query, values))


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


_OF_SDMX: Final = {
    "cases": "cases with targets",
    "predictions": "answers",
    "structures": "SDMX structures",
    "data": "SDMX data",
}
"""What each file of `assay sdmx` contains, by the option that takes it; cases are given by position."""
_XML_ROOT: Final = re.compile(r"\s*(?:<(?:\?|!--).*?>\s*)*<(?:[\w.-]+:)?([\w.-]+)", re.DOTALL)
_MOST_FILES: Final = 20


@contextmanager
def selection_files_checked(files: Mapping[str, Sequence[str]]) -> Iterator[None]:
    """A context for reading the files of `assay sdmx`: the cases, and others by their options.

    An error says which file is given in place of another, recognised by its content.
    """
    try:
        yield
    except InputError as error:
        if (hint := _misplaced(files)) is None:
            raise
        raise UsageError(hint) from error


def _misplaced(files: Mapping[str, Sequence[str]]) -> str | None:
    """What to write for the first file that is given in place of another; None if there is none."""
    wrong = [(path, role, kind) for role in files for path in files[role] if (kind := _kind_of(Path(path))) != role]
    found = {(role, kind): path for path, role, kind in wrong if kind is not None}
    cases, predictions = found.get(("predictions", "cases")), found.get(("cases", "predictions"))
    if cases is not None and predictions is not None:
        typed = command_line(["assay", "sdmx", cases, "--predictions", predictions])
        return f"the two files are swapped: {predictions} contains answers, {cases} cases with targets. Write  {typed}"
    for (role, kind), path in found.items():
        contains = f"{path} contains {_OF_SDMX[kind]}, not {_OF_SDMX[role]}"
        if kind == "cases":
            return f"{contains}: cases are given by position, without an option"
        typed = command_line([f"--{kind}", path])
        return f"{contains}: write  {'assay sdmx CASES ' if role == 'cases' else ''}{typed}"
    return None


def _kind_of(path: Path) -> str | None:
    """What a file of `assay sdmx` contains, or all files of a folder alike: a key of `_OF_SDMX`; None if unknown."""
    from assay.cases.sdmx.format import SdmxFormat
    from assay.cases.text.decoding import head_of

    if path.is_dir():
        files = sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith("."))
        kinds = {_kind_of(one) for one in files[:_MOST_FILES]}
        return kinds.pop() if len(kinds) == 1 else None
    head = head_of(path)
    if path.suffix.lower() == ".csv":
        return "data" if "OBS_VALUE" in head or "TIME_PERIOD" in head else None
    if head.lstrip().startswith("<"):
        root = _XML_ROOT.match(head)
        name = root[1] if root else ""
        return "structures" if name == "Structure" else "data" if name.endswith("Data") else None
    if SdmxFormat().recognises(path) and "conversation" in head:
        return "cases"
    if re.search(r'"(?:dataStructures|codelists|dataflows)"\s*:', head):
        return "structures"
    return "predictions" if re.search(r"\b(?:answer|turns)\b[\"']?\s*:", head) else None


def missing_database(settings: Settings) -> UsageError:
    """The error for a run without ``--db``, with the URL that fits its question set.

    Raises InputError if the question set cannot be read: that is to be corrected first.
    """
    from assay import registry
    from assay.cases import load_questions
    from assay.cases.load import check_queries

    url = "sqlite:///shop.sqlite"
    if settings.cases is not None:
        with roles_checked(settings):
            loaded = load_questions(
                settings.cases,
                formats=registry.case_formats(),
                format=settings.case_format,
                fields=settings.case_fields,
            )
            check_queries(loaded.cases, settings.cases, settings.predictions)
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
