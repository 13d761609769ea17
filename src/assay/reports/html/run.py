"""A run as one HTML file that needs nothing else.

What leads the page is drawn here; the cases are packed data (`assay.reports.html.data`) that the script draws as text
when they are looked at.
"""

from __future__ import annotations

from assay.model import Run
from assay.reports.html.charts import histograms
from assay.reports.html.data import case_detail, payload, run_index
from assay.reports.html.front import COUNT_ROWS, tiles, two_columns
from assay.reports.html.page import STYLES, page
from assay.reports.text.selection_tables import dimension_legend
from assay.reports.views.run_build import view_of


class HtmlReporter:
    """Writes a run as one self-contained HTML page, every case included."""

    name = "html"
    suffix = ".html"

    def render(self, run: Run) -> bytes:
        """The whole page, UTF-8. The same run gives the same bytes."""
        from markupsafe import Markup

        view = view_of(run)
        details = [case_detail(item, case) for item, case in zip(run.evidence, view.cases, strict=True)]
        limits = view.selection.term_limits if view.selection else None
        trend = None
        styles = STYLES
        if run.history:
            from assay.reports.html.history import TREND_CSS, over_time

            trend, styles = over_time(run), (*STYLES, TREND_CSS)
        return page(
            "report.html",
            {
                "view": view,
                "over_time": trend,
                "tiles": tuple(tiles(view)),
                "columns": two_columns(view),
                "histograms": [(row, Markup(chart)) for row, chart in histograms(view.times)],
                "count_rows": COUNT_ROWS,
                "cases_note": _terms_note(*limits) if limits else "",
                "legend": dimension_legend(view.selection) if view.selection else "",
            },
            data=payload(run_index(run, view), details),
            styles=styles,
        )


def _terms_note(wrong: int, right: int) -> str:
    kept = "" if right == wrong else ", of those found only " + ("the first" if right == 1 else f"the first {right}")
    return f"Of each list of terms the first {wrong} are shown{kept}; the JSON report has them all."
