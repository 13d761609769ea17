"""The Markdown report: fit for a comment, and nothing from outside is rendered."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from diffs import HOSTILE, board, full_diff, hostile_diff, metric
from handmade import Named
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace
from readback import assert_harmless
from selections import hostile_selection_run

from assay.model import Count, Evidence, GateResult, Run, Score
from assay.reports.markdown.blocks import cell_code, code
from assay.reports.markdown.comparisons import diff_markdown, leaderboard_markdown
from assay.reports.markdown.run import MarkdownReporter
from assay.reports.text.plain import one_line

PARSER = MarkdownIt("commonmark").enable("table")


def test_nothing_from_outside_is_rendered(hostile_run: Run, hostile_text: str) -> None:
    selected = hostile_selection_run(hostile_text)
    for run in (hostile_run, selected):
        assert_harmless(MarkdownReporter().render(run).decode())
    assert_harmless(diff_markdown(hostile_diff()).decode())
    assert_harmless(leaderboard_markdown(board(*(f"{number}{HOSTILE}" for number in range(60)))).decode())


@given(st.text(st.characters(), max_size=40))
def test_a_code_span_shows_its_text(text: str) -> None:
    shown = one_line(text)
    (inline,) = [token for token in PARSER.parse("x " + code(shown)) if token.type == "inline"]
    assert [child.content.strip() for child in inline.children or [] if child.type == "code_inline"] == [shown.strip()]


def test_a_bar_in_a_table_cell_is_an_entity() -> None:
    assert "|" not in cell_code("a || '\\|' b")


def test_long_runs_fit_a_comment(large_run: Run) -> None:
    text = MarkdownReporter().render(large_run).decode()
    assert len(text) < 65_536
    assert "more are in the HTML and JSON reports." in text


def test_huge_queries_fit_a_comment(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    huge = replace(wrong_case.prediction, query="SELECT " + "x, " * 20_000)
    cases = [replace(wrong_case, case=replace(wrong_case.case, id=str(i)), prediction=huge) for i in range(30)]
    assert len(MarkdownReporter().render(build_run(cases)).decode()) < 65_536


def test_the_difference_tells_null_from_text(small_run: Run) -> None:
    block = MarkdownReporter().render(small_run).decode().split("```diff\n")[1].split("```")[0]
    assert {"NULL", "''", "'31'"} <= set(block.replace("|", " ").split())


def test_hundreds_of_metrics_fit_a_comment(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    metrics = [Named(f"metric_{number}_{'x' * 60}", binary=False) for number in range(800)]
    scores = tuple(Score(metric=metric.name, value=0.5) for metric in metrics)
    text = MarkdownReporter().render(build_run([replace(wrong_case, scores=scores)], metrics=metrics)).decode()
    assert len(text) < 65_536
    assert "too long for a comment: the HTML and JSON reports have all numbers." in text


def test_comments_and_step_summaries_stay_within_their_bytes(
    build_run: Callable[..., Run], wrong_case: Evidence
) -> None:
    wide = replace(wrong_case, case=replace(wrong_case.case, question="\U0001f600" * 6000))
    cases = [replace(wide, case=replace(wide.case, id=str(number))) for number in range(30)]
    # A comment has room for 65,536 characters of 4 bytes, a step summary for 1 MiB.
    assert len(MarkdownReporter().render(build_run(cases))) < 4 * 65_536


def outside(text: str) -> int:
    """The number of lines that are not folded."""
    depth = count = 0
    for line in text.splitlines():
        depth += line.startswith("<details>")
        count += depth == 0
        depth -= line == "</details>"
    assert depth == 0
    return count


GATES = tuple(
    GateResult(gate=f"min m{number}=0.9", passed=number != 77, wanted="0.9", found="0.8", missed_by="0.1")
    for number in range(80)
)


def test_a_run_of_any_size_shows_150_lines_and_folds_the_rest(large_run: Run) -> None:
    totals, many = large_run.aggregates, range(60)
    overall = replace(
        totals.overall,
        metrics=(*totals.overall.metrics, *(replace(totals.overall.metrics[0], metric=f"m{one}") for one in many)),
    )
    group = replace(totals.overall, kind="database")
    counts = tuple(Count(name=f"cause_{one}", count=9, case_ids=("1",)) for one in many)
    totals = replace(
        totals,
        overall=overall,
        by_database=tuple(replace(group, name=f"d{one}") for one in many),
        fix_first=counts,
        causes=counts,
    )
    text = MarkdownReporter().render(replace(large_run, aggregates=totals, gates=GATES)).decode()
    assert outside(text) <= 150
    assert text.splitlines()[2].startswith("**")
    assert "min m77=0.9" in text.partition("<details>")[0]
    assert len(text) < 65_536


def test_a_comparison_shows_150_lines_and_folds_the_rest() -> None:
    record = replace(
        full_diff(300),
        metrics=tuple(metric(f"m{one}") for one in range(70)),
        notes=tuple(f"Note {one}." for one in range(40)),
        gates=GATES,
    )
    text = diff_markdown(record).decode()
    assert outside(text) <= 150
    assert "min m77=0.9" in text.partition("<details>")[0]


@pytest.mark.parametrize("count", [2, 12, 90])
def test_a_leaderboard_shows_150_lines_and_folds_the_rest(count: int) -> None:
    text = leaderboard_markdown(board(*(f"system-{one}" for one in range(count)))).decode()
    assert outside(text) <= 150
    assert "system-0" in text.partition("<details>")[0]
