"""Queries clause by clause: their parts, the differences of two of them, and one with clauses of the other."""

from assay.sql.differences.comparing import differences, function_kind
from assay.sql.differences.difference import Clause, Difference
from assay.sql.differences.parts import QueryParts, SelectParts, Term, place_of
from assay.sql.differences.probes import count_of_joined_rows, quoted_for
from assay.sql.differences.reading import ReadPair, read_pair, read_parts
from assay.sql.differences.repairs import ClauseRepair, RepairedQuery, repaired_queries
from assay.sql.schema import SchemaNames

__all__ = [
    "Clause",
    "ClauseRepair",
    "Difference",
    "QueryParts",
    "ReadPair",
    "RepairedQuery",
    "SchemaNames",
    "SelectParts",
    "Term",
    "count_of_joined_rows",
    "differences",
    "function_kind",
    "place_of",
    "quoted_for",
    "read_pair",
    "read_parts",
    "repaired_queries",
]
