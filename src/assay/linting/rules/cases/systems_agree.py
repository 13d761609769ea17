"""Systems that agree with one another but not with the gold query."""

from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.model.lint import LintRule

_LEAST = 2

RULE = LintRule(
    name="systems-agree",
    severity="warning",
    needs="runs",
    finds="one result, different from the gold result, in most of the given runs",
    why=(
        "Systems seldom make the same mistake. If several agree against the gold query, it is often the gold query "
        "that is wrong."
    ),
    remedy="Read the question again, and compare the gold query with their common answer.",
    bad="the gold query counts rows, and three systems of different vendors count singers",
    good="the gold query counts singers",
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    for one in cases:
        agree = len(one.agreeing)
        if agree >= _LEAST and agree * 2 > one.others and any(one.digests):
            names = ", ".join(one.agreeing[:5])
            yield (
                one.case.id,
                0,
                Found(
                    evidence=f"{agree} of {one.others} runs with a result agree on one that is not the gold "
                    f"result: {names}."
                ),
            )
