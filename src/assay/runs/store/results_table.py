"""A run as a table with one row per answer, made from its journal by DuckDB: results.parquet, and `assay sql`.

A journal has one line per answer; a later line for the same digest replaces an earlier one. `reading` makes a view of
the last line of each answer, with its place in the question set and, as ``e``, the parts of its evidence that tables
need. Each table is one statement over that view, such as the one of `write_parquet`. A field that a line leaves out has
its default value.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from assay.errors import RunError
from assay.model import Run, RunSettings
from assay.model.lint import LintReport
from assay.model.verdicts.summary import ANSWER_TIMES, NO_HEARTBEAT
from assay.platform.duckdb_progress import without_progress_bar
from assay.platform.spool import read_at
from assay.runs.store import journal
from assay.runs.store.codec import decode_evidence, encode_evidence
from assay.runs.store.writing import taking, temporary

if TYPE_CHECKING:
    import duckdb

REPEAT_COLUMN = "repeat"
"""The column with the number of a row's answer, from 1; in results.parquet only if the run asked more than once."""
MOST_CHARACTERS = 500_000
"""The limit for a text in a table: longer texts are cut there, and say so. The journal has the whole text."""
_CUT_END = f" characters, all of them in {journal.NAME}]"
_LEAST_READ_BYTES = 1024 * 1024
"""DuckDB reads JSON in portions of twice its longest line, or of twice this."""
_PORTION_BYTES = 1024 * 1024
_MEMORY = "'256MiB'"
"""For writing results.parquet; what needs more goes to a temporary file."""
_ROWS_AT_ONCE = 5_000
"""The rows of a row group."""

_FAILURE = "STRUCT(blame VARCHAR, kind VARCHAR, message VARCHAR)"
_EXECUTION = f"STRUCT(row_count BIGINT, wall_time_s DOUBLE, earlier_time_s DOUBLE, failure {_FAILURE})"
_CAUSE = 'STRUCT(kind VARCHAR, message VARCHAR, clause VARCHAR, proved BOOLEAN, "table" VARCHAR, "column" VARCHAR)'
_EVIDENCE: Final = f"""STRUCT(
    "case" STRUCT(id VARCHAR, question VARCHAR, database VARCHAR, difficulty VARCHAR, golds VARCHAR[], tags VARCHAR[],
        expects VARCHAR, conversation VARCHAR, turn INTEGER),
    prediction STRUCT(query VARCHAR, confidence DOUBLE, repeat INTEGER, timings_s JSON[][],
        tokens STRUCT("input" BIGINT, "output" BIGINT, total BIGINT), cost_usd DOUBLE, failure {_FAILURE},
        turns STRUCT(latency_s DOUBLE)[]),
    verdict STRUCT(outcome VARCHAR, reason VARCHAR, flags VARCHAR[], failure {_FAILURE}, strength VARCHAR,
        gold_index BIGINT, decision VARCHAR),
    scores STRUCT(metric VARCHAR, "value" DOUBLE, detail VARCHAR, failure STRUCT(kind VARCHAR))[],
    comparison STRUCT(near_misses STRUCT(kind VARCHAR, detail VARCHAR)[]),
    gold_executions {_EXECUTION}[],
    predicted_execution {_EXECUTION},
    cause VARCHAR,
    diagnosis STRUCT(causes {_CAUSE}[], schema_use VARCHAR))"""


def _text(value: str) -> str:
    """A text as a table has it: cut, and without the zero character, which few readers of Parquet expect."""
    cut = f"left({value}, {MOST_CHARACTERS}) || '… [cut: ' || format('{{:,}}', length({value})) || '{_CUT_END}'"
    is_long = f"length({value}) > {MOST_CHARACTERS} AND NOT ends_with({value}, '{_CUT_END}')"
    return f"replace(CASE WHEN {is_long} THEN {cut} ELSE {value} END, chr(0), chr(65533))"


def _time(name: str) -> str:
    """The seconds under a name of the answer's timings; letter case and separators do not matter."""
    plain = "".join(filter(str.isalnum, name))
    letters = r"regexp_replace(lower(t[1] ->> '$'), '[^\p{L}\p{N}]', '', 'g')"
    return f"(list_filter(e.prediction.timings_s, lambda t: {letters} = '{plain}')[1][2])::DOUBLE"


REPEAT = "coalesce(e.prediction.repeat, 0) + 1"
_SILENT_KINDS = ", ".join(f"'{kind}'" for kind in NO_HEARTBEAT)
_GOLD_SQL = """(CASE WHEN len(e."case".golds) > 0
    THEN array_to_string(e."case".golds, chr(10) || '---' || chr(10)) END)"""
