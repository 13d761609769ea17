"""Whether a fenced block of a document is what its mark says, for those that no test runs."""

from __future__ import annotations

import configparser
import csv
import io
import json
import logging
import subprocess
import textwrap
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sqlglot
from ruamel.yaml import YAML

from assay import registry
from assay.cases.load import load_cases
from assay.settings import Settings, read_run_file

_RUN_FILE = set(Settings.__struct_fields__)
_OTHER_TOOLS = ({"repos"}, {"apiVersion"}, {"image"})
"""Keys of files that other tools read: hooks, Kubernetes, GitLab's jobs."""


def check_block(language: str, body: str, folder: Path) -> None:
    """Raise what is wrong with a block; the folder is for files that a loader wants to read."""
    _CHECKS[language](body, folder)


def _json(body: str, folder: Path) -> None:
    """One document, or one for each line; lines of questions with their golds are read as Assay reads them."""
    try:
        json.loads(body)
    except ValueError:
        for line in body.splitlines():
            json.loads(line)
    lines = [line for line in body.splitlines() if line.startswith('{"id"') and '"question":' in line]
    if lines:
        (folder / "block.jsonl").write_text("\n".join(lines), encoding="utf-8")
        assert len(load_cases(folder / "block.jsonl", formats=registry.case_formats())) >= len(lines)


def _yaml(body: str, folder: Path) -> None:
    """Settings of a run and question sets are read as Assay reads them, what other tools read as YAML."""
    content: Any = YAML(typ="safe", pure=True).load(body)
    file = folder / "block.yaml"
    if isinstance(content, dict) and "conversation" in content:
        file.write_text(body, encoding="utf-8")
        assert load_cases(file, formats=registry.case_formats(), format="sdmx")
    elif isinstance(content, dict) and not any(keys <= content.keys() for keys in _OTHER_TOOLS) and _settings(content):
        whole = body if "cases" in content else f"cases: cases.jsonl\n{body}"
        file.write_text(whole, encoding="utf-8")
        read_run_file(file)
    else:
        assert isinstance(content, dict | list)


def _settings(content: Mapping[str, Any]) -> bool:
    return any(name in _RUN_FILE for name in content)


def _sql(body: str, _: Path) -> None:
    logging.getLogger("sqlglot").addFilter(_silent)
    try:
        faults = []
        for dialect in ("postgres", "sqlite", "mysql"):
            try:
                sqlglot.parse(body, read=dialect)
            except sqlglot.errors.SqlglotError as error:
                faults.append(error)
            else:
                return
        raise faults[0]
    finally:
        logging.getLogger("sqlglot").removeFilter(_silent)


def _silent(_: logging.LogRecord) -> bool:
    return False


def _csv(body: str, _: Path) -> None:
    rows = list(csv.reader(io.StringIO(body), strict=True))
    assert len(rows) > 1
    assert {len(row) for row in rows} == {len(rows[0])}


def _shell(body: str, _: Path) -> None:
    done = subprocess.run(["bash", "-n"], input=body, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


def _python(body: str, _: Path) -> None:
    compile(textwrap.dedent(body), "<block>", "exec")  # A method is shown with its indentation.


def _ini(body: str, _: Path) -> None:
    configparser.ConfigParser().read_string(body)


def _toml(body: str, _: Path) -> None:
    tomllib.loads(body)


def _shown(body: str, _: Path) -> None:
    assert body.strip()


_CHECKS: Mapping[str, Callable[[str, Path], None]] = {
    "json": _json,
    "yaml": _yaml,
    "toml": _toml,
    "ini": _ini,
    "csv": _csv,
    "sql": _sql,
    "sh": _shell,
    "py": _python,
    "text": _shown,  # what something prints
    "dockerfile": _shown,
    "groovy": _shown,
}
RUN = ("python", "console")
"""The languages whose blocks run."""
