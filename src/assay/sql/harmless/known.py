"""What is known to be harmless: kinds of nodes, functions, settings and tables, by dialect.

``DIALECT.txt`` lists the functions that a service documents and sqlglot does not know. An asterisk after the name of an
aggregate function of ClickHouse: combinators may follow, for example -If and -State.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

_FORMATS = "avro binaryfile csv delta hudi iceberg image jdbc json libsvm orc parquet text xml"
FILE_FORMATS = frozenset(_FORMATS.split())
"""What Spark reads as the format of a path before a table's name, if no schema has that name."""

_NODES = """
Add Alias Aliases All Any AtTimeZone Between BitString BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr
BitwiseRightShift BitwiseXor Boolean Bracket ByteString CTE Changes CharacterSet Cluster Column ColumnConstraint
ColumnDef CommentColumnConstraint Cube NotNullColumnConstraint
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
"""The kinds of nodes that a read can have, except functions, by sqlglot's names."""

FORBIDDEN = {
    "Into": "SELECT … INTO writes",
    "QueryTransform": "TRANSFORM runs a command on the server",
    "Lock": "it locks the rows that it reads",
    "DirectoryStage": "it lists the files of a stage",
    "DynamicIdentifier": "IDENTIFIER() names a table or a function by a value",
    "Command": "it contains a command",
}
"""What the user cannot allow, and why it is refused."""

_BAD = """
AIAgg AIClassify AIEmbed AIForecast AIGenerate AISimilarity AISummarizeAgg FeaturesAtTime GenerateBool
GenerateDouble GenerateEmbedding GenerateInt GenerateTable GenerateText MLForecast MLTranslate NextValueFor Predict
ReadCSV ReadParquet Secret ToFile
"""
HARMFUL = frozenset(_BAD.split())
"""The functions that sqlglot knows and that call a billed model, read files or secrets, or advance a sequence."""

_SETTINGS = """
aggregate_functions_null_for_empty allow_experimental_analyzer enable_analyzer any_join_distinct_right_table_keys
asterisk_include_alias_columns date_time_input_format date_time_output_format distributed_product_mode
enable_optimize_predicate_expression enable_unaligned_array_join except_default_mode extremes final
group_by_use_nulls intersect_default_mode join_algorithm join_default_strictness join_use_nulls max_block_size
max_threads optimize_aggregation_in_order optimize_move_to_prewhere optimize_read_in_order
prefer_column_name_to_alias session_timezone transform_null_in union_default_mode use_skip_indexes
"""
HARMLESS_SETTINGS = frozenset(_SETTINGS.split())
"""ClickHouse's settings that a query may set for itself: they do not raise limits."""


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
"""The views of an INFORMATION_SCHEMA that describe the data; the others describe jobs, users and the service."""
_OF_CLICKHOUSE = "columns databases dictionaries numbers numbers_mt one parts tables zeros zeros_mt"
_SYSTEM_TABLES = frozenset(_OF_CLICKHOUSE.split())
"""ClickHouse's own tables that describe the data, or are values."""

_KEYWORDS = """
AT BEFORE BERNOULLI BLOCK BY CHANGES EXCLUDE GROUP ILIKE INTERPOLATE MEASURES NULLS PATTERN REPEATABLE SEED
SEMANTIC_VIEW SYSTEM
"""
WORDS = frozenset(_KEYWORDS.split())
"""Words before parentheses that are never function names."""

_SNOWFLAKE_MATCHES = frozenset({"classifier", "match_number", "match_sequence_number"})
HINTS = frozenset(
    {"broadcast", "coalesce", "merge", "range_join", "rebalance", "repartition", "repartition_by_range", "shuffle_hash"}
    | {"shuffle_merge", "shuffle_replicate_nl", "skew"}
)
"""Spark's hints, which look like functions."""

OF_MATCHES = {
    "snowflake": _SNOWFLAKE_MATCHES,
    "databricks": _SNOWFLAKE_MATCHES,
    "bigquery": frozenset({"classifier", "match_number", "match_row_number", "next", "prev"}),
}
"""The functions that exist only in MATCH_RECOGNIZE."""

_COMBINATORS = re.compile(
    "(?:argmax|argmin|array|distinct|foreach|if|map|merge|null|ordefault|ornull|resample|simplestate|state|tuple)*"
)


def is_known(full: str, plain: str, dialect: str) -> bool:
    """Whether a function is harmless. ``plain``: its name, if it has no schema."""
    name = plain.lower()
    if full.lower() in _documented(dialect) or name in _parsed_names(dialect):
        return True
    if dialect != "clickhouse":
        return False
    ends = (end for end in range(len(name), 0, -1) if _COMBINATORS.fullmatch(name, end))
    return any(name[:end] in _aggregates() for end in ends)


@lru_cache(maxsize=8)
def _parsed_names(dialect: str) -> frozenset[str]:
    """The functions that sqlglot's parser of a dialect knows as harmless, in lower case."""
    from sqlglot import exp

    from assay.sql.reader import reader

    parser = reader(dialect).parser_class
    names = {*parser.FUNCTIONS, *parser.FUNCTION_PARSERS, *parser.NO_PAREN_FUNCTION_PARSERS}
    names.update(getattr(parser, "AGG_FUNCTIONS", ()))
    bad = {name for kind in HARMFUL for name in getattr(exp, kind).sql_names()} | {"DYNAMIC_IDENTIFIER", "IDENTIFIER"}
    bad |= {"EMBED", "FORECAST", "GENERATE", "GENERATE_TEXT_EMBEDDING", "TRY_TO_FILE"}
    return frozenset(name.lower() for name in names if name.upper() not in bad)


@lru_cache(maxsize=1)
def _aggregates() -> frozenset[str]:
    """ClickHouse's aggregate functions."""
    from assay.sql.reader import reader

    parsed: set[str] = getattr(reader("clickhouse").parser_class, "AGG_FUNCTIONS", set())
    starred = (name.removesuffix("*") for name in _documented("clickhouse") if name.endswith("*"))
    return frozenset({*starred, *map(str.lower, parsed)})


@lru_cache(maxsize=8)
def _documented(dialect: str) -> frozenset[str]:
    """The harmless functions of a service that sqlglot does not know, in lower case."""
    name = "spark" if dialect == "databricks" else dialect
    text = files("assay.sql.harmless").joinpath(f"{name}.txt")
    return frozenset(text.read_text(encoding="utf-8").split())


def is_of_the_service(parts: tuple[str, ...], dialect: str) -> bool:
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


def is_file(parts: tuple[str, ...]) -> bool:
    return "/" in parts[-1] or (len(parts) == 2 and parts[0].lower() in FILE_FORMATS)
