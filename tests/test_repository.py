"""What stands at the top of the repository is true: links, versions, the image, the forms."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from many_cases import each

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.md")])
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@each("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", ["SECURITY.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md"])
def test_no_page_invents_an_address(page: str) -> None:
    assert not re.search(r"[\w.]+@[\w-]+\.\w{2,}", _text(page))


def test_the_citation_is_of_this_version_under_this_licence() -> None:
    about = YAML(typ="safe").load(_text("CITATION.cff"))
    assert (about["version"], about["license"]) == (PROJECT["version"], PROJECT["license"])
    assert about["cff-version"] == "1.2.0"
    assert {"title", "authors", "message"} <= set(about)


def test_the_changes_of_this_version_are_told_in_sections() -> None:
    changes = _text("CHANGELOG.md")
    assert re.findall(r"^## (\d\S*)", changes, re.M)[0].rstrip(",") == PROJECT["version"]
    sections = re.findall(r"^### (.*)$", changes, re.M)
    assert len(sections) == len(set(sections)) > 10
    for section in re.split(r"^### .*$", changes, flags=re.M)[1:]:
        assert re.match(r"\s*- ", section)


@each("form", FORMS, ids=lambda form: form.stem)
def test_forms_ask_for_something(form: Path) -> None:
    about = YAML(typ="safe").load(form.read_text(encoding="utf-8"))
    if form.stem == "config":
        assert about == {"blank_issues_enabled": True}
        return
    assert {"name", "description", "body"} <= set(about)
    ids = [field["id"] for field in about["body"]]
    assert len(ids) == len(set(ids))
    assert any(field.get("validations", {}).get("required") for field in about["body"])
    assert all(isinstance(one, str) for one in ids), "YAML reads a bare true as a truth value"


def test_commands_of_contributors_are_those_of_the_checks() -> None:
    told = _text("CONTRIBUTING.md")
    for command in ("ruff check .", "mypy", "lint-imports"):
        assert command in told
        assert command in _text(".ci/run")


def test_the_image_is_made_of_what_reaches_the_builder() -> None:
    """Each file that is copied is there and is not held back, and its interpreter is one that Assay names."""
    held_back = _text(".dockerignore").splitlines()
    let_through = {line.removeprefix("!") for line in held_back if line.startswith("!")}
    assert "*" in held_back
    image = _text("Dockerfile")
    copied = {
        name for line in re.findall(r"^COPY (?!--from)(.*) \S+$", image, re.M) for name in line.split()
    }  # the last word is where to
    assert copied
    for name in copied:
        assert (ROOT / name).exists(), name
        assert any(fnmatch(name, one) for one in let_through), f"{name} does not reach the builder"
    for version in re.findall(r"^FROM python:([\d.]+)-slim", image, re.M):
        assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    assert re.search(r"^USER assay$", image, re.M), "hostile queries run without rights"
    assert image.index("USER assay") < image.index("ENTRYPOINT")
    needed = {PROJECT["readme"], "pyproject.toml", "LICENSE", "src", "constraints.txt"}
    assert copied == needed, "what the wheel is built from"
