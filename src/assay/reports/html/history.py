"""A folder's runs as one self-contained HTML page, and the trend for the page of one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.model import HistoryPoint, Run
from assay.reports.blocks.history import HistoryReport, history_report
from assay.reports.blocks.values import sections_for
from assay.reports.html.page import asset, content_security_policy, template
from assay.reports.html.trend import NARROW, WIDE, trend_svg, value_axis
from assay.reports.text.plain import plural
from assay.runs.store.history import point_of

if TYPE_CHECKING:
    from markupsafe import Markup

TREND_CSS = "trend.css"
_FEW_POINTS = 25
"""Up to this many points fit even the narrow chart with whiskers."""


class ServedSet(Struct, frozen=True, kw_only=True):
    """The runs over one question set, where their pages are served: titles with addresses."""

    title: str
    leaderboard: str
    """The address of their leaderboard."""
    runs: tuple[tuple[str, str, str], ...]
    """Of each run its name, the address of its page, and that of its comparison with the run before; '' for none."""


def runs_html(points: Sequence[HistoryPoint], *, folder: str, served: Sequence[ServedSet] = ()) -> bytes:
    """The whole page, UTF-8: the trend, then every run. Its policy is that of a run's page, without any script.

    ``served``: the other pages that it leads to, where it is served among them.
    """
    from markupsafe import Markup

    report = history_report(points, folder=folder)
    css = asset("report.css") + asset(TREND_CSS)
    page = template("history.html").render(
        sections=sections_for(report.sections, "page"),
        css=Markup(css),
        policy=content_security_policy(css, ""),
        served=served,
        **_trend(report),
    )
    return page.encode("utf-8", "backslashreplace")


def over_time(run: Run) -> Markup | None:
    """The section 'Over time' of a run's page: the run among earlier ones; None where no earlier run was given."""
    if not run.history:
        return None
    from markupsafe import Markup

    own = point_of(run)
    points = [point for point in run.history if point.headline_metric == own.headline_metric]
    report = history_report([*points, own], folder="", current=own)
    # Rendered by a template that escapes all text.
    return Markup(template("over_time.html").render(**_trend(report)))


def _trend(report: HistoryReport) -> dict[str, object]:
    """What over_time.html draws."""
    runs = sum(len(one.points) for one in report.series)
    title = f"{', '.join(report.metrics)} of {plural(runs, 'run')} over time"
    charts = [svg for size in (WIDE, NARROW) if (svg := trend_svg(report.series, size, title=title))]
    return {"view": report, "charts": charts, "caption": _caption(report)}


def _caption(report: HistoryReport) -> str:
    """How to read the chart."""
    points = [point for one in report.series for point in one.points]
    if not points:
        return ""
    _, low, _ = value_axis(min(point.low for point in points), max(point.high for point in points))
    parts = []
    if len(report.series) == 1:
        parts.append(f"All over {report.series[0].label}.")
    else:
        parts.append("A line joins only runs over the same cases; the others stand beside it and do not compare.")
    if any(point.current for point in points):
        parts.append("The ring marks this run.")
    marks = "Whiskers, and the band where runs stand close," if len(points) > _FEW_POINTS else "Whiskers"
    parts.append(f"{marks} are {report.confidence} intervals.")
    if low > 0:
        parts.append(f"The axis begins at {low * 100:g} %.")
    if report.left_out:
        parts.append(f"{plural(report.left_out, 'more question set')} not drawn.")
    return " ".join(parts)
