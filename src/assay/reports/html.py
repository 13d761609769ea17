"""A run as one HTML file that needs nothing else: no network, no fonts, no images.

The page's Content-Security-Policy allows its own style sheet and its own small script, each by the
hash of its text, and nothing else at all: even a flaw in escaping could not run or load anything.
Without scripts everything is still there; only search and filter are not.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from assay.model import Evidence, Run
from assay.reports.build import view_of
from assay.reports.selection_tables import dimension_legend

if TYPE_CHECKING:
    from jinja2 import Template

_MARKS = {"correct": "✓", "incorrect": "✗", "unscored": "–"}
_SIGNS = {"matched": "", "missing": "−", "extra": "+"}
_TITLES = {"matched": "in both", "missing": "only gold has this row", "extra": "only the prediction has this row"}
_LIST_SIGNS = {"right": "✓", "extra": "+", "missing": "−"}
_LIST_TITLES = {
    "right": "✓ true positives",
    "extra": "+ false positives: only selected",
    "missing": "− false negatives: not selected",
}
_MOST_CASES = 5000
_MOST_SELECTIONS = 3000
"""Cases whose selections are shown term by term: each takes about twice the room of a query."""


class HtmlReporter:
    """Writes a run as one self-contained HTML page, every case included."""

    name = "html"
    suffix = ".html"

    def render(self, run: Run) -> bytes:
        """The whole page, UTF-8. Of too many cases correct ones are left out first, and counted."""
        from markupsafe import Markup

        shown = _shown(run.evidence, _MOST_CASES if run.settings.selection is None else _MOST_SELECTIONS)
        view = view_of(run, detailed=shown)
        trend, css, script = None, asset("report.css"), asset("report.js")
        if run.history:
            from assay.reports.history_html import TREND_CSS, over_time

            trend, css = over_time(run), css + asset(TREND_CSS)
        page = template("report.html").render(
            view=view,
            over_time=trend,
            shown={case.anchor for case in view.cases},
            left_out=len(run.evidence) - len(shown),
            policy=content_security_policy(css, script),
            # Our own files, not data: everything else is escaped by Jinja2.
            css=Markup(css),
            js=Markup(script),
            marks=_MARKS,
            signs=_SIGNS,
            titles=_TITLES,
            list_signs=_LIST_SIGNS,
            list_titles=_LIST_TITLES,
            legend=dimension_legend(view.selection) if view.selection else "",
        )
        return page.encode("utf-8", "backslashreplace")


def content_security_policy(css: str, script: str) -> str:
    """The policy under which exactly this style sheet and this script run, and nothing is loaded."""
    return (
        f"default-src 'none'; style-src '{_hash(css)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _shown(evidence: Sequence[Evidence], most: int) -> Sequence[Evidence]:
    if len(evidence) <= most:
        return evidence
    kept = sorted(range(len(evidence)), key=lambda place: evidence[place].outcome == "correct")[:most]
    return [evidence[place] for place in sorted(kept)]


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@lru_cache
def asset(name: str) -> str:
    """A style sheet, script or template of ours."""
    # Universal newlines: a browser hashes what it parsed, where every line break is a line feed.
    return (files("assay.reports") / "templates" / name).read_text(encoding="utf-8").replace("\r\n", "\n")


@lru_cache
def template(name: str) -> Template:
    """One of our templates. It escapes all text that it is given."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(name)
