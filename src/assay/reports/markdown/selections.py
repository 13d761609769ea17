"""A case of SDMX selections in Markdown, turn by turn."""

from __future__ import annotations

from collections.abc import Iterable

from assay.reports.cases.turns import DimensionView, TermList, TurnView
from assay.reports.markdown.blocks import code, fenced

_RAW_LENGTH = 1000
_SIGNS = {"right": " ", "extra": "+", "missing": "-"}


def selection_turn(turn: TurnView) -> Iterable[str]:
    """One turn: its terms as a diff block, everything else as a list."""
    heading = ", ".join(filter(None, (turn.said, turn.figures)))
    yield f"**{turn.label}**: {heading}" if turn.label else heading[:1].upper() + heading[1:]
    yield ""
    if turn.question:
        yield from fenced("text", turn.question)
    dimensions = [line for one in turn.dimensions for line in _dimension(one)]
    dimensions += [line for one in turn.beyond for line in _dimension(one, aside="not in target, ")]
    if dimensions:
        yield "`-` only the target has, `+` only the selection:"
        yield ""
        yield from fenced("diff", "\n".join(dimensions))
    points = [f"Dataset {code(name)}: {state}" for state, name in turn.datasets if state != "right"]
    points += [
        f"Time of {code(time.dataset)}: {time.said}; target {code(time.target)}, selected {code(time.selected)}"
        for time in turn.time
        if time.good is False
    ]
    points += [code(text) for text in (*turn.failures, *turn.remarks)]
    if points:
        yield from (f"- {point}" for point in points)
        yield ""
    if turn.raw and turn.exact is not True:
        yield "The answer as it came:"
        yield ""
        short = turn.raw if len(turn.raw) <= _RAW_LENGTH else turn.raw[:_RAW_LENGTH] + "…"
        yield from fenced("text", short)


def _dimension(found: DimensionView, *, aside: str = "") -> Iterable[str]:
    yield f"@@ {found.name} @@ {aside}recall {found.recall}, precision {found.precision}"
    if found.is_empty:
        yield "  nothing to select, and nothing selected"
    for terms in found.lists:
        yield from _terms(terms)


def _terms(found: TermList) -> Iterable[str]:
    sign = _SIGNS[found.state]
    yield from (f"{sign} {term.line}" for term in found.terms)
    if found.left_out:
        yield f"{sign} and {found.left_out:,} more"
