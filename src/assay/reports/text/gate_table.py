"""The table of gates, as summaries have it and by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from assay.model import GateResult
from assay.reports.text.plain import one_line
from assay.reports.views.run import CaseLink, GateRow, named_ids

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_NAME_LENGTH, _NAME_WIDTH = 120, 28


def gate_rows(results: Sequence[GateResult], links: Mapping[str, CaseLink] | None = None) -> tuple[GateRow, ...]:
    """The results ready to draw. ``links`` has the cases of the report by id; without it nothing can be linked."""

    def link(case_id: str) -> CaseLink:
        return (links or {}).get(case_id) or CaseLink(id=one_line(case_id, limit=80), anchor="")

    return tuple(
        GateRow(
            gate=one_line(result.gate, limit=_NAME_LENGTH),
            passed=result.passed,
            wanted=one_line(result.wanted),
            found=one_line(result.found),
            missed_by=one_line(result.missed_by or ""),
            cases=tuple(map(link, result.case_ids)),
        )
        for result in results
    )


def conclusion(results: Sequence[GateResult]) -> str:
    """``gates: 3 of 4 passed``, and which are missed."""
    missed = [one_line(result.gate, limit=_NAME_LENGTH) for result in results if not result.passed]
    said = f"gates: {len(results) - len(missed):,} of {len(results):,} passed"
    return f"{said}; missed: {', '.join(missed)}" if missed else said


def plain_cells(rows: Sequence[GateRow]) -> list[tuple[str, ...]]:
    """One gate a row, for aligned columns; the last one holds all that was found."""
    return [
        (row.state, row.gate, f"wanted {row.wanted}", "; ".join(filter(None, (f"found {row.found}", missed(row)))))
        for row in rows
    ]


def missed(row: GateRow) -> str:
    """``missed by 3.8 points; not as wanted: q17, q21, +12``; empty where the gate passed."""
    if row.passed:
        return ""
    said = f"missed by {row.missed_by}" if row.missed_by else "missed"
    return f"{said}; not as wanted: {named_ids(row.cases)}" if row.cases else said


def drawn_gates(rows: Sequence[GateRow], width: int) -> Table:
    """The gates for a terminal. Nothing is cut: what does not fit a line goes on in the next."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=1)
    grid.add_column(max_width=min(_NAME_WIDTH, max(10, width // 3)), overflow="fold")
    grid.add_column(overflow="fold")
    for row in rows:
        mark = Text("✓", style="bold green") if row.passed else Text("✗", style="bold red")
        said = Text.assemble(("wanted ", "dim"), row.wanted, "\n", ("found  ", "dim"), row.found)
        if not row.passed:
            head, colon, cases = missed(row).partition(": ")
            said.append("\n").append(head, style="bold red").append(colon).append(cases, style="dim")
        grid.add_row(mark, Text(row.gate, style="bold"), said)
    return grid


def print_table(results: Sequence[GateResult], *, console: Console | None = None) -> None:
    """Print the table alone: drawn on a terminal, plain lines elsewhere."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from assay.reports.text.plain import aligned

    console = console or Console(highlight=False)
    rows = gate_rows(results)
    title = conclusion(results).partition(";")[0]
    if console.is_terminal and not console.options.ascii_only:
        inner = max(20, console.width - 4)
        head = Text("\n").append(title[:1].upper() + title[1:], style="bold underline")
        console.print(Padding(head, (0, 2)), Padding(drawn_gates(rows, inner), (0, 2)), highlight=False, markup=False)
        return
    text = "\n".join(["", title, *(line.rstrip() for line in aligned(plain_cells(rows)))]) + "\n"
    console.file.write(text.encode(console.encoding, "replace").decode(console.encoding))
