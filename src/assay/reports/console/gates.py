"""The table of gates by itself, for a verb that prints nothing else of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.model import GateResult
from assay.reports.blocks.gates import gates_section
from assay.reports.console.drawn import MARGIN, drawn_sections, page
from assay.reports.console.plain import plain_sections, plain_text
from assay.reports.console.printing import print_either

if TYPE_CHECKING:
    from rich.console import Console


def print_table(results: Sequence[GateResult], *, console: Console | None = None) -> None:
    """Print the table alone: drawn on a terminal, plain lines elsewhere."""
    section = gates_section(results)
    print_either(
        lambda width: page(drawn_sections([section], max(20, width - 2 * MARGIN)))[1:-1],
        lambda: plain_text(plain_sections([section])),
        console,
    )
