"""`assay runs`, and the labels that it tells runs by, through the command line."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import json_lines, sqlite_file

import assay
from assay.cli.app import DONE, UNUSABLE_INPUT, run_command_line

CASES = [{"id": str(n), "question": "how many?", "gold_sql": f"SELECT count(*) + {n} FROM t"} for n in range(4)]


def judge(output: str, *more: str) -> None:
    arguments = ["cases.jsonl", "-p", "answers.jsonl", "--db", "sqlite:///shop.sqlite", "-o", output]
    assert run_command_line(["run", *arguments, "-q", "--metrics", "match", "--workers", "1", *more]) == DONE


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A question set, answers, a database, and two runs over all cases and one over half of them."""
    folder = tmp_path_factory.mktemp("made")
    sqlite_file(folder / "shop.sqlite", "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);")
    answers = [
        {"id": case["id"], "predicted_sql": case["gold_sql"] if case["id"] != "0" else "SELECT 0"} for case in CASES
    ]
    for name, rows in (("cases", CASES), ("answers", answers)):
        json_lines(folder / f"{name}.jsonl", rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        judge("runs/a", "--tag", "nightly", "--tag", "model=gpt-4.1", "--name", "the first")
        judge("runs/b", "--tag", "nightly")
        judge("runs/c", "--tag", "smoke", "--limit", "2")
    return folder


@pytest.fixture
def runs(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the runs, in a folder to be in that is this test's own."""
    shutil.copytree(made, tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path / "own" / "runs"


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert run_command_line(["runs", "runs", "--json", *arguments]) == DONE
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return [run["name"] for run in document["runs"]]


def test_runs_are_listed_with_labels_and_headlines(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["runs", "runs"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 runs in runs · match, 95 % interval"
    assert sum("75.0 %" in line for line in lines) == 2
    [first] = [line for line in lines if "the first" in line]
    assert "nightly, model=gpt-4.1" in first
    assert "cases.jsonl" in first
    assert any(
        "2 question sets: 2 runs over cases.jsonl (4 cases); 1 run over cases.jsonl (2 cases)" in line for line in lines
    )


def test_runs_are_chosen(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, "--tag", "nightly") == ["the first", "b"]
    assert listed(capsys, "--tag", "nightly", "--tag", "model=*") == ["the first"]
    assert listed(capsys, "--name", "the *") == ["the first"]
    assert listed(capsys, "--cases", "cases") == ["the first", "b", "c"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runs", "--tag", "nighly"], ["'nighly'", "did you mean 'nightly'"]),
        (["runs", "--name", "zzz"], ["none of the 3 runs", "'zzz'"]),
        (["runs", "--cases", "case.jsonl"], ["did you mean 'cases.jsonl'"]),
        (["runs", "--metric", "mach"], ["'mach'", "did you mean 'match'"]),
        (["nowhere"], ["nowhere", "does not exist"]),
        (["runs", "--experiment", "x"], ["--mlflow"]),
    ],
)
def test_what_cannot_be_listed_is_said(
    runs: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: list[str]
) -> None:
    assert run_command_line(["runs", *arguments]) == UNUSABLE_INPUT
    message = capsys.readouterr().err
    assert all(word in message for word in said), message


def test_a_folder_without_runs_is_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["runs", str(tmp_path)]) == UNUSABLE_INPUT
    assert "contains no run" in capsys.readouterr().err


def test_the_trend_is_written(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["runs", "runs", "--html", "out/trend.html"]) == DONE
    page = Path("out/trend.html").read_text(encoding="utf-8")
    assert 'id="over-time"' in page
    assert "the first" in page


def test_a_report_draws_the_runs_before_it(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["report", "runs/b", "--html", "b.html", "--history", "runs"]) == DONE
    page = Path("b.html").read_text(encoding="utf-8")
    assert 'id="over-time"' in page
    assert "75.0 %" in page
    assert 'class="ring"' in page


def test_a_settings_file_has_tags(runs: Path) -> None:
    settings = "cases: cases.jsonl\npredictions: answers.jsonl\ndb: sqlite:///shop.sqlite\noutput: runs/y\n"
    Path("eval.yaml").write_text(f"{settings}metrics: [match]\ntags: [smoke, model=x]\n", encoding="utf-8")
    assert run_command_line(["run", "eval.yaml", "-q"]) == DONE
    assert assay.load_run("runs/y").settings.tags == ("smoke", "model=x")
    assert run_command_line(["run", "eval.yaml", "-q", "--tag", "other"]) == DONE
    assert assay.load_run("runs/y").settings.tags == ("other",)


def test_without_mlflow_the_message_has_the_command(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow.exceptions", None)
    assert run_command_line(["runs", "runs", "--mlflow", "sqlite:///mlflow.db"]) == UNUSABLE_INPUT
    assert "pip install 'alembic>=" in capsys.readouterr().err
    assert not Path("mlflow.db").exists()


@pytest.fixture
def store(tmp_path: Path) -> str:
    """The URI of an MLflow store of this test's own; MLflow keeps what it opened by its URI."""
    return f"sqlite:///{(tmp_path / 'mlflow.db').as_posix()}"


@pytest.fixture
def client(store: str) -> Any:
    """MLflow's own client on that store."""
    reason = "MLflow is not installed (pip install 'assay[mlflow]'): 25 packages, too many for the extra dev"
    pytest.importorskip("mlflow", reason=reason)
    pytest.importorskip("alembic", reason=reason)
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=store)


@pytest.mark.filterwarnings("ignore")  # MLflow's own affair
def test_runs_are_exported_to_mlflow_once(
    runs: Path, store: str, client: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for expected in ("exported 3 of 3", "exported 0 of 3"):
        assert run_command_line(["runs", "runs", "--mlflow", store, "--experiment", "mine"]) == DONE
        assert expected in capsys.readouterr().err
    experiment = client.get_experiment_by_name("mine")
    found = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    assert set(found) == {"the first", "b", "c"}
    run = found["the first"]
    stored = assay.load_run("runs/a")
    rate = stored.rate()
    assert rate is not None
    assert run.info.status == "FINISHED"
    assert run.data.metrics["match"] == rate.value
    assert (run.data.metrics["match.low"], run.data.metrics["match.high"]) == (rate.low, rate.high)
    assert (run.data.metrics["match.n"], run.data.metrics["match.unscored"]) == (4, 0)
    assert run.data.params["cases"] == "cases.jsonl"
    assert run.data.params["limits.timeout_s"] == "30"
    assert (run.data.tags["tag.nightly"], run.data.tags["tag.model"]) == ("true", "gpt-4.1")
    assert run.info.end_time - run.info.start_time == round((stored.provenance.wall_time_s or 0) * 1000)
    assert {file.path for file in client.list_artifacts(run.info.run_id)} == {"run.json", "report.html"}


@pytest.mark.filterwarnings("ignore")
def test_labels_of_an_exported_run_follow(runs: Path, store: str, client: Any) -> None:
    first = assay.export_mlflow("runs/a", tracking_uri=store)
    judge("runs/a", "--tag", "weekly", "--name", "another name")
    again = assay.export_mlflow(assay.load_run("runs/a"), tracking_uri=store)
    assert (again.run_id, first.created, again.created) == (first.run_id, True, False)
    tags = client.get_run(first.run_id).data.tags
    assert tags["mlflow.runName"] == "another name"
    assert tags["tag.weekly"] == "true"
    assert "tag.nightly" not in tags


@pytest.mark.filterwarnings("ignore")
def test_an_interrupted_export_is_made_again(
    runs: Path, store: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.reports import mlflow

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(mlflow, "_write_files", full_disk)
        with pytest.raises(assay.InputError, match="No space left"):
            assay.export_mlflow("runs/a", tracking_uri=store)
    assert assay.export_mlflow("runs/a", tracking_uri=store).created
    experiment = client.get_experiment_by_name("assay")
    assert len(client.search_runs([experiment.experiment_id])) == 1


@pytest.mark.filterwarnings("ignore")
def test_a_store_that_cannot_be_written_is_said(runs: Path, client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["runs", "runs", "--mlflow", "file:///nowhere/mlruns"]) == UNUSABLE_INPUT
    assert "MLflow cannot write to file:///nowhere/mlruns" in capsys.readouterr().err
