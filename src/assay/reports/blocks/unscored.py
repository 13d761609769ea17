"""Notes on the answers that are excluded from the rates: why, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from msgspec.structs import replace

from assay.model import CaseSummary, Failure
from assay.model.failure import has_no_answer, is_final
from assay.model.verdicts.summary import ExecutionSummary
from assay.reports.blocks.values import Figure
from assay.reports.text.plain import one_line, percent, plural

_REASON = 240
_LABEL = 80
_MOST_NAMED = 5
_MOST_CAUSES = 20


def causes(failures: Mapping[Failure, int]) -> str:
    """Why answers failed: the message if there is one cause, else how often each cause occurred."""
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
    """How many answers are excluded from the rates, and why."""

    def __init__(self, cases: Sequence[CaseSummary]) -> None:
        failed = [(case, case.failure, case.outcome == "unscored") for case in cases if case.failure is not None]
        passing = [(failure, unscored) for _, failure, unscored in failed if not is_final(failure)]
        self.unscored = sum(case.outcome == "unscored" for case in cases)
        self.masked = sum(unscored and failure.kind == "masked" for _, failure, unscored in failed)
        self.without_database = Counter(
            failure.code or "" for _, failure, unscored in failed if unscored and failure.kind == "no_database"
        )
        """By engine, the answers that need a database which is not given."""
        self.failures = Counter(failure for failure, _ in passing)
        """The failures that are not the last word."""
        self.undone, self.lost = len(passing), sum(unscored for _, unscored in passing)
        """Answers with such a failure, and those of them that are unscored."""
        rejected = (failure for _, failure, _ in failed if failure.kind == "rejected" and is_final(failure))
        self.rejected = Counter(rejected)
        """The failures of questions that the system rejected. They are the last word of this run."""
        self.moved = sum(case.query_source is not None for case in cases)
        """Answers whose query was in the text for a person."""
        scored = (case.failure for case in cases if case.outcome != "unscored")
        final = any(failure is None or (is_final(failure) and not has_no_answer(failure)) for failure in scored)
        self.nothing = bool(passing) and not final
        """Whether no case could be asked or scored, for reasons that may pass."""
        of_gold = [
            (case.case_id, failure.kind == "no_gold")
            for case, failure, unscored in failed
            if unscored and (failure.kind == "no_gold" or failure.blame == "gold")
        ]
        self.of_gold = tuple(dict.fromkeys(case_id for case_id, _ in of_gold))
        """The cases that are excluded for want of a gold result."""
        self.gold_messages = Counter(
            failure.message for _, failure, unscored in failed if unscored and failure.blame == "gold"
        )
        """What databases say of broken gold queries, with the number of cases."""
        self.lacking = sum(lacking for _, lacking in of_gold)
        self.broken = len(of_gold) - self.lacking
        broken = {case.case_id for case in cases for gold in case.golds if _is_broken(gold)}
        self.several = len(broken - {case_id for case_id, _ in of_gold})
        """The scored cases with several gold queries, one of them failing."""


def with_reason(headline: Figure, counts: UnscoredCounts) -> Figure:
    """The headline; if nothing in the run could be asked or scored, the reason replaces the number."""
    if not counts.nothing:
        return headline
    return replace(
        headline, text=percent(None), interval="", tally=f"nothing could be scored: {causes(counts.failures)}"
    )


def unscored_notes(counts: UnscoredCounts, *, noun: str, gold: str) -> Iterator[str]:
    """How many cases are excluded, by cause: broken or missing gold queries, transient failures, others."""
    unscored, broken, lacking = counts.unscored, counts.broken, counts.lacking
    homeless = counts.without_database
    others = unscored - broken - lacking - counts.lost - counts.masked - homeless.total()
    to_give = ", ".join(f"--db {engine}=URL for {count:,}" for engine, count in homeless.most_common())
    counted = (
        (broken, _failing(broken, gold), f"broken {gold}"),
        (lacking, f"{_it_has(lacking)} no {gold}", f"no {gold}"),
        (counts.lost, f"{_they(counts.lost)} could not be asked or scored", "transient failures"),
        (
            counts.masked,
            f"the database masked values in {_their(counts.masked)} results; use an account that may see them",
            "masked results",
        ),
        (
            homeless.total(),
            f"{_needs(homeless.total())} a database that is not given: give {to_give}",
            f"no database (give {to_give})",
        ),
        (others, f"{_they(others)} could not be scored", "other failures"),
    )
    found = [(count, alone, beside) for count, alone, beside in counted if count]
    excluded = f"{plural(unscored, noun)} {'is' if unscored == 1 else 'are'} excluded"
    named = _named(counts.of_gold)
    message, often = next(iter(counts.gold_messages.most_common(1) if broken and gold == "gold query" else ()), ("", 0))
    message = one_line(message, limit=120)
    if len(found) == 1:
        yield f"{excluded}: {found[0][1]}{named}{f': {message}' if often == unscored else '.'}"
    elif found:
        yield f"{excluded}: {', '.join(f'{beside} in {count:,}' for count, _, beside in found)}{named}."
    if often and (len(found) > 1 or often < unscored):
        share = f" ({often:,} of {broken:,})" if often < broken else ""
        yield f"{'Most frequent message' if share else 'Message'} on gold queries{share}: {message}"
    if counts.undone:
        them = "it" if counts.undone == 1 else "them"
        yield f"{plural(counts.undone, noun)} failed; the same command tries {them} again: {causes(counts.failures)}."
    if counts.rejected:
        were = "was" if counts.rejected.total() == 1 else "were"
        yield (
            f"{plural(counts.rejected.total(), noun)} {were} rejected by the system; the same command asks again: "
            f"{causes(counts.rejected)}."
        )
    if counts.moved:
        queries = "query was" if counts.moved == 1 else "queries were"
        yield f"{counts.moved:,} {queries} taken from the response's text (answer): sql_query was empty."
    if counts.several and gold == "gold query":
        yield f"In {plural(counts.several, 'scored case')} one of several gold queries fails."


def _named(case_ids: Sequence[str]) -> str:
    """`` (7, 12 and 3 more)``: the cases whose gold query has to be looked at."""
    shown = ", ".join(one_line(name, limit=40) for name in case_ids[:_MOST_NAMED])
    more = f" and {len(case_ids) - _MOST_NAMED:,} more" if len(case_ids) > _MOST_NAMED else ""
    return f" ({shown}{more})" if case_ids else ""


def _failing(count: int, gold: str) -> str:
    """``its gold query fails``; of selections, ``its target is broken``."""
    if gold != "gold query":
        return f"{_their(count)} {gold} is broken"
    return f"{_their(count)} gold {'query fails' if count == 1 else 'queries fail'}"


def _is_broken(execution: ExecutionSummary) -> bool:
    return execution.failure is not None and execution.failure.blame == "gold"


def _their(count: int) -> str:
    return "its" if count == 1 else "their"


def _they(count: int) -> str:
    return "it" if count == 1 else "they"


def _needs(count: int) -> str:
    return "it needs" if count == 1 else "they need"


def _it_has(count: int) -> str:
    return "it has" if count == 1 else "they have"
