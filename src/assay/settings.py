"""All settings of a run in one YAML file: `assay run eval.yaml`.

    cases: dev.jsonl
    predictions: answers.jsonl
    db: sqlite:///databases/{db_id}/{db_id}.sqlite
    output: runs/first
    metrics: [match, bird_ex]
    timeout_s: 10
    baseline: runs/main
    gates:
      min: {match: 0.8}
      max_drop: {match: 1%}
      fail_on_regression: true
      must_pass: [tag:smoke]

Paths are relative to the file. Flags on the command line take precedence. ``cases`` may also be a list of the cases
themselves.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from assay.errors import CaseFileError, InputError, UsageError
from assay.model import DatabaseUrl, FieldNames, Leniency, Limits
from assay.model.gate import HEADLINE

_SUFFIXES = (".yaml", ".yml")
_FILE_SCHEMES = ("sqlite", "duckdb")
_NAMES = ("case_fields", "prediction_fields")
_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """What a run must reach, as the file says it (docs/guides/gates.md)."""

    min: dict[str, float | str] | None = None
    """Per metric, a number or a text such as ``80%``."""
    max_drop: dict[str, float | str] | None = None
    fail_on_regression: bool | str | tuple[str, ...] = False
    """True: the headline metric."""
    alpha: float | None = None
    must_pass: str | tuple[str, ...] = ()
    origin: str | None = None
    """The file, for messages; not read from it."""

    @property
    def regression_metrics(self) -> tuple[str, ...]:
        """The metrics, or ``headline`` for the headline metric."""
        if isinstance(self.fail_on_regression, bool):
            return (HEADLINE,) if self.fail_on_regression else ()
        return _several(self.fail_on_regression)

    @property
    def selectors(self) -> tuple[str, ...]:
        """The selectors of ``must_pass`` as a tuple, also where the file has a single one."""
        return _several(self.must_pass)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFileSettings:
    """How `assay lint` looks at the question set of the file (docs/guides/lint.md)."""

    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    dialect: str | None = None
    with_run: bool = False
    """Whether `assay run` of the file shows the findings beside its verdicts, as ``--lint`` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessFileSettings:
    """How `assay run` of the file looks for witnesses (docs/guides/strength.md)."""

    time: str | float | None = None
    """For each pair, such as ``2s``."""
    total: str | float | None = None
    """For all pairs together, such as ``10m``."""
    seed: int | None = None
    rows: int | None = None
    scratch: str | None = None
    """The URL of a server on which schemas may be made, to try its queries there."""
    with_run: bool = True
    """False: only where ``--witness`` asks for it."""


_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|m|min|h)?", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, None: 1.0}


