"""The logs of Inspect (``inspect_ai``): one sample a question, in a ``.json`` document or a packed ``.eval``."""

from __future__ import annotations

import re
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from msgspec.structs import replace

from assay.cases.fields import listed
from assay.cases.records import Record, Table, shortened
from assay.cases.text.decoding import head_of, read_text
from assay.cases.text.json import parse_json
from assay.cases.tools.frame import ToolFormat, chosen, last_said, text_of_message
from assay.errors import CaseFileError, plural
from assay.model import FieldNames
from assay.platform.surface import option

_MOST_BYTES = 512 << 20
_OWN_KEYS = ("version", "status", "eval", "task")


class InspectFormat(ToolFormat):
    """Samples with ``id``, ``input``, ``target`` and the model's ``output``; further fields lie in ``metadata``.

    ``input`` is a text or a list of messages, and the user's last message is the question; several targets are several
    gold queries. Several epochs are several answers to each question, unless
    the name of the prediction says which one counts: ``--prediction-column "epoch 2"``.
    """

    name = "inspect"
    names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "id": ("id",),
        "question": ("input",),
        "gold": ("target",),
        "prediction": ("output",),
    }

    def recognises(self, path: Path) -> bool:
        """Whether this is an ``.eval`` file, or a ``.json`` document that begins as Inspect's logs do."""
        if path.suffix.lower() == ".eval":
            return not path.is_dir()
        head = head_of(path).lstrip() if path.suffix.lower() == ".json" else ""
        return head.startswith("{") and all(f'"{key}"' in head for key in _OWN_KEYS)

    def table(self, path: Path, fields: FieldNames) -> Table:
        """The samples in their order, with their metadata. Raises CaseFileError."""
        if path.suffix.lower() == ".eval":
            log: object = _packed(path)
        else:
            log = parse_json(path, read_text(path, fields.encoding))
        log = log if isinstance(log, Mapping) else {}
        samples = log.get("samples")
        if not isinstance(samples, list) or not samples:
            ended = f"; {reason}" if (reason := _ending(log)) else ""
            raise CaseFileError(
                f"contains no samples: expected the log of an evaluation with samples{ended}", path=str(path)
            )
        records = []
        for number, sample in enumerate(samples, start=1):
            if not isinstance(sample, Mapping):
                raise CaseFileError("is not a sample: expected an object", path=str(path), place=f"sample {number}")
            records.append(Record(place=f"sample {sample.get('id', number)}", values=_flat(sample)))
        missing = _missing(log, [str(record.values.get("id")) for record in records])
        lacking = _lacking_epochs(log, records)
        notes = _notes(path, log, missing, len(lacking))
        return replace(Table.of(path, [*records, *lacking]), missing=missing, notes=notes)

    def for_cases(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """Each sample once, however many epochs it was asked for."""
        first: dict[str, Record] = {}
        for record in table.records:
            first.setdefault(str(record.values.get("id")), record)
        return replace(table, records=tuple(first.values())), fields

    def for_predictions(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """The samples of one epoch, if one is named; otherwise of all, as several answers to each question."""
        wanted = fields.prediction
        if wanted is None or not wanted.startswith("epoch"):
            return table, fields  # the usual columns, or a column or a path
        epochs = sorted({_epoch(record) for record in table.records})
        names = [f"epoch {epoch}" for epoch in epochs]
        name = chosen(table.path, wanted, names, "epoch", option("--prediction-column", names[0]))
        kept = [record for record in table.records if f"epoch {_epoch(record)}" == name]
        return replace(table, records=tuple(kept)), replace(fields, prediction=None)


def _epoch(record: Record) -> int:
    found = record.values.get("epoch")
    return found if isinstance(found, int) else 1


def _flat(sample: Mapping[str, object]) -> dict[str, object]:
    """A sample's fields by the names under which they are read; with those of the metadata."""
    metadata = sample.get("metadata")
    found: dict[str, object] = dict(metadata) if isinstance(metadata, Mapping) else {}
    found |= {name: sample.get(name) for name in ("id", "epoch", "target")}
    found["input"] = last_said(sample.get("input"), "role", "user")
    output, error = sample.get("output"), sample.get("error")
    found["output"] = _completion(output if isinstance(output, Mapping) else {}) if error is None else None
    found["error"] = error
    seconds = sample.get("working_time", sample.get("total_time"))
    if isinstance(seconds, (int, float)):
        found["latency_s"] = seconds
    usages = sample.get("model_usage")
    for usage in usages.values() if isinstance(usages, Mapping) else ():
        for name in ("input_tokens", "output_tokens"):
            count = usage.get(name) if isinstance(usage, Mapping) else None
            if isinstance(count, int):
                earlier = found.get(name)
                found[name] = count + (earlier if isinstance(earlier, int) else 0)
    return found


def _completion(output: Mapping[str, object]) -> object:
    if output.get("completion"):
        return output["completion"]
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    return text_of_message(message.get("content")) if isinstance(message, Mapping) else None


def _missing(log: Mapping[str, object], ids: Sequence[str]) -> tuple[str, ...]:
    """The ids of the samples that a log names, but does not contain in any epoch; invented ones if it only counts them.

    A log of an evaluation that succeeded may count samples that were not selected.
    """
    recorded, planned = set(ids), _within(log, "eval", "dataset", "sample_ids")
    if isinstance(planned, list):
        return tuple(id_ for id_ in dict.fromkeys(map(str, planned)) if id_ not in recorded)
    selected, limit = _within(log, "eval", "config", "sample_id"), _within(log, "eval", "config", "limit")
    count = _within(log, "eval", "dataset", "samples")
    if isinstance(selected, list):
        count = len(selected)
    elif isinstance(limit, list) and len(limit) == 2 and all(isinstance(bound, int) for bound in limit):
        count = min(count, limit[1]) - limit[0] if isinstance(count, int) else limit[1] - limit[0]
    elif isinstance(limit, int):
        count = min(count, limit) if isinstance(count, int) else limit
    if not isinstance(count, int) or not _ending(log):
        return ()
    lacking = min(count, _MOST_MISSING) - len(recorded)
    return tuple(f"missing sample {number}" for number in range(1, lacking + 1))


def _lacking_epochs(log: Mapping[str, object], records: Sequence[Record]) -> list[Record]:
    """A sample without output for each epoch that a log which ended early has of some samples only, or of none."""
    epochs = _within(log, "eval", "config", "epochs")
    if not isinstance(epochs, int) or not 1 < epochs <= _MOST_EPOCHS or not _ending(log):
        return []
    first: dict[str, Record] = {}
    for record in records:
        first.setdefault(str(record.values.get("id")), record)
    present = {(str(record.values.get("id")), _epoch(record)) for record in records}
    return [
        Record(place=record.place, values={**record.values, "epoch": epoch, "output": None, "error": None})
        for id_, record in first.items()
        for epoch in range(1, epochs + 1)
        if (id_, epoch) not in present
    ]


_MOST_EPOCHS = 1_000
_MOST_MISSING = 1_000_000


def _ending(log: Mapping[str, object]) -> str:
    """How an evaluation ended that did not succeed, with its error: a clause for a message; empty if it succeeded."""
    status = log.get("status")
    if status in (None, "success"):
        return ""
    error = _within(log, "error", "message")
    said = f" ({shortened(' '.join(error.split()), most=_LONGEST_ERROR)})" if isinstance(error, str) else ""
    return f'the evaluation ended early, with the status "{status}"{said}'


_LONGEST_ERROR = 120


def _notes(path: Path, log: Mapping[str, object], missing: Sequence[str], lacking: int) -> tuple[str, ...]:
    """A sentence on how the evaluation ended and what the log lacks; none for a whole log."""
    ending = _ending(log)
    if not ending and not missing and not lacking:
        return ()
    named = "" if missing[:1] == ("missing sample 1",) else f" ({listed(missing, most=5)})"
    lacks = f"the log lacks {plural(len(missing), 'sample')}{named}" if missing else ""
    epochs = f"{plural(lacking, 'answer')} of other epochs are missing" if lacking else ""
    return (f"{path.name}: {'; '.join(filter(None, (ending, lacks, epochs)))}.",)


def _within(value: object, *keys: str) -> object:
    """The value under these keys of nested objects; None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _packed(path: Path) -> dict[str, object]:
    """The log in an ``.eval`` file, with its samples in the order of their names. Raises CaseFileError.

    The log of an evaluation that was killed has no header, only what was written at its start.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = {info.filename: info for info in archive.infolist()}
            log: dict[str, object] = {"status": "started"}
            for name in ("_journal/start.json", "header.json"):
                if name in names and names[name].file_size <= _MOST_BYTES:
                    header = parse_json(path, _text(path, archive, names[name]))
                    log |= header if isinstance(header, dict) else {}
            members = [info for info in archive.infolist() if info.filename.startswith("samples/")]
            if (size := sum(info.file_size for info in members)) > _MOST_BYTES:
                raise CaseFileError(
                    f"has {size >> 20:,} MiB once unpacked; the limit is {_MOST_BYTES >> 20} MiB: "
                    "evaluate fewer samples a log, or write them as JSON Lines",
                    path=str(path),
                )
            samples = sorted(members, key=lambda info: _in_order(info.filename))
            return {**log, "samples": [parse_json(path, _text(path, archive, info)) for info in samples]}
    except NotImplementedError as error:
        raise CaseFileError(
            f"is packed in a way that this Python cannot unpack ({error}): write it as JSON with "
            "`inspect log convert --to json`",
            path=str(path),
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, UnicodeDecodeError) as error:
        raise CaseFileError(f"cannot be unpacked: {error}; was the evaluation finished?", path=str(path)) from error


def _text(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    try:
        with archive.open(info) as member:
            return member.read(info.file_size + 1).decode("utf-8")
    except NotImplementedError:
        if is_zstandard(info):
            return zstandard_json(path, info)
        raise


def _in_order(name: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key by which ``10`` comes after ``9``."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name))


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
        raise zipfile.BadZipFile(f"{info.filename}: contains {len(rows)} documents")
    text = str(rows[0][0])  # without white space at its ends
    content = text.encode()
    if len(content) > info.file_size:
        raise zipfile.BadZipFile(f"{info.filename}: contains more than the {info.file_size:,} bytes that it is said to")
    if len(content) == info.file_size and zlib.crc32(content) != info.CRC:
        raise zipfile.BadZipFile(f"{info.filename}: its check sum is another")
    return text
