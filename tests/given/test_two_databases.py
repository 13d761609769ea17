"""Gold with a time limit of its own, and on a database of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import duckdb
import pytest
from msgspec.structs import replace

import assay
from assay.errors import DatabaseError, UsageError
from assay.model import Case, DatabaseUrl, Execution, Limits, Prediction
from assay.platform import spool as kept
from assay.reports.blocks.run_notes import slow_golds
from assay.runs.plan import Locate, Works, plan_work

SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT MAX(i) FROM n"
ENDLESS = SLOW.format(10**12)


@pytest.fixture
def databases(tmp_path: Path, make_sqlite: Callable[..., Path]) -> tuple[str, str]:
    """The same rows in SQLite, which has neither dates nor truth values, and in DuckDB."""
    rows = "(1, 'a', '2024-01-31', {}, 2.5), (2, 'b', '2024-02-01', {}, 2.5), (3, 'c', NULL, NULL, 1)"
    columns = "id INTEGER, name TEXT, day TEXT, open INTEGER, price REAL"
    make_sqlite(f"CREATE TABLE t ({columns}); INSERT INTO t VALUES {rows.format(1, 0)}", "shop.sqlite")
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as duck:
        duck.execute("CREATE TABLE t (id INTEGER, name VARCHAR, day DATE, open BOOLEAN, price DECIMAL(8, 2))")
        duck.execute(f"INSERT INTO t VALUES {rows.format('true', 'false')}")
    return f"sqlite:///{tmp_path}/{{db_id}}.sqlite", f"duckdb:///{tmp_path}/{{db_id}}.duckdb"


def test_each_side_runs_on_its_own_database_and_in_its_own_dialect(databases: tuple[str, str], tmp_path: Path) -> None:
    lite, duck = databases
    golds = {
        "all": "SELECT * FROM t",
        "dialect": "SELECT strftime(day, '%Y') AS y FROM t WHERE day IS NOT NULL ORDER BY id",
        "order": "SELECT id FROM t ORDER BY id",
        "ties": "SELECT name FROM t ORDER BY price DESC LIMIT 1",
        "wrong": "SELECT id FROM t",
    }
    answers = {
        "all": "SELECT * FROM t",
        "dialect": "SELECT strftime('%Y', day) FROM t WHERE day IS NOT NULL ORDER BY id",
        "order": "SELECT id FROM t ORDER BY id DESC",
        "ties": "SELECT name FROM t ORDER BY price DESC, id DESC LIMIT 1",
        "wrong": "SELECT id + 1 FROM t",
    }
    expected = {"all": "correct", "dialect": "correct", "order": "incorrect", "ties": "correct", "wrong": "incorrect"}
    cases = [Case(id=name, question="?", database="shop", golds=(gold,)) for name, gold in golds.items()]
    run = assay.evaluate(
        cases, answers, databases=lite, gold_databases=duck, metrics=["match", "ves"], output=tmp_path / "run"
    )
    assert {one.case.id: one.outcome for one in run.evidence} == expected
    assert {one.score("ves").value for one in run.evidence} == {None}  # type: ignore[union-attr]
    assert run.record.settings.gold_database == duck
    assert len({print_.digest for print_ in run.record.provenance.inputs}) == 2
    # Of a gold without ties, whose answer has some, the engine may choose another row.
    again = [replace(case, golds=(answers[case.id],)) for case in cases if case.id != "ties"]
    expected.pop("ties")
    golds.pop("ties")
    turned = assay.evaluate(again, golds, databases=duck, gold_databases=lite, metrics=["match"])
    assert {one.case.id: one.outcome for one in turned.evidence} == expected


def test_types_that_one_engine_lacks_are_told_by_its_texts(databases: tuple[str, str]) -> None:
    """Lists, objects, UUIDs, times and durations of DuckDB beside SQLite's texts, in both directions."""
    lite, duck = databases
    values = {
        "list": ("SELECT [1, 2]", "SELECT '[1,2]'", "SELECT '[2,1]'"),
        "object": ("SELECT {'a': 'x', 'b': NULL}", 'SELECT \'{"b": null, "a": "x"}\'', 'SELECT \'{"a": "x"}\''),
        "uuid": (f"SELECT UUID '{UUID(int=7)}'", f"SELECT '{UUID(int=7)}'", f"SELECT '{UUID(int=8)}'"),
        "time": ("SELECT TIME '03:00:00'", "SELECT '03:00:00'", "SELECT '03:00:01'"),
        "duration": ("SELECT INTERVAL 27 HOUR", "SELECT '27:00:00'", "SELECT '03:00:00'"),
    }
    golds, answers = {}, {}
    for name, (gold, right, wrong) in values.items():
        golds |= {f"{name}, correct": gold, f"{name}, incorrect": gold}
        answers |= {f"{name}, correct": right, f"{name}, incorrect": wrong}
    for asked, said, ours, theirs in ((golds, answers, duck, lite), (answers, golds, lite, duck)):
        cases = [Case(id=name, question="?", database="shop", golds=(query,)) for name, query in asked.items()]
        run = assay.evaluate(cases, said, databases=theirs, gold_databases=ours, metrics=["match"], workers=1)
        assert {one.case.id for one in run.evidence if not one.case.id.endswith(f", {one.outcome}")} == set()


