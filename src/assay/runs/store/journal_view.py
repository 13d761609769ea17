"""The journal of a run as a view for DuckDB, which the tables of `assay sql` with several rows per answer are made of.

A journal has one line per answer; a later line for the same digest replaces an earlier one. `reading` makes a view of
the last line of each answer, with its place in the question set and, as ``e``, the parts of its evidence that tables
need. A field that a line leaves out has its default value.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from assay.errors import RunError
from assay.platform.spool import read_at
from assay.runs.store import journal
from assay.runs.store.codec import decode_evidence
from assay.runs.store.results_table import CUT_END, MOST_CHARACTERS

if TYPE_CHECKING:
    import duckdb

_LEAST_READ_BYTES = 1024 * 1024
"""DuckDB reads JSON in portions of twice its longest line, or of twice this."""
_PORTION_BYTES = 4 * 1024 * 1024

_FAILURE = "STRUCT(blame VARCHAR, kind VARCHAR, message VARCHAR)"
_EXECUTION = f"STRUCT(failure {_FAILURE})"
_CAUSE = 'STRUCT(kind VARCHAR, message VARCHAR, clause VARCHAR, proved BOOLEAN, "table" VARCHAR, "column" VARCHAR)'
_EVIDENCE: Final = f"""STRUCT(
    "case" STRUCT(id VARCHAR),
    prediction STRUCT(repeat INTEGER, failure {_FAILURE}),
    verdict STRUCT(outcome VARCHAR, flags VARCHAR[], failure {_FAILURE}),
    scores STRUCT(metric VARCHAR, "value" DOUBLE, detail VARCHAR, failure STRUCT(kind VARCHAR))[],
    comparison STRUCT(near_misses STRUCT(kind VARCHAR, detail VARCHAR)[]),
    gold_executions {_EXECUTION}[],
    predicted_execution {_EXECUTION},
    diagnosis STRUCT(causes {_CAUSE}[]))"""


REPEAT = "coalesce(e.prediction.repeat, 0) + 1"
NEAR_MISSES = "CASE WHEN e.verdict.outcome = 'incorrect' THEN e.comparison.near_misses END"


@contextmanager
def reading(connection: duckdb.DuckDBPyConnection, path: Path, order: Sequence[str] | None) -> Iterator[None]:
    """Have the view ``answer`` while this lasts: ``place``, ``case_id`` and ``e`` of each answer.

    ``order``: the digests of a finished run's answers; None: all answers so far, in the journal's order. Raises
    RunError if a line is damaged, and names it.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        portions, longest = _portions(path, order, Path(folder))
        connection.execute(
            f"""CREATE OR REPLACE TEMP VIEW answer AS
            SELECT row_number() OVER () AS place, evidence."case".id AS case_id, evidence AS e FROM
            read_ndjson([{", ".join(portions)}],
            columns = {{digest: 'VARCHAR', evidence: {_quoted(_EVIDENCE)}}}, records = true,
            maximum_object_size = {max(_LEAST_READ_BYTES, 2 * longest)})"""
        )
        try:
            yield
        except duckdb.InvalidInputException:
            for line in journal.read_lines(path):
                try:
                    decode_evidence(line.content)
                except RunError as error:
                    raise journal.damaged(path, line.number) from error
            raise
        finally:
            connection.execute("DROP VIEW answer")


def _portions(path: Path, order: Sequence[str] | None, folder: Path) -> tuple[list[str], int]:
    """Copy the last line of each answer, in order, into files of a few MiB; their quoted names, and the longest line.

    DuckDB then needs neither to sort nor to drop lines, and it keeps about as much memory as one file is large. A line
    that a killed process wrote only in part, the last one, is left out.
    """
    starts: dict[str, int] = {}
    lengths: dict[str, int] = {}
    portions: list[Path] = []
    longest = start = 0
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            if line.endswith(b"\n"):
                digest = journal.digest_of_line(line)
                starts[digest], lengths[digest] = start, len(line)
            start += len(line)
        wanted = iter(starts if order is None else [digest for digest in order if digest in starts])
        for number in count():
            portion = folder / f"{number}.jsonl"
            size = 0
            with portion.open("wb") as copy:
                for digest in wanted:
                    line = read_at(file.fileno(), starts[digest], lengths[digest])
                    if len(line) > _PORTION_BYTES:
                        with suppress(msgspec.DecodeError):  # DuckDB will say that it is damaged
                            line = msgspec.json.encode(_with_cut_texts(msgspec.json.decode(line))) + b"\n"
                    longest = max(longest, len(line))
                    size += copy.write(line)
                    if size >= _PORTION_BYTES:
                        break
            if size or not number:
                portions.append(portion)
            if size < _PORTION_BYTES:
                return [_quoted(str(portion)) for portion in portions], longest
    raise AssertionError("the loop ends with the last portion")


def _with_cut_texts(value: Any) -> Any:
    """A value from JSON, its texts cut as in the table: DuckDB takes many times the memory of its longest line."""
    if isinstance(value, dict):
        return {name: _with_cut_texts(item) for name, item in value.items()}
    if isinstance(value, list):
        return list(map(_with_cut_texts, value))
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        return f"{value[:MOST_CHARACTERS]}… [cut: {len(value):,}{CUT_END}"
    return value


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