_GOLD = "e.gold_executions[coalesce(e.verdict.gold_index, 0) + 1]"
NEAR_MISSES = "CASE WHEN e.verdict.outcome = 'incorrect' THEN e.comparison.near_misses END"
_CASES: Final = {
    "case_id": ("VARCHAR", _text('e."case".id')),
    "question": ("VARCHAR", _text('e."case".question')),
    "db_id": ("VARCHAR", _text('e."case".database')),
    "difficulty": ("VARCHAR", _text('e."case".difficulty')),
    "predicted_sql": ("VARCHAR", _text("e.prediction.query")),
    "gold_sql": (
        "VARCHAR",
        _text(_GOLD_SQL),
    ),
    "outcome": ("VARCHAR", "e.verdict.outcome"),
    "reason": ("VARCHAR", _text("e.verdict.reason")),
    "flags": ("VARCHAR[]", "list_sort(coalesce(e.verdict.flags, []))"),
    "cause": ("VARCHAR", _text("e.cause")),
    "schema_use": ("VARCHAR", "e.diagnosis.schema_use"),
    "gold_findings": ("VARCHAR[]", "gold_findings"),
    "strength": ("VARCHAR", "CASE WHEN e.verdict.outcome = 'correct' THEN coalesce(e.verdict.strength, 'none') END"),
    "expects": ("VARCHAR", "coalesce(e.\"case\".expects, 'answer')"),
    "given": (
        "VARCHAR",
        f"""coalesce(e.verdict.decision, CASE WHEN coalesce(e.verdict.failure.kind, '') IN ({_SILENT_KINDS})
        OR coalesce(e.prediction.failure.kind, '') IN ({_SILENT_KINDS}) THEN 'nothing' ELSE 'answer' END)""",
    ),
    "confidence": ("DOUBLE", "e.prediction.confidence"),
    "conversation": ("VARCHAR", _text('e."case".conversation')),
    "turn": ("INTEGER", 'e."case".turn'),
    "tags": ("VARCHAR[]", 'coalesce(e."case".tags, [])'),
    "near_misses": (
        "VARCHAR[]",
        f"coalesce(list_transform({NEAR_MISSES}, lambda m: m.kind), [])",
    ),
    "gold_rows": ("BIGINT", f"{_GOLD}.row_count"),
    "predicted_rows": ("BIGINT", "e.predicted_execution.row_count"),
    "gold_s": ("DOUBLE", f"coalesce({_GOLD}.wall_time_s, {_GOLD}.earlier_time_s)"),
    "predicted_s": (
        "DOUBLE",
        "coalesce(e.predicted_execution.wall_time_s, e.predicted_execution.earlier_time_s)",
    ),
    "answer_s": (
        "DOUBLE",
        f"""coalesce(CASE WHEN len(e.prediction.timings_s) > 0 THEN coalesce({", ".join(map(_time, ANSWER_TIMES))}) END,
        list_aggregate(list_transform(e.prediction.turns, lambda t: t.latency_s), 'fsum'))""",
    ),
    "input_tokens": ("BIGINT", 'e.prediction.tokens."input"'),
    "output_tokens": ("BIGINT", 'e.prediction.tokens."output"'),
    "total_tokens": ("BIGINT", "e.prediction.tokens.total"),
    "cost_usd": ("DOUBLE", "e.prediction.cost_usd"),
}
"""The columns of a row per answer before those of the metrics: the type in DuckDB, and the expression."""

RESULT_COLUMNS: Final[Mapping[str, str]] = {name: kind for name, (kind, _) in _CASES.items()}
"""The columns of results.parquet before those of the metrics, with their types in DuckDB."""


