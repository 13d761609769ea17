"""The page of rules is what the rules say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import assay.linting
from assay.linting import catalogue
from assay.linting.page import rules_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "lint-rules.md"


def test_the_page_is_made_from_the_rules() -> None:
    made = "python -m assay.linting.page > docs/reference/lint-rules.md"
    assert PAGE.read_text(encoding="utf-8") == rules_page(), made


def test_the_command_prints_the_page() -> None:
    done = subprocess.run([sys.executable, "-m", "assay.linting.page"], capture_output=True, check=True)
    assert done.stdout.decode() == rules_page()


def test_every_rule_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for rule in catalogue():
        assert f"\n### {rule.about.name}\n" in text


def test_a_rule_stands_in_the_folder_of_what_it_needs() -> None:
    folder = Path(assay.linting.__file__).parent / "rules"
    files = {path.stem.replace("_", "-"): path.parent.name for path in folder.glob("*/[a-z]*.py")}
    assert files == {
        rule.about.name: "cases" if rule.about.needs == "runs" else rule.about.needs for rule in catalogue()
    }
