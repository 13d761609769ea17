"""Spider's own files as they come: dev.json, gold and prediction lines."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from assay.cases.benchmarks import lines
from assay.cases.benchmarks.lines import json_layout
from assay.cases.fields import POSITION
from assay.cases.from_records import read_cases, read_predictions
from assay.model import FieldNames
from assay.ports import LoadedCases, LoadedPredictions


class SpiderFormat:
    """Spider's questions (JSON with ``db_id, question, query``; the tokens and the parsed ``sql`` besides
    them are not read), its gold (lines ``SQL\\tdb_id``) and predictions (lines ``SQL`` or ``SQL\\tdb_id``).

    Spider has no ids: a case's id is its zero-based position, and predictions go by position.
    """

    name = "spider"
    takes_encoding = True

    def recognises(self, path: Path) -> bool:
        """Whether this is a file of lines (``.sql``, ``.txt``), or a ``.json`` file in Spider's format."""
        suffix = path.suffix.lower()
        if suffix in lines.SUFFIXES:
            return not path.is_dir()
        return suffix == ".json" and json_layout(path) == "spider"

    def cases(self, path: Path, fields: FieldNames) -> LoadedCases:
        """Read dev.json or gold lines. Raises CaseFileError with file, row and column."""
        from assay.cases.text.json import json_table

        if path.suffix.lower() != ".json":
            return lines.gold_lines(path, encoding=fields.encoding)
        named = replace(
            fields,
            id=fields.id or POSITION,
            question=fields.question or "question",
            gold=fields.gold or "query",
            database=fields.database or "db_id",
        )
        loaded = read_cases(json_table(path, encoding=fields.encoding), named)
        # The format, and not the user, says that there are no ids.
        return replace(loaded, stated=fields.id == POSITION)

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """Read prediction lines, the text before the first tab of each; or predictions in JSON."""
        from assay.cases.text.json import json_table

        if path.suffix.lower() != ".json":
            return lines.predicted_lines(path, fields)
        return read_predictions(json_table(path, encoding=fields.encoding), fields)
