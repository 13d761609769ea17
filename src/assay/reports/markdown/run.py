"""A run as Markdown, made for a pull-request comment and for a job's summary page (``$GITHUB_STEP_SUMMARY``).

Whatever came from outside stands in code spans and code blocks, where GitHub and GitLab render no
HTML, follow no link and notify nobody; fences are longer than any run of backticks within.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.model import Evidence, Run
from assay.reports.markdown.blocks import cell_code, code, explained, fenced, grid, html, plain, section
from assay.reports.markdown.selections import selection_numbers, selection_turn
from assay.reports.text.plain import plural
from assay.reports.views.repeats import pass_cells
from assay.reports.views.run import (
    CaseView,
    CrossTable,
    DifferenceView,
    DisagreementRow,
    GateRow,
    GroupTable,
    QueryView,
    RunView,
    most_cases,
    named_ids,
)
from assay.reports.views.run_build import view_of
from assay.reports.views.times import TITLE, time_cells, usage_cells

_LENGTH = 60_000
"""Characters: GitHub refuses comments of more than 65,536, and step summaries of more than 1 MiB."""
_CASES = 20
_GROUP_ROWS = 25
_PAIRS = 6
_BAR_CELLS = 20
_TERMS = 10
"""Of each list of a selection."""
_SIGNS = {"matched": " ", "missing": "-", "extra": "+"}


class MarkdownReporter:
    """Writes a run's numbers and its first wrong cases as GitHub-flavoured Markdown."""

    name = "md"
    suffix = ".md"

    def render(self, run: Run) -> bytes:
        """The whole report, short enough for one comment; what is left out is counted."""
        wrong = [item for item in run.evidence if item.outcome == "incorrect"]
        broken = [item for item in run.evidence if item.outcome == "unscored"]
        shown = [*_first_of_each(broken)[: _CASES // 4], *_first_of_each(wrong)[:_CASES]]
        view = view_of(run, detailed=shown, terms=_TERMS)
        numbers = _fitting(_numbers(view), _LENGTH)
        details = _details(view, len(wrong) + len(broken), _LENGTH - len(numbers))
        return (numbers + "\n" + details).encode()


def _first_of_each(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Of several answers to a case the first: another question tells a reader more than another answer."""
    firsts: dict[str, Evidence] = {}
    for item in evidence:
        firsts.setdefault(item.case.id, item)
    return list(firsts.values())


def _fitting(lines: Iterable[str], room: int) -> str:
    """Whole lines as far as there is room: a run may have hundreds of metrics. Tables end well at any line."""
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return "\n".join(
                [*kept, "", "What follows is too long for a comment: the HTML and JSON reports have it.", ""]
            )
        kept.append(line)
    return "\n".join(kept)


def _numbers(view: RunView) -> Iterable[str]:
    yield f"## {code(view.title)}"
    yield ""
    yield f"**{view.headline.text}** {view.headline.interval} · {view.tally}".replace("  ", " ")
    yield ""
    if view.beside:
        figures = ((named.name, view.overall.figures[named.place]) for named in view.beside)
        yield " · ".join(f"{name} **{figure.text}** {figure.interval}".rstrip() for name, figure in figures)
        yield ""
    for note in view.notes:
        yield f"> {plain(note)}"
        yield ">"
    yield f"> {code(view.headline_metric)}, with its {view.confidence} interval in brackets. {view.outcomes}."
    if view.gates:
        yield from section(f"Gates: {view.gates_passed}")
        yield from grid(("", "gate", "wanted", "found", "missed by", "cases"), map(_gate, view.gates[:_GROUP_ROWS]))
        yield from _more(len(view.gates) - _GROUP_ROWS)
    if view.selection:
        yield from selection_numbers(view, view.selection)
    for table in () if view.selection else view.first_groups:
        yield from _group_table(view, table)
    if view.repeats:
        header, cells = pass_cells(view.repeats)
        # In code: a plain @k would notify somebody.
        yield from section(plain(view.repeats.title[:1].upper() + view.repeats.title[1:]))
        yield from grid([cell_code(name) if "@" in name else name for name in header], cells)
    yield from section("Metrics")
    yield from grid(
        ("metric", "value", "interval", "cases", "unscored"),
        [
            (
                cell_code(row.metric),
                f"**{row.figure.text}**" if row.headline else row.figure.text,
                row.figure.interval,
                row.figure.tally,
                f"{row.figure.rate.unscored:,}",
            )
            for row in view.metrics
        ],
    )
    yield from explained(row.explained for row in view.metrics)
    for title, rows in view.count_tables:
        yield from section(title[0].upper() + title[1:])
        yield from grid(
            ("", "cases", "which", ""),
            [
                (
                    cell_code(f"{row.blame}: {row.name}" if row.blame else row.name),
                    f"{row.count:,}",
                    cell_code(named_ids(row.cases)) if row.cases else "",
                    cell_code(row.example) if row.example else row.meaning,
                )
                for row in rows[:_GROUP_ROWS]
            ],
        )
        yield from _more(len(rows) - _GROUP_ROWS)
    if view.cross:
        yield from _cross(view.cross, view.disagreements)
    for table in () if view.selection else view.other_groups:
        yield from _group_table(view, table)
    if view.times or view.usage:
        yield from section(TITLE)
    if view.times:
        header, cells = time_cells(view.times)
        yield from grid(header, cells)
    if view.usage:
        if view.times:
            yield ""
        header, cells = usage_cells(view.usage)
        yield from grid(header, cells)
    if view.slowest:
        yield from section("Slowest queries")
        yield from grid(
            ("time", "side", "case", "query"),
            [(row.time, row.side, cell_code(row.case.id), cell_code(row.query[:120])) for row in view.slowest],
        )
    yield from section("Run")
    yield from (f"- {fact.name}: {code(fact.value)}" for fact in view.facts)


def _gate(row: GateRow) -> Sequence[str]:
    state = "✅ passed" if row.passed else "❌ **missed**"
    which = cell_code(named_ids(row.cases)) if row.cases else ""
    return state, cell_code(row.gate), plain(row.wanted), plain(row.found), plain(row.missed_by), which


def _more(hidden: int, said: str = "more") -> Iterable[str]:
    """What a table leaves out, where it leaves out something."""
    if hidden > 0:
        yield from ("", f"and {hidden:,} {said}")


def _cross(cross: CrossTable, pairs: Sequence[DisagreementRow]) -> Iterable[str]:
    yield from section("Cases on which two metrics disagree")
    yield from grid(
        ("", *(cell_code(name) for name in cross.metrics)),
        [
            (cell_code(name), *("·" if count is None else f"{count:,}" for count in counts))
            for name, counts in zip(cross.metrics, cross.counts, strict=True)
        ],
    )
    yield ""
    for row in pairs[:_PAIRS]:
        sides = (
            f"{len(cases):,} only {code(name)} accepts ({code(named_ids(cases))})"
            for name, cases in ((row.first, row.only_first), (row.second, row.only_second))
            if cases
        )
        yield f"- {code(row.first)} / {code(row.second)}: {', '.join(sides)}"
    if len(pairs) > _PAIRS:
        yield f"- and {len(pairs) - _PAIRS:,} pairs more, which the table counts"


def _group_table(view: RunView, table: GroupTable) -> Iterable[str]:
    rows = most_cases(table, _GROUP_ROWS)
    yield from section(f"{plain(view.headline_name)} by {table.title}")
    yield from grid(
        (table.kind, "", "value", "interval", "cases", "unscored"),
        [
            (
                cell_code(row.name),
                f"`{_bar(row.headline.rate.value if row.headline.share else None)}`",
                row.headline.text,
                row.headline.interval,
                row.headline.tally,
                f"{row.headline.rate.unscored:,}",
            )
            for row in rows
        ],
    )
    yield from _more(len(table.rows) - len(rows), "with fewer cases")


def _details(view: RunView, total: int, room: int) -> str:
    """Cases one by one, as many as there is room for."""
    blocks: list[str] = []
    used = 300
    for case in view.cases:
        block = "\n".join(_case(case))
        if used + len(block) > room:
            break
        blocks.append(block)
        used += len(block) + 1
    if not total:
        return ""
    left_out = total - len(blocks)
    heading = "\n### Cases that are not correct\n"
    ending = f"\n{left_out:,} more are in the HTML and JSON reports.\n" if left_out else ""
    return heading + "\n".join(blocks) + ending


def _case(case: CaseView) -> Iterable[str]:
    yield ""
    # Tags of HTML blocks end Markdown for their line: what stands in the summary is escaped as HTML.
    yield f"<details><summary>{_named(case)} · {case.outcome} · {html(_first_line(case.reason))}</summary>"
    yield ""
    if not any(turn.question for turn in case.turns):
        yield from fenced("text", case.question)
    for query in (*case.golds, *filter(None, [case.predicted])):
        yield from _query(query)
    for turn in case.turns:
        yield from selection_turn(turn)
    if case.near_misses:
        yield f"Near misses: {', '.join(code(miss) for miss in case.near_misses)}"
        yield ""
    if case.difference and case.difference.rows:
        yield from _difference(case.difference)
    yield "</details>"


def _named(case: CaseView) -> str:
    return html(f"{case.id}, {case.answer}" if case.answer else case.id)


def _query(query: QueryView) -> Iterable[str]:
    yield f"{query.label}: {code(query.outcome)}"
    yield ""
    if query.query is not None:
        yield from fenced("sql", query.query)


def _difference(difference: DifferenceView) -> Iterable[str]:
    lines = [
        "  " + " | ".join(difference.columns),
        *(f"{_SIGNS[row.state]} {' | '.join(row.texts)}" for row in difference.rows),
    ]
    if difference.rows_left_out:
        lines.append(f"  … {plural(difference.rows_left_out, 'more row')}")
    yield f"{difference.summary}; `-` only gold has, `+` only the prediction:"
    yield ""
    yield from fenced("diff", "\n".join(lines))


def _first_line(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= 160 else line[:159] + "…"


def _bar(value: float | None) -> str:
    filled = 0 if value is None else round(min(1.0, max(0.0, value)) * _BAR_CELLS)
    return "█" * filled + "░" * (_BAR_CELLS - filled)
