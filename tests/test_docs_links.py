"""Links between documents, and from the code to them, lead somewhere; every document is found from the index."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from many_cases import each

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    {path for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "examples/**/*.md") for path in ROOT.glob(pattern)}
)
"""What the site has."""
FENCE = re.compile(r"^(`{3,}).*?^\1`*$", re.M | re.S)
CODE = ("src/**/*.py", "benchmarks/**/*.py", "scripts/*", "examples/**/*.yml", "*.yml", ".*.yaml", "pyproject.toml")
"""What names documents beside the documents; `scripts/reference` has its own words for them."""


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def _navigation() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs" / "_site"))
        return import_module("navigation")


@cache
def _prose(document: Path) -> str:
    return FENCE.sub("", document.read_text(encoding="utf-8"))


@cache
def _anchors(document: Path) -> frozenset[str]:
    headings = re.findall(r"^#+ (.*)$", _prose(document), re.M)
    shown = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    slugs = [_navigation().slug(heading) for heading in shown]
    again = {f"{slug}-{slugs[:place].count(slug)}" for place, slug in enumerate(slugs) if slug in slugs[:place]}
    return frozenset({*slugs, *again})


def _check(target: str, folder: Path, document: Path | None, named: str) -> None:
    path, _, anchor = target.partition("#")
    found = (folder / path).resolve() if path else document
    assert found is not None, named
    assert found.exists(), f"{named}, which does not exist"
    assert not anchor or anchor in _anchors(found), f"{named}: no such heading"


@each("document", DOCUMENTS, ids=_relative)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", _prose(document))):
        if not re.match(r"[a-z]+:", target):
            _check(target, document.parent, document, f"{_relative(document)} links to {target}")


def test_what_the_code_names_of_the_documents_is_there() -> None:
    """Messages, helps, comments and workflows send readers to pages and headings."""
    named = {
        (target, path)
        for pattern in CODE
        for path in ROOT.glob(pattern)
        if path.is_file()
        for target in re.findall(r"(?<![\w/.-])docs/[\w./-]+\.md(?:#[\w-]+)?", path.read_text(encoding="utf-8"))
    }
    assert named
    for target, path in sorted(named):
        _check(target, ROOT, None, f"{_relative(path)} names {target}")


def test_the_site_has_the_documents_that_are_looked_at_here() -> None:
    assert {path for pattern in _navigation().PAGES for path in ROOT.glob(pattern)} == set(DOCUMENTS)


def test_every_document_is_found_from_the_index() -> None:
    assert list(_navigation().unplaced(ROOT)) == []


def test_the_index_leads_to_start_guides_reference_and_background() -> None:
    shown = _navigation().navigation(ROOT)
    parts = [title.partition(" · ")[0] for title, _ in shown]
    assert [*dict.fromkeys(parts)] == ["Start", "Guides", "Reference", "Background"][-len(set(parts)) :]
    placed = [page for _, pages in shown for page in pages]
    assert len(placed) == len(set(placed))
