"""What each engine is free to choose: another choice is correct, with a flag, and what is determined counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from free_choices import COLLATED, MERGING, ON, ROWS, SPELLINGS, Choice, statements

from assay.model import Verdict

Verdicts = Callable[[str, str, str], Verdict]


@pytest.fixture(scope="module")
def urls(database: Callable[[str, Sequence[str]], str]) -> Callable[[str], str]:
    """The URL of an engine's database with the tables, made when it is first asked for."""
    made: dict[str, str] = {}

    def url(engine: str) -> str:
        if engine not in made:
            is_clickhouse = engine == "clickhouse"
            types = {"integer": "Int32", "text": "String", "ends": " ENGINE = MergeTree ORDER BY id"}
            lines = [line for table in ROWS for line in statements(table, **(types if is_clickhouse else {}))]
            made[engine] = database(engine, lines if is_clickhouse else [*lines, *COLLATED[engine], SPELLINGS])
        return made[engine]

    return url


def _cases() -> Iterator[Any]:
    for engine, choices in ON.items():
        marks = [pytest.mark.server] if engine not in ("sqlite", "duckdb") else []
        for choice in choices:
            yield pytest.param(engine, choice, marks=marks, id=f"{engine}: {choice.gold}")


@pytest.mark.parametrize(("engine", "choice"), list(_cases()))
def test_another_choice_is_correct(verdict: Verdicts, urls: Callable[[str], str], engine: str, choice: Choice) -> None:
    def score(prediction: str, table: str) -> Verdict:
        return verdict(urls(engine), *(text.replace(" T", f" {table}") for text in (choice.gold, prediction)))

    for prediction in (choice.gold, choice.other):
        tied = score(prediction, "tied")
        assert (tied.outcome, "ambiguous_gold" in tied.flags) == ("correct", True), (prediction, tied)
    wrong = score(choice.wrong, "tied")
    assert (wrong.outcome, wrong.failure) == ("incorrect", None), wrong
    if not choice.is_list:
        free = score(choice.other, "free")
        assert (free.outcome, "ambiguous_gold" in free.flags) == ("correct", False), free


@pytest.mark.parametrize(("gold", "other", "wrong"), MERGING)
@pytest.mark.parametrize(
    "engine",
    [pytest.param(name, marks=[] if name in ("sqlite", "duckdb") else [pytest.mark.server]) for name in COLLATED],
)
def test_any_spelling_of_equal_texts_is_correct(
    verdict: Verdicts, urls: Callable[[str], str], engine: str, gold: str, other: str, wrong: str
) -> None:
    found = [verdict(urls(engine), gold, prediction) for prediction in (gold, other, wrong, "SELECT 1")]
    assert [one.outcome for one in found] == ["correct", "correct", "incorrect", "incorrect"]
    assert all("ambiguous_gold" in one.flags for one in found)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_texts_of_one_spelling_are_not_flagged(verdict: Verdicts, urls: Callable[[str], str], engine: str) -> None:
    gold = "SELECT DISTINCT n FROM c WHERE id > 2"
    found = verdict(urls(engine), gold, gold)
    assert (found.outcome, found.flags) == ("correct", frozenset())
