"""A leaderboard as Markdown, made for a pull-request comment; what comes from outside stands in code spans."""

from __future__ import annotations

from collections.abc import Iterable

from assay.model import Leaderboard
from assay.reports.markdown.blocks import cell_code, code, grid, section
from assay.reports.markdown.diff import LENGTH, folded, noted, sentence, within
from assay.reports.views.leaderboard import LeaderboardView
from assay.reports.views.leaderboard_build import SAME, view_of_leaderboard
from assay.reports.views.run import Fact

_MATRIX = 12
"""A matrix of more runs than this is no longer read."""
_ROWS = 100


def leaderboard_markdown(board: Leaderboard) -> bytes:
    """The leaderboard, short enough for one comment."""
    view = view_of_leaderboard(board)
    parts = ["\n".join(_ranking(view))]
    more = [*_matrix(view), *_pairs(view), "\n".join(["", *(f"- {sentence(said)}" for said in view.legend)])]
    runs = [folded("The runs", [f"- {code(row.label)}: {_facts(row.facts)}" for row in view.standings[:_ROWS]])]
    return ("\n".join([*parts, *within([*more, *runs], LENGTH - 1000 - len(parts[0]))]) + "\n").encode()


def _facts(facts: Iterable[Fact]) -> str:
    return ", ".join(f"{fact.name} {code(fact.value)}" for fact in facts)


def _ranking(view: LeaderboardView) -> Iterable[str]:
    yield f"## {sentence(view.title)}"
    yield ""
    yield f"**{sentence(view.lead)}** {sentence(view.cases)}"
    yield ""
    yield from noted(view.notes)
    if view.standings:
        yield from grid(
            ("place", "possible", "letters", "run", cell_code(view.metric), "interval", "cases"),
            [
                (
                    row.place,
                    row.possible,
                    f"`{row.letters}`" if row.letters else "",
                    cell_code(row.label),
                    f"**{row.figure.text}**",
                    row.figure.interval,
                    row.figure.tally,
                )
                for row in view.standings[:_ROWS]
            ],
        )
    if len(view.standings) > _ROWS:
        yield ""
        yield f"and {len(view.standings) - _ROWS:,} more"


def _matrix(view: LeaderboardView) -> list[str]:
    if not view.pairs or len(view.standings) > _MATRIX:
        return []
    places = range(len(view.standings))
    lines = [
        *section("Who can be told apart"),
        *grid(
            ("", *(str(place + 1) for place in places)),
            [
                (f"{place + 1} {cell_code(row.label)}", *("·" if cell is None else cell for cell in view.matrix[place]))
                for place, row in enumerate(view.standings)
            ],
        ),
        "",
        f"By how many points the run of a line lies above (+) or below (-) that of a column. `{SAME}`: not told apart.",
    ]
    return ["\n".join(lines)]


def _pairs(view: LeaderboardView) -> list[str]:
    if not view.pairs:
        return []
    rows = [
        (
            cell_code(pair.first),
            cell_code(pair.second),
            pair.difference,
            pair.interval,
            pair.p_value.replace("<", "&lt;"),
            pair.adjusted_p_value.replace("<", "&lt;"),
            "yes" if pair.apart else "no",
        )
        for pair in view.pairs[:_ROWS]
    ]
    lines = list(grid(("", "against", "points", "interval", "p", "adjusted p", "told apart"), rows))
    hidden = len(view.pairs) - len(rows)
    lines += ["", f"and {hidden:,} more in the JSON report"] if hidden else []
    return [folded("Every pair", lines)]
