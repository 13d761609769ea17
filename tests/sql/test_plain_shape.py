"""Of a plain query nothing need be parsed: the parser says the same of its order, its limit and its chance."""

from __future__ import annotations

import random

import pytest

from assay.sql import is_nondeterministic, is_plain, may_be_cut, read_shape
from assay.sql import shape as shapes

NAMES = ("Top", "Limit", "Order by", "Stop", "Fetch", "random()", "current_date", "Now", "Offset 1", 'a"b', "x")
VALUES = ("'stop'", "'LIMIT 1'", "'it''s now'", "7", "-1.5", "'a' || 'b'", '"Top"', "now", "rand", "NULL", "'\\'")
FORMS = (
    "SELECT {name} FROM {table}",
    "SELECT COUNT({name}) FROM {table} WHERE {other} = {value}",
    "select {name} from {table} where {other} > {value} and {name} <> {value}",
    "SELECT MAX({name}) FROM {table} WHERE {other} LIKE {value} OR {name} IS NOT {value}",
    "SELECT {name} FROM {table} WHERE {other} = {value} ORDER BY {name} LIMIT 1",
    "SELECT {name} FROM {table} WHERE {other} = random()",
)


def queries() -> list[str]:
    chance = random.Random(16)

    def quoted() -> str:
        return '"{}"'.format(chance.choice(NAMES).replace('"', '""'))

    return [
        chance.choice(FORMS).format(name=quoted(), table=quoted(), other=quoted(), value=chance.choice(VALUES))
        for _ in range(400)
    ]


def test_the_text_of_a_plain_query_says_what_the_parser_says(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [query for query in queries() if is_plain(query)]
    assert 150 < len(plain) < 400
    short = [(read_shape(query, "sqlite"), is_nondeterministic(query, "sqlite")) for query in plain]
    assert not any(may_be_cut(query, "sqlite") for query in plain)
    assert any(may_be_cut(query) for query in plain)  # by their letters alone, some might be
    for found in (read_shape, is_nondeterministic):
        found.cache_clear()
    monkeypatch.setattr(shapes, "is_plain", lambda _: False)
    long = [(read_shape(query, "sqlite"), is_nondeterministic(query, "sqlite")) for query in plain]
    for found in (read_shape, is_nondeterministic):
        found.cache_clear()
    assert [one for one in zip(plain, short, long, strict=True) if one[1] != one[2]] == []
