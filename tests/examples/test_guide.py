"""The guide for authors of plug-ins shows the example package as it is."""

from __future__ import annotations

import re
from typing import get_args

from plugged import PLUGIN, ROOT

import assay.testing.conformance as kit
from assay import registry

GUIDE = ROOT / "docs" / "guides" / "extending.md"


def plain(text: str) -> str:
    """The lines of a text without indentation and blank ones: a part of a class stands on its own in the guide."""
    return "\n".join(["", *(line.strip() for line in text.splitlines() if line.strip()), ""])


def test_its_code_is_the_packages_own() -> None:
    files = [PLUGIN / "pyproject.toml", *PLUGIN.rglob("*.py")]
    sources = {path: plain(path.read_text(encoding="utf-8")) for path in files}
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    shown = [body for language, body in blocks if language in ("py", "python", "toml")]
    assert len(shown) >= 3
    for body in shown:
        homes = [path for path, source in sources.items() if plain(body) in source]
        assert len(homes) == 1, f"this stands in {len(homes)} files of examples/plugin:\n{body}"


def test_its_table_names_every_group_and_its_checks() -> None:
    rows = re.findall(r"^\| [\w ]+ \| `(assay\.\w+)` \|.*\| `(\w+)` \|$", GUIDE.read_text(encoding="utf-8"), re.M)
    assert {group for group, _ in rows} == set(get_args(registry.Group))
    assert {checks for _, checks in rows} == {name for name in kit.__all__ if name.endswith("CHECKS")}
