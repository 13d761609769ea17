"""What every case format must hold, tried on files of its own and on damaged copies of them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from assay.errors import CaseFileError
from assay.model import Case, FieldNames, Prediction
from assay.ports import CaseFormat, LoadedCases, LoadedPredictions
from assay.testing.conformance.checks import Check, Gap, checks, named, one_line, same, without_error

_FOREIGN: Mapping[str, bytes] = {
    "cases.jsonl": b'{"id": "1", "question": "How many?", "gold_sql": "SELECT 1"}\n',
    "cases.json": b'[{"id": "1", "question": "How many?", "gold_sql": "SELECT 1"}]',
    "cases.csv": b"id,question,gold_sql\n1,How many?,SELECT 1\n",
    "cases.yaml": b"- id: a\n  question: How many?\n  gold_sql: SELECT 1\n",
    "script.sql": b"SELECT 1;\n",
    "notes.txt": b"Nothing to see here.\n",
    "notes.md": b"# Notes\n",
    "archive.zip": b"PK\x03\x04\x00\x00",
    "plain": b"\x00\xff",
}
_NAMES = FieldNames()
_BYTES = (0x00, 0x0A, 0x22, 0x7B, 0xFF)


class FormatAdapter(Struct, frozen=True, kw_only=True):
    """One case format, with a file of questions, one of predictions, or both."""

    format: Callable[[], CaseFormat]
    cases: Path | None = None
    predictions: Path | None = None
    text: bool = True
    """Whether its files are text: then a byte order mark and other ends of lines must not matter."""
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    """The known gaps by the name of their check."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that there are."""
        return tuple(path for path in (self.cases, self.predictions) if path is not None)


def it_knows_its_files(adapter: FormatAdapter) -> None:
    """It has a name, and recognises its own files."""
    format = adapter.format()
    named(format)
    assert adapter.files, "the adapter names no file: give cases, predictions or both"
    for path in adapter.files:
        found = without_error(f"recognises({path.name})", lambda path=path: format.recognises(path))  # type: ignore[misc]
        assert found is True, f"{path.name} is its own file, and it does not recognise it"


def it_leaves_other_files_alone(adapter: FormatAdapter) -> None:
    """It takes no file of another layout, and looking at one that is absent, empty or strange does not raise."""
    format = adapter.format()
    with _folder() as folder:
        for name, content in _FOREIGN.items():
            (folder / name).write_bytes(content)
            taken = _recognised(format, folder / name)
            assert not taken, f"{name} has another layout, and it takes it for its own: look at the content"
        for path in adapter.files:
            for name, strange in (("empty", b""), ("noise", bytes(range(256)) * 8), ("cut", path.read_bytes()[:3])):
                (folder / f"{name}{path.suffix}").write_bytes(strange)
                _recognised(format, folder / f"{name}{path.suffix}")
            _recognised(format, folder / f"absent{path.suffix}")
            (folder / f"folder{path.suffix}").mkdir(exist_ok=True)
            _recognised(format, folder / f"folder{path.suffix}")


def _recognised(format: CaseFormat, path: Path) -> bool:
    found = without_error(f"recognises({path.name})", lambda: format.recognises(path))
    assert isinstance(found, bool), f"recognises({path.name}) gave {found!r} where a bool belongs"
    return found


def cases_are_whole(adapter: FormatAdapter) -> None:
    """Each case has a unique id, a question, a gold query or a reason why not, and its location in the file."""
    if adapter.cases is None:
        return
    found = _cases(adapter.format(), adapter.cases)
    assert found, f"{adapter.cases.name}: no case was read"
    for case in found:
        assert isinstance(case, Case), f"gave {type(case).__name__} where a Case belongs"
        one_line("a case's id", case.id)
        assert case.question.strip(), f"the case {case.id} has no question"
        judged = case.golds or case.results or case.turns or case.expects != "answer"
        assert judged, f"the case {case.id} has no gold query, and does not say that no answer is right"
        one_line(f"where the case {case.id} stands (its origin)", case.origin)
    ids = [case.id for case in found]
    assert len(set(ids)) == len(ids), f"an id occurs twice: {sorted(ids)}"


def predictions_are_whole(adapter: FormatAdapter) -> None:
    """Each prediction names its case, holds an answer or says why there is none, and says where it stands."""
    if adapter.predictions is None:
        return
    loaded = _predictions(adapter.format(), adapter.predictions)
    assert loaded.predictions, f"{adapter.predictions.name}: no prediction was read"
    for one in loaded.predictions:
        assert isinstance(one, Prediction), f"gave {type(one).__name__} where a Prediction belongs"
        told = one.answered or one.turns or one.decision is not None or one.failure is not None
        assert told, f"the prediction for {one.case_id} contains no answer and no failure that says why"
        one_line(f"where the prediction for {one.case_id} stands (its origin)", one.origin)
    if adapter.cases is not None and not loaded.by_position:
        ids = {case.id for case in _cases(adapter.format(), adapter.cases)}
        strays = sorted({prediction.case_id for prediction in loaded.predictions} - ids)
        assert not strays, f"predictions match no case: {strays[:5]}; ids of cases are {sorted(ids)[:5]}"


def reading_again_gives_the_same(adapter: FormatAdapter) -> None:
    """What is read depends on the file alone: not on what was read before, nor on the instance."""
    format = adapter.format()
    first = [_read(adapter, format, path) for path in adapter.files]
    same([_read(adapter, format, path) for path in adapter.files], first, where="read again")
    same([_read(adapter, adapter.format(), path) for path in adapter.files], first, where="read by a new instance")


