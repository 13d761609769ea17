"""A folder's runs are listed by their run.json alone, whatever state they are in."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import assay
from assay.errors import InputError, UsageError
from assay.model import Case, Evidence, Fingerprint, Prediction, Run, Score, Verdict
from assay.reports.blocks.run import RunReport
from assay.runs.store.folder import save_run
from assay.runs.store.history import (
    earlier_runs,
    identity_of,
    point_of,
    question_set,
    run_beside,
    run_name,
    scan_runs,
    select_runs,
    started_at,
)
from many_cases import each
from running import Named, run_of


def made(
    right: int,
    *,
    cases: int = 10,
    at: str | None = "2026-03-01T09:30:00+00:00",
    content: str = "aa11",
    file: str = "sets/dev.jsonl",
    metrics: tuple[str, ...] = ("match", "bird_ex"),
    **settings: Any,
) -> Run:
    evidence = [
        Evidence(
            case=Case(id=str(number), question="how many?", golds=("SELECT 1",)),
            prediction=Prediction(case_id=str(number), query="SELECT 1"),
            verdict=Verdict(outcome="correct" if number < right else "incorrect", reason="as it is"),
            scores=tuple(Score(metric=metric, value=float(number < right)) for metric in metrics),
        )
        for number in range(cases)
    ]
    inputs = (Fingerprint(name=Path(file).name, digest=content), Fingerprint(name="answers.jsonl", digest="bb22"))
    provenance = {"inputs": inputs, "started_at": at, "wall_time_s": 1.5}
    return run_of(*evidence, metrics=[*map(Named, metrics)], provenance=provenance, cases=file, **settings)


def test_runs_are_listed_oldest_first_however_deep(tmp_path: Path) -> None:
    save_run(made(7, at="2026-03-03T00:00:00+00:00"), tmp_path / "b")
    save_run(made(6, at="2026-03-02T00:00:00Z"), tmp_path / "deep" / "er" / "c")
    save_run(made(5, at="2026-03-01T01:00:00+02:00"), tmp_path / "z")
    save_run(made(4, at=None), tmp_path / "a")
    for path in tmp_path.rglob("*"):  # nothing else is read
        if path.is_file() and path.name != "run.json":
            path.unlink()
    points = assay.list_runs(tmp_path)
    assert [Path(point.folder).name for point in points] == ["z", "c", "b", "a"]
    assert [(point.correct, point.status) for point in points] == [(n, "finished") for n in (5, 6, 7, 4)]
    assert started_at(points[0]) is not None
    assert started_at(points[-1]) is None


def test_the_headline_is_that_of_the_reports(tmp_path: Path) -> None:
    for place, metrics in enumerate((("bird_ex", "match"), ("bird_ex", "spider_ex"))):
        run = made(7, metrics=metrics)
        save_run(run, tmp_path / str(place))
        [point] = scan_runs(tmp_path / str(place))
        view = RunReport(run)
        assert (point.headline_metric, point.headline) == (view.headline_metric, view.headline.rate)
        assert point == point_of(run, point.folder)


def test_another_metric_takes_the_headlines_place_where_a_run_has_it(tmp_path: Path) -> None:
    save_run(made(3), tmp_path / "with")
    save_run(made(3, metrics=("match",)), tmp_path / "without")
    by_name = {Path(point.folder).name: point for point in assay.list_runs(tmp_path, metric="bird_ex")}
    assert by_name["with"].headline.numerator == 3
    assert by_name["without"].headline is None


@each(
    ("damage", "said"),
    [
        (lambda content: json.dumps(content)[:200], "damaged"),
        (lambda content: "", "damaged"),
        (lambda content: "[1, 2]", "damaged"),
        (lambda content: '{"some": "other tool\'s run"}', "damaged"),
        (lambda content: json.dumps({**content, "format": 99}), "newer Assay"),
        (lambda content: json.dumps({**content, "aggregates": None}), "no numbers"),
    ],
    ids=["cut off", "empty", "a list", "another tool's", "newer", "no numbers"],
)
def test_a_damaged_run_is_listed_with_its_trouble(
    tmp_path: Path, damage: Callable[[dict[str, object]], str], said: str
) -> None:
    save_run(made(3), tmp_path / "good")
    save_run(made(3), tmp_path / "bad")
    path = tmp_path / "bad" / "run.json"
    path.write_text(damage(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    good, bad = assay.list_runs(tmp_path)
    assert good.status == "finished"
    assert (bad.status, bad.settings, bad.provenance, bad.headline) == ("damaged", None, None, None)
    assert bad.trouble is not None
    assert said in bad.trouble
    assert question_set(bad) is None
    assert run_name(bad) == "bad"
    path.unlink()
    path.mkdir()
    assert [point.status for point in assay.list_runs(tmp_path)] == ["finished", "damaged"]


def test_an_unfinished_run_is_listed_without_numbers(tmp_path: Path) -> None:
    save_run(made(3), tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "status": "running", "aggregates": None}), encoding="utf-8")
    [point] = assay.list_runs(tmp_path / "run")
    assert (point.status, point.headline, point.trouble) == ("running", None, None)
    assert point.folder == str(tmp_path / "run")


@pytest.mark.parametrize("name", ["nowhere", "file", "empty"])
def test_a_folder_without_runs_is_unusable_input(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=name):
        assay.list_runs(tmp_path / name)


def test_links_hidden_folders_and_great_depths_are_left_alone(tmp_path: Path) -> None:
    save_run(made(3), tmp_path / "run")
    save_run(made(3), tmp_path / ".hidden" / "run")
    save_run(made(3), tmp_path / "1" / "2" / "3" / "4" / "too deep")
    os.symlink(tmp_path, tmp_path / "loop", target_is_directory=True)
    assert [point.folder for point in assay.list_runs(tmp_path)] == [str(tmp_path / "run")]


def test_runs_are_over_the_same_cases_by_content_and_count() -> None:
    one = question_set(point_of(made(3, file="old/place/dev.jsonl")))
    assert one == question_set(point_of(made(9, file="dev.jsonl", name="other", at=None)))
    assert one != question_set(point_of(made(3, content="changed")))
    assert one != question_set(point_of(made(3, cases=5)))
    in_memory = question_set(point_of(made(3, file="10 cases in memory", content="")))
    assert in_memory != one


def test_runs_are_chosen_by_tag_name_and_cases() -> None:
    points = [
        point_of(made(1, name="nightly 1", tags=("nightly", "model=gpt-4.1")), "runs/a"),
        point_of(made(2, tags=("nightly",)), "runs/b"),
        point_of(made(3, file="bird.jsonl"), "runs/night"),
    ]

    def chosen(**wanted: object) -> list[int]:
        return [point.correct for point in select_runs(points, **wanted)]  # type: ignore[arg-type]

    assert chosen() == [1, 2, 3]
    assert chosen(tags=["nightly"]) == [1, 2]
    assert chosen(tags=["nightly", "model=*"]) == [1]
    assert chosen(name="night*") == [1, 3]
    assert chosen(name="b") == [2]
    assert chosen(cases="bird") == chosen(cases="bird.jsonl") == [3]
    assert chosen(cases="nothing") == []


def test_the_history_of_a_run_is_what_was_finished_before_it() -> None:
    own = made(5, at="2026-03-02T00:00:00+00:00")
    before, after = made(4, at="2026-03-01T00:00:00+00:00"), made(6, at="2026-03-03T00:00:00+00:00")
    points = [point_of(run, f"runs/{place}") for place, run in enumerate((after, own, before))]
    unfinished = replace(points[2], status="running", headline=None)
    assert earlier_runs([*points, unfinished], own) == (points[2],)


def test_labels_do_not_make_another_run() -> None:
    run = made(5)
    labelled = replace(run, settings=replace(run.settings, name="new", tags=("x",), workers=7))
    assert identity_of(labelled) == identity_of(run)
    again = replace(run, provenance=replace(run.provenance, started_at="2026-03-01T09:30:01+00:00"))
    assert identity_of(again) != identity_of(run)


def _evaluate(folder: Path, database: Path, **labels: object) -> assay.Run:
    return assay.evaluate(
        [{"id": "1", "question": "how many?", "gold_sql": "SELECT count(*) FROM t"}],
        {"1": "SELECT count(a) FROM t"},
        databases=f"sqlite:///{database}",
        metrics=["match"],
        workers=1,
        output=folder,
        **labels,  # type: ignore[arg-type]
    )


def test_a_finished_run_takes_new_labels_and_stays_what_it_was(
    tmp_path: Path, make_sqlite: Callable[..., Path]
) -> None:
    database = make_sqlite("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);")
    first = _evaluate(tmp_path / "run", database, tags=["smoke", " model=x ", "smoke"])
    assert first.settings.tags == ("smoke", "model=x")
    journal = (tmp_path / "run" / "journal.jsonl").read_bytes()
    _evaluate(tmp_path / "run", database, name="a name", tags=["nightly"])
    [point] = assay.list_runs(tmp_path)
    assert (point.settings.name, point.settings.tags) == ("a name", ("nightly",))
    assert point.provenance == first.provenance
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == journal
    assert assay.load_run(tmp_path / "run").aggregates == first.aggregates


@pytest.mark.parametrize("tags", ["smoke", ["smoke", " "]])
def test_tags_that_are_none_are_refused(tmp_path: Path, make_sqlite: Callable[..., Path], tags: object) -> None:
    database = make_sqlite("CREATE TABLE t(a);")
    with pytest.raises(UsageError, match="tag"):
        _evaluate(tmp_path / "run", database, tags=tags)
    assert not (tmp_path / "run").exists()


def test_the_latest_earlier_run_over_the_same_questions_lies_beside(tmp_path: Path) -> None:
    def at(hour: int) -> str:
        return f"2026-03-01T{hour:02}:00:00+00:00"

    beside = {
        "older": made(3, at=at(8)),
        "old": made(4, at=at(9)),
        "other": made(4, at=at(10), content="bb22"),
        "few": made(4, at=at(10), cases=9),
        "later": made(4, at=at(12)),
    }
    for name, run in beside.items():
        save_run(run, tmp_path / name)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.json").write_text("{", encoding="utf-8")
    (tmp_path / "nothing").mkdir()
    own = made(5, at=at(11))
    save_run(own, tmp_path / "own")
    found = run_beside(tmp_path / "own", own)
    assert Path(found.folder).name == "old"
    assert run_beside(tmp_path / "older", beside["older"]) is None
    assert run_beside(tmp_path / "nowhere" / "at all", own) is None
