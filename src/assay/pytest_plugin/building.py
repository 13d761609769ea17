"""From a case file to its items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.errors import InputError
from assay.model import Case, Prediction
from assay.pytest_plugin.items import CALLABLE, MAPPING, AssayItem
from assay.pytest_plugin.session import checker_of
from assay.pytest_plugin.sources import CaseFile, answers_of, item_names, marker_name, read_case_file
from assay.settings import Settings, url_relative_to
from assay.settings.setting import fields_of
from assay.systems.concurrency import Sayings


def items_of(file: pytest.Module, *, holds_settings: bool) -> list[AssayItem]:
    """An item per case, in the file's order; ``holds_settings``: whether it is a file of settings.

    Raises AssayError if the file cannot be used.
    """
    config = file.config
    read = read_case_file(file.path, holds_settings=holds_settings, defaults=_defaults(config))
    source = None if read.has_answers else _fixture(file, read)
    cases = [work.case for work in read.works]
    answers = _Answers(cases)
    talks: dict[str, Sayings] = {}
    checker = checker_of(config)
    items = []
    registered: set[str] = set()
    for name, work in zip(item_names([case.id for case in cases]), read.works, strict=True):
        item: AssayItem = AssayItem.from_parent(
            file, name=name, work=work, read=read, source=source, answers=answers, talks=talks, checker=checker
        )
        for tag in dict.fromkeys(filter(None, map(marker_name, work.case.tags))):
            if tag not in registered:
                # --strict-markers accepts only registered markers.
                config.addinivalue_line("markers", f"{tag}: a tag of cases that Assay evaluates")
                registered.add(tag)
            item.add_marker(tag)
        items.append(item)
    return items


def _fixture(file: pytest.Module, read: CaseFile) -> str:
    """The name of the fixture that gives the answers. Raises InputError if there is none to use."""
    for name in (CALLABLE, MAPPING):
        found = file.session._fixturemanager.getfixturedefs(name, file)
        if not found:
            continue
        if found[-1].params is not None:
            raise InputError(
                f"{file.path}: the fixture {name} has params, but each case is evaluated once: remove them"
            )
        return name
    system = f" (its {read.system} is for  assay run)" if read.system else ""
    raise InputError(
        f"{file.path}: there is no source of answers{system}. Write  predictions: FILE  in it, or set "
        f"assay_predictions in pytest's ini file, or define in conftest.py a fixture {CALLABLE} that "
        f"returns a callable (case -> query) or a fixture {MAPPING} that returns a mapping (id -> "
        "query) or a file"
    )


class _Answers:
    """The answers to one file's cases from the fixture's values; each value is read once."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = cases
        self._source: object = None
        self._known: dict[str, Prediction] = {}

    def __call__(self, source: object, case_id: str) -> Prediction:
        if source is not self._source or not self._known:
            self._known = answers_of(source, self._cases, f"the fixture {MAPPING}")
            self._source = source
        return self._known[case_id]


def _defaults(config: pytest.Config) -> Settings:
    """The settings of pytest's ini file; paths are relative to it. Raises InputError."""
    folder = config.rootpath if config.inipath is None else config.inipath.parent
    predictions, db, timeout = (str(config.getini(f"assay_{name}") or "") for name in ("predictions", "db", "timeout"))
    return Settings(
        predictions=str(Path(folder, predictions)) if predictions else None,
        db=url_relative_to(db, folder) if db else None,
        timeout_s=_seconds(timeout) if timeout else None,
    )


def _seconds(text: str) -> float:
    setting = fields_of(Settings)["timeout_s"].setting
    assert setting is not None
    seconds = setting.seconds(text)
    if seconds is None:
        raise InputError(f"assay_timeout is {text!r}: write {setting.durations}")
    return seconds
