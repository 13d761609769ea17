"""How sure each match is: looked for once, kept, taken up again, and told in every report; no verdict changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec.structs import replace

import assay
from assay import Run, evaluate, load_run
from assay.cli.options.evidence import WitnessFlags
from assay.errors import InputError, UsageError
from assay.model import Case, CaseOptions, DatabaseUrl, Evidence, Leniency, Prediction, Result, Verdict
from assay.model.verdicts.summary import summarized
from assay.model.witness import AFTER_WITNESSES, Refutation, Witness, WitnessSettings
from assay.platform import spool
from assay.ports import Task, TaskDone, TaskLost
from assay.reports.text.explanation import explanation_of
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.execution.strengths import SAME_TEXT, Search, awaits_search, strength_of
from assay.runs.plan import Work
from assay.runs.progress import Progress
from assay.runs.workers.match_worker import MatchWorker
from assay.runs.workers.worker_tasks import MatchTask
from assay.settings import read_run_file
from running import sqlite_url

SCRIPT = """
CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, age INTEGER, photo BLOB);
INSERT INTO pet VALUES (1, 'Rex', 'dog', 3, x'00ff'), (2, 'Tom', 'cat', 2, x'01'), (3, 'Ada', 'dog', 5, NULL),
                       (4, 'Bo', 'dog', 1, NULL), (5, 'Kim', 'cat', 4, x'02'), (6, 'Lou', 'hen', 5, x'03');
"""
ALL = "SELECT id FROM pet"
PAIRS = {
    "alike": (ALL, "select ID from pet;", "same_text"),
    "proved": (ALL, "SELECT DISTINCT p.id FROM pet p", "proved"),
    "refuted": (
        "SELECT name FROM pet ORDER BY age LIMIT 1",
        "SELECT name FROM pet WHERE age = (SELECT min(age) FROM pet)",
        "refuted",
    ),
    "conditional": ("SELECT count(*) FROM pet", "SELECT count(age) FROM pet", "conditional"),
    "chance": (
        "SELECT count(*) FROM pet WHERE random() IS NOT NULL",
        "SELECT count(*) FROM pet WHERE random() NOTNULL",
        "unknown",
    ),
    "wrong": (ALL, "SELECT id FROM pet WHERE id > 1", "settled"),
}
CASES = [Case(id=name, question=f"the {name} one?", golds=(gold,)) for name, (gold, _, _) in PAIRS.items()]
ANSWERS = {name: answer for name, (_, answer, _) in PAIRS.items()}
ASKED = WitnessSettings(seconds=0.5)

Judge = Callable[..., Run]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sqlite_url(tmp_path_factory.mktemp("pets") / "pets.sqlite", SCRIPT)


def evaluated(database: str, **more: Any) -> Run:
    return evaluate(CASES, ANSWERS, databases=database, metrics=["match"], workers=1, **more)


@pytest.fixture(scope="module")
def judge(database: str) -> Judge:
    return lambda output=None, **more: evaluated(database, output=output, witness=ASKED, **more)


@pytest.fixture(scope="module")
def folder(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("run") / "run"
    judge(made)
    return made


def strengths(run: Run) -> dict[str, str]:
    return {item.case.id: item.verdict.strength for item in run.evidence}


def test_each_match_has_the_strength_that_other_databases_give_it(folder: Path) -> None:
    run = load_run(folder)
    assert strengths(run) == {name: strength for name, (_, _, strength) in PAIRS.items()}
    assert [item.outcome for item in run.evidence] == ["correct"] * 5 + ["incorrect"]
    totals = run.record.aggregates.witnesses
    assert (totals.matches, totals.searched) == (5, 5)
    assert [one.numerator for one in (totals.claimed, totals.after, totals.at_worst)] == [5, 4, 3]
    assert {one.name: one.case_ids for one in totals.strengths}["refuted"] == ("refuted",)
    after = run.record.aggregates.overall.rate(AFTER_WITNESSES)
    assert (after.numerator, after.n, run.record.settings.metrics) == (4, 6, ("match", AFTER_WITNESSES))


def test_what_is_stored_is_what_was_found(folder: Path) -> None:
    found = {item.case.id: item.refutation for item in load_run(folder).evidence}
    assert found["wrong"] is None
    witness = found["refuted"].witness if found["refuted"] else None
    assert len(witness.first.rows) != len(witness.second.rows)
    assert all(isinstance(row, tuple) for table in witness.tables for row in table.rows)
    conditional = found["conditional"]
    assert conditional.broken
    table = duckdb.sql(f"SELECT case_id, strength FROM '{folder / 'results.parquet'}'").fetchall()
    assert dict(table) == {**{name: one[2] for name, one in PAIRS.items()}, "wrong": None}


def test_cells_that_json_does_not_have_come_back_from_a_witness() -> None:
    from assay.runs.store.codec import decode_evidence, encode_evidence

    rows = ((b"\0\xff", 2**70, float("inf"), "\ud800"),)
    witness = Witness(tables=(), statements=(), first=Result.of(rows), second=Result.of(()))
    evidence = Evidence(
        case=CASES[0],
        prediction=Prediction(case_id="alike"),
        verdict=Verdict(outcome="correct", reason="", strength="refuted"),
        refutation=Refutation(kind="refuted", reason="they differ", witness=witness),
    )
    assert decode_evidence(encode_evidence(evidence)) == evidence


def test_a_run_keeps_its_strengths_and_looks_for_none_twice(judge: Judge, folder: Path, database: str) -> None:
    seen: list[Progress] = []
    journal = (folder / "journal.jsonl").read_bytes()
    again = judge(folder, on_progress=seen.append)
    without = evaluated(database, output=folder)
    assert {state.stage for state in seen} == {"scoring"}
    assert strengths(again) == strengths(without) == strengths(load_run(folder))
    assert without.record.aggregates == again.record.aggregates
    assert (folder / "journal.jsonl").read_bytes() == journal


@pytest.mark.parametrize("large", [5_000, 2])
def test_a_run_without_strengths_gets_them_later_and_what_a_budget_left_out_after_that(
    large: int, judge: Judge, folder: Path, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Works in a file (`large` 2) give the same outcome."""
    monkeypatch.setattr(spool, "LARGE", large)
    plain = evaluated(database, output=tmp_path / "run")
    assert plain.record.aggregates.witnesses is None
    seen: list[Progress] = []
    begun = evaluated(database, output=tmp_path / "run", witness=replace(ASKED, total_s=0.0))
    assert strengths(begun)["alike"] == "same_text"
    assert strengths(begun)["proved"] == strengths(begun)["refuted"] == "matched_on_one_database"
    totals = begun.record.aggregates.witnesses
    assert (totals.matches, totals.searched, totals.after.numerator) == (5, 1, 5)
    whole = judge(tmp_path / "run", on_progress=seen.append)
    judging = [state for state in seen if state.stage == "scoring"]
    assert {state.resumed for state in judging} == {len(CASES)}
    assert [state.finished for state in seen if state.stage == "witnesses"] == [0, 1, 2, 3, 4]
    assert strengths(whole) == strengths(load_run(folder))
    assert [item.scores for item in whole.evidence] == [item.scores for item in load_run(folder).evidence]


