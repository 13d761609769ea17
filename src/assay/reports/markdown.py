"""A run as Markdown, made for a pull-request comment.

Whatever came from outside stands in code spans and code blocks, where GitHub and GitLab render no
HTML, follow no link and notify nobody; fences are longer than any run of backticks within.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from assay.model import Evidence, Run
from assay.reports.build import view_of
from assay.reports.text import CellText
from assay.reports.view import (
    CaseView,
    CrossTable,
    DifferenceView,
    DisagreementRow,
    GroupTable,
    QueryView,
    RunView,
    named_ids,
)

_LENGTH = 60_000
"""Characters at most: GitHub refuses comments of more than 65,536."""
_CASES = 20
_GROUP_ROWS = 25
_PAIRS = 6
_BAR_CELLS = 20
_SIGNS = {"matched": " ", "missing": "-", "extra": "+"}
_BACKTICKS = re.compile("`+")


class MarkdownReporter:
    """Writes a run's numbers and its first wrong cases as GitHub-flavoured Markdown."""

    name = "md"
    suffix = ".md"

    def render(self, run: Run) -> bytes:
        """The whole report, short enough for one comment; what is left out is counted."""
        wrong = [item for item in run.evidence if item.outcome == "incorrect"]
        broken = [item for item in run.evidence if item.outcome == "unscored"]
        shown: list[Evidence] = [*broken[: _CASES // 4], *wrong[:_CASES]]
        view = view_of(run, detailed=shown)
        numbers = "\n".join(_numbers(view))
        details = _details(view, len(wrong) + len(broken), _LENGTH - len(numbers))
        return (numbers + "\n" + details).encode()


def _numbers(view: RunView) -> Iterable[str]:
    yield f"## {code(view.title)}"
    yield ""
    yield f"**{view.headline.text}** {view.headline.interval} · {view.tally}".replace("  ", " ")
    yield ""
    for note in view.notes:
        yield f"> {_plain(note)}"
        yield ">"
    yield f"> {code(view.headline_metric)}, with its {view.confidence} interval in brackets."
    for table in view.first_groups:
        yield from _group_table(view, table)
    yield from _section("Metrics")
    yield from _table(
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
    for title, rows in view.count_tables:
        yield from _section(title[0].upper() + title[1:])
        yield from _table(
            ("", "cases", "which", ""),
            [
                (
                    cell_code(f"{row.blame}: {row.name}" if row.blame else row.name),
                    f"{row.count:,}",
                    cell_code(named_ids(row.cases)),
                    cell_code(row.example) if row.example else row.meaning,
                )
                for row in rows[:_GROUP_ROWS]
            ],
        )
    if view.cross:
        yield from _cross(view.cross, view.disagreements[:_PAIRS])
    for table in view.other_groups:
        yield from _group_table(view, table)
    if view.slowest:
        yield from _section("Slowest queries")
        yield from _table(
            ("time", "side", "case", "query"),
            [(row.time, row.side, cell_code(row.case.id), cell_code(row.query[:120])) for row in view.slowest],
        )
    yield from _section("Run")
    yield from (f"- {fact.name}: {code(fact.value)}" for fact in view.facts)


def _cross(cross: CrossTable, pairs: Sequence[DisagreementRow]) -> Iterable[str]:
    yield from _section("Cases on which two metrics disagree")
    yield from _table(
        ("", *(cell_code(name) for name in cross.metrics)),
        [
            (cell_code(name), *("·" if count is None else f"{count:,}" for count in counts))
            for name, counts in zip(cross.metrics, cross.counts, strict=True)
        ],
    )
    yield ""
    for row in pairs:
        sides = (
            f"{len(cases):,} only {code(name)} accepts ({code(named_ids(cases))})"
            for name, cases in ((row.first, row.only_first), (row.second, row.only_second))
            if cases
        )
        yield f"- {code(row.first)} / {code(row.second)}: {', '.join(sides)}"


def _group_table(view: RunView, table: GroupTable) -> Iterable[str]:
    rows = table.rows[:_GROUP_ROWS]
    yield from _section(f"{view.headline_name} by {table.title}")
    yield from _table(
        (table.kind, "", "value", "interval", "cases", "unscored"),
        [
            (
                cell_code(row.name),
                f"`{_bar(row.headline.rate.value)}`",
                row.headline.text,
                row.headline.interval,
                row.headline.tally,
                f"{row.headline.rate.unscored:,}",
            )
            for row in rows
        ],
    )
    if len(table.rows) > len(rows):
        yield ""
        yield f"and {len(table.rows) - len(rows):,} more"


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
    yield f"<details><summary>{_html(case.id)} · {case.outcome} · {_html(_first_line(case.reason))}</summary>"
    yield ""
    yield from _fenced("text", case.question)
    for query in (*case.golds, case.predicted):
        yield from _query(query)
    if case.near_misses:
        yield f"Near misses: {', '.join(code(miss) for miss in case.near_misses)}"
        yield ""
    if case.difference and case.difference.rows:
        yield from _difference(case.difference)
    yield "</details>"


def _query(query: QueryView) -> Iterable[str]:
    yield f"{query.label}: {code(query.outcome)}"
    yield ""
    if query.query is not None:
        yield from _fenced("sql", query.query)


def _difference(difference: DifferenceView) -> Iterable[str]:
    lines = ["  " + " | ".join(difference.columns), *map(_row, ((row.state, row.cells) for row in difference.rows))]
    if difference.rows_left_out:
        lines.append(f"  … {difference.rows_left_out:,} more rows")
    yield f"{difference.summary}; `-` only gold has, `+` only the prediction:"
    yield ""
    yield from _fenced("diff", "\n".join(lines))


def _row(row: tuple[str, Sequence[CellText]]) -> str:
    state, cells = row
    return f"{_SIGNS[state]} " + " | ".join(cell.whole for cell in cells)


def _section(title: str) -> Iterable[str]:
    return ("", f"### {title}", "")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def code(text: str) -> str:
    """A code span that holds any one-line text."""
    text = " ".join(text.split())
    if not text:
        return "` `"
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def cell_code(text: str) -> str:
    """A code span within a table, where a bar ends the cell even in backticks, and escapes for it vary."""
    return f"<code>{_html(text)}</code>" if "|" in text else code(text)


def _fenced(language: str, text: str) -> Iterable[str]:
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    return (f"{fence}{language}", text, fence, "")


def _plain(text: str) -> str:
    """Our own sentences and numbers, which may quote a name: nothing in them is Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>|~#@&])", lambda found: f"&#{ord(found.group())};", text)


def _html(text: str) -> str:
    """Text within an HTML tag. An @ is kept from being a mention by a word joiner after it."""
    escaped = re.sub(r"([\\`*_\[\]<>|~#&\"':])", lambda found: f"&#{ord(found.group())};", text)
    return escaped.replace("@", "@\u2060")


def _first_line(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= 160 else line[:159] + "…"


def _bar(value: float | None) -> str:
    filled = 0 if value is None else round(min(1.0, max(0.0, value)) * _BAR_CELLS)
    return "█" * filled + "░" * (_BAR_CELLS - filled)
