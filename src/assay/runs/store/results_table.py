"""A run as a table with one row per answer, made from its journal: results.parquet, and `cases` of `assay sql`.

A journal has one line per answer; a later line for the same digest replaces an earlier one.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from assay.errors import RunError
from assay.model import Evidence, Run, RunSettings
from assay.model.lint import LintReport
from assay.model.verdicts.retrieval import CONTEXT_COMPLETE, retrieval_of
from assay.model.verdicts.summary import answer_time_s, given_of
from assay.platform.spool import Spool
from assay.runs.store import journal
from assay.runs.store.codec import decode_value, encode_evidence
from assay.runs.store.parquet_file import ParquetFile
from assay.runs.store.writing import taking, temporary

REPEAT_COLUMN = "repeat"
"""The column with the number of a row's answer, from 1; in results.parquet only if the run asked more than once."""
MOST_CHARACTERS = 500_000
"""The limit for a text in a table: longer texts are cut there, and say so. The journal has the whole text."""
CUT_END = f" characters, all of them in {journal.NAME}]"
_ROWS_AT_ONCE, _BYTES_AT_ONCE = 5_000, 16 * 1024 * 1024
"""The rows of a row group, and the size of their lines."""
_ANSWERS_AT_ONCE = 250
"""The answers that are in memory, decoded, before they become rows."""
_MOST_REMEMBERED = 1000
"""Scores that many answers share are among the first that come."""


class _Case(Struct, frozen=True, kw_only=True, gc=False):
    """The fields of a `Case` that the table has."""

    id: str
    question: str
    database: str | None = None
    difficulty: str | None = None
    golds: tuple[str, ...] = ()
    expects: str = "answer"
    conversation: str | None = None
    turn: int | None = None
    tags: tuple[str, ...] = ()


class _Execution(Struct, frozen=True, kw_only=True, gc=False):
    """The fields of an `Execution` that the table has."""

    row_count: int | None = None
    wall_time_s: float | None = None
    earlier_time_s: float | None = None


class _NearMiss(Struct, frozen=True, kw_only=True, gc=False):
    kind: str


class _Comparison(Struct, frozen=True, kw_only=True, gc=False):
    near_misses: tuple[_NearMiss, ...] = ()


_UNREAD = msgspec.Raw(b"")


class _Answer(Evidence, frozen=True, kw_only=True, omit_defaults=True):
    """An `Evidence` as it is decoded for its row: what the table does not have is skipped, and scores stay encoded."""

    case: _Case  # type: ignore[assignment]
    scores: msgspec.Raw = msgspec.Raw(b"[]")  # type: ignore[assignment]
    comparison: _Comparison | None = None  # type: ignore[assignment]
    gold_executions: tuple[_Execution, ...] = ()  # type: ignore[assignment]
    predicted_execution: _Execution | None = None  # type: ignore[assignment]
    candidates: msgspec.Raw = _UNREAD  # type: ignore[assignment]
    pair_timings: msgspec.Raw = _UNREAD  # type: ignore[assignment]
    turns: msgspec.Raw = _UNREAD  # type: ignore[assignment]
    refutation: msgspec.Raw = _UNREAD  # type: ignore[assignment]

    @property
    def gold(self) -> _Execution | None:
        """The `gold_execution`."""
        index = self.verdict.gold_index or 0
        return self.gold_executions[index] if index < len(self.gold_executions) else None


class _Value(Struct, frozen=True, gc=False):
    metric: str
    value: float | None


def _texts(values: Iterable[str | None]) -> list[str | None]:
    """Texts as the table has them: cut, and without the zero character, which few readers of Parquet expect."""
    return [
        value if value is None or (len(value) <= MOST_CHARACTERS and "\0" not in value) else _text(value)
        for value in values
    ]


def _text(value: str) -> str:
    if len(value) > MOST_CHARACTERS and not value.endswith(CUT_END):
        value = f"{value[:MOST_CHARACTERS]}… [cut: {len(value):,}{CUT_END}"
    return value.replace("\0", "\ufffd")


