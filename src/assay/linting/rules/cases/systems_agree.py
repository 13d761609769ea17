"""Systems that agree with one another and not with gold."""

from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.model.lint import LintRule

_LEAST = 2

RULE = LintRule(
    name="systems-agree",
    severity="warning",
    needs="runs",
    finds="one result, other than gold's, that most of the given runs share",
    why="Systems seldom make the same mistake: where several agree against gold, gold is often the one that is wrong.",
    remedy="Read the question again, and compare gold with the answer that they share.",
    bad="gold counts rows, and three systems of different make count singers",
    good="gold counts singers",
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    for one in cases:
        agree = len(one.agreeing)
        if agree >= _LEAST and agree * 2 > one.others and any(one.digests):
            names = ", ".join(one.agreeing[:5])
            yield (
                one.case.id,
                0,
                Found(evidence=f"{agree} of {one.others} runs with a result share one that is not gold's: {names}."),
            )
