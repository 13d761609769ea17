"""sqlglot's tokenizers and parsers, corrected for texts that engines read differently."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import Dialect, Parser, Token

_TYPES = """
bfloat16 datetime32 inet4 inet6 multipoint qbit signed single time64 unsigned variant year
intervalday intervalhour intervalmicrosecond intervalmillisecond intervalminute intervalmonth intervalnanosecond
intervalquarter intervalsecond intervalweek intervalyear
"""
CLICKHOUSE_TYPES = frozenset(_TYPES.split())
"""ClickHouse's types that sqlglot does not know, or whose own types it takes for functions."""


@lru_cache(maxsize=64)
def reader(dialect: str | None) -> Dialect:
    """sqlglot's dialect, which reads texts as the engine does:

    - Template signs have no special meaning: for sqlglot, ``{# … #}`` is a comment in every dialect.
    - A pipe operator does not replace what precedes it: sqlglot drops the first order of
      ``|> ORDER BY a |> ORDER BY b``, and filters before it limits in ``|> LIMIT 3 |> WHERE a``.
    - Spark has paths, for example ``v:a.b``, BigQuery has MATCH_RECOGNIZE, ClickHouse more types and aggregates.
    - The parser records the positions of all tables that it met (`table_places`), including those that it dropped.

    Raises ValueError for an unknown dialect.
    """
    from sqlglot import Dialect

    speaks = Dialect.get_or_raise(dialect)
    speaks.tokenizer_class = _tokenizer(speaks.tokenizer_class, dialect)
    speaks.parser_class = _parser(speaks.parser_class, dialect)
    return speaks


def table_places(parser: Parser) -> frozenset[int]:
    """Where the text that a reader's parser has parsed names tables."""
    return frozenset(getattr(parser, "table_places", ()))


def _tokenizer(base: Any, dialect: str | None) -> Any:
    from sqlglot import TokenType

    of_templates = (TokenType.BLOCK_START, TokenType.BLOCK_END)
    words = {word: token for word, token in base.KEYWORDS.items() if token not in of_templates}
    if dialect == "bigquery":
        words["MATCH_RECOGNIZE"] = TokenType.MATCH_RECOGNIZE
    made: Any = type("Tokenizer", (base,), {"KEYWORDS": words})
    made._COMMENTS = {start: end for start, end in made._COMMENTS.items() if start != "{#"}
    return made


def _parser(base: Any, dialect: str | None) -> Any:
    from sqlglot import exp

    named_by = (exp.Dot, exp.Identifier, exp.Literal, exp.Parameter, exp.Placeholder, exp.Var)

    def reset(parser: Any) -> None:
        base.reset(parser)
        parser.table_places = []

    def table_parts(parser: Any, *arguments: Any, **named: Any) -> Any:
        first = parser._curr
        table = base._parse_table_parts(parser, *arguments, **named)
        if isinstance(table, exp.Table) and isinstance(table.this, named_by):
            parser.table_places.append(first.start)
        return table

    def pipe_join(parser: Any, query: Any) -> Any:
        return base._parse_pipe_syntax_join(parser, _finished(parser, query, "JOIN"))

    own = {"SELECT": _select, "SET": _set, "DROP": _drop, "RENAME": _rename}
    operators = {**base.PIPE_SYNTAX_TRANSFORM_PARSERS, **own}
    changed: dict[str, Any] = {
        "reset": reset,
        "_parse_table_parts": table_parts,
        "_parse_pipe_syntax_join": pipe_join,
        "PIPE_SYNTAX_TRANSFORM_PARSERS": {name: _after_all(name, parse) for name, parse in operators.items()},
    }
    if dialect == "spark":
        changed["COLON_IS_VARIANT_EXTRACT"] = True
    if dialect == "clickhouse":
        changed |= {"_resolve_clickhouse_agg": _with_parameters(base), **_more_types(base)}
        changed["FUNCTIONS"] = {name: build for name, build in base.FUNCTIONS.items() if name != "APPROX_TOP_K"}
    return type("Parser", (base,), changed)


_Operator = Callable[[Any, Any], Any]


def _after_all(operator: str, parse: _Operator) -> _Operator:
    def parsed(parser: Any, query: Any) -> Any:
        return parse(parser, _finished(parser, query, operator))

    return parsed


