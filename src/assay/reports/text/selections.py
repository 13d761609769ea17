"""How a selection's terms were scored, as text: the details cell of the SDMX workbook, the body of a JUnit failure.

Each dimension reads as the evaluation method of StatGPT writes it (``indicator selection details``):

    INDICATOR
    [recall: 1.00, precision: 0.67]
    True Positives [2]
      * GDP: gross domestic product
      * GDPPC: GDP per capita
    False Negatives [0]
    False Positives [1]
      * GDP_CONST: gross domestic product constant prices

Datasets, time, hierarchies and notes on a term, which the method has no words for, are added only if they occur.
Wrong parts come before right ones, because a cell shows a limited number of lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from assay.model import (
    Case,
    DimensionScore,
    ScoredTerm,
    SelectionScore,
    TimeScore,
    TurnScore,
)
from assay.reports.cases.selection import equivalence, periods
from assay.reports.text.meanings import TARGET_LABELS, TERM_LABELS
from assay.reports.text.plain import hundredths, one_line, percent

NOT_IN_TARGET: Final = "dimensions not in target"
_LONGEST_NAME = 500
_LONGEST_NOTICE = 80
_MANY_RIGHT = 12
"""A dimension with more right terms than this lists them below its wrong ones."""


def details(turns: Sequence[TurnScore], *, case: Case | None = None, limit: int | None = None) -> str:
    """Every turn's dimensions with their terms; several turns each have a heading.

    ``case`` tells how many targets were acceptable. ``limit`` bounds the length in UTF-16 code units,
    as spreadsheets count: a longer text ends at a line, with the number of lines left out. Hidden
    characters show as marks.
    """
    if len(turns) == 1:
        text = "\n".join(_turn(turns[0], case))
    else:
        blocks = ("\n".join((f"Turn {turn.number}", *_turn(turn, case))) for turn in turns)
        text = "\n\n".join(blocks)
    return text if limit is None else cut_at_line(text, limit)


def cut_at_line(text: str, limit: int) -> str:
    """The whole lines that fit ``limit`` UTF-16 code units, and how many more there are."""
    if 2 * len(text) <= limit or _units(text) <= limit:
        return text
    room = limit - _LONGEST_NOTICE
    kept = text.encode("utf-16-le", "replace")[: 2 * room].decode("utf-16-le", "ignore")
    kept = kept[: kept.rfind("\n") + 1].rstrip("\n")
    left_out = text.count("\n", len(kept)) + (0 if kept else 1)
    notice = f"… {left_out:,} more {'line' if left_out == 1 else 'lines'} (the whole is in the JSON report)"
    return f"{kept}\n{notice}" if kept else notice


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "replace")) // 2


def _turn(turn: TurnScore, case: Case | None) -> list[str]:
    if turn.score is None:
        reason = one_line(turn.failure.message) if turn.failure else "the question has no target"
        return [f"not scored: {reason}"]
    blocks = _blocks(turn.score)
    place = turn.number - 1
    targets = len(case.turns[place].targets) if case is not None and place < len(case.turns) else 1
    if targets > 1:
        blocks.append([f"scored by target {turn.score.target_index + 1} of {targets} acceptable ones"])
    if not blocks:
        blocks = [["nothing is to be selected, and nothing was"]]
    lines = blocks[0]
    for block in blocks[1:]:
        lines.append("")
        lines += block
    return lines


def _blocks(score: SelectionScore) -> list[list[str]]:
    """The parts of one turn, which the caller separates with blank lines: those with a mistake first."""
    several = len(score.matched_datasets) + len(score.extra_datasets) + len(score.missing_datasets) > 1
    wrong: list[list[str]] = []
    right: list[list[str]] = []
    for one in (one for one in score.dimensions if one.in_target):
        (wrong if any(one.counts[1:]) else right).append(_dimension(one, several))
    beyond = [_dimension(one, several) for one in score.dimensions if not one.in_target]
    if beyond:
        beyond[0].insert(0, NOT_IN_TARGET)
    if score.missing_datasets or score.extra_datasets:
        missing = [f"  * missing: {_safe(name)}" for name in score.missing_datasets]
        wrong.append(["datasets", *missing, *(f"  * not in target: {_safe(name)}" for name in score.extra_datasets)])
    judged = [one for one in score.time if one.state != "not_judged"]
    if judged:
        (right if all(one.state == "exact" for one in judged) else wrong).append(["time", *map(_time, judged)])
    if score.equivalences:
        right.append(["equivalent through the hierarchy", *(f"  * {equivalence(one)}" for one in score.equivalences)])
    # These have a heading of their own, so they come last.
    return [*wrong, *right, *beyond]


def _dimension(score: DimensionScore, several: bool) -> list[str]:  # noqa: FBT001 - private
    right, extra, missing = score.counts  # a wildcard is one line, but counts every code that it stands for
    found = [f"True Positives [{right}]", *_terms(score.true_positives, (), several, TERM_LABELS)]
    lacking = [f"False Negatives [{missing}]"]
    lacking += _terms(score.false_negatives, score.false_positives, several, TARGET_LABELS)
    wrong = [*lacking, f"False Positives [{extra}]"]
    wrong += _terms(score.false_positives, score.false_negatives, several, TERM_LABELS)
    below = len(score.true_positives) > _MANY_RIGHT and (extra or missing)
    lists = [*wrong, *found] if below else [*found, *wrong]
    return [
        _safe(score.dimension),
        f"[recall: {hundredths(score.recall)}, precision: {hundredths(score.precision)}]",
        *lists,
    ]


def _terms(
    terms: Sequence[ScoredTerm],
    others: Sequence[ScoredTerm],
    several: bool,  # noqa: FBT001 - private
    words: Mapping[str, str],
) -> Iterable[str]:
    """One line per term. ``others`` is the opposite list, which also has a right code with another name."""
    # Ten thousand cases have millions of terms, nearly all plain: check them all at once.
    lines = [f"  * {term.id}" if term.name is None else f"  * {term.id}: {term.name}" for term in terms]
    if not "".join(lines).isprintable() or max(map(len, lines), default=0) > _LONGEST_NAME:
        lines = [
            f"  * {_safe(term.id)}" if term.name is None else f"  * {_safe(term.id)}: {_safe(term.name)}"
            for term in terms
        ]
    if several:
        lines = [
            line if term.dataset is None else f"{line} [{_safe(term.dataset)}]"
            for line, term in zip(lines, terms, strict=True)
        ]
    noted = [(place, term.note) for place, term in enumerate(terms) if term.note is not None]
    across = {(one.dataset, one.id): one.name for one in others if one.note == "name_differs"} if noted else {}
    for place, note in noted:
        other = across.get((terms[place].dataset, terms[place].id)) if note == "name_differs" else None
        lines[place] += f" ({words[note]}: {_safe(other)})" if other is not None else f" ({words[note]})"
    return lines


def _time(score: TimeScore) -> str:
    share = f", {percent(score.share)} in common" if score.state == "overlap" and score.share is not None else ""
    line = f"  * {_safe(score.dataset)}: {score.state}{share}"
    if score.state == "exact":
        return f"{line} ({periods(score.target)})"
    return f"{line} (target: {periods(score.target)}; selected: {periods(score.selected)})"


def _safe(text: str) -> str:
    """A name from outside on one line, its hidden characters as marks."""
    return text if text.isprintable() and len(text) <= _LONGEST_NAME else one_line(text, limit=_LONGEST_NAME)
