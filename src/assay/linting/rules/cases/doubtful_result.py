"""A gold that is a given result, and can be read in two ways."""

from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.model.lint import LintRule

RULE = LintRule(
    name="doubtful-result",
    severity="warning",
    needs="cases",
    finds="an expected result with rows shorter than its header, or more lists of columns that count than golds",
    why="The cells that lack may be in the wrong columns, and the lists may belong to other results than they seem to.",
    remedy="Complete the rows, or remove the lists of results that are gone.",
    bad='"condition_cols": [[0], [0], [1]] beside two results',
    good='"condition_cols": [[0], [1]] beside two results',
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    for one in cases:
        for place, result in enumerate(one.case.results, start=len(one.case.golds)):
            if result.note is not None:
                yield one.case.id, place, Found(evidence=f"{result.note}.")
        lists = len(one.case.options.condition_columns)
        if lists > one.case.gold_count:
            golds = f"{one.case.gold_count} golds" if one.case.gold_count != 1 else "1 gold"
            yield one.case.id, 0, Found(evidence=f"{lists} lists of columns that count are given for {golds}.")
