"""Golds of one case that are not the same answer."""

from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.model.lint import LintRule

RULE = LintRule(
    name="golds-disagree",
    severity="warning",
    needs="cases",
    finds="golds of one case with different results",
    why="Each of them is accepted, so that two systems with different answers are both right: "
    "that may be meant, where the question is open.",
    remedy="Remove the gold that is wrong; where all are meant, turn the rule off for the case.",
    bad="golds: SELECT COUNT(*) FROM singer; SELECT COUNT(name) FROM singer  -- a name is NULL",
    good="golds: SELECT COUNT(*) FROM singer",
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    for one in cases:
        given = [(index, digest) for index, digest in enumerate(one.digests) if digest is not None]
        if len({digest for _, digest in given}) > 1:
            index = next(index for index, digest in given if digest != given[0][1])
            rows = " and ".join(
                f"gold {place + 1}: {one.rows[place]:,} × {one.widths[place]}" for place in (given[0][0], index)
            )
            same_shape = one.rows[given[0][0]] == one.rows[index] and one.widths[given[0][0]] != one.widths[index]
            yield (
                one.case.id,
                index,
                Found(
                    evidence=f"Golds {given[0][0] + 1} and {index + 1} differ (rows × columns, {rows}).",
                    # Alternatives that differ in their columns alone are how some benchmarks accept more columns.
                    severity="note" if same_shape else None,
                ),
            )
