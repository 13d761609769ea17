"""Where a run's reviews go: beside its own question set, wherever the run and the current folder are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import assay
from assay.runs.reviews.finding import question_set, reviews_file

QUESTIONS = {"q1": 'How many "new" clients?', "q2": "Which é?", "q3": "What?"}


def write_set(path: Path, questions: dict[str, str], gold: str = "SELECT 1") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"id": id_, "question": text, "gold_sql": gold}) for id_, text in questions.items()]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A question set and a run of it, made from the project's folder."""
    folder = tmp_path / "work" / "project"
    write_set(folder / "data" / "cases.jsonl", QUESTIONS)
    monkeypatch.chdir(folder)
    answers = dict.fromkeys(QUESTIONS, "SELECT 2")
    assay.evaluate("data/cases.jsonl", answers, databases="sqlite://", workers=1, output="runs/one")
    run = assay.evaluate("data/cases.jsonl", answers, databases="sqlite://", workers=1)
    run.save("runs/saved")
    return folder


def found(run: Path) -> Path | None:
    record = assay.load_run(run, reviews=False).record
    file = reviews_file(run, record.settings, record.provenance)
    assert question_set(run, record.settings, record.provenance) is not None or file is None
    return None if file is None else file.resolve()


@pytest.mark.parametrize("name", ["one", "saved"])
def test_a_question_set_with_the_same_path_is_not_taken_for_the_runs(
    name: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, own = project / "runs" / name, project / "data" / "reviews.jsonl"
    other = {"q1": "Another question?", "q2": "One more?", "q3": "The last?"}
    for base in (tmp_path, tmp_path / "work", project / "runs"):
        write_set(base / "data" / "cases.jsonl", other)
    for place in (project, tmp_path, project / "runs", run):
        monkeypatch.chdir(place)
        assert found(run) == own
    write_set(project / "data" / "cases.jsonl", QUESTIONS, gold="SELECT 3")
    monkeypatch.chdir(tmp_path)
    assert found(run) == own, "an edited question set is still the run's"
    write_set(project / "data" / "cases.jsonl", other)
    assert found(run) is None, "nothing fits any more"


@pytest.mark.parametrize("name", ["one", "saved"])
@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("reviewed", [False, True])
def test_a_copied_project_has_its_own_reviews(
    name: str, edited: bool, reviewed: bool, project: Path, tmp_path: Path
) -> None:
    if reviewed:
        (project / "data" / "reviews.jsonl").write_text("", encoding="utf-8")
    copy = Path(shutil.copytree(project, tmp_path / "elsewhere" / "copy"))
    if edited:
        write_set(copy / "data" / "cases.jsonl", QUESTIONS, gold="SELECT 3")
    assert found(copy / "runs" / name) == copy / "data" / "reviews.jsonl"
    assert found(project / "runs" / name) == project / "data" / "reviews.jsonl"


def test_a_run_that_was_moved_alone_never_takes_reviews_of_another_question_set(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "data" / "reviews.jsonl").write_text("", encoding="utf-8")
    answers = dict.fromkeys(QUESTIONS, "SELECT 2")
    assay.evaluate("data/cases.jsonl", answers, databases="sqlite://", workers=1, output="runs/two")
    stranger = tmp_path / "stranger"
    write_set(stranger / "data" / "cases.jsonl", {"q1": "Another question?"})
    (stranger / "data" / "reviews.jsonl").write_text("", encoding="utf-8")
    moved = Path(shutil.copytree(project / "runs" / "two", stranger / "runs" / "two"))
    monkeypatch.chdir(stranger)
    assert found(moved) is None
    monkeypatch.chdir(project)
    assert found(moved) == project / "data" / "reviews.jsonl", "from the folder of the question set it is found"
