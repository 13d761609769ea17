"""EHRSQL 2024's own files: questions, the labels next to them, and predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from assay.cases.fields import did_you_mean
from assay.cases.from_records import read_cases, read_predictions
from assay.cases.records import Record, Table, kind_of
from assay.cases.text.decoding import head_of, read_text
from assay.errors import CaseFileError
from assay.model import FieldNames
from assay.ports import LoadedCases, LoadedPredictions

_DATA, _LABELS, _PREDICTIONS = "data.json", "label.json", "prediction.json"


class EhrsqlFormat:
    """A folder of ``data.json`` (``{"version": …, "data": [{"id": …, "question": …}]}``) and ``label.json`` (ids to
    queries, ``null`` if there is no answer), or the former's path; predictions are like labels.
    """

    name = "ehrsql"
    takes_encoding = True

    def recognises(self, path: Path) -> bool:
        """Whether this is such a folder, or its ``data.json``."""
        if path.is_dir():
            return (path / _DATA).is_file() and '"data"' in head_of(path / _DATA)
        beside = path.name.replace("data", "label")
        if path.suffix.lower() != ".json" or beside == path.name or not (path.parent / beside).is_file():
            return False
        return head_of(path).lstrip().startswith("{") and '"data"' in head_of(path)

    def cases(self, path: Path, fields: FieldNames) -> LoadedCases:
        """Read questions with their labels. Raises CaseFileError, naming a question without a label and vice versa."""
        data = path / _DATA if path.is_dir() else path
        labels_path = data.with_name(data.name.replace("data", "label"))
        if labels_path == data or not labels_path.is_file():
            raise CaseFileError(
                f'the labels are missing: EHRSQL keeps them in "{_LABELS}" next to "{_DATA}", from ids to queries',
                path=str(data),
            )
        asked, labels = _document(data, fields), _document(labels_path, fields)
        items = asked.get("data")
        if not isinstance(items, list):
            raise CaseFileError(f'"data" is {kind_of(items)}: expected the list of questions', path=str(data))
        left = dict(labels)
        records = []
        for number, item in enumerate(items, start=1):
            place = f"item {number}"
            if not isinstance(item, dict) or "id" not in item:
                raise CaseFileError("has no id: expected an object with id and question", path=str(data), place=place)
            key = str(item["id"])
            if key not in left:
                hint = did_you_mean(key, left, form="; {}")
                raise CaseFileError(
                    f'the id "{key}" has no label in {labels_path.name}{hint}', path=str(data), place=place
                )
            label = left.pop(key)
            records.append(Record(place=place, values={**item, "gold_sql": "null" if label is None else label}))
        if left:
            named = ", ".join(f'"{key}"' for key in list(left)[:5])
            raise CaseFileError(
                f"{len(left):,} of the labels have no question in {data.name}: {named}", path=str(labels_path)
            )
        return read_cases(Table.of(data, records), replace(fields, gold=fields.gold or "gold_sql"))

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """Read predictions, in a folder its ``prediction.json``. Raises CaseFileError with file and key."""
        from assay.cases.text.json import json_table

        file = path / _PREDICTIONS if path.is_dir() else path
        if not file.is_file():
            raise CaseFileError(f'contains no "{_PREDICTIONS}": name the file of the predictions', path=str(path))
        return read_predictions(json_table(file, encoding=fields.encoding), fields)


def _document(path: Path, fields: FieldNames) -> dict[str, Any]:
    from assay.cases.text.json import parse_json

    found = parse_json(path, read_text(path, fields.encoding))
    if not isinstance(found, dict):
        raise CaseFileError(f"contains {kind_of(found)}: expected an object", path=str(path))
    return found
