"""results.parquet: a run as a table, with one row for each answer."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from assay.model import CaseSummary, Evidence, Run
from assay.quiet import without_progress_bar
from assay.runs.store import journal
from assay.runs.store.codec import encode_value
from assay.runs.store.writing import taking, temporary

RESULT_COLUMNS = {
    "case_id": "VARCHAR",
    "question": "VARCHAR",
    "db_id": "VARCHAR",
    "difficulty": "VARCHAR",
    "predicted_sql": "VARCHAR",
    "gold_sql": "VARCHAR",
    "outcome": "VARCHAR",
    "reason": "VARCHAR",
    "flags": "VARCHAR[]",
    "cause": "VARCHAR",
    "gold_findings": "VARCHAR[]",
    "strength": "VARCHAR",
    "expects": "VARCHAR",
    "given": "VARCHAR",
    "confidence": "DOUBLE",
    "conversation": "VARCHAR",
    "turn": "INTEGER",
    "tags": "VARCHAR[]",
    "near_misses": "VARCHAR[]",
    "gold_rows": "BIGINT",
    "predicted_rows": "BIGINT",
    "gold_s": "DOUBLE",
    "predicted_s": "DOUBLE",
    "answer_s": "DOUBLE",
    "input_tokens": "BIGINT",
    "output_tokens": "BIGINT",
    "total_tokens": "BIGINT",
    "cost_usd": "DOUBLE",
}
"""The columns of results.parquet before those of the metrics, with their types in DuckDB."""
MOST_CHARACTERS = 500_000
"""The limit for a text in results.parquet: longer texts are cut there, and say so. The journal has the whole text."""
_LEAST_READ_BYTES = 1024 * 1024
"""DuckDB reads JSON in portions of twice its longest row, or of twice this."""
_ROWS_AT_ONCE = 5_000
"""How many rows are in memory while results.parquet is written."""
_PORTION_BYTES = 2 * 1024 * 1024
_PORTION = ".lines.tmp"
REPEAT_COLUMN = "repeat"
"""The column with the number of a row's answer, from 1; only where the run asked more than once."""


class _Portion(NamedTuple):
    """Some rows as lines of JSON."""

    path: Path
    longest: int
    """The bytes of its longest row."""


def write_parquet(path: Path, run: Run) -> None:
    """Write one row per answer, in the question set's order, with a column for each metric (NULL: unscored).

    Raises RunError where the disk does not take it.
    """
    metrics = run.settings.metrics
    repeat = {REPEAT_COLUMN: "INTEGER"} if run.settings.repeats > 1 else {}
    columns = {**RESULT_COLUMNS, **repeat, **dict.fromkeys(metrics, "DOUBLE")}
    aside = temporary(path)
    _remove_portions(path)  # of a process that was killed
    try:
        with taking(path):
            rows = _rows(run, frozenset(metrics), numbered=bool(repeat))
            _convert([*_portions(path, rows)], aside, columns)
            os.replace(aside, path)
    finally:
        _remove_portions(path)
        aside.unlink(missing_ok=True)


