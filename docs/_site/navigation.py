"""Which pages the site has, and in what order: read off the links of its indexes, without Sphinx."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath

FIRST, INDEX = "README", "docs/README"
PAGES = ("*.md", "docs/*.md", "docs/**/*.md", "benchmarks/*.md", "examples/*.md", "examples/**/*.md")
"""What Sphinx reads, as patterns from the repository's root."""
_LINK = re.compile(r"\]\(([^)\s#]+)\.md(?:#[^)\s]*)?\)")
_FENCE = re.compile(r"^(`{3,}).*?^\1`*$", re.M | re.S)


def slug(heading: str) -> str:
    """A heading's anchor as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def links(root: Path, page: str, text: str) -> list[str]:
    """The pages that a page's text links to, in order, each once."""
    folder = PurePosixPath(page).parent
    found = [normpath(str(folder / target)) for target in _LINK.findall(_FENCE.sub("", text)) if "://" not in target]
    return [one for one in dict.fromkeys(found) if one != page and (root / f"{one}.md").is_file()]


def sections(text: str, level: int) -> list[tuple[str, str]]:
    """A text's headings of a level, each with what stands below it; '' for what stands before the first."""
    parts = re.split(rf"^#{{{level}}} +(.*)$", text, flags=re.M)
    return [("", parts[0]), *zip((title.strip() for title in parts[1::2]), parts[2::2], strict=True)]


def navigation(root: Path) -> list[tuple[str, list[str]]]:
    """The first level: the index's headings, each with the pages below it, of its folder or from outside of docs/.

    A heading within a heading is a group of its own: `Guides · Judge answers`.
    """
    text = _FENCE.sub("", (root / f"{INDEX}.md").read_text(encoding="utf-8"))
    placed = {FIRST}
    shown: list[tuple[str, list[str]]] = []
    for title, part in sections(text, 2)[1:]:
        for group, inner in sections(part, 3):
            found = [page for page in links(root, INDEX, inner) if page not in placed]
            own = [page for page in found if page.startswith(f"docs/{title.lower()}/") or not page.startswith("docs/")]
            placed.update(own)
            if own:
                shown.append((" · ".join(part for part in (title, group) if part), own))
    return shown


def below(root: Path, page: str) -> list[str]:
    """What stands below an index in the navigation: the pages of its own folder that it links to."""
    folder = PurePosixPath(page).parent
    text = (root / f"{page}.md").read_text(encoding="utf-8")
    placed = {one for _, pages in navigation(root) for one in pages}
    return [one for one in links(root, page, text) if PurePosixPath(one).parent == folder and one not in placed]


def others(root: Path) -> list[str]:
    """Pages outside of docs/ that no index names, such as those that code hosts look for."""
    placed = {FIRST, *(one for _, pages in navigation(root) for one in pages)}
    found = (path.relative_to(root).with_suffix("").as_posix() for pattern in PAGES for path in root.glob(pattern))
    return sorted(page for page in found if page not in placed and not page.startswith("docs/"))


def hidden_trees(root: Path, page: str) -> str:
    """The directives that place other pages below this one in the navigation; nothing where it is no index."""
    if page == FIRST:
        trees = [("", [INDEX]), *navigation(root), ("Project", others(root))]
    elif page != INDEX and PurePosixPath(page).name == "README" and page.startswith("docs/"):
        trees = [("", below(root, page))]
    else:
        trees = []
    return "".join(_tree(title, pages) for title, pages in trees if pages)


def _tree(title: str, pages: list[str]) -> str:
    caption = f":caption: {title}\n" if title else ""
    listed = "\n".join(f"/{page}" for page in pages)
    return f"\n\n```{{toctree}}\n:hidden:\n{caption}\n{listed}\n```\n"


def without_folders(root: Path, page: str, text: str) -> str:
    """The text without its links to folders, which code hosts show and a site does not."""
    folder = (root / page).parent

    def kept(found: re.Match[str]) -> str:
        return found[1] if (folder / found[2]).is_dir() else found[0]

    return re.sub(r"(?<!!)\[([^\]\n]+)\]\(([\w./-]+)\)", kept, text)


def unplaced(root: Path) -> Iterator[str]:
    """The pages of docs/ that nobody finds: in no index."""
    placed = {FIRST, INDEX, *(one for _, pages in navigation(root) for one in pages)}
    for page in [one for one in placed if PurePosixPath(one).name == "README" and one.startswith("docs/")]:
        if page != INDEX:
            placed.update(below(root, page))
    for path in sorted((root / "docs").rglob("*.md")):
        page = path.relative_to(root).with_suffix("").as_posix()
        if page not in placed:
            yield page
