"""SParC's and CoSQL's own files: conversations whose turns share a database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from msgspec.structs import replace

from assay.cases.benchmarks import lines
from assay.cases.benchmarks.lines import json_layout
from assay.cases.fields import did_you_mean
from assay.cases.from_records import read_cases, read_predictions
from assay.cases.text.decoding import empty, lines_of, read_text
from assay.errors import CaseFileError
from assay.model import Case, ColumnUse, FieldNames
from assay.model.cases.decision import Exchange
from assay.ports import LoadedCases, LoadedPredictions

_GOLD = ColumnUse(field="gold", column="before the tab")
_PREDICTED = ColumnUse(field="prediction", column="the lines")


class SparcFormat:
    """Questions (a list of ``database_id, interaction: [{utterance, query}], final``), gold lines (``SQL\\tdb_id``) and
    prediction lines (``SQL``), in both a blank line between conversations.

    A turn is a case of its own. Its id is the zero-based place of its conversation and its own place from 1: ``7-2``.
    ``final``, which sums the conversation up, is not asked. Prediction lines without any blank line go by position.
    """

    name = "sparc"
    takes_encoding = True
    pairs: ClassVar[bool] = True
    """Whether lines of predictions for such questions are of this format, too."""

    def recognises(self, path: Path) -> bool:
        """Whether a ``.json`` file has this format. Lines look like Spider's, whose format reads them unless named."""
        return path.suffix.lower() == ".json" and json_layout(path) == "sparc"

    def cases(self, path: Path, fields: FieldNames) -> LoadedCases:
        """Read conversations or gold lines. Raises CaseFileError with file, conversation and turn."""
        from assay.cases.text.json import json_table

        if path.suffix.lower() in lines.SUFFIXES:
            return LoadedCases(cases=tuple(_gold_lines(path, fields.encoding)), columns=(_GOLD,))
        table = json_table(path, encoding=fields.encoding)
        if "interaction" not in table.columns:
            raise CaseFileError(
                'has no "interaction": SParC and CoSQL contain lists of conversations, each with its "database_id" and '
                'its turns as "interaction": [{"utterance": …, "query": …}]; for another layout give its format',
                path=str(path),
            )
        for record in table.records:
            if not record.blank and "interaction" not in record.values:
                hint = did_you_mean("interaction", record.values)
                raise CaseFileError(
                    f'has no "interaction"{hint}: expected the list of its turns',
                    path=str(path),
                    place=record.place,
                )
        named = replace(fields, question=fields.question or "utterance", gold=fields.gold or "query")
        return read_cases(table, named)

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """Read prediction lines, or predictions in JSON, if each turn has its own, or an id names its turn."""
        from assay.cases.text.json import json_table

        if path.suffix.lower() not in lines.SUFFIXES:
            return read_predictions(json_table(path, encoding=fields.encoding), fields)
        blocks = list(_blocks(path, fields.encoding))
        if len(blocks) == 1:
            return replace(lines.predicted_lines(path, fields), stated=True)
        turns = (
            (f"{conversation}-{turn}", number, line)
            for conversation, block in enumerate(blocks)
            for turn, (number, line) in enumerate(block, start=1)
        )
        return replace(lines.predictions_of(path, turns), columns=(_PREDICTED,))


class CosqlFormat(SparcFormat):
    """As SParC's, whose layout CoSQL has."""

    name = "cosql"

    def recognises(self, path: Path) -> bool:  # noqa: ARG002 - the port's
        """False: the files look like SParC's, whose format reads them the same way."""
        return False


def _gold_lines(path: Path, encoding: str | None) -> Iterator[Case]:
    for conversation, block in enumerate(_blocks(path, encoding)):
        for turn, (number, line) in enumerate(block, start=1):
            query, tab, database = line.rpartition("\t")
            if not (tab and query.strip() and database.strip()):
                raise CaseFileError(
                    "is not a gold line: a gold line is SQL, a tab and the db_id; a blank line ends a conversation",
                    path=str(path),
                    place=f"line {number}",
                )
            yield Case(
                id=f"{conversation}-{turn}",
                question="",
                golds=(query.strip(),),
                database=database.strip(),
                origin=f"{path.name}, line {number}",
                conversation=str(conversation),
                turn=turn,
                history=(Exchange(question=""),) * (turn - 1),
            )


def _blocks(path: Path, encoding: str | None) -> Iterator[list[tuple[int, str]]]:
    """The lines between blank ones, with their numbers. Several blank lines are as one."""
    block: list[tuple[int, str]] = []
    any_block = False
    for number, line in enumerate(lines_of(read_text(path, encoding)), start=1):
        if line.strip():
            block.append((number, line))
        elif block:
            any_block = True
            yield block
            block = []
    if block:
        yield block
    elif not any_block:
        raise empty(path)