# What comes to a single pair


@dataclass
class Workers:
    """Answers tasks by rule, and moves a clock by a second for each."""

    outcome: Callable[[MatchTask], Refutation | None]
    now: float = 0.0
    asked: list[int] = field(default_factory=list)

    def run(self, batches: Iterable[Sequence[Task] | None], *, shared: bool = False) -> Iterator[TaskDone | TaskLost]:
        assert shared
        for batch in batches:
            for task in batch or ():
                assert isinstance(task.payload, MatchTask)
                self.asked.append(task.id)
                self.now += 1.0
                found = self.outcome(task.payload)
                if found is None:
                    yield TaskLost(task.id, "out_of_memory", "its worker held too much")
                else:
                    yield TaskDone(task.id, found)


def searched(
    workers: Workers, works: Sequence[Work], wanted: WitnessSettings, *, ended: Callable[[], bool] = lambda: False
) -> dict[int, Evidence]:
    def evidence(place: int) -> Evidence:
        work = works[place]
        verdict = Verdict(outcome="correct", reason="equal", strength="matched_on_one_database", gold_index=0)
        return Evidence(case=work.case, prediction=work.prediction, verdict=verdict)

    search = Search(
        works=works,
        wanted=wanted,
        pool=workers,  # type: ignore[arg-type]
        evidence_of=evidence,
        tell=lambda _: None,
        ended=ended,
        clock=lambda: workers.now,
    )
    return dict(search.strengthened(range(len(works))))


