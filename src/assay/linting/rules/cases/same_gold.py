"""One gold query for two questions with different numbers or values."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from assay.linting.gold import CaseGolds, Found
from assay.linting.words import numbers, quoted_values
from assay.model.lint import LintRule

RULE = LintRule(
    name="same-gold",
    severity="warning",
    needs="cases",
    finds="one gold query for questions with different numbers or quoted values",
    why="The questions differ, but the gold queries do not: one was probably copied and not changed.",
    remedy="Correct the gold query that does not fit its question.",
    bad="Q: singers over 30 / Q: singers over 40  SELECT name FROM singer WHERE age > 30",
    good="Q: singers over 40  SELECT name FROM singer WHERE age > 40",
)


def across(cases: Sequence[CaseGolds]) -> Iterator[tuple[str, int, Found]]:
    groups: dict[tuple[object, ...], list[tuple[CaseGolds, int]]] = defaultdict(list)
    for one in cases:
        for index, text in enumerate(one.texts):
            if text:
                groups[one.case.database, text].append((one, index))
    for group in groups.values():
        first, _ = group[0]
        for other, index in group[1:]:
            if other.case.id == first.case.id:
                continue
            mine, yours = _said(first), _said(other)
            if mine and yours and mine.isdisjoint(yours) and not _same_bound(first, other):
                a, b = (", ".join(sorted(side)) for side in (mine, yours))
                yield (
                    other.case.id,
                    index,
                    Found(
                        evidence=f"Case {first.case.id} has the same gold query, but its question has {a} and this one "
                        f"{b}."
                    ),
                )


def _said(one: CaseGolds) -> set[str]:
    question = one.case.question
    return {f"{value:g}" for _, value in numbers(question)} | {value.lower() for value in quoted_values(question)}


def _same_bound(first: CaseGolds, other: CaseGolds) -> bool:
    """Whether numbers differ by one, like those of 'at least 3' and 'more than 2'."""
    mine, yours = (sorted(value for _, value in numbers(one.case.question)) for one in (first, other))
    return bool(mine) and len(mine) == len(yours) and all(abs(a - b) <= 1 for a, b in zip(mine, yours, strict=True))
