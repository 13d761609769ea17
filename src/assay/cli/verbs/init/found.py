"""What a question set, its answers and a database are found to be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.errors import InputError
from assay.model import Case, ColumnUse, DatabaseUrl, Joining
from assay.reports.text.plain import one_line, plural
from assay.settings import Settings, WitnessFileSettings, is_run_file
from assay.settings.values import urls_of

if TYPE_CHECKING:
    from assay.api.workers import DatabasesInput

FILE_SCHEMES = ("sqlite", "duckdb")

_MOST_NAMED = 8
_GENERAL = ("match", "non_empty_match", "bird_ex", "spider_ex", "bird_soft_f1")
_OF_FORMAT = {
    "bird": ("match", "bird_ex", "bird_soft_f1", "non_empty_match"),
    "spider": ("match", "spider_ex", "spider_em", "non_empty_match"),
    "sparc": ("match", "spider_ex", "spider_em", "non_empty_match"),
    "cosql": ("match", "spider_ex", "spider_em", "non_empty_match"),
    "spider2": ("match", "spider2_lite", "non_empty_match"),
    "llmsql": ("match", "llmsql_ex", "non_empty_match"),
}
_OF_DENODO = ("match", "results_match", "same_row_count", "percent_subset", "percent_overlap", "non_empty_match")


class Found(Struct, frozen=True, kw_only=True):
    """Enough to write the settings of a run."""

    cases: Path
    settings: Settings
    """What was typed."""
    db: DatabaseUrl
    metrics: tuple[str, ...]
    case_count: int
    has_answers: bool
    """Predictions are named, or are in the file of the questions."""
    lines: tuple[str, ...]
    """What was found, for a person."""
    difficulties: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What will not work as it is."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The settings that contain a secret, and not only a reference to the environment."""
        return tuple(_with_secrets(self.settings))


def look_at(cases: Path, settings: Settings) -> Found:
    """Read both files, join them, and see whether the databases are there. Raises InputError for what cannot be used.

    A database that is missing is a note: it may be on its way.
    """
    from assay import registry
    from assay.cases import load_questions
    from assay.cases.load import not_queries, recognise

    url, *others = map(DatabaseUrl.parse, urls_of(settings.db) or [""])
    system, predictions = settings.system, settings.predictions
    for each in (url, *others):
        registry.engine_class(each)
    if system is not None:
        registry.find("assay.systems", system.partition(":")[0])
    if is_run_file(cases):
        raise InputError(f"{cases}: this is a file of settings already: write  assay run {cases}")
    formats = registry.case_formats()
    name = settings.case_format or recognise(cases, formats).name
    if name == "sdmx":
        raise not_queries(str(cases), predictions)
    loaded = load_questions(cases, formats=formats, format=settings.case_format, fields=settings.case_fields)
    told: list[str] = []
    notes = list(_trouble_with_databases(loaded.cases, settings.db or ""))
    if predictions is not None:
        told, unmatched = _answers(cases, settings)
        notes += unmatched
    elif system is None:
        with suppress(InputError):  # the question set has no predictions: the file says where to name them
            told, _ = _answers(cases, settings)
    every = Counter(case.database for case in loaded.cases)
    difficulties = tuple(one for one, _ in Counter(case.difficulty for case in loaded.cases).most_common() if one)
    tags = tuple(one for one, _ in Counter(tag for case in loaded.cases for tag in case.tags).most_common(_MOST_NAMED))
    asked = [] if system is None else [f"a live system: {shown_system(system)}"]
    return Found(
        cases=cases,
        settings=settings,
        db=url,
        metrics=settings.metrics or (_OF_DENODO if url.scheme.startswith("denodo") else _OF_FORMAT.get(name, _GENERAL)),
        case_count=len(loaded.cases),
        has_answers=bool(told) or system is not None,
        lines=(
            f"{plural(len(loaded.cases), 'case')} in the format {name}{_columns(loaded.columns)}",
            *_described(every, difficulties, tags),
            *told,
            *asked,
        ),
        difficulties=difficulties,
        tags=tags,
        notes=tuple(notes),
    )


def _described(every: Counter[str | None], difficulties: Sequence[str], tags: Sequence[str]) -> Iterator[str]:
    names = [name for name in every if name is not None]
    if names:
        yield f"{plural(len(names), 'database')}: {_some(names)}"
    if difficulties:
        yield f"difficulties: {_some(difficulties)}"
    if tags:
        yield f"tags: {_some(tags)}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(name, limit=40) for name in names[:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else shown


def _columns(columns: Sequence[ColumnUse]) -> str:
    told = [one.field if one.field == one.column else f"{one.field} from {one.column}" for one in columns]
    return f": {', '.join(told)}" if told else ""


