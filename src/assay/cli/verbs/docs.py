"""`assay docs`: the documentation of this version, in the terminal or in the browser."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated

from assay.cli.parsing.parameters import argument, option
from assay.errors import InputError, UsageError, did_you_mean

_FOLDERS = {
    "start": "Start",
    "guides": "Guides",
    "guides/coming-from": "Coming from another tool",
    "reference": "Reference",
    "background": "Background",
}
"""The folders of pages, in the order in which a topic is searched for."""
_ALIASES = dict.fromkeys(
    ("python", "pandas", "notebook", "notebooks", "jupyter", "dataframe", "api"), "reference/python"
)
"""Topics that are not the name of a page."""
_WIDEST = 110
"""The widest lines of prose on a terminal."""
_COMMENT = re.compile(r"^<!--.*?-->\n?", re.M | re.S)
_LINK = re.compile(r"\[([^\]]+)\]\((?!\w+:)([^)\s#]+\.md)?(?:#[^)\s]*)?\)")
_STYLE = """body { font: 16px/1.55 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
pre, code { font: 0.9em ui-monospace, monospace; background: #8882; border-radius: 4px; }
pre { padding: 0.8rem; overflow-x: auto; } pre code { background: none; } code { padding: 0.1em 0.3em; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #8886; padding: 0.3rem 0.8rem 0.3rem 0; text-align: left; vertical-align: top; }
img { max-width: 100%; } :root { color-scheme: light dark; }"""


def docs(
    topic: Annotated[
        str,
        argument("[TOPIC]", "Page, e.g. causes or reference/metrics."),
    ] = "",
    browser: Annotated[bool, option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Show the documentation of this version. Without a topic: list the topics.

    Example:  assay docs causes

    In the browser, with links between pages:  assay docs causes --open
    """
    root = docs_folder()
    if not topic and not browser:
        for folder, title in _FOLDERS.items():
            print(f"{title}")
            for page in _pages(root, folder):
                name = page.relative_to(root).with_suffix("").as_posix()
                if page.name != "README.md":
                    print(f"  {name.removeprefix('guides/'):<34} {_title(page)}")
        return
    section = None if browser else find_section(root, topic)
    if section is not None:
        _print_page(*section, root)
        return
    page = find_page(root, topic) if topic else root / "README.md"
    if browser:
        import webbrowser

        address = write_site(root).joinpath(page.relative_to(root).with_suffix(".html")).as_uri()
        if not webbrowser.open(address):
            print(address)
        return
    _print_page(page, page.read_text(encoding="utf-8"), root)


def _print_page(page: Path, content: str, root: Path) -> None:
    """Show a page on a terminal, or print its Markdown elsewhere."""
    from rich.console import Console

    console = Console(highlight=False)
    text, topics = _without_links(_COMMENT.sub("", content), page, root)
    if topics:
        text += "\nSee also: " + ", ".join(f"`assay docs {topic}`" for topic in topics) + "\n"
    if not console.is_terminal:
        print(text, end="")
        return
    from assay.reports.console.markdown import TerminalMarkdown

    console.print(TerminalMarkdown(text), width=min(console.width, _WIDEST), crop=False)


def _without_links(text: str, page: Path, root: Path) -> tuple[str, list[str]]:
    """A page without its links to other pages, which a terminal cannot follow, and the topics of these pages."""
    topics: dict[str, None] = {}

    def plain(link: re.Match[str]) -> str:
        if link[2] is None:
            return link[1]
        target = (page.parent / link[2]).resolve()
        if target.is_relative_to(root.resolve()):
            topics[target.relative_to(root.resolve()).with_suffix("").as_posix().removeprefix("guides/")] = None
        return link[1]

    return _LINK.sub(plain, text), list(topics)


def docs_folder() -> Path:
    """The folder of pages: in the installed package, or in the clone that it runs from. Raises InputError."""
    package = Path(__file__).parents[2]
    for folder in (package / "docs", package.parents[1] / "docs"):
        if (folder / "guides").is_dir():
            return folder
    raise InputError("the documentation is not installed with this copy of Assay")


def find_section(root: Path, topic: str) -> tuple[Path, str] | None:
    """A section of the reference that is about a name, e.g. ``ves`` or ``--max-unscored``, with its page.

    None if a page is called like this, or no section is. A name in a row of a table gives its header and that row.
    """
    wanted = topic.strip("`")
    if not wanted or _page_named(root, wanted) is not None:
        return None
    pages = [page for page in sorted(root.joinpath("reference").rglob("*.md")) if page.name != "README.md"]
    pages.sort(key=lambda page: page.stem not in ("metrics", "causes", "run"))
    name = rf"`?{re.escape(wanted)}`?"
    heading = re.compile(rf"^(#+) {name}[ \t]*$.*?(?=^#{{1,6}} |\Z)", re.M | re.S | re.I)
    row = re.compile(rf"^\|[^|\n]*`{re.escape(wanted)}(?:`| [^`\n]*`)[^\n]*$", re.M | re.I)
    for pattern in (heading, row):
        for page in pages:
            text = page.read_text(encoding="utf-8")
            if found := pattern.search(text):
                before = [] if pattern is heading else _table_head(text[: found.start()])
                return page, "\n".join([f"# {_title(page)}", "", *before, found[0].strip(), ""])
    return None


def _table_head(text: str) -> list[str]:
    """The two lines with which the last table of a text begins."""
    lines = text.splitlines()
    start = len(lines)
    while start and lines[start - 1].startswith("|"):
        start -= 1
    return lines[start : start + 2]


def find_page(root: Path, topic: str) -> Path:
    """The page of a topic: its path without ``.md``, or the name of a page in any folder. Raises UsageError."""
    if (found := _page_named(root, topic)) is not None:
        return found
    wanted = topic.strip("/").removesuffix(".md").removeprefix("docs/")
    every = _every_page(root)
    known = sorted({*every, *(PurePosixPath(name).name for name in every), *_names_of_metrics()} - {"README"})
    raise UsageError(f"no page is called {topic!r}{did_you_mean(wanted, known)}: assay docs lists them")


def _names_of_metrics() -> Iterable[str]:
    from assay import registry

    return registry.registered("assay.metrics")


def _every_page(root: Path) -> dict[str, Path]:
    return {page.relative_to(root).with_suffix("").as_posix(): page for page in root.rglob("*.md")}


def _page_named(root: Path, topic: str) -> Path | None:
    wanted = topic.strip("/").removesuffix(".md").removeprefix("docs/")
    wanted = _ALIASES.get(wanted.lower(), wanted)
    every = _every_page(root)
    names = [wanted, f"{wanted}/README", *(f"{folder}/{wanted}" for folder in _FOLDERS), f"guides/{wanted}/README"]
    for name in names:
        if name in every:
            return every[name]
    ends = sorted(name for name in every if PurePosixPath(name).name == wanted)
    return every[ends[0]] if ends else None


def _pages(root: Path, folder: str) -> Iterator[Path]:
    yield from sorted(root.joinpath(folder).glob("*.md"))


def _title(page: Path) -> str:
    with page.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()


def write_site(root: Path) -> Path:
    """Write every page as HTML into a new temporary folder, and return it."""
    from html import escape
    from shutil import copytree
    from tempfile import mkdtemp

    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    site = Path(mkdtemp(prefix="assay-docs-"))
    if root.joinpath("images").is_dir():
        copytree(root / "images", site / "images")
    for page in root.rglob("*.md"):
        text = _COMMENT.sub("", page.read_text(encoding="utf-8"))
        body = re.sub(r'(href="(?!\w+:)[^"#]*)\.md(?=["#])', r"\1.html", markdown.render(text))
        target = site / page.relative_to(root).with_suffix(".html")
        target.parent.mkdir(parents=True, exist_ok=True)
        title = escape(_title(page))
        target.write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{title}</title><style>{_STYLE}</style><body>{body}</body></html>\n",
            encoding="utf-8",
        )
    return site
