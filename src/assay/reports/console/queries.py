"""A text with its queries coloured, and what differs between two of them underlined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from assay.reports.console.printing import is_surely_plain
from assay.reports.text.parts import MARGIN, QueryText, TextPart
from assay.reports.text.plain import visible
from assay.sql.display import TokenKind, differing, tokens_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STYLES: Mapping[TokenKind, str] = {
    "keyword": "bold blue",
    "string": "green",
    "number": "cyan",
    "comment": "italic bright_black",
}
_DIFFERS = "bold underline magenta"
"""Without colours it stays underlined."""
LEGEND = "underlined: what the other query does not have there"


def print_drawn(parts: Iterable[TextPart], console: Console | None = None) -> bool:
    """Print a text on a terminal, and return True; False: standard output is not a terminal that shows all signs.

    Text from outside cannot steer the terminal. Long lines are left to the terminal to wrap.
    """
    if console is None and is_surely_plain():
        return False
    from rich.console import Console

    console = console or Console(highlight=False)
    if not console.is_terminal or console.options.ascii_only:
        return False
    console.print(*_drawn(parts), sep="\n", highlight=False, markup=False, soft_wrap=True)
    return True


def _drawn(parts: Iterable[TextPart]) -> Iterator[Text]:
    from rich.text import Text

    for part in parts:
        if isinstance(part, str):
            yield Text(visible(part))
            continue
        query, is_marked = _query(part)
        yield query
        if is_marked and not part.is_gold:
            yield Text(f"{MARGIN}{LEGEND}", style="dim")


def _query(part: QueryText) -> tuple[Text, bool]:
    """The query as drawn, and whether anything differs in it or in the other one."""
    from rich.text import Text

    pieces, is_marked = query_pieces(part)
    drawn = Text(MARGIN)
    for text, style in pieces:
        drawn.append(text.replace("\n", f"\n{MARGIN}"), style=style)
    return drawn, is_marked


def query_pieces(part: QueryText) -> tuple[list[tuple[str, str]], bool]:
    """The tokens of a query, each with its style, and whether anything differs in it or in the other query."""
    tokens = tokens_of(visible(part.text.strip()))
    marked: frozenset[int] = frozenset()
    is_marked = False
    if part.beside is not None:
        other = tokens_of(visible(part.beside.strip()))
        sides = differing(tokens, other, part.alike) if part.is_gold else differing(other, tokens, part.alike)
        marked, is_marked = sides[0 if part.is_gold else 1], any(sides)
    pieces = [(one.text, _DIFFERS if one.place in marked else _STYLES.get(one.kind, "")) for one in tokens]
    return pieces, is_marked
