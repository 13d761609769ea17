"""How sure the matches of a run are: as a sentence, and as a section."""

from __future__ import annotations

from assay.model import WitnessTotals
from assay.reports.blocks.counts import count_table, figure_table
from assay.reports.blocks.run_numbers import RunNumbers
from assay.reports.blocks.values import Description, Row, Section
from assay.reports.text.meanings import STRENGTHS
from assay.reports.text.plain import interval, percent, plural, words


def said(totals: WitnessTotals) -> str:
    """The whole in a few sentences."""

    def are(count: int) -> str:
        return "none is" if not count else "1 is" if count == 1 else f"{count:,} are"

    counts = {one.name: one.count for one in totals.strengths}
    refuted, conditional = counts.get("refuted", 0), counts.get("conditional", 0)
    sure = sum(counts.get(name, 0) for name in ("same_text", "proved"))
    after = f": {percent(totals.after.value)} {interval(totals.after)} instead of {percent(totals.claimed.value)}"
    text = (
        f"Of {plural(totals.matches, 'match', 'matches')}, {are(sure)} proven right for any data, and {are(refuted)} "
        f"refuted by a counterexample{after if refuted else ''}."
    )
    if conditional:
        text += (
            f" {conditional:,} more {'differs' if conditional == 1 else 'differ'} on data that breaks a pattern of "
            f"this database; without these, {percent(totals.at_worst.value)} {interval(totals.at_worst)}."
        )
    if left := totals.matches - totals.searched:
        text += f" For {plural(left, 'match', 'matches')} no other database was tried."
    return text


def section(report: RunNumbers, totals: WitnessTotals) -> Section:
    """Accuracy as claimed and as it stands after witnesses, and the matches by strength."""
    lines = (
        ("as claimed", totals.claimed, "the same results on the run's own databases"),
        ("after witnesses", totals.after, "without matches that a database like the real one refutes"),
        ("at worst", totals.at_worst, "without the conditional ones, too"),
    )
    figures = figure_table(
        "accuracy",
        (
            Row(
                cells=(name, report.verdict_figure(rate), Description(meaning=meaning)),
                strong=rate is totals.after,
                style="percent",
            )
            for name, rate, meaning in lines
        ),
    )
    counted = count_table(
        ("strength", "matches"),
        (
            report.counted(one, name, STRENGTHS.get(one.name, ""), link=(("strength", name),))
            for one in totals.strengths
            for name in [words(one.name)]
        ),
        bars=True,
        most=None,
    )
    return Section(key="strength", title="How sure the matches are", blocks=(figures, counted), rank=2)
