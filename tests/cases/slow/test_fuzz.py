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
# What is read as more than the text of a query: a line of dashes separates golds, a code fence is taken off, and the
# word null is how EHRSQL writes that a question has no answer. Hypothesis draws such words from the product's source.
SAYS_MORE = re.compile(r"^[ \t]*-{3,}[ \t]*$|```|\A[\s;]*null[\s;]*\Z", re.MULTILINE | re.IGNORECASE)
QUERY = SQL.filter(lambda text: text.strip() and not SAYS_MORE.search(text))


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv", ".yaml"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(queries=st.lists(QUERY, min_size=1, max_size=5))
def test_sql_text_survives_every_format(suffix, queries, formats, writers):
    _survives(suffix, queries, formats, writers)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(queries=st.lists(QUERY, min_size=1, max_size=60))
def test_sql_text_survives_a_workbook(queries, formats, writers):
    """Each is read in a process of its own: as many texts in fewer files."""
    _survives(".xlsx", queries, formats, writers)


def _survives(suffix, queries, formats, writers):
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


PARTS = ["question", "gold", "pred", "id", ",", ":", '"', "{", "}", "[", "]", "- ", "\n", "1", "null", "\t", "&a", "*a"]
CONTENT = st.one_of(st.binary(max_size=80), st.lists(st.sampled_from(PARTS)).map(lambda parts: "".join(parts).encode()))


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".yaml", ".sql", ".parquet"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=CONTENT)
def test_any_bytes_load_or_raise_an_error_with_the_files_name(suffix, content, formats):
    _loads_or_says(suffix, content, formats)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=CONTENT)
def test_any_bytes_of_a_workbook_load_or_raise_an_error_with_the_files_name(content, formats):
    """Next to none is an archive, so that few say all: what is wrong within one has tests of its own."""
    _loads_or_says(".xlsx", content, formats)


def _loads_or_says(suffix, content, formats):
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
