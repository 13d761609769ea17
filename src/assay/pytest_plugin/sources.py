"""The content of a case file: its cases, their databases, and their answers if a file contains them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay import registry
from assay.api.arguments import check_options
from assay.api.inputs import FileOptions, read_inputs
from assay.api.workers import check_nothing_executed, is_empty, locator
from assay.errors import CaseFileError, InputError
from assay.model import Case, ColumnRule, ComparisonOptions, Limits, Prediction
from assay.reports.text.plain import one_line
from assay.runs.plan import Work, plan_work
from assay.settings import Settings, read_run_file

_NAME_LENGTH = 120
_BUILT_IN = ("parametrize", "skip", "skipif", "xfail", "usefixtures", "filterwarnings", "tryfirst", "trylast")
_OF_PLUGINS = ("timeout", "flaky", "asyncio", "anyio", "trio", "xdist_group", "django_db", "order", "dependency")
_TAKEN = frozenset(["assay", "benchmark", *_BUILT_IN, *_OF_PLUGINS])
"""Markers with an effect, which no tag may set."""


class CaseFile(Struct, frozen=True, kw_only=True):
    """One case file, read and checked."""

    works: tuple[Work, ...]
    """The cases, each with its databases; with the answer, too, if ``has_answers``."""
    has_answers: bool
    options: ComparisonOptions
    """What counts as a difference."""
    limits: Limits
    extract: bool
    """Whether the query is extracted from texts that contain more."""
    system: str | None
    """A live system named by the file; the plugin does not ask it."""


def read_case_file(path: Path, *, holds_settings: bool, defaults: Settings) -> CaseFile:
    """Read a case file, or a file of settings that names or contains the cases; ``defaults`` fill its gaps.

    Raises InputError, as CaseFileError with file, row and column if the error is in one file.
    """
    own = read_run_file(path) if holds_settings else Settings(cases=str(path))
    if own.cases is None:
        raise CaseFileError("has no cases: write  cases: FILE  or a list of cases under it", path=str(path))
    settings = replace(defaults, cases=own.cases).overlaid(own)
    columns: ColumnRule = "strict" if settings.columns == "strict" else "any"
    tolerances = settings.given(("relative_tolerance", "absolute_tolerance"))
    comparison = ComparisonOptions(columns=columns, leniency=settings.leniency(), **tolerances)
    check_options(settings.columns or columns, **tolerances)
    options = FileOptions(
        case_format=settings.case_format,
        prediction_format=settings.prediction_format,
        case_fields=settings.case_fields,
        prediction_fields=settings.prediction_fields,
        limit=settings.limit,
        ignore_questions=bool(settings.ignore_questions),
    )
    # A file of answers may serve every case file of a project, so it may hold answers to other cases.
    shared = own.predictions is None
    inputs = read_inputs(
        own.cases,
        settings.predictions or _unasked,
        options,
        allow_unmatched=shared or bool(settings.allow_unmatched),
    )
    if inputs.repeats > 1:
        raise CaseFileError(
            f"has {inputs.repeats} answers to a question, and a test compares one: write  assay run", path=str(path)
        )
    if is_empty(settings.db or ""):
        try:
            check_nothing_executed(inputs.cases, inputs.predictions if settings.predictions else None)
        except InputError:
            raise CaseFileError(
                "has no database: write  db: URL  in it, or set assay_db in pytest's ini file", path=str(path)
            ) from None
    golds = None if settings.gold_db is None else locator(settings.gold_db)[0]
    extract = settings.extract is not False
    locate = locator(settings.db or "", optional=True)[0]
    works = plan_work(inputs.cases, inputs.predictions, locate, golds, extract=extract)
    for url in {url.scheme: url for work in works for url in (work.url, work.gold_url) if url is not None}.values():
        registry.engine_class(url)
    return CaseFile(
        works=tuple(works),
        has_answers=settings.predictions is not None,
        options=comparison,
        limits=settings.limits(),
        extract=extract,
        system=settings.system,
    )


def answers_of(source: Any, cases: Sequence[Case], what: str) -> dict[str, Prediction]:
    """The answers to cases from a mapping of id to query, or a prediction file. Raises InputError, UsageError.

    ``what`` names the source, for messages.
    """
    try:
        inputs = read_inputs(cases, source, FileOptions(), allow_unmatched=True)
    except InputError as error:
        raise InputError(f"{what}: {error}") from error
    if inputs.repeats > 1:
        raise InputError(f"{what}: has {inputs.repeats} answers to a question, and a test compares one")
    return {prediction.case_id: prediction for prediction in inputs.predictions}


def item_names(ids: Sequence[str]) -> list[str]:
    """A name per case for its node id: visible, on one line, without ``::``, and unique.

    Square brackets become round ones: in a node id they contain parameters, for pytest-xdist and ``--lf`` as well.
    """
    names: list[str] = []
    seen: set[str] = set()
    taken = set(ids)
    for case_id in ids:
        plain = re.sub(":{2,}", ":", one_line(case_id, limit=_NAME_LENGTH)).strip(":") or "case"
        plain = plain.replace("[", "(").replace("]", ")")
        name, number = plain, 1
        while name in seen or (number > 1 and name in taken):
            number += 1
            name = f"{plain}-{number}"
        seen.add(name)
        names.append(name)
    return names


def marker_name(tag: str) -> str | None:
    """A tag as an identifier; None if no part of it can be one. A marker with an effect gets the prefix ``tag_``."""
    name = re.sub(r"\W+", "_", tag).strip("_")
    if not name:
        return None
    if name.casefold() in _TAKEN or name[0].isdigit() or keyword.iskeyword(name):
        return f"tag_{name}"
    return name


def keywords_of(case: Case) -> set[str]:
    """The words by which ``-k`` finds a case: its id, the words of its question, tags, difficulty and database."""
    named = filter(None, (case.id, case.name, case.difficulty, case.database, *case.tags))
    return {*named, *re.findall(r"\w+", case.question)}


def _unasked(_: Case) -> None:
    """The placeholder for the answer of a case that is not asked yet."""
