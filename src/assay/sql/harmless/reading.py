"""Whether a query only reads, and harms nothing, as its parsed form shows.

"It parses as SELECT" is not enough: there are queries that write, bill, wait, run a shell command or read a server's
files. So what is known to be harmless is allowed, rather than what is bad forbidden:

- the root is a SELECT, a set operation or VALUES;
- each node is of a kind that a read can have (`HARMLESS_NODES`);
- each function is one that sqlglot knows, but for a few (`HARMFUL`), or one that the service documents as harmless
  (``DIALECT.txt``), without a schema before its name: ``db.upper(x)`` is somebody's own function;
- FROM names tables of the catalogue, not files, stages or values.

What is not known is refused by its name, and the user may allow that name in the URL of the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.sql.dialects import SPARK, parser_errors
from assay.sql.query import span_of
from assay.sql.shape import parse_query
from assay.sql.sources import Ctes
from assay.sql.statement import MOST_CHARACTERS
from assay.sql.trees import nodes_of

if TYPE_CHECKING:
    from sqlglot import Token, exp

_FORMATS = "avro binaryfile csv delta hudi iceberg image jdbc json libsvm orc parquet text xml"
FILE_FORMATS = frozenset(_FORMATS.split())
"""What Spark reads a path as, where it stands before a table's name and no schema has that name."""

_NODES = """
Add Alias Aliases All Any AtTimeZone Between BitString BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr
BitwiseRightShift BitwiseXor Boolean Bracket ByteString CTE Changes CharacterSet Cluster Column ColumnDef Cube
DPipe DataType DataTypeParam Distinct Distribute Div Dot EQ Escape Except Fetch Filter Final FormatJson From
FromTimeZone GT GTE Glob Group GroupingSets Having HavingMax HexString Hint HistoricalData ILike Identifier
IgnoreNulls In IntDiv Intersect Interval IntervalOp IntervalSpan Introducer Is JSON JSONColumnDef JSONKeyValue
JSONPath JSONPathFilter JSONPathKey JSONPathRecursive JSONPathRoot JSONPathScript JSONPathSelector JSONPathSlice
JSONPathSubscript JSONPathUnion JSONPathWildcard JSONSchema JSONValue Join JoinHint Kwarg LT LTE Lambda Lateral
Like Limit LimitOptions Literal MatchRecognize MatchRecognizeMeasure Mod Mul NEQ National Neg NestedJSONSelect Not
Null NullSafeEQ NullSafeNEQ Offset OnCondition Order Ordered OverflowTruncateBehavior Overlaps Parameter Paren
Pivot PivotAlias PivotAny Placeholder PositionalColumn PreWhere PropertyEQ Pseudocolumn Qualify RawString
RecursiveWithSearch RespectNulls Rollup Schema Select SimilarTo SkipJSONColumn Slice Sort Star Sub Subquery Table
TableAlias TableColumn TableFromRows TableSample TimeUnit Tuple UnicodeString Union UnpivotColumns Values Var
Version Where Window WindowSpec With WithFill WithinGroup Connect Prior
"""
HARMLESS_NODES = frozenset(_NODES.split())
"""The kinds of nodes that a read can have, functions left out, by sqlglot's names."""

FORBIDDEN = {
    "Into": "SELECT … INTO writes",
    "QueryTransform": "TRANSFORM runs a command on the server",
    "Lock": "it locks the rows that it reads",
    "DirectoryStage": "it lists the files of a stage",
    "DynamicIdentifier": "IDENTIFIER() names a table or a function by a value",
    "Command": "a command stands in it",
}
"""What the user cannot allow, and why it is refused."""

_BAD = """
AIAgg AIClassify AIEmbed AIForecast AIGenerate AISimilarity AISummarizeAgg FeaturesAtTime GenerateBool
GenerateDouble GenerateEmbedding GenerateInt GenerateTable GenerateText MLForecast MLTranslate NextValueFor Predict
ReadCSV ReadParquet Secret ToFile
"""
HARMFUL = frozenset(_BAD.split())
"""The functions that sqlglot knows and that bill a model, read files or secrets, or take a number of a sequence."""

_SETTINGS = """
aggregate_functions_null_for_empty allow_experimental_analyzer enable_analyzer any_join_distinct_right_table_keys
asterisk_include_alias_columns date_time_input_format date_time_output_format distributed_product_mode
enable_optimize_predicate_expression enable_unaligned_array_join except_default_mode extremes final
group_by_use_nulls intersect_default_mode join_algorithm join_default_strictness join_use_nulls max_block_size
max_threads optimize_aggregation_in_order optimize_move_to_prewhere optimize_read_in_order
prefer_column_name_to_alias session_timezone transform_null_in union_default_mode use_skip_indexes
"""
HARMLESS_SETTINGS = frozenset(_SETTINGS.split())
"""ClickHouse's settings that a query may set for itself: they lift no limit."""


