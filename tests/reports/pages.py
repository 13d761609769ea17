"""What a test sees of an HTML report: its tags and texts, and its cases, which the page holds packed."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from html.parser import HTMLParser
from typing import Any

VOID = frozenset({"meta", "input", "br", "rect", "path", "line", "circle"})


class Page(HTMLParser):
    """Tags, attributes and texts of a page; fails where tags do not nest."""

    def __init__(self, content: bytes | str) -> None:
        super().__init__()
        self.source = content.decode() if isinstance(content, bytes) else content
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inline: dict[str, str] = {}
        """What the style and the scripts hold, a script of data by its id."""
        self.texts: list[str] = []
        self._open: list[tuple[str, str]] = []
        self.feed(self.source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag not in VOID:
            self._open.append((tag, found.get("id") or tag))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tag, name = self._open[-1] if self._open else ("", "")
        if tag in ("style", "script"):
            self.inline[name] = self.inline.get(name, "") + data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        """The page's own text, without that of its cases, each run of blanks as one."""
        return " ".join(" ".join(self.texts).split())

    @property
    def links(self) -> set[str]:
        """Where its links lead, without the ``#``."""
        return {(attrs.get("href") or "").removeprefix("#") for tag, attrs in self.tags if tag == "a"}

    @property
    def anchors(self) -> list[str]:
        return [attrs["id"] for _, attrs in self.tags if attrs.get("id")]  # type: ignore[misc]

    @property
    def packed(self) -> dict[str, Any]:
        """The data as the page holds it: strings of base64."""
        found: dict[str, Any] = json.loads(self.inline["data"])
        return found

    @property
    def index(self) -> dict[str, Any]:
        """What the table of cases knows, in columns."""
        found: dict[str, Any] = unpacked(self.packed["index"])
        return found

    @property
    def cases(self) -> list[dict[str, Any]]:
        """All that is known of each case, in the index's order."""
        return [case for chunk in self.packed["chunks"] for case in unpacked(chunk)]

    @property
    def outcomes(self) -> list[str]:
        index = self.index
        return [index["states"][place]["name"] for place in index["state"]]

    @property
    def everything(self) -> str:
        """The page's text and that of its cases, as a reader finds it who opens them all."""
        said = [self.text, *texts_of(self.index), *(text for case in self.cases for text in texts_of(case))]
        return " ".join(" ".join(said).split())


def unpacked(packed: str) -> Any:
    """What one packed string holds."""
    return json.loads(gzip.decompress(b64decode(packed, validate=True)))


def texts_of(value: object) -> list[str]:
    """Every text in a value of JSON, in its order, names of members left out."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, (list, dict)):
        return [text for one in (value.values() if isinstance(value, dict) else value) for text in texts_of(one)]
    return []
