"""A query's tokens for a reader, and what differs between two queries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.sql.display import LONGEST, differing, tokens_of
from many_cases import each

_WORDS = ["SELECT", "FROM", "WHERE", "GROUP", "BY", "AND", "OR", "AS", "T1", "'x", *'(),.a"`1;']
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(_WORDS), max_size=30).map(" ".join))


def _marked(gold: str, predicted: str, alike: tuple[str, ...] = ()) -> str:
    sides = tokens_of(gold), tokens_of(predicted)
    found = [
        " ".join(token.text for token in side if token.place in places)
        for side, places in zip(sides, differing(*sides, alike), strict=True)
    ]
    return " / ".join(found)


@given(TEXTS)
def test_the_tokens_are_the_text_and_differ_from_nothing_of_their_own(text: str) -> None:
    tokens = tokens_of(text)
    assert "".join(token.text for token in tokens) == text
    assert [token.place for token in tokens] == list(range(len(tokens)))
    assert differing(tokens, tokens_of(text)) == (frozenset(), frozenset())


@given(TEXTS, TEXTS)
def test_what_differs_are_places_of_tokens_that_count(gold: str, predicted: str) -> None:
    sides = tokens_of(gold), tokens_of(predicted)
    for side, places in zip(sides, differing(*sides, ["SELECT"]), strict=True):
        assert all(side[place].is_meaningful for place in places)


@each(
    ("gold", "predicted", "marked"),
    [
        ("SELECT a FROM t", "select A  from T; -- the same", " / "),
        ("SELECT a FROM t", "SELECT a, b FROM t", " / , b"),
        ("SELECT a FROM t WHERE b = 1 AND c = 2", "SELECT a FROM t WHERE c = 3 AND b = 1", "2 / 3"),
        ("SELECT a FROM t", "SELECT a FROM t ORDER BY a", " / ORDER BY a"),
        ("SELECT a FROM t WHERE c = 'x'", 'SELECT a FROM t WHERE c = "x"', " / "),
        (
            "SELECT T1.n FROM s AS T1 JOIN p AS T2 ON T1.i = T2.i WHERE T1.x = 'F'",
            "SELECT T2.n FROM s AS T2 JOIN p AS T1 ON T2.i = T1.i WHERE T2.x = 'f'",
            "T1 T2 'F' / T2 T1 'f'",  # where the aliases are declared they differ
        ),
        ("SELECT T1.n FROM db.s AS T1", "SELECT s.n FROM db.s", "AS T1 / "),
        ("SELECT a.n FROM s AS a JOIN s AS b ON a.i = b.j", "SELECT b.n FROM s AS a JOIN s AS b ON a.i = b.j", "a / b"),
        ("SELECT 'open", "SELECT 'other", "'open / 'other"),
    ],
)
def test_marked(gold: str, predicted: str, marked: str) -> None:
    assert _marked(gold, predicted) == marked


def test_clauses_that_say_the_same_are_not_marked_unless_nothing_else_is() -> None:
    gold = "SELECT n FROM x AS a JOIN y AS b ON a.i = b.j WHERE n > 1"
    swapped = "SELECT n FROM y AS b JOIN x AS a ON b.j = a.i WHERE n > 2"
    assert _marked(gold, swapped, ("FROM",)) == "1 / 2"
    assert _marked(gold, swapped.replace("2", "1"), ("FROM",)) != " / "


def test_of_a_long_text_the_rest_is_one_token() -> None:
    text = "SELECT 1" + " " * LONGEST + "FROM t"
    tokens = tokens_of(text)
    assert "".join(token.text for token in tokens) == text
    assert tokens[-1].text.strip() == "FROM t"
    assert differing(tokens_of("a " * 2_000), tokens_of("b " * 2_000)) == (frozenset(), frozenset())
