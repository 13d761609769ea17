"""A run beside people's reviews: the reviewed verdict stands next to Assay's own, in the run and in every report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.runs.reviews.reviewing import review_of

import assay
from assay.cli.app import run_command_line
from assay.errors import InputError, UsageError
from assay.model import Case, Leniency, Review
from assay.reports.blocks.run import RunReport
from assay.runs.reviews.file import append_reviews
from running import LiveSystem, sqlite_url

CASES = [
    ("q1", "How many?", "SELECT count(*) FROM t", "SELECT count(*) FROM t"),
    ("q2", "The largest?", "SELECT max(a) FROM t", "SELECT min(a) FROM t"),
    ("q3", "The names?", "SELECT b FROM t", "SELECT a, b FROM t"),
    ("q4", "The sum?", "SELECT sum(a) FROM t WHERE a > 1", "SELECT sum(a) FROM t"),
    ("q5", "The weather?", "SELECT 1", "SELECT 2"),
    ("q6", "The numbers?", "SELECT DISTINCT a FROM t", "SELECT a FROM t"),
]
DATABASE = "sqlite:///shop.sqlite"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    script = "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z'), (3, 'w');"
    sqlite_url(tmp_path / "shop.sqlite", script)
    lines = [json.dumps({"id": id_, "question": asked, "gold": gold}) for id_, asked, gold, _ in CASES]
    Path("dev.jsonl").write_text("\n".join(lines))
    answers = [json.dumps({"id": id_, "prediction": query}) for id_, _, _, query in CASES]
    Path("answers.jsonl").write_text("\n".join(answers))
    return tmp_path


def evaluated(predictions: Any = "answers.jsonl", **arguments: Any) -> assay.Run:
    given = {"databases": DATABASE, "metrics": ["match"], "workers": 1} | arguments
    return assay.evaluate("dev.jsonl", predictions, **given)


def decide(run: assay.Run, case_id: str, decision: str, *, path: str = "reviews.jsonl", **fields: Any) -> Review:
    """Append a decision about the answer of a run."""
    item = next(item for item in run.evidence if item.case.id == case_id)
    review = review_of(item.case, decision, item, **fields)
    append_reviews(Path(path), [review])
    return review


def reviewed(run: assay.Run) -> dict[str, str | None]:
    return {item.case.id: None if item.reviewed is None else item.reviewed.outcome for item in run.evidence}


def test_reviewed_verdict_stands_beside_the_own_one(folder: Path) -> None:
    first = evaluated()
    assert first.aggregates.reviews is None
    decide(first, "q1", "confirm")
    decide(first, "q2", "accept")
    decide(first, "q3", "ambiguous", leniency=Leniency(extra_columns="allowed"))
    decide(first, "q4", "gold_wrong", gold="SELECT sum(a) FROM t")
    decide(first, "q5", "unanswerable")
    decide(first, "q6", "unsure")
    run = evaluated()
    assert [item.outcome for item in run.evidence] == [item.outcome for item in first.evidence]
    expected = {"q1": "correct", "q2": "correct", "q3": "correct", "q4": "correct", "q5": "incorrect", "q6": None}
    assert reviewed(run) == expected
    totals = run.aggregates.reviews
    assert (totals.before.numerator, totals.after.numerator, totals.after.n) == (1, 4, 6)
    assert totals.unsure == ("q6",)
    assert [(one.name, one.case_ids) for one in totals.changes] == [("incorrect to correct", ("q2", "q3", "q4"))]


def test_decision_holds_for_another_system_with_the_same_result(folder: Path) -> None:
    decide(evaluated(), "q2", "accept")
    other = {id_: "SELECT NULL" for id_, *_ in CASES} | {"q2": "SELECT a FROM t ORDER BY a LIMIT 1"}
    run = evaluated(other)
    item = run.evidence[1]
    assert (item.outcome, item.reviewed and item.reviewed.outcome) == ("incorrect", "correct")
    assert item.reviewed.decision == "accept"
    assert [name for name, outcome in reviewed(run).items() if outcome] == ["q2"]


def test_other_answer_is_scored_by_the_accepted_query_too(folder: Path) -> None:
    decide(evaluated(), "q6", "accept")
    run = evaluated({id_: query for id_, _, _, query in CASES} | {"q6": "SELECT a + 0.0 FROM t WHERE a < 3"})
    item = run.evidence[5]
    assert (item.reviewed.outcome, item.reviewed.pending) == ("incorrect", False)
    assert item.reviewed.judged is not None


def test_changed_reviews_score_only_what_they_concern_again(folder: Path) -> None:
    run = evaluated(output="run")
    lines = Path("run/journal.jsonl").read_bytes().splitlines()
    decide(run, "q4", "gold_wrong", gold="SELECT sum(a) FROM t")
    again = evaluated(output="run")
    more = Path("run/journal.jsonl").read_bytes().splitlines()
    assert more[: len(lines)] == lines
    assert [json.loads(line)["evidence"]["case"]["id"] for line in more[len(lines) :]] == ["q4"]
    assert reviewed(again)["q4"] == "correct"
    evaluated(output="run")
    assert Path("run/journal.jsonl").read_bytes().splitlines() == more
    without = evaluated(output="run", reviews=False)
    assert reviewed(without) == dict.fromkeys(reviewed(without))
    assert without.aggregates.reviews is None


def test_reviews_in_memory_and_another_rule_are_seen_by_a_finished_run(folder: Path) -> None:
    run = evaluated(output="run")
    item = run.evidence[1]
    accepted = review_of(item.case, "accept", item, reviewer="Ana", at="2026-01-02T00:00:00Z")
    confirmed = review_of(item.case, "confirm", item, reviewer="Ben")
    for reviews, expected in (([accepted], "correct"), ([confirmed], "incorrect"), ([confirmed, accepted], "correct")):
        assert reviewed(evaluated(output="run", reviews=reviews))["q2"] == expected
    append_reviews(Path("mine.jsonl"), [accepted, confirmed])
    for settle, expected in (("latest", "correct"), ("Ben", "incorrect")):
        reviews_now = assay.load_reviews("mine.jsonl", settle=settle)
        assert reviewed(evaluated(output="run", reviews=reviews_now))["q2"] == expected
        assert reviewed(assay.load_run("run"))["q2"] == expected


class Counting(LiveSystem):
    """A live system that counts its questions."""

    def __init__(self) -> None:
        super().__init__(self._answered)
        self.asked = 0

    def _answered(self, case: Case) -> str:
        self.asked += 1
        return next(query for id_, _, _, query in CASES if id_ == case.id)


def test_changed_reviews_ask_a_live_system_nothing(folder: Path) -> None:
    system = Counting()
    run = evaluated(system, output="run")
    asked = system.asked
    decide(run, "q4", "gold_wrong", gold="SELECT sum(a) FROM t")
    again = evaluated(system, output="run")
    assert (system.asked, reviewed(again)["q4"]) == (asked, "correct")


def test_stored_run_follows_the_file_as_it_is_now(folder: Path) -> None:
    run = evaluated(output="run", reviews=None)
    assert assay.load_run("run").aggregates.reviews is None
    accepted = decide(run, "q2", "accept")
    decide(run, "q4", "gold_wrong", gold="SELECT sum(a) FROM t")
    loaded = assay.load_run("run")
    assert reviewed(loaded)["q2"] == "correct"
    item = loaded.evidence[3]
    assert (item.reviewed.outcome, item.reviewed.pending) == ("unscored", True)
    assert loaded.aggregates.reviews.pending == ("q4",)
    evaluated(output="run")
    assert reviewed(assay.load_run("run"))["q4"] == "correct"
    decide(run, "q2", "undo", undoes=accepted.id)
    assert reviewed(assay.load_run("run"))["q2"] is None
    assert assay.load_run("run", reviews=False).aggregates.reviews is None
    # What was scored by the corrected gold stays known, in the folder that the run was moved to.
    Path("elsewhere").mkdir()
    Path("run").rename("elsewhere/run")
    Path("reviews.jsonl").rename("elsewhere/reviews.jsonl")
    assert reviewed(assay.load_run("elsewhere/run"))["q4"] == "correct"


@pytest.mark.parametrize("change", ["question", "gold", "database"])
def test_stale_review_is_named_and_has_no_effect(change: str, folder: Path) -> None:
    run = evaluated()
    fields = {"database_hash": "other"} if change == "database" else {f"{change}_hash": "other"}
    decide(run, "q2", "accept", **fields)
    append_reviews(Path("reviews.jsonl"), [review_of(run.evidence[1].case, "accept", case_id="q77")])
    again = evaluated()
    assert reviewed(again)["q2"] is None
    totals = again.aggregates.reviews
    assert [(one.case_id, one.why, one.line) for one in totals.inactive] == [
        ("q2", change, 1),
        ("q77", "no such case", 2),
    ]
    notes = "\n".join(RunReport(again.record).notes)
    assert f"({change} changed: 1): q2 (line 1)" in notes
    assert "q77 (line 2)" in notes


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "line 2: not a line of JSON"), ('{"decision": "acept"}', "line 2: the decision 'acept' is unknown")],
)
def test_damaged_reviews_end_a_run_before_it_begins(
    line: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decide(evaluated(), "q2", "accept")
    with Path("reviews.jsonl").open("a") as file:
        file.write(line + "\n")
    given = ["run", "dev.jsonl", "-p", "answers.jsonl", "--db", DATABASE, "-o", "run"]
    assert run_command_line(given) == 2
    assert message in capsys.readouterr().err
    assert not Path("run").exists()
    assert run_command_line([*given, "--no-reviews"]) == 0
    capsys.readouterr()
    with pytest.raises(InputError, match="line 2"):
        assay.load_run("run")


def test_options_of_reviews(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = evaluated()
    decide(run, "q2", "accept", path="mine.jsonl", reviewer="Ana")
    decide(run, "q2", "confirm", path="mine.jsonl", reviewer="Ben", at="2026-02-01T00:00:00Z")
    given = ["run", "dev.jsonl", "-p", "answers.jsonl", "--db", DATABASE, "-o", "run"]
    assert run_command_line([*given, "--reviews", "mine.jsonl", "--settle", "Ana"]) == 0
    assert "after reviews 33.3 %" in capsys.readouterr().out
    assert reviewed(assay.load_run("run"))["q2"] == "correct"
    assert reviewed(evaluated(reviews="mine.jsonl"))["q2"] == "incorrect"
    undecided = evaluated(reviews=assay.load_reviews("mine.jsonl", settle="majority"))
    assert reviewed(undecided)["q2"] is None
    assert undecided.aggregates.reviews.conflicts == ("q2",)
    for wrong in (["--reviews", "mine.jsonl", "--no-reviews"], ["--settle", "latest"]):
        assert run_command_line([*given, *wrong]) == 2
        assert wrong[0] in capsys.readouterr().err
    with pytest.raises(UsageError, match="Ana, Ben"):
        assay.load_reviews("mine.jsonl", settle="Cem")
    assert run_command_line(["report", "run", "--reviews", "absent.jsonl"]) == 2


@pytest.mark.journey
def test_every_report_has_both_numbers(folder: Path) -> None:
    run = evaluated(output="run")
    decide(run, "q2", "accept", note="<b>&")
    run = evaluated(output="run")
    for suffix in ("md", "json", "xml", "html", "xlsx"):
        run.report(f"report.{suffix}", format="junit" if suffix == "xml" else None)
    markdown, page = Path("report.md").read_text(), Path("report.html").read_text()
    for text in (run.summary(), markdown, Path("report.xml").read_text(), page):
        assert "16.7 %" in text
        assert "33.3 %" in text
    document = json.loads(Path("report.json").read_text())
    assert document["headline"]["value"] == pytest.approx(1 / 6)
    assert document["headline"]["reviewed"]["value"] == pytest.approx(2 / 6)
    assert document["cases"][1]["reviewed"]["outcome"] == "correct"
    calamine = pytest.importorskip("python_calamine")
    rows = calamine.CalamineWorkbook.from_path("report.xlsx").get_sheet_by_name("Details").to_python()
    place = rows[0].index("Reviewed verdict")
    assert [row[place] for row in rows[1:]] == ["", "correct", "", "", "", ""]


def test_table_of_a_run_has_the_reviewed_outcome(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decide(evaluated(), "q2", "accept")
    evaluated(output="run")
    assert (
        run_command_line(["sql", "run", "SELECT case_id, reviewed_outcome, review FROM cases WHERE review IS NOT NULL"])
        == 0
    )
    assert capsys.readouterr().out.split()[-3:] == ["q2", "correct", "accept"]


def test_ranks_and_changes_before_and_after(folder: Path) -> None:
    first = evaluated(output="one", name="one")
    better = {id_: query for id_, _, _, query in CASES} | {"q4": CASES[3][2]}
    second = evaluated(better, output="two", name="two")
    decide(first, "q4", "gold_wrong", gold="SELECT sum(a) FROM t")
    for name, answers in (("one", "answers.jsonl"), ("two", better)):
        evaluated(answers, output=name, name=name)
    board = assay.leaderboard(["one", "two"])
    assert [(one.run.label, one.rank, one.reviewed_rank) for one in board.standings] == [("two", 1, 2), ("one", 2, 1)]
    assert "After people's reviews" in board.summary()
    found = assay.diff("one", "two").record.reviewed
    assert (found.fixed, found.broken, found.reviewed) == ((), ("q4",), 1)
    assert assay.diff("one", "two", reviews=False).record.reviewed is None
    assert assay.diff(first, second).record.reviewed is None


def test_reviews_of_some_of_the_compared_runs_only_are_named_in_a_note(folder: Path) -> None:
    first = evaluated(output="one", name="one")
    Path("copy").mkdir()
    Path("copy/dev.jsonl").write_bytes(Path("dev.jsonl").read_bytes())
    given: dict[str, Any] = {"databases": DATABASE, "metrics": ["match"], "workers": 1}
    second = assay.evaluate("copy/dev.jsonl", "answers.jsonl", output="two", name="two", **given)
    decide(first, "q2", "accept")

    def notes(*runs: Any, **arguments: Any) -> list[str]:
        found = assay.diff(*runs, **arguments).record.notes, assay.leaderboard(runs, **arguments).notes
        said = [[note for note in every if "Reviews are applied" in note] for every in found]
        assert said[0] == said[1]
        return said[0]

    why = "so that accuracy after reviews cannot be compared"
    only = f"Reviews are applied to one only, {why}: give reviews='FILE' for all runs."
    for runs in (("one", "two"), ("two", "one"), (assay.load_run("one"), assay.load_run("two"))):
        assert notes(*runs) == [only]
    for choice in ("reviews.jsonl", False):
        assert notes("one", "two", reviews=choice) == []
    assert notes(first, second) == []


def test_repeated_answers_count_by_their_case(folder: Path) -> None:
    decide(evaluated(), "q2", "accept")
    run = evaluated(Counting(), repeats=2)
    totals = run.aggregates.reviews
    assert (totals.before.n, totals.after.numerator) == (6, 2)
    assert [item.reviewed is not None for item in run.evidence] == [False, False, True, True, *[False] * 8]


def test_given_result_can_be_reviewed(folder: Path) -> None:
    answers = [{"id": id_, "rows": [[7]]} for id_, *_ in CASES]
    run = evaluated(answers)
    decide(run, "q2", "accept")
    assert reviewed(evaluated(answers))["q2"] == "correct"
    assert reviewed(evaluated([one | {"rows": [[8]]} for one in answers]))["q2"] is None
    # A query with the same result is the same answer.
    assert reviewed(evaluated({id_: "SELECT 7" for id_, *_ in CASES}))["q2"] == "correct"


def selecting(area: str) -> dict[str, Any]:
    dimensions = [{"dimension_name": "AREA", "values": [{"id": area}]}]
    return {"indicator_selection": [{"dataset_id": "IMF:CPI", "dimensions": dimensions}]}


def selected(answer: str | dict[str, Any], folder: str = "") -> assay.Run:
    """Evaluate an answer, by default of an area, to a question for Portugal."""
    path = Path(folder) / "selections.json"
    path.parent.mkdir(exist_ok=True)
    asked = {"role": "user", "content": "Prices?", "target": selecting("PT")}
    path.write_text(json.dumps([{"id": "s1", "conversation": [asked]}]))
    answer = selecting(answer) if isinstance(answer, str) else answer
    return assay.evaluate_selections(folder or path, {"s1": json.dumps(answer)})


def test_selection_can_be_reviewed(folder: Path) -> None:
    first = selected("ES")
    assert first.evidence[0].outcome == "incorrect"
    accepted = decide(first, "s1", "accept")
    assert reviewed(selected("ES")) == {"s1": "correct"}
    assert reviewed(selected("FR")) == {"s1": None}
    decide(first, "s1", "undo", undoes=accepted.id)
    corrected = decide(first, "s1", "gold_wrong", gold=json.dumps(selecting("FR")))
    assert [reviewed(selected(area))["s1"] for area in ("PT", "ES", "FR")] == ["incorrect", "incorrect", "correct"]
    decide(first, "s1", "undo", undoes=corrected.id)
    decide(first, "s1", "unanswerable")
    nothing = {"indicator_selection": []}
    assert [reviewed(selected(answer))["s1"] for answer in ("PT", nothing)] == ["incorrect", "correct"]


def test_reviews_in_the_folder_of_a_question_set_are_no_questions(folder: Path) -> None:
    first = selected("ES", "set")
    decide(first, "s1", "accept", path="set/reviews.jsonl")
    second = selected("ES", "set")
    assert reviewed(second) == {"s1": "correct"}
    assert first.provenance.inputs[0] == second.provenance.inputs[0]  # still the same question set
