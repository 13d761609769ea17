"""Read a settings file. Each error names the place and what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from assay.errors import CaseFileError, InputError
from assay.model import DatabaseUrl
from assay.settings.setting import fields_of
from assay.settings.values import Settings

_SUFFIXES = (".yaml", ".yml")
_FILE_SCHEMES = ("sqlite", "duckdb")
_OF_A_RUN = frozenset({"predictions", "system", "output", "metrics", "gates", "baseline"})
"""Names that a file of settings has, and a case has not."""


def is_run_file(path: Path) -> bool:
    """Whether this is a YAML file of settings and not a question set.

    Such a file is a mapping whose ``cases`` name a file, or contain the cases; in the latter case it also has a ``db``.
    One with a ``db`` and other settings is meant to be one, whatever its ``cases`` are: reading it says what is wrong.
    """
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return False
    try:
        content, _ = _read(path)
    except InputError:
        return False  # reading it as a question set says what is wrong with it
    if not isinstance(content, dict):
        return False
    cases = content.get("cases")
    if isinstance(cases, str) or (isinstance(cases, list) and "db" in content):
        return True
    return not isinstance(cases, list) and "db" in content and not _OF_A_RUN.isdisjoint(content)


def read_run_file(path: Path) -> Settings:
    """Read the settings. Raises CaseFileError with line and column for unknown names, with the closest one, and for
    values that a setting cannot have, with what to write.

    If ``cases`` is a list, the file is its own question set: ``cases`` is its path, to be read as YAML.
    """
    import msgspec

    from assay.settings.faults import check_cases, check_settings

    content, node = _read(path)
    if not isinstance(content, dict):
        raise CaseFileError(
            "contains no settings: write names and values, such as  cases: dev.jsonl (a question set needs --db)",
            path=str(path),
        )
    if isinstance(content.get("cases"), list):
        check_cases(content["cases"], node, path)
        content = {"case_format": "yaml", **content, "cases": path.name}
    content = check_settings(content, node, path)
    try:
        settings = msgspec.convert(content, Settings)
    except msgspec.ValidationError as error:
        raise CaseFileError(str(error), path=str(path)) from error
    if settings.gates is not None:
        settings = replace(settings, gates=replace(settings.gates, origin=str(path)))
    # The settings with paths that were relative to their file's folder.
    given: dict[str, Any] = {
        name: str(path.parent / value)
        for name, field in fields_of(Settings).items()
        if (name == "cases" or (field.setting and field.setting.is_path)) and (value := getattr(settings, name))
    }
    if (
        settings.prompt is not None and (path.parent / settings.prompt).is_file()
    ):  # otherwise it is a built-in one's name
        given["prompt"] = str(path.parent / settings.prompt)
    for name in ("db", "gold_db"):
        if (said := getattr(settings, name)) is not None:
            given[name] = (
                {engine: url_relative_to(url, path.parent) for engine, url in said.items()}
                if isinstance(said, dict)
                else url_relative_to(said, path.parent)
            )
    return replace(settings, **given)


def place_of(path: Path, *trail: str | int) -> str | None:
    """The place of a value in a settings file, e.g. ``line 4, column 11``. The trail has names and positions."""
    from assay.cases.text.yaml import location_of

    return location_of(_read(path)[1], trail)


def url_relative_to(text: str, folder: Path) -> str:
    """The URL of a database file with its path taken from ``folder``; any other URL as it is."""
    url = DatabaseUrl.parse(text)
    if url.scheme not in _FILE_SCHEMES or url.path == ":memory:":
        return text
    return url.with_path((folder / url.path).as_posix()).text


def _read(path: Path) -> tuple[Any, Any]:
    """The file's content, read like a question set in YAML, with the same errors; and the node it was made from."""
    from assay.cases.text.decoding import read_text
    from assay.cases.text.yaml import plain_document

    return plain_document(path, read_text(path))
