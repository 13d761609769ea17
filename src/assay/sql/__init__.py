"""Read SQL: is it one read-only query, what its outermost level asks for, and which of its rows tie."""

from assay.sql.comments import without_comments
from assay.sql.inner_limits import InnerLimit, RowNumbers, inner_limits, row_numbers
from assay.sql.mysql import read_mysql
from assay.sql.plain import is_plain
from assay.sql.shape import (
    QueryShape,
    chooses_by_number,
    is_nondeterministic,
    may_be_cut,
    read_shape,
    same_text,
    warm_up,
)
from assay.sql.statement import StatementReading, read_statement
from assay.sql.statement_kind import StatementKind, statement_kind
from assay.sql.tie_breaks import TieBreak, tie_breaks
from assay.sql.ties import TieProbe, tie_probes, visible_keys
from assay.sql.vacuity import nothing_probe

__all__ = [
    "InnerLimit",
    "QueryShape",
    "RowNumbers",
    "StatementKind",
    "StatementReading",
    "TieBreak",
    "TieProbe",
    "chooses_by_number",
    "inner_limits",
    "is_nondeterministic",
    "is_plain",
    "may_be_cut",
    "nothing_probe",
    "read_mysql",
    "read_shape",
    "read_statement",
    "row_numbers",
    "same_text",
    "statement_kind",
    "tie_breaks",
    "tie_probes",
    "visible_keys",
    "warm_up",
    "without_comments",
]
