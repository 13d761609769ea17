"""Notes on the answers that are in no rate: why, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from assay.model import Evidence, Execution
from assay.model.blame import is_final
from assay.reports.text.plain import one_line, percent, plural
from assay.reports.views.run import Figure
from assay.scoring.queries.verdicts import unfinished

_REASON = 240


def told(headline: Figure, evidence: Sequence[Evidence]) -> Figure:
    """The headline; where nothing in the run could be asked or scored, the reason replaces the number."""
    failure = unfinished(evidence)
    if failure is None:
        return headline
    return replace(
        headline,
        text=percent(None),
        interval="",
        tally=f"nothing could be scored: {one_line(failure.message, limit=_REASON)}",
    )


def unscored_notes(evidence: Sequence[Evidence], *, noun: str, gold: str) -> Iterator[str]:
    """How many answers are in no rate, by cause: broken gold, missing gold, trouble around the run, other trouble."""
    unscored = [item for item in evidence if item.outcome == "unscored"]
    undone = [item for item in evidence if not is_final(item.verdict.failure)]
    lacking = [item for item in unscored if _is_without_gold(item)]
    broken = [item for item in unscored if _is_golds(item)]
    lost = [item for item in undone if item.outcome == "unscored"]
    others = len(unscored) - len(broken) - len(lacking) - len(lost)
    counted = (
        (len(broken), f"{_their(broken)} {gold} is broken, which is not the system's fault", f"broken {gold}"),
        (len(lacking), f"{_it_has(lacking)} no {gold}", f"no {gold}"),
        (len(lost), "what befell them is no answer's fault", "trouble around the run"),
        (others, "they could not be scored", "other trouble"),
    )
    found = [(count, alone, beside) for count, alone, beside in counted if count]
    in_no_rate = f"{plural(len(unscored), noun)} {'is' if len(unscored) == 1 else 'are'} in no rate"
    if len(found) == 1:
        yield f"{in_no_rate}: {found[0][1]}."
    elif found:
        yield f"{in_no_rate}: {', '.join(f'{beside} in {count:,}' for count, _, beside in found)}."
    if undone:
        ((why, _),) = Counter(item.verdict.failure.message for item in undone if item.verdict.failure).most_common(1)
        yield f"{plural(len(undone), noun)} to be done again, by the same command: {one_line(why, limit=_REASON)}."
    ids = {item.case.id for item in (*broken, *lacking)}
    several = {item.case.id for item in evidence if any(map(_broken, item.gold_executions))} - ids
    if several and gold == "gold":
        yield f"In {plural(len(several), 'scored case')} one of several gold queries is broken."


def _broken(execution: Execution) -> bool:
    return execution.failure is not None and execution.failure.blame == "gold"


def _is_without_gold(item: Evidence) -> bool:
    return item.verdict.failure is not None and item.verdict.failure.kind == "no_gold"


def _is_golds(item: Evidence) -> bool:
    """Whether this answer is unscored because gold is broken."""
    failure = item.verdict.failure
    return failure is not None and failure.blame == "gold" and failure.kind != "no_gold"


def _their(items: Sequence[Evidence]) -> str:
    return "its" if len(items) == 1 else "their"


def _it_has(items: Sequence[Evidence]) -> str:
    return "it has" if len(items) == 1 else "they have"
