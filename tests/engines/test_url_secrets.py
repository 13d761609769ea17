"""A database's URL may name its secrets by variables of the environment, so that it can travel without them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import make_url

from assay.errors import DatabaseError
from assay.model import DatabaseUrl
from many_cases import each


@given(password=st.text(min_size=1).filter(lambda text: "\0" not in text and text.isprintable()))
def test_any_password_comes_from_the_environment_as_it_is(password: str) -> None:
    url = DatabaseUrl.parse("postgresql://shop:${SHOP_PASSWORD}@host:5432/{db_id}").render("one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_PASSWORD", password)
        revealed = url.reveal()
    assert make_url(revealed).password == password
    assert str(url) == str(DatabaseUrl(text="postgresql://shop:x@host:5432/one"))
    assert "SHOP_PASSWORD" in url.text
    assert revealed not in repr(url)


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    with pytest.raises(DatabaseError, match="environment variable SHOP_PASSWORD, which is not set"):
        DatabaseUrl(text="postgresql://shop:${SHOP_PASSWORD}@host/one").reveal()


@each(
    ("text", "holds"),
    [
        ("postgresql://shop:secret@host/one", True),
        ("postgresql://shop:${PASSWORD}@host/one", False),
        ("postgresql://shop:${PASSWORD}x@host/one", True),
        ("postgresql://shop:$PASSWORD@host/one", True),
        ("postgresql://shop:${}@host/one", True),
        ("postgresql://shop@host/one", False),
        ("postgresql://host/one", False),
        ("postgresql://host/one?password=secret", True),
        ("postgresql://host/one?password=${PASSWORD}&sslmode=require", False),
        ("postgresql://${USER}:${PASSWORD}@host/one", False),
        ("denodo+https://:token@host/one", True),
        ("denodo+https://:${TOKEN}@host/one", False),
        ("sqlite:////data/one.sqlite", False),
        ("sqlite:////data/a:b/one.sqlite", False),
        ("sqlite:////data/me@home/one.sqlite", False),
        ("duckdb:///one.duckdb", False),
    ],
)
def test_a_url_knows_whether_a_secret_stands_in_it(text: str, holds: bool) -> None:
    assert DatabaseUrl(text=text).holds_secret is holds


def test_a_path_is_taken_literally(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "there")
    assert DatabaseUrl(text="sqlite:///${HERE}/one.sqlite").path == "${HERE}/one.sqlite"
