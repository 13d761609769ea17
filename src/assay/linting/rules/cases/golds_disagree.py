"""Gold queries of one case with different results."""

from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.model.lint import LintRule

RULE = LintRule(
    name="golds-disagree",
    severity="warning",
    needs="cases",
    finds="gold queries of one case with different results",
    why="Each of them is accepted, so two systems with different answers are both right. That may be intended if "
    "the question is open.",
    remedy="Remove the wrong gold query. If all are intended, turn the rule off for the case.",
    bad="gold queries: SELECT COUNT(*) FROM singer; SELECT COUNT(name) FROM singer  -- a name is NULL",
    good="gold query: SELECT COUNT(*) FROM singer",
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
                    evidence=f"Gold queries {given[0][0] + 1} and {index + 1} differ (rows × columns, {rows}).",
                    # Some benchmarks accept additional columns by alternatives that differ only in their columns.
                    severity="note" if same_shape else None,
                ),
            )
