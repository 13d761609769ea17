"""Secrets are masked where they stand as such, and words that hold their letters are not."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model.secret import masked


@given(secret=st.text(string.ascii_letters + string.digits + "%$.*+", min_size=1, max_size=30))
@pytest.mark.parametrize(
    "said",
    [
        "cannot connect to postgresql://boss:{}@127.0.0.1:5432/x",
        "Authorization: Bearer {}",
        "the password {} is wrong",
        'password "{}" for boss',
        "token={}",
    ],
)
def test_a_secret_of_any_length_is_masked_where_a_credential_stands(said: str, secret: str) -> None:
    assert masked(said.format(secret), [secret]) == said.format("***")


@pytest.mark.parametrize("secret", ["p", "on", "res", "pon", "the"])
def test_a_short_secret_makes_no_holes_in_words(secret: str) -> None:
    said = "the server gave no response on port 80: permission pending"
    assert masked(said, [secret]) == said


@pytest.mark.parametrize("secret", ["long-enough", "x" * 8])
def test_a_long_secret_is_masked_within_words_too(secret: str) -> None:
    assert masked(f"a{secret}b", [secret]) == "a***b"


def test_a_secret_of_medium_length_is_masked_as_a_word() -> None:
    assert masked("latest: test, 'test'", ["test"]) == "latest: ***, '***'"
