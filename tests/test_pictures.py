"""The documents' pictures are those that the script makes of the sample, and light."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "pictures.py"
IMAGES = ROOT / "docs" / "images"
HEAVIEST = 250_000
"""Bytes of a page that everyone loads."""


def _names() -> set[str]:
    return {f"{name}.png" for name in re.findall(r'^    Picture\(\s*name="([\w-]+)"', SCRIPT.read_text("utf-8"), re.M)}


def _size(picture: Path) -> tuple[int, int]:
    content = picture.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n"), picture.name
    assert len(content) < HEAVIEST, f"{picture.name} is too heavy"
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def test_the_script_makes_every_picture_that_is_there() -> None:
    assert {path.name for path in IMAGES.iterdir()} == _names()


def test_every_picture_is_shown_by_a_document() -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        (document.parent / target).resolve()
        for document in documents
        for target in re.findall(r"!\[[^\]]+\]\(([^)\s]+)\)", document.read_text(encoding="utf-8"))
    }
    assert shown == {IMAGES / name for name in _names()}
    for picture in shown:
        _size(picture)


def test_the_script_draws_them_as_they_are_kept(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == _names()
    for name in _names():
        assert _size(tmp_path / name) == _size(IMAGES / name), f"{name}: run  python scripts/pictures.py"
