"""A settings file with the options that were typed over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.cli.options.evidence import WitnessFlags
from assay.cli.options.gates import CandidateGateFlags, gathered
from assay.errors import CaseFileError, InputError, UsageError
from assay.settings import Settings, is_run_file, place_of, read_run_file

_YAML = (".yaml", ".yml")


def with_file(path: Path, flags: Settings, *, needs_database: bool = False) -> Settings:
    """The settings of a file, overridden by the flags; the flags alone where the path is a question set.

    Raises CaseFileError with line and column for what cannot be used of the file, names that nothing has included.
    """
    if not is_run_file(path):
        if needs_database and flags.db is None and path.suffix.lower() in _YAML:
            # Without --db a YAML file is meant to be one of settings: say what keeps it from being one.
            from assay.cases.load import check_file

            check_file(path)
            read_run_file(path)
        return flags
    own = read_run_file(path)
    _check(path, own, flags)
    both = own.overlaid(flags)
    if needs_database and both.db is None:
        raise CaseFileError("names no database: write  db: sqlite:///shop.sqlite, or give --db", path=str(path))
    return both


@contextmanager
def at(path: Path, *trail: str | int) -> Iterator[None]:
    """A context whose errors are told with the place of a setting, where the path is a settings file."""
    try:
        yield
    except CaseFileError:
        raise
    except (InputError, UsageError) as error:
        if not is_run_file(path):
            raise
        message = str(error).removeprefix(f"{path}, ")
        raise CaseFileError(message, path=str(path), place=place_of(path, *trail)) from None


def _check(path: Path, own: Settings, flags: Settings) -> None:
    """Check what the types of the settings leave open, as whatever uses it would, save what a flag replaces."""
    from assay import registry
    from assay.api.arguments import check_options, checked_penalties
    from assay.api.workers import check_backend

    left = {
        name for name in Settings.__struct_fields__ if getattr(flags, name) is None and getattr(own, name) is not None
    }
    if "metrics" in left:
        with at(path, "metrics"):
            if not own.metrics:
                raise UsageError("metrics is empty: name at least one, or leave it out for the built-in ones")
        for place, name in enumerate(own.metrics or ()):
            with at(path, "metrics", place):
                registry.find("assay.metrics", name)
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


def _check_sections(path: Path, own: Settings) -> None:
    """The mappings of the file, which flags add to."""
    if own.gates is not None:
        with at(path, "gates"):
            gathered(CandidateGateFlags(), file=own.gates)
    if own.witness is not None:
        with at(path, "witness"):
            WitnessFlags().gathered(own.witness)
    if own.lint is not None:
        from assay.api.linting import lint_options

        for setting, names in (("only", own.lint.only), ("ignore", own.lint.ignore)):
            with at(path, "lint", setting):
                lint_options(only=names)
