"""The section of gates: what was demanded, and what was found."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports.blocks.values import LINES, Cell, Column, Mark, Medium, Name, Remark, Section, Table, columns, rows
from assay.reports.text.gate_table import missed
from assay.reports.views.run import GateRow

_BESIDE: frozenset[Medium] = frozenset({"comment", "page"})
_BENEATH: frozenset[Medium] = frozenset({*LINES, "book"})


def gates_section(gates: Sequence[GateRow]) -> Section:
    """The gates, in the order in which they were demanded."""

    def line(row: GateRow) -> tuple[Cell, ...]:
        said = "\n".join(filter(None, (f"wanted {row.wanted}", f"found {row.found}", missed(row))))
        state = Mark(text=row.state, good=row.passed)
        parts = (row.wanted, row.found, row.missed_by, row.cases, Remark(meaning=said))
        return Name(text=row.gate, strong=True), state, *parts

    titles = (Column(title=title, only=_BESIDE) for title in ("wanted", "found", "missed by", "which"))
    table = Table(
        columns=columns("gate", "state", *titles, Column(title="found", only=_BENEATH)),
        rows=rows(map(line, gates)),
        look="gates",
        wraps=True,
        most={"comment": 30},
    )
    passed = f"{sum(row.passed for row in gates):,} of {len(gates):,} passed"
    return Section(key="gates", title="Gates", aside=passed, blocks=(table,), place="top", folded=frozenset({"page"}))