def test_golds_database_is_checked_and_what_needs_one_database_is_refused(databases: tuple[str, str]) -> None:
    lite, duck = databases
    cases = [Case(id="a", question="?", database="shop", golds=("SELECT 1",))]
    with pytest.raises(DatabaseError, match="shoq"):
        assay.evaluate(cases, {"a": "SELECT 1"}, databases=lite, gold_databases=duck.replace("{db_id}", "shoq"))
    with pytest.raises(UsageError, match="gold_databases"):
        assay.evaluate(cases, {"a": "SELECT 1"}, databases=lite, gold_databases=duck, witness=True)
    with pytest.raises(UsageError, match="gold_databases"):
        assay.evaluate(cases, {"a": "SELECT 1"}, databases=lite, gold_databases=duck, backend="ray")


def test_gold_has_its_own_time_and_an_answer_in_its_words_needs_none(databases: tuple[str, str]) -> None:
    lite, _ = databases
    limits = Limits(timeout_s=0.05, gold_timeout_s=60.0)
    slow = SLOW.format(1_500_000)
    cases = [
        Case(id="same words", question="?", database="shop", golds=(slow,)),
        Case(id="quick", question="?", database="shop", golds=(slow,)),
        Case(id="endless answer", question="?", database="shop", golds=("SELECT 1",)),
    ]
    answers = {"same words": slow, "quick": "SELECT 1500000", "endless answer": ENDLESS}
    run = assay.evaluate(cases, answers, databases=lite, limits=limits, metrics=["match"])
    assert [one.outcome for one in run.evidence] == ["correct", "correct", "incorrect"]
    assert run.evidence[2].verdict.failure.kind == "timeout"  # type: ignore[union-attr]
    short = assay.evaluate(
        [Case(id="endless gold", question="?", database="shop", golds=(ENDLESS,))],
        {"endless gold": "SELECT 1"},
        databases=lite,
        limits=Limits(gold_timeout_s=0.05),
        metrics=["match"],
    )
    assert short.evidence[0].outcome == "unscored"
    assert short.evidence[0].verdict.failure.blame == "gold"  # type: ignore[union-attr]


def test_golds_near_their_limit_are_noted() -> None:
    from assay.model import CaseSummary, Evidence, Prediction, Verdict
    from assay.model.verdicts.summary import summarized

    def item(name: str, execution: Execution) -> CaseSummary:
        return summarized(
            Evidence(
                case=Case(id=name, question="?"),
                prediction=Prediction(case_id=name),
                verdict=Verdict(outcome="correct", reason=""),
                gold_executions=(execution,),
            )
        )

    slow = [
        item("quick", Execution(query="", status="rows", wall_time_s=19.0)),
        item("near", Execution(query="", status="rows", wall_time_s=39.0)),
        item("kept", Execution(query="", status="rows", earlier_time_s=21.0)),
        item("out", Execution(query="", status="timeout", wall_time_s=40.0)),
    ]
    out, near = slow_golds(slow, Limits(timeout_s=1.0, gold_timeout_s=40.0))
    assert "the gold query timed out after 40.0 s (out): --gold-timeout" in out
    assert "2 cases the gold query took half of its 40.0 s or more, at most 39.0 s (near, kept)" in near
    assert list(slow_golds([], Limits())) == []


def test_work_in_bytes_keeps_golds_database_and_its_digest_tells_both(monkeypatch: pytest.MonkeyPatch) -> None:
    def locate(scheme: str) -> Locate:
        return lambda name: DatabaseUrl.parse(f"{scheme}:///{name}.db")

    cases = [Case(id=str(n), question="?", database="ab"[n % 2], golds=("SELECT 1",)) for n in range(4)]
    answers = [Prediction(case_id=case.id, query="SELECT 1") for case in cases]
    works = plan_work(cases, answers, locate("sqlite"), locate("duckdb"))
    bases = {"sqlite:///a.db": "1", "duckdb:///a.db": "2"}
    monkeypatch.setattr(kept, "LARGE", 0)
    packed = Works(works, bases)
    assert list(packed) == works
    assert [work.gold_url.text for work in packed if work.gold_url is not None] == [
        f"duckdb:///{'ab'[n % 2]}.db" for n in range(4)
    ]
    changed = Works(works, {**bases, "duckdb:///a.db": "3"})
    assert [packed.digest(n) == changed.digest(n) for n in range(4)] == [False, True, False, True]
    assert packed.digest(1) != Works(plan_work(cases, answers, locate("sqlite")), bases).digest(1)
