"""Find out which rows of an ordered query tie, and which rows its LIMIT cut off.

The first probe is gold's own text without its LIMIT and with one more column, `DENSE_RANK() OVER
(ORDER BY <gold's keys>)`: the engine itself then says which rows tie, whatever the keys' types and
collations, also where a key is not in the output. The meaning of a key follows the engine's own
rule (`assay.sql.order_rules`). Where a rank cannot be added (set operations, keys over windows),
the key columns of the output show ties. Where those are not in the output, two queries break gold's
ties by all output columns, one ascending and one descending: rows that change places tie.

No probe is trusted: its rows are compared with gold's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from assay.sql.inner_order import OrderedInside, ordered_inside
from assay.sql.order_rules import OrderKey, OrderRules, order_rules, read_key, readings, spelling
from assay.sql.query_text import QueryText
from assay.sql.shape import cutting, outermost, parse_query, steady_keys

if TYPE_CHECKING:
    from sqlglot import exp

RANK_COLUMN = "assay_rank"
_MOST_RANKS = 4


class TieProbe(Struct, frozen=True, kw_only=True):
    """A query that shows the ties of another.

    Its rows are the other's rows before LIMIT and OFFSET, in the same order. Rows tie where their
    keys are equal: the last column, an added rank, or the output columns ``key_columns``.
    Without ORDER BY, and with one by chance, all rows tie: ``key_columns`` is empty and no rank is
    added. With a ``mirror``, rows tie where the mirror has them in reverse order.
    """

    query: str
    ranked: bool = False
    key_columns: tuple[int, ...] = ()
    mirror: str | None = None
    offset: int = 0
    shown: tuple[str, ...] | None = None
    """The columns that the other query selects from these rows, by name; None where it selects all."""
    ordered: bool = True
    """Whether the query orders its rows; if not, all rows tie."""

    def first(self, rows: int) -> str:
        """The probe's query for its first ``rows`` rows only."""
        return f"{self.query} LIMIT {rows}"


def tie_probes(query: str, dialect: str, width: int = 0) -> Iterator[TieProbe]:
    """The probes that may show the ties, the surest first. None where ties cannot be seen this way.

    ``width`` is how many columns the query returns; without it there is no mirrored probe.
    """
    from sqlglot import exp

    parsed = parse_query(query, dialect)
    text = QueryText.read(query, parsed.tokens) if parsed is not None else None
    if parsed is None or text is None:
        return
    tree = outermost(parsed.tree)
    offset = total_offset(parsed.tree)
    order = tree.args.get("order")
    if offset is None or (order and not isinstance(tree, (exp.Select, exp.SetOperation))):
        return
    rules = order_rules(dialect)
    keys = steady_keys(tree)
    if order and keys:
        if len(text.keys) == len(order.expressions):
            for probe in _of_ordered(tree, text, keys, rules, width):
                yield replace(probe, offset=offset)
        return
    inside = ordered_inside(parsed.tree, text, dialect) if rules.keeps_inner_order else None
    if inside is not None:
        yield from _carried_out(inside, dialect, offset, width)
    yield TieProbe(query=text.uncut, offset=offset, ordered=False)


def visible_keys(query: str, dialect: str) -> tuple[int, ...] | None:
    """The output columns that hold the keys of ORDER BY; None where a key is not in the output or has a collation."""
    probes = tie_probes(query, dialect)
    return next((probe.key_columns for probe in probes if probe.key_columns), None)


def total_offset(tree: exp.Query) -> int | None:
    """How many rows OFFSET skips; None where that is not a plain number."""
    offsets = [_literal(part.args.get("offset")) for part in cutting(tree)]
    return None if None in offsets else sum(offset or 0 for offset in offsets)


def _of_ordered(
    tree: exp.Query, text: QueryText, keys: Sequence[exp.Expr], rules: OrderRules, width: int
) -> Iterator[TieProbe]:
    from sqlglot import exp

    read = _read_keys(tree, text, len(keys), rules)
    columns = [_output_column(key, found, tree.selects) for key, found in zip(keys, read, strict=True)]
    hidden_from_distinct = bool(tree.args.get("distinct")) and None in columns
    if isinstance(tree, exp.Select) and not hidden_from_distinct:
        for rank in islice(_ranks(tree, text, keys, read, rules), _MOST_RANKS):
            yield TieProbe(query=text.with_column(rank), ranked=True)
    shown = tuple(column for column in columns if column is not None)
    if len(shown) == len(columns) and not any(key.find(exp.Collate) for key in keys):
        yield TieProbe(query=text.uncut, key_columns=shown)
    if width and not hidden_from_distinct:
        places = [f"{place}{rules.exact_collation}" for place in range(1, width + 1)]
        first, last = (" NULLS FIRST", " NULLS LAST") if rules.nulls_stay else ("", "")
        up, down = (
            ", ".join(f"{place}{first}" for place in places),
            ", ".join(f"{place} DESC{last}" for place in places),
        )
        yield TieProbe(query=text.with_keys(len(keys), up), mirror=text.with_keys(len(keys), down))


