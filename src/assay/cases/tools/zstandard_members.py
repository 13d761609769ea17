"""Members of ZIP archives that are packed with Zstandard, as Inspect's logs are, which `zipfile` reads from 3.14 on.

DuckDB unpacks them, which is here anyway.
"""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from pathlib import Path

_METHOD = 93
_HEADER_BYTES = 30
_LEAST_BYTES = 1 << 20


def is_zstandard(info: zipfile.ZipInfo) -> bool:
    """Whether a member is packed in that way."""
    return info.compress_type == _METHOD


def zstandard_json(path: Path, info: zipfile.ZipInfo) -> str:
    """The JSON text of a member, of no more than the size that the archive states.

    Raises `zipfile.BadZipFile` for what is damaged, or no one JSON document.
    """
    import duckdb

    with path.open("rb") as file:
        file.seek(info.header_offset)
        header = file.read(_HEADER_BYTES)
        lengths = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
        file.seek(info.header_offset + _HEADER_BYTES + sum(lengths))
        packed = file.read(info.compress_size)
    with tempfile.TemporaryDirectory(prefix="assay-") as folder, duckdb.connect(":memory:") as connection:
        member = Path(folder) / "member.json.zst"
        member.write_bytes(packed)
        try:
            rows = connection.execute(
                "SELECT json FROM read_json_objects(?, format = 'unstructured', compression = 'zstd', "
                "maximum_object_size = ?)",
                [str(member), max(info.file_size, _LEAST_BYTES)],
            ).fetchall()
        except duckdb.Error as error:
            raise zipfile.BadZipFile(f"{info.filename}: {str(error).splitlines()[0]}") from error
    if len(rows) != 1:
        raise zipfile.BadZipFile(f"{info.filename}: holds {len(rows)} documents")
    text = str(rows[0][0])  # without white space at its ends
    content = text.encode()
    if len(content) > info.file_size:
        raise zipfile.BadZipFile(f"{info.filename}: holds more than the {info.file_size:,} bytes that it is said to")
    if len(content) == info.file_size and zlib.crc32(content) != info.CRC:
        raise zipfile.BadZipFile(f"{info.filename}: its check sum is another")
    return text
