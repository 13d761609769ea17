"""The example package, installed."""

from __future__ import annotations

import shutil
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))
from plugged import PLUGIN, installed_by_pip, laid_out


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, installed; by hand where what builds it is absent."""
    site = tmp_path_factory.mktemp("site")
    if find_spec("hatchling") is not None and find_spec("pip") is not None:
        source = site.with_name(f"{site.name}-source")
        shutil.copytree(PLUGIN, source, ignore=shutil.ignore_patterns("__pycache__"))
        installed_by_pip(source, site)
    else:
        project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        shutil.copytree(PLUGIN / "src", site, dirs_exist_ok=True)
        laid_out(site, project, project["entry-points"])
    return site
