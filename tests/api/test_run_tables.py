"""A run as a table of other libraries, and as a notebook shows it."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import assay
from assay.runs.store.results_table import REPEAT_COLUMN, RESULT_COLUMNS
from running import sqlite_url

HOSTILE = "<script>alert(1)</script>\u202e\x1b[2J"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> assay.Run:
    """Three answers: right, wrong and failing, with tags, times and costs, some of which are absent."""
    folder = tmp_path_factory.mktemp("tables")
    databases = sqlite_url(folder / "t.sqlite", "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)")
    cases = [
        assay.Case(id=name, question=HOSTILE, golds=("SELECT a FROM t",), tags=("one", HOSTILE))
        for name in ("right", "wrong", "failing")
    ]
    answers = [
        assay.Prediction(case_id="right", query="SELECT a FROM t", cost_usd=0.5, timings_s=(("latency", 1.5),)),
        assay.Prediction(case_id="wrong", query="SELECT a FROM t WHERE a = 1"),
        assay.Prediction(case_id="failing", query=f"SELECT '{HOSTILE}' FROM nowhere"),
    ]
    return assay.evaluate(cases, answers, databases=databases, metrics=["match"], workers=1)


def test_the_three_tables_hold_the_same(run: assay.Run) -> None:
    arrow, polars = run.to_arrow().to_pylist(), run.to_polars().to_dicts()
    assert arrow == polars
    frame = run.to_pandas()
    assert list(frame.columns) == list(arrow[0])
    assert frame["case_id"].tolist() == ["right", "wrong", "failing"]
    assert frame["match"].tolist() == [1.0, 0.0, 0.0]
    assert [row["predicted_rows"] for row in arrow] == [2, 1, None]
    assert [(row["cost_usd"], row["answer_s"]) for row in arrow] == [(0.5, 1.5), (None, None), (None, None)]
    assert arrow[1]["near_misses"] == ["missing_rows"]


def test_a_column_of_pandas_has_one_type_whatever_is_in_it(run: assay.Run, tmp_path: Path) -> None:
    """So that the tables of several runs go together: with NULL, with nothing else, and without."""
    pandas = pytest.importorskip("pandas")
    case = assay.Case(id="1", question="?", golds=("SELECT 1",), conversation="c", turn=1, difficulty="easy")
    answer = assay.Prediction(case_id="1", query="SELECT 1")
    databases = sqlite_url(tmp_path / "t.sqlite", "CREATE TABLE t (a)")
    other = assay.evaluate([case], [answer], databases=databases, metrics=["match"], workers=1)
    frames = [run.to_pandas(), other.to_pandas()]
    assert dict(frames[0].dtypes) == dict(frames[1].dtypes)
    text, whole = pandas.Series(["text"]).dtype, pandas.Int64Dtype()
    assert {name: frames[0].dtypes[name] for name in ("conversation", "strength", "turn", "gold_rows", "match")} == {
        "conversation": text,
        "strength": text,
        "turn": pandas.Int32Dtype(),
        "gold_rows": whole,
        "match": float,
    }
    assert frames[0]["conversation"].isna().all()


@pytest.mark.parametrize("name", ["arrow", "pandas", "polars"])
def test_a_missing_library_is_told_with_the_command_that_installs_it(
    run: assay.Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = {"arrow": "pyarrow"}.get(name, name)
    for module in (package, f"{package}.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(assay.MissingDependency, match=rf"pip install '{package}>="):
        getattr(run, f"to_{name}")()


def test_a_misspelt_metric_names_the_nearest(run: assay.Run) -> None:
    """A metric that the run did not ask for has no rate; what is no metric is a mistake."""
    assert run.rate("bird_ex") is None
    with pytest.raises(assay.UsageError, match="did you mean 'match'"):
        run.rate("mtch")


def test_the_documents_name_every_column_with_its_type() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "run-folder.md"
    text = page.read_text("utf-8").partition("## results.parquet")[2]
    rows = re.findall(r"^\| (`[^|]+`) \| ([A-Z\[\]]+) \|", text, re.M)
    told = {name: kind for names, kind in rows for name in re.findall(r"`(\w+)`", names)}
    assert told == {**RESULT_COLUMNS, REPEAT_COLUMN: "INTEGER"}


class _Tags(HTMLParser):
    """The tags of some HTML, and whether each is closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_notebook_shows_values_without_script_or_hidden_characters(run: assay.Run, tmp_path: Path) -> None:
    """Of every value that a function returns: whole HTML, escaped, with the same few tags."""
    run.save(tmp_path / HOSTILE.replace("/", ""))
    shown = [
        assay.load_run(tmp_path / HOSTILE.replace("/", "")),
        assay.diff(run, assay.load_run(tmp_path / HOSTILE.replace("/", ""))),
        *(item.verdict for item in run.evidence),
        assay.compare([(HOSTILE, None)], [("x", b"\x00")]),
        assay.Verdict(outcome="incorrect", reason=HOSTILE, flags=frozenset({"timeout"})),
        assay.leaderboard([run, assay.load_run(tmp_path / HOSTILE.replace("/", ""))]),
        assay.lint([{"id": HOSTILE, "question": HOSTILE, "gold_sql": "SELECT a FROM t LIMIT 1"}]),
        assay.refute("SELECT a FROM t", f"SELECT a FROM t WHERE a <> '{HOSTILE}'", schema="CREATE TABLE t(a TEXT)"),
        assay.refute("SELECT a FROM t", "SELECT a FROM t WHERE true", schema="CREATE TABLE t(a TEXT)"),
    ]
    for value in shown:
        made = value._repr_html_()
        reader = _Tags()
        reader.feed(made)
        reader.close()
        assert not reader.open
        assert reader.seen <= {"div", "b", "i", "table", "thead", "tbody", "tr", "th", "td"}
        assert all(one.isprintable() or one == "\n" for one in made)
    assert "correct" in shown[2]._repr_html_()
