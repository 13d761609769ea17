"""Where sqlglot's compiled parser is installed, one line says what to do, in place of failures of some cases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["parser.cpython-311-x86_64-linux-gnu.so", "parser.cp312-win_amd64.pyd"])
def test_a_compiled_parser_is_refused_by_its_package(name: str, tmp_path: Path) -> None:
    package = tmp_path / "sqlglot"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "parser.py").touch()
    command = [sys.executable, "-c", "import assay.sql"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    pure = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert pure.returncode == 0, pure.stderr
    (package / name).touch()
    compiled = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "InputError: the package sqlglotc is installed" in compiled.stderr
    assert "pip uninstall sqlglotc" in compiled.stderr
