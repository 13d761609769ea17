"""Files that cannot be read, recognized by their first bytes, and what to save them as."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from assay.cases.text.decoding import HEAD_BYTES, head_of
from assay.platform.surface import argument, option

_AS_TABLE = "save its table as .xlsx or .csv"
_UNPACK = "unpack it, and name the file in it"
_TEXT = "save it as .csv, .json or .jsonl"
_MAGIC = (
    (0, b"%PDF", f"a PDF document: {_AS_TABLE}"),
    (0, b"{\\rtf", f"a document in Rich Text Format: {_AS_TABLE}"),
    (0, b"\x1f\x8b", f"compressed by gzip: {_UNPACK}"),
    (4, b"1AY&SY", f"compressed by bzip2: {_UNPACK}"),
    (0, b"\xfd7zXZ\0", f"compressed by xz: {_UNPACK}"),
    (0, b"\x28\xb5\x2f\xfd", f"compressed by zstd: {_UNPACK}"),
    (0, b"7z\xbc\xaf\x27\x1c", f"a 7z archive: {_UNPACK}"),
    (0, b"Rar!\x1a\x07", f"a RAR archive: {_UNPACK}"),
    (257, b"ustar", f"a TAR archive: {_UNPACK}"),
    (0, b"SQLite format 3\0", f"an SQLite database: name it with {{db}}, or export the table of questions and {_TEXT}"),
    (8, b"DUCK", f"a DuckDB database: name it with {{db}}, or export the table of questions and {_TEXT}"),
    (0, b"ARROW1\0\0", "an Arrow file: save it as .parquet"),
    (0, b"Obj\x01", "an Avro file: save it as .parquet"),
    (0, b"\x80\x04\x95", f"a Python pickle, which Assay does not read because loading it could run code: {_TEXT}"),
    (0, b"\x80\x05\x95", f"a Python pickle, which Assay does not read because loading it could run code: {_TEXT}"),
    (0, b"\x93NUMPY", f"an array of NumPy: {_TEXT}"),
    (0, b"\x89PNG", "an image: type its table into a .csv or .xlsx file"),
    (0, b"\xff\xd8\xff", "an image: type its table into a .csv or .xlsx file"),
    (0, b"GIF89a", "an image: type its table into a .csv or .xlsx file"),
    (0, b"version https://git-lfs", "a pointer of Git LFS, not its content: run  git lfs pull"),
)
"""The offset of the first bytes, these bytes, what the file is and what to do. A text may hold those further in."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_WITHIN_OLE = (
    ("EncryptedPackage", "a workbook with a password: remove the password (File > Info > Protect Workbook)"),
    ("WordDocument", f"a Word document: {_AS_TABLE}"),
    ("PowerPoint Document", f"a presentation: {_AS_TABLE}"),
)
"""Names of the streams in files of Office before 2007, which are written in UTF-16."""
_WORKBOOKS = (".xls", ".xlsb", ".xlsx", ".xlsm", ".ods")
_PROGRAMS = (".py", ".r", ".jl", ".js", ".ts", ".sh", ".ps1", ".java", ".go", ".rb")
_HTML = re.compile(r"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|table|meta)\b", re.IGNORECASE | re.DOTALL)
_XML = re.compile(r"\s*<\?xml\b")
_JSON = re.compile(r"\s*(?:\[\s*\{\s*\"|\{\s*\"[^\"\n]*\"\s*:)")
_YAML_LIST = re.compile(r"(?:\s*#[^\n]*\n)*\s*- \w[\w ]*:\s")


def other_kind(path: Path, format: str | None) -> str | None:
    """What a file is and what to do, if it is not of a format's kind; None if it may be.

    ``format`` None: no format takes a file of that name.
    """
    head = _first_bytes(path)
    if (binary := _binary_kind(path, head, format)) is not None:
        return binary
    if b"\0" in head:
        return None  # perhaps UTF-16: the reader of texts says so
    text = head_of(path)
    if _HTML.match(text):
        return f"a web page (HTML): open it in a spreadsheet or browser and {_AS_TABLE}"
    if _XML.match(text):
        is_sheet = "schemas-microsoft-com:office:spreadsheet" in text
        return "a workbook in the XML of Excel 2003: save it as .xlsx" if is_sheet else f"an XML document: {_TEXT}"
    return _text_kind(path, text, format)


def _first_bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError:
        return b""


def _binary_kind(path: Path, head: bytes, format: str | None) -> str | None:
    for at, magic, kind in _MAGIC:
        if head[at:].startswith(magic) and (at < len(magic) or b"\0" in head):
            return kind.format(db=argument("--db"))
    if head.startswith(b"PAR1") and head[4:5] < b" ":
        return None if format == "parquet" else "a Parquet file: name it .parquet"
    if head.startswith(_OLE):
        for name, kind in _WITHIN_OLE:
            if name.encode("utf-16-le") in head:
                return kind
        if format != "xlsx" or path.suffix.lower() not in (".xls", ".xlsb"):
            return "a file of an Office before 2007: open it and save its table as .xlsx"
        return None
    return _zip_kind(path, format) if head.startswith(b"PK\3\4") else None


def _zip_kind(path: Path, format: str | None) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            kind = archive.read("mimetype")[:80].decode("ascii", "ignore") if "mimetype" in names else ""
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        return None  # the reader of workbooks says what is wrong
    tops = {name.partition("/")[0] for name in names}
    if "xl" in tops or "opendocument.spreadsheet" in kind:
        return None if format == "xlsx" else f"a workbook: name it {'.ods' if kind else '.xlsx'}"
    if "word" in tops or "opendocument.text" in kind:
        return f"a text document (Word or Writer): {_AS_TABLE}"
    if "ppt" in tops or "opendocument.presentation" in kind:
        return f"a presentation: {_AS_TABLE}"
    if any(name.endswith(".iwa") for name in names):
        return "a document of Numbers or Pages: export it (File > Export To > Excel) as .xlsx"
    shown = ", ".join(name for name in names if not name.endswith("/"))
    return f"a ZIP archive ({shown[:80]}{'…' if len(shown) > 80 else ''}): {_UNPACK}"


def _text_kind(path: Path, text: str, format: str | None) -> str | None:
    """What a text is whose name says something else."""
    suffix = path.suffix.lower()
    if suffix == ".ipynb":
        return (
            "a Jupyter notebook: save the table that it makes (df.to_csv), or evaluate within it:  "
            "assay.evaluate(questions, predictions, databases=…)"
        )
    if suffix in _PROGRAMS:
        system = option("--system", "cmd:COMMAND")
        return f"a program: name the file that it writes, or ask it for each question ({system})"
    is_plain = format is None or suffix in (".csv", ".tsv", ".txt", ".sql", *_WORKBOOKS)
    if not text.strip() or not is_plain:
        return None
    if _JSON.match(text):
        lines = text.lstrip().startswith("{") and "\n{" in text.strip()
        return "JSON Lines: name it .jsonl" if lines else "JSON: name it .json"
    if suffix in _WORKBOOKS and format == "xlsx":
        return "a text, not a workbook: name it .csv if it is a table" if text.isprintable() or "," in text else None
    if format is not None:
        return None
    if _YAML_LIST.match(text):
        return "a list in YAML: name it .yaml"
    first = text.lstrip().split("\n", 1)[0]
    if first.lstrip().startswith("|"):
        return f"a table in Markdown: {_AS_TABLE}"
    mark = next((mark for mark in ("\t", ",", ";") if first.count(mark) > 1), None)
    if mark is None:
        return None
    return f"a table of text: name it {'.tsv' if mark == chr(9) else '.csv'}"
