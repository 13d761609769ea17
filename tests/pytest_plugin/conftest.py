"""Small projects of users, with the plugin installed as a package installs it: by an entry point."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
import ruamel.yaml

import assay.cases.benchmarks.bird
import assay.cases.benchmarks.defog
import assay.cases.benchmarks.spider
import assay.cases.sdmx.format
import assay.cases.text.yaml
import assay.engines.sqlalchemy.engine
import assay.engines.sqlite
import assay.pytest_plugin.building

# Modules that an inner session imports first are taken out again with it, and would load for each test; DuckDB cannot
# be loaded twice in a process.
KEPT = (ruamel.yaml, duckdb, assay)

TABLE = """
CREATE TABLE city (name TEXT, country TEXT, people INTEGER);
INSERT INTO city VALUES ('Oslo', 'Norway', 700), ('Bergen', 'Norway', 290), ('Turku', 'Finland', 200);
INSERT INTO city VALUES ('', 'Nowhere', NULL), ('NULL', 'Nowhere', 0);
"""
CASES = """
cases:
  - {id: count, question: How many are there?, sql: SELECT count(*) FROM city, tags: [counting], difficulty: easy}
  - {id: names, question: Which cities are Norwegian?, tags: [text],
     sql: "SELECT name FROM city WHERE country = 'Norway'"}
  - {id: broken, question: What is its mayor?, sql: SELECT mayor FROM city}
  - {id: open, question: What is it like?, sql: null}
db: sqlite:///city.sqlite
"""
PREDICTIONS = {"count": "SELECT count(*) FROM city", "names": "SELECT name FROM city WHERE people > 500"}


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a database, and the plugin at hand."""
    # An entry point of its own, for a checkout whose installed metadata is older than the plugin.
    metadata = pytester.mkdir("site") / "assay_plugin-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-plugin\nVersion: 0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[pytest11]\nassay = assay.pytest_plugin\n", encoding="utf-8")
    pytester.syspathinsert(pytester.path / "site")
    with closing(sqlite3.connect(pytester.path / "city.sqlite")) as connection:
        connection.executescript(TABLE)
    # The plugin of hypothesis would load hypothesis anew for each inner session; an order at random has no say here.
    options = "--strict-markers --strict-config -p no:cacheprovider -p no:hypothesispytest -p no:randomly"
    pytester.makeini(f"[pytest]\naddopts = {options}\nfilterwarnings = error\n")
    return pytester


@pytest.fixture
def write(project: pytest.Pytester) -> Callable[..., Path]:
    """Write a file of the project: text as it is, anything else as JSON Lines."""

    def write_one(name: str, content: object) -> Path:
        path = project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, dict):
            content = [{"id": case_id, "query": query} for case_id, query in content.items()]
        text = content if isinstance(content, str) else "".join(json.dumps(one) + "\n" for one in content)
        path.write_text(text, encoding="utf-8")
        return path

    return write_one


@pytest.fixture
def answered(project: pytest.Pytester, write: Callable[..., Path]) -> pytest.Pytester:
    """The project with four cases: one answered rightly, one wrongly, one with a broken gold, one without any."""
    write("city.assay.yaml", CASES + "predictions: answers.jsonl\n")
    write("answers.jsonl", PREDICTIONS)
    return project
