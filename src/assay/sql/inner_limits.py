"""Find where a query chooses rows in an inner part: a LIMIT in a subquery or CTE, a ROW_NUMBER.

Where rows tie there, the engine chooses, and the query's answer may depend on that choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.sql.inner_order import ordered_inside
from assay.sql.order_rules import order_rules
from assay.sql.query_text import QueryText, closing, ctes_before, is_token
from assay.sql.shape import parse_query, steady_keys

if TYPE_CHECKING:
    from sqlglot import Token, exp


class InnerLimit(Struct, frozen=True, kw_only=True):
    """A query with a LIMIT inside another."""

    whole: str
    start: int
    stop: int
    alone: str
    """The inner query, with the CTEs before it. It runs by itself unless it is correlated."""
    uncut: str
    """The inner query without its LIMIT and its ORDER BY."""
    keys: str
    """The keys of its ORDER BY; empty without one."""
    cut: str
    """Its LIMIT, as written."""
    width: int | None
    """How many columns it returns; None where a star leaves that open."""

    def sorted_rows(self, width: int, *, downwards: bool = False) -> str:
        """The inner query without its LIMIT, its ties broken by all its columns."""
        columns = ", ".join(f"{place}{' DESC' * downwards}" for place in range(1, width + 1))
        return f"{self.uncut} ORDER BY {self.keys + ', ' if self.keys else ''}{columns}"

    def taking(self, places: Sequence[int], width: int) -> str:
        """The whole query, with the inner query giving only the rows at these places of its `sorted_rows`."""
        rows = self.sorted_rows(width)
        runs: list[list[int]] = []
        for place in places:
            if runs and runs[-1][-1] + 1 == place:
                runs[-1].append(place)
            else:
                runs.append([place])
        parts = [f"{rows} LIMIT {len(run)} OFFSET {run[0]}" for run in runs]
        if len(parts) == 1:
            return self.put(parts[0])
        return self.put(" UNION ALL ".join(f"SELECT * FROM ({part}) AS assay_{n}" for n, part in enumerate(parts)))

    def put(self, text: str) -> str:
        """The whole query with another text in place of the inner query."""
        return f"{self.whole[: self.start]}{text}{self.whole[self.stop :]}"


class RowNumbers(Struct, frozen=True, kw_only=True):
    """The same query with another function for each of its ROW_NUMBERs."""

    ranked: str
    """The query with RANK, which gives the same only where nothing ties."""
    apart: Apart | None
    """None where the query does more to the rows than choose them by their numbers."""


class Apart(Struct, frozen=True, kw_only=True):
    """Three queries, each with the number of a row's partition as its last column."""

    numbered: str
    """With ROW_NUMBER, as it is."""
    ranked: str
    """With RANK: returns every row that some way of breaking ties lets pass."""
    counted: str
    """With the place of a tie's last row: returns the rows that pass however ties are broken."""


def inner_limits(query: str, dialect: str) -> list[InnerLimit]:
    """The inner queries that have a LIMIT, the innermost last. None where the query cannot be read."""
    parsed = parse_query(query, dialect)
    text = QueryText.read(query, parsed.tokens) if parsed is not None else None
    if parsed is None or text is None:
        return []
    inside = ordered_inside(parsed.tree, text, dialect) if order_rules(dialect).keeps_inner_order else None
    found = []
    for place, token in enumerate(text.tokens[:-1]):
        if not is_token(token, "L_PAREN") or not is_token(text.tokens[place + 1], "SELECT", "WITH"):
            continue
        end = closing(text.tokens, place)
        if end is None or (place and is_token(text.tokens[place - 1], "EXISTS")):
            continue
        inner = _inner_limit(text, text.tokens[place + 1 : end], dialect)
        if inner is not None and (inside is None or inside.place != (inner.start, inner.stop)):
            found.append(inner)
    return found


