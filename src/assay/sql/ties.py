"""See which rows of an ordered query tie, and what its LIMIT cut off.

The probe is gold's own text with one column more, `DENSE_RANK() OVER (ORDER BY <gold's keys>)`,
and without its LIMIT: the engine itself then says which rows tie, whatever the keys' types and
collations, also where a key is not in the output. Where a rank cannot be added (set operations,
DISTINCT, keys over windows), the key columns of the output do instead, if all keys are there.

The text is cut and joined at token positions, not generated from the tree: an engine sees what
gold's author wrote, quirks included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.sql.shape import outermost, parse_query, steady_keys

if TYPE_CHECKING:
    from sqlglot import Token, exp

RANK_COLUMN = "assay_rank"


@dataclass(frozen=True, slots=True, kw_only=True)
class TieProbe:
    """A query that shows the ties of another.

    Its rows are the other's rows before LIMIT and OFFSET, in the same order. Rows tie where their
    keys are equal: the last column, an added rank, or the output columns ``key_columns``.
    Without ORDER BY all rows tie, and under one by chance as well: ``key_columns`` is empty and no
    rank is added.
    """

    query: str
    ranked: bool
    key_columns: tuple[int, ...]
    offset: int

    def first(self, rows: int) -> str:
        """The probe's query for its first so many rows alone."""
        return f"{self.query} LIMIT {rows}"


def tie_probe(query: str, dialect: str) -> TieProbe | None:
    """Build the probe. None where ties cannot be seen this way."""
    from sqlglot import exp

    parsed = parse_query(query, dialect)
    if parsed is None:
        return None
    tree = outermost(parsed.tree)
    offset = _literal(tree.args.get("offset"))
    order = tree.args.get("order")
    if offset is None or _with_ties(tree) or (order and not isinstance(tree, (exp.Select, exp.SetOperation))):
        return None
    text = _Text.read(query, parsed.tokens, cut=bool(tree.args.get("limit") or tree.args.get("offset")))
    if text is None:
        return None
    keys = steady_keys(tree)
    if not keys:
        return TieProbe(query=text.uncut, ranked=False, key_columns=(), offset=offset)
    columns = [_output_column(key, tree.selects) for key in keys]
    rank = _rank(tree, text, keys, columns) if isinstance(tree, exp.Select) else None
    if rank is not None:
        return TieProbe(query=text.with_column(rank), ranked=True, key_columns=(), offset=offset)
    shown = tuple(column for column in columns if column is not None)
    if len(shown) < len(columns) or any(key.find(exp.Collate) for key in keys):
        return None
    return TieProbe(query=text.uncut, ranked=False, key_columns=shown, offset=offset)


def _literal(clause: exp.Expr | None) -> int | None:
    """The number in an OFFSET clause; 0 without one; None where it is no plain number."""
    if clause is None:
        return 0
    value = clause.expression
    return int(value.name) if value is not None and value.is_int and int(value.name) >= 0 else None


def _with_ties(tree: exp.Expr) -> bool:
    limit = tree.args.get("limit")
    options = limit.args.get("limit_options") if limit is not None else None
    return bool(options and options.args.get("with_ties"))


def _output_column(key: exp.Expr, outputs: Sequence[exp.Expr]) -> int | None:
    """The output column that holds an ordering key, by position, by alias, or as the same expression."""
    from sqlglot import exp

    term = key.this if isinstance(key, exp.Ordered) else key
    if isinstance(term, exp.Literal) and term.is_int:
        return int(term.name) - 1
    if any(output.is_star for output in outputs):
        return None
    if isinstance(term, exp.Column) and not term.table:
        names = [output.alias_or_name.lower() for output in outputs]
        if term.name.lower() in names:
            return names.index(term.name.lower())
    return next((place for place, output in enumerate(outputs) if output.unalias() == term), None)


