"""An expected result that can be read in two ways."""

from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.model.lint import LintRule

RULE = LintRule(
    name="doubtful-result",
    severity="warning",
    needs="cases",
    finds="an expected result with rows shorter than its header, or with more column lists than results",
    why="The missing cells may be in the wrong columns, and the column lists may belong to other results.",
    remedy="Complete the rows, or remove the lists of results that no longer exist.",
    bad='"condition_cols": [[0], [0], [1]] with two results',
    good='"condition_cols": [[0], [1]] with two results',
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    for one in cases:
        for place, result in enumerate(one.case.results, start=len(one.case.golds)):
            if result.note is not None:
                yield one.case.id, place, Found(evidence=f"{result.note}.")
        lists = len(one.case.options.condition_columns)
        if lists > one.case.gold_count:
            golds = f"{one.case.gold_count} results" if one.case.gold_count != 1 else "1 result"
            yield one.case.id, 0, Found(evidence=f"{lists} column lists are given for {golds}.")
