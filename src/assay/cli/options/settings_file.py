"""A settings file with the options that were typed over it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.cli.options.evidence import WitnessFlags
from assay.cli.options.gates import CandidateGateFlags, gathered
from assay.errors import CaseFileError, InputError, UsageError
from assay.model import Gates, Secret
from assay.settings import Settings, is_run_file, place_of, read_run_file
from assay.settings.live import LiveSettings
from assay.settings.setting import fields_of

_YAML = (".yaml", ".yml")


def with_file(path: Path, flags: Settings, *, needs_database: bool = False) -> Settings:
    """The settings of a file, overridden by options; the options alone if the path is a question set.

    Raises CaseFileError with line and column for what cannot be used of the file, names that nothing has included.
    """
    if not is_run_file(path):
        if needs_database and flags.db is None and path.suffix.lower() in _YAML:
            # Without --db a YAML file is meant to be one of settings: say what keeps it from being one.
            from assay.cases.load import check_file, not_queries
            from assay.cases.sdmx.format import SdmxFormat

            check_file(path)
            if SdmxFormat().recognises(path):
                raise not_queries(str(path), flags.predictions)
            read_run_file(path)
        return flags
    own = read_run_file(path)
    # Check what the types of the settings leave open, as whatever uses it would, save what a flag replaces.
    from assay import registry
    from assay.api.arguments import check_options, checked_penalties
    from assay.api.workers import check_backend

    left = _left(own, flags)
    if "metrics" in left:
        with at(path, "metrics"):
            if not own.metrics:
                raise UsageError("metrics is empty: name at least one, or omit it for the default ones")
        for place, name in enumerate(own.metrics or ()):
            with at(path, "metrics", place):
                registry.named_metrics([name])
                if name in (own.metrics or ())[:place]:
                    raise UsageError(f"the metric {name!r} is named twice")
    for setting in {"case_format", "prediction_format"} & left:
        with at(path, setting):
            registry.find("assay.cases", getattr(own, setting))
    for setting in {"relative_tolerance", "absolute_tolerance"} & left:
        with at(path, setting):
            check_options("any", **{setting: getattr(own, setting)})
    if "penalties" in left:
        with at(path, "penalties"):
            checked_penalties(own.penalties or ())
    if "backend" in left:
        with at(path, "backend"):
            check_backend(own.backend)
    if "system" in left and own.system is not None:
        with at(path, "system"):
            registry.find("assay.systems", own.system.partition(":")[0])
    _check_sections(path, own)
    both = own.overlaid(flags)
    if needs_database and both.db is None and not may_lack_database(both):
        raise CaseFileError("names no database: write  db: sqlite:///shop.sqlite, or add --db", path=str(path))
    if needs_database:
        _check_run(path, own, both, _left(own, flags))
    return both


def may_lack_database(settings: Settings) -> bool:
    """Whether the questions may need no database: their gold results are rows, and the predictions may be, too.

    A live system may answer with queries, so it needs a database before it is asked.
    """
    from assay import registry
    from assay.cases import load_questions

    if settings.system is not None or settings.cases is None:
        return False
    formats = registry.case_formats()
    try:
        loaded = load_questions(
            settings.cases, formats=formats, format=settings.case_format, fields=settings.case_fields
        )
    except InputError:
        return False
    return all(case.engine is not None or not case.golds for case in loaded.cases)


def check_used(path: Path, settings: Settings) -> None:
    """Raise UsageError for a setting that would have no effect; in a settings file, with its place."""
    idle = [] if settings.system is not None else [name for name in fields_of(LiveSettings) if name not in _NOT_LIVE]
    for name in idle:
        if getattr(settings, name) is not None:
            with at(path, name):
                raise UsageError(f"{_option(name)} is for a live system, and there is none: add --system, or omit it")
    if settings.cache is None and settings.cache_size_mib is not None:
        with at(path, "cache_size_mib"):
            raise UsageError("--cache-size needs --cache: add it, or omit --cache-size")


_NOT_LIVE = ("system", "user", "repeat")
"""`user` is also for a database, and a repetition without a system has an error of its own."""


def _option(name: str) -> str:
    setting = fields_of(Settings)[name].setting
    return (setting.option if setting else None) or name


def _left(own: Settings, flags: Settings) -> set[str]:
    """The settings of the file that no flag replaces."""
    return {
        name for name in Settings.__struct_fields__ if getattr(flags, name) is None and getattr(own, name) is not None
    }


@contextmanager
def at(path: Path, *trail: str | int) -> Iterator[None]:
    """A context whose errors name the place of a setting, if the path is a settings file."""
    try:
        yield
    except CaseFileError:
        raise
    except (InputError, UsageError) as error:
        if not is_run_file(path):
            raise
        message = str(error).removeprefix(f"{path}, ")
        raise CaseFileError(message, path=str(path), place=place_of(path, *trail)) from None


def _check_run(path: Path, own: Settings, both: Settings, left: set[str]) -> None:
    """Check what only a run uses, as it would, before it begins."""
    from assay.model.databases.secret import check_headers, read_headers
    from assay.runs.store.suite_folder import check_suite

    if "suite" in left:
        with at(path, "suite"):
            check_suite(Path(own.suite or ""))
    if both.system is None:
        return
    if "param" in left:
        with at(path, "param"):
            own.parameters()
    if "request_template" in left:
        with at(path, "request_template"):
            own.body_template()
    if "headers" in left:
        headers: list[tuple[str, Secret]] = []
        with at(path, "headers"):
            given = own.header_texts()
        for place, header in given.items():
            with at(path, "headers", place):
                headers += read_headers([header], os.environ)
                check_headers(headers)  # also for one that is given twice


def _check_sections(path: Path, own: Settings) -> None:
    """The mappings of the file, which flags add to."""
    from assay.runs.gates.checks import check_gates

    if own.gates is not None:
        with at(path, "gates"):
            gathered(CandidateGateFlags(), file=own.gates, alpha_alone=True)  # a flag may add the regression
        if own.gates.alpha is not None:
            with at(path, "gates", "alpha"):
                check_gates(Gates(alpha=own.gates.alpha))
        for place, selector in enumerate(own.gates.selectors):
            with at(path, "gates", "must_pass", place):
                check_gates(Gates(must_pass=(selector,)))
    if own.witness is not None:
        with at(path, "witness"):
            WitnessFlags().gathered(own.witness)
    if own.lint is not None:
        from assay.api.linting import lint_options

        for setting, names in (("only", own.lint.only), ("ignore", own.lint.ignore)):
            with at(path, "lint", setting):
                lint_options(only=names)
