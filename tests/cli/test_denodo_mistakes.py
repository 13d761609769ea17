"""Mistakes around a workbook of Denodo's evaluator: the answer names the options and the run that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.cli.app import run_command_line
from assay.cli.verbs.denodo_steps import targets_of
from assay.errors import UsageError
from assay.model import InactiveReview, Rate, ReviewTotals
from assay.model.runs.metric_names import metric_hint
from assay.reports.blocks.reviews import said
from assay.runs.reviews.applying import NO_SUCH_CASE
from assay.runs.store.folder import RUN_FILE, missing_run

OPTIONS = {
    "xlsx": "--output",
    "xlsx-f1": "--f1-output",
    "xlsx-ves": "--ves-output",
    "xlsx-answers": "--output-original",
    "html": "--html",
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("file", ["folder", "file/report.xlsx"])
def test_a_target_that_cannot_be_written_is_named_by_its_option(name: str, file: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError) as raised:
        targets_of({name: tmp_path / file}, Path("questions.xlsx"), None)
    assert str(raised.value).startswith(f"{OPTIONS[name]} {tmp_path / file}: ")
    assert "--xlsx" not in str(raised.value)


@pytest.mark.parametrize("suffix", [".xls", ".html", ".csv"])
def test_the_workbook_with_another_suffix(suffix: str) -> None:
    with pytest.raises(UsageError, match=r"Write --output report\.xlsx"):
        targets_of({"xlsx": Path(f"report{suffix}")}, Path("questions.xlsx"), None)


def test_a_workbook_in_place_of_its_run_leads_to_the_run(tmp_path: Path) -> None:
    for name in ("alpha.run", "b4.run", "zeta.run"):
        (tmp_path / name).mkdir()
        (tmp_path / name / RUN_FILE).write_text("{}")
    (tmp_path / "b4.xlsx").write_text("")
    (tmp_path / "lost.xlsx").write_text("")
    assert missing_run(tmp_path / "b4.xlsx") == f"it is a file. Its run is {tmp_path / 'b4.run'}"
    assert missing_run(tmp_path / "lost.xlsx").startswith("it is a file. There is ")
    assert missing_run(tmp_path / "b4").startswith(f"it does not exist. There is {tmp_path / 'b4.run'}, ")
    assert missing_run(tmp_path / "zet").split("There is ")[-1].startswith(str(tmp_path / "zeta.run")) or (
        "did you mean" in missing_run(tmp_path / "zet")
    )


@pytest.mark.parametrize("own", [True, False])
def test_reviews_of_other_question_sets_are_named_only_beside_own_ones(own: bool) -> None:
    rate = Rate(value=0.5, numerator=1.0, n=2, unscored=0, low=None, high=None)
    other = InactiveReview(review="r", case_id="F03", decision="accept", reviewer="Ann", why=NO_SUCH_CASE, line=1)
    totals = ReviewTotals(before=rate, after=rate, reviewed=("q1",) if own else (), inactive=(other,))
    text = " ".join(said(totals))
    assert ("1 review is of a case that this run does not have, or of other question sets: F03" in text) is own


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("Percent Correct", "match"),
        ("percent_correct_queries", "match"),
        ("VES Score", "ves"),
        ("Bird Standard F1", "bird_soft_f1"),
        ("Subsetting Percentage", "percent_subset"),
        ("Have Same Row Count", "same_row_count"),
    ],
)
def test_the_columns_of_denodos_workbook_lead_to_their_metrics(name: str, metric: str) -> None:
    known = ("match", "ves", "bird_soft_f1", "percent_subset", "same_row_count")
    assert metric_hint(name, known) == f" (did you mean {metric!r}?)"


@pytest.mark.parametrize("verb", ["combined_eval", "combined-eval", "combined_eval.py", "combined_evaluation"])
def test_denodos_own_scripts_lead_to_the_verb(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line([verb, "--input", "x.xlsx"]) == 2
    assert "did you mean 'denodo'?" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["api", "catalog"])
def test_https_at_a_port_without_tls_leads_to_http(kind: str) -> None:
    from assay import registry
    from assay.errors import AssayError
    from assay.model import DatabaseUrl
    from assay.testing import DenodoEmulator

    with DenodoEmulator() as server:
        place = server.catalog_url.removeprefix("http://")
        if kind == "catalog":
            with pytest.raises(AssayError, match="try http:// instead"):
                registry.engine_class(url := DatabaseUrl(text=f"denodo+https://{place}")).check(url)
        else:
            from assay.model.databases.mistyped import plain_port_hint

            assert "try http://" in plain_port_hint("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)")
            assert plain_port_hint("Connection refused") == ""
