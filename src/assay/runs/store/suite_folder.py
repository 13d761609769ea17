"""A suite on disk: one file of JSON lines, replaced as a whole.

    DIR/suite.jsonl     line 1: what it is, how it was made, how many lines follow, and a hash over these
                        then a line for each of the benchmark's databases: its tables
                        then a line for each case: its gold queries, its databases with their rows, what each
                        distinguishes

The same inputs make the same lines, in the question set's order, so that a difference of two builds is one of cases.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import InputError, RunError, plural
from assay.model.databases.suite import Suite, SuiteAssumption, SuiteCase, SuiteLayout
from assay.model.results.cell_json import cell_from_json, cell_to_json
from assay.platform.surface import argument, flag
from assay.runs.store.codec import decode_value, encode_value
from assay.sql.schema.create_table import only_makes, only_makes_index, stays_inside

FILE = "suite.jsonl"
FORMAT = "assay-suite"
VERSION = 1
"""Raised whenever an older Assay could not read what this one writes."""
MOST_BYTES = 512 << 20
"""The largest file that is read."""


_OF_SUITE = ("engine", "made_with", "keeps", "runs", "seed", "most_databases")
"""The fields that the first line has in common with `Suite`."""


class _Version(Struct, frozen=True, kw_only=True):
    """Enough of the first line to know whether the rest can be read."""

    format: str
    version: int


class SuiteHead(_Version, frozen=True, kw_only=True):
    """The first line."""

    made_with: str
    engine: str
    keeps: SuiteAssumption
    runs: tuple[str, ...]
    seed: int
    most_databases: int
    layouts: int
    cases: int
    databases: int
    digest: str
    """Hash of all lines that follow."""


def check_place(folder: Path, *, overwrite: bool) -> None:
    """Check that a suite may be written there: into a new or an empty folder, or over another suite.

    Raises InputError if something else is there, or a suite and ``overwrite`` is False.
    """
    try:
        names = set(os.listdir(folder))
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise InputError(f"{folder} is a file: name a folder for the suite") from None
    except OSError as error:
        raise _unwritable(folder, error) from None
    if FILE in names and not overwrite:
        raise InputError(f"{folder} contains a suite: choose another folder, or add {flag('--overwrite')}")
    if names and FILE not in names:
        raise InputError(f"{folder} exists and contains no suite: choose another folder, or remove it")


def write_suite(folder: Path, suite: Suite) -> Suite:
    """Write the suite, whole or not at all, and return it with its digest. Raises InputError if that fails."""
    lines = [encode_value(layout) for layout in suite.layouts.values()]
    lines += [case_json(case) for case in suite.cases.values()]
    digest = _digest(lines)
    head = SuiteHead(
        format=FORMAT,
        version=VERSION,
        layouts=len(suite.layouts),
        cases=len(suite.cases),
        databases=suite.database_count,
        digest=digest,
        **{name: getattr(suite, name) for name in _OF_SUITE},
    )
    temporary = folder / f".{FILE}.{token_hex(8)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.writelines(line + b"\n" for line in (encode_value(head), *lines))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, folder / FILE)
    except OSError as error:
        raise _unwritable(folder, error) from None
    finally:
        with suppress(OSError):
            for left in folder.glob(f".{FILE}.*"):  # also of a build that was killed while it wrote
                left.unlink()
    return replace(suite, name=str(folder), digest=digest)


def read_suite(folder: Path) -> Suite:
    """The suite in a folder. Raises InputError for anything but a whole suite that this version reads."""
    with _reading(folder) as path:
        data = path.read_bytes()
    lines = data.split(b"\n")
    head = _head(path, lines[0])
    rest = lines[1:-1]
    if lines[-1] or len(rest) != head.layouts + head.cases:
        found = len(rest) + bool(lines[-1])
        raise InputError(
            f"{path} is not whole: {head.layouts + head.cases:,} lines should follow the first, and {found:,} do; "
            "copy it again, or build the suite again"
        )
    if _digest(rest) != head.digest:
        raise InputError(
            f"{path} was changed after it was built: its lines do not fit the hash in the first; build it again"
        )
    layouts: dict[str | None, SuiteLayout] = {}
    cases: dict[str, SuiteCase] = {}
    for number, line in enumerate(rest, start=2):
        try:
            if number - 2 < head.layouts:
                layout = _checked(decode_value(line, SuiteLayout))
                if layouts.setdefault(layout.database, layout) is not layout:
                    raise ValueError(f"the database {layout.database} occurs twice")
            else:
                case = _fitting(_with_cells(decode_value(line, SuiteCase), cell_from_json), layouts)
                if cases.setdefault(case.case_id, case) is not case:
                    raise ValueError(f"the case {case.case_id} occurs twice")
        except (RunError, ValueError) as error:
            raise InputError(f"{path}, line {number} cannot be read: {error}") from None
    known = {name: getattr(head, name) for name in _OF_SUITE}
    return Suite(name=str(folder), digest=head.digest, layouts=layouts, cases=cases, **known)


def check_suite(folder: Path) -> None:
    """Raise InputError unless the folder contains a suite that this version reads. Reads its first line only."""
    with _reading(folder) as path, path.open("rb") as file:
        line = file.readline().removesuffix(b"\n")
    _head(path, line)


@contextmanager
def _reading(folder: Path) -> Iterator[Path]:
    """The path of the suite's file, in a context whose errors say why it cannot be read."""
    path = folder / FILE
    try:
        # Refuse what has no end, and what would fill the memory.
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):
            raise InputError(f"{path} is a pipe or a device: name a folder that  assay suite build  wrote")
        if about.st_size > MOST_BYTES:
            raise InputError(
                f"{path} contains {about.st_size >> 20:,} MiB, and at most {MOST_BYTES >> 20} MiB are read: "
                f"build the suite for parts of the question set, or with fewer {argument('--databases')}"
            )
        yield path
    except (FileNotFoundError, NotADirectoryError):
        what = "is not a folder" if not folder.is_dir() else f"contains no suite (no {FILE})"
        raise InputError(f"{folder} {what}: name a folder that  assay suite build  wrote") from None
    except OSError as error:
        raise InputError(f"{path}: the suite cannot be read ({error.strerror})") from None


