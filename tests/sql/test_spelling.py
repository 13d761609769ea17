"""A text is read as the engine reads it: characters that look like blanks, and SELECT without outputs."""

from __future__ import annotations

import random

import pytest
from four_engines import ENGINES
from name_oracles import Refused, named_by_us, names_in, opened
from odd_names import TABLES

from assay.sql.query import Query, Unreadable, read_query
from assay.sql.schema_items import nearest_use
from assay.sql.shape import parse_query
from many_cases import each

INVISIBLE = "\ufeff\u200b\u2060\xa0\u2007\u202f\u3000\u2028\x85\u200d\xad\x1f"
WORDS = ["SELECT", "x", "FROM", "b", "WHERE", "id", "=", "1", "AND", "x", "<>", "'p'", "ORDER", "BY", "y"]


def _text(seed: int) -> str:
    """A query with characters that cannot be seen beside its blanks, or in place of them."""
    chance = random.Random(seed)
    odd = chance.choice(INVISIBLE)
    pieces = [odd if chance.random() < 0.2 else ""]
    for word in WORDS:
        blank = odd if chance.random() < 0.1 else ""
        pieces += [word, chance.choice((f" {blank}", f"{blank} ", blank or " "))]
    return "".join(pieces).strip(" ") + (odd if chance.random() < 0.05 else "")


COUNTS = {"sqlite": 2000, "duckdb": 1000, "postgres": 400, "mysql": 200}


@pytest.mark.parametrize("dialect", ENGINES)
def test_odd_blanks_are_read_as_the_engine_reads_them(request: pytest.FixtureRequest, dialect: str) -> None:
    """We read the queries that the engine accepts, as it does; of the others we read none, or say what is unknown."""
    names, accepted, count = names_in(TABLES, dialect), 0, COUNTS[dialect]
    with opened(request, dialect, TABLES) as oracle:
        for text in map(_text, range(count)):
            query = read_query(text, dialect, names)
            is_doubted = isinstance(query, Unreadable) or _has_unknown_names(query)
            try:
                theirs = oracle.columns_named(text)
            except Refused:
                theirs = None
            assert is_doubted == (theirs is None), (text, query)
            if theirs is not None:
                assert named_by_us(query) == theirs, text
                accepted += 1
    assert count / 10 < accepted < count


def _has_unknown_names(query: Query) -> bool:
    sources = [source for select in query.selects for source in select.sources.values()]
    return bool(query.unresolved) or not all(source.is_known for source in sources)


@each("character", INVISIBLE)
def test_characters_in_quotes_and_comments_stay(character: str) -> None:
    text = f"SELECT '{character}', \"a{character}\" /* {character} */ FROM t -- {character}"
    for dialect in ("sqlite", "duckdb", "postgres", "denodo"):
        query = read_query(text, dialect)
        assert isinstance(query, Query)
        assert [node.name for node in query.tree.selects] == [character, f"a{character}"]


def test_a_name_with_such_a_character_is_the_columns_own() -> None:
    query = read_query("SELECT a\xa0b FROM t", "sqlite", names_in({"t": {"a\xa0b": "INTEGER"}}, "sqlite"))
    assert isinstance(query, Query)
    assert query.unresolved == ()
    span = query.span(query.tree.selects[0])
    assert query.text[span.start : span.end] == "a\xa0b"


@each("dialect", ["sqlite", "duckdb", "mysql", "denodo", "snowflake"])
@each("text", ["SELECT", "SELECT DISTINCT", "SELECT FROM a", "SELECT x FROM (SELECT) q", "SELECT 1 UNION SELECT"])
def test_a_select_of_nothing_is_not_read(text: str, dialect: str) -> None:
    assert parse_query(text, dialect) is None
    assert nearest_use(["SELECT x FROM a"], text, dialect, names_in(TABLES, dialect)) is None


def test_postgresql_may_select_nothing() -> None:
    assert parse_query("SELECT FROM a", "postgres") is not None
