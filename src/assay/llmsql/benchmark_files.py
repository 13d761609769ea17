"""The benchmark's two files: given, in a working folder, or downloaded into it; and the questions of outputs."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from assay.cases.benchmarks.llmsql import Outputs, check_known, read_questions
from assay.engines.sqlite.file import open_read_only
from assay.errors import DatabaseError, InputError, MissingDependency, UsageError
from assay.model import Case

VERSIONS = {
    "1.0": "llmsql-bench/llmsql-benchmark",
    "2.0": "llmsql-bench/llmsql-2.0",
}
"""Each version's data set on the Hugging Face hub."""
DEFAULT_VERSION = "2.0"
DEFAULT_WORKDIR = "llmsql_workdir"
QUESTIONS, DATABASE = "questions.jsonl", "sqlite_tables.db"

_MARK = "llmsql_version.txt"
"""The file that names the downloaded version, so that versions cannot be confused."""


class BenchmarkFiles(Struct, frozen=True, kw_only=True):
    """The paths of the questions and of the database."""

    questions: str
    database: str


def locate_files(
    version: str,
    *,
    workdir: str | os.PathLike[str] | None,
    questions: str | os.PathLike[str] | None,
    database: str | os.PathLike[str] | None,
) -> BenchmarkFiles:
    """Find both files; a file that is neither given nor in ``workdir`` is downloaded there.

    Raises UsageError for an unknown version and if there is no folder to search, InputError if
    ``workdir`` contains another version or a file cannot be downloaded (the message says where to place it), and
    MissingDependency if a download needs huggingface_hub.
    """
    if version not in VERSIONS:
        raise UsageError(f"version is {version!r}: use {' or '.join(map(repr, VERSIONS))}")
    if questions is not None and database is not None:
        return BenchmarkFiles(questions=os.fspath(questions), database=os.fspath(database))
    if workdir is None:
        missing = [name for name, path in (("questions_path", questions), ("db_path", database)) if path is None]
        raise UsageError(f"without a workdir_path, {' and '.join(missing)} must be given")
    folder = Path(workdir)
    return BenchmarkFiles(
        questions=os.fspath(questions) if questions is not None else _found(version, folder, QUESTIONS),
        database=os.fspath(database) if database is not None else _found(version, folder, DATABASE),
    )


def _found(version: str, folder: Path, name: str) -> str:
    _check_version(version, folder)
    path = folder / name
    return str(path) if path.is_file() else _download(version, folder, name)


def _check_version(version: str, folder: Path) -> None:
    mark = folder / _MARK
    held = mark.read_text(encoding="utf-8").strip() if mark.is_file() else version
    if held != version:
        raise InputError(
            f"{folder} contains version {held} of LLMSQL, but version {version} was requested: use "
            f"another folder or version {held}"
        )


def _download(version: str, folder: Path, name: str) -> str:
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError
    except ImportError:
        raise MissingDependency("huggingface_hub", "llmsql") from None
    # Its own error derives from the errors of the HTTP library that this version uses.
    troubles: tuple[type[Exception], ...] = (OSError, EntryNotFoundError, *HfHubHTTPError.__bases__)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = hf_hub_download(repo_id=VERSIONS[version], filename=name, repo_type="dataset", local_dir=folder)
        (folder / _MARK).write_text(f"{version}\n", encoding="utf-8")
    except troubles as error:
        raise _unobtainable(version, folder, name, error) from error
    return str(path)


def _unobtainable(version: str, folder: Path, name: str, error: BaseException) -> InputError:
    address = f"{os.environ.get('HF_ENDPOINT', 'https://huggingface.co').rstrip('/')}/datasets/{VERSIONS[version]}"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return InputError(
        f"{name} of LLMSQL {version} is not in {folder} and cannot be downloaded from {address} "
        f"({lines[0]}): copy {QUESTIONS} and {DATABASE} from there into {folder}, or give their paths "
        "(questions_path and db_path; on the command line --questions and --db)"
    )


def read_cases(given: Outputs, files: BenchmarkFiles) -> tuple[tuple[Case, ...], int]:
    """The question of each output, and the number of questions.

    Raises as `read_questions` and `check_known` do, and InputError if the database has none of the questions' tables.
    """
    questions = read_questions(files.questions)
    check_known(given, questions, files.questions)
    cases = tuple(questions[item.prediction.case_id] for item in given.items)
    _check_tables(files.database, cases)
    return cases, len(questions)


def _check_tables(database: str, cases: Sequence[Case]) -> None:
    """Raise InputError if the database has none of the questions' tables, before anything is evaluated or stored."""
    try:
        with closing(open_read_only(database)) as connection:
            there = {name.casefold() for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    except (OSError, sqlite3.Error, DatabaseError):
        return  # the run reports why it cannot be read
    wanted = [table for case in cases if (table := case.options.table) is not None]
    if wanted and not any(table.casefold() in there for table in wanted):
        raise InputError(
            f"{database}: none of the {len(cases):,} gold queries can run there (no such table: "
            f"{wanted[0]}). Is this the database of these questions and this version?"
        )
