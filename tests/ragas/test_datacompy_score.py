"""DataCompyScore and compare_tables as a user calls them."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pytest

import assay
from assay.errors import InputError, UsageError
from assay.model import Result
from assay.ragas import DataCompyScore, SingleTurnSample, compare_tables

RESPONSE = """acct_id,dollar_amt,name,float_fld,date_fld
10000001234,123.45,George Maharis,14530.1555,2017-01-01
10000001235,0.45,Michael Bluth,1,2017-01-01
10000001236,1345,George Bluth,,2017-01-01
10000001237,123456,Bob Loblaw,345.12,2017-01-01
10000001238,1.05,Lucille Bluth,,2017-01-01
10000001238,1.05,Loose Seal Bluth,,2017-01-01
"""
REFERENCE = """acct_id,dollar_amt,name,float_fld
10000001234,123.4,George Michael Bluth,14530.155
10000001235,0.45,Michael Bluth,
10000001236,1345,George Bluth,1
10000001237,123456,Robert Loblaw,345.12
10000001238,1.05,Loose Seal Bluth,111
"""
SAMPLE = SingleTurnSample(response=RESPONSE, reference=REFERENCE)


@pytest.mark.parametrize(
    ("mode", "metric", "expected"),
    [
        ("rows", "precision", 0.0),
        ("rows", "recall", 0.0),
        ("rows", "f1", 0.0),
        ("columns", "precision", 0.2),
        ("columns", "recall", 0.25),
        ("column", "recall", 0.25),
        ("columns", "f1", 2 / 9),
    ],
)
def test_the_example_of_ragas_scores_as_there(mode: Any, metric: Any, expected: float) -> None:
    scorer = DataCompyScore(mode=mode, metric=metric)
    assert scorer.single_turn_score(SAMPLE) == pytest.approx(expected)
    assert asyncio.run(scorer.single_turn_ascore(SAMPLE)) == pytest.approx(expected)


@dataclass
class ForeignSample:
    """A sample of another library: a few attributes more."""

    response: Any
    reference: Any
    multi_responses: None = None


def test_samples_of_other_libraries_and_mappings_are_taken() -> None:
    texts = {"response": "a\n1\n", "reference": "a\n1\n"}
    samples = [ForeignSample(**texts), texts, SingleTurnSample(**texts)]
    assert DataCompyScore().batch_score(samples) == [1.0, 1.0, 1.0]
    assert asyncio.run(DataCompyScore().batch_ascore(samples)) == [1.0, 1.0, 1.0]


def test_frames_of_every_library_are_taken() -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    cells = {"id": [1, 2], "name": ["x", None], "paid": [True, False], "at": [datetime(2024, 1, 1), None]}  # noqa: DTZ001 (without a zone, as in most tables)
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    frames = [
        pandas.DataFrame(cells),
        polars.DataFrame(cells),
        polars.LazyFrame(cells),
        pyarrow.table(cells),
        rows,
        cells,
        Result.of(list(zip(*cells.values(), strict=True)), columns=list(cells)),
        "id,name,paid,at\n1,x,True,2024-01-01\n2,,False,\n",
    ]
    for reference in frames:
        for response in frames:
            assert compare_tables(reference, response).matches, (type(reference), type(response))


@pytest.mark.parametrize(
    "text", ["", "\n \n", 'a,b\n1,"open', 'a\n1\n"', 'a\n1\r\n"\n', '"', "a\n1\n2,3\n", "a,b\n1,2,3\n"]
)
def test_a_text_that_is_no_csv_has_no_score_and_a_reason(text: str) -> None:
    scorer = DataCompyScore()
    good = "a\n1\n"
    for response, reference, blame in ((text, good, "system"), (good, text, "gold")):
        sample = SingleTurnSample(response=response, reference=reference)
        assert math.isnan(scorer.single_turn_score(sample))
        detail = scorer.detail(sample)
        assert detail.value is None
        assert detail.failure.blame == blame
        assert "text is" in detail.reason
        assert detail.reason in detail.report()


def test_what_else_has_no_score_is_a_failure_of_its_owner() -> None:
    both = {"reference": "a\n1\n", "response": "a,A\n1,2\n"}
    kinds = [DataCompyScore().detail({side: both[side]}).failure.kind for side in both]
    assert kinds == ["unanswered", "no_gold"]
    assert "'a' and 'A'" in DataCompyScore().detail(both).failure.message


@pytest.mark.parametrize("form", ["{}", "-{}", "0.{}", "{}.5", "1e{}"])
@pytest.mark.parametrize("beside", ["1", "", "-1", "1.5", "x"])
def test_numbers_of_any_length_are_compared(form: str, beside: str) -> None:
    text = f'v,w\n{form.format("9" * 5000)},1\n"{beside}",1\n'
    assert compare_tables(text, text).matches
    assert compare_tables(text, "v,w\n7,1\n7,1\n").matching_rows == 0


def test_rows_pair_by_key_in_any_order() -> None:
    reference, response = "id,v\n1,a\n2,b\n3,c\n", "v,ID\nc,3\nx,2\nd,4\n"
    compared = compare_tables(reference, response, join_columns="id")
    assert (compared.paired_rows, compared.matching_rows) == (2, 1)
    [sample] = next(column for column in compared.columns if column.name == "v").samples
    assert (sample.reference_row, sample.response_row, sample.reference, sample.response) == (2, 2, "b", "x")
    assert [row.cells for row in compared.reference_only_rows] == [(1, "a")]
    assert [row.cells for row in compared.response_only_rows] == [("d", 4)]


def test_keys_that_cannot_pair_are_named() -> None:
    with pytest.raises(InputError, match="response has no key column 'id'"):
        compare_tables("id\n1\n", "a\n1\n", join_columns=["id"])
    with pytest.raises(InputError, match="number in the reference and text in the response"):
        compare_tables("id\n1\n", "id\nx\n", join_columns=["id"])
    assert math.isnan(DataCompyScore(join_columns="id").single_turn_score({"reference": "id\n1\n", "response": "b\n1"}))


def test_tolerances_may_be_given_by_column() -> None:
    reference, response = "price,weight\n1.00,1.0\n", "price,weight\n1.01,1.01\n"
    compared = compare_tables(reference, response, abs_tol={"Price": 0.02})
    assert {column.name: column.unequal for column in compared.columns} == {"price": 0, "weight": 1}
    assert compare_tables(reference, response, rel_tol={"default": 0.02}).matches
    with pytest.raises(UsageError, match="'pirce'"):
        compare_tables(reference, response, abs_tol={"pirce": 0.02})
    with pytest.raises(UsageError, match="at least 0"):
        compare_tables(reference, response, abs_tol=-1)


def test_wrong_use_is_said_at_once() -> None:
    with pytest.raises(UsageError, match="'cells'"):
        DataCompyScore(mode="cells")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'accuracy'"):
        DataCompyScore(metric="accuracy")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no reference"):
        DataCompyScore().single_turn_score(object())
    with pytest.raises(UsageError, match="row 1 is a tuple"):
        compare_tables([(1, 2)], [(1, 2)])


def test_the_report_shows_what_differs() -> None:
    report = DataCompyScore().detail(SAMPLE).report()
    for shown in ("The tables differ", "date_fld", "'Robert Loblaw'", "(absent)", "Rows that only the response has: 1"):
        assert shown in report
    assert "The tables are equal" in compare_tables("a\n1\n", "A\n1.0\n").report()
    assert "which is not evidence" in compare_tables("a\n1\n", "b\n1\n").report()


def test_dates_compare_by_instant_and_with_texts_that_say_them() -> None:
    days = [{"day": date(2024, 1, 1)}, {"day": None}]
    assert compare_tables(days, [{"day": datetime(2024, 1, 1)}, {"day": None}]).matches  # noqa: DTZ001
    assert compare_tables(days, "day,x\n2024-01-01,\n,\n").columns[0].unequal == 0
    assert compare_tables(days, [{"day": "soon"}, {"day": None}]).columns[0].unequal == 1
    assert compare_tables(days, [{"day": 5}, {"day": None}]).columns[0].unequal == 1


def test_importing_it_loads_nothing_heavy() -> None:
    import subprocess
    import sys

    code = "import sys, assay.ragas; print([m for m in ('numpy', 'pandas', 'pyarrow', 'polars') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", assay.__version__