def row_numbers(query: str, dialect: str) -> RowNumbers | None:
    """The query with its ROW_NUMBERs replaced; None where it has no ROW_NUMBER or cannot be read."""
    from sqlglot import exp

    parsed = parse_query(query, dialect) if "row_number" in query.lower() else None
    text = QueryText.read(query, parsed.tokens) if parsed is not None else None
    if parsed is None or text is None:
        return None
    tokens = text.tokens
    places = [
        place
        for place, token in enumerate(tokens[:-4])
        if token.text.upper() == "ROW_NUMBER"
        and [tokens[place + step].token_type.name for step in (1, 2, 3, 4)] == ["L_PAREN", "R_PAREN", "OVER", "L_PAREN"]
    ]
    windows = [node for node in parsed.tree.find_all(exp.Window) if isinstance(node.this, exp.RowNumber)]
    if not places or not windows or any(not window.args.get("order") for window in windows):
        return None
    names = {tokens[place].start: (tokens[place].end + 1, "RANK") for place in places}
    alone = len(windows) == 1 and len(places) == 1 and windows[0].parent_select is not parsed.tree
    return RowNumbers(
        ranked=_edited(text, names),
        apart=_apart(parsed.tree, text, places[0]) if alone else None,
    )


_CHANGES_CHOICE = ("group", "having", "distinct", "joins", "order", "limit", "offset", "windows", "qualify")


def _apart(tree: exp.Query, text: QueryText, place: int) -> Apart | None:
    """The queries that show partitions, where the outermost query only chooses rows and columns."""
    from sqlglot import exp

    if not isinstance(tree, exp.Select) or any(tree.args.get(part) for part in _CHANGES_CHOICE):
        return None
    if any(output.find(exp.AggFunc, exp.Window, exp.Subquery) for output in tree.selects) or text.begins_with_from:
        return None
    tokens = text.tokens
    opening = max(
        (
            before
            for before in range(place)
            if is_token(tokens[before], "L_PAREN") and (closing(tokens, before) or 0) > place
        ),
        default=None,
    )
    over = closing(tokens, place + 4)
    if opening is None or over is None:
        return None
    inner = QueryText.read(text.query, tokens[opening + 1 : closing(tokens, opening)])
    if inner is None or not inner.outputs or inner.distinct:
        return None
    window = tokens[place + 5 : over]
    partition = ""
    if window and is_token(window[0], "PARTITION_BY"):
        order = next(found for found, token in enumerate(window) if is_token(token, "ORDER_BY"))
        partition = text.slice(window[1:order])
    part = f"DENSE_RANK() OVER (ORDER BY {partition})" if partition else "0"
    added = {inner.outputs[-1][-1].end + 1: (inner.outputs[-1][-1].end + 1, f", {part} AS {_PART}")}
    if not any(output.is_star for output in tree.selects):
        added[text.outputs[-1][-1].end + 1] = (text.outputs[-1][-1].end + 1, f", {_PART}")
    name, star = tokens[place], tokens[place + 2]
    return Apart(
        numbered=_edited(text, added),
        ranked=_edited(text, {**added, name.start: (name.end + 1, "RANK")}),
        counted=_edited(text, {**added, name.start: (name.end + 1, "COUNT"), star.start: (star.start, "*")}),
    )


_PART = "assay_part"


def _edited(text: QueryText, edits: dict[int, tuple[int, str]]) -> str:
    """The query with the text between each pair of positions replaced."""
    parts: list[str] = []
    position = text.start
    for start, (stop, other) in sorted(edits.items()):
        parts += [text.query[position:start], other]
        position = stop
    return "".join([*parts, text.query[position : text.whole_end]])


def _inner_limit(text: QueryText, tokens: Sequence[Token], dialect: str) -> InnerLimit | None:
    read = QueryText.read(text.query, tokens)
    if read is None or read.end == read.whole_end:
        return None
    start, stop = tokens[0].start, tokens[-1].end + 1
    parsed = parse_query(text.query[start:stop], dialect)
    if parsed is None:
        return None
    order = parsed.tree.args.get("order")
    steady = steady_keys(parsed.tree)
    if order and len(read.keys) != len(order.expressions):
        return None
    keys = read.keys[: len(steady)]
    outputs = parsed.tree.selects
    return InnerLimit(
        whole=text.query,
        start=start,
        stop=stop,
        alone=ctes_before(text, start) + text.query[start:stop],
        uncut=text.query[read.start : _order_place(read) if order else read.end],
        keys=text.query[keys[0][0].start : keys[-1][-1].end + 1] if keys else "",
        cut=text.query[read.end : read.whole_end],
        width=None if any(output.is_star for output in outputs) else len(outputs),
    )


def _order_place(read: QueryText) -> int:
    """The place where ORDER BY begins."""
    first = read.keys[0][0]
    place = next(place for place, token in enumerate(read.tokens) if token is first)
    return read.tokens[place - 1].start
