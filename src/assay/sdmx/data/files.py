"""Data from files: SDMX-CSV and SDMX-ML, one file or a folder of them."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from assay.errors import InputError
from assay.sdmx.data.csv import add_csv, is_sdmx_csv
from assay.sdmx.data.observations import DataTables
from assay.sdmx.data.xml import add_xml
from assay.sdmx.structures.known import Structures

_ENDINGS = (".csv", ".tsv", ".xml", ".sdmx")
_EXPECTED = "expected SDMX-CSV (1.0 or 2.0) or an SDMX-ML data message (2.1 or 3.0)"


def load_data(source: str, *, structures: Structures | None) -> DataTables:
    """The observations of a file, or of each CSV and XML file in a folder and below it.

    The folder may also hold structure messages and other CSV files. Raises InputError for a source that is absent,
    unreadable or without any observation, and MissingDependency for XML without lxml.
    """
    path = Path(source)
    tables = DataTables(name=f'"{path}"')
    files = list(_files(path))
    for file in files:
        _add_file(tables, file, structures, alone=file == path)
    if not tables.tables:
        raise InputError(f'"{path}" has no observations in {len(files)} file{"s" * (len(files) != 1)}: {_EXPECTED}')
    return tables


def _files(path: Path) -> Iterator[Path]:
    if not path.exists():
        folder = path.parent
        names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
        near = get_close_matches(path.name, names, n=1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise InputError(f'"{path}" does not exist{hint}: give a file or folder of data, or the URL of a service')
    if not path.is_dir():
        yield path
        return
    found = sorted(one for one in path.rglob("*") if one.suffix.lower() in _ENDINGS and one.is_file())
    if not found:
        raise InputError(f'the folder "{path}" has no data: not one file of {", ".join(_ENDINGS)} is in it or below it')
    yield from found


def _add_file(tables: DataTables, path: Path, structures: Structures | None, *, alone: bool) -> None:
    where = f'"{path}"'
    try:
        with path.open("rb") as file:
            beginning = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
        if beginning.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
            with path.open("rb") as file:
                is_data = add_xml(tables, file, where=where, structures=structures)
            if alone and not is_data:
                raise InputError(f"{where} is SDMX-ML, but no data: {_EXPECTED}")
        elif is_sdmx_csv(beginning.decode("utf-8", "replace")):
            with path.open(encoding="utf-8-sig", newline="") as text:
                add_csv(tables, iter(text), where=where, structures=structures)
        elif alone:
            what = "JSON" if beginning[:1] in (b"{", b"[") else "no data that are known"
            raise InputError(f"{where} is {what}: {_EXPECTED}")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is no UTF-8 text (byte {error.start + 1}): save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror or error}") from error
