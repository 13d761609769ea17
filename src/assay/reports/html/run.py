"""A run as one HTML file that needs nothing else: no network, no fonts, no images.

The page's Content-Security-Policy allows its own style sheet and its own script, each by the hash of its text, and
nothing else at all: even a flaw in escaping could not run or load anything. What leads the page is drawn here; the
cases are packed data (`assay.reports.html.data`) that the script draws as text when they are looked at.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from assay.model import Run
from assay.reports.html.front import tiles, two_columns
from assay.reports.html.tables import FILTERS
from assay.reports.sections.run import run_sections
from assay.reports.sections.values import sections_for
from assay.reports.views.run_build import view_of

if TYPE_CHECKING:
    from jinja2 import Template

_STYLES: Sequence[str] = ("report.css", "browser.css")
_SCRIPTS = ("page.js", "sql.js", "browser.js", "case.js", "boot.js")


class HtmlReporter:
    """Writes a run as one self-contained HTML page, every case included."""

    name = "html"
    suffix = ".html"

    def render(self, run: Run) -> bytes:
        """The whole page, UTF-8. The same run gives the same bytes."""
        # What is packed is declared with msgspec, which is not loaded before a page is wanted.
        from assay.reports.html.data import case_detail, packed, run_index

        view = view_of(run)
        sections = sections_for(run_sections(view), "page")
        details = [case_detail(item, case) for item, case in zip(run.evidence, view.cases, strict=True)]
        limits = view.selection.term_limits if view.selection else None
        trend = None
        styles = _STYLES
        if run.history:
            from assay.reports.html.history import TREND_CSS, over_time

            trend, styles = over_time(run), (*_STYLES, TREND_CSS)
        return page(
            "report.html",
            {
                "view": view,
                "over_time": trend,
                "tiles": tuple(tiles(view)),
                "top": [one for one in sections if one.place == "top"],
                "columns": two_columns(sections),
                "bottom": [one for one in sections if one.place == "bottom"],
                "cases_note": _terms_note(*limits) if limits else "",
            },
            data=packed(run_index(run, view), details),
            styles=styles,
        )


def page(
    name: str,
    context: Mapping[str, object],
    *,
    data: str,
    scripts: Sequence[str] = _SCRIPTS,
    styles: Sequence[str] = _STYLES,
) -> bytes:
    """A page of the house's style, with its policy, its style sheet, its script and its packed data."""
    from markupsafe import Markup

    css = "\n".join(map(asset, styles))
    script = "\n".join(map(asset, scripts))
    # Our own files, and base64: everything else is escaped by Jinja2.
    parts = {"css": Markup(css), "js": Markup(script), "data": Markup(data)}
    text = template(name).render(policy=content_security_policy(css, script), **parts, **context)
    return text.encode("utf-8", "backslashreplace")


def content_security_policy(css: str, script: str) -> str:
    """The policy under which exactly this style sheet and this script run, and nothing is loaded."""
    return (
        f"default-src 'none'; style-src '{_hash(css)}'; script-src '{_hash(script)}'; "
        "require-trusted-types-for 'script'; base-uri 'none'; form-action 'none'"
    )


def _terms_note(wrong: int, right: int) -> str:
    kept = "" if right == wrong else ", of those found only " + ("the first" if right == 1 else f"the first {right}")
    return f"Of each list of terms the first {wrong} are shown{kept}; the JSON report has them all."


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@lru_cache
def asset(name: str) -> str:
    """A style sheet, script or template of ours."""
    # Universal newlines: a browser hashes what it parsed, where every line break is a line feed.
    return (files("assay.reports.html") / "templates" / name).read_text(encoding="utf-8").replace("\r\n", "\n")


@lru_cache
def template(name: str) -> Template:
    """One of our templates. It escapes all text that it is given."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(FILTERS)
    return environment.get_template(name)