def case_json(case: SuiteCase) -> bytes:
    """One case as its line in the file."""
    return encode_value(_with_cells(case, cell_to_json))


def _head(path: Path, line: bytes) -> SuiteHead:
    try:
        version = decode_value(line, _Version)
    except RunError:
        raise InputError(
            f"{path} is not a suite: its first line does not say so; name a folder that  assay suite build  wrote"
        ) from None
    if version.format != FORMAT:
        raise InputError(f"{path} is not a suite: its first line says that it is {version.format!r}")
    if version.version > VERSION:
        raise InputError(
            f"{path} was written by a newer Assay (format {version.version}, this one reads {VERSION}): update Assay"
        )
    try:
        return decode_value(line, SuiteHead)
    except RunError as error:
        raise InputError(f"{path}, line 1 cannot be read: {error}") from None


def _checked(layout: SuiteLayout) -> SuiteLayout:
    """The layout, if its statements do nothing but make empty tables and views."""
    dialect = layout.schema.dialect
    for table in layout.schema.tables:
        if table.ddl and not only_makes(table.ddl, table.kind, dialect):
            raise ValueError(f"the statement of {table.name} makes no {table.kind} alone: {table.ddl[:60]!r}")
        for part in (*(column.type for column in table.columns), *table.checks):
            if not stays_inside(part, dialect):
                raise ValueError(f"a type or a constraint of {table.name} is more than that: {part[:60]!r}")
        for statement in table.indexes:
            if not only_makes_index(statement, dialect):
                raise ValueError(f"the statement of {table.name} makes no index: {statement[:60]!r}")
    return layout


def _fitting(case: SuiteCase, layouts: Mapping[str | None, SuiteLayout]) -> SuiteCase:
    """The case, if its rows are those of its tables."""
    layout = layouts.get(case.database)
    if layout is None:
        return case
    for database in case.databases:
        if len(database.rows) != len(layout.tables):
            raise ValueError(
                f"database {database.name} has rows of {plural(len(database.rows), 'table')}, not {len(layout.tables)}"
            )
        for (name, columns), rows in zip(layout.tables, database.rows, strict=True):
            if any(len(row) != len(columns) for row in rows):
                raise ValueError(
                    f"database {database.name} has a row of {name} that is not of its {len(columns)} columns"
                )
    return case


def _with_cells(case: SuiteCase, change: Callable[..., object]) -> SuiteCase:
    databases = tuple(
        replace(database, rows=tuple(tuple(tuple(map(change, row)) for row in table) for table in database.rows))
        for database in case.databases
    )
    return replace(case, databases=databases)


def _digest(lines: list[bytes]) -> str:
    found = blake2b(digest_size=12)
    for line in lines:
        found.update(line + b"\n")
    return found.hexdigest()


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(f"{folder}: the suite cannot be written there ({error.strerror}): choose another folder")
