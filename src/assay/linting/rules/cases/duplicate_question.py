"""One question, two gold queries."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.linting.words import words
from assay.model.lint import LintRule

RULE = LintRule(
    name="duplicate-question",
    severity="error",
    needs="cases",
    finds=(
        "one question about one database in several cases whose gold queries differ in result (if not executed: in "
        "text)"
    ),
    why="At least one gold query is wrong, or the question has two meanings.",
    remedy=(
        "Correct the wrong gold query, make the questions say how they differ, or use one case with both gold queries."
    ),
    bad="Q: How many singers are there?  COUNT(*) in one case, COUNT(DISTINCT name) in another",
    good="one case with the correct gold query",
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    groups: dict[tuple[object, ...], list[CaseGolds]] = defaultdict(list)
    for one in cases:
        said = words(one.case.question)
        if said and not one.case.results:  # a result has no text, and its cells may lack their types
            groups[one.case.database, said, words(one.case.context or "")].append(one)
    for group in groups.values():
        first = group[0]
        for other in group[1:]:
            executed = any(first.digests) and any(other.digests)
            if not _answers(first, executed=executed) & _answers(other, executed=executed):
                differ = "results" if executed else "texts"
                yield (
                    other.case.id,
                    0,
                    Found(
                        evidence=(
                            f"Case {first.case.id} has the same question, and the gold queries differ in their "
                            f"{differ}."
                        ),
                        severity=None if executed else "warning",
                    ),
                )


def _answers(one: CaseGolds, *, executed: bool) -> set[str]:
    return {digest for digest in one.digests if digest} if executed else set(one.texts)