def _finished(parser: Any, query: Any, operator: str) -> Any:
    """The query that a pipe operator applies to, as a table if its clauses would be changed or come too late."""
    from sqlglot import exp

    cut = any(query.args.get(clause) for clause in ("limit", "offset", "distinct"))
    match operator:
        case "LIMIT" | "AS":
            is_open = True
        case "ORDER BY":
            is_open = not cut and not query.args.get("order")
        case "DISTINCT":
            is_open = not cut
        case "JOIN":
            keeps_rows = parser._curr.text.upper() not in ("RIGHT", "FULL")
            is_open = not cut and _takes_all(query) and (keeps_rows or not query.args.get("where"))
        case "PIVOT" | "UNPIVOT" | "TABLESAMPLE":
            clauses = ("where", "joins", "order", "group", "having", "qualify")
            is_open = not cut and _takes_all(query) and not any(query.args.get(clause) for clause in clauses)
        case _:
            is_open = not cut and _takes_all(query)
    return query if is_open else parser._build_pipe_cte(query, [exp.Star()])


def _takes_all(query: Any) -> bool:
    """Whether a SELECT takes all columns unchanged."""
    from sqlglot import exp

    outputs: list[Any] = list(query.args.get("expressions") or ())
    return len(outputs) == 1 and isinstance(outputs[0], exp.Star) and not any(outputs[0].args.values())


def _select(parser: Any, query: Any) -> Any:
    """Like sqlglot's own, but with DISTINCT, and without a FROM, which no engine accepts there."""
    from sqlglot import exp

    select = parser._parse_select(consume_pipe=False)
    if not isinstance(select, exp.Select) or select.args.get("from_"):
        parser.raise_error("Expected outputs after |> SELECT")
    chosen = query.select(*select.expressions, append=False, copy=False)
    for clause in ("distinct", "kind"):
        chosen.set(clause, select.args.get(clause))
    return parser._build_pipe_cte(chosen, [exp.Star()])


def _set(parser: Any, query: Any) -> Any:
    from sqlglot import exp

    parser._advance()
    changes = parser._parse_csv(parser._parse_assignment)
    replaced = [exp.alias_(change.expression, change.this.name) for change in changes if isinstance(change, exp.EQ)]
    return parser._build_pipe_cte(query, [exp.Star(replace=replaced)])


def _drop(parser: Any, query: Any) -> Any:
    from sqlglot import exp

    parser._advance()
    return parser._build_pipe_cte(query, [exp.Star(except_=parser._parse_csv(parser._parse_id_var))])


def _rename(parser: Any, query: Any) -> Any:
    from sqlglot import exp

    parser._advance()
    return parser._build_pipe_cte(query, [exp.Star(rename=parser._parse_csv(parser._parse_expression))])


def _with_parameters(base: Any) -> Callable[..., Any]:
    """Read every function of ClickHouse as an aggregate if a second list of arguments follows: ``lttb(3)(x, y)``.

    For sqlglot, that list consists of aliases, except for the aggregates that it knows.
    """
    from sqlglot import TokenType

    def resolve(parser: Any, name: str) -> Any:
        has_parameters = parser._curr and parser._curr.token_type is TokenType.L_PAREN
        return base._resolve_clickhouse_agg(name) or ((name, ()) if has_parameters else None)

    return resolve


def _more_types(base: Any) -> dict[str, Any]:
    """The methods of a parser that reads `CLICKHOUSE_TYPES`, each at its position in the text."""
    from sqlglot import TokenType, exp

    def is_type(token: Token | None) -> bool:
        if token is None or token.token_type not in (TokenType.VAR, TokenType.VARIANT):
            return False
        return token.text.lower() in CLICKHOUSE_TYPES

    def types(parser: Any, check_func: bool = False, **named: Any) -> Any:  # noqa: FBT001, FBT002 - as in sqlglot
        token = parser._curr
        if check_func or not is_type(token):
            return base._parse_types(parser, check_func=check_func, **named)
        parser._advance()
        kind = exp.DataType(this=exp.DType.USERDEFINED, kind=token.text, nullable=False).update_positions(token)
        if parser._match(TokenType.L_PAREN):
            kind.set("expressions", parser._parse_csv(lambda: parser._parse_types() or parser._parse_primary()))
            parser._match_r_paren()
        return kind

    def field(parser: Any, **named: Any) -> Any:
        if is_type(parser._next) and parser._curr.token_type not in (TokenType.COMMA, TokenType.L_PAREN):
            return parser._parse_column_def(parser._parse_id_var())
        return base._parse_struct_types(parser, **named)

    return {"_parse_types": types, "_parse_struct_types": field}
