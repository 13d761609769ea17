"""How Sphinx makes a site of the Markdown in this repository:  bash scripts/site

The address of a page is the path of its file, and the README is the first page. Nothing is written twice: the
navigation is what `docs/README.md` links to, heading by heading, so that a page that it forgets ends the build.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_site"))

from navigation import PAGES, hidden_trees, without_folders  # noqa: E402 - it lies beside this file

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

project = "Assay"
html_title = "Assay"
language = "en"
version = re.search(r'"(.+)"', (ROOT / "src/assay/_version.py").read_text(encoding="utf-8"))[1]  # type: ignore[index]

extensions = ["myst_parser"]
root_doc = "README"
include_patterns = [*PAGES]
exclude_patterns = [".*", "build", "src", "tests", "**/node_modules"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 6
myst_heading_slug_func = "navigation.slug"
suppress_warnings = [
    "misc.highlighting_failure",  # blocks that leave something out with "…" are in no language
    "myst.header",  # pages may begin with a deeper heading
]

html_theme = "furo"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False
html_show_sphinx = html_show_copyright = False
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}


def _navigate(_app: Sphinx, page: str, source: list[str]) -> None:
    """Put a page's part of the navigation at its end, where it does not show."""
    source[0] = without_folders(ROOT, page, source[0]) + hidden_trees(ROOT, page)


def _drop_comments(_app: Sphinx, tree: nodes.document) -> None:
    """Comments tell tests how an example is to be run, not readers."""
    from docutils import nodes

    for raw in list(tree.findall(nodes.raw)):
        if not re.sub(r"<!--.*?-->", "", raw.astext(), flags=re.S).strip():
            raw.parent.remove(raw)


def _reach(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None) -> None:
    """Let keys scroll wide code, and screen readers hear at which level the navigation's headings are."""
    if context.get("body"):
        context["body"] = context["body"].replace("<pre><span></span>", '<pre tabindex="0"><span></span>')
    if context.get("furo_navigation_tree"):
        tree = context["furo_navigation_tree"]
        context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')


def _show_folders(app: Sphinx, error: Exception | None) -> None:
    """Let the address of a folder show its README, and that of the site the README of the project."""
    if error is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("README.html"):
            (page.parent / "index.html").write_bytes(page.read_bytes())


def setup(app: Sphinx) -> None:
    """Sphinx's hook."""
    app.connect("source-read", _navigate)
    app.connect("doctree-read", _drop_comments)
    app.connect("html-page-context", _reach, priority=900)  # after the theme's own
    app.connect("build-finished", _show_folders)
