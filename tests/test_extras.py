"""Where something needs a package that is not installed, the message gives the command that installs its extra."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.cli.app import run_command_line
from assay.engines.denodo.sqlalchemy import DenodoFlightSqlEngine, DenodoPsycopg2Engine
from assay.errors import MissingDependency, install_command, requirements
from assay.model import ColumnSchema, DatabaseSchema, DatabaseUrl, Limits, TableSchema, Unproved
from assay.witness.proof import prove

ROOT = Path(__file__).resolve().parents[1]
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]
COLLECTIONS = {"all", "compiled", "docs", "test", "dev"}
"""What brings nothing that Assay itself asks for."""
MODULES = {
    "arrow": {"pyarrow": "pyarrow"},
    "pandas": {"pandas": "pandas"},
    "polars": {"polars": "polars"},
    "denodo": {
        "sqlalchemy": "sqlalchemy",
        "denodo.sqlalchemy": "denodo-sqlalchemy",
        "psycopg2": "psycopg2-binary",
        "adbc_driver_flightsql": "adbc-driver-flightsql",
        "pyarrow": "pyarrow",
    },
    "sqlalchemy": {"sqlalchemy": "sqlalchemy", "pymysql": "pymysql"},
    "sdmx": {"lxml": "lxml"},
    "llmsql": {"huggingface_hub": "huggingface_hub"},
    "ray": {"ray": "ray"},
    "mlflow": {"mlflow": "mlflow-skinny", "sqlalchemy": "sqlalchemy", "alembic": "alembic"},
    "postgres": {"psycopg": "psycopg"},
    "clickhouse": {"clickhouse_connect": "clickhouse-connect"},
    "snowflake": {"snowflake": "snowflake-connector-python"},
    "bigquery": {"google.cloud.bigquery": "google-cloud-bigquery"},
    "spark": {
        "pyspark": "pyspark-client",
        "pandas": "pandas",
        "pyarrow": "pyarrow",
    },
    "databricks": {"databricks": "databricks-sql-connector", "pyarrow": "pyarrow"},
    "prove": {"z3": "z3-solver"},
}
"""The modules that each extra is for, and the distributions that have them."""


def _command(extra: str) -> str:
    return install_command(extra=extra)


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a command or a call needs a module for."""

    extra: str
    module: str
    command: tuple[str, ...]


RUN = ("run", "cases.jsonl", "--predictions", "answers.jsonl", "-o", "out", "--db")
NEEDS = (
    Need("postgres", "psycopg", (*RUN, "postgresql://reader@localhost/shop")),
    Need("postgres", "psycopg", ("check", "SELECT 1", "SELECT 1", "--db", "postgres://reader@localhost/shop")),
    Need("postgres", "psycopg", ("lint", "cases.jsonl", "--db", "postgresql://reader@localhost/shop")),
    Need("clickhouse", "clickhouse_connect", (*RUN, "clickhouse://reader@localhost/shop")),
    Need("sqlalchemy", "sqlalchemy", (*RUN, "oracle+oracledb://reader@localhost/shop")),
    Need("snowflake", "snowflake", (*RUN, "snowflake://reader@account/shop")),
    Need("spark", "pyspark", (*RUN, "sc://localhost:15002")),
    Need("spark", "pyspark", (*RUN, "spark://localhost:15002/spark_catalog/shop")),
    Need("databricks", "databricks", (*RUN, "databricks://token:x@localhost/main/shop?http_path=/sql/1")),
    Need("sqlalchemy", "sqlalchemy", (*RUN, "mysql://reader@localhost/shop")),
    Need("sqlalchemy", "pymysql", (*RUN, "mysql://reader@localhost/shop")),
    Need("sqlalchemy", "pymysql", (*RUN, "mariadb+pymysql://reader@localhost/shop")),
    Need("denodo", "sqlalchemy", (*RUN, "denodo+flightsql://reader@localhost:9994/shop")),
    Need("denodo", "sqlalchemy", (*RUN, "denodo+psycopg2://reader@localhost:9996/shop")),
    Need("sdmx", "lxml", ("sdmx", "cases.yaml", "--predictions", "chosen.jsonl", "--structures", "a.xml", "-o", "out")),
    Need("sdmx", "lxml", ("sdmx", "cases.yaml", "--predictions", "chosen.jsonl", "--data", "a.xml", "-o", "out")),
    Need("sdmx", "lxml", ("demo", "--sdmx")),
    Need("llmsql", "huggingface_hub", ("llmsql", "--outputs", "outputs.jsonl", "--workdir-path", "bench")),
    Need("ray", "ray", (*RUN, "sqlite:///shop.sqlite", "--backend", "ray")),
    Need("mlflow", "mlflow", ("runs", ".", "--mlflow", "sqlite:///mlflow.db")),
)
SDMX_CASE = """
id: a
conversation:
- role: user
  content: How many?
  target: {indicator_selection: [{dataset_id: "A:B", dimensions: [{dimension_name: AREA, values: [DE]}]}]}
"""