def _answers(cases: Path, settings: Settings) -> tuple[list[str], list[str]]:
    """What was found of the answers, and what of them matches no case."""
    from assay.api.inputs import FileOptions, read_inputs

    options = FileOptions(
        case_format=settings.case_format,
        prediction_format=settings.prediction_format,
        case_fields=settings.case_fields,
        prediction_fields=settings.prediction_fields,
        ignore_questions=bool(settings.ignore_questions),
    )
    inputs = read_inputs(cases, settings.predictions, options, allow_unmatched=True)
    given = len({one.case_id for one in inputs.predictions if one.failure is None})
    joining: Joining | None = inputs.joining
    how = "" if joining is None else f", joined by {joining.by}{_columns(joining.prediction_columns)}"
    notes = []
    if inputs.unmatched and not settings.allow_unmatched:
        matching = "prediction matches" if len(inputs.unmatched) == 1 else "predictions match"
        matched = f"{len(inputs.unmatched):,} {matching} no case, for example {inputs.unmatched[0]!r}"
        notes.append(f"{settings.predictions}: {matched}: correct their ids, or set allow_unmatched: true")
    each = "" if inputs.repeats == 1 else f" with up to {inputs.repeats} answers each"
    return [f"answers to {given:,} of {plural(len(inputs.cases), 'case')}{each}{how}"], notes


def _trouble_with_databases(cases: Sequence[Case], databases: DatabasesInput) -> Iterator[str]:
    """What cannot be read of the databases that the cases name, the first one's reason given.

    Of a server's only the first is tried: one that does not answer would be waited for again and again.
    """
    from assay import registry
    from assay.api.workers import locator
    from assay.runs.plan import url_of

    missing: list[str] = []
    locate, _ = locator(databases)
    tried: set[str] = set()
    for url in dict.fromkeys(url_of(case, locate) for case in cases):
        if url.scheme in tried and url.scheme not in FILE_SCHEMES:
            continue
        tried.add(url.scheme)
        try:
            registry.engine_class(url).check(url)
        except InputError as error:
            missing.append(str(error))
    if missing:
        more = f", and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        yield f"{missing[0]}{more}"


_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_SECRET_NAME = re.compile(
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|key|credentials?|authorization|auth|sig(?:nature)?)", re.IGNORECASE
)
_SCHEME = re.compile(r"(?:bearer|basic|token|apikey)(?=\s|$)", re.IGNORECASE)
"""What comes before the secret in the value of a header."""
_NAMED_VALUE = re.compile(r"""(?<![\w.-])(?P<name>[\w.-]+)["']?(?:\s*[=:]\s*|\s+)["']?(?=(?P<value>[^\s"'&;{}]+))""")
"""A name with its value: in a query string, in JSON, or in the arguments of a command."""


def _with_secrets(settings: Settings) -> Iterator[str]:
    for name in ("db", "gold_db"):
        if any(map(_is_secret_url, urls_of(getattr(settings, name)))):
            yield name
    system = settings.system or ""
    if _is_secret_url(system.partition(":")[2]) or _is_secret_url(system) or _names_secret(system):
        yield "system"
    if any(map(_is_secret_header, settings.header_texts().values())):
        yield "headers"
    pairs = settings.param.items() if isinstance(settings.param, dict) else _pairs(settings.param or ())
    if any(_is_name_of_secret(name) and value for name, value in pairs):
        yield "param"
    if _names_secret(settings.body_template() or ""):
        yield "request_template"
    if isinstance(settings.witness, WitnessFileSettings) and _is_secret_url(settings.witness.scratch):
        yield "witness"


def shown_system(system: str) -> str:
    """The system without what may be a secret: of a command its program, of an address neither user nor query."""
    kind, _, rest = system.partition(":")
    if kind == "command":
        words = [word for word in rest.split() if not re.match(r"\w+=", word)]
        return f"{kind}:{words[0]}{' …' if len(rest.split()) > 1 else ''}" if words else kind
    return kind if "@" in rest else system.partition("?")[0]


def _is_secret_url(text: str | None) -> bool:
    return text is not None and DatabaseUrl(text=text).holds_secret


def _is_secret_header(header: str) -> bool:
    """Any value may be one: headers are for gateways, and are never shown."""
    value = re.split("[=:]", header, maxsplit=1)[-1]
    return bool(_SCHEME.sub("", _REFERENCE.sub("", value).strip()).strip())


def _names_secret(text: str) -> bool:
    return any(
        _is_name_of_secret(found["name"]) and bool(_REFERENCE.sub("", found["value"]))
        for found in _NAMED_VALUE.finditer(text)
    )


def _is_name_of_secret(name: str) -> bool:
    """Whether the last word of a name is one for a secret: ``api_key`` is, ``max_tokens`` is not."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    return bool(words) and _SECRET_NAME.fullmatch(words[-1]) is not None


def _pairs(given: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for text in given:
        name, _, value = text.partition("=")
        yield name.strip(), value