_TAKE_FUNCTIONS = """
arrayAll arrayAvg arrayBottomK arrayCompact arrayCount arrayCumSum arrayCumSumNonNegative arrayDifference arrayExists
arrayFill arrayFilter arrayFirst arrayFirstIndex arrayFirstOrNull arrayFold arrayLast arrayLastIndex arrayLastOrNull
arrayMap arrayMax arrayMin arrayPartialReverseSort arrayPartialSort arrayProduct arrayReverseFill arrayReverseSort
arrayReverseSplit arraySort arraySplit arraySum arrayTopK mapAll mapApply mapExists mapFilter mapPartialReverseSort
mapPartialSort mapReverseSort mapSort
"""
HIGHER_ORDER = frozenset(_TAKE_FUNCTIONS.lower().split())
"""ClickHouse's functions whose first argument may be a function's bare name (its ``system.functions.higher_order``)."""

_OF_SNOWFLAKE_USERS = frozenset({"applicable_roles", "enabled_roles", "load_history", "object_privileges"})
_OF_DATA = """
column_field_paths columns constraint_column_usage key_column_usage materialized_views parameters partitions
routine_options routines schemata schemata_options search_index_columns search_indexes table_constraints table_options
table_snapshots table_storage tables vector_indexes views
"""
_OF_BIGQUERY_DATA = frozenset(_OF_DATA.split())
"""The views of an INFORMATION_SCHEMA that tell of the data; the others tell of jobs, users and the service."""
_OF_CLICKHOUSE = "columns databases dictionaries numbers numbers_mt one parts tables zeros zeros_mt"
_SYSTEM_TABLES = frozenset(_OF_CLICKHOUSE.split())
"""Tables of ClickHouse's own that tell of the data, or are values."""

_NAMES = frozenset({"VAR", "IDENTIFIER", "FILE", "DICTIONARY", "MERGE"})
"""The kinds of words that may be the name of a function that is not sqlglot's."""
_IN_QUOTES = frozenset({"STRING", "IDENTIFIER", "HEREDOC_STRING", "RAW_STRING", "NATIONAL_STRING"})
_OPENING = frozenset({"L_PAREN", "L_BRACKET", "L_BRACE"})
_CLOSING = frozenset({"R_PAREN", "R_BRACKET", "R_BRACE"})
_NOT_NAMES = _OPENING | _CLOSING | {"NUMBER", "STRING", "COMMA", "DASH", "PLUS", "STAR", "SLASH"}
_KEYWORDS = "AT BEFORE BERNOULLI CHANGES EXCLUDE GROUP ILIKE MEASURES PATTERN REPEATABLE SEED SEMANTIC_VIEW SYSTEM"
_WORDS = frozenset(_KEYWORDS.split())
"""Words of that kind that no function is called."""


class Harm(Struct, frozen=True, kw_only=True):
    """Why a query is not known to be harmless."""

    reason: str
    writes: bool = False


def tables_of_read(query: str, dialect: str, *, allowed: frozenset[str]) -> tuple[tuple[str, ...], ...] | Harm | None:
    """The tables that a harmless query reads, each as its unquoted parts; None where a text is not one query.

    ``allowed``: names, in small letters, that are harmless because the user says so. Never raises.
    """
    parsed = _parsed(query, dialect)
    if parsed is None:
        return None
    tree, tokens = parsed
    if hidden := _read_otherwise(query, tokens, dialect):
        return Harm(reason=hidden)
    nodes = nodes_of(tree)
    check = _Check(dialect, allowed)
    for node in nodes:
        if reason := check.refusal(node):
            return Harm(reason=reason, writes=_writes(node))
    if reason := check.refusal_of_words(tokens, nodes):
        return Harm(reason=reason)
    tables = tuple(dict.fromkeys(_tables(nodes, dialect)))
    if file := next((table for table in tables if dialect in SPARK and _is_file(table)), None):
        return Harm(reason=f"{'.'.join(file)} is a file of the server, not a table of the catalogue")
    for table in tables:
        name = ".".join(table)
        if _is_of_the_service(table, dialect) and name.lower() not in allowed:
            shown = f"{name} tells of the service or of other users, not of the data"
            return Harm(reason=f"{shown}. To allow it, write ?allow={name} in the database's URL")
    return tables


