"""Two runs over the same cases: what became of each, how sure the numbers are, what is said beside them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay import demo, evaluate_selections
from assay.errors import InputError, RunError
from assay.model import (
    Case,
    Comparison,
    DiffSettings,
    Evidence,
    Execution,
    Failure,
    Fingerprint,
    Limits,
    MetricDiff,
    MetricInfo,
    NearMiss,
    Prediction,
    Run,
    RunDiff,
    Score,
    Verdict,
)
from assay.reports.blocks.diff import DiffReport
from assay.reports.console.diff import plain_diff
from assay.runs.compare.diff import diff_runs
from assay.runs.compare.leaderboard import rank
from assay.runs.store.compared_cases import read_records
from assay.runs.store.folder import load_run, save_run
from assay.stats import clusters_needed
from many_cases import each
from running import Named, run_of


def answer(
    name: str,
    value: float | None,
    *,
    metrics: Sequence[str] = ("match",),
    others: Sequence[float | None] = (),
    database: str | None = None,
    difficulty: str | None = None,
    tags: Sequence[str] = (),
    query: str | None = None,
    gold: str = "SELECT gold",
    near: Sequence[str] = (),
    failure: str | None = None,
    rows: int = 1,
    repeat: int = 0,
) -> Evidence:
    query = f"SELECT {name} {value} {near} {failure} {rows}" if query is None else query
    failed = Failure(stage="execute", kind=failure, blame="system", message="no") if failure else None  # type: ignore[arg-type]
    return Evidence(
        case=Case(
            id=name, question=f"{name}?", golds=(gold,), database=database, difficulty=difficulty, tags=tuple(tags)
        ),
        prediction=Prediction(case_id=name, query=query, repeat=repeat),
        verdict=Verdict(
            outcome={None: "unscored", 1: "correct"}.get(value, "incorrect"),  # type: ignore[arg-type]
            reason=f"{name} is {value}",
            failure=failed,
        ),
        scores=tuple(Score(metric=metric, value=one) for metric, one in zip(metrics, (value, *others), strict=True)),
        comparison=Comparison(
            equal=value == 1,
            predicted_row_count=rows,
            near_misses=tuple(NearMiss(kind=kind, detail="") for kind in near),  # type: ignore[arg-type]
        ),
        predicted_execution=Execution(query=query, status="rows", columns=("a",)),
    )


def run(
    *evidence: Evidence,
    inputs: Sequence[tuple[str, str]] = (),
    engine: str = "3.40.1",
    columns: str = "any",
    **settings: Any,
) -> Run:
    metrics = [score.metric for score in evidence[0].scores] if evidence else ["match"]
    versions = {
        "engine_versions": (Fingerprint(name="sqlite", digest=engine),),
        "inputs": tuple(Fingerprint(name=file, digest=digest) for file, digest in inputs),
    }
    named = [Named(metric, binary=False) for metric in metrics]
    return run_of(*evidence, metrics=named, provenance=versions, columns=columns, **settings)


def kinds(diff: RunDiff) -> dict[str, str]:
    return {change.candidate.case_id: change.kind for change in diff.changes}


def headline(diff: RunDiff) -> MetricDiff:
    return next(one for one in diff.metrics if one.metric == diff.headline_metric)


def test_what_became_of_each_case() -> None:
    old = run(answer("a", 0), answer("b", 1), answer("c", 1), answer("d", 0), answer("e", None), answer("f", 1))
    new = run(answer("f", None), answer("a", 1), answer("b", 0), answer("c", 1), answer("d", 0), answer("e", 1))
    diff = diff_runs(old, new)
    assert kinds(diff) == {
        "f": "unscored",
        "a": "fixed",
        "b": "broken",
        "c": "still_right",
        "d": "still_wrong",
        "e": "unscored",
    }
    found = headline(diff)
    assert (found.n, found.unscored, found.gained, found.lost) == (4, 2, 1, 1)
    assert (found.baseline, found.candidate, found.difference) == (0.5, 0.5, 0.0)
    assert (found.test, found.p_value, found.cases_needed) == ("mcnemar_exact", 1.0, None)
    told = "2 cases that both runs have are left unscored by match in at least one of them"
    assert any(note.startswith(told) for note in diff.notes)


def test_a_still_wrong_case_is_wrong_otherwise_where_it_fails_or_misses_in_another_way() -> None:
    sides: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "same way": ({"near": ["extra_rows"], "query": "x"}, {"near": ["extra_rows"], "query": "y"}),
        "nearer": ({}, {"near": ["order_only"]}),
        "failing": ({}, {"failure": "timeout"}),
        "rows": ({"rows": 3}, {"rows": 4}),
        "same query": ({"rows": 3, "query": "SELECT now()"}, {"rows": 4, "query": "SELECT now()"}),
    }
    diff = diff_runs(*(run(*(answer(name, 0, **side[at]) for name, side in sides.items())) for at in (0, 1)))
    assert set(kinds(diff).values()) == {"still_wrong"}
    assert {change.candidate.case_id for change in diff.changes if change.otherwise} == {"nearer", "failing", "rows"}


def test_the_same_query_may_be_wrong_otherwise_on_other_data_and_that_is_told() -> None:
    old_case, new_case = (answer("a", 0, rows=rows, query="q", database="shop") for rows in (3, 4))
    file = "sqlite:///shop.sqlite"
    diff = diff_runs(run(old_case, inputs=[(file, "1")]), run(new_case, inputs=[(file, "2")]))
    assert diff.changes[0].otherwise
    assert any("The data of 1 database (shop) is not the same" in note for note in diff.notes)
    same = diff_runs(run(old_case, inputs=[(file, "1")]), run(new_case, inputs=[(file, "1")]))
    assert not same.changes[0].otherwise
    assert not any("data" in note for note in same.notes)


def test_other_data_is_told_where_databases_were_given_by_name_or_moved() -> None:
    one = answer("a", 1, database="shop")
    mapped = run(one, database="bank: sqlite:///b.db, shop: sqlite:///s.db", inputs=[("sqlite:///s.db", "1")])
    moved = run(one, database="sqlite:///x/{db_id}.db", inputs=[("sqlite:///x/shop.db", "1")])
    other = run(one, database="sqlite:///y/{db_id}.db", inputs=[("sqlite:///y/shop.db", "2")])
    assert not any("data" in note for note in diff_runs(mapped, moved).notes)
    assert any("The data of 1 database (shop)" in note for note in diff_runs(mapped, other).notes)


def test_numbers_are_those_of_scipy() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    numpy = pytest.importorskip("numpy")
    chance = random.Random(3)
    metrics = ("match", "f1")
    sides = [
        run(
            *(
                answer(
                    str(number),
                    float(chance.random() < share),
                    metrics=metrics,
                    others=[chance.random() * share],
                    database=f"d{number % 8}",
                )
                for number in range(200)
            )
        )
        for share in (0.6, 0.8)
    ]
    diff = diff_runs(*sides)
    match, graded = diff.metrics
    wanted = scipy_stats.binomtest(match.gained, match.gained + match.lost).pvalue
    assert match.case_p_value == pytest.approx(wanted, rel=1e-9)
    assert (match.test, graded.test) == ("sign_flip_databases", "sign_flip_databases")
    assert graded.binary is False
    values = [numpy.array([item.scores[1].value for item in side.evidence]) for side in sides]
    drawn = scipy_stats.permutation_test(
        (values[1] - values[0],), numpy.mean, permutation_type="samples", n_resamples=20_000, rng=1
    )
    assert graded.case_p_value == pytest.approx(drawn.pvalue, abs=0.004)
    for column, found in enumerate((match, graded)):
        sums = numpy.zeros(8)
        for old, new, number in zip(*(side.evidence for side in sides), range(200), strict=True):
            sums[number % 8] += (new.scores[column].value or 0.0) - (old.scores[column].value or 0.0)
        whole = scipy_stats.permutation_test((sums,), numpy.sum, permutation_type="samples", n_resamples=numpy.inf)
        assert found.p_value == pytest.approx(whole.pvalue, rel=1e-9)
    assert graded.difference == pytest.approx((values[1] - values[0]).mean())
    assert (match.clusters, graded.clusters) == (8, 8)
    assert match.low < match.difference < match.high
    # Holm: the smaller of the two p-values counts twice.
    low, high = sorted([match, graded], key=lambda one: one.p_value or 0.0)
    assert low.adjusted_p_value == pytest.approx(min(1.0, 2 * (low.p_value or 0.0)))
    assert high.adjusted_p_value == pytest.approx(max(high.p_value or 0.0, low.adjusted_p_value or 0.0))


@each("databases", [1, 3, 8])
@each("cases", [1, 2, 3, 5, 6, 7, 12])
@each("fixed", ["one", "all", "one and one broken"])
def test_what_cannot_be_significant_is_not_said_to_be_shown(databases: int, cases: int, fixed: str) -> None:
    old = [0.0] * cases
    new = [1.0] * cases if fixed == "all" else [1.0, *old[1:]]
    if fixed.endswith("broken"):
        old[-1], new[-1] = 1.0, 0.0
    sides = (
        [answer(str(at), one, database=f"d{at % databases}") for at, one in enumerate(side)] for side in (old, new)
    )
    diff = diff_runs(*(run(*side) for side in sides))
    found, view, least = headline(diff), DiffReport(diff), clusters_needed(0.05)
    units = cases if found.clusters is None else found.clusters
    assert found.detectable is None or units >= least
    assert found.cases_needed is None or found.cases_needed >= least
    said = re.findall(r"(?:some|takes) (\d+) (?:cases|databases)", " ".join((*view.answer.limits, *view.notes)))
    assert len(said) <= 1
    assert all(int(number) >= least for number in said)


def test_groups_are_those_of_the_candidate_and_a_single_one_is_none() -> None:
    def side(*values: float, difficulty: str = "hard") -> Run:
        return run(
            *(
                answer(
                    str(at), value, database="shop", difficulty=("easy", difficulty)[at % 2], tags=["t", "u"][at % 3 :]
                )
                for at, value in enumerate(values)
            )
        )

    diff = diff_runs(side(0, 0, 0, 0, 1, 1), side(1, 1, 1, 1, 1, 0, difficulty="medium"))
    assert [(group.kind, group.name, group.cases) for group in diff.groups] == [
        ("difficulty", "easy", 3),
        ("difficulty", "medium", 3),
        ("tag", "t", 2),
        ("tag", "u", 4),
        ("tag", None, 2),
    ]
    easy, medium = (group.metrics[0] for group in diff.groups[:2])
    assert (easy.gained, easy.lost, easy.p_value, easy.adjusted_p_value) == (2, 0, 0.5, 1.0)
    assert (medium.gained, medium.lost) == (2, 1)


def test_repeated_answers_count_once_a_case_by_their_share() -> None:
    def asked(name: str, *values: float | None) -> list[Evidence]:
        return [answer(name, value, repeat=at, query=f"q{at}") for at, value in enumerate(values)]

    old = run(
        *asked("fixed", 0, 0, None), *asked("better", 0, 0, 1), *asked("worse", 1, 1, 0), *asked("flaky", 1, 0, 1)
    )
    new = run(*asked("fixed", 1, 1, 1), *asked("better", 0, 1, 1), *asked("worse", 0, 1, 0), *asked("flaky", 1, 1, 0))
    diff = diff_runs(old, new)
    assert kinds(diff) == {name: name for name in ("fixed", "better", "worse", "flaky")}
    first = diff.changes[0].baseline
    assert (first.right, first.wrong, first.unscored, first.query) == (0, 2, 1, "q0")
    assert diff.changes[1].candidate.query == "q0"
    assert diff.changes[3].candidate.query == "q2"
    found = headline(diff)
    assert (found.n, found.binary, found.test) == (4, True, "sign_flip")
    assert found.difference == pytest.approx((1 + 1 / 3 - 1 / 3 + 0) / 4)
    assert (diff.baseline.cases, diff.baseline.repeats) == (4, 3)
    assert not any("asked each question" in note for note in diff.notes)
    once = diff_runs(run(answer("fixed", 0)), new)
    assert (
        "The baseline was asked each question once, the candidate 3 times: a case counts by the mean of its answers."
        in (once.notes)
    )


def test_what_makes_runs_less_comparable_is_said() -> None:
    old = run(answer("a", 1), answer("b", 0), answer("gone", 1), answer("g", 1))
    new = run(
        answer("a", 1, metrics=("match", "f1"), others=[0.5]),
        answer("c", 0, metrics=("match", "f1"), others=[0.5], gold="SELECT other"),
        answer("g", 1, metrics=("match", "f1"), others=[0.5], gold="SELECT other"),
        columns="strict",
        limits=Limits(timeout_s=5),
        engine="3.45.0",
    )
    diff = diff_runs(old, new)
    notes = " ".join(diff.notes)
    assert "1 case changed between the runs (gold in 1) and is excluded: g." in notes
    assert "1 case is in the candidate alone, and excluded: c." in notes
    assert "2 cases are in the baseline alone, and excluded: b, gone." in notes
    assert "columns was 'any', now 'strict'; timeout_s was 30.0, now 5" in notes
    assert "The runs were not made with the same versions: sqlite 3.40.1 and 3.45.0." in notes
    assert "Only the candidate has f1" in notes
    assert diff.only_candidate_metrics == ("f1",)
    assert [metric.metric for metric in diff.metrics] == ["match"]


def test_a_run_beside_itself_differs_in_nothing_and_says_so() -> None:
    one = run(answer("a", 1), answer("b", 0), name="mine")
    diff = diff_runs(one, one)
    assert diff.notes == ("The two runs gave the same answers and got the same values: nothing differs between them.",)
    assert (diff.baseline.label, diff.candidate.label) == ("mine", "mine (2)")
    assert headline(diff).p_value == 1.0


def test_the_same_runs_give_the_same_numbers() -> None:
    chance = random.Random(5)
    old, new = (
        run(*(answer(str(at), chance.random(), others=()) for at in range(60)), name=name) for name in ("old", "new")
    )
    assert diff_runs(old, new) == diff_runs(old, new)
    assert diff_runs(old, new, settings=DiffSettings(confidence=0.5)) != diff_runs(old, new)


def test_runs_without_a_common_case_are_refused_with_examples_of_both() -> None:
    with pytest.raises(
        InputError, match="baseline has cases, for example 'a', the candidate cases, for example 'b', 'c'"
    ):
        diff_runs(run(answer("a", 1)), run(answer("b", 1), answer("c", 1)))
    with pytest.raises(InputError, match="case 'a' has the same id and differs in gold"):
        diff_runs(run(answer("a", 1)), run(answer("a", 1, gold="other")))
    with pytest.raises(InputError, match="the baseline has no case at all"):
        diff_runs(run(), run(answer("b", 1)))


def test_the_first_common_metric_decides_where_not_both_have_match() -> None:
    old = run(answer("a", 1, metrics=("match", "ex", "f1"), others=(0, 0.5)))
    diff = diff_runs(old, run(answer("a", 0.5, metrics=("f1", "ex"), others=(1,))))
    assert diff.headline_metric == "f1"
    assert kinds(diff) == {"a": "still_wrong"}
    with pytest.raises(InputError, match="no metric in common"):
        diff_runs(run(answer("a", 1)), run(answer("a", 1, metrics=["f1"])))


def test_a_folder_gives_what_the_run_in_memory_gives(tmp_path: Path) -> None:
    broken = "\ud800"  # text that is no Unicode is stored otherwise, and read all the same
    old = run(answer("a", 0, near=["order_only"], query="x"), answer("b", 1, tags=["t"]), answer("c", None))
    new = run(answer("a", 0, failure="timeout"), answer("b", 0), answer("c", 1, query=broken))
    for name, one in (("old", old), ("new", new)):
        save_run(one, tmp_path / name)
    stored = diff_runs(tmp_path / "old", tmp_path / "new")
    assert (stored.baseline.label, stored.baseline.folder) == ("old", str(tmp_path / "old"))
    loaded = diff_runs(load_run(tmp_path / "old"), load_run(tmp_path / "new"), labels=("old", "new"))
    assert replace(stored, baseline=loaded.baseline, candidate=loaded.candidate) == loaded


def test_a_damaged_or_unfinished_run_is_named_with_its_line(tmp_path: Path) -> None:
    one = run(answer("a", 1), answer("b", 1))
    folder = tmp_path / "run"
    save_run(one, folder)
    journal = folder / "journal.jsonl"
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    journal.write_bytes(lines[0] + re.sub(rb'"id":"b"', rb'"id":3', lines[1]))
    with pytest.raises(RunError, match=r"journal\.jsonl, line 2: damaged"):
        diff_runs(one, folder)
    journal.write_bytes(lines[0])
    with pytest.raises(RunError, match="1 of 2 cases of the run are missing"):
        diff_runs(folder, one)
    journal.write_bytes(whole)
    run_file = folder / "run.json"
    run_file.write_text(run_file.read_text().replace('"finished"', '"running"'))
    with pytest.raises(RunError, match="is not finished"):
        diff_runs(folder, one)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty is not a run folder: run\.json is missing"):
        diff_runs(tmp_path / "empty", one)
    with pytest.raises(InputError, match="nowhere is not a run folder: it does not exist"):
        diff_runs(tmp_path / "nowhere", one)


def test_selections_are_compared_by_exact_match_and_never_with_queries(tmp_path: Path) -> None:
    pytest.importorskip("sdmx")
    structures, cases = demo.sdmx_path("structures.xml"), demo.sdmx_path("cases.yaml")
    told = evaluate_selections(cases, demo.sdmx_path("predictions.jsonl"), structures=structures).record
    silent = evaluate_selections(cases, {told.evidence[0].case.id: None}, structures=structures).record
    save_run(told, tmp_path / "told")
    (records,) = read_records([tmp_path / "told"])
    assert records == replace(read_records([told])[0], folder=str(tmp_path / "told"))
    diff = diff_runs(silent, tmp_path / "told")
    assert diff.headline_metric == "exact_match"
    assert diff.matching.paired == len(told.evidence)
    exact = sum(item.outcome == "correct" for item in told.evidence)
    assert list(kinds(diff).values()).count("fixed") == exact > 0
    otherwise = [change for change in diff.changes if change.otherwise]
    assert otherwise, "to select wrongly is another way of being wrong than to say nothing"
    with pytest.raises(InputError, match="selections of SDMX data"):
        diff_runs(run(answer("a", 1)), told)


def test_one_case_alone_bounds_nothing_where_nothing_bounds_the_metric() -> None:
    def of(*rewards: float) -> Run:
        cases = zip("abc", rewards, ("easy", "hard", "hard"), strict=True)
        return run(*(answer(name, reward, metrics=("bird_rves",), difficulty=level) for name, reward, level in cases))

    found = diff_runs(of(100.0, 50.0, 86.6), of(50.0, 100.0, 86.6))
    easy, hard = (group.metrics[0] for group in found.groups if group.kind == "difficulty")
    assert (easy.n, easy.difference, easy.low, easy.high) == (1, -50.0, None, None)
    assert hard.low is not None
    assert "-50.0" in plain_diff(found)


@each("seed", range(5))
def test_which_way_is_better_mirrors_what_is_gained_and_who_is_first_and_moves_no_number(seed: int) -> None:
    chance = random.Random(seed)
    values = [[chance.choice([0.0, 0.5, 3.0, 7.0]) for _ in range(30)] for _ in range(2)]

    def of(scores: Sequence[float], *, higher: bool) -> Run:
        made = run(*(answer(f"c{n}", value, metrics=("gap",)) for n, value in enumerate(scores)))
        info = MetricInfo(name="gap", highest=9.0, higher_is_better=higher)
        return replace(made, settings=replace(made.settings, metric_infos=(info,)))

    (up,), (down,) = (diff_runs(*(of(scores, higher=higher) for scores in values)).metrics for higher in (True, False))
    assert (up.gained, up.lost, up.improvement) == (down.lost, down.gained, -(down.improvement or 0.0))
    same = {"gained": 0, "lost": 0, "higher_is_better": True}
    assert replace(up, **same) == replace(down, **same)  # type: ignore[arg-type]
    boards = [rank([of(scores, higher=higher) for scores in values], labels=("one", "two")) for higher in (True, False)]
    orders = [[standing.run.label for standing in board.standings] for board in boards]
    assert orders[0] == orders[1][::-1] or up.difference == 0
    assert [standing.rank for standing in boards[0].standings] == [standing.rank for standing in boards[1].standings]
