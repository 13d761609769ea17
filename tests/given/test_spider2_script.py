"""The metric `spider2_lite` beside the benchmark's script, on layouts that are made here."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from assay.cases.benchmarks.spider2 import Spider2Format
from assay.cases.given.files import ResultFiles, of_answer
from assay.metrics.spider2 import Spider2Lite
from assay.model import Case, Execution, FieldNames, GivenResult, Prediction, Result
from assay.ports import Executions

pytest.importorskip("pandas")

from tests.given.spider2_script import score_of

_POOLS = (
    ["1", "2", "10", "-3", "007"],
    ["0.5", "1.25", "2.004", "1e3", "12345678.9"],
    ["a", "b c", "é", "x,y", 'q"t', "2024-01-31", "True"],
    ["True", "False"],
    ["1", "", "NA", "2"],
    ["", "null"],
    ["a", "", "0"],
    ["2024-01-31", "2024-01-31 00:00:00", "", "NaN", "None"],
    ["ä", "a\u0308", "日本", "İ", "\u00a0", "١٢", "😀"],
    ["9223372036854775807", "-9223372036854775808", "18446744073709551615", "1", ""],
    ["1e308", "-0", "inf", "nan", "1_000", "0x1F", "+5"],
    ["953311232035413778", "2266837403735683845", "9533112320354137780"],
)


def _gold(random: Random) -> list[list[str]]:
    pools = [random.choice(_POOLS) for _ in range(random.choice((1, 2, 2, 3, 4)))]
    rows = [[random.choice(pool) for pool in pools] for _ in range(random.choice((0, 1, 2, 3, 6)))]
    return [[f"c{at}" for at in range(len(pools))], *rows]


def _written(rows: Sequence[Sequence[str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _shifted(cell: str, by: float) -> str:
    try:
        return repr(float(cell) + by)
    except ValueError:
        return cell


def changes(rows: list[list[str]], raw: bytes, wanted: Sequence[int], random: Random) -> Iterator[tuple[str, bytes]]:
    """Predictions made of a gold result, each with what was done to it."""
    head, *body = rows
    width = len(head)
    full = [(row + [""] * width)[:width] for row in rows]
    order = random.sample(range(width), width)
    yield "as it is", raw
    yield "columns permuted", _written([[row[at] for at in order] for row in full])
    yield "column added", _written([[*row, str(at)] for at, row in enumerate(full)])
    yield "column of labels", _written([["" if at == 0 else str(at), *row] for at, row in enumerate(full)])
    yield "labels without a header", _written([row if at == 0 else [str(at), *row] for at, row in enumerate(full)])
    yield "duplicate headers", _written([["a"] * width, *full[1:]])
    yield "no row", _written([head])
    yield "empty", b""
    yield "blank", b"\n \n"
    yield "an open quote", raw + b'"'
    yield "semicolons", raw.replace(b",", b";")
    yield "UTF-8 with its mark", b"\xef\xbb\xbf" + raw
    yield "UTF-16", raw.decode("utf-8").encode("utf-16")
    yield "Latin-1", raw + b"\xe9\n"
    yield "other line ends", raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    yield "blank lines", raw.replace(b"\n", b"\n\n  \n")
    if wanted and max(wanted) < width:
        yield "the listed columns", _written([[row[at] for at in wanted] for row in full])
        yield "the first listed column", _written([[row[wanted[0]]] for row in full])
    if width > 1:
        gone = random.randrange(width)
        yield "column dropped", _written([[cell for at, cell in enumerate(row) if at != gone] for row in full])
    if not body:
        return
    yield "rows permuted", _written([head, *random.sample(body, len(body))])
    yield "row dropped", _written([head, *body[1:]])
    yield "row twice", _written([head, *body, body[-1]])
    torn = [random.sample(column, len(column)) for column in zip(*full[1:], strict=True)]
    yield "rows torn apart", _written([head, *zip(*torn, strict=True)])
    for by in (0.005, 0.02):
        yield f"numbers moved by {by}", _written([head, *[[_shifted(cell, by) for cell in row] for row in body]])
    at, row = random.randrange(len(body)), random.choice(body)
    for name, other in (
        ("NULL", [random.choice(["", "NULL", "0"]), *row[1:]]),
        ("short row", row[: max(1, width - 1)]),
        ("long row", [*row, "9"]),
    ):
        yield name, _written([head, *body[:at], other, *body[at + 1 :]])


def _conditions(golds: Sequence[list[list[str]]], random: Random) -> Any:
    """A `condition_cols` of each form, right ones and wrong ones."""
    flat = [random.randrange(len(golds[0][0])) for _ in range(random.choice((1, 1, 2)))]
    lists = [[random.randrange(len(gold[0]))] for gold in golds]
    return random.choice([[], [[]], None, flat, flat, lists, lists[:-1], [*lists, [0]], [*flat, 3]])


def _metric_score(case: Case, given: GivenResult) -> float | None:
    executions = Executions(golds=tuple(gold.execution() for gold in case.results), predicted=given.execution())
    return Spider2Lite().score(case, Prediction(case_id=case.id, result=given), executions, None).value


_ODD: tuple[Any, ...] = (
    *(0, 1, 7, -1, 0.5, True, False, "", "0", "c0", {}, {"c0": 1}),
    *([9], [-1], [-9], [0, 9], [1.0], ["0"], ["c0"], [None, 0], [0, None], [True], [True, False], [10**30]),
    *([[]], [None], [[], [0]], [[0], []], [[9], [9], [9]], [[0], 1], [[9], [0], [0]], [[-1], [0], [0]], [["0"]]),
    [[[0]]],
)
"""Values of `condition_cols` that no benchmark has, or that point past tables."""
_FILES: tuple[bytes, ...] = (
    *(b"", b"\n \n", b"c0\n", b"c0,c0\n1,2\n", b"c0\n1,2\n", b"\xff\xfe", b'c0\n"a\n', b"c0\n1\n2,3\n"),
)
"""Result files that are empty, have only a header, or cannot be read."""


def test_what_no_benchmark_has_scores_as_by_the_script(tmp_path: Path) -> None:
    """Odd columns and orders, files that are missing, empty or broken, and lettered files beside ``ID.csv``."""
    random, ones, unusable = Random(36), 0, 0
    results = tmp_path / "gold" / "exec_result"
    results.mkdir(parents=True)
    rules, tables = {}, {}
    for number in range(250):
        name = f"local{number:03}"
        golds = [_gold(random) for _ in range(random.choice((0, 1, 1, 2, 3)))]
        endings = ["", *["_a", "_b", "_c"]] if random.random() < 0.3 else ["_a", "_b", "_c"]
        for gold, ending in zip(golds, endings, strict=False):
            data = _written(gold) if random.random() < 0.8 else random.choice(_FILES)
            (results / f"{name}{ending}.csv").write_bytes(data)
        said = _conditions(golds, random) if golds and random.random() < 0.2 else random.choice(_ODD)
        rules[name] = {"instance_id": name, "condition_cols": said}
        if random.random() < 0.9:
            rules[name]["ignore_order"] = random.choice([True, True, False, None, 0, 1, "false", ""])
        tables[name] = golds
    (tmp_path / "gold" / "spider2lite_eval.jsonl").write_text("\n".join(map(json.dumps, rules.values())))
    cases = {case.id: case for case in Spider2Format().cases(tmp_path, FieldNames()).cases}
    for name, rule in rules.items():
        gold = random.choice(tables[name] or [_gold(random)])
        for what, data in random.sample(list(changes(gold, _written(gold), (), random)), 5):
            (tmp_path / "p.csv").write_bytes(data)
            order = rule.get("ignore_order", False)
            expected = score_of(results, name, tmp_path / "p.csv", rule["condition_cols"], ignore_order=order)
            given = ResultFiles(tmp_path, of_answer, like_pandas=True).read("p.csv")
            assert _metric_score(cases[name], given) == expected, (name, what, rule, gold)
            ones += expected
            unusable += not any(gold.failure is None for gold in cases[name].results)
    assert ones > 100
    assert unusable > 100


def _layout(folder: Path, cases: dict[str, tuple[list[bytes], Any, bool]]) -> dict[str, Case]:
    """The cases of a benchmark folder with these results, columns that count, and names with or without letters."""
    results = folder / "gold" / "exec_result"
    results.mkdir(parents=True)
    with (folder / "gold" / "spider2lite_eval.jsonl").open("w") as file:
        for name, (golds, conditions, is_plain) in cases.items():
            file.write(json.dumps({"instance_id": name, "condition_cols": conditions, "ignore_order": True}) + "\n")
            for letter, gold in zip("abcdef", golds, strict=False):
                (results / (f"{name}.csv" if is_plain else f"{name}_{letter}.csv")).write_bytes(gold)
    return {case.id: case for case in Spider2Format().cases(folder, FieldNames()).cases}


def test_every_prediction_scores_as_by_the_script(tmp_path: Path) -> None:
    random, counts, ones = Random(34), Counter[str](), Counter[str]()
    tables = [[_gold(random) for _ in range(random.choice((1, 1, 2, 3)))] for _ in range(60)]
    made = {
        f"local{number:03}": (list(map(_written, golds)), _conditions(golds, random), random.random() < 0.3)
        for number, golds in enumerate(tables)
    }
    made = {name: (golds[:1] if is_plain else golds, said, is_plain) for name, (golds, said, is_plain) in made.items()}
    cases = _layout(tmp_path, made)
    files = ResultFiles(tmp_path, of_answer, like_pandas=True)
    for (name, (_, said, _)), golds in zip(made.items(), tables, strict=True):
        flat = said[0] if said and isinstance(said[0], list) else said
        for what, data in changes(golds[0], _written(golds[0]), flat or (), random):
            (tmp_path / "p.csv").write_bytes(data)
            expected = score_of(tmp_path / "gold" / "exec_result", name, tmp_path / "p.csv", said)
            assert _metric_score(cases[name], files.read("p.csv")) == expected, (name, what, said, golds)
            counts[what] += 1
            ones[what] += expected
    assert set(counts) - set(ones) == set()
    assert ones["as it is"] > 30
    assert 0 < ones["numbers moved by 0.02"] < ones["numbers moved by 0.005"]


def test_every_question_of_the_benchmark_scores_as_by_the_script(tmp_path: Path) -> None:
    named = os.environ.get("ASSAY_SHARED_DATA")
    shared = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    gold = shared / "spider2-lite" / "evaluation_suite" / "gold"
    if not gold.is_dir():
        pytest.skip("the questions of Spider 2.0-lite are not beside the repository")
    random = Random(35)
    rules = {
        rule["instance_id"]: rule
        for rule in map(json.loads, (gold / "spider2lite_eval.jsonl").read_text().splitlines())
    }
    for case in Spider2Format().cases(gold, FieldNames()).cases:
        if not case.results or (chosen := random.choice(case.results)).failure is not None:
            continue
        raw, said = (gold / "exec_result" / chosen.source).read_bytes(), rules[case.id]["condition_cols"]
        rows = [row for row in csv.reader(io.StringIO(raw.decode("utf-8"), newline="")) if row]
        flat = said[0] if said and isinstance(said[0], list) else said
        for what, data in random.sample(list(changes(rows, raw, flat or (), random)), 1):
            (tmp_path / "p.csv").write_bytes(data)
            expected = score_of(gold / "exec_result", case.id, tmp_path / "p.csv", said)
            given = ResultFiles(tmp_path, of_answer, like_pandas=True).read("p.csv")
            assert _metric_score(case, given) == expected, (case.id, chosen.source, what)


@pytest.mark.parametrize(("engine", "value"), [("bigquery", 0.0), ("snowflake", 0.0), ("sqlite", 1.0)])
def test_an_empty_result_of_a_warehouse_is_wrong_also_where_gold_is_empty(engine: str, value: float) -> None:
    gold = GivenResult.of([], columns=("n",), cells="text")
    case = Case(id="1", question="?", results=(gold,), engine=engine)
    ran = Execution(query="SELECT 1 AS n WHERE 1 = 0", status="empty", result=Result(columns=("n",), rows=()))
    executions = Executions(golds=(gold.execution(),), predicted=ran)
    assert Spider2Lite().score(case, Prediction(case_id="1", query=ran.query), executions, None).value == value


def test_the_first_fenced_query_of_a_text_is_the_prediction(tmp_path: Path) -> None:
    (tmp_path / "local001.sql").write_text("First:\n```sql\nSELECT 1\n```\nor\n```sql\nSELECT 2\n```\n")
    (tmp_path / "local002.sql").write_bytes(b"SELECT '\xe9'")
    first, second = Spider2Format().predictions(tmp_path, FieldNames()).predictions
    assert first.query == "SELECT 1"
    assert "local002.sql" in second.failure.message