def how_lines_end_does_not_matter(adapter: FormatAdapter) -> None:
    """A text with Windows' line ends, with a byte order mark, or without a last line end is the same text."""
    if not adapter.text:
        return
    with _folder() as folder:
        for path in adapter.files:
            content = path.read_bytes().replace(b"\r\n", b"\n")
            wanted = _anonymous(_read(adapter, adapter.format(), path))
            for what, changed in (
                ("line ends of Windows", content.replace(b"\n", b"\r\n")),
                ("a byte order mark", b"\xef\xbb\xbf" + content.removeprefix(b"\xef\xbb\xbf")),
                ("no last line end", content.rstrip(b"\n")),
            ):
                copy = folder / path.name
                copy.write_bytes(changed)
                found = without_error(f"{path.name} with {what}", lambda p=path, c=copy: _read_as(adapter, p, c))  # type: ignore[misc]
                same(_anonymous(found), wanted, where=f"{path.name} with {what}")


def a_named_encoding_is_taken(adapter: FormatAdapter) -> None:
    """With ``takes_encoding`` a file in another encoding is read by the name that the user gives it."""
    if not getattr(adapter.format(), "takes_encoding", False):
        return
    fields = FieldNames(encoding="utf-16-le")
    with _folder() as folder:
        for path in adapter.files:
            wanted = _anonymous(_read(adapter, adapter.format(), path))
            copy = folder / path.name
            copy.write_text(path.read_text(encoding="utf-8-sig"), encoding="utf-16-le", newline="")
            what = f"{path.name} in UTF-16-LE, named as such"
            found = without_error(what, lambda p=path, c=copy: _read_as(adapter, p, c, fields))  # type: ignore[misc]
            same(_anonymous(found), wanted, where=what)


def damage_is_told(adapter: FormatAdapter) -> None:
    """A cut, changed, absent or foreign file is read, or told by a CaseFileError that names it; nothing else is raised.

    A user sees that message in place of the traceback of a parser.
    """
    with _folder() as folder:
        for path in adapter.files:
            for what, content in _damaged(path.read_bytes()):
                copy = folder / path.name
                copy.write_bytes(content)
                _told(adapter, path, copy, what)
            (folder / path.name).unlink()
            assert _told(adapter, path, folder / path.name, "absent"), f"{path.name}: absent, and it is read"
            (folder / path.name).mkdir()
            assert _told(adapter, path, folder / path.name, "a folder"), f"{path.name}: a folder, and it is read"
            (folder / path.name).rmdir()


def _told(adapter: FormatAdapter, path: Path, copy: Path, what: str) -> bool:
    """Whether a damaged copy was refused, as it must be."""
    try:
        without_error(f"{path.name}, {what}", lambda: _read_as(adapter, path, copy), allowed=CaseFileError)
        return False
    except CaseFileError as error:
        said = str(error)
    one_line(f"{path.name}, {what}: the message", said)
    assert copy.name in said, f"{path.name}, {what}: the message does not name the file: {said}"
    return True


def _damaged(content: bytes) -> Iterator[tuple[str, bytes]]:
    yield "empty", b""
    yield "spaces alone", b" \n\n "
    yield "noise", bytes(range(256)) * 4
    yield "UTF-16", content.decode("utf-8", "replace").encode("utf-16")
    step = max(1, len(content) // 24)
    for at in range(1, len(content), step):
        yield f"cut after {at:,} bytes", content[:at]
        byte = _BYTES[at // step % len(_BYTES)]
        yield f"with byte {at:,} as {byte:#04x}", content[:at] + bytes([byte]) + content[at + 1 :]


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="assay-conformance-") as name:
        yield Path(os.path.realpath(name))


def _cases(format: CaseFormat, path: Path, fields: FieldNames = _NAMES) -> Sequence[Case]:
    found = format.cases(path, fields)
    return tuple(found.cases if isinstance(found, LoadedCases) else found)


def _predictions(format: CaseFormat, path: Path, fields: FieldNames = _NAMES) -> LoadedPredictions:
    found: object = format.predictions(path, fields)
    assert isinstance(found, LoadedPredictions), f"gave {type(found).__name__} where LoadedPredictions belong"
    return found


def _read(
    adapter: FormatAdapter, format: CaseFormat, path: Path, fields: FieldNames = _NAMES
) -> tuple[Case | Prediction, ...]:
    if path == adapter.cases:
        return tuple(_cases(format, path, fields))
    return tuple(_predictions(format, path, fields).predictions)


def _read_as(
    adapter: FormatAdapter, original: Path, copy: Path, fields: FieldNames = _NAMES
) -> tuple[Case | Prediction, ...]:
    """A copy, read as the original is: as questions, or as predictions."""
    as_cases = original == adapter.cases
    told = replace(adapter, cases=copy if as_cases else None, predictions=None if as_cases else copy)
    return _read(told, adapter.format(), copy, fields)


def _anonymous(found: Sequence[Case | Prediction]) -> list[Case | Prediction]:
    """Without their places, which may name the folder, and with one kind of line end within texts."""
    return [replace(one, origin=None) for one in found]


FORMAT_CHECKS: tuple[Check[FormatAdapter], ...] = checks(
    it_knows_its_files,
    it_leaves_other_files_alone,
    cases_are_whole,
    predictions_are_whole,
    reading_again_gives_the_same,
    how_lines_end_does_not_matter,
    a_named_encoding_is_taken,
    damage_is_told,
)
"""Every check of a case format, in the order in which to read them."""
