"""The rows of the tables of counts in a run's report."""

from __future__ import annotations

from assay.reports.blocks.run import RunReport
from assay.reports.blocks.values import Chart, Description, Link, Name, Number, Row, Table


class Counted:
    """A row of a table of counts, by its cells."""

    def __init__(self, row: Row) -> None:
        name, count, _, self.cases, remark = row.cells
        assert isinstance(name, Name)
        assert isinstance(count, Number)
        assert isinstance(remark, Description)
        self.name, self.blame, self.label = name.text, name.blame, name.whole
        self.count, self.example = count.value, remark.example
        self.link: Link = count.link


def counted(report: RunReport, key: str = "") -> list[Counted]:
    """The rows of the section of that key; of all such sections without one."""
    return [
        Counted(row)
        for section in report.sections
        for given in section.blocks
        for block in [given.table if isinstance(given, Chart) else given]
        if isinstance(block, Table) and block.look == "counts" and not block.wraps
        for row in block.rows
        if section.key == key or not (key or section.key in ("reliability", "strength", "conversations"))
    ]
