"""Published files as they are: Spider, BIRD's mini-dev, defog. Skipped where they are not at hand."""

from __future__ import annotations

import json

import pytest

from assay.cases import join, load_cases, load_predictions, recognise
from many_cases import each


@pytest.mark.parametrize("system", ["din-sql-gpt4", "gpt4-few-shot", "graphix-t5"])
def test_spider_dev_joins_whole(system, formats, shared_data):
    cases = load_cases(shared_data / "spider-dev" / "dev.jsonl", formats=formats)
    loaded = load_predictions(shared_data / "spider-dev" / "predictions" / f"{system}.jsonl", formats=formats)
    joined = join(cases, loaded)
    assert len(cases) == 1034
    assert [case.id for case in cases] == [str(number) for number in range(1034)]
    assert len({case.database for case in cases}) == 20
    assert all(len(case.golds) == 1 for case in cases)
    assert all(prediction.query is not None for prediction in joined.predictions)
    assert joined.unmatched == ()


def test_bird_mini_dev_as_published(formats, shared_data):
    folder = shared_data / "bird-mini-dev"
    questions = folder / "mini_dev_sqlite.json"
    assert recognise(questions, formats).name == "bird"
    cases = load_cases(questions, formats=formats)
    assert len(cases) == 500
    assert [case.id for case in cases if "#" in case.id] == ["137#2", "138#2"]
    gold = load_cases(folder / "mini_dev_sqlite_gold.sql", formats=formats)
    assert [(case.golds[0].strip(), case.database) for case in cases] == [(g.golds[0], g.database) for g in gold]

    predictions = folder / "predict_mini_dev_gpt-4_sqlite.json"
    assert recognise(predictions, formats).name == "bird"
    joined = join(cases, load_predictions(predictions, formats=formats))
    assert joined.unmatched == ()
    raw = json.loads(predictions.read_text(encoding="utf-8"))
    for position, (case, prediction) in enumerate(zip(cases, joined.predictions, strict=True)):
        query, _, database = raw[str(position)].partition("\t----- bird -----\t")
        assert (prediction.case_id, prediction.query, database) == (case.id, query.rstrip(), case.database)


@each(
    ("name", "count"),
    [
        ("instruct_advanced_postgres", 64),
        ("instruct_basic_postgres", 40),
        ("questions_gen_postgres", 210),
        ("questions_gen_sqlite", 210),
    ],
)
def test_defog_csv_as_published(name, count, formats, shared_data):
    cases = load_cases(shared_data / "defog-postgres" / f"{name}.csv", formats=formats)
    assert len(cases) == count
    assert all(case.golds and case.database and case.tags for case in cases)
    assert all("SELECT" in case.golds[0].upper() for case in cases)
