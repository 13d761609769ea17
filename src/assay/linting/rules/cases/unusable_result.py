"""An expected result that cannot be compared."""

from collections.abc import Iterator, Sequence

from assay.errors import plural
from assay.linting.gold import CaseGolds, Found
from assay.model.lint import LintRule

RULE = LintRule(
    name="unusable-result",
    severity="error",
    needs="cases",
    finds="an expected result whose file is missing or not a table, or whose relevant columns do not exist",
    why="No answer can match it. Scripts that score such a case 0 count it against the system.",
    remedy="Correct the name of the file, the file, or the relevant columns.",
    bad='"gold_result": "gold/q7.cvs", or "condition_columns": [3] for a result of two columns',
    good='"gold_result": "gold/q7.csv", "condition_columns": [1]',
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    for one in cases:
        queries = len(one.case.golds)
        widths = [width or None for width in (*one.widths, *[0] * (queries - len(one.widths)))]
        for result in one.case.results:
            widths.append(None if result.failure is not None else result.column_count or None)
        for place, result in enumerate(one.case.results, start=queries):
            if result.failure is not None:
                yield one.case.id, place, Found(evidence=f"{result.failure.message.rstrip('.')}.")
        for place, width in enumerate(widths):
            beyond = [column for column in one.case.counting(place) if width is not None and column >= width]
            if beyond:
                named = ", ".join(map(str, beyond))
                evidence = (
                    f"Gold result {place + 1} has {plural(width or 0, 'column')}, but column {named} (counted from 0) "
                    "is listed as relevant."
                )
                yield one.case.id, place, Found(evidence=evidence)