def _rank(tree: exp.Select, text: _Text, keys: Sequence[exp.Expr], columns: Sequence[int | None]) -> str | None:
    """The column to add, or None where it would change the rows or not be understood."""
    from sqlglot import exp

    outputs = tree.selects
    written = [] if text.begins_with_from else outputs
    if tree.args.get("distinct") and None in columns:
        return None
    if len(text.keys) != len(tree.args["order"].expressions) or len(text.outputs) != len(written):
        return None
    aliases = {
        output.alias.lower(): f"({bare})"
        for output, bare in zip(written, text.bare_outputs(written), strict=True)
        if isinstance(output, exp.Alias)
    }
    terms: list[str] = []
    for key, column, tokens in zip(keys, columns, text.keys[: len(keys)], strict=True):
        term = key.this if isinstance(key, exp.Ordered) else key
        if isinstance(term, exp.Literal) and term.is_int:
            if column is None or not 0 <= column < len(outputs) or any(output.is_star for output in outputs):
                return None
            terms.append(f"({text.bare_outputs(outputs)[column]}){text.slice(tokens[1:], space=True)}")
            continue
        terms.append(text.replaced(tokens, aliases))
    used = [outputs[column] for column in columns if column is not None and 0 <= column < len(outputs)]
    if any(node.find(exp.Window) for node in (*keys, *used)):
        return None
    return f"DENSE_RANK() OVER (ORDER BY {', '.join(terms)}) AS {RANK_COLUMN}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """The outermost SELECT of a query as text, by the positions of its tokens."""

    query: str
    start: int
    end: int
    """Where the query ends without LIMIT, OFFSET and what follows."""
    outputs: tuple[tuple[Token, ...], ...]
    keys: tuple[tuple[Token, ...], ...]
    begins_with_from: bool
    """There is no SELECT, and FROM is the first word (DuckDB)."""

    @classmethod
    def read(cls, query: str, tokens: Sequence[Token], *, cut: bool) -> _Text | None:
        """Find the places. None where the tokens are not those of a plain query."""
        tokens = _unwrapped(tokens)
        if not tokens:
            return None
        top = _at_top(tokens)
        last = _cut_place(tokens, top) if cut else len(tokens)
        if last is None:
            return None
        select = next((place for place in top if _is(tokens[place], "SELECT")), None)
        order = next((place for place in reversed(top) if place < last and _is(tokens[place], "ORDER_BY")), None)
        keys = _split(tokens, order + 1, last) if order is not None else ()
        outputs: tuple[tuple[Token, ...], ...] = ()
        if select is not None:
            begin = select + 1
            while begin < len(tokens) and _is(tokens[begin], "DISTINCT", "ALL"):
                begin += 1
            stop = next((place for place in top if place >= begin and _ends_outputs(tokens, place)), last)
            outputs = _split(tokens, begin, min(stop, last))
        return cls(
            query=query,
            start=tokens[0].start,
            end=tokens[last - 1].end + 1,
            outputs=outputs,
            keys=keys,
            begins_with_from=select is None and _is(tokens[0], "FROM"),
        )

    @property
    def uncut(self) -> str:
        """The query without LIMIT and OFFSET."""
        return self.query[self.start : self.end]

    def with_column(self, column: str) -> str:
        """The uncut query with one output column more, the last."""
        if self.begins_with_from:
            return f"SELECT *, {column} {self.uncut}"
        place = self.outputs[-1][-1].end + 1
        return f"{self.query[self.start : place]}, {column}{self.query[place : self.end]}"

    def slice(self, tokens: Sequence[Token], *, space: bool = False) -> str:
        """The text from the first to the last of these tokens; with a leading blank if asked and not empty."""
        if not tokens:
            return ""
        return " " * space + self.query[tokens[0].start : tokens[-1].end + 1]

    def bare_outputs(self, outputs: Sequence[exp.Expr]) -> list[str]:
        """The output expressions without their aliases."""
        from sqlglot import exp

        texts: list[str] = []
        for tokens, output in zip(self.outputs, outputs, strict=True):
            bare = tokens
            if isinstance(output, exp.Alias):
                bare = tokens[:-2] if len(tokens) > 2 and _is(tokens[-2], "ALIAS") else tokens[:-1]
            texts.append(self.slice(bare))
        return texts

    def replaced(self, tokens: Sequence[Token], aliases: dict[str, str]) -> str:
        """The text of these tokens with aliases replaced by what they stand for."""
        parts: list[str] = []
        place = tokens[0].start
        for index, token in enumerate(tokens):
            qualified = index > 0 and _is(tokens[index - 1], "DOT")
            called = index + 1 < len(tokens) and _is(tokens[index + 1], "L_PAREN")
            parts.append(self.query[place : token.start])
            name = token.text.lower()
            plain = name in aliases and not qualified and not called and not _is(token, "STRING")
            parts.append(aliases[name] if plain else self.query[token.start : token.end + 1])
            place = token.end + 1
        return "".join(parts)


def _is(token: Token, *names: str) -> bool:
    return token.token_type.name in names


def _unwrapped(tokens: Sequence[Token]) -> Sequence[Token]:
    """Without trailing semicolons, and without parentheses round the whole."""
    while tokens and _is(tokens[-1], "SEMICOLON"):
        tokens = tokens[:-1]
    while tokens and _is(tokens[0], "L_PAREN") and _is(tokens[-1], "R_PAREN"):
        depth = 0
        for place, token in enumerate(tokens):
            depth += _is(token, "L_PAREN") - _is(token, "R_PAREN")
            if depth == 0 and place < len(tokens) - 1:
                return tokens
        tokens = tokens[1:-1]
    return tokens


def _at_top(tokens: Sequence[Token]) -> list[int]:
    """Places of the tokens outside all parentheses."""
    places: list[int] = []
    depth = 0
    for place, token in enumerate(tokens):
        if _is(token, "L_PAREN", "L_BRACKET", "L_BRACE"):
            depth += 1
        elif _is(token, "R_PAREN", "R_BRACKET", "R_BRACE"):
            depth -= 1
        elif depth == 0:
            places.append(place)
    return places


def _cut_place(tokens: Sequence[Token], top: Sequence[int]) -> int | None:
    """Where the last run of LIMIT, OFFSET or FETCH clauses begins."""
    cuts = [place for place in top if _is(tokens[place], "LIMIT", "OFFSET", "FETCH")]
    barrier = max(
        (place for place in top if _is(tokens[place], "ORDER_BY", "FROM", "UNION", "EXCEPT", "INTERSECT")), default=-1
    )
    return next((place for place in cuts if place > barrier), None)


def _ends_outputs(tokens: Sequence[Token], place: int) -> bool:
    if _is(tokens[place], "FROM"):
        return not _is(tokens[place - 1], "DISTINCT")  # not that of IS DISTINCT FROM
    return _is(
        tokens[place], "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET", "FETCH", "WINDOW", "QUALIFY"
    )


def _split(tokens: Sequence[Token], start: int, stop: int) -> tuple[tuple[Token, ...], ...]:
    """The tokens between two places, split at the commas outside parentheses."""
    parts: list[tuple[Token, ...]] = []
    depth, begin = 0, start
    for place in range(start, stop):
        token = tokens[place]
        if _is(token, "L_PAREN", "L_BRACKET", "L_BRACE"):
            depth += 1
        elif _is(token, "R_PAREN", "R_BRACKET", "R_BRACE"):
            depth -= 1
        elif depth == 0 and _is(token, "COMMA"):
            parts.append(tuple(tokens[begin:place]))
            begin = place + 1
    parts.append(tuple(tokens[begin:stop]))
    return tuple(part for part in parts if part)