def work(place: int, gold: str = ALL, answer: str | None = None, **options: Any) -> Work:
    case = Case(id=f"c{place}", question="?", golds=(gold,), options=CaseOptions(**options))
    query = answer or f"SELECT id + 0 FROM pet WHERE {place} = {place}"
    prediction = Prediction(case_id=case.id, query=query)
    return Work(index=place, case=case, prediction=prediction, url=DatabaseUrl(text="sqlite:///x.sqlite"))


def nothing(_: MatchTask) -> Refutation:
    return Refutation(kind="unknown", why="no_difference", reason="no difference", trials=7)


def test_a_worker_that_is_lost_costs_its_pair_alone() -> None:
    workers = Workers(lambda task: None if "1 = 1" in task.predicted else nothing(task))
    found = searched(workers, [work(place) for place in range(3)], WitnessSettings())
    assert [found[place].verdict.strength for place in range(3)] == ["survived", "unknown", "survived"]
    lost = found[1].refutation
    assert (lost.why, "held too much" in lost.reason) == ("lost", True)


def test_a_pair_of_several_answers_is_looked_at_once_and_one_text_never() -> None:
    workers = Workers(nothing)
    works = [work(0), replace(work(0), index=1), work(2, answer=f" {ALL} ;"), replace(work(0, ordered=True), index=3)]
    found = searched(workers, works, WitnessSettings())
    assert workers.asked == [0, 3]
    assert [found[place].verdict.strength for place in range(4)] == ["survived", "survived", "same_text", "survived"]


def test_an_answer_of_several_queries_is_not_tried() -> None:
    """Any of them may be the one that was right."""
    workers = Workers(nothing)
    found = searched(workers, [work(0, table="t")], WitnessSettings())[0]
    assert (workers.asked, found.verdict.strength) == ([], "unknown")


def test_no_pair_begins_after_the_budget_for_all_or_the_first_interruption() -> None:
    works = [work(place) for place in range(40)]
    spent = Workers(nothing)
    assert 10 <= len(searched(spent, works, WitnessSettings(total_s=10))) < 15  # a batch that was begun is finished
    stopped = Workers(nothing)
    assert len(searched(stopped, works, WitnessSettings(), ended=lambda: stopped.now >= 10)) < 15


def test_what_stayed_undecided_is_tried_again_with_more_time_alone() -> None:
    def match(found: Refutation | None, outcome: str = "correct") -> Any:
        verdict = Verdict(outcome=outcome, reason="")  # type: ignore[arg-type]
        return Evidence(case=CASES[0], prediction=Prediction(case_id="a"), verdict=verdict, refutation=found)

    undecided = Refutation(kind="unknown", why="out_of_time", reason="", budget_s=1.0)
    settled = Refutation(kind="proved", reason="", budget_s=1.0)
    longer, same = WitnessSettings(seconds=2.0), WitnessSettings(seconds=1.0)
    assert [awaits_search(summarized(match(undecided)), wanted) for wanted in (longer, same)] == [True, False]
    assert not awaits_search(summarized(match(settled)), longer)
    assert awaits_search(summarized(match(None)), same)
    unserved = Refutation(kind="unknown", why="no_engine", reason="", budget_s=1.0)
    assert not awaits_search(summarized(match(unserved)), same)
    assert awaits_search(summarized(match(unserved)), replace(same, scratch=True))
    assert not awaits_search(summarized(match(None, "incorrect")), same)


def test_every_outcome_of_a_search_is_a_strength() -> None:
    kinds = ("refuted", "conditional", "tie", "proved", "bounded")
    assert [strength_of(Refutation(kind=kind, reason="")) for kind in kinds] == list(kinds)
    assert strength_of(SAME_TEXT) == "same_text"
    assert strength_of(Refutation(kind="unknown", why="no_engine", reason="")) == "unknown"
    assert strength_of(Refutation(kind="unknown", why="out_of_time", reason="", trials=0)) == "unknown"


@pytest.fixture
def matches(database: str) -> Iterator[Callable[..., Refutation]]:
    from assay import registry
    from assay.model import ComparisonOptions, Limits
    from assay.runs.workers.worker_tasks import WorkerSettings

    settings = WorkerSettings(
        engines=registry.engine_references(), metrics=(), options=ComparisonOptions(), limits=Limits()
    )
    worker = MatchWorker(settings)

    def look(*golds: str, predicted: str, url: str = database, **options: Any) -> Refutation:
        given = {"golds": golds, "predicted": predicted, "url": DatabaseUrl.parse(url), "witness": ASKED}
        return worker(MatchTask(options=CaseOptions(**options), **given))

    yield look
    worker.close()