@contextmanager
def reading(
    connection: duckdb.DuckDBPyConnection, path: Path, order: Sequence[str] | None, *, lint: LintReport | None
) -> Iterator[None]:
    """Have the view ``answer`` while this lasts: ``place``, ``case_id``, ``e`` and ``gold_findings`` of each answer.

    ``order``: the digests of a finished run's answers; None: all answers so far, in the journal's order. Raises
    RunError if a line is damaged, and names it.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        portions, longest = _portions(path, order, Path(folder))
        connection.execute("CREATE OR REPLACE TEMP TABLE finding (id VARCHAR, rules VARCHAR[])")
        rules = {} if lint is None else lint.rules_by_case()
        if rules:
            connection.executemany("INSERT INTO finding VALUES (?, ?)", list(rules.items()))
        found = "coalesce(rules, [])" if rules else "NULL" if lint is None else "[]::VARCHAR[]"
        connection.execute(
            f"""CREATE OR REPLACE TEMP VIEW answer AS
            SELECT place, e."case".id AS case_id, e, {found} AS gold_findings FROM
            (SELECT row_number() OVER () AS place, evidence AS e FROM read_ndjson([{", ".join(portions)}],
            columns = {{digest: 'VARCHAR', evidence: {_quoted(_EVIDENCE)}}}, records = true,
            maximum_object_size = {max(_LEAST_READ_BYTES, 2 * longest)}))
            {'LEFT JOIN finding ON finding.id = e."case".id' if rules else ""}"""
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
            connection.execute("DROP VIEW answer; DROP TABLE finding")


def _portions(path: Path, order: Sequence[str] | None, folder: Path) -> tuple[list[str], int]:
    """Copy the last line of each answer, in order, into files of about a MiB; their quoted names, and the longest line.

    DuckDB then needs neither to sort nor to drop lines, and it keeps about as much memory as one file is large. A line
    that a killed process wrote only in part, the last one, is left out.
    """
    number_of = {digest: number for number, digest in enumerate(dict.fromkeys(order or ()))}
    starts = array("q", [-1]) * len(number_of)
    lengths = array("q", [0]) * len(number_of)
    portions: list[Path] = []
    longest = start = 0
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            if line.endswith(b"\n"):
                digest = journal.digest_of_line(line)
                if order is None and digest not in number_of:
                    number_of[digest] = len(starts)
                    starts.append(-1)
                    lengths.append(0)
                if (number := number_of.get(digest)) is not None:
                    starts[number], lengths[number] = start, len(line)
            start += len(line)
        numbers = range(len(starts)) if order is None else map(number_of.__getitem__, order)
        wanted = (number for number in numbers if starts[number] >= 0)
        while True:
            portion = folder / f"{len(portions)}.jsonl"
            size = 0
            with portion.open("wb") as copy:
                for number in wanted:
                    line = read_at(file.fileno(), starts[number], lengths[number])
                    if len(line) > _PORTION_BYTES:
                        with suppress(msgspec.DecodeError):  # DuckDB will say that it is damaged
                            line = msgspec.json.encode(_with_cut_texts(msgspec.json.decode(line))) + b"\n"
                    longest = max(longest, len(line))
                    size += copy.write(line)
                    if size >= _PORTION_BYTES:
                        break
            if size or not portions:
                portions.append(portion)
            if size < _PORTION_BYTES:
                return [_quoted(str(portion)) for portion in portions], longest


def _with_cut_texts(value: Any) -> Any:
    """A value from JSON, its texts cut as in the table: DuckDB takes many times the memory of its longest line."""
    if isinstance(value, dict):
        return {name: _with_cut_texts(item) for name, item in value.items()}
    if isinstance(value, list):
        return list(map(_with_cut_texts, value))
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        return f"{value[:MOST_CHARACTERS]}… [cut: {len(value):,}{_CUT_END}"
    return value


def write_parquet(
    target: Path, journal_path: Path, order: Sequence[str], settings: RunSettings, lint: LintReport | None
) -> None:
    """Write one row per answer, in the order of the digests, with a column for each metric (NULL: unscored).

    The column `REPEAT_COLUMN` is there if the run asked each question more than once. Raises RunError if the disk does
    not take the file, or a line of the journal is damaged.
    """
    import duckdb

    aside = temporary(target)
    try:
        with taking(target), duckdb.connect(":memory:") as connection, tempfile.TemporaryDirectory() as spill:
            without_progress_bar(connection)
            for setting in ("threads = 1", f"memory_limit = {_MEMORY}", f"temp_directory = {_quoted(spill)}"):
                connection.execute(f"SET {setting}")
            with reading(connection, journal_path, order, lint=lint):
                columns = case_columns(settings.metrics, numbered=settings.repeats > 1)
                ordered = "ORDER BY place" if lint is not None and lint.findings else ""  # joined with the findings
                try:
                    connection.execute(
                        f"COPY (SELECT {columns} FROM answer {ordered}) TO {_quoted(str(aside))} "
                        f"(FORMAT parquet, ROW_GROUP_SIZE {_ROWS_AT_ONCE})"
                    )
                except duckdb.IOException as error:  # DuckDB's own class, not an OSError
                    raise OSError(0, str(error).partition("\n")[0]) from error
            os.replace(aside, target)
    finally:
        aside.unlink(missing_ok=True)


def case_columns(metrics: Collection[str], *, numbered: bool) -> str:
    """The columns of a row per answer as expressions of the view ``answer``."""
    columns = [f"({expression})::{kind} AS {name}" for name, (kind, expression) in _CASES.items()]
    if numbered:
        columns.append(f"{REPEAT} AS {REPEAT_COLUMN}")
    for metric in metrics:
        value = f'list_filter(e.scores, lambda s: s.metric = {_quoted(metric)})[1]."value"'
        columns.append(f"{value} AS {_named(metric)}")
    return ", ".join(columns)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _named(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


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
