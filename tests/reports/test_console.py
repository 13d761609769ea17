"""The console summary: it fits, it keeps its numbers without colour, and plain output is plain."""

from __future__ import annotations

import io
import re
import shlex

import pytest
from handmade import RUNS
from msgspec.structs import replace
from rich.console import Console

from assay import Run as RunInHand
from assay.model import Count, Run
from assay.reports.blocks.run import RunReport
from assay.reports.console.run import drawn as drawn_parts
from assay.reports.console.run import next_steps, plain_summary, print_summary
from assay.reports.screen.run import run_screen, screen_text
from drawing import draw_summary, drawn_by
from many_cases import each


@pytest.mark.parametrize("name", RUNS)
def test_no_line_is_wider_than_the_terminal(name: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(name)
    for width in (40, 80, 120, 200):
        assert max(len(line) for line in draw_summary(run, width=width).splitlines()) <= width


def test_at_80_columns_no_figure_is_cut(large_run: Run) -> None:
    lines = draw_summary(large_run, width=80).splitlines()
    view = RunReport(large_run)
    figures = [(row.metric, row.figure) for row in view.metrics]
    figures += [
        (view.group_name(group), view.figure(group, view.leading)) for _, groups in view.groups for group in groups
    ]
    for name, figure in figures:
        assert any(all(part in line for part in (name, figure.text, figure.interval, figure.tally)) for line in lines)


def test_colour_is_only_an_addition(small_run: Run) -> None:
    coloured = draw_summary(small_run, width=100, colour=True)
    assert "\x1b[" in coloured
    without = re.sub("\x1b\\[[0-9;]*m", "", coloured)
    assert without == re.sub("\x1b\\[[0-9;]*m", "", draw_summary(small_run, width=100))


def test_no_color_is_respected(small_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system="standard")
    with console.capture() as captured:
        print_summary(small_run, console=console)
    assert not re.search("\x1b\\[[0-9;]*3[0-7]m", captured.get())


def test_elsewhere_than_on_a_terminal_lines_are_plain(small_run: Run) -> None:
    out = io.StringIO()
    print_summary(small_run, console=Console(file=out, width=40), run_path="runs/my run")
    text = out.getvalue()
    assert text == plain_summary(RunReport(small_run), run_path="runs/my run")
    assert "assay view 'runs/my run'" in text
    assert not re.search("[\x1b╭│━]", text)
    assert RunInHand(small_run).summary(full=True) == plain_summary(RunReport(small_run))
    assert RunInHand(small_run).summary() == screen_text(run_screen(RunReport(small_run)))


def test_an_output_that_is_not_utf8_gets_no_traceback(small_run: Run) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    print_summary(small_run, console=Console(file=out, force_terminal=True))
    out.flush()
    assert b"match: 40.0 %" in raw.getvalue()


@each("drawn", [True, False])
def test_hostile_text_cannot_speak_to_the_terminal(hostile_run: Run, drawn: bool) -> None:
    text = draw_summary(hostile_run, width=120) if drawn else plain_summary(RunReport(hostile_run))
    text = re.sub("\x1b\\[[0-9;]*m", "", text)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    text.encode()


def test_disagreements_failures_and_next_steps_are_named(small_run: Run) -> None:
    text = draw_summary(small_run, width=120, run_path="runs/a")
    assert re.search(r"match +bird_ex +1 +12", text)
    assert re.search(r"gold: error +1 +g1 +no such column: T1.nme", text)
    assert re.search(r"type only +1 +88", text)
    assert "assay view runs/a" in text


def test_reports_that_exist_are_pointed_at_and_not_offered_again(small_run: Run) -> None:
    view = RunReport(small_run)
    text = plain_summary(view, run_path="runs/a", written={"html": "a.html"})
    assert text.endswith(
        "in a browser: a.html\nreview verdicts and gold queries: assay review runs/a\n"
        "for a pull request: assay report runs/a --md report.md\n"
    )
    assert "assay report" not in plain_summary(view), "a run that is stored nowhere cannot be drawn later"
    assert "assay explain" not in plain_summary(view)


def test_the_next_useful_command_stands_at_the_end(small_run: Run) -> None:
    view = RunReport(small_run)
    steps = next_steps(view, "runs/my run", earlier="runs/-a")
    [explain, compare, show, review, share] = [shlex.split(command) for _, command in steps]
    wrong = {item.case.id for item in small_run.evidence if item.outcome == "incorrect"}
    assert explain[:3] == ["assay", "explain", "runs/my run"]
    assert explain[3] in wrong
    assert compare == ["assay", "diff", "runs/-a", "runs/my run"]
    assert review == ["assay", "review", "runs/my run"]
    assert (show, share[:3]) == (["assay", "view", "runs/my run"], ["assay", "report", "runs/my run"])
    assert plain_summary(view, run_path="runs/my run", earlier="runs/-a").splitlines()[-5].endswith(steps[0][1])


def test_where_all_is_right_nothing_is_to_be_explained(small_run: Run) -> None:
    nothing = replace(small_run.aggregates, fix_first=(), causes=(), near_misses=(), failures=())
    view = RunReport(replace(small_run, aggregates=nothing))
    assert [command.split()[1] for _, command in next_steps(view, "runs/a")] == ["view", "review", "report"]


@each("name", ["a b", "it's", "-x", "--help", "$(touch x)", "é"])
def test_a_case_is_named_as_a_shell_takes_it(small_run: Run, name: str) -> None:
    summaries = (replace(small_run.summaries[0], case_id=name), *small_run.summaries[1:])
    first = replace(small_run.aggregates, fix_first=(Count(name="c", count=1, case_ids=(name,)),))
    report = RunReport(replace(small_run, summaries=summaries, aggregates=first))
    words = shlex.split(next_steps(report, "runs/a")[0][1])
    assert words == ["assay", "explain", "runs/a", *(["--"] if name.startswith("-") else []), name]


@each("drawn", [True, False])
def test_the_summary_leads_with_what_matters(small_run: Run, drawn: bool) -> None:
    text = draw_summary(small_run, width=100) if drawn else plain_summary(RunReport(small_run))
    order = ["40.0 %", "Accuracy by difficulty", "metrics", "failures", "near misses", "metrics disagree"]
    order.append("by database")
    places = [text.lower().find(part.lower()) for part in order]
    assert places == sorted(places), dict(zip(order, places, strict=True))
    assert -1 not in places


@each("drawn", [True, False])
def test_many_groups_are_shortened_to_those_with_most_cases(large_run: Run, drawn: bool) -> None:
    seen = large_run.aggregates.by_tag[0]
    tags = tuple(replace(seen, name=f"group {number}", cases=number) for number in range(1, 31))
    numbers = replace(large_run.aggregates, by_difficulty=(), by_database=(), by_tag=tags)
    many = RunReport(replace(large_run, aggregates=numbers))
    if drawn:
        text = drawn_by(lambda console: console.print(*drawn_parts(many, (), 100), sep="\n"), width=100)
    else:
        text = plain_summary(many)
    assert re.findall(r"group (\d+)", text) == [str(number) for number in range(23, 31)]
    assert "and 22 with fewer cases" in text


def test_plain_text_names_the_cases_of_the_pairs_with_the_headline_only(small_run: Run) -> None:
    view = RunReport(small_run)
    assert not all(map(view.leads, view.disagreements))
    text = plain_summary(view)
    pairs = re.findall(r"^  (\w+)  +(\w+)  +\d+  \w", text[text.index("accepted only by") :], re.M)
    assert pairs
    assert all("match" in pair for pair in pairs)
    assert re.search(r"^  1 match +· ", text, re.M)
