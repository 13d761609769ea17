"""`assay docs` shows every page of the documentation, in the terminal and in the browser."""

from __future__ import annotations

import re
import webbrowser
from io import StringIO
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

import assay
from assay.cli.app import run_command_line
from assay.cli.verbs.docs import docs_folder, find_page, write_site
from assay.reports.console.markdown import TerminalMarkdown
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


@each("page", PAGES, ids=str)
def test_a_page_on_a_terminal_keeps_every_word_and_breaks_no_code(page: Path) -> None:
    markdown = page.read_text(encoding="utf-8")
    console = Console(width=60, record=True, file=StringIO())
    console.print(TerminalMarkdown(markdown), crop=False)
    lines = console.export_text().splitlines()
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    code = {
        line.strip() for token in tokens if token.type in ("fence", "code_block") for line in token.content.split("\n")
    }
    assert code <= {line.strip() for line in lines}
    assert "…" not in "".join(lines) or "…" in markdown


def test_a_page_in_a_pipe_is_markdown_without_comments_and_links(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["docs", "check"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# ")
    assert "<!--" not in shown
    assert ".md)" not in shown


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


def test_texts_name_topics_that_exist_and_no_files_of_the_repository() -> None:
    source = Path(assay.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in source.rglob("*.py") if path.name != "docs.py"}
    topics = {topic for text in texts.values() for topic in re.findall(r"\bassay docs ([a-z][\w/-]*)", text)}
    assert len(topics) > 20
    assert [topic for topic in sorted(topics) if not find_page(docs_folder(), topic).is_file()] == []
    files = re.compile(r"\bdocs/(?:guides|reference|background)/[\w/-]+\.md")
    assert [path for path, text in texts.items() if files.search(text.replace("linting.page > docs", ""))] == []