def with_parquet(run: Run, read: Callable[[Path], Any]) -> Any:
    """What ``read`` makes of the table of a run, which is a file only as long as that takes."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        path = Path(folder) / "results.parquet"
        write_parquet(path, run)
        return read(path)


def read_pandas(path: Path) -> Any:
    """The table as a data frame, without pyarrow. A column has the same type whatever is in it: also without a NULL,
    and with nothing else.
    """
    import duckdb
    import pandas

    with duckdb.connect(":memory:") as connection:
        relation = connection.read_parquet(str(path))
        types = {"BIGINT": "Int64", "INTEGER": "Int32", "VARCHAR": pandas.Series(["text"]).dtype}
        wanted = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
        return relation.df().astype({name: types[kind] for name, kind in wanted.items() if kind in types})


def _rows(run: Run, metrics: Collection[str], *, numbered: bool) -> Iterator[bytes]:
    findings = None if run.lint is None else run.lint.rules_by_case()
    for case, evidence in zip(run.summaries, run.evidence, strict=True):
        row = columns_of(case, evidence, metrics, numbered=numbered)
        row["gold_findings"] = None if findings is None else findings.get(case.case_id, [])
        yield encode_value(row) + b"\n"


def _portions(path: Path, rows: Iterable[bytes]) -> Iterator[_Portion]:
    """Write rows into files beside the table: of a file DuckDB keeps about as much as is in it until its end."""
    rows = iter(rows)
    for number in count():
        portion = path.with_suffix(f".{number}{_PORTION}")
        size = longest = 0
        with portion.open("wb") as file:
            for row in rows:
                file.write(row)
                size, longest = size + len(row), max(longest, len(row))
                if size >= _PORTION_BYTES:
                    break
        if size or not number:
            yield _Portion(portion, longest)
        if size < _PORTION_BYTES:
            return


def _remove_portions(path: Path) -> None:
    for left in path.parent.glob(f"{path.stem}.*{_PORTION}"):
        left.unlink(missing_ok=True)


def _convert(portions: Sequence[_Portion], target: Path, columns: Mapping[str, str]) -> None:
    """Write rows in lines of JSON as Parquet. Raises OSError."""
    import duckdb

    longest = max(portion.longest for portion in portions)
    with duckdb.connect(":memory:") as connection:
        without_progress_bar(connection)
        connection.execute("SET threads = 1")  # each would hold rows of its own
        source = connection.read_json(
            [str(portion.path) for portion in portions],  # type: ignore[arg-type]
            columns=dict(columns),
            format="newline_delimited",
            maximum_object_size=max(_LEAST_READ_BYTES, 2 * longest),
        )
        try:
            source.write_parquet(str(target), row_group_size=_ROWS_AT_ONCE)
        except duckdb.IOException as error:  # DuckDB's own class, not an OSError
            raise OSError(0, str(error).partition("\n")[0]) from error


def columns_of(
    summary: CaseSummary, evidence: Evidence, metrics: Collection[str], *, numbered: bool
) -> dict[str, object]:
    """The row of an answer by the names of the columns; one that it leaves out is NULL."""
    case, prediction, tokens = evidence.case, evidence.prediction, summary.tokens
    gold, predicted = evidence.gold_execution, evidence.predicted_execution
    row: dict[str, object] = {
        "case_id": case.id,
        "question": case.question,
        "db_id": case.database,
        "difficulty": case.difficulty,
        "predicted_sql": prediction.query,
        "gold_sql": "\n---\n".join(case.golds) if case.golds else None,
        "outcome": summary.outcome,
        "reason": summary.reason,
        "flags": sorted(summary.flags),
        "cause": summary.cause,
        "strength": summary.strength if summary.outcome == "correct" else None,
        "tags": case.tags,
        "near_misses": summary.near_misses,
        "gold_rows": gold and gold.row_count,
        "predicted_rows": predicted and predicted.row_count,
        "gold_s": gold and gold.took_s,
        "predicted_s": predicted and predicted.took_s,
        "answer_s": summary.answer_time_s,
        "input_tokens": tokens and tokens.input,
        "output_tokens": tokens and tokens.output,
        "total_tokens": tokens and tokens.total,
        "cost_usd": summary.cost_usd,
        "expects": summary.expects,
        "given": summary.given,
        "confidence": summary.confidence,
        "conversation": summary.conversation,
        "turn": summary.turn,
    }
    for name, value in row.items():
        if isinstance(value, str) and (len(value) > MOST_CHARACTERS or "\0" in value):
            row[name] = _text(value)
    if numbered:
        row[REPEAT_COLUMN] = summary.repeat + 1
    for score in summary.scores:
        if score.metric in metrics:
            row[score.metric] = score.value
    return row


def _text(text: str) -> str:
    """A text in the form of results.parquet."""
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}… [cut: {len(text):,} characters, all of them in {journal.NAME}]"
    return text.replace("\0", "\ufffd")  # DuckDB's JSON reader does not accept the zero character
