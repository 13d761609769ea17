"""Logs of evaluations that ended early: what they lack counts, and a note says how the evaluation ended."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import assay
from assay import registry
from assay.cases import load_predictions, load_questions
from assay.errors import CaseFileError
from assay.reports.blocks.run import RunReport

PLANNED = 6
METRICS = ("match", "bird_ex", "bird_soft_f1", "spider_em", "results_match", "percent_overlap", "column_recall")


def _sample(number: int, *, epoch: int = 1, **values: object) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "epoch": epoch,
        "input": f"What is {number}?",
        "target": f"SELECT id FROM products WHERE id = {number}",
        "output": {"completion": f"SELECT id FROM products WHERE id = {number}"},
        "metadata": {"db_id": "shop"},
        **values,
    }


def _log(samples: list[dict[str, Any]], status: str = "error", dataset: object = None) -> dict[str, Any]:
    dataset = dataset or {"samples": PLANNED, "sample_ids": [f"q{number}" for number in range(1, PLANNED + 1)]}
    return {
        "version": 2,
        "status": status,
        "eval": {"task": "sql", "dataset": dataset, "config": {"epochs": 1}},
        "error": {"message": "RuntimeError('boom')"} if status == "error" else None,
        "samples": samples,
    }


def _written(folder: Path, log: dict[str, Any], suffix: str = ".json") -> Path:
    """The log as Inspect writes it: a document, or an archive whose header is absent if the evaluation was killed."""
    path = folder / f"log{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps(log), encoding="utf-8")
        return path
    header = {key: value for key, value in log.items() if key != "samples"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": header["eval"]}))
        for sample in log["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        if log["status"] != "started":
            archive.writestr("header.json", json.dumps(header))
    return path


def _database(folder: Path, name: str = "shop") -> str:
    with closing(sqlite3.connect(folder / f"{name}.sqlite")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS products (id INTEGER)")
        connection.commit()
    return f"sqlite:///{folder}/{name}.sqlite"


def _run(path: Path, **options: Any) -> assay.Run:
    return assay.evaluate(path, databases=_database(path.parent), metrics=METRICS, workers=1, **options)


def _notes(run: assay.Run) -> list[str]:
    return [note for note in RunReport(run.record).notes if "evaluation ended" in note or "lacks" in note]


@pytest.mark.parametrize("suffix", [".json", ".eval"])
@pytest.mark.parametrize("status", ["error", "cancelled", "started"])
def test_the_missing_samples_of_a_log_that_ended_early_are_unanswered_in_every_metric(
    tmp_path: Path, status: str, suffix: str
) -> None:
    run = _run(_written(tmp_path, _log([_sample(1), _sample(2)], status), suffix))
    assert {metric: (rate.numerator, rate.n) for metric in METRICS if (rate := run.rate(metric))} == dict.fromkeys(
        METRICS, (2.0, PLANNED)
    )
    assert RunReport(run.record).numbers.unanswered == PLANNED - 2
    (note,) = _notes(run)
    assert f'status "{status}"' in note
    assert 'lacks 4 samples ("q3", "q4", "q5", "q6")' in note


@pytest.mark.parametrize("epochs", [[1, 1], [1, 2]])
def test_the_epochs_that_a_log_lacks_are_unanswered(tmp_path: Path, epochs: list[int]) -> None:
    samples = [_sample(number, epoch=epoch) for number, epoch in enumerate(epochs, start=1)]
    log = _log(samples, dataset={"samples": 2, "sample_ids": ["q1", "q2"]})
    log["eval"]["config"] = {"epochs": 2}
    run = _run(_written(tmp_path, log))
    rate = run.rate("match")
    assert rate is not None
    assert (rate.numerator, rate.n) == (1.0, 2)  # each case is answered in one of two epochs
    assert "2 answers of other epochs are missing" in _notes(run)[0]


@pytest.mark.parametrize(
    ("dataset", "config", "count"),
    [
        ({"samples": 36}, {}, 36),
        ({"samples": 36}, {"limit": 5}, 5),
        ({"samples": 36}, {"limit": [10, 15]}, 5),
        ({"samples": 36}, {"sample_id": ["q1", "q7", "q8"]}, 3),
        ({"name": "no count"}, {}, 1),
        ({"samples": "36"}, {"limit": "x"}, 1),
    ],
)
def test_without_ids_the_count_of_a_log_decides(
    tmp_path: Path, dataset: dict[str, Any], config: dict[str, Any], count: int
) -> None:
    log = _log([_sample(1)], dataset=dataset)
    log["eval"]["config"] |= config
    run = _run(_written(tmp_path, log))
    assert (run.rate("match").numerator, run.rate("match").n) == (1.0, count)
    assert len(_notes(run)) == 1


def test_a_whole_log_and_one_of_a_part_of_the_samples_have_no_note(tmp_path: Path) -> None:
    selected = _log([_sample(1), _sample(2)], "success", {"samples": 36, "sample_ids": ["q1", "q2"]})
    counted = _log([_sample(1), _sample(2)], "success", {"samples": 36})
    for log in (selected, counted):
        run = _run(_written(tmp_path, log))
        assert run.rate("match").n == 2
        assert not _notes(run)


def test_a_sample_that_ended_in_an_error_is_unanswered_whatever_it_holds(tmp_path: Path) -> None:
    failed = _sample(1, error={"message": "TimeoutError('too slow')", "traceback": "…"})
    path = _written(tmp_path, _log([failed, _sample(2)], "success", {"samples": 2}))
    first, second = load_predictions(path, formats=registry.case_formats()).predictions
    assert first.query is None
    assert first.failure is not None
    assert "too slow" in first.failure.message
    assert second.query == "SELECT id FROM products WHERE id = 2"


def test_predictions_of_a_log_that_ended_early_leave_the_other_files_cases_unanswered(tmp_path: Path) -> None:
    path = _written(tmp_path, _log([_sample(1)]))
    cases = [
        {"id": f"q{n}", "question": f"What is {n}?", "gold_sql": f"SELECT id FROM products WHERE id = {n}"}
        for n in range(1, 5)
    ]
    run = assay.evaluate(cases, path, databases=_database(tmp_path), workers=1)
    assert (run.rate("match").numerator, run.rate("match").n) == (1.0, 4)
    assert len(_notes(run)) == 1


def test_the_questions_of_a_log_that_ended_early_are_those_that_it_holds(tmp_path: Path) -> None:
    """A missing sample has no question that a system could be asked."""
    path = _written(tmp_path, _log([_sample(1), _sample(2)]))
    loaded = load_questions(path, formats=registry.case_formats())
    assert [case.id for case in loaded.cases] == ["q1", "q2"]
    assert loaded.missing == ("q3", "q4", "q5", "q6")
    run = assay.evaluate(path, lambda _: "SELECT 1", databases=_database(tmp_path), workers=1)
    assert run.rate("match").n == 2
    assert len(_notes(run)) == 1


def test_missing_samples_need_no_database_of_their_own(tmp_path: Path) -> None:
    """Of several databases nobody knows which a missing sample is for."""
    for name in ("shop", "bank"):
        _database(tmp_path, name)
    path = _written(tmp_path, _log([_sample(1), _sample(2, metadata={"db_id": "bank"})]))
    run = assay.evaluate(path, databases=f"sqlite:///{tmp_path}/{{db_id}}.sqlite", workers=1)
    assert (run.rate("match").numerator, run.rate("match").n) == (2.0, PLANNED)


@pytest.mark.parametrize("suffix", [".json", ".eval"])
def test_a_log_without_any_sample_says_how_its_evaluation_ended(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(CaseFileError, match=r'no samples.*ended early, with the status "error".*boom'):
        load_questions(_written(tmp_path, _log([]), suffix), formats=registry.case_formats())


def test_the_error_that_a_record_without_a_query_reports_is_its_failure(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    errors: list[object] = ["quota\nexceeded", {"message": "quota exceeded"}, {"code": "quota exceeded"}]
    lines = [{"id": number, "predicted_sql": None, "error": error} for number, error in enumerate(errors)]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    for prediction in load_predictions(path, formats=registry.case_formats()).predictions:
        assert prediction.failure is not None
        assert prediction.failure.message.endswith("contains no query: 'quota exceeded'")
