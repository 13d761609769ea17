"""A run as Markdown, made for a pull-request comment and for a job's summary page (``$GITHUB_STEP_SUMMARY``).

All text from outside is in code spans and code blocks: GitHub and GitLab render no HTML in them, make no
links and send no notifications; fences are longer than any run of backticks within.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from assay.model import Evidence, Outcome, Run
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.values import sections_in
from assay.reports.cases.case import CaseView, DimensionView, QueryView, TermList, TurnView
from assay.reports.cases.witness import sentence, witness_text
from assay.reports.markdown.blocks import LENGTH, code, fenced, html, noted, plain, shortened, within
from assay.reports.screen.run import telling
from assay.reports.text.plain import clipped, one_line, plural
from assay.reports.text.results import given_text, golds_text

_CASES = 20
_TERMS = 10
"""How many terms per list of a selection."""
_QUESTION, _QUERY, _WITNESS = 1000, 2000, 3000


class MarkdownReporter:
    """Writes a run's numbers and its first wrong cases as GitHub-flavoured Markdown."""

    name = "md"
    suffix = ".md"

    def render(self, run: Run) -> bytes:
        """The whole report, short enough for one comment; what is left out is counted."""
        report = RunReport(run)
        outcomes = Counter(case.outcome for case in run.summaries)
        detailed = [*_first(run, "unscored", _CASES // 4), *_first(run, "incorrect", _CASES)]
        shown = report.room(detailed, terms=_TERMS)
        numbers = _fitting(_numbers(report), LENGTH)
        refuted = [
            place
            for strength in ("refuted", "conditional")
            for place, case in enumerate(run.summaries)
            if case.outcome == "correct" and case.strength == strength
        ]
        room = LENGTH - len(numbers)
        details = _details(
            "Cases that are not correct",
            (_case(report.case(item, shown)) for item in detailed),
            total=outcomes["incorrect"] + outcomes["unscored"],
            room=room * 2 // 3 if refuted else room,
        )
        witnesses = _details(
            "Matches that a counterexample refutes",
            (_witness(run.evidence[place]) for place in refuted[:_CASES]),
            total=len(refuted),
            room=room - len(details),
        )
        return f"{numbers}\n{details}{witnesses}".encode()


def _first(run: Run, outcome: Outcome, most: int) -> list[Evidence]:
    """The first cases with an outcome.

    Of several answers to a case the first is shown: another question tells a reader more than another answer.
    """
    places: dict[str, int] = {}
    for place, case in enumerate(run.summaries):
        if case.outcome == outcome:
            places.setdefault(case.case_id, place)
    return [run.evidence[place] for place in list(places.values())[:most]]


def _details(title: str, cases: Iterable[Iterable[str]], *, total: int, room: int) -> str:
    """Cases one by one, as many as there is room for, and how many of the total are left out."""
    blocks: list[str] = []
    room -= 300
    for case in cases:
        block = "\n".join(case)
        if len(block) > room:
            break
        blocks.append(block if not blocks else block.removeprefix("\n"))  # they are one block of HTML
        room -= len(block) + 1
    if not total:
        return ""
    left_out = total - len(blocks)
    ending = f"\n{left_out:,} more are in the HTML and JSON reports.\n" if left_out else ""
    return f"\n### {title}\n" + "\n".join(blocks) + ending


def _witness(item: Evidence) -> Iterable[str]:
    yield ""
    name = html(one_line(item.case.id, limit=80))
    yield f"<details><summary>{name} · {item.verdict.strength} · {html(_first_line(sentence(item)))}</summary>"
    yield ""
    yield from fenced("text", clipped(item.case.question, limit=_QUESTION))
    index = item.verdict.gold_index or 0
    predicted = item.prediction.query or (given_text(item.prediction.result) if item.prediction.result else "")
    for label, query in (("Gold", golds_text(item.case)[index : index + 1]), ("Predicted", (predicted,))):
        yield f"{label}:"
        yield ""
        yield from fenced("sql", clipped("".join(query), limit=_QUERY))
    if item.refutation is not None:
        yield from fenced("text", clipped(witness_text(item.refutation), limit=_WITNESS))
    yield "</details>"


def _fitting(parts: Iterable[str], room: int) -> str:
    """The parts that fit, each whole: a run may have hundreds of metrics."""
    made = list(parts)
    kept = within(made, room)
    if len(kept) < len(made):
        left = plural(len(made) - len(kept), "section")
        kept.append(f"\n{left} too long for a comment: the HTML and JSON reports have all numbers.\n")
    return "\n".join(kept)


def _numbers(report: RunReport) -> Iterable[str]:
    yield f"## {code(report.title)}"
    yield ""
    yield f"**{report.headline.text}** {report.headline.interval} · {report.tally}".replace("  ", " ")
    yield ""
    if report.beside:
        figures = report.figures_beside
        yield " · ".join(f"{name} **{figure.text}** {figure.interval}".rstrip() for name, figure in figures)
        yield ""
    yield from noted(report.notes, plain)
    yield f"{code(report.headline_metric)}, with its {report.confidence} interval in brackets. {report.outcomes}."
    sections = sections_in(report.sections, "full")
    chosen = telling(report)
    is_open = {"gates": 12, "fix-first": 5, "metrics": 12} | ({f"by-{chosen[0]}": 8} if chosen else {})
    yield from shortened(sections, lambda _: (), is_open)


def _case(case: CaseView) -> Iterable[str]:
    yield ""
    # An HTML tag turns Markdown off for its line: text in the summary is escaped as HTML.
    name = html(f"{case.id}, {case.answer}" if case.answer else case.id)
    yield f"<details><summary>{name} · {case.outcome} · {html(_first_line(case.reason))}</summary>"
    yield ""
    if not any(turn.question for turn in case.turns):
        yield from fenced("text", case.question)
    for query in (*case.golds, *filter(None, [case.predicted])):
        yield from _query(query)
    for turn in case.turns:
        yield from selection_turn(turn)
    if case.reviewed:
        yield f"Reviewed: {code(': '.join(case.reviewed))}"
        yield ""
    if case.why:
        yield f"Why: {'; '.join(code(line) for line in case.why)}"
        yield ""
    if case.repair:
        yield f"Repair: {'; '.join(code(line) for line in case.repair)}"
        yield ""
    if case.findings:
        yield f"Findings about the gold query: {'; '.join(code(line) for line in case.findings)}"
        yield ""
    if case.near_misses:
        yield f"Near misses: {', '.join(code(miss) for miss in case.near_misses)}"
        yield ""
    if case.difference and case.difference.rows:
        yield f"{case.difference.summary}; `-` only in the gold result, `+` only in the prediction:"
        yield ""
        yield from fenced("diff", case.difference.text)
    yield "</details>"


def _query(query: QueryView) -> Iterable[str]:
    yield f"{query.label}: {code(query.outcome)}"
    yield ""
    if query.query is not None:
        yield from fenced("sql", query.query)


def _first_line(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= 160 else line[:159] + "…"


_RAW_LENGTH = 1000
_SIGNS = {"right": " ", "extra": "+", "missing": "-"}


def selection_turn(turn: TurnView) -> Iterable[str]:
    """One turn: its terms as a diff block, everything else as a list."""
    heading = ", ".join(filter(None, (turn.said, turn.figures)))
    yield f"**{turn.label}**: {heading}" if turn.label else heading[:1].upper() + heading[1:]
    yield ""
    if turn.question:
        yield from fenced("text", turn.question)
    dimensions = [line for one in turn.dimensions for line in _dimension(one)]
    dimensions += [line for one in turn.beyond for line in _dimension(one, aside="not in target, ")]
    if dimensions:
        yield "`-` only in the target, `+` only in the selection:"
        yield ""
        yield from fenced("diff", "\n".join(dimensions))
    points = [f"Dataset {code(name)}: {state}" for state, name in turn.datasets if state != "right"]
    points += [
        f"Time of {code(time.dataset)}: {time.said}; target {code(time.target)}, selected {code(time.selected)}"
        for time in turn.time
        if time.good is False
    ]
    points += [code(text) for text in (*turn.failures, *turn.remarks)]
    if points:
        yield from (f"- {point}" for point in points)
        yield ""
    if turn.raw and turn.exact is not True:
        yield "The answer as it came:"
        yield ""
        short = turn.raw if len(turn.raw) <= _RAW_LENGTH else turn.raw[:_RAW_LENGTH] + "…"
        yield from fenced("text", short)


def _dimension(found: DimensionView, *, aside: str = "") -> Iterable[str]:
    yield f"@@ {found.name} @@ {aside}recall {found.recall}, precision {found.precision}"
    if found.is_empty:
        yield "  nothing to select, and nothing selected"
    for terms in found.lists:
        yield from _terms(terms)


def _terms(found: TermList) -> Iterable[str]:
    sign = _SIGNS[found.state]
    yield from (f"{sign} {term.line}" for term in found.terms)
    if found.left_out:
        yield f"{sign} and {found.left_out:,} more"
