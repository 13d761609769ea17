"""The numbers are those of ragas with the datacompy that it imports with: kept ones always, new ones where it is."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from tests.ragas import asked, corpus

from assay.errors import InputError
from assay.ragas import DataCompyScore, TableComparison, compare_tables
from assay.ragas.tables import Table, as_table

MEASURES = ("precision", "recall", "f1")


def assert_same(case: dict[str, Any], said: dict[str, Any], **options: Any) -> None:
    ours = compare_tables(case["reference"], case["response"], **options)
    assert said == {
        "paired": ours.paired_rows,
        "matching": ours.matching_rows,
        "unequal": {column.name: column.unequal for column in ours.columns},
        **{mode: pytest.approx(_numbers(ours, mode), abs=1e-12) for mode in ("rows", "columns")},
    }, case


def _numbers(ours: TableComparison, mode: Any) -> list[float]:
    return [ours.score(mode, measure) for measure in MEASURES]  # type: ignore[arg-type]


def test_the_numbers_are_those_that_ragas_gave() -> None:
    cases = asked.kept()
    assert len(cases) >= 400
    assert len({tuple(case["said"]["rows"]) for case in cases}) > 20
    for case in cases:
        assert_same(case, case["said"], **case["options"])


def test_the_metric_says_the_numbers_that_ragas_gave() -> None:
    for case in [case for case in asked.kept() if not case["options"]][:100]:
        pair = {side: case[side] for side in ("reference", "response")}
        for mode in ("rows", "columns"):
            given = [DataCompyScore(mode, measure).score(**pair).value for measure in MEASURES]  # type: ignore[arg-type]
            assert given == pytest.approx(case["said"][mode], abs=1e-12)


@pytest.fixture(scope="module")
def oracle() -> Iterator[asked.Oracle]:
    python = asked.interpreter()
    if python is None:
        pytest.skip("no interpreter has ragas 0.4.3 with datacompy 0.18.1: ASSAY_RAGAS_PYTHON may name one")
    with asked.opened(python) as opened:
        yield opened


def test_the_kept_numbers_are_still_what_ragas_says(oracle: asked.Oracle) -> None:
    for case in asked.kept()[::4]:
        assert oracle.ask(case) == case["said"]
    assert json.loads(asked.KEPT.read_text(encoding="utf-8"))["versions"][:2] == oracle.versions[:2]


@pytest.mark.parametrize("seed", range(3))
def test_pairs_never_seen_score_as_with_ragas(oracle: asked.Oracle, seed: int) -> None:
    chance = Random(seed)
    for _ in range(60):
        reference, response = corpus.pair(chance)
        case = {"reference": reference, "response": response, "options": corpus.options(chance)}
        assert_same(case, oracle.ask(case), **case["options"])


KEYS = {"integers": ["1", "2", "3", "4"], "texts": ["x", "y", "Z", "é"], "floats": ["1.5", "2", "3.0", "1"]}


@pytest.mark.parametrize("seed", range(2))
def test_keys_pair_rows_as_with_datacompy(oracle: asked.Oracle, seed: int) -> None:
    chance = Random(seed)
    for _ in range(60):
        names = ["k", "K2", "v", "w"][: chance.randint(1, 4)]
        pools = [*(chance.choice(list(KEYS.values())) for _ in names[:2]), ["1", "2"], ["1", "2.0", "x", ""]]
        texts = []
        for _ in range(2):
            rows = [[chance.choice(pools[place]) for place in range(len(names))] for _ in range(chance.randint(1, 6))]
            texts.append("\n".join(",".join(row) for row in [names, *rows]))
        options = {"join_columns": names[:2]}
        case = {"reference": texts[0], "response": texts[1], "options": options}
        said = oracle.ask(case)
        if "error" in said:
            # By chance one side of a text key may hold nothing but numbers.
            with pytest.raises(InputError, match="no row can be paired"):
                compare_tables(*texts, **options)  # type: ignore[arg-type]
        else:
            assert_same(case, said, **options)


pandas = pytest.importorskip("pandas")
datacompy = pytest.importorskip("datacompy", minversion="1.1")


def theirs(reference: str, response: str) -> dict[str, int]:
    with warnings.catch_warnings():
        # Newer releases of pandas deprecate what datacompy does: no concern of these tests.
        warnings.simplefilter("ignore")
        frames = [pandas.read_csv(io.StringIO(text)) for text in (reference, response)]
        compared = datacompy.PandasCompare(*frames, on_index=True)
    return {column["column"]: int(column["unequal_cnt"]) for column in compared.column_stats}


def kinds(table: Table) -> dict[str, str]:
    """By column: numbers, and texts and truths without an absent cell. The others are where they differ."""
    return {
        column.name.lower(): column.kind
        for column in table.columns
        if column.kind == "number" or None not in column.cells
    }


@pytest.mark.parametrize("seed", range(4))
def test_columns_of_one_kind_differ_in_as_many_rows(seed: int) -> None:
    chance = Random(seed)
    held = 0
    for _ in range(60):
        pair = corpus.pair(chance, huge=False)
        try:
            compared = compare_tables(*pair)
        except InputError:
            continue
        wanted, given = (kinds(as_table(text)) for text in pair)
        unequal = theirs(*pair)
        for column in compared.columns:
            if column.name in wanted and wanted[column.name] == given.get(column.name):
                assert column.unequal == unequal[column.name], (column.name, pair)
                held += 1
    assert held > 40


def test_a_text_in_one_row_costs_its_column_there_and_its_row_here() -> None:
    pair = "id,v\n1,2.5\n2,3\n", "id,v\n1,2.5\n2,unknown\n"
    compared = compare_tables(*pair)
    assert {column.name: column.unequal for column in compared.columns} == {"id": 0, "v": 1}
    assert compared.score("rows", "f1") == 0.5
    assert theirs(*pair) == {"id": 0, "v": 2}
