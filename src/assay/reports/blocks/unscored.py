"""Notes on the answers that are in no rate: why, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile

from msgspec.structs import replace

from assay.model import CaseSummary, Failure
from assay.model.failure import has_no_answer, is_final
from assay.model.verdicts.summary import ExecutionSummary
from assay.reports.blocks.values import Figure
from assay.reports.text.plain import one_line, percent, plural

_REASON = 240
_LABEL = 80
_MOST_CAUSES = 20


def causes(failures: Mapping[Failure, int]) -> str:
    """Why so many answers failed: the message where there is one cause, else how often each cause occurred."""
    messages: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for failure, count in failures.items():
        messages[failure.message] += count
        labels[failure.code or failure.message] += count
    if len(labels) == 1:
        return one_line(messages.most_common(1)[0][0], limit=_REASON)
    texts = _told_apart(labels)
    shown = [f"{texts[label]} ({count:,})" for label, count in labels.most_common(_MOST_CAUSES)]
    others = labels.total() - sum(count for _, count in labels.most_common(_MOST_CAUSES))
    return ", ".join([*shown, *([f"others ({others:,})"] if others else [])])


def _told_apart(labels: Iterable[str]) -> dict[str, str]:
    """A short text for each label. Labels that differ only after their first words are cut at the front."""
    texts: dict[str, str] = {}
    by_text: dict[str, list[str]] = {}
    for label in labels:
        by_text.setdefault(one_line(label, limit=_LABEL), []).append(label)
    for text, alike in by_text.items():
        pairs = zip(min(alike), max(alike), strict=False)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) if len(alike) > 1 else 0
        start = alike[0].rfind(" ", 0, common) + 1  # whole words
        if start:
            rests = _told_apart([label[start:] for label in alike])
            texts |= {label: f"…{rests[label[start:]]}" for label in alike}
        else:
            texts |= dict.fromkeys(alike, text)
    return texts


class UnscoredCounts:
    """Counts, answer by answer, what is in no rate, and why."""

    def __init__(self) -> None:
        self.unscored = self.lacking = self.broken = self.masked = 0
        self.failures: Counter[Failure] = Counter()
        """The failures that are not the last word."""
        self.undone = self.lost = 0
        """Answers with such a failure, and those of them that are unscored."""
        self.rejected: Counter[Failure] = Counter()
        """The failures of questions that the system rejected. They are the last word of this run."""
        self.moved = 0
        """Answers whose query was in the text for a person."""
        self.scored = False
        """Whether any answer is scored, and finally so."""
        self._ids: set[str] = set()
        self._several: set[str] = set()

    def add(self, case: CaseSummary) -> None:
        """Count one answer."""
        failure, unscored = case.failure, case.outcome == "unscored"
        self.unscored += unscored
        self.moved += case.query_source is not None
        if failure is None:
            self.scored = self.scored or not unscored
        else:
            self._add_failure(case.case_id, failure, unscored=unscored)
        if any(map(_broken, case.golds)):
            self._several.add(case.case_id)

    def _add_failure(self, case_id: str, failure: Failure, *, unscored: bool) -> None:
        if is_final(failure):
            self.scored = self.scored or not (unscored or has_no_answer(failure))
            if failure.kind == "rejected":
                self.rejected[failure] += 1
        else:
            self.failures[failure] += 1
            self.undone += 1
            self.lost += unscored
        self.masked += unscored and failure.kind == "masked"
        if unscored and (failure.kind == "no_gold" or failure.blame == "gold"):
            self._ids.add(case_id)
            self.lacking += failure.kind == "no_gold"
            self.broken += failure.kind != "no_gold"

    @property
    def nothing(self) -> bool:
        """Whether no case could be asked or scored, for reasons that may pass."""
        return bool(self.failures) and not self.scored

    @property
    def several(self) -> int:
        """The scored cases of which one of several gold queries is broken."""
        return len(self._several - self._ids)


def with_reason(headline: Figure, counts: UnscoredCounts) -> Figure:
    """The headline; where nothing in the run could be asked or scored, the reason replaces the number."""
    if not counts.nothing:
        return headline
    return replace(
        headline, text=percent(None), interval="", tally=f"nothing could be scored: {causes(counts.failures)}"
    )


def unscored_notes(counts: UnscoredCounts, *, noun: str, gold: str) -> Iterator[str]:
    """How many answers are in no rate, by cause: broken gold, missing gold, trouble around the run, other trouble."""
    unscored, broken, lacking = counts.unscored, counts.broken, counts.lacking
    others = unscored - broken - lacking - counts.lost - counts.masked
    counted = (
        (broken, f"{_their(broken)} {gold} is broken, which is not the system's fault", f"broken {gold}"),
        (lacking, f"{_it_has(lacking)} no {gold}", f"no {gold}"),
        (counts.lost, "what befell them is no answer's fault", "trouble around the run"),
        (
            counts.masked,
            f"the database masked values in {_their(counts.masked)} results; use an account that may see them",
            "masked results",
        ),
        (others, "they could not be scored", "other trouble"),
    )
    found = [(count, alone, beside) for count, alone, beside in counted if count]
    in_no_rate = f"{plural(unscored, noun)} {'is' if unscored == 1 else 'are'} in no rate"
    if len(found) == 1:
        yield f"{in_no_rate}: {found[0][1]}."
    elif found:
        yield f"{in_no_rate}: {', '.join(f'{beside} in {count:,}' for count, _, beside in found)}."
    if counts.undone:
        yield f"{plural(counts.undone, noun)} to be done again, by the same command: {causes(counts.failures)}."
    if counts.rejected:
        were = "was" if counts.rejected.total() == 1 else "were"
        yield (
            f"{plural(counts.rejected.total(), noun)} {were} rejected by the system, and the same command asks again: "
            f"{causes(counts.rejected)}."
        )
    if counts.moved:
        queries = "query was" if counts.moved == 1 else "queries were"
        yield f"{counts.moved:,} {queries} taken from the response's text (answer): sql_query was empty."
    if counts.several and gold == "gold":
        yield f"In {plural(counts.several, 'scored case')} one of several gold queries is broken."


def _broken(execution: ExecutionSummary) -> bool:
    return execution.failure is not None and execution.failure.blame == "gold"


def _their(count: int) -> str:
    return "its" if count == 1 else "their"


def _it_has(count: int) -> str:
    return "it has" if count == 1 else "they have"