NAMES, KINDS = "SELECT kind FROM pet", "SELECT DISTINCT kind FROM pet"


@pytest.mark.parametrize(
    ("gold", "answer", "options", "outcome"),
    [
        (NAMES, KINDS, {}, "refuted"),
        (NAMES, KINDS, {"leniency": Leniency(duplicates="ignored")}, "comparison"),
        (f"{NAMES} ORDER BY 1", NAMES, {}, "refuted"),
        (f"{NAMES} ORDER BY 1", NAMES, {"ordered": False}, "comparison"),
        (NAMES, "SELECT p.kind FROM pet p", {"ordered": True}, "comparison"),
        ("SELECT id, age FROM pet", "SELECT age, id FROM pet", {}, "proved"),
        ("SELECT id, age FROM pet", "SELECT age, id FROM pet", {"columns": "strict"}, "refuted"),
    ],
)
def test_a_pair_is_compared_as_its_case_is(
    gold: str, answer: str, options: dict[str, Any], outcome: str, matches: Callable[..., Refutation]
) -> None:
    found = matches(gold, predicted=answer, **options)
    assert (found.why or found.kind) == outcome, found.reason


def test_an_answer_that_another_gold_accepts_everywhere_is_not_refuted(matches: Callable[..., Refutation]) -> None:
    assert matches(KINDS, NAMES, predicted="SELECT p.kind FROM pet p").kind == "proved"
    assert matches(KINDS, "SELECT kind FROM pet WHERE id > 2", predicted="SELECT p.kind FROM pet p").differs
    assert matches(ALL, predicted="SELECT p.id FROM pet p").causes == ()  # they differ in their text alone


CAUSES = {
    "a filter too many": (
        "SELECT name FROM pet WHERE age > 1",
        "SELECT name FROM pet WHERE age > 1 AND kind <> 'cow'",
        "kind <> 'cow'",
        "explicit_condition_redundancy",
    ),
    "bound": ("SELECT id FROM pet WHERE age > 6", "SELECT id FROM pet WHERE age > 7", "age > 7", "value_mismatch"),
    "repetitions": (
        "SELECT age FROM pet WHERE kind = 'dog'",
        "SELECT DISTINCT age FROM pet WHERE kind = 'dog'",
        "DISTINCT",
        "distinct",
    ),
    "what is counted": ("SELECT count(*) FROM pet", "SELECT count(age) FROM pet", "count(*)", "attribute_mismatch"),
}


@pytest.mark.parametrize("name", CAUSES)
def test_a_match_that_is_parted_says_where_it_differs(name: str, matches: Callable[..., Refutation]) -> None:
    """The difference between the queries is named, and gold's clause makes them agree on the witness and elsewhere."""
    gold, answer, told, kind = CAUSES[name]
    found = matches(gold, predicted=answer)
    assert found.differs, found
    assert kind in [cause.kind for cause in found.causes]
    assert told.lower() in " ".join(cause.message for cause in found.causes).lower()
    assert found.causes[0].proved
    assert matches(gold, predicted=found.repair.query).equivalent


def test_a_repair_that_the_witness_forgives_and_another_database_does_not_is_none(
    matches: Callable[..., Refutation],
) -> None:
    """Of two differences each is enough to part the queries: the repair mends both, though a witness needs one."""
    gold = "SELECT age FROM pet WHERE kind = 'dog'"
    found = matches(gold, predicted="SELECT DISTINCT age FROM pet WHERE kind = 'dog' AND name <> 'Zed'")
    assert found.differs
    assert {step.clause for step in found.repair.steps} == {"DISTINCT", "WHERE"}
    assert matches(gold, predicted=found.repair.query).equivalent


@pytest.mark.parametrize("url", ["sqlite:////nowhere/at/all.sqlite", "denodo+http://127.0.0.1:9/db"])
def test_what_cannot_be_tried_is_unknown_with_the_reason(url: str, matches: Callable[..., Refutation]) -> None:
    found = matches(ALL, predicted="SELECT id + 0 FROM pet", url=url)
    assert (found.kind, bool(found.why), len(found.reason) > 10) == ("unknown", True, True)


