"""Messages name a column's option as the settings declare it."""

from __future__ import annotations

from typing import get_args

import pytest

from assay.cases.fields import Field, option_of
from assay.settings.columns import CASE_COLUMNS, PREDICTION_COLUMNS


@pytest.mark.parametrize("field", sorted(set(get_args(Field)) & {*CASE_COLUMNS, *PREDICTION_COLUMNS}))
def test_the_option_of_a_field_is_the_declared_one(field: Field) -> None:
    declared = {columns[field].option for columns in (CASE_COLUMNS, PREDICTION_COLUMNS) if field in columns}
    assert option_of(field) in declared
