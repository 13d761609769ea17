"""A case format: questions as comments over their queries, in one .sql file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from assay import Case, CaseFileError, FieldNames, Prediction
from assay.ports import LoadedPredictions

_HEAD = re.compile(r"--\s*@(?P<id>[\w.-]+)(?:\s+\[(?P<database>[^\]]+)\])?\s*(?::\s*(?P<question>.*\S)?\s*)?$")


class SqlFileFormat:
    """Gold, or predictions, as a script. The database's name in brackets may be absent::

    -- @q1 [shop]: How many customers are there?
    SELECT COUNT(*) FROM customers;

    The sign @ tells such a line from the comments that queries have of their own.
    """

    name = "sqlfile"
    takes_encoding = True

    def recognises(self, path: Path) -> bool:
        """Whether it is a .sql file that begins with such a comment. It is asked about every file: it never raises."""
        if path.suffix.lower() != ".sql" or not path.is_file():
            return False
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            first = next((line for line in file if line.strip()), "")
        return _HEAD.match(first) is not None

    def cases(self, path: Path, fields: FieldNames) -> Iterator[Case]:
        """The question set."""
        for head, query, place in _parts(path, fields):
            if head["question"] is None:
                raise CaseFileError(f"{head['id']} has no question behind it", path=str(path), place=place)
            yield Case(
                id=head["id"],
                question=head["question"],
                database=head["database"],
                golds=(query,),
                origin=f"{path.name}, {place}",
            )

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """The answers; their questions need not be repeated."""
        found = [
            Prediction(case_id=head["id"], query=query, origin=f"{path.name}, {place}")
            for head, query, place in _parts(path, fields)
        ]
        return LoadedPredictions(predictions=found)


def _parts(path: Path, fields: FieldNames) -> Iterator[tuple[re.Match[str], str, str]]:
    """Each head with its query and its line. Raises CaseFileError, with file and line, for anything else."""
    try:
        lines = path.read_text(encoding=fields.encoding or "utf-8-sig").splitlines()
    except (UnicodeError, LookupError) as error:
        raise CaseFileError(f"is no text in {fields.encoding or 'UTF-8'}: {error}", path=str(path)) from None
    except OSError as error:
        raise CaseFileError(f"cannot be read: {error.strerror}", path=str(path)) from None
    heads = [(number, head) for number, line in enumerate(lines) if (head := _HEAD.match(line))]
    starts = [number for number, _ in heads]
    before = "\n".join(lines[: starts[0]] if starts else lines).strip()
    if before or not starts:
        wanted = "write each question over its query, as -- @q1: How many customers are there?"
        raise CaseFileError(f"begins with {before[:40]!r}: {wanted}", path=str(path), place="line 1")
    for (number, head), end in zip(heads, [*starts[1:], len(lines)], strict=True):
        query = "\n".join(lines[number + 1 : end]).strip().removesuffix(";").strip()
        place = f"line {number + 1}"
        if not query:
            raise CaseFileError(f"{head['id']} has no query below it", path=str(path), place=place)
        yield head, query, place
