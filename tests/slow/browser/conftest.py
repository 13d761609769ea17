"""A real Chromium, and pages of the reports in it.

Without Playwright (``pip install -e '.[dev]'``) or a Chromium on the path (Debian: ``apt-get install
chromium-headless-shell``) all tests of this folder skip.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if str(Path(__file__).parent) not in sys.path:
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "reports")]

import browser_runs as runs
import selections
from browser_window import DESKTOP, Look, Opened, new_window, written

from assay.model import Run
from assay.reports.html.diff import diff_page
from assay.reports.html.leaderboard import leaderboard_page
from assay.reports.html.run import HtmlReporter
from assay.runs.compare.diff import diff_runs
from assay.runs.compare.leaderboard import rank

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first does not draw the window around the page, which takes a fifth of the time."""


_loops: list[Any] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """Mark no event loop as running between these tests: Playwright leaves its own, and `asyncio.run` would refuse."""
    if Path(__file__).parent not in item.path.parents:
        return (yield)
    asyncio._set_running_loop(_loops.pop() if _loops else None)
    try:
        return (yield)
    finally:
        _loops[:] = filter(None, [asyncio._get_running_loop()])
        asyncio._set_running_loop(None)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser, started once."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed (pip install -e '.[dev]')"
    )
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(_NAMES)} is on the path (Debian: apt-get install {_NAMES[0]})")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def windows(chromium: Browser) -> dict[Any, list[Page]]:
    """Empty pages, by the options of their contexts: to open one takes longer than most of what is looked at."""
    return {}


@pytest.fixture
def look(chromium: Browser, windows: dict[Any, list[Page]]) -> Iterator[Look]:
    """Open a file in a window that nobody else looks at meanwhile."""
    contexts: list[BrowserContext] = []
    lent: list[tuple[Opened, list[Page]]] = []

    def opened(
        file: Path,
        fragment: str = "#tab=cases",
        *,
        size: tuple[int, int] = DESKTOP,
        dark: bool = False,
        ready: bool = True,
        apart: bool = False,
        **options: Any,
    ) -> Opened:
        free = [] if apart else windows.setdefault(frozenset(options.items()), [])
        if free:
            page = free.pop()
        else:
            context = chromium.new_context(viewport={"width": size[0], "height": size[1]}, **options)
            page = new_window(context)
            if apart:
                contexts.append(context)
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(media="null", color_scheme="dark" if dark else "light")
        seen = Opened(page, file)
        if not apart:
            lent.append((seen, free))
        return seen.go(fragment, ready=ready)

    yield opened
    for context in contexts:
        context.close()
    for seen, place in lent:
        place.append(seen.leave())


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def run(folder: Path) -> Run:
    """A run of real queries on real databases."""
    return runs.real_run(folder, runs.ANSWERS, "first")


@pytest.fixture(scope="session")
def report(run: Run, folder: Path) -> Path:
    return written(folder / "report.html", HtmlReporter().render(run))


@pytest.fixture(scope="session")
def witnessed(folder: Path) -> Path:
    return written(folder / "witnessed.html", HtmlReporter().render(runs.witnessed_run(folder)))


@pytest.fixture(scope="session")
def diff(run: Run, folder: Path) -> Path:
    later = runs.real_run(folder, runs.LATER, "second")
    return written(folder / "diff.html", diff_page(diff_runs(run, later), run, later))


@pytest.fixture(scope="session")
def sdmx(folder: Path) -> Path:
    return written(folder / "sdmx.html", HtmlReporter().render(selections.small_selection_run()))


@pytest.fixture(scope="session")
def repeated(folder: Path) -> Path:
    return written(folder / "repeated.html", HtmlReporter().render(runs.repeated_run(folder)))


@pytest.fixture(scope="session")
def large(run: Run, folder: Path) -> Path:
    return written(folder / "large.html", HtmlReporter().render(runs.large_run(run)))


@pytest.fixture(scope="session")
def hostile(folder: Path) -> Path:
    return written(folder / "hostile.html", HtmlReporter().render(runs.hostile_run()))


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core, which checks a page against the rules of WCAG."""
    package = pytest.importorskip("axe_playwright_python", reason="axe is not installed (pip install -e '.[dev]')")
    return (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def board(run: Run, folder: Path) -> Path:
    """Three systems, of which two gave the same answers."""
    later = runs.real_run(folder, runs.LATER, "second")
    return written(folder / "board.html", leaderboard_page(rank([run, later, run], detailed=True)))
