"""Read SQL: whether it is one read-only query, what its outermost level asks for, and which of its rows tie."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.sql.comments import without_comments
    from assay.sql.probes.any_row import leaves_choice, takes_any_row
    from assay.sql.probes.empty_input import empty_input_probe
    from assay.sql.probes.ranked import TieProbe, tie_probes, visible_keys
    from assay.sql.schema.create_table import check_conditions
    from assay.sql.shape import (
        OuterClauses,
        chooses_by_number,
        is_nondeterministic,
        may_be_cut,
        read_shape,
        same_text,
        warm_up,
    )
    from assay.sql.statement import StatementReading, read_statement

__all__ = [
    "OuterClauses",
    "StatementReading",
    "TieProbe",
    "check_conditions",
    "chooses_by_number",
    "empty_input_probe",
    "is_nondeterministic",
    "leaves_choice",
    "may_be_cut",
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
    "schema.create_table": "check_conditions",
    "comments": "without_comments",
    "probes.any_row": "leaves_choice takes_any_row",
    "probes.empty_input": "empty_input_probe",
    "probes.ranked": "TieProbe tie_probes visible_keys",
    "shape": "OuterClauses chooses_by_number is_nondeterministic may_be_cut read_shape same_text warm_up",
    "statement": "StatementReading read_statement",
}
"""The names of each module. They load on first use: the main process of a run needs only a few, its workers all.

A name must not equal a module's name: importing the module would replace it.
"""


class _WithoutOwnTexts(logging.Filter):
    """Drops what sqlglot logs when Assay calls it; passes records that other callers cause.

    sqlglot logs each statement that it only partly understands. A system's answer may contain a password that only its
    connection could mask.
    """

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - as logging calls it
        """Whether to log the record."""
        frame = sys._getframe()
        while (frame := frame.f_back) is not None:  # type: ignore[assignment]
            if frame.f_globals.get("__name__", "").partition(".")[0] == "assay":
                return False
        return True


logging.getLogger("sqlglot").addFilter(_WithoutOwnTexts())


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module 'assay.sql' has no attribute {name!r}")
    value = getattr(import_module(f"assay.sql.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