def place_of_fault(query: str, dialect: str) -> str:
    """Where the parser stops, in words that follow a sentence; an empty text where it does not say."""
    from sqlglot import parse
    from sqlglot.errors import ParseError

    try:
        parse(query, read=dialect)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        if first.get("line"):
            return f" from line {first['line']}, column {first['col']} on"
    except parser_errors():
        pass
    return ""


def _parsed(query: str, dialect: str) -> tuple[exp.Expr, Sequence[Token]] | None:
    """The tree of a SELECT, a set operation or VALUES, with its tokens; None for any other text."""
    from sqlglot import Dialect, exp

    if len(query) > MOST_CHARACTERS:
        return None
    parsed = parse_query(query, dialect)
    if parsed is not None:
        return parsed.tree, parsed.tokens
    if query.lstrip()[:6].lower() != "values":
        return None
    speaks = Dialect.get_or_raise(dialect)
    try:
        tokens = speaks.tokenize(query)
        trees = [tree for tree in speaks.parser().parse(tokens, query) if tree is not None]
    except parser_errors():
        return None
    return (trees[0], tokens) if len(trees) == 1 and isinstance(trees[0], exp.Values) else None


def _writes(node: exp.Expr) -> bool:
    from sqlglot import exp

    kinds = (exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.TruncateTable, exp.Merge, exp.Into)
    return isinstance(node, kinds) and not isinstance(node, exp.Query)


def _read_otherwise(query: str, tokens: Sequence[Token], dialect: str) -> str | None:
    """Why the service might find other words in the text than sqlglot did, such as code in what sqlglot takes for a
    comment. None: it would not.
    """
    comments = [comment for token in tokens for comment in token.comments or ()]
    hints = re.findall(r"/\*\+(.*?)\*/", query, re.DOTALL)
    if any("/*" in comment for comment in (*comments, *hints)):
        return "a comment begins within a comment"
    if comments and re.search(r"\r(?!\n)", query):
        return "comments stand in a text with a carriage return that no line feed follows"
    if dialect in SPARK:
        if any(comment.rstrip("\r").endswith("\\") for comment in comments):  # to Spark, it goes on in the next line
            return "a comment ends with a backslash"
        if "${" in query:  # which Spark replaces by a value of its settings or environment before it parses
            return "${…} stands for a value of the server's settings"
    if dialect == "snowflake" and "\\$$" in query:
        return "a backslash stands before $$"
    if dialect == "clickhouse":  # whose typographic quotes and minus sign are part of names to sqlglot
        bare = (token.text for token in tokens if token.token_type.name not in _IN_QUOTES)
        if not all(map(str.isascii, bare)):
            return "a sign that is not ASCII stands outside of quotes"
    for token in tokens:
        if token.token_type.name == "IDENTIFIER" and "\\" in query[token.start : token.end + 1]:
            return "a backslash stands in a quoted name"
    return None


