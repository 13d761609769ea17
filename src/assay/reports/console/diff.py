"""A comparison of two runs on standard output: drawn with rich on a terminal, plain lines anywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.model import RunDiff, RunHead
from assay.platform.shell import command_line
from assay.reports.blocks.diff import DiffReport
from assay.reports.console.bars import COLOURS
from assay.reports.console.drawn import (
    KIND_STYLES,
    MARGIN,
    WIDEST,
    drawn_sections,
    drawn_steps,
    padded,
    page,
    panel,
    unbroken,
)
from assay.reports.console.plain import plain_sections, plain_text
from assay.reports.console.printing import print_either
from assay.reports.text.plain import one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text


def print_diff(diff: RunDiff, *, console: Console | None = None, cases: int | None = None) -> None:
    """Print a comparison: drawn to the console's width on a terminal, the text of `plain_diff` elsewhere."""
    report = DiffReport(diff, cases=cases)
    steps = _steps((diff.baseline, diff.candidate))
    print_either(lambda width: drawn_diff(report, steps, width), lambda: _plain_diff(report, steps), console)


def plain_diff(diff: RunDiff, *, cases: int | None = None) -> str:
    """A comparison as plain lines: nothing drawn, no line cut, one fact per line."""
    return _plain_diff(DiffReport(diff, cases=cases), ())


def _plain_diff(report: DiffReport, steps: Sequence[tuple[str, str]]) -> str:
    lines = [report.title, report.sentence]
    if report.counts:
        lines.append(", ".join(f"{number:,} {name}" for _, name, number in report.counts))
    lines += [f"note: {note}" for note in report.notes]
    lines += [f"{role}: {label}, by itself {report.own(head)}" for role, label, head in report.sides]
    lines += plain_sections(report.sections)
    lines += ["", *(f"{what}: {command}" for what, command in steps)] if steps else []
    return plain_text(lines)


def _steps(heads: Sequence[RunHead]) -> list[tuple[str, str]]:
    """The command for a pull request's comment, if both runs are stored."""
    folders = [head.folder or "" for head in heads]
    # A folder name with hidden characters could not be typed from what is shown.
    if not all(folder and one_line(folder) == folder for folder in folders):
        return []
    return [("for a pull request", f"assay diff {command_line(folders)} --md diff.md")]


def drawn_diff(report: DiffReport, steps: Sequence[tuple[str, str]], width: int) -> list[RenderableType]:
    """The parts of the comparison, top to bottom, for a terminal of ``width`` columns."""
    inner = max(20, width - 2 * MARGIN)
    parts = (*drawn_sections(report.sections, inner), *drawn_steps(steps))
    return page((_panel(report, inner), *_sides(report, inner), *parts))


def _panel(report: DiffReport, width: int) -> RenderableType:
    from rich.text import Text

    colour = COLOURS[report.direction if report.firm else "unclear"]
    parts: list[RenderableType] = [Text.assemble((report.lead, f"bold {colour}"), ": ", report.rest)]
    if report.counts:
        cells = max(10, min(width, WIDEST) - 6)
        parts += [Text(), _kinds_bar(report, cells), *_kinds_legend(report, cells)]
    foot = f"{report.headline_metric}, {report.confidence} interval"
    return panel(parts, report.notes, head=report.title, foot=foot, width=width)


def _kinds_bar(report: DiffReport, cells: int) -> Text:
    """A bar of all paired cases, from still right to unscored; each kind has at least one cell."""
    from rich.text import Text

    counts = {kind: number for kind, _, number in report.counts}
    kinds = [kind for kind in KIND_STYLES if kind in counts]
    total = sum(counts.values())
    shares = {kind: max(1, round(counts[kind] / total * cells)) for kind in kinds}
    # The largest kind absorbs the rounding.
    largest = max(kinds, key=lambda kind: counts[kind])
    shares[largest] = max(1, shares[largest] + cells - sum(shares.values()))
    bar = Text(no_wrap=True)
    for kind in kinds:
        sign, style = KIND_STYLES[kind]
        bar.append(sign * shares[kind], style=style)
    return bar


def _kinds_legend(report: DiffReport, width: int) -> list[Text]:
    """What the signs of the bar stand for; an entry is never torn apart."""
    from rich.text import Text

    counts = {kind: (name, number) for kind, name, number in report.counts}
    lines = [Text()]
    for kind, (sign, style) in KIND_STYLES.items():
        if kind in counts:
            name, number = counts[kind]
            entry = Text.assemble((sign, style), " ", (f"{number:,}", "bold"), f" {name}")
            if lines[-1] and lines[-1].cell_len + 3 + entry.cell_len > width:
                lines.append(Text())
            lines[-1].append("   " if lines[-1] else "").append_text(entry)
    return lines


def _sides(report: DiffReport, width: int) -> list[RenderableType]:
    from rich.text import Text

    labels = [Text(label, style="bold") for _, label, _ in report.sides]
    room = min(max(10, width // 3), max(label.cell_len for label in labels))
    lines: list[RenderableType] = [Text()]
    for (role, _, head), label in zip(report.sides, labels, strict=True):
        line = padded(Text(role, style="dim"), len("candidate")).append_text(padded(label, room))
        lines.append(unbroken(line.append(f"by itself {report.own(head)}")))
    return lines
