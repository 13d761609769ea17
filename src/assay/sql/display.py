"""A query's tokens for a reader, with their kinds, and the tokens that differ between two queries.

Nothing is parsed: tokens and the keywords outside parentheses suffice, so that broken queries can be shown, too. The
page's script ``sql.js`` follows the same rules to colour a query when a case is opened; a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

TokenKind = Literal["comment", "string", "name", "number", "word", "space", "sign", "keyword"]

LONGEST = 20_000
"""The rest of a longer text is one plain token."""
_MOST = 1_500
"""With more tokens on a side, their difference is not searched."""
_MOST_PAIRS = 400
"""Limit for the conditions that are compared with one another."""
_TOKEN = re.compile(
    r"""
      (--[^\n]*|/\*[\s\S]*?(?:\*/|\Z))
    | ('(?:[^']|'')*(?:'|\Z))
    | ("(?:[^"]|"")*(?:"|\Z)|`[^`]*(?:`|\Z))
    | (\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)
    | ((?:[^\W\d]|[@#$])(?:\w|[@#$])*)
    | (\s+)
    | (<>|!=|<=|>=|\|\||::|->>?|[\s\S])
    """,
    re.VERBOSE,
)
_KINDS: tuple[TokenKind, ...] = get_args(TokenKind)
_KEYWORD_WORDS = """
    ALL AND ANY AS ASC BETWEEN BY CASE CAST COLLATE CROSS CURRENT DATE DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS FALSE
    FETCH FILTER FIRST FOLLOWING FOR FROM FULL GLOB GROUP HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LAST LATERAL
    LEFT LIKE LIMIT MINUS NATURAL NEXT NOT NULL NULLS OFFSET ON ONLY OR ORDER OUTER OVER PARTITION PRECEDING QUALIFY
    RANGE RECURSIVE RIGHT ROW ROWS SELECT SET SIMILAR SOME TABLE THEN TOP TRUE UNBOUNDED UNION USING VALUES WHEN WHERE
    WINDOW WITH
"""
_KEYWORDS = frozenset(_KEYWORD_WORDS.split())
_SETS = frozenset({"UNION", "INTERSECT", "EXCEPT", "MINUS"})
_FOLLOWED = {"GROUP": "BY", "ORDER": "BY"}
"""Words that begin a clause only before another one: not in WITHIN GROUP (ORDER BY x)."""
_CLAUSES = {
    **{word: word for word in ("WITH", "SELECT", "FROM", "WHERE", "HAVING", "WINDOW", "QUALIFY")},
    **{word: word for word in ("LIMIT", "OFFSET", "FETCH", *_SETS)},
    **{word: f"{word} {second}" for word, second in _FOLLOWED.items()},
}
_BETWEEN_PIECES = {"WHERE": "AND", "HAVING": "AND", "GROUP BY": ","}
"""Words between the pieces of a clause whose order is free."""


class Token(Struct, frozen=True, kw_only=True):
    """One token of a query's text. All tokens together are the text."""

    place: int
    """Its number among the tokens."""
    text: str
    kind: TokenKind
    key: str = ""
    """Its form for a comparison: words in one letter case, an alias as its table."""
    clause: str = ""
    """The clause that it begins."""

    @property
    def is_meaningful(self) -> bool:
        """Whether it counts in a comparison."""
        return self.kind not in ("space", "comment") and self.text != ";"


def tokens_of(text: str) -> list[Token]:
    """The tokens of a query's text. Never raises."""
    found = [(part[0], _KINDS[(part.lastindex or 1) - 1]) for part in _TOKEN.finditer(text[:LONGEST])]
    words = [place for place, (_, kind) in enumerate(found) if kind not in ("space", "comment")]
    beside = {place: number for number, place in enumerate(words)}

    def upper(number: int) -> str:
        return found[words[number]][0].upper() if 0 <= number < len(words) else ""

    made: list[Token] = []
    begun = _beginnings(found)
    for place, (part, lexed) in enumerate(found):
        word, clause = part.upper(), begun.get(place, "")
        kind: TokenKind = "keyword" if lexed == "word" and word in _KEYWORDS else lexed
        if clause:
            number = beside[place]
            before, after = upper(number - 1), upper(number + 1)
            is_name = before == "." or after == "." or (before == "AS" and word not in ("SELECT", "WITH"))
            distinct_from = word == "FROM" and before == "DISTINCT" and upper(number - 2) in ("IS", "NOT")
            trailing = word == "WITH" and after in ("TIES", "ORDINALITY", "TIME")
            if is_name or distinct_from or trailing or after != _FOLLOWED.get(word, after):
                clause = ""
            if is_name:
                kind = "word"
        made.append(Token(place=place, text=part, kind=kind, key=_key(part, kind), clause=clause))
    if len(text) > LONGEST:
        made.append(Token(place=len(made), text=text[LONGEST:], kind="word"))
    return _with_tables(made)


def _key(text: str, kind: TokenKind) -> str:
    if kind in ("string", "number", "sign"):
        return "<>" if text == "!=" else text
    return (text[1:-1] if kind == "name" else text).lower()


def _with_tables(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, with the table as the key of each alias before a dot: systems choose aliases freely.

    An alias of several tables keeps its name, as do the aliases of a table that has several.
    """
    words = [token for token in tokens if token.is_meaningful]
    tables: dict[str, set[str]] = {}
    aliases: dict[str, set[str]] = {}
    for start, token in enumerate(words):
        if token.key not in ("from", "join", ",") or token.kind not in ("keyword", "sign"):
            continue
        place = start + (3 if _key_at(words, start + 2) == "." else 1)
        if place >= len(words) or words[place].kind not in ("word", "name"):
            continue
        table = alias = words[place].key
        place += 2 if _key_at(words, place + 1) == "as" else 1
        if place < len(words) and words[place].kind in ("word", "name"):
            alias = words[place].key
        tables.setdefault(alias, set()).add(table)
        aliases.setdefault(table, set()).add(alias)
    made = list(tokens)
    for token, after in pairwise(words):
        if after.text == "." and token.kind in ("word", "name") and len(found := tables.get(token.key, set())) == 1:
            (table,) = found
            if len(aliases[table]) == 1:
                made[token.place] = replace(token, key=table)
    return made


def _key_at(words: Sequence[Token], place: int) -> str:
    return words[place].key if place < len(words) else ""


def _beginnings(found: Sequence[tuple[str, TokenKind]]) -> dict[int, str]:
    """By index, the clauses that words outside parentheses may begin."""
    begun: dict[int, str] = {}
    hides: list[bool] = []  # per open parenthesis, whether a clause in it is a part of a clause around it
    depth = 0
    starts = True  # whether a query may start here: (SELECT …) UNION (SELECT …) is two queries
    for place, (part, kind) in enumerate(found):
        if kind == "word":
            word = part.upper()
            if depth == 0 and word in _CLAUSES:
                begun[place] = _CLAUSES[word]
            starts = depth == 0 and (word in _SETS or (starts and word in ("ALL", "DISTINCT")))
        elif part == "(":
            hides.append(not starts)
            depth += not starts
        elif part == ")":
            depth -= bool(hides) and hides.pop()
        elif kind not in ("space", "comment") and part != ";":
            starts = False
    return begun


def differing(
    gold: Sequence[Token], predicted: Sequence[Token], alike: Collection[str] = ()
) -> tuple[frozenset[int], frozenset[int]]:
    """The indexes of the tokens of each query that the other one lacks there, clause by clause.

    Clauses that are known to be equivalent, for example a FROM with swapped aliases, do not differ, unless nothing else
    does.
    """
    found = _differing(gold, predicted, alike)
    return _differing(gold, predicted, ()) if alike and not any(found) else found


_Side = list[Token]


def _differing(
    gold: Sequence[Token], predicted: Sequence[Token], alike: Collection[str]
) -> tuple[frozenset[int], frozenset[int]]:
    if len(gold) > _MOST or len(predicted) > _MOST:
        return frozenset(), frozenset()
    ours, theirs = _clauses(gold), _clauses(predicted)
    pairs = _common([name for name, _ in ours], [name for name, _ in theirs])
    alone = [
        {token.place for place, (_, clause) in enumerate(side) if place not in paired for token in clause}
        for side, paired in ((ours, {i for i, _ in pairs}), (theirs, {j for _, j in pairs}))
    ]
    for i, j in pairs:
        name = ours[i][0]
        if name not in alike:
            left, right = _of_clause(name, ours[i][1], theirs[j][1])
            alone[0] |= left
            alone[1] |= right
    return frozenset(alone[0]), frozenset(alone[1])


def _clauses(tokens: Sequence[Token]) -> list[tuple[str, _Side]]:
    """The clauses in order, each with its tokens; what precedes the first one is a clause without a name."""
    found: list[tuple[str, _Side]] = []
    for token in tokens:
        if token.clause or not found:
            found.append((token.clause, []))
        if token.is_meaningful:
            found[-1][1].append(token)
    return [clause for clause in found if clause[1]]


def _of_clause(name: str, ours: _Side, theirs: _Side) -> tuple[set[int], set[int]]:
    """The differences in a clause that both have: conditions as sets, each compared with the most similar one."""
    mine, other = _pieces(name, ours), _pieces(name, theirs)
    if not mine or not other or len(mine) * len(other) > _MOST_PAIRS:
        return _of_tokens(ours, theirs)
    likeness = []
    for i, piece in enumerate(mine):
        for j, beside in enumerate(other):
            shared = len(_common(_keys(piece, beside), _keys(beside, piece)))
            likeness.append((-2 * shared / (len(piece) + len(beside)), i, j))
    found: tuple[set[int], set[int]] = (set(), set())
    left, right = set(range(len(mine))), set(range(len(other)))
    for share, i, j in sorted(likeness):
        if share and i in left and j in right:
            left.discard(i)
            right.discard(j)
            in_mine, in_other = _of_tokens(mine[i], other[j])
            found[0].update(in_mine)
            found[1].update(in_other)
    found[0].update(token.place for i in left for token in mine[i])
    found[1].update(token.place for j in right for token in other[j])
    return found


def _pieces(name: str, clause: _Side) -> list[_Side]:
    """The pieces of such a clause; empty if their order may matter, for example with OR."""
    separator = _BETWEEN_PIECES.get(name)
    if separator is None:
        return []
    found: list[_Side] = [[]]
    depth = ranges = 0  # the AND of a BETWEEN separates nothing
    for token in clause:
        text = token.text.upper() if token.kind in ("keyword", "word", "sign") else ""
        if token.clause or (name == "GROUP BY" and text == "BY" and depth == 0):
            continue
        depth += (text in ("(", "CASE")) - (text in (")", "END"))
        if depth == 0:
            if text == "OR":
                return []
            ranges += text == "BETWEEN"
            if text == separator and not ranges:
                found.append([])
                continue
            ranges -= text == "AND" and ranges > 0
        found[-1].append(token)
    return [piece for piece in found if piece]


def _of_tokens(ours: _Side, theirs: _Side) -> tuple[set[int], set[int]]:
    pairs = _common(_keys(ours, theirs), _keys(theirs, ours))
    left, right = {i for i, _ in pairs}, {j for _, j in pairs}
    return (
        {token.place for i, token in enumerate(ours) if i not in left},
        {token.place for j, token in enumerate(theirs) if j not in right},
    )


def _keys(tokens: _Side, others: _Side) -> list[str]:
    """The keys of one side. SQLite and MySQL read "France" as a text, so it equals 'France' on the other side."""
    texts = {token.text[1:-1] for token in others if token.kind == "string"}
    return [
        f"'{token.text[1:-1]}'" if token.text[0] == '"' and token.text[1:-1] in texts else token.key for token in tokens
    ]


def _common(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of indexes in the longest common subsequence of two lists."""
    lengths = [[0] * (len(right) + 1)]  # for the suffixes of the lists, the last index first
    for one in reversed(left):
        below, row = lengths[-1], [0] * (len(right) + 1)
        for j in range(len(right) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if one == right[j] else max(below[j], row[j + 1])
        lengths.append(row)
    lengths.reverse()
    return list(_walked(left, right, lengths))


def _walked(left: Sequence[str], right: Sequence[str], lengths: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