class _Check:
    """What is refused of the nodes of a tree."""

    def __init__(self, dialect: str, allowed: frozenset[str]) -> None:
        self._dialect = dialect
        self._allowed = allowed

    def refusal(self, node: exp.Expr) -> str | None:
        """Why a query with this node is not sent; None: the node is harmless."""
        from sqlglot import exp

        kind = type(node).__name__
        if kind in FORBIDDEN:
            return FORBIDDEN[kind]
        if _writes(node):
            return f"it writes ({kind.upper()})"
        if isinstance(node, exp.Func):
            return self._of_function(node)
        if kind not in HARMLESS_NODES or (kind == "Aliases" and self._dialect not in SPARK):
            return self._unless_allowed(kind, f"the construct {kind} is")
        if isinstance(node, exp.Table | exp.TableFromRows):
            return self._of_source(node)
        if isinstance(node, exp.Query):
            return self._of_clauses(node)
        method = node.args.get("method") if isinstance(node, exp.TableSample) else None
        if method is not None and method.name.upper() not in ("SYSTEM", "BERNOULLI", "ROW", "BLOCK"):
            return f"{method.name} is not a method of sampling"
        is_sequence = kind == "Column" and node.name.lower() in ("nextval", "currval") and node.args.get("table")
        if self._dialect == "snowflake" and is_sequence:
            return self._unless_allowed(node.name, f"{node.name} takes a number of a sequence. It is")
        return None

    def refusal_of_words(self, tokens: Sequence[Token], nodes: Sequence[exp.Expr]) -> str | None:
        """As `refusal`, of the names before parentheses: sqlglot drops some arguments that it does not expect."""
        from sqlglot import exp

        aliases = (node.this for node in nodes if isinstance(node, exp.TableAlias))
        starts = {alias._meta.get("start") for alias in aliases if isinstance(alias, exp.Expr) and alias._meta}
        kinds = (exp.Anonymous, exp.AnonymousAggFunc, exp.ParameterizedAgg)
        in_tree = {node.name.lower() for node in nodes if isinstance(node, kinds)}
        for index, (token, following) in enumerate(pairwise(tokens)):
            kind = token.token_type.name
            if kind == "TABLE" and self._dialect in SPARK and following.token_type.name != "L_PAREN":
                return "TABLE stands for a query"
            if following.token_type.name != "L_PAREN" or kind not in _NAMES or token.start in starts:
                continue
            if reason := self._of_first_argument(tokens, index):
                return reason
            full = _dotted(tokens, index)
            is_plain = "." not in full or (self._dialect == "bigquery" and full.upper().startswith(("SAFE.", "NET.")))
            name = token.text.lower()
            if is_plain and (name in in_tree or name.upper() in _WORDS):
                continue
            if reason := self._of_name(full, name if is_plain else ""):
                return reason
        return None

    def _of_first_argument(self, tokens: Sequence[Token], index: int) -> str | None:
        """What is refused of a function that ClickHouse is given by its name alone: ``arrayMap(file, paths)``.

        To sqlglot the name is a column. It may stand in parentheses, in quotes or behind an alias, so that each name
        of an argument that is not a lambda must be that of a harmless function.
        """
        if self._dialect != "clickhouse" or tokens[index].text.lower() not in HIGHER_ORDER:
            return None
        depth, first = 0, []
        for token in tokens[index + 1 :]:
            kind = token.token_type.name
            depth += (kind in _OPENING) - (kind in _CLOSING)
            if kind == "ARROW" or not depth:
                return None
            if kind == "COMMA" and depth == 1:
                break
            first.append(token)
        names = [token.text for token in first if token.token_type.name not in _NOT_NAMES]
        return next((reason for name in names if (reason := self._of_name(name, name))), None)

    def _of_function(self, node: exp.Func) -> str | None:
        from sqlglot import exp

        if isinstance(node, exp.Apply):  # ClickHouse's * APPLY(f)
            applied = node.expression or node.this
            return self._of_name(applied.name, applied.name) if isinstance(applied, exp.Var | exp.Column) else None
        before = _qualifier(node)
        anonymous = isinstance(node, exp.Anonymous)
        name = node.name if anonymous else _snake(type(node).__name__)
        if not anonymous and not before and type(node).__name__ not in HARMFUL:
            return None
        if before and name.startswith(f"{before[-1].upper()}_"):  # AI.GENERATE is sqlglot's AIGenerate
            name = name[len(before[-1]) + 1 :]
        full = ".".join((*before, name))
        return self._of_name(full, name if not before else "")

    def _of_name(self, full: str, plain: str) -> str | None:
        """``plain``: the name, if no schema stands before it."""
        if full.lower() in _documented(self._dialect) or plain.lower() in _parsed_names(self._dialect):
            return None
        return self._unless_allowed(full, f"the function {full} is")

    def _of_source(self, node: exp.Table | exp.TableFromRows) -> str | None:
        from sqlglot import exp

        source = node.this
        if isinstance(node, exp.TableFromRows):
            if isinstance(source, exp.Func | exp.Dot | exp.Query):
                return None
            return "TABLE() names a table by a value"
        if node.args.get("format") or node.args.get("pattern") or source.name.startswith("@"):
            return f"it reads files of the stage {source.name}"
        if isinstance(source, exp.Identifier | exp.Func | exp.Dot):
            return None
        if type(source).__name__ not in HARMLESS_NODES:
            return None  # the node itself is refused
        if isinstance(source, exp.Literal):
            return f"it reads the file {source.name}"
        return f"it names a table by a value ({source.name})"

    def _of_clauses(self, query: exp.Query) -> str | None:
        """What is refused of a query's own clauses."""
        if self._dialect in SPARK and _begins_with_from(query):  # SELECT may be an alias of the table there
            return "FROM stands before SELECT"
        if form := query.args.get("format"):
            return f"FORMAT {form.name} sets how the service writes the result, which the driver must be able to read"
        for setting in query.args.get("settings") or ():
            name = str(setting.this) if setting.key != "eq" else setting.this.name
            if name.lower() not in HARMLESS_SETTINGS and (
                reason := self._unless_allowed(name, f"the setting {name} is")
            ):
                return reason
        return None

    def _unless_allowed(self, name: str, what: str) -> str | None:
        if name.lower() in self._allowed:
            return None
        return f"{what} not known to be harmless. To allow it, write ?allow={name} in the database's URL"


