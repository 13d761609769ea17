"""Who imports a public name gets its whole type, without inference: every parameter, result and attribute says it."""

from __future__ import annotations

import ast
import inspect
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import assay
import assay.model
import assay.ports
import assay.testing
from many_cases import each

ROOT = Path(__file__).resolve().parents[1]
SOURCE = str(Path(assay.__file__).parent)
MODULES = (assay, assay.model, assay.ports, assay.testing)


def _functions(value: Any) -> Iterator[Any]:
    """The functions of a public value that Assay wrote itself, not those that msgspec makes."""
    members = vars(value).values() if inspect.isclass(value) else [value]
    for member in members:
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not inspect.isfunction(function) or not function.__code__.co_filename.startswith(SOURCE):
            continue
        if not function.__name__.startswith("_") or function.__name__ in ("__init__", "__call__"):
            yield function


@each("module", MODULES, ids=lambda module: module.__name__)
def test_public_names_say_their_types(module: Any) -> None:
    looked_at = 0
    for function in (one for name in module.__all__ for one in _functions(getattr(module, name))):
        looked_at += 1
        known = function.__annotations__
        called = function.__qualname__
        assert "return" in known, called
        given = list(inspect.signature(function).parameters)
        missing = {one for one in given if one not in known} - {"self", "cls"}
        assert not missing, f"{called}: {missing}"
        if function.__name__ == "__init__":
            assert not list(_inferred(function, set(given))), called
    assert looked_at > 10


def _inferred(function: Any, parameters: set[str]) -> Iterator[str]:
    """The public attributes that a constructor sets to anything but a parameter, without their type."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if not isinstance(node, ast.Assign):
            continue
        plain = isinstance(node.value, ast.Name) and node.value.id in parameters
        for target in node.targets:
            if isinstance(target, ast.Attribute) and not target.attr.startswith("_") and not plain:
                yield target.attr


def test_a_type_checker_knows_every_public_name() -> None:
    """By pyright, which has a measure for it, where that is installed."""
    if (pyright := shutil.which("pyright")) is None:
        pytest.skip("pyright is not installed")
    done = subprocess.run(
        [pyright, "--pythonpath", sys.executable, "--verifytypes", "assay", "--ignoreexternal", "--outputjson"],
        capture_output=True, text=True, timeout=600, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    unknown = {one["name"] for one in symbols if not one["isTypeKnown"]}
    names = {f"{module.__name__}.{name}" for module in MODULES for name in module.__all__}
    assert names & {one["name"] for one in symbols}
    assert not names & unknown
