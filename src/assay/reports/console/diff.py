"""A comparison of two runs on standard output: drawn with rich on a terminal, plain lines anywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.model import RunDiff, RunHead
from assay.reports.blocks.diff import diff_sections
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
from assay.reports.views.diff import DiffView
from assay.reports.views.diff_build import view_of_diff
from assay.shell import command_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text


def print_diff(diff: RunDiff, *, console: Console | None = None, cases: int | None = None) -> None:
    """Print a comparison: drawn to the console's width on a terminal, the text of `plain_diff` elsewhere."""
    view = view_of_diff(diff, cases=cases)
    steps = _steps((diff.baseline, diff.candidate))
    print_either(lambda width: drawn_diff(view, steps, width), lambda: _plain_diff(view, steps), console)


def plain_diff(diff: RunDiff, *, cases: int | None = None) -> str:
    """A comparison as plain lines: nothing drawn, no line cut, one fact per line."""
    return _plain_diff(view_of_diff(diff, cases=cases), ())


def _plain_diff(view: DiffView, steps: Sequence[tuple[str, str]]) -> str:
    lines = [view.title, view.sentence]
    if view.counts:
        lines.append(", ".join(f"{one.count:,} {one.name}" for one in view.counts))
    lines += [f"note: {note}" for note in view.notes]
    lines += [f"{side.role}: {side.label}, by itself {side.own}" for side in (view.baseline, view.candidate)]
    lines += plain_sections(diff_sections(view))
    lines += ["", *(f"{what}: {command}" for what, command in steps)] if steps else []
    return plain_text(lines)


def _steps(heads: Sequence[RunHead]) -> list[tuple[str, str]]:
    """The command for a pull request's comment, where both runs are stored."""
    folders = [head.folder or "" for head in heads]
    # A folder name with hidden characters could not be typed from what is shown.
    if not all(folder and one_line(folder) == folder for folder in folders):
        return []
    return [("for a pull request", f"assay diff {command_line(folders)} --md diff.md")]


def drawn_diff(view: DiffView, steps: Sequence[tuple[str, str]], width: int) -> list[RenderableType]:
    """The parts of the comparison, top to bottom, for a terminal of ``width`` columns."""
    inner = max(20, width - 2 * MARGIN)
    parts = (*drawn_sections(diff_sections(view), inner), *drawn_steps(steps))
    return page((_panel(view, inner), *_sides(view, inner), *parts))


def _panel(view: DiffView, width: int) -> RenderableType:
    from rich.text import Text

    colour = COLOURS[view.direction if view.firm else "unclear"]
    parts: list[RenderableType] = [Text.assemble((view.lead, f"bold {colour}"), ": ", view.rest)]
    if view.counts:
        cells = max(10, min(width, WIDEST) - 6)
        parts += [Text(), _kinds_bar(view, cells), *_kinds_legend(view, cells)]
    foot = f"{view.headline_metric}, {view.confidence} interval"
    return panel(parts, view.notes, head=view.title, foot=foot, width=width)


def _kinds_bar(view: DiffView, cells: int) -> Text:
    """A bar of all paired cases, from still right to unscored; each kind has at least one cell."""
    from rich.text import Text

    counts = {one.kind: one.count for one in view.counts}
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


def _kinds_legend(view: DiffView, width: int) -> list[Text]:
    """What the signs of the bar stand for; an entry is never torn apart."""
    from rich.text import Text

    counts = {one.kind: one for one in view.counts}
    lines = [Text()]
    for kind, (sign, style) in KIND_STYLES.items():
        if kind in counts:
            entry = Text.assemble((sign, style), " ", (f"{counts[kind].count:,}", "bold"), f" {counts[kind].name}")
            if lines[-1] and lines[-1].cell_len + 3 + entry.cell_len > width:
                lines.append(Text())
            lines[-1].append("   " if lines[-1] else "").append_text(entry)
    return lines


def _sides(view: DiffView, width: int) -> list[RenderableType]:
    from rich.text import Text

    sides = (view.baseline, view.candidate)
    labels = [Text(side.label, style="bold") for side in sides]
    room = min(max(10, width // 3), max(label.cell_len for label in labels))
    lines: list[RenderableType] = [Text()]
    for side, label in zip(sides, labels, strict=True):
        line = padded(Text(side.role, style="dim"), len("candidate")).append_text(padded(label, room))
        lines.append(unbroken(line.append(f"by itself {side.own}")))
    return lines