def _begins_with_from(query: exp.Query) -> bool:
    start, outputs = query.args.get("from_"), query.args.get("expressions") or ()
    read = None if start is None else span_of(start)
    spans = [span for span in map(span_of, outputs) if span is not None]
    return read is not None and bool(spans) and read.start < spans[0].start


def _qualifier(node: exp.Func) -> tuple[str, ...]:
    """What stands before a function's name."""
    from sqlglot import exp

    above = node.parent
    if isinstance(above, exp.Table) and node.arg_key == "this":
        parts = (above.args.get("catalog"), above.args.get("db"))
        return tuple(part.name for part in parts if part is not None)
    if not isinstance(above, exp.Dot) or node.arg_key != "expression":
        return ()
    names: list[str] = []
    waiting = [above.this]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.Dot):
            waiting += [part.this, part.expression]
        elif isinstance(part, exp.Column):
            names = [*(one.name for one in part.parts), *names]
        else:
            names = [part.name or "…", *names]
    return tuple(names)


def _snake(name: str) -> str:
    """The name that SQL has for a class of sqlglot's."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=^AI)(?=[A-Z])|(?<=^ML)(?=[A-Z])", "_", name).upper()


def _dotted(tokens: Sequence[Token], index: int) -> str:
    """The name that ends with a token, with what stands before its dots."""
    parts = [tokens[index].text]
    while index >= 2 and tokens[index - 1].token_type.name == "DOT":
        index -= 2
        parts.insert(0, tokens[index].text)
    return ".".join(parts)


@lru_cache(maxsize=8)
def _parsed_names(dialect: str) -> frozenset[str]:
    """The functions that sqlglot's parser of a dialect knows as harmless, in small letters."""
    from sqlglot import Dialect, exp

    parser = Dialect.get_or_raise(dialect).parser_class
    names = {*parser.FUNCTIONS, *parser.FUNCTION_PARSERS, *parser.NO_PAREN_FUNCTION_PARSERS}
    names.update(getattr(parser, "AGG_FUNCTIONS", ()))
    bad = {name for kind in HARMFUL for name in getattr(exp, kind).sql_names()} | {"DYNAMIC_IDENTIFIER", "IDENTIFIER"}
    bad |= {"EMBED", "FORECAST", "GENERATE", "GENERATE_TEXT_EMBEDDING", "TRY_TO_FILE"}
    return frozenset(name.lower() for name in names if name.upper() not in bad)


@lru_cache(maxsize=8)
def _documented(dialect: str) -> frozenset[str]:
    """The harmless functions of a service that sqlglot does not know, in lower case."""
    name = "spark" if dialect == "databricks" else dialect
    text = files("assay.sql.harmless").joinpath(f"{name}.txt")
    return frozenset(text.read_text(encoding="utf-8").split())


def _tables(nodes: Sequence[exp.Expr], dialect: str) -> Iterator[tuple[str, ...]]:
    """The stored tables that a tree names."""
    from sqlglot import exp

    ctes = Ctes()
    aliases = {node.alias_or_name.lower() for node in nodes if isinstance(node, exp.Table | exp.Subquery)}
    for node in nodes:
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier | exp.Dot):
            continue
        parts = tuple(part.name for part in node.parts)
        if len(parts) == 1 and ctes.find(parts[0], node) is not None:
            continue
        if dialect == "bigquery":
            parts = tuple(part for name in parts for part in name.split("."))
            if len(parts) > 1 and parts[0].lower() in aliases and not _is_own_alias(node, parts[0]):
                continue  # the array of a row: FROM orders AS o, o.items
        yield parts


def _is_own_alias(table: exp.Table, name: str) -> bool:
    return bool(table.alias_or_name.lower() == name.lower())


def _is_of_the_service(parts: tuple[str, ...], dialect: str) -> bool:
    """Whether a table is one of the service's own about its servers, accounts and other users' queries."""
    *before, name = (part.lower() for part in parts)
    match dialect:
        case "clickhouse":
            return before == ["system"] and name not in _SYSTEM_TABLES
        case "snowflake":
            usage = bool(before) and before[-1].endswith("_usage")
            return (
                usage
                or (len(before) == 2 and before[0] == "snowflake")
                or (before[-1:] == ["information_schema"] and name in _OF_SNOWFLAKE_USERS)
            )
        case "bigquery":
            return "information_schema" in before and name not in _OF_BIGQUERY_DATA
        case "databricks":
            return len(before) == 2 and before[0] == "system" and before[1] != "information_schema"
    return False


def _is_file(parts: tuple[str, ...]) -> bool:
    return "/" in parts[-1] or (len(parts) == 2 and parts[0].lower() in FILE_FORMATS)
