"""A report's page in a browser, as tests look at it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

DESKTOP, PHONE = (1280, 900), (360, 740)


class Opened:
    """A page in the browser, and what it complained of or asked for."""

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.file = file
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._told: dict[Any, Callable[[Any], object]] = {
            "console": lambda said: self.complaints.append(f"{said.type}: {said.text}"),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "dialog": self._dialog,
            "request": lambda request: self.requests.append(request.url.split("#")[0]),
        }
        for event, heard in self._told.items():
            page.on(event, heard)

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, fragment: str = "", *, ready: bool = True) -> Opened:
        """Load the file anew, at a fragment."""
        if self.page.url != "about:blank":
            self.page.goto("about:blank")
        self.page.goto(self.file.as_uri() + fragment)
        if ready:
            self.page.wait_for_selector("html[data-searchable]", state="attached")
        return self

    def leave(self) -> Page:
        """Give the empty page, of which this hears no more."""
        self.page.goto("about:blank")
        for event, heard in self._told.items():
            self.page.remove_listener(event, heard)
        return self.page

    def has(self, script: str) -> Any:
        """What a function in the page gives."""
        return self.page.evaluate(f"() => {script}")

    @property
    def shown(self) -> int:
        """How many cases the table says that it shows."""
        return int(re.sub(r"\D.*", "", (self.page.text_content("#cases-shown") or "").replace(",", "")))

    @property
    def ids(self) -> list[str]:
        """The ids of the rows that are drawn, from above."""
        found: list[str] = self.has("[...document.querySelectorAll('#cases-rows .id')].map((one) => one.title)")
        return found

    @property
    def fragment(self) -> str:
        found: str = self.has("location.hash")
        return found

    @property
    def dialog(self) -> str | None:
        """The text of the open case."""
        return self.page.inner_text("dialog#case") if self.page.locator("dialog#case[open]").count() else None

    def open_case(self) -> str:
        """Wait for a case to be open and give its text."""
        self.page.wait_for_selector("dialog#case[open]")
        return self.page.inner_text("dialog#case")

    def all_parts(self) -> Opened:
        """Show the parts of all tabs at once, as they stand without tabs."""
        self.has("document.querySelectorAll('.part').forEach((one) => one.removeAttribute('hidden'))")
        return self

    def styled(self, rule: str) -> None:
        """Add a rule of style."""
        add = "(rule) => document.styleSheets[0].insertRule(rule, document.styleSheets[0].cssRules.length)"
        self.page.evaluate(add, rule)

    def settle(self) -> None:
        """Wait until what was typed has been looked for."""
        self.page.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 20))")

    def quiet(self) -> None:
        """Nothing was complained of, and nothing asked for but the file itself."""
        assert self.complaints == []
        assert self.has("window.violations") == []
        assert set(self.requests) <= {self.file.as_uri(), "about:blank"}


def new_window(context: BrowserContext) -> Page:
    """An empty page that notes what the policy of a file's own forbids it, before any of the file's scripts runs."""
    page = context.new_page()
    page.set_default_timeout(300_000)
    page.add_init_script(
        "window.violations = []; addEventListener('securitypolicyviolation', (event) =>"
        " window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`))"
    )
    return page


def written(path: Path, content: bytes) -> Path:
    """Write a page's file."""
    path.write_bytes(content)
    return path


Look = Callable[..., Opened]
"""``look(path, "#fragment", size=PHONE, dark=True, …)``; without a fragment the cases are shown.

More options are a browser context's.

What was done to a page before, it does not show, unless that outlasts a file: then it is asked for ``apart``.
"""
