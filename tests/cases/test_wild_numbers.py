"""Numbers in files that no count, time, cost, confidence, turn or id can be: read, or an error that names the place."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import xlsxwriter

from assay.api.inputs import FileOptions, read_inputs
from assay.errors import InputError
from assay.model import Prediction, UsageTotals
from assay.model.cases.usage import MOST
from assay.runs.aggregate.totals import usage_of
from assay.runs.store.codec import encode_value
from many_cases import each

WILD = (
    *("18446744073709551616", "1e30", "1e308", "1e400", "NaN", "Infinity", "-Infinity", "-3", "-1e30", '"many"'),
    *('"1e30"', '"NaN"', "true", "[1]", '{"value": 1e30}', "1" + "0" * 1000, "1" + "0" * 5000),
)
_COLUMNS = (
    *("total_tokens", "input_tokens", "latency_s", "total_execution_time", "cost_usd", "confidence", "logprob"),
    *("usage", "tokens", "turn", "id", "difficulty", "tags", "repeat"),
)


def _jsonl(path: Path, column: str, wild: str) -> None:
    path.write_text(
        "".join(
            f'{{"id": "{n}", "conversation": "c", "turn": {n}, "question": "q{n}", "gold_sql": "SELECT 1",'
            f' "predicted_sql": "SELECT 1", "{column}": {wild if n == 1 else 1}}}\n'
            for n in (1, 2)
        ).replace('"turn": 1, ', "" if column == "turn" else '"turn": 1, ', 1),
        encoding="utf-8",
    )


def _json(path: Path, column: str, wild: str) -> None:
    _jsonl(path, column, wild)
    path.write_text("[" + ",".join(path.read_text(encoding="utf-8").splitlines()) + "]", encoding="utf-8")


def _yaml(path: Path, column: str, wild: str) -> None:
    _json(path, column, {"NaN": ".nan", "Infinity": ".inf", "-Infinity": "-.inf"}.get(wild, wild))


def _values(column: str, wild: str) -> list[dict[str, str]]:
    value = wild.strip('"')
    rows = [
        {"id": str(n), "conversation": "c", "turn": str(n), "question": f"q{n}", "gold_sql": "SELECT 1"} for n in (1, 2)
    ]
    return [{**row, "predicted_sql": "SELECT 1", column: value if n == 0 else "1"} for n, row in enumerate(rows)]


def _csv(path: Path, column: str, wild: str) -> None:
    rows = _values(column, wild)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def _xlsx(path: Path, column: str, wild: str) -> None:
    rows = _values(column, wild)
    with xlsxwriter.Workbook(path, {"nan_inf_to_errors": True}) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate([dict.fromkeys(rows[0], ""), *rows]):
            for at, (name, text) in enumerate(row.items()):
                value: Any = name if number == 0 else text
                if number == 1 and name == column:
                    try:
                        value = json.loads(wild)
                    except ValueError:
                        value = wild
                    value = text if isinstance(value, (list, dict)) else value
                sheet.write(number, at, float(value) if isinstance(value, int) and len(wild) < 300 else value)


def _parquet(path: Path, column: str, wild: str) -> None:
    import duckdb

    rows = _values(column, wild)
    value = wild.strip('"')
    kind = "HUGEINT" if value.lstrip("-").isdigit() and len(value) < 39 else "VARCHAR"
    kind = "DOUBLE" if value in ("1e30", "1e308", "NaN", "Infinity", "-Infinity", "-1e30") else kind
    names = ", ".join(rows[0])
    with duckdb.connect() as connection:
        columns = ", ".join(f"{name} {kind if name == column else 'VARCHAR'}" for name in rows[0])
        connection.execute(f"CREATE TABLE t({columns})")
        for row in rows:
            connection.execute(f"INSERT INTO t({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")


_FILES: dict[str, Callable[[Path, str, str], None]] = {
    "jsonl": _jsonl,
    "json": _json,
    "yaml": _yaml,
    "csv": _csv,
    "xlsx": _xlsx,
    "parquet": _parquet,
}


@each("suffix", _FILES)
def test_a_number_in_a_file_is_read_or_refused_with_its_place(suffix: str, tmp_path: Path) -> None:
    read, refused = 0, []
    slow = suffix in ("xlsx", "parquet")  # each file costs a process, or a connection
    for column in _COLUMNS[::5] if slow else _COLUMNS:
        for number, wild in enumerate(WILD[::4] if slow else WILD):
            path = tmp_path / f"{column}_{number}.{suffix}"
            try:
                _FILES[suffix](path, column, wild)
            except (OverflowError, TypeError):
                continue  # no such file can be written
            try:
                inputs = read_inputs(path, None, FileOptions(), allow_unmatched=True)
            except InputError as error:
                refused.append((str(error), column, wild))
                continue
            read += 1
            for value in (*inputs.cases, *inputs.predictions):
                encode_value(value)
            assert_bounded(usage_of(inputs.predictions), inputs.predictions)
    assert read
    assert refused
    for message, column, wild in refused:
        assert message.count(f".{suffix}"), (column, wild, message)
        assert len(message) < 600, (column, wild, message)


def assert_bounded(usage: UsageTotals | None, predictions: Sequence[Prediction]) -> None:
    """Assert that each sum fits into 64 bits, and each time into a histogram."""
    if usage is not None:
        sums = (usage.input, usage.output, usage.total, usage.cost_usd)
        assert all(value is None or 0 <= value < 2**63 for value in sums)
    assert all(0 <= seconds <= MOST for one in predictions for _, seconds in one.timings_s)
