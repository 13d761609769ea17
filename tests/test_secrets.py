"""Secrets are masked where they stand as such, and words that hold their letters are not."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DatabaseError, InputError
from assay.model import DatabaseUrl
from assay.model.databases.secret import masked, masked_address
from assay.systems.address import http_address
from assay.systems.chat.model import chat_address


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


SIGNS = string.ascii_letters + string.digits + ":/?#&=%.-_"


@given(secret=st.text(SIGNS, min_size=1, max_size=20).map(lambda text: f"s3cret{text}s3cret"))
@pytest.mark.parametrize(
    "address",
    [
        "http:http://127.0.0.1:x/a?api_key={}",
        "http:http://h:x/a?b=c&sig={}",
        "http:http://[::1/a?token={}",
        "http:///a?token={}",
        "http:u:{}@h/x",
        "http:http:/u:{}@h/x",
        "http:http://u:{}@h:x/",
        "http://{}@h:x/",
        "u:{}@h/x",
        "h?token={}",
        "postgresql:/u:{}@h/d",
        "h?a=b@c&token={}",
    ],
)
def test_no_secret_is_shown_of_an_address_that_cannot_be_read(address: str, secret: str) -> None:
    assert "s3cret" not in masked_address(address.format(secret))


@pytest.mark.parametrize(
    "address",
    ["http:http://h:x/a", "denodo:h/x", "http://[::1/a", "chat:a b"],
)
def test_an_address_without_a_secret_is_shown_as_it_is(address: str) -> None:
    assert masked_address(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:x/a?api_key=s3cret",
        "http://?api_key=s3cret",
        "http://[::1/a?token=s3cret",
        "http://h h/a?token=s3cret",
        "http://u:s3cret@h\u2100x/a",
        "u:s3cret@h/x",
        "u:s3cret@host",
        "http://h h/a?s3cret",
        "http://h:x/a#s3cret==",
        "http:/u:s3cret@h/x",
        "host.name:80/v1?token=s3cret",
        "h?token=s3cret",
        "ftp://u:s3cret@h/x",
    ],
)
def test_messages_about_unusable_addresses_of_systems_and_judges_show_no_secret(address: str) -> None:
    for read in (lambda: http_address(f"http:{address}", "http"), lambda: chat_address(f"chat:{address}", {})):
        with pytest.raises(InputError) as caught:
            read()
        assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("model", ["llama3:8b", "@cf/meta/llama-3", "claude@20240620", "org/model:free"])
def test_names_of_models_with_signs_of_addresses_stay_names(model: str) -> None:
    assert chat_address(f"chat:{model}", {}).model == model


@pytest.mark.parametrize(
    "url",
    ["postgresql:/u:s3cret@h/d", "postgresql:///u:s3cret@h/d", "mysql:/u:s3cret@h/d", "postgresql://h:x/d?sig=s3cret"],
)
def test_a_database_url_with_a_slash_too_few_or_too_many_shows_no_secret(url: str) -> None:
    try:
        shown = str(DatabaseUrl.parse(url))
    except DatabaseError as error:
        shown = str(error)
    assert shown.startswith(url.partition(":")[0])
    assert "s3cret" not in shown


@pytest.mark.parametrize("url", ["sqlite:////data/a:b@c/one.sqlite", "duckdb:/data/a:b@c.duckdb", "postgresql:///d"])
def test_a_path_with_such_signs_is_shown_as_it_is(url: str) -> None:
    assert str(DatabaseUrl.parse(url)) == url
