"""Read SQL: is it one read-only query, what its outermost level asks for, and which of its rows tie."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError

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
        is_plain,
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
    "is_plain",
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
    "shape": "OuterClauses chooses_by_number is_nondeterministic is_plain may_be_cut read_shape same_text warm_up",
    "statement": "StatementReading read_statement",
}
"""The names of each module. They load when first used: the process of a run needs few of them, its workers all.

A name must not also be a module's, which would take its place as soon as the module is imported.
"""


class _WithoutOwnTexts(logging.Filter):
    """Drops what sqlglot logs when Assay calls it, and lets through what other callers cause.

    sqlglot logs the text of each statement that it only half understands. A system's answer may repeat a password,
    which only the connection to that system could mask.
    """

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - as logging calls it
        """Whether to log the record."""
        frame = sys._getframe()
        while (frame := frame.f_back) is not None:  # type: ignore[assignment]
            if frame.f_globals.get("__name__", "").partition(".")[0] == "assay":
                return False
        return True


logging.getLogger("sqlglot").addFilter(_WithoutOwnTexts())


def _refuse_compiled_parser() -> None:
    """Raise InputError where sqlglot's machine code is installed: no class of Python can extend its parser."""
    package = find_spec("sqlglot")
    for folder in (package and package.submodule_search_locations) or ():
        if any(found.suffix in (".so", ".pyd") for found in Path(folder).glob("parser.*")):
            raise InputError(
                "the package sqlglotc is installed, whose compiled parser cannot be extended for VQL and for some "
                "checks: pip uninstall sqlglotc"
            )


_refuse_compiled_parser()


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module 'assay.sql' has no attribute {name!r}")
    value = getattr(import_module(f"assay.sql.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
