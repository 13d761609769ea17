"""Why one answer is wrong, and all that was found out about one pair, as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import indent

from assay.diagnosis import CAUSES, SELECTION
from assay.model import Diagnosis, Evidence, Extraction, ExtractionPlace, Repair, SelectionScore
from assay.ports import Executions
from assay.reports.blocks import reviews
from assay.reports.cases.case import retrieval_line, schema_use_line
from assay.reports.cases.selection import equivalence, periods
from assay.reports.text.pair import pair_parts
from assay.reports.text.parts import MARGIN, QueryText, TextPart, gold_text, plain_text, predicted_text
from assay.reports.text.plain import clipped, one_line, visible, words
from assay.reports.text.refutation import refutation_parts
from assay.reports.text.results import given_text, golds_text

_LENGTH = 500
_TEXT_LENGTH = 4_000


def explanation_of(item: Evidence) -> str:
    """The verdict, the causes with their evidence and advice, both queries, and the repair as a patch."""
    return plain_text(explanation_parts(item))


def explanation_parts(item: Evidence) -> Iterator[TextPart]:
    """The same in parts."""
    yield _outcome(item)
    yield one_line(item.verdict.reason, limit=_LENGTH)
    if (reviewed := reviews.of_case(item)) is not None:
        yield f"reviewed: {': '.join(reviewed)}"
    if item.case.question.strip():
        yield f"question: {one_line(item.case.question, limit=_LENGTH)}"
    yield from _selected(item)
    for place, gold in enumerate(golds_text(item.case)):
        yield "\ngold query:"
        yield gold_text(item, place, gold)
    if item.prediction.query is not None:
        yield "\nprediction:"
        yield predicted_text(item, item.prediction.query)
    if (extraction := item.prediction.extraction) is not None:
        yield from _extracted(extraction, item.prediction.raw)
    if item.prediction.result is not None:
        yield f"\nprediction:\n{indent(given_text(item.prediction.result), MARGIN)}"
    if item.refutation is not None:
        yield from refutation_parts(item.refutation)
        return
    if item.diagnosis is None:
        why = (
            "the causes of incorrect predictions were not computed"
            if item.outcome == "incorrect"
            else f"a case that is {item.outcome} has none"
        )
        yield f"\nno cause: {why}"
        return
    yield from diagnosis_parts(item.diagnosis)
    if retrieval := retrieval_line(item):
        yield f"\nretrieval: {retrieval}"


def verdict_line(item: Evidence) -> str:
    """The case, its outcome and the reason in one line."""
    return f"{_outcome(item)}: {one_line(item.verdict.reason, limit=_LENGTH)}"


def _outcome(item: Evidence) -> str:
    answer = f", answer {item.prediction.repeat + 1}" if item.prediction.repeat else ""
    return f"case {one_line(item.case.id)}{answer}: {item.outcome}"


_PLACES: Mapping[ExtractionPlace, str] = {
    "fence": "a code fence in the text",
    "json": "JSON in the text",
    "words": "the words of the text",
    "tool": "an argument of the tool call",
}


def _extracted(extraction: Extraction, text: str | None) -> Iterator[str]:
    """Where the query was in the text, the statements that do not count, and the text."""
    if extraction.place is not None:
        which = "The last of several, which counts," if extraction.several else "The one that counts"
        yield f"\nThe prediction is not a statement. {which} is from {_PLACES[extraction.place]}."
    for query in extraction.others:
        yield f"\nalso in the text, not counted:\n{indent(query.strip(), MARGIN)}"
    if text is not None:
        yield f"\ntext:\n{indent(clipped(text.strip(), limit=_TEXT_LENGTH), MARGIN)}"


def _selected(item: Evidence) -> Iterator[str]:
    """What each wrong answer of a conversation selects that its target does not have, and the reverse."""
    for turn in item.turns:
        if turn.score is not None and not turn.score.exact:
            where = f" {turn.number}" if len(item.turns) > 1 else ""
            lines = list(_differences(turn.score))
            if lines:
                yield f"\nterms of question{where} (+ too many, - missing):"
                yield from (f"{MARGIN}{one_line(line, limit=_LENGTH)}" for line in lines)
            yield from (f"\n{equivalence(one)}" for one in turn.score.equivalences)


def _differences(score: SelectionScore) -> Iterator[str]:
    """What a selection has too many or lacks: datasets, terms by dimension, periods."""
    signed = [("dataset", score.extra_datasets, score.missing_datasets)]
    for one in score.dimensions:
        extra, missing = ([term.id for term in terms] for terms in (one.false_positives, one.false_negatives))
        signed.append((one.dimension, tuple(extra), tuple(missing)))
    for name, extra_names, missing_names in signed:
        if names := [*(f"+{one}" for one in extra_names), *(f"-{one}" for one in missing_names)]:
            yield f"{name}: {', '.join(names)}"
    for time in score.time:
        if time.state not in ("exact", "not_judged"):
            sides = (("+", time.selected), ("-", time.target))
            yield f"time: {', '.join(sign + periods(ranges) for sign, ranges in sides if ranges is not None)}"


def diagnosis_parts(found: Diagnosis) -> Iterator[TextPart]:
    """The causes with their evidence and advice, and the repair as a patch."""
    for place, cause in enumerate(found.causes):
        info = CAUSES[cause.kind]
        proved = ", proved by the repair" if cause.proved else ""
        yield f"\n{'cause' if place == 0 else 'also'}: {info.title} ({info.category}{proved})"
        yield f"{MARGIN}{one_line(cause.message, limit=_LENGTH)}"
        yield f"{MARGIN}{info.advice}"
    if use := schema_use_line(found):
        yield f"\nschema use: {use}"
    if found.repair is not None:
        yield from _repair(found.repair, selection=CAUSES[found.causes[0].kind].category == SELECTION)
    elif found.tried:
        yield f"\nno repair: none of the {found.tried} that were tried makes the prediction correct"
    yield from (f"\nnote: {one_line(note, limit=_LENGTH)}" for note in found.notes)


def _repair(repair: Repair, *, selection: bool) -> Iterator[TextPart]:
    yield "\nrepair, executed and correct:" if not selection else "\nrepair, correct:"
    for step in repair.steps:
        for sign, text in (("-", step.before), ("+", step.after)):
            if text:
                place = f"{step.clause}: " if selection else ""
                yield f"{MARGIN}{sign} {place}{one_line(text, limit=_LENGTH)}"
    if repair.elsewhere:
        yield f"{MARGIN}but not everywhere: {one_line(repair.elsewhere, limit=_LENGTH)}"
    yield "gives:"
    yield indent(repair.query.strip(), MARGIN) if selection else QueryText(text=repair.query)


def examined_text(item: Evidence, executions: Executions) -> str:
    """The verdict, the reason, both queries and results, causes with the repair, and a counterexample.

    Nothing in it steers a terminal.
    """
    return visible(plain_text(examined_parts(item, executions))).rstrip("\n") + "\n"


def examined_parts(item: Evidence, executions: Executions) -> Iterator[TextPart]:
    """The same in parts."""
    reason, *parts = pair_parts(item, executions)
    yield f"{item.outcome.upper()}: {reason}"
    yield from parts
    if item.diagnosis is not None:
        yield from diagnosis_parts(item.diagnosis)
    if item.refutation is None:
        return
    if item.outcome == "correct":
        yield f"\nhow sure: {words(item.verdict.strength)}"
    yield from refutation_parts(item.refutation)
