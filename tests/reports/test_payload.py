"""The data of a page is what `assay.reports.html.payload` says, and the stored schema says the same.

    python tests/reports/test_payload.py

writes the schema anew: whoever changes what the scripts read sees the change beside the code.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import selections
from handmade import RUNS
from pages import Page, unpacked

from assay.model import Run
from assay.reports.cases.case import CaseContent
from assay.reports.html.diff import diff_page
from assay.reports.html.payload import Held, Index, PairDetail
from assay.reports.html.run import HtmlReporter
from assay.runs.compare.diff import diff_runs

SCHEMA = Path(__file__).with_name("payload.schema.json")
PARTS = {"held": Held, "index": Index, "detail": CaseContent, "pair": PairDetail}


def schema() -> dict[str, Any]:
    """Of each part of a page's data, by name."""
    roots, definitions = msgspec.json.schema_components(PARTS.values(), ref_template="#/$defs/{name}")
    return {"$defs": definitions, "parts": dict(zip(PARTS, roots, strict=True))}


def written() -> str:
    """A definition a line, so that a change shows where it is."""
    made = schema()
    lines = (
        f"{json.dumps(name)}: {json.dumps(found, sort_keys=True)}" for name, found in sorted(made["$defs"].items())
    )
    defs = ",\n".join(lines)
    return f'{{"parts": {json.dumps(made["parts"])},\n"$defs": {{\n{defs}\n}}}}\n'


def checked(content: bytes, detail: type[CaseContent | PairDetail]) -> int:
    """Fail where the data of a page is not as declared; give how many cases it has."""
    page = Page(content)
    held = msgspec.convert(page.packed, Held)
    index = msgspec.convert(unpacked(held.index), Index)
    details = [msgspec.convert(one, detail) for chunk in held.chunks for one in unpacked(chunk)]
    columns = (index.state, index.id, index.link, index.question, index.reason, index.time)
    values = (*(facet.of for facet in index.facets), *(metric.value for metric in index.metrics))
    assert {len(column) for column in (*columns, *values)} == {len(details)}
    assert len(set(index.link)) == len(details)
    for facet in index.facets:
        assert all(0 <= place < len(facet.values) for found in facet.of for place in found)
    return len(details)


def test_the_stored_schema_is_that_of_the_code() -> None:
    stored = SCHEMA.read_text(encoding="utf-8")
    assert json.loads(stored) == json.loads(msgspec.json.encode(schema()))
    assert stored == written(), f"run python {Path(__file__).name} and read the difference"


@pytest.mark.parametrize("name", [*RUNS, "selections"])
def test_the_data_of_a_page_is_as_declared(name: str, request: pytest.FixtureRequest, hostile_text: str) -> None:
    selected = [selections.small_selection_run(), selections.hostile_selection_run(hostile_text)]
    for run in selected if name == "selections" else [request.getfixturevalue(name)]:
        assert checked(HtmlReporter().render(run), CaseContent) == len(run.evidence)


@pytest.mark.parametrize("name", ["small_run", "hostile_run", "large_run"])
def test_the_data_of_a_page_of_two_runs_is_as_declared(name: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(name)
    record = diff_runs(run, run)
    assert checked(diff_page(record, run, run), PairDetail) == record.matching.paired


if __name__ == "__main__":
    SCHEMA.write_text(written(), encoding="utf-8")
