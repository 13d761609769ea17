"""The room's names load when they are first used, whatever was imported before."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import assay.sql


@pytest.mark.parametrize("name", assay.sql.__all__)
def test_every_name_is_there_and_is_no_module(name: str) -> None:
    for path in Path(assay.sql.__file__).parent.glob("[!_]*.py"):
        importlib.import_module(f"assay.sql.{path.stem}")
    value = getattr(assay.sql, name)
    assert not isinstance(value, ModuleType)
    assert value.__module__.startswith("assay.sql.")


def test_the_process_of_a_run_imports_neither_comparison_nor_the_parser_nor_sdmx() -> None:
    script = "import sys, assay.api.evaluation; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    unwanted = ("assay.comparison", "assay.sql.vacuity", "assay.sql.ties", "assay.scoring.queries.scorer")
    assert loaded.isdisjoint({*unwanted, "assay.sdmx.matching", "sqlglot", "duckdb", "numpy"})