_FREE_TEXTS = frozenset(
    ("case_id", "question", "db_id", "difficulty", "predicted_sql", "gold_sql", "reason", "cause", "conversation")
)
"""The columns of texts that anybody may have written."""
_COLUMNS: Final[Mapping[str, tuple[str, Callable[[_Answer], Any]]]] = {
    "case_id": ("VARCHAR", attrgetter("case.id")),
    "question": ("VARCHAR", attrgetter("case.question")),
    "db_id": ("VARCHAR", attrgetter("case.database")),
    "difficulty": ("VARCHAR", attrgetter("case.difficulty")),
    "predicted_sql": ("VARCHAR", attrgetter("prediction.query")),
    "gold_sql": ("VARCHAR", lambda e: "\n---\n".join(e.case.golds) if e.case.golds else None),
    "outcome": ("VARCHAR", attrgetter("verdict.outcome")),
    "reason": ("VARCHAR", attrgetter("verdict.reason")),
    "flags": ("VARCHAR[]", lambda e: sorted(e.verdict.flags) if e.verdict.flags else ()),
    "cause": ("VARCHAR", attrgetter("cause")),
    "schema_use": ("VARCHAR", lambda e: e.diagnosis and e.diagnosis.schema_use),
    "retrieval": ("VARCHAR", lambda _: None),  # from the scores
    "gold_findings": ("VARCHAR[]", lambda _: None),  # from the lint of the run
    "strength": ("VARCHAR", lambda e: e.verdict.strength if e.verdict.outcome == "correct" else None),
    "expects": ("VARCHAR", attrgetter("case.expects")),
    "given": ("VARCHAR", given_of),
    "confidence": ("DOUBLE", attrgetter("prediction.confidence")),
    "conversation": ("VARCHAR", attrgetter("case.conversation")),
    "turn": ("INTEGER", attrgetter("case.turn")),
    "tags": ("VARCHAR[]", attrgetter("case.tags")),
    "near_misses": (
        "VARCHAR[]",
        lambda e: [miss.kind for miss in e.comparison.near_misses] if e.comparison and e.outcome == "incorrect" else (),
    ),
    "gold_rows": ("BIGINT", lambda e: e.gold and e.gold.row_count),
    "predicted_rows": ("BIGINT", lambda e: e.predicted_execution and e.predicted_execution.row_count),
    "gold_s": ("DOUBLE", lambda e: _took_s(e.gold)),
    "predicted_s": ("DOUBLE", lambda e: _took_s(e.predicted_execution)),
    "answer_s": ("DOUBLE", lambda e: answer_time_s(e.prediction)),
    "input_tokens": ("BIGINT", lambda e: e.prediction.tokens and e.prediction.tokens.input),
    "output_tokens": ("BIGINT", lambda e: e.prediction.tokens and e.prediction.tokens.output),
    "total_tokens": ("BIGINT", lambda e: e.prediction.tokens and e.prediction.tokens.total),
    "cost_usd": ("DOUBLE", attrgetter("prediction.cost_usd")),
    "reviewed_outcome": ("VARCHAR", lambda e: None if e.reviewed is None or e.reviewed.pending else e.reviewed.outcome),
    "review": ("VARCHAR", lambda e: e.reviewed and e.reviewed.decision),
}
"""The columns of a row per answer before those of the metrics: the type as DuckDB calls it, and the value."""

RESULT_COLUMNS: Final[Mapping[str, str]] = {name: kind for name, (kind, _) in _COLUMNS.items()}
"""The columns of results.parquet before those of the metrics, with their types in DuckDB."""
_FINDINGS, _RETRIEVAL = map(list(_COLUMNS).index, ("gold_findings", "retrieval"))


def write_parquet(
    target: Path,
    journal_path: Path,
    order: Sequence[str] | None,
    settings: RunSettings,
    lint: LintReport | None,
) -> None:
    """Write one row per answer, in the order of the digests, with a column for each metric (NULL: unscored).

    ``order`` None: all answers so far, in the journal's order. The column `REPEAT_COLUMN` is there if the run asked
    each question more than once. Raises RunError if the disk does not take the file, or a line of the journal is
    damaged.
    """
    numbered = settings.repeats > 1
    write_rows(target, journal_path, order, settings.metrics, lint, numbered=numbered)


