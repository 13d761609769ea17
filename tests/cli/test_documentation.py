"""`assay docs` shows every page of the documentation, in the terminal and in the browser."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest
from markdown_it import MarkdownIt

import assay
from assay.cli.app import run_command_line
from assay.cli.verbs.docs import docs_folder, find_page, write_site
from assay.cli.verbs.docs_text import page_lines, styled
from assay.reports.text.plain import columns_of
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
@pytest.mark.parametrize("drawn", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("width", [40, 80, 110])
def test_a_page_keeps_every_word_and_wraps_all_but_code(page: Path, width: int, drawn: bool) -> None:
    markdown = re.sub(r"^<!--.*?-->\n?", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    lines = ["".join(text for text, _ in styled(line)) for line in page_lines(markdown, width=width, drawn=drawn)]
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    code = {
        line.strip() for token in tokens if token.type in ("fence", "code_block") for line in token.content.split("\n")
    }
    inline = {one.content for token in tokens for one in token.children or () if one.type == "code_inline"}
    titles = {token.content.replace("`", "") for token in tokens if token.type == "inline" and token.level == 1}
    assert code <= {line.strip() for line in lines}
    shown = "\n".join(lines)
    assert [one for one in inline if one not in shown] == []
    for line in lines:
        if columns_of(line) > width and line.strip() not in code and not line.startswith("#") and line not in titles:
            # No blank in it may end a line: it is one word, or one piece of code.
            rest = line.strip().removeprefix("- ")
            assert " " not in rest or any(one in rest and columns_of(one) > width // 4 for one in inline), line


def test_a_table_that_does_not_fit_is_a_list_with_its_headers() -> None:
    table = "| option | default |\n|---|---|\n| `--a` | `" + "x" * 50 + "` |\n| `--b` | 1 |\n"
    assert list(page_lines(table, width=80, drawn=False))[2] == f"`--a`   `{'x' * 50}`"
    assert list(page_lines(table, width=40, drawn=False)) == [
        "`--a`",
        "  default:",
        f"    `{'x' * 50}`",
        "",
        "`--b`",
        "  default: 1",
    ]


def test_a_page_in_a_pipe_has_no_comments_and_wrapped_prose(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["docs", "check"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# ")
    assert "<!--" not in shown
    prose = re.sub(r"^```.*?^```", "", shown, flags=re.M | re.S)
    assert max(map(len, prose.splitlines())) <= 80


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
