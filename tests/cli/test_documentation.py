"""`assay docs` shows every page of the documentation, in the terminal and in the browser."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from assay.cli.app import run_command_line
from assay.cli.verbs.docs import docs_folder, find_page, write_site
from many_cases import each

PAGES = sorted(docs_folder().rglob("*.md"))


@each("page", PAGES, ids=str)
def test_each_page_is_found_by_its_path(page: Path) -> None:
    topic = page.relative_to(docs_folder()).with_suffix("").as_posix()
    assert find_page(docs_folder(), topic) == page


@each("guide", sorted(docs_folder().glob("guides/*.md")), ids=str)
def test_a_guide_is_found_by_its_name(guide: Path) -> None:
    assert find_page(docs_folder(), guide.stem) == guide


def test_without_a_topic_the_topics_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["docs"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^  causes +\S", shown, re.M)
    assert re.search(r"^  reference/metrics +Metrics$", shown, re.M)


def test_a_page_in_a_pipe_is_its_markdown_without_comments(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["docs", "check"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# ")
    assert "<!--" not in shown


def test_an_unknown_topic_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["docs", "leaderbord"]) == 2
    assert "did you mean 'leaderboard'?" in capsys.readouterr().err


def test_the_pages_in_the_browser_link_to_one_another(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(opened.append(address)) or True)
    assert run_command_line(["docs", "causes", "--open"]) == 0
    page = Path(url2pathname(urlparse(opened[0]).path))
    assert "<h1>" in page.read_text(encoding="utf-8")
    assert capsys.readouterr().out == ""


def test_no_link_between_pages_is_broken() -> None:
    site = write_site(docs_folder())
    for page in site.rglob("*.html"):
        for target in re.findall(r'href="([^"#:]+\.html)[#"]', page.read_text(encoding="utf-8")):
            inside = (page.parent / target).resolve()
            if inside.is_relative_to(site):
                assert inside.is_file(), (page, target)
