"""How far gold is open travels from the verdict to the stored run and to every report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assay import Case, evaluate, load_run


def test_a_run_tells_accuracy_over_the_cases_whose_gold_determines_its_answer(
    make_sqlite: Callable[..., Path], tmp_path: Path
) -> None:
    path = make_sqlite("CREATE TABLE t(id, v); INSERT INTO t VALUES (1, 5), (2, 5), (3, 5), (4, 1)")
    golds = {
        "open": "SELECT id FROM t ORDER BY v DESC LIMIT 1",
        "all": "SELECT id FROM t LIMIT 1",
        "inside": "SELECT id FROM t WHERE id = (SELECT id FROM t ORDER BY v DESC LIMIT 1)",
        "sure": "SELECT id FROM t WHERE v = 1",
    }
    predictions = {"open": "SELECT 3", "all": "SELECT 4", "inside": "SELECT 2", "sure": "SELECT 9"}
    run = evaluate(
        [Case(id=name, question="", golds=(gold,)) for name, gold in golds.items()],
        predictions,
        databases=f"sqlite:///{path.as_posix()}",
        metrics=["match"],
        workers=1,
    )
    run.save(tmp_path / "run")
    stored = load_run(tmp_path / "run")
    for one in (run, stored):
        found = {item.case.id: item.verdict.ambiguity for item in one.evidence}
        counts = {name: (a.taken_rows, a.tied_rows, a.choices, a.all_tie) for name, a in found.items() if a is not None}
        assert counts == {"open": (1, 3, 3, False), "all": (1, 4, 4, True), "inside": (1, 3, 3, False)}
        determined = one.aggregates.determined
        rate = determined.rate("match")
        assert (rate.numerator, rate.n) == (0, 1)
        overall = one.aggregates.overall.rate("match")
        assert (overall.numerator, overall.n) == (3, 4)
