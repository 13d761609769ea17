"""What all formats share: the headline, the notes, and the same bytes for the same run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from counted import counted
from handmade import RUNS, Named
from msgspec.structs import replace

from assay.model import Evidence, Failure, Run
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.run_numbers import differing
from assay.reports.blocks.values import Number, Table
from assay.reports.console.run import plain_summary
from assay.reports.html.run import HtmlReporter
from assay.reports.json.run import JsonReporter
from assay.reports.markdown.run import MarkdownReporter
from drawing import draw_summary
from many_cases import each

REPORTERS = [JsonReporter(), MarkdownReporter(), HtmlReporter()]


def test_the_headline_reads_the_same_everywhere(small_run: Run) -> None:
    view = RunReport(small_run)
    line = f"{view.headline.text} {view.headline.interval} · {view.tally}"
    assert line == "40.0 % [11.8, 76.9] · 2 of 5 correct · 1 unscored"
    assert line in draw_summary(small_run, width=80)
    assert line.replace("40.0 %", "**40.0 %**") in MarkdownReporter().render(small_run).decode()
    page = re.sub("<[^>]+>", " ", HtmlReporter().render(small_run).decode())
    assert line in " ".join(page.split())
    headline = json.loads(JsonReporter().render(small_run))["headline"]
    assert f"{headline['text']} · {headline['tally']}" == line
    assert "match: 40.0 % [11.8, 76.9] (2 of 5), 1 unscored" in plain_summary(view)


@pytest.mark.parametrize("reporter", REPORTERS, ids=lambda reporter: reporter.name)
@pytest.mark.parametrize("name", RUNS)
def test_any_run_renders_the_same_bytes_twice(name: str, reporter: object, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(name)
    rendered = reporter.render(run)  # type: ignore[attr-defined]
    assert rendered == reporter.render(run)  # type: ignore[attr-defined]
    rendered.decode()


def test_gold_failures_come_first_and_are_not_held_against_the_system(small_run: Run) -> None:
    view = RunReport(small_run)
    failures = counted(view, "failures")
    assert [row.blame for row in failures] == ["gold", "system", "system"]
    assert failures[0].example == "no such column: T1.nme"
    assert view.notes[0] == "1 case is excluded: its gold query fails (g1): no such column: T1.nme"


def test_notes_say_what_the_headline_hides(small_run: Run) -> None:
    notes = " ".join(RunReport(small_run).notes)
    assert "1 case is unanswered (no predicted query) and counts as incorrect." in notes
    assert "1 match over an empty input proves little" in notes
    assert '1 prediction matches no case: "zz".' in notes


def test_an_unanswered_case_that_is_in_no_rate_is_not_said_to_count(
    build_run: Callable[..., Run], wrong_case: Evidence
) -> None:
    unanswered = replace(GOLD, stage="predict", kind="unanswered", blame="system")
    silent = replace(wrong_case.prediction, query=None, failure=unanswered)
    counted = replace(wrong_case, prediction=silent)
    unscored = replace(counted, verdict=replace(counted.verdict, outcome="unscored", failure=GOLD))
    unscored = replace(unscored, case=replace(unscored.case, id="other"), prediction=replace(silent, case_id="other"))
    notes = RunReport(build_run([counted, unscored])).notes
    assert "2 cases are unanswered (no predicted query); 1 of them counts as incorrect." in notes
    assert "1 case is unanswered (no predicted query)." in RunReport(build_run([unscored])).notes


GOLD = Failure(stage="execute", kind="error", blame="gold", message="no such table: x")
LOST = Failure(stage="execute", kind="crashed", blame="engine", message="gone")


def excluded(item: Evidence, *failures: Failure) -> list[Evidence]:
    """An unscored case for each of the failures."""
    return [
        replace(
            item,
            case=replace(item.case, id=f"c{place}"),
            prediction=replace(item.prediction, case_id=f"c{place}"),
            verdict=replace(item.verdict, outcome="unscored", failure=failure),
        )
        for place, failure in enumerate(failures)
    ]


@each(
    ("messages", "said"),
    [
        (["x"], ["1 case is excluded: its gold query fails (c0): x"]),
        (["x", "x"], ["2 cases are excluded: their gold queries fail (c0, c1): x"]),
        (
            ["x", "x", "y"],
            [
                "3 cases are excluded: their gold queries fail (c0, c1, c2).",
                "Most frequent message on gold queries (2 of 3): x",
            ],
        ),
        (
            ["x", None],
            [
                "2 cases are excluded: broken gold query in 1, transient failures in 1 (c0).",
                "Message on gold queries: x",
            ],
        ),
    ],
)
def test_what_gold_queries_fail_with_is_said_once(
    build_run: Callable[..., Run], wrong_case: Evidence, messages: list[str | None], said: list[str]
) -> None:
    failures = [LOST if message is None else replace(GOLD, message=message) for message in messages]
    notes = RunReport(build_run(excluded(wrong_case, *failures))).notes
    assert list(notes[: len(said)]) == said
    assert sum(": x" in note for note in notes) == 1


@each(
    ("failure", "said"),
    [
        (Failure(stage="ask", kind="ask_failed", blame="network", message="HTTP 503"), "could not be asked or scored"),
        (LOST, "could not be asked or scored"),
        (Failure(stage="compare", kind="uncomparable", blame="assay", message="x"), "could not be"),
        (Failure(stage="execute", kind="no_database", blame="setup", code="duckdb", message="x"), "need"),
    ],
)
def test_a_cause_of_exclusion_agrees_with_its_number(
    build_run: Callable[..., Run], wrong_case: Evidence, failure: Failure, said: str
) -> None:
    for count, start in ((1, "1 case is excluded: it"), (2, "2 cases are excluded: they")):
        note = RunReport(build_run(excluded(wrong_case, *[failure] * count))).notes[0]
        assert note.startswith(f"{start} {said}")


def test_a_broken_gold_beside_a_good_one_is_named(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    failure = replace(wrong_case.gold_executions[1], status="error", failure=GOLD)
    case = replace(wrong_case, gold_executions=(wrong_case.gold_executions[0], failure))
    assert "In 1 scored case one of several gold queries fails." in RunReport(build_run([case])).notes


def test_the_slowest_queries_are_distinct_and_in_order(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    again = replace(wrong_case, case=replace(wrong_case.case, id="89"))
    [section] = [one for one in RunReport(build_run([wrong_case, again])).sections if one.key == "slowest"]
    [table] = section.blocks
    assert isinstance(table, Table)
    rows = [row.cells for row in table.rows]
    assert [(time.text, side) for time, side, *_ in rows if isinstance(time, Number)] == [
        ("4.2 s", "predicted"),
        ("1.2 ms", "gold"),
        ("1.2 ms", "gold"),
    ]


def test_an_empty_run_says_that_there_is_nothing(empty_run: Run) -> None:
    view = RunReport(empty_run)
    assert (view.headline.text, view.headline.interval, view.tally) == ("n/a", "", "no scored case · 0 unscored")
    assert "no scored case" in HtmlReporter().render(empty_run).decode()


def test_a_run_without_match_is_headed_by_its_first_metric(build_run: Callable[..., Run], right_case: Evidence) -> None:
    score = replace(right_case.scores[0], metric="percent_overlap", value=0.25)
    view = RunReport(
        build_run([replace(right_case, scores=(score,))], metrics=[Named("percent_overlap", binary=False)])
    )
    assert (view.headline_metric, view.headline_name) == ("percent_overlap", "percent_overlap")
    assert view.tally == "mean of 1 · 0 unscored"


def test_the_cross_table_counts_what_the_pairs_count(large_run: Run) -> None:
    view = RunReport(large_run)
    tables = [block for one in view.sections for block in one.blocks if isinstance(block, Table)]
    (matrix,) = (table for table in tables if table.look == "matrix")
    names = [column.title for column in matrix.columns[1:]]
    cells = [row.cells[1:] for row in matrix.rows]
    only = [[int(cell.value or 0) if isinstance(cell, Number) else 0 for cell in line] for line in cells]
    for row in view.disagreements:
        first, second = names.index(row.first), names.index(row.second)
        assert (only[first][second], only[second][first]) == (len(row.only_first), len(row.only_second))
        assert differing(row) == only[first][second] + only[second][first]
    assert sum(map(sum, only)) == sum(map(differing, view.disagreements))
    assert all(cells[place][place] is None for place in range(len(names)))


def test_loading_the_reporters_loads_none_of_their_libraries() -> None:
    code = (
        "import sys, assay.reports.html.run, assay.reports.json.run, assay.reports.markdown.run, "
        "assay.reports.console.run, assay.reports.excel.run, "
        "assay.runs.aggregate.totals; "
        "assert not {'jinja2', 'markupsafe', 'rich', 'numpy', 'xlsxwriter'} & set(sys.modules), "
        "sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
