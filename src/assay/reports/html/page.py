"""The frame of every page: one HTML file that needs no network, no fonts and no images.

Its Content-Security-Policy allows its own style sheet and its own script, each by the hash of its text, and nothing
else at all: even a flaw in escaping could not run or load anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from assay.reports.html.tables import FILTERS

if TYPE_CHECKING:
    from jinja2 import Template

STYLES: Sequence[str] = ("report.css", "browser.css")
_DATA = "\0data\0"
"""Where the data goes: no text of a case holds a zero character, which is shown as a mark."""
_SCRIPTS = ("page.js", "tabs.js", "columns.js", "sql.js", "browser.js", "case.js", "boot.js")
NAMES_ONLY: Sequence[str] = ("page.js",)
"""The scripts of a page without cases: lines break after the separators of names only."""
_REVIEWING, _REVIEWING_STYLE = "review.js", "review.css"


def page(
    name: str,
    context: Mapping[str, object],
    *,
    data: Iterable[bytes] = (),
    scripts: Sequence[str] = _SCRIPTS,
    styles: Sequence[str] = STYLES,
    reviewing: bool = False,
) -> Iterator[bytes]:
    """A page in Assay's style, with its policy, its style sheet, its script and the pieces of its packed data.

    ``reviewing``: people decide about cases on it, so that it may talk to the server that it came from.
    """
    from markupsafe import Markup

    if reviewing:
        # Read second, before the script that reads the address: it takes the token out of it.
        scripts, styles = (scripts[0], _REVIEWING, *scripts[1:]), (*styles, _REVIEWING_STYLE)
    css = "\n".join(map(asset, styles))
    script = "\n".join(map(asset, scripts))
    # Our own files, and base64: everything else is escaped by Jinja2.
    parts = {"css": Markup(css), "js": Markup(script), "data": Markup(_DATA), "reviewing": reviewing}
    policy = content_security_policy(css, script, talks=reviewing)
    text = template(name).render(policy=policy, **parts, **context)
    before, _, after = text.partition(_DATA)
    yield before.encode("utf-8", "backslashreplace")
    yield from data
    yield after.encode("utf-8", "backslashreplace")


def content_security_policy(css: str, script: str, *, talks: bool = False) -> str:
    """The policy under which exactly this style sheet and this script run, and nothing is loaded.

    ``talks``: to the server that the page came from, and to no other.
    """
    return (
        f"default-src 'none'; style-src '{_hash(css)}'; script-src '{_hash(script)}'; "
        + ("connect-src 'self'; " if talks else "")
        + "require-trusted-types-for 'script'; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@lru_cache
def asset(name: str) -> str:
    """A style sheet, script or template of ours."""
    # Universal newlines: a browser hashes the parsed text, in which every line break is a line feed.
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
