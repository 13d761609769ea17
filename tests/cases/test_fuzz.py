"""Any SQL text comes back as it was written, whatever the format."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.cases import load_cases, load_predictions
from assay.errors import AssayError

pytestmark = pytest.mark.slow

# What no text file may hold (surrogates), and what XML and YAML have no way to write as it is.
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t\r"), max_size=60)
SQL = st.one_of(
    TEXT,
    st.lists(
        st.sampled_from(
            ["SELECT", "'", '"', "''", '""', "\n", "\t", ",", ";", "--", " ", "é", "😀", "NO", "1", "\\", "{", "#"]
        )
    ).map("".join),
)
QUERY = SQL.filter(lambda text: text.strip() and not re.search(r"^[ \t]*-{3,}[ \t]*$", text, re.MULTILINE))


WORKBOOK = pytest.param(".xlsx", marks=pytest.mark.slow)  # each is read in a process of its own


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv", ".yaml", WORKBOOK])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(queries=st.lists(QUERY, min_size=1, max_size=5))
def test_sql_text_survives_every_format(suffix, queries, formats, writers):
    rows = [
        {"id": f"c{number}", "question": query, "gold": query, "pred": query} for number, query in enumerate(queries)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = writers[suffix](Path(folder) / f"set{suffix}", rows)
        cases = load_cases(path, formats=formats)
        loaded = load_predictions(path, formats=formats)
    assert [case.golds for case in cases] == [(query,) for query in queries]
    assert [case.question for case in cases] == queries
    assert [prediction.query for prediction in loaded.predictions] == queries


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".yaml", ".sql", WORKBOOK, ".parquet"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(
        st.binary(max_size=80),
        st.lists(
            st.sampled_from(
                [
                    "question",
                    "gold",
                    "pred",
                    "id",
                    ",",
                    ":",
                    '"',
                    "{",
                    "}",
                    "[",
                    "]",
                    "- ",
                    "\n",
                    "1",
                    "null",
                    "\t",
                    "&a",
                    "*a",
                ]
            )
        ).map(lambda parts: "".join(parts).encode()),
    )
)
def test_any_bytes_load_or_raise_an_error_with_the_files_name(suffix, content, formats):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"set{suffix}"
        path.write_bytes(content)
        for load in (load_cases, load_predictions):
            message = ""
            try:
                loaded = load(path, formats=formats)
            except AssayError as error:
                message = str(error)
            assert message.startswith(str(path)) if message else loaded
