"""`assay review RUN --export FILE`: what is written, and what is said of it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.runs.reviews.reviewing import review_of

import assay
from assay.cli.verbs.review_export import export
from assay.demo import sdmx_path
from assay.errors import InputError
from assay.runs.reviews.file import append_reviews


def test_corrected_set_is_written_and_its_gaps_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("shop.sqlite") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    connection.close()
    golds = {"q1": "SELECT a FROM t", "q2": "SELECT a + 1 FROM t"}
    lines = [json.dumps({"id": id_, "question": f"{id_}?", "gold": gold}) for id_, gold in golds.items()]
    Path("dev.jsonl").write_text("\n".join(lines))
    url = "sqlite:///shop.sqlite"
    run = assay.evaluate("dev.jsonl", golds, databases=url, metrics=["match"], workers=1, output="runs/one")
    wrong = review_of(run.evidence[0].case, "gold_wrong", gold="SELECT 5", note="five")
    rejected = review_of(run.evidence[1].case, "reject", run.evidence[1])
    append_reviews(Path("reviews.jsonl"), [wrong, rejected])
    assay.evaluate("dev.jsonl", golds, databases=url, metrics=["match"], workers=1, output="runs/one")

    export(Path("runs/one"), Path("gold.json"), reviews=Path("reviews.jsonl"))
    told = capsys.readouterr()
    assert "written: gold.jsonl (jsonl), with 1 corrected question" in told.out
    assert "q1: Ana: the gold query is wrong, and corrected (five)" in told.out
    assert "JSON Lines: the target is a .json file" in told.err
    assert "q2: incorrect by its review, correct by the written set" in told.err
    assert [json.loads(line)["gold"] for line in Path("gold.jsonl").read_text().splitlines()] == [
        "SELECT 5",
        golds["q2"],
    ]

    Path("dev.jsonl").rename("moved.jsonl")
    with pytest.raises(InputError, match=r"dev\.jsonl' is not found"):
        export(Path("runs/one"), Path("gold.jsonl"), reviews=Path("reviews.jsonl"))


def test_targets_of_selections_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("cases.yaml", "predictions.jsonl"):
        shutil.copyfile(sdmx_path(name), name)
    run = assay.evaluate_selections("cases.yaml", "predictions.jsonl", output="run")
    append_reviews(Path("reviews.jsonl"), [review_of(run.evidence[1].case, "gold_wrong")])
    with pytest.raises(InputError, match="only gold queries are corrected and written"):
        export(Path("run"), Path("new.yaml"), reviews=Path("reviews.jsonl"))
    assert not Path("new.yaml").exists()