def _read_keys(tree: exp.Query, text: QueryText, count: int, rules: OrderRules) -> list[OrderKey]:
    aliases = _aliases(tree, text, rules)
    return [read_key(tokens, aliases, rules) for tokens in text.keys[:count]]


def _aliases(tree: exp.Query, text: QueryText, rules: OrderRules) -> list[str | None]:
    """The outputs' aliases, spelt as the engine compares them. In a set operation, whose only columns are its
    outputs, a plain column's name counts as well."""
    from sqlglot import exp

    outputs = tree.selects
    written = len(text.outputs) == len(outputs) and not text.begins_with_from
    found: list[str | None] = []
    for place, output in enumerate(outputs):
        name = None
        if isinstance(output, exp.Alias):
            name = spelling(text.outputs[place][-1], rules) if written else output.alias.lower()
        elif isinstance(tree, exp.SetOperation) and isinstance(output, exp.Column):
            name = output.name if rules.exact_case and output.this.quoted else output.name.lower()
        found.append(name)
    return found


def _literal(clause: exp.Expr | None) -> int | None:
    """The number in an OFFSET clause; 0 without one; None where it is not a plain number."""
    if clause is None:
        return 0
    value = clause.expression
    return int(value.name) if value is not None and value.is_int and int(value.name) >= 0 else None


def _output_column(key: exp.Expr, read: OrderKey, outputs: Sequence[exp.Expr]) -> int | None:
    """The output column that holds an ordering key, by position, by alias, or as the same expression."""
    from sqlglot import exp

    if any(output.is_star for output in outputs):
        # Only the places before the star are certain.
        first = next(place for place, output in enumerate(outputs) if output.is_star)
        return read.output if read.output is not None and read.output < first else None
    if read.output is not None:
        return read.output if 0 <= read.output < len(outputs) else None
    if read.constant:
        return None
    term = key.this if isinstance(key, exp.Ordered) else key
    while isinstance(term, exp.Paren):
        term = term.this
    if isinstance(term, exp.Column) and not term.table:
        # If several outputs had a column of this name, the engine would call the key ambiguous.
        named = [
            place
            for place, output in enumerate(outputs)
            if isinstance(output, exp.Column) and output.name.lower() == term.name.lower()
        ]
        return named[0] if len(named) == 1 else None
    return next((place for place, output in enumerate(outputs) if output.unalias() == term), None)


def _ranks(
    tree: exp.Select, text: QueryText, keys: Sequence[exp.Expr], read: Sequence[OrderKey], rules: OrderRules
) -> Iterator[str]:
    """The rank columns that may be added, the likeliest reading first; none where a key cannot be read."""
    from sqlglot import exp

    outputs = tree.selects
    written = [] if text.begins_with_from else outputs
    if len(text.outputs) != len(written) or any(found.constant for found in read):
        return
    bare = [f"({output})" for output in text.bare_outputs(written)]
    used = [outputs[found.output] for found in read if found.output is not None and 0 <= found.output < len(outputs)]
    if any(node.find(exp.Window) for node in (*keys, *used)):
        return
    aliases = _aliases(tree, text, rules) if written else []
    named = {alias: output for alias, output in zip(aliases, bare, strict=True) if alias is not None}
    terms: list[list[str]] = []
    for found, tokens in zip(read, text.keys, strict=False):
        if found.output is None or found.core is None:
            terms.append(list(readings(text, tokens, named, rules)))
            continue
        before = outputs[: found.output + 1]
        if not 0 <= found.output < len(bare) or any(output.is_star for output in before):
            return
        terms.append([text.replaced(tokens, {found.core: bare[found.output]})])
    for choice in product(*terms):
        yield f"DENSE_RANK() OVER (ORDER BY {', '.join(choice)}) AS {RANK_COLUMN}"


def _carried_out(inside: OrderedInside, dialect: str, offset: int, width: int) -> Iterator[TieProbe]:
    """The probes of a query that only puts a LIMIT on an ordered one: the ordered query's own probes."""
    inner_width = width if inside.names is None else inside.width
    for probe in tie_probes(inside.alone, dialect, inner_width):
        if probe.ordered:
            yield replace(probe, offset=probe.offset + offset, shown=inside.names)