def read_duration(given: str | float, *, of: str, from_zero: bool = False) -> float:
    """Seconds from a text such as ``500ms``, ``2s``, ``10m`` or ``1h``; a number alone is seconds.

    Raises UsageError, naming ``of``, for anything else, and for 0 unless ``from_zero``.
    """
    found = _DURATION.fullmatch(str(given).strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found is not None else math.nan
    if not math.isfinite(seconds) or (seconds == 0 and not from_zero):
        least = "from 0 up" if from_zero else "above 0"
        raise UsageError(f"{of} is {given!r}: write a time {least}, such as 500ms, 2s, 10m or 1h")
    return seconds


def _several(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFileSettings:
    """The settings of a run, each None where it is left to its default."""

    cases: str | None = None
    predictions: str | None = None
    system: str | None = None
    concurrency: int | None = None
    repeat: int | None = None
    timing_iterations: int | None = None
    timing_budget_s: float | None = None
    db: str | None = None
    gold_db: str | None = None
    """The database of gold's queries, where that is another one."""
    output: str | None = None
    metrics: tuple[str, ...] | None = None
    limit: int | None = None
    columns: str | None = None
    relative_tolerance: float | None = None
    absolute_tolerance: float | None = None
    extra_columns: str | None = None
    duplicates: str | None = None
    case: str | None = None
    shape: str | None = None
    tolerance: float | None = None
    penalties: tuple[float, ...] | None = None
    """Of the reliability score, the gates' first."""
    timeout_s: float | None = None
    gold_timeout_s: float | None = None
    comparison_timeout_s: float | None = None
    max_rows: int | None = None
    max_memory_mib: int | None = None
    cache: str | None = None
    """Folder of the executions that runs share."""
    cache_size_mib: int | None = None
    suite: str | None = None
    """Folder of a suite on whose small databases answers are tried too."""
    workers: int | None = None
    backend: str | None = None
    name: str | None = None
    tags: tuple[str, ...] | None = None
    allow_unmatched: bool | None = None
    ignore_questions: bool | None = None
    case_format: str | None = None
    prediction_format: str | None = None
    case_fields: FieldNames = field(default_factory=FieldNames)
    prediction_fields: FieldNames = field(default_factory=FieldNames)
    gates: GateSettings | None = None
    baseline: str | None = None
    """Folder of the finished run that gates compare with."""
    lint: LintFileSettings | None = None
    witness: bool | WitnessFileSettings | None = None

    def overlaid(self, other: RunFileSettings) -> RunFileSettings:
        """These settings, overridden by those that ``other`` gives, except its ``cases``."""
        given = {
            one.name: value
            for one in fields(self)
            if one.name not in ("cases", *_NAMES) and (value := getattr(other, one.name)) is not None
        }
        # Name by name: a flag that names one column keeps the other names of the file.
        return replace(
            self,
            case_fields=_overlaid(self.case_fields, other.case_fields),
            prediction_fields=_overlaid(self.prediction_fields, other.prediction_fields),
            **given,
        )

    def tolerances(self) -> dict[str, float]:
        """The tolerances of numbers that are given, by their names as arguments."""
        given = {"relative_tolerance": self.relative_tolerance, "absolute_tolerance": self.absolute_tolerance}
        return {name: value for name, value in given.items() if value is not None}

    def cache_bytes(self) -> int | None:
        """The bound of the cache; None: the default."""
        return None if self.cache_size_mib is None else self.cache_size_mib * _MEBIBYTE

    def leniency(self) -> Leniency:
        """What does not count as a mistake. Raises UsageError for an unknown word."""
        declared: dict[str, Any] = {
            name: getattr(self, name) for name in ("extra_columns", "duplicates", "case", "shape", "tolerance")
        }
        return Leniency(**declared)

    def limits(self) -> Limits:
        """The caps for every query, the default ones where none are given."""
        default = Limits()
        memory = self.max_memory_mib
        comparing = default.comparison_timeout_s if self.comparison_timeout_s is None else self.comparison_timeout_s
        return Limits(
            timeout_s=default.timeout_s if self.timeout_s is None else self.timeout_s,
            max_rows=default.max_rows if self.max_rows is None else self.max_rows,
            max_memory_bytes=default.max_memory_bytes if memory is None else memory * _MEBIBYTE,
            gold_timeout_s=self.gold_timeout_s,
            comparison_timeout_s=comparing,
        )


def _overlaid(names: FieldNames, other: FieldNames) -> FieldNames:
    return replace(
        names, **{one.name: value for one in fields(names) if (value := getattr(other, one.name)) is not None}
    )


def is_run_file(path: Path) -> bool:
    """Whether this is a YAML file of settings and not a question set.

    Such a file is a mapping whose ``cases`` name a file, or hold the cases; in the latter case it also has a ``db``.
    """
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return False
    try:
        content = _read(path)
    except InputError:
        return False  # reading it as a question set says what is wrong with it
    if not isinstance(content, dict):
        return False
    cases = content.get("cases")
    return isinstance(cases, str) or (isinstance(cases, list) and "db" in content)


def read_run_file(path: Path) -> RunFileSettings:
    """Read the settings. Raises CaseFileError for unknown names, with the closest one, and for wrong types.

    Where ``cases`` are a list, the file is its own question set: ``cases`` is its path, to be read as YAML.
    """
    import msgspec

    content: dict[str, Any] = _read(path)
    if not isinstance(content, dict):
        raise CaseFileError("holds no settings: write names and values, such as  cases: dev.jsonl", path=str(path))
    _check_names(content, "setting", [one.name for one in fields(RunFileSettings)], path)
    if isinstance(content.get("gates"), dict):
        _check_names(content["gates"], "gate", [one.name for one in fields(GateSettings) if one.name != "origin"], path)
        for name in ("min", "max_drop"):
            given = content["gates"].get(name)
            if not isinstance(given, dict | None):
                hint = f"write a value for each metric, such as  {name}: {{match: {'0.8' if name == 'min' else '1%'}}}"
                raise CaseFileError(f"gates, {name} is {given!r}: {hint}", path=str(path))
    if isinstance(content.get("lint"), dict):
        _check_names(content["lint"], "setting of lint", [one.name for one in fields(LintFileSettings)], path)
    if isinstance(content.get("cases"), list):
        content = {"case_format": "yaml", **content, "cases": path.name}
    if isinstance(content.get("witness"), dict):
        known = [one.name for one in fields(WitnessFileSettings)]
        _check_names(content["witness"], "setting of witness", known, path)
    try:
        settings = msgspec.convert(content, RunFileSettings)
    except msgspec.ValidationError as error:
        raise CaseFileError(str(error), path=str(path)) from error
    if settings.gates is not None:
        settings = replace(settings, gates=replace(settings.gates, origin=str(path)))
    return _relative_to(settings, path.parent)


def _check_names(content: dict[str, Any], noun: str, known: list[str], path: Path) -> None:
    """Raise CaseFileError, with the closest known name, for an unknown name."""
    for name in content:
        if name not in known:
            close = get_close_matches(str(name), known, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise CaseFileError(f"no {noun} is called {name!r}{hint}: there is {', '.join(known)}", path=str(path))


def _relative_to(settings: RunFileSettings, folder: Path) -> RunFileSettings:
    def within(path: str | None) -> str | None:
        return None if path is None else str(folder / path)

    return replace(
        settings,
        cases=within(settings.cases),
        predictions=within(settings.predictions),
        output=within(settings.output),
        baseline=within(settings.baseline),
        cache=within(settings.cache),
        suite=within(settings.suite),
        db=None if settings.db is None else url_relative_to(settings.db, folder),
        gold_db=None if settings.gold_db is None else url_relative_to(settings.gold_db, folder),
    )


def url_relative_to(text: str, folder: Path) -> str:
    """The URL of a database file with its path taken from ``folder``; any other URL as it is."""
    url = DatabaseUrl.parse(text)
    if url.scheme not in _FILE_SCHEMES or url.path == ":memory:":
        return text
    return f"{url.scheme}:///{(folder / url.path).as_posix()}"


def _read(path: Path) -> Any:
    """The file's content, read like a question set in YAML, with the same errors."""
    from assay.cases.text.decoding import read_text
    from assay.cases.text.yaml import plain_document

    return plain_document(path, read_text(path))
