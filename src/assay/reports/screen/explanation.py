"""Why one case is wrong, on one screen: the same parts as in full, with long queries, results and lists cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from assay.reports.console.queries import LEGEND, query_pieces
from assay.reports.screen.lines import Line, Span, cut_line, line, text_of, wrapped
from assay.reports.screen.parts import LINES, WIDTH
from assay.reports.text.parts import MARGIN, QueryText, TextPart
from assay.reports.text.plain import columns_of, visible

_LEAST = 2
"""The fewest lines of a cut part."""
_VERDICT_LINES = 3
"""The most lines of the verdicts at the end."""
_SEEN = 20
"""The most lines that a terminal of 24 rows shows with the command before and the prompt after them."""


def explanation_screen(
    parts: Iterable[TextPart], *, width: int = WIDTH, drawn: bool = False, verdicts: Sequence[str] = ()
) -> list[Line]:
    """The parts of an explanation for lines of ``width`` columns. What is left out is counted.

    ``drawn``: for a terminal, which underlines what differs in the queries. ``verdicts`` are the last lines if a
    small terminal no longer shows the first ones.

    The longest parts are cut first: all parts get the same greatest number of lines that still fits.
    """
    blocks = [_block(part, width, drawn=drawn) for part in parts]
    room = max(1, _VERDICT_LINES // max(1, len(verdicts)))
    last = [part for one in verdicts for part in wrapped(one, width, rest="  ", most=room, style="bold")]
    most_lines = LINES - 2
    if sum(map(len, blocks)) <= _SEEN:
        last = []
    elif last:
        last = [(), *last]
        most_lines -= len(last)
    most = max(map(len, blocks), default=0)
    while most > _LEAST and sum(len(_cut(block, most, width)) for block in blocks) > most_lines:
        most -= 1
    made = [one for block in blocks for one in _cut(block, most, width)]
    is_cut = any(len(block) > most for block in blocks)
    if len(made) > most_lines:
        made, is_cut = [one for one in made if text_of(one).strip()], True
    if len(made) > most_lines:
        made = [*made[: most_lines - 1], line(Span(f"… {len(made) - most_lines + 1:,} more lines", "dim"))]
    note = wrapped("Cut to one screen: --full prints all of it.", width, style="dim") if is_cut else ()
    return [*made, *([()] if note and len(made) < LINES - len(note) - len(last) else []), *note, *last]


def _block(part: TextPart, width: int, *, drawn: bool) -> list[Line]:
    """A part as lines that fit; blank lines above it stay."""
    if isinstance(part, QueryText):
        return _query(part, width, drawn=drawn)
    made: list[Line] = []
    for text in visible(part).split("\n"):
        blanks = text[: len(text) - len(text.lstrip())].replace("\t", " ")
        body = text.strip()
        made += wrapped(body, width, first=blanks, rest=blanks or "  ") if _is_prose(body) else [line(text.rstrip())]
    return [cut_line(one, width) for one in made]


def _is_prose(text: str) -> bool:
    """Whether a line may be wrapped: the columns of a table may not."""
    return "  " not in text and " | " not in text and "-+-" not in text


def _query(part: QueryText, width: int, *, drawn: bool) -> list[Line]:
    """The query with its line breaks, coloured; long lines go on below."""
    made: list[Line] = []
    pieces, is_marked = query_pieces(part)
    current: list[Span] = []
    for text, style in pieces:
        first, *others = text.split("\n")
        current.append(Span(first, style))
        for other in others:
            made += _folded(current, width)
            current = [Span(other, style)]
    made += _folded(current, width)
    legend = [line(Span(f"{MARGIN}{LEGEND}", "dim"))] if drawn and is_marked and not part.is_gold else []
    return [*made, *(cut_line(one, width) for one in legend)]


def _folded(spans: Sequence[Span], width: int) -> list[Line]:
    """A line of a query over as many lines as it takes, broken at blanks if it has any."""
    room = max(8, width - len(MARGIN))
    signs = [(sign, span.style) for span in spans for sign in span.text]
    made: list[Line] = []
    while signs:
        end = used = 0
        while end < len(signs) and (used := used + columns_of(signs[end][0])) <= room:
            end += 1
        end = max(1, end)
        if end < len(signs) and signs[end][0] != " ":
            end = next((place + 1 for place in range(end - 1, 0, -1) if signs[place][0] == " "), end)
        runs = groupby(signs[:end], key=lambda sign: sign[1])
        made.append(line(MARGIN, *(Span("".join(sign for sign, _ in run), style) for style, run in runs)))
        signs = signs[end:]
        while made and signs and signs[0][0] == " ":
            signs = signs[1:]
    return made or [()]


def _cut(block: Sequence[Line], most: int, width: int) -> list[Line]:
    """The first lines of a part, and how many more there are."""
    if len(block) <= most:
        return list(block)
    left = len(block) - most + 1
    blanks = len(text_of(block[most - 1])) - len(text_of(block[most - 1]).lstrip())
    note = f"{' ' * min(blanks, 8)}… {left:,} more line{'s' * (left != 1)}"
    return [*block[: most - 1], cut_line(line(Span(note, "dim")), width)]
