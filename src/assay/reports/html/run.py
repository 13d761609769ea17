"""A run as one self-contained HTML file.

The first screen is drawn here; the cases are packed data (`assay.reports.html.data`) that the script draws as text
when they are opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from assay.model import Run
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.values import sections_in
from assay.reports.cases.selection import Room
from assay.reports.html.page import STYLES, page
from assay.reports.html.tables import parts


class Tile(Struct, frozen=True, kw_only=True):
    """One count next to the headline; ``tone`` is a class of the style sheet, ``link`` None if no case has it."""

    count: int
    label: str
    mark: str
    tone: str
    link: tuple[str, str] | None


class HtmlReporter:
    """Writes a run as one self-contained HTML page, every case included.

    ``reviewing``: the page that `assay review` serves, on which people decide about the cases.
    """

    name = "html"
    suffix = ".html"

    def __init__(self, *, reviewing: bool = False) -> None:
        self._reviewing = reviewing

    def render(self, run: Run) -> bytes:
        """The whole page, UTF-8. The same run gives the same bytes."""
        return b"".join(self.pieces(run))

    def pieces(self, run: Run) -> Iterator[bytes]:
        """The whole page; its cases are drawn and packed one after the other."""
        return self.counted_pieces(run, lambda _: None)

    def counted_pieces(self, run: Run, drawn: Callable[[int], None]) -> Iterator[bytes]:
        """As `pieces`; ``drawn`` is called with how many cases are drawn, each time a chunk of them is."""
        # The packed data needs msgspec, which is loaded only when a page is asked for.
        from assay.reports.html.data import CHUNK, OUTCOMES, Packed, for_page, run_index

        report = RunReport(run)
        room = report.room()
        index, packed = run_index(report), Packed()
        metrics = [row.metric for row in report.metrics]
        for number, (summary, item) in enumerate(zip(run.summaries, run.evidence, strict=True)):
            if number % CHUNK == 0:
                drawn(number)
            case = report.case(item, room, page=True)
            scores = {score.metric: score.value for score in case.scores}
            state, time_s = OUTCOMES.index(case.outcome), summary.answer_time_s
            index.add(summary, case, state=state, values=map(scores.get, metrics), time_s=time_s)
            packed.add(for_page(item, case))
        trend = None
        styles = STYLES
        if run.history:
            from assay.reports.html.history import TREND_CSS, over_time

            trend, styles = over_time(run), (*STYLES, TREND_CSS)
        yield from page(
            "report.html",
            {
                "view": report,
                "over_time": trend,
                "tiles": tuple(tiles(report)),
                "parts": parts(sections_in(report.sections, "full")),
                "cases_note": _terms_note(room) if room.cut else "",
            },
            data=packed.pieces(index.index()),
            styles=styles,
            reviewing=self._reviewing,
        )


def _terms_note(room: Room) -> str:
    of_right = f"the first {room.right}" if room.right > 1 else "the first"
    kept = "" if room.right == room.terms else f", of those found only {of_right}"
    return f"The first {room.terms} terms of each list are shown{kept}; the JSON report has them all."


def tiles(report: RunReport) -> Iterable[Tile]:
    """The counts of outcomes, and how many cases have a gold query that fails."""
    numbers = report.numbers
    for name, mark, count in (
        ("correct", "✓", numbers.correct),
        ("incorrect", "✗", numbers.incorrect),
        ("unscored", "–", numbers.unscored),
    ):
        yield Tile(
            count=count, label=name, mark=mark, tone=name if count else "", link=(("show", name) if count else None)
        )
    failures = [(*report.failure(one), one.case_ids) for one in numbers.failures]
    silent = ("prediction", "unanswered") if numbers.unanswered else None
    yield Tile(count=numbers.unanswered, label="unanswered", mark="∅", tone="", link=silent)
    broken = [one for one in failures if one[0] in ("gold", "target") and one[1] not in ("no gold", "no target")]
    if broken:
        blame, name, _ = broken[0]
        cases = {case.anchor for *_, case_ids in broken for case in report.linked(case_ids)}
        # No single filter shows several kinds of failure: the link leads to their table.
        link = ("failure", f"{blame}: {name}") if len(broken) == 1 else ("failures", "")
        yield Tile(count=len(cases), label=f"broken {blame}", mark="!", tone="unscored", link=link)
