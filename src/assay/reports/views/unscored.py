"""Notes on the answers that are in no rate: why, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from assay.model import Execution, Failure
from assay.model.blame import is_final
from assay.reports.text.plain import one_line, percent, plural
from assay.reports.views.figures import Figure

if TYPE_CHECKING:
    from assay.runs.store.surveyed import Seen, SurveyedExecution

_REASON = 240


class UnscoredCounts:
    """Counts, answer by answer, what is in no rate, and why."""

    def __init__(self) -> None:
        self.unscored = self.lacking = self.broken = 0
        self.failures: Counter[Failure] = Counter()
        """The failures that are not the last word."""
        self.undone = self.lost = 0
        """Answers with such a failure, and those of them that are unscored."""
        self.scored = False
        """Whether any answer is scored, and finally so."""
        self._ids: set[str] = set()
        self._several: set[str] = set()

    def take(self, item: Seen) -> None:
        """Count one answer."""
        failure, unscored = item.verdict.failure, item.outcome == "unscored"
        self.unscored += unscored
        if failure is None:
            self.scored = self.scored or not unscored
        else:
            self._take_failure(item, failure, unscored=unscored)
        if any(map(_broken, item.gold_executions)):
            self._several.add(item.case.id)

    def _take_failure(self, item: Seen, failure: Failure, *, unscored: bool) -> None:
        if is_final(failure):
            self.scored = self.scored or not unscored
        else:
            self.failures[failure] += 1
            self.undone += 1
            self.lost += unscored
        if unscored and (failure.kind == "no_gold" or failure.blame == "gold"):
            self._ids.add(item.case.id)
            self.lacking += failure.kind == "no_gold"
            self.broken += failure.kind != "no_gold"

    @property
    def several(self) -> int:
        """The scored cases of which one of several gold queries is broken."""
        return len(self._several - self._ids)


def told(headline: Figure, counts: UnscoredCounts) -> Figure:
    """The headline; where nothing in the run could be asked or scored, the reason replaces the number."""
    if counts.scored or not counts.failures:
        return headline
    ((failure, _),) = counts.failures.most_common(1)
    return replace(
        headline,
        text=percent(None),
        interval="",
        tally=f"nothing could be scored: {one_line(failure.message, limit=_REASON)}",
    )


def unscored_notes(counts: UnscoredCounts, *, noun: str, gold: str) -> Iterator[str]:
    """How many answers are in no rate, by cause: broken gold, missing gold, trouble around the run, other trouble."""
    unscored, broken, lacking = counts.unscored, counts.broken, counts.lacking
    others = unscored - broken - lacking - counts.lost
    counted = (
        (broken, f"{_their(broken)} {gold} is broken, which is not the system's fault", f"broken {gold}"),
        (lacking, f"{_it_has(lacking)} no {gold}", f"no {gold}"),
        (counts.lost, "what befell them is no answer's fault", "trouble around the run"),
        (others, "they could not be scored", "other trouble"),
    )
    found = [(count, alone, beside) for count, alone, beside in counted if count]
    in_no_rate = f"{plural(unscored, noun)} {'is' if unscored == 1 else 'are'} in no rate"
    if len(found) == 1:
        yield f"{in_no_rate}: {found[0][1]}."
    elif found:
        yield f"{in_no_rate}: {', '.join(f'{beside} in {count:,}' for count, _, beside in found)}."
    if counts.undone:
        messages: Counter[str] = Counter()
        for failure, count in counts.failures.items():
            messages[failure.message] += count
        ((why, _),) = messages.most_common(1)
        yield f"{plural(counts.undone, noun)} to be done again, by the same command: {one_line(why, limit=_REASON)}."
    if counts.several and gold == "gold":
        yield f"In {plural(counts.several, 'scored case')} one of several gold queries is broken."


def _broken(execution: Execution | SurveyedExecution) -> bool:
    return execution.failure is not None and execution.failure.blame == "gold"


def _their(count: int) -> str:
    return "its" if count == 1 else "their"


def _it_has(count: int) -> str:
    return "it has" if count == 1 else "they have"
