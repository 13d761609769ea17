"""All pages that are made from the code, by their place in the repository."""

from __future__ import annotations

from pathlib import Path

from command_pages import FOLDER, command_pages
from python_pages import python_pages
from settings_page import PLACE, settings_page

FOLDERS = (FOLDER, "docs/reference/python")
"""Nothing else stands in these."""


def made_pages() -> dict[str, str]:
    """The text of each page."""
    from assay.linting.page import rules_page

    return {
        **{f"{FOLDERS[0]}/{name}": text for name, text in command_pages().items()},
        **{f"{FOLDERS[1]}/{name}": text for name, text in python_pages().items()},
        PLACE: settings_page(),
        "docs/reference/lint-rules.md": rules_page(),
    }


def out_of_date(root: Path, pages: dict[str, str]) -> list[str]:
    """The pages that are not what the code says: changed, missing, or left from what is gone."""
    kept = {path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).glob("*")}
    changed = [
        path
        for path, text in pages.items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    ]
    return sorted([*changed, *(kept - pages.keys())])
