"""datacompy 1.x: docs/guides/ragas.md says where its numbers differ, and here they do not."""

from __future__ import annotations

import io
import warnings
from random import Random

import pytest
from tests.ragas import corpus

from assay.errors import InputError
from assay.ragas import compare_tables
from assay.ragas.tables import Table, as_table

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