def write_rows(
    target: Path,
    journal_path: Path,
    order: Sequence[str] | None,
    metrics: Collection[str],
    lint: LintReport | None,
    *,
    numbered: bool,
) -> None:
    """As `write_parquet`, with these metrics. ``numbered``: with the column `REPEAT_COLUMN`."""
    columns = {**RESULT_COLUMNS, **({REPEAT_COLUMN: "INTEGER"} if numbered else {})}
    columns |= dict.fromkeys(metrics, "DOUBLE")
    rules = None if lint is None else lint.rules_by_case()
    values_of = _ScoreValues(metrics)
    complete = list(metrics).index(CONTEXT_COMPLETE) if CONTEXT_COMPLETE in metrics else None

    rows: list[list[Any]] = [[] for _ in columns]
    """The columns of a row group: texts and numbers, which take a fraction of the memory of the answers themselves."""

    def extend(answers: Sequence[_Answer]) -> None:
        scores = [values_of(bytes(answer.scores)) for answer in answers]
        parts = [
            *(list(map(value, answers)) for _, value in _COLUMNS.values()),
            *([[answer.prediction.repeat + 1 for answer in answers]] if numbered else ()),
            *zip(*scores, strict=True),
        ]
        if complete is not None:
            parts[_RETRIEVAL] = [
                retrieval_of(answer.outcome, score[complete]) for answer, score in zip(answers, scores, strict=True)
            ]
        if rules is not None:
            parts[_FINDINGS] = [rules.get(answer.case.id, ()) for answer in answers]
        for name, column, part in zip(columns, rows, parts, strict=True):
            column.extend(_texts(part) if name in _FREE_TEXTS else part)

    answers: list[_Answer] = []
    size = 0
    aside = temporary(target)
    try:
        with taking(target):
            with aside.open("wb") as file:
                table = ParquetFile(file, columns)
                for line in _last_lines(journal_path, order):
                    answers.append(_decoded(line, journal_path))
                    size += len(line)
                    full = len(rows[0]) + len(answers) == _ROWS_AT_ONCE or size > _BYTES_AT_ONCE
                    if full or len(answers) == _ANSWERS_AT_ONCE:
                        extend(answers)
                        answers.clear()
                    if full:
                        table.write(rows)
                        for column in rows:
                            column.clear()
                        size = 0
                if answers:
                    extend(answers)
                if rows[0]:
                    table.write(rows)
                table.finish()
            os.replace(aside, target)
    finally:
        aside.unlink(missing_ok=True)


class _ScoreValues:
    """The values of these metrics in the scores of an answer. Scores that many answers share are decoded once."""

    def __init__(self, metrics: Collection[str]) -> None:
        self._metrics = tuple(metrics)
        self._known: dict[bytes, tuple[float | None, ...]] = {}

    def __call__(self, encoded: bytes) -> tuple[float | None, ...]:
        if (values := self._known.get(encoded)) is None:
            scores = {score.metric: score.value for score in reversed(decode_value(encoded, tuple[_Value, ...]))}
            values = tuple(map(scores.get, self._metrics))
            if len(self._known) < _MOST_REMEMBERED:
                self._known[encoded] = values
        return values


def _last_lines(path: Path, order: Sequence[str] | None) -> Iterator[bytes]:
    """The last line of each answer, in order."""
    if order is None:
        order = list(dict.fromkeys(line.digest for line in journal.read_lines(path)))
    place_of = {digest: place for place, digest in enumerate(order)}
    starts, lengths = array("q", [-1]) * len(order), array("q", [0]) * len(order)
    for line in journal.read_lines(path):
        if (place := place_of.get(line.digest)) is not None:
            starts[place], lengths[place] = line.start, len(line.content)
    place_of.clear()
    lines = Spool[bytes](bytes, path=path)
    for start, length in zip(starts, lengths, strict=True):
        if start >= 0:
            lines.note(start, length)
    return lines.lines(range(len(lines)))


def _decoded(content: bytes, path: Path) -> _Answer:
    try:
        return decode_value(content, _Answer)  # no column has cells
    except RunError:
        for line in journal.read_lines(path):
            try:
                decode_value(line.content, _Answer)
            except RunError as error:
                raise journal.damaged(path, line.number) from error
        raise


def _took_s(execution: _Execution | None) -> float | None:
    if execution is None:
        return None
    return execution.earlier_time_s if execution.wall_time_s is None else execution.wall_time_s


def with_parquet(run: Run, read: Callable[[Path], Any]) -> Any:
    """What ``read`` makes of the table of a run, which is a file only as long as that takes."""
    with tempfile.TemporaryDirectory(prefix="assay-") as name:
        folder = Path(name)
        order = journal.write_whole(folder / journal.NAME, map(encode_evidence, run.evidence))
        write_parquet(folder / "results.parquet", folder / journal.NAME, order, run.settings, run.lint)
        return read(folder / "results.parquet")


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
