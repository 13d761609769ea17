"""Read SQL: is it one read-only query, what its outermost level asks for, and which of its rows tie."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay.sql.quiet import keep_quiet

if TYPE_CHECKING:
    from assay.sql.comments import without_comments
    from assay.sql.create_table import check_conditions
    from assay.sql.mysql import read_mysql
    from assay.sql.plain import is_plain
    from assay.sql.probes.any_row import leaves_choice, takes_any_row
    from assay.sql.probes.empty_input import nothing_probe
    from assay.sql.probes.ranked import TieProbe, tie_probes, visible_keys
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

__all__ = [
    "QueryShape",
    "StatementReading",
    "TieProbe",
    "check_conditions",
    "chooses_by_number",
    "is_nondeterministic",
    "is_plain",
    "leaves_choice",
    "may_be_cut",
    "nothing_probe",
    "read_mysql",
    "read_shape",
    "read_statement",
    "same_text",
    "takes_any_row",
    "tie_probes",
    "visible_keys",
    "warm_up",
    "without_comments",
]

_HOMES = {
    "create_table": "check_conditions",
    "comments": "without_comments",
    "mysql": "read_mysql",
    "plain": "is_plain",
    "probes.any_row": "leaves_choice takes_any_row",
    "probes.empty_input": "nothing_probe",
    "probes.ranked": "TieProbe tie_probes visible_keys",
    "shape": "QueryShape chooses_by_number is_nondeterministic may_be_cut read_shape same_text warm_up",
    "statement": "StatementReading read_statement",
}
"""The names of each module. They load when first used: the process of a run needs few of them, its workers all.

A name must not also be a module's, which would take its place as soon as the module is imported.
"""


keep_quiet()


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module 'assay.sql' has no attribute {name!r}")
    value = getattr(import_module(f"assay.sql.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