def _block(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """As if it were not installed: neither it nor a part of it that is loaded already can be imported."""
    for name in [module, *(name for name in sys.modules if name.startswith(f"{module}."))]:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cases.jsonl").write_text('{"id": "1", "question": "?", "gold": "SELECT 1"}\n', encoding="utf-8")
    (tmp_path / "answers.jsonl").write_text('{"id": "1", "prediction": "SELECT 1"}\n', encoding="utf-8")
    (tmp_path / "cases.yaml").write_text(SDMX_CASE, encoding="utf-8")
    (tmp_path / "chosen.jsonl").write_text('{"id": "a", "prediction": "A,B,1.0/DE"}\n', encoding="utf-8")
    outputs = '{"question_id": 1, "completion": "SELECT 1"}\n'
    (tmp_path / "outputs.jsonl").write_text(outputs, encoding="utf-8")
    (tmp_path / "a.xml").write_text("<message/>\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: f"{need.extra}-{need.module}-{need.command[0]}")
def test_a_command_names_the_extra_that_is_missing(
    need: Need, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name for path in folder.iterdir()}
    if need.module == "pymysql":
        pytest.importorskip("sqlalchemy")
    elif need.module == "mlflow":
        import shutil

        shutil.copytree(_a_run(folder), folder / "kept")
        before |= {"kept", "made"}
    _block(monkeypatch, need.module)
    assert run_command_line([*need.command]) == 2
    assert _command(need.extra) in capsys.readouterr().err
    left = {path.name for path in folder.iterdir()} - before
    assert left <= {"mlflow.db", "bench"}, "a run that cannot begin leaves no folder"


def _a_run(folder: Path) -> Path:
    run = assay.evaluate("cases.jsonl", "answers.jsonl", databases="sqlite:///:memory:", workers=1)
    run.save(folder / "made")
    return folder / "made"


@pytest.mark.parametrize(
    ("extra", "module", "call"),
    [
        ("arrow", "pyarrow", lambda run: run.to_arrow()),
        ("pandas", "pandas", lambda run: run.to_pandas()),
        ("polars", "polars", lambda run: run.to_polars()),
    ],
)
def test_a_frame_names_the_extra_that_is_missing(
    extra: str, module: str, call: Callable[[assay.Run], Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = assay.load_run(_a_run(folder))
    _block(monkeypatch, module)
    with pytest.raises(MissingDependency, match=re.escape(_command(extra))) as caught:
        call(run)
    assert caught.value.extra == extra


@pytest.mark.parametrize("engine", [DenodoFlightSqlEngine, DenodoPsycopg2Engine])
def test_denodo_names_its_extra_for_each_package(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url = DatabaseUrl.parse(f"{engine.name}://reader@localhost/shop")
    for package in engine.packages:
        module, _, distribution = package.partition("=")
        monkeypatch.setattr(
            "assay.engines.sqlalchemy.base.find_spec", lambda name, gone=module: None if name == gone else object()
        )
        with pytest.raises(MissingDependency, match=re.escape(_command("denodo"))) as caught:
            engine.open(url, Limits())
        assert caught.value.package == distribution


def test_what_a_service_has_is_told_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.sdmx.data.xml import read_available

    _block(monkeypatch, "lxml")
    with pytest.raises(MissingDependency, match=re.escape(_command("sdmx"))):
        read_available(b"<message/>")


def test_a_proof_that_needs_the_solver_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    _block(monkeypatch, "z3")
    table = TableSchema(name="t", ddl="CREATE TABLE t (a INTEGER)", columns=(ColumnSchema(name="a", type="INTEGER"),))
    found = prove(
        "SELECT a FROM t WHERE a IS NOT NULL GROUP BY a HAVING COUNT(DISTINCT a) > 1",
        "SELECT a FROM t WHERE a IS NOT NULL GROUP BY a HAVING MIN(a) < MAX(a)",
        DatabaseSchema(dialect="sqlite", tables=(table,)),
        dialect="sqlite",
        ordered=False,
        max_rows=2,
    )
    assert isinstance(found, Unproved)
    assert _command("prove") in found.reason


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - COLLECTIONS))
def test_the_command_names_each_package_with_its_bounds(extra: str) -> None:
    """An index is never asked for Assay itself, whose name may belong to another project there."""
    command = install_command(extra=extra)
    assert command.startswith("python -m pip install ")
    assert "assay" not in command
    wanted = [one.partition(";")[0].replace(" ", "") for one in EXTRAS[extra]]
    given = [word.strip("'\"") for word in command.split()[4:]]
    assert sorted(map(_parts, given)) == sorted(map(_parts, wanted))


def _parts(requirement: str) -> tuple[str, list[str]]:
    """The name and the bounds of a requirement, in one spelling: metadata may order and normalise both."""
    name, bounds = re.match(r"([\w.-]+(?:\[\w+\])?)(.*)", requirement).groups()  # type: ignore[union-attr]
    return name.lower().replace("_", "-"), sorted(bounds.split(","))


def test_a_package_of_the_core_has_its_bounds_too(monkeypatch: pytest.MonkeyPatch) -> None:
    core = {text for extra, text in requirements() if extra is None}
    assert any(text.startswith("httpx") and text in str(MissingDependency("httpx", None)) for text in core)
    monkeypatch.setattr("importlib.metadata.requires", lambda _: None)
    assert str(MissingDependency("lxml", "sdmx")).endswith("python -m pip install lxml"), "from a plain folder"


def test_every_extra_is_tried_and_brings_what_it_is_for() -> None:
    assert set(EXTRAS) - COLLECTIONS == set(MODULES)
    for extra, modules in MODULES.items():
        brought = {re.match(r"[\w-]+", one)[0].lower() for one in EXTRAS[extra]}  # type: ignore[index]
        assert set(modules.values()) <= brought, extra


def test_what_a_message_names_is_an_extra_that_brings_the_package() -> None:
    """Every place that raises, by its source: so that a new one is no exception."""
    found = 0
    for path in (ROOT / "src" / "assay").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"assay\[\w+\]|[^m] pip install \W", text), f"{path}: use install_command"
        if not re.search(r"MissingDependency\(|\brequire\(", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func) in ("MissingDependency", "require")):
                continue
            package, extra = node.args[-2:]
            if not (isinstance(package, ast.Constant) and isinstance(extra, ast.Constant)):
                continue
            found += 1
            if extra.value is not None and package.value not in ("httpx", "xlsxwriter"):  # those are always there
                wanted = package.value.partition("[")[0].lower()
                assert any(one.lower().startswith(wanted) for one in EXTRAS[extra.value]), f"{path}:{node.lineno}"
    assert found >= 8


@pytest.mark.parametrize("guide", sorted((ROOT / "docs" / "guides").rglob("*.md")), ids=lambda path: path.stem)
def test_what_a_guide_installs_is_an_extra_by_its_packages_in_any_folder(guide: Path) -> None:
    """Guides run in a folder of their own, in which there is no clone to install ``.[postgres]`` from."""
    commands = {install_command(extra=extra, windows=False) for extra in set(EXTRAS) - COLLECTIONS}
    for line in re.findall(r"python -m pip install [^\n`#]*", guide.read_text(encoding="utf-8")):
        assert line.strip() in commands or re.search(
            r"install ('\.\[compiled\]'|\./examples/plugin|\"\$ASSAY\")$", line.strip()
        ), line
