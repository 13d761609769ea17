"""The package as a whole: light to import, its names sorted, its plugins all there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import EntryPoint, distribution
from pathlib import Path
from pkgutil import iter_modules

import grimp
import pytest

import assay
from many_cases import each

HEAVY = (
    "anyio",
    "calamine",
    "click",
    "duckdb",
    "httpx",
    "jinja2",
    "mlflow",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pymysql",
    "python_calamine",
    "rich",
    "ruamel",
    "sqlalchemy",
    "sqlglot",
    "sqlparse",
    "stamina",
)
GROUPS = {
    "assay.cases": ("recognises", "cases", "predictions"),
    "assay.engines": ("open", "check", "version", "fingerprint", "execute", "siblings", "close"),
    "assay.metrics": ("requests", "score"),
    "assay.reports": ("render",),
    "assay.systems": ("open", "describe", "answer", "close"),
}


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    plain = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200", "PYTHONPATH": path}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=plain, timeout=300, check=False
    )


def _entry_points() -> list[EntryPoint]:
    return [entry for entry in distribution("assay").entry_points if entry.group.startswith("assay.")]


def test_importing_assay_loads_nothing_heavy() -> None:
    script = "import sys, json; old = set(sys.modules); import assay; print(json.dumps([*{*sys.modules} - old]))"
    done = _python("-c", script)
    assert done.returncode == 0, done.stderr
    loaded = {name.split(".")[0] for name in json.loads(done.stdout)}
    assert loaded.isdisjoint(HEAVY), f"import assay loads {sorted(loaded.intersection(HEAVY))}"


def test_importing_assay_prints_nothing_and_configures_nothing() -> None:
    script = "import logging, warnings; import assay; print(len(logging.getLogger().handlers))"
    done = _python("-W", "error", "-c", script)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_public_names_are_sorted_and_resolve() -> None:
    assert list(assay.__all__) == sorted(assay.__all__)
    assert len(set(assay.__all__)) == len(assay.__all__)
    for name in assay.__all__:
        assert getattr(assay, name) is not None, name
        assert name in dir(assay), f"dir(assay) hides {name}"


def test_no_public_name_is_a_module_that_would_take_its_place() -> None:
    """Whoever imports ``assay.x`` makes it an attribute of the package, whatever else bears that name."""
    modules = {module.name for module in iter_modules(assay.__path__)}
    assert modules.isdisjoint(assay.__all__)


def test_the_promised_names_are_public() -> None:
    assert {"__version__", "check", "check_selection", "compare", "evaluate", "load_run"} <= set(assay.__all__)


def test_earlier_names_of_the_same_functions_stay() -> None:
    assert assay.judge is assay.check
    assert assay.examine is assay.gather_evidence
    assert assay.judge_selection is assay.check_selection


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports within functions and those for the type checker count, too."""
    graph = grimp.build_graph("assay", cache_dir=None)
    imports = {module: sorted(graph.find_modules_directly_imported_by(module)) for module in sorted(graph.modules)}
    assert len(imports) > 300
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = assay.nonsense  # type: ignore[attr-defined]


def test_version_is_that_of_the_distribution() -> None:
    assert assay.__version__ == distribution("assay").version


def test_help_names_the_verbs_and_shows_an_example() -> None:
    done = _python("-m", "assay", "--help")
    assert done.returncode == 0, done.stderr
    for verb in ("demo", "run"):
        assert re.search(rf"^\W*{verb}\b", done.stdout, re.MULTILINE), done.stdout


def test_an_unknown_verb_is_unusable_input() -> None:
    done = _python("-m", "assay", "rnu")
    assert done.returncode == 2
    assert "rnu" in done.stderr


@each("entry", _entry_points(), ids=lambda entry: f"{entry.group}:{entry.name}")
def test_every_registered_plugin_loads_and_bears_its_name(entry: EntryPoint) -> None:
    loaded = entry.load()
    for member in GROUPS[entry.group]:
        assert callable(getattr(loaded, member, None)), f"{entry.value} lacks {member}()"
    # An engine may be registered under the drivers of its scheme, too.
    assert loaded.name in (entry.name, entry.name.partition("+")[0])


def test_every_group_has_plugins_and_no_name_twice() -> None:
    names = [(entry.group, entry.name) for entry in _entry_points()]
    assert len(names) == len(set(names))
    assert {group for group, _ in names} >= set(GROUPS)


def _opening(text: str, end: int) -> str:
    """How the group begins that ends there."""
    depth, place = 1, end
    while depth:
        place -= 1
        if text[place] in "()" and text[place - 1] != "\\":
            depth += 1 if text[place] == ")" else -1
    return text[place : place + 3]


def test_what_is_repeated_for_good_is_atomic_itself() -> None:
    """Before 3.11.5 Python goes on from where such a repeat failed, not from where it had succeeded last."""
    repeats = 0
    for path in Path(assay.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for found in re.finditer(r"(?<!\\)\)(?:[*+?]|\{[\d,]+\})\+", text):
            repeats += 1
            line = text.count("\n", 0, found.start()) + 1
            assert _opening(text, found.start()) == "(?>", f"{path}:{line}: write (?>…){found[0][1:]}"
    assert repeats