# What a user writes


def test_a_time_without_the_search_is_refused() -> None:
    for flags in (WitnessFlags(time="2s"), WitnessFlags(total="2s")):
        with pytest.raises(UsageError, match="add --witness"):
            flags.gathered(None)
    with pytest.raises(UsageError, match="witness=True"):
        evaluate(CASES, ANSWERS, databases="sqlite:///x.sqlite", metrics=[AFTER_WITNESSES])
    for wrong in (replace(ASKED, seconds=0.0), replace(ASKED, total_s=-1.0), replace(ASKED, max_rows=9)):
        with pytest.raises(UsageError):
            evaluate(CASES, ANSWERS, databases="sqlite:///x.sqlite", witness=wrong)


def test_a_settings_file_asks_for_it_and_flags_weigh_more(tmp_path: Path) -> None:
    def told(text: str) -> Any:
        (tmp_path / "eval.yaml").write_text(f"cases: c.jsonl\ndb: sqlite:///x.sqlite\n{text}")
        return read_run_file(tmp_path / "eval.yaml").witness

    assert WitnessFlags().gathered(told("witness: true")) == WitnessSettings()
    assert WitnessFlags().gathered(told("witness: false")) is None
    assert WitnessFlags().gathered(told("")) is None
    file = told("witness: {time: 2s, total: 10m, rows: 0, seed: 3}")
    assert WitnessFlags().gathered(file) == WitnessSettings(seconds=2, total_s=600, max_rows=0, seed=3)
    assert WitnessFlags(time=1.0).gathered(file) == WitnessSettings(seconds=1, total_s=600, max_rows=0, seed=3)
    quiet = told("witness: {with_run: false, time: 2s}")
    assert WitnessFlags().gathered(quiet) is None
    assert WitnessFlags(witness=True).gathered(quiet) == WitnessSettings(seconds=2)
    with pytest.raises(InputError, match="time"):
        told("witness: {tine: 2s}")


# What two runs say


def test_a_comparison_names_the_matches_that_lost_strength(folder: Path) -> None:
    run = load_run(folder)
    changed = [
        replace(item, verdict=replace(item.verdict, strength="proved")) if item.case.id == "refuted" else item
        for item in run.evidence
    ]
    before = Run(replace(run.record, summaries=summaries_of(tuple(changed)), evidence=tuple(changed)))
    found = assay.diff(before, run)
    assert [one.candidate.case_id for one in found.record.changes if one.lost_strength] == ["refuted"]
    assert not [one for one in assay.diff(run, before).record.changes if one.lost_strength]
    assert not [one for one in assay.diff(load_run(folder), run).record.changes if one.lost_strength]


# Repairs of wrong answers


def test_a_repair_that_another_database_parts_from_gold_is_no_full_one(database: str) -> None:
    """Gold's clause makes the answer right on the data alone; on other data it needs a second."""
    pairs = {
        "full": ("SELECT name FROM pet WHERE age > 4", "SELECT name FROM pet WHERE age > 1"),
        "by luck": ("SELECT age FROM pet WHERE kind = 'cat'", "SELECT DISTINCT age FROM pet WHERE kind = 'dog'"),
    }
    cases = [Case(id=name, question="?", golds=(gold,)) for name, (gold, _) in pairs.items()]
    answers = {name: answer for name, (_, answer) in pairs.items()}
    run = evaluate(cases, answers, databases=database, metrics=["match"], workers=1, witness=ASKED)
    found = {item.case.id: item for item in run.evidence}
    assert {item.outcome for item in found.values()} == {"incorrect"}
    repairs = {name: item.diagnosis.repair for name, item in found.items() if item.diagnosis is not None}
    full, by_luck = repairs["full"], repairs["by luck"]
    assert (full.strength, full.elsewhere) in [("same_text", ""), ("proved", "")]
    assert by_luck.strength in ("conditional", "refuted")
    assert "differs if the prediction removes duplicates" in by_luck.elsewhere
    assert "but not everywhere: they differ" in explanation_of(found["by luck"])
    assert "but not everywhere" not in explanation_of(found["full"])
    assert {item.refutation for item in found.values()} == {None}
    again = evaluate(cases, answers, databases=database, metrics=["match"], workers=1)
    untried = [item.diagnosis.repair for item in again.evidence if item.diagnosis is not None]
    assert [one.strength for one in untried if one is not None] == ["none", "none"]
