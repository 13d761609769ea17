"""The pytest plugin: question sets are test files, and each case is a test.

Files ``*.assay.yaml`` and those that the ini option ``assay_cases`` names are collected. Without
such files only this module of Assay is loaded.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.pytest_plugin.collecting import AssayFile, is_settings
from assay.pytest_plugin.expected import BASELINE, KNOWN, MAX_UNSCORED, MIN, UPDATE, expected_of
from assay.pytest_plugin.session import Tally

_CASE_FILES = pytest.StashKey[frozenset[Path]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The ini options; `assay docs pytest` describes them."""
    parser.addini("assay_cases", "question sets to collect: paths or globs, relative to this file", type="paths")
    parser.addini("assay_db", "URL of the database, or a template with {db_id}, if a case file does not name one")
    parser.addini("assay_predictions", "file of answers, if a case file does not name one")
    parser.addini("assay_timeout", "time limit per query, for example 30 or 500ms, if a case file does not set one")
    parser.addini(MIN, "minimum share of correct answers over all cases, for example 0.8 or 80%")
    parser.addini(MAX_UNSCORED, "maximum share of unscored cases, for example 0.05 or 5%: within it they do not fail")
    parser.addini(BASELINE, "folder of a finished run: what is correct there must be correct")
    parser.addini(KNOWN, "file of case ids, one per line: only these answers may be wrong")
    parser.getgroup("assay").addoption(
        UPDATE, action="store_true", help="write the cases that are wrong now into the file of assay_known_failures"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and find the files that ``assay_cases`` names. Raises pytest.UsageError."""
    config.pluginmanager.register(Tally(config), "assay-tally")
    expected_of(config)  # unusable settings are reported before anything is evaluated
    _import_as_it_is(config)
    config.addinivalue_line("markers", "assay: a case of a question set, evaluated by Assay")
    files = tuple(_named_files(config))
    config.stash[_CASE_FILES] = frozenset(files)
    if files and config.args_source is not pytest.Config.ArgsSource.ARGS:
        # Named explicitly, so collected in addition to the files that pytest finds by itself, wherever they are.
        roots = [(config.invocation_params.dir / argument).resolve() for argument in config.args]
        config.args.extend(str(file) for file in files if not any(file.is_relative_to(root) for root in roots))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> AssayFile | None:
    """Take the files that contain cases."""
    named = parent.config.stash.get(_CASE_FILES, frozenset())
    if is_settings(file_path.name) or (named and file_path.resolve() in named):
        file: AssayFile = AssayFile.from_parent(parent, path=file_path)
        return file
    return None


def _named_files(config: pytest.Config) -> Iterator[Path]:
    """The files of ``assay_cases``, sorted per glob."""
    seen: set[Path] = set()
    for named in config.getini("assay_cases"):
        found = sorted(glob.glob(str(named), recursive=True)) if glob.has_magic(str(named)) else [str(named)]
        files = [Path(one).resolve() for one in found if Path(one).is_file()]
        if not files:
            what = "it is a folder: name a file in it" if named.is_dir() else "the file does not exist"
            raise pytest.UsageError(f"assay_cases names {named}: {what}")
        yield from (file for file in files if file not in seen)
        seen.update(files)


def _import_as_it_is(config: pytest.Config) -> None:
    """Exclude this package's modules from pytest's rewriting of assertions.

    Pytest rewrites every package that has a plugin. There is no assertion to rewrite here, and if bytecode is not
    cached, as in many containers, the rewriting costs each session a second.
    """
    marked = getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("assay")
