"""The tables of a run over selections as rows of text, for the formats that draw text."""

from __future__ import annotations

from assay.reports.text.plain import unscored
from assay.reports.views.run import GroupTable, RunView, most_cases
from assay.reports.views.selections import SelectionOverview


def group_cells(view: RunView, table: GroupTable, *, limit: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A breakdown as a header and rows of text: the group, exact selections, and what stands beside them."""
    beside = view.selection.beside if view.selection else ()
    counted = "turns" if table.kind in ("turn", "dataset") else "cases"
    header = (table.title, "exact", "", counted, *(named.name.removeprefix("macro ") for named in beside))
    shown = most_cases(table, limit)
    some = any(row.headline.rate.unscored for row in shown)
    rows = [
        (
            row.name,
            row.headline.text,
            row.headline.interval,
            row.headline.tally,
            *(row.figures[named.place].text for named in beside),
            *([unscored(row.headline.rate)] if some else []),
        )
        for row in shown
    ]
    return (*header, *([""] if some else [])), rows


def dimension_cells(
    overview: SelectionOverview, *, means: bool = True
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table of dimensions as a header and rows of text; columns that say nothing are left out."""
    beyond = any(row.beyond for row in overview.dimensions)
    header = ("dimension", "turns", *(("beyond",) if beyond else ()), "recall", "precision", "F1", "TP", "FP", "FN")
    rows = []
    for row in overview.dimensions:
        cells = [row.name, f"{row.turns:,}", *([f"{row.beyond:,}" if row.beyond else ""] if beyond else [])]
        cells += [row.recall, row.precision, row.f1]
        cells += [f"{count:,}" for count in (row.true_positives, row.false_positives, row.false_negatives)]
        cells += [row.mean_recall, row.mean_precision] if means else []
        rows.append(tuple(cells))
    return (*header, *(("mean recall", "mean precision") if means else ())), rows


def dimension_legend(overview: SelectionOverview) -> str:
    """What the columns of the table of dimensions mean, in a sentence."""
    beyond = any(row.beyond for row in overview.dimensions)
    parts = [
        "TP: terms in target and selection; FP: only selected; FN: only in the target",
        *(["beyond: turns that selected in a dimension that their target does not have"] if beyond else []),
    ]
    return "; ".join(parts) + "."
