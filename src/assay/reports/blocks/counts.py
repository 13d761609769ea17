"""Tables of how many cases carry a name, what the name means, and which cases they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from assay.reports.blocks.values import EVERYWHERE, Column, Medium, Row, Table, columns

MOST_COUNTS: Final[Mapping[Medium, int]] = {"comment": 25, "page": 12, "book": 25}
MEANING_MEDIA: Final[frozenset[Medium]] = EVERYWHERE - {"plain"}


def meaning_column() -> Column:
    """What a figure means, wherever there is room for it."""
    return Column(title="meaning", only=frozenset({"wide", "comment", "page", "book"}))


def count_table(
    heads: tuple[str, str],
    rows: Iterable[Row],
    *,
    shares: bool = False,
    told: frozenset[Medium] = MEANING_MEDIA,
    meaning: str = "meaning",
    ids_in_lines: int = 10,
    bars: bool = False,
    most: Mapping[Medium, int] = MOST_COUNTS,
) -> Table:
    """The table of such rows, whose cells are name, count, share, cases and meaning.

    ``heads`` are the titles of name and count; ``shares``: whether every medium shows the shares, ``told``: which
    media have the meanings; ``bars``: whether a workbook draws the counts, too.
    """
    name, number = heads
    return Table(
        columns=columns(
            name,
            Column(title=number, strong=True),
            Column(title="share", only=EVERYWHERE if shares else frozenset({"book"})),
            Column(title="which", only=EVERYWHERE - {"book"}, ids_in_lines=ids_in_lines),
            Column(title=meaning, only=told),
        ),
        rows=tuple(rows),
        look="counts",
        headed=False,
        most=most,
        bars=(1,) if bars else (),
        bars_are="counts",
    )
