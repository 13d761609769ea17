"""What every format says of a comparison of two runs."""

from __future__ import annotations

import json

import pytest
from diffs import HOSTILE, UNCLEAR, WORSE, change, diff, full_diff, hostile_diff, metric
from msgspec.structs import replace

from assay.errors import UsageError
from assay.model import CaseSide, GroupDiff, Matching, MetricDiff, RunDiff
from assay.reports.blocks.diff import DiffReport
from assay.reports.blocks.values import Changes
from assay.reports.console.diff import plain_diff, print_diff
from assay.reports.diff_formats import DIFF_FORMATS, render_diff
from assay.reports.notebook import diff_html
from assay.reports.screen.diff import diff_screen
from assay.reports.screen.run import screen_text
from assay.reports.text.plain import p_text, points, points_interval, some
from drawing import drawn_by
from many_cases import each


def drawn(record: RunDiff, width: int = 100, *, cases: int | None = None) -> str:
    return drawn_by(lambda console: print_diff(record, console=console, cases=cases), width=width)


@each(
    ("metrics", "sentence"),
    [
        (None, "Better: match rose by 2.3 points [+0.8, +3.9], from 71.2 % to 73.5 % over 1,034 cases; p = 0.003"),
        (WORSE, "Worse: match fell by 2.3 points [-3.9, -0.8], from 73.5 % to 71.2 % over 1,034 cases; p = 0.003"),
        (
            UNCLEAR,
            (
                "No difference that these 120 cases can show: match rose by 1.7 points [-4.2, +7.5], from 60.0 % to "
                "61.7 %; p = 0.79; a difference below 7.1 points would probably go unnoticed; some 880 cases would be "
                "needed for the one observed"
            ),
        ),
    ],
)
def test_the_sentence_says_direction_difference_interval_and_significance(
    metrics: MetricDiff | None, sentence: str
) -> None:
    view = DiffReport(diff(metrics=(metrics,)) if metrics else diff())
    assert view.sentence == sentence
    assert (view.direction == "unclear") == (metrics is UNCLEAR)


def test_a_difference_that_other_databases_may_not_show_is_claimed_for_these_cases_only() -> None:
    view = DiffReport(diff(metrics=(metric(low=-0.006, high=0.052, clusters=20),)))
    assert view.lead == "Better on these cases, perhaps not on others"
    assert not view.firm
    assert "allowing for the cases of each of 20 databases being alike" in plain_diff(view.diff)
    assert next(iter(view.figures.values())).sign == "△"


def test_two_equal_runs_differ_in_nothing() -> None:
    same = metric(baseline=0.7, candidate=0.7, difference=0.0, low=-0.004, high=0.004, gained=0, lost=0, p_value=1.0)
    view = DiffReport(diff(metrics=(replace(same, detectable=0.009, cases_needed=None),)))
    assert view.direction == "unclear"
    assert "match is 70.0 % in both, and no case changed, a difference of 0 points [-0.4, +0.4]" in view.rest
    assert "would be needed" not in view.rest


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"matching": Matching(paired=0)}, "no case of the same content in common"),
        ({"metrics": (metric("bird_ex"),)}, "not both runs have the metric match"),
        (
            {"metrics": (metric(n=0, baseline=None, candidate=None, difference=None, low=None, high=None),)},
            "no case has a score of match in both runs",
        ),
    ],
)
def test_nothing_to_compare_is_said_and_drawn(fields: dict[str, object], why: str) -> None:
    record = diff(**fields)
    assert DiffReport(record).sentence == f"Nothing to compare: {why}"
    assert "Nothing to compare" in drawn(record)
    for name in set(DIFF_FORMATS) - {"html"}:  # which needs the runs themselves
        assert why.encode() in render_diff(record, name)
    with pytest.raises(UsageError, match="give the two runs"):
        render_diff(record, "html")


def test_the_headline_is_judged_by_its_own_p_and_the_others_by_the_adjusted_one() -> None:
    view = DiffReport(
        diff(
            metrics=(metric(p_value=0.03, adjusted_p_value=0.2), metric("bird_ex", p_value=0.03, adjusted_p_value=0.2))
        )
    )
    assert [figure.direction for figure in view.figures.values()] == ["better", "unclear"]


def test_interval_and_test_that_disagree_are_noted() -> None:
    close = DiffReport(diff(metrics=(metric(low=-0.001),)))
    strict = DiffReport(diff(metrics=(metric(p_value=0.06),)))
    assert "close call" in close.notes[-1]
    assert "stricter" in strict.notes[-1]


def test_cases_are_counted_by_what_became_of_them_and_the_first_named_with_both_reasons() -> None:
    text = plain_diff(full_diff(), cases=1)
    assert "40 fixed, 40 broken, 40 more often right, 40 less often right, 40 still wrong in another way" in text
    fixed = text.index("Fixed: 40")
    assert fixed < text.index("Broken: 40") < text.index("Still wrong in another way: 40") < text.index("\nMetrics")
    named, before, after, more = text[fixed:].splitlines()[1:5]
    assert named == "  fixed-0: How many singers are there? (concert_singer · easy)"
    assert before == "    baseline: wrong: 2 rows are missing"
    assert after == "    candidate: right: the same rows"
    assert more.startswith("  and fixed-1, fixed-2, ")
    assert more.endswith(", +27")


def test_a_renamed_case_shows_both_ids_and_repeats_their_share() -> None:
    base = change("better")
    side = CaseSide(case_id="old", right=1, wrong=2, unscored=0, query=None, reason="2 rows are missing")
    renamed = replace(base, baseline=side, candidate=replace(side, case_id="new", right=2, wrong=1))
    blocks = [block for section in DiffReport(diff(renamed)).sections for block in section.blocks]
    [changes] = [block for block in blocks if isinstance(block, Changes)]
    assert changes.rows[0].id == "new (was old)"
    assert (changes.rows[0].baseline.state, changes.rows[0].candidate.state) == ("1 of 3 right", "2 of 3 right")


@each("width", [30, 60, 80, 100, 160])
def test_a_terminal_of_any_width_shows_the_answer_and_overflows_nowhere(width: int) -> None:
    for record in (full_diff(), hostile_diff(), diff(metrics=(UNCLEAR,))):
        text = drawn(record, width)
        assert max(map(len, text.splitlines())) <= width
        assert ("No" if record.metrics[0] is UNCLEAR else "Better") in text


def test_a_narrow_terminal_shows_the_p_value_that_the_sign_goes_by() -> None:
    found = metric(p_value=0.004, adjusted_p_value=0.074)
    groups = tuple(GroupDiff(kind="database", name=name, cases=20, metrics=(found,)) for name in ("shop", "bank"))
    record = diff(metrics=(found, metric("bird_ex", p_value=0.005, adjusted_p_value=0.091)), groups=groups)
    wide, narrow = drawn(record, 160), drawn(record, 72)
    assert all(shown in wide for shown in ("p (Holm)", "0.005", "0.091"))
    [headline] = [line for line in narrow.splitlines() if line.strip().startswith("match ") and "▲" in line]
    assert "0.004" in headline
    for name in ("bird_ex", "shop", "bank"):
        [line] = [line for line in narrow.splitlines() if line.strip().startswith(f"{name} ")]
        assert "· +2.3" in line
        assert ("0.091" if name == "bird_ex" else "0.074") in line


@each(
    ("query", "language"),
    [("SELECT 1", "sql"), ('{"datasets": []}', "json"), ("[]", "json"), ("https://host/data/A,B,1.0/.X.", "text")],
)
def test_markdown_marks_a_selection_not_as_sql(query: str, language: str) -> None:
    one = change("broken")
    record = diff(replace(one, candidate=replace(one.candidate, query=query)))
    assert f"```{language}\n{query}\n```" in render_diff(record, "md").decode()


def test_every_form_names_holms_correction_if_several_metrics_are_tested() -> None:
    several, single = diff(metrics=(metric(), metric("bird_ex", adjusted_p_value=0.2))), diff(metrics=(metric(),))
    for record in (several, single):
        view = DiffReport(record)
        forms = (
            screen_text(diff_screen(view)),
            drawn(record, 160),
            drawn(record, 80),
            render_diff(record, "md").decode(),
            plain_diff(record),
            diff_html(record),
        )
        named = ["Holm" in text for text in forms]
        assert all(named) if record is several else not named[0]


def test_every_part_is_on_the_terminal_in_the_order_of_its_weight() -> None:
    text = drawn(full_diff(), 130)
    parts = ("Better:", "different versions of Assay", "Gates: 1 of 2 passed", "Fixed: 40", "Broken: 40", "Metrics")
    parts += ("match by difficulty", "match by database", "Cases that are not the same", "What these numbers can show")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "[+0.8, +3.9]" in text
    assert "━●━" in text
    assert "and 12 in which fewer cases changed" in text


def test_an_interval_that_holds_zero_crosses_the_axis_and_one_that_does_not_leaves_it() -> None:
    lines = [line for line in drawn(diff(), 130).splitlines() if "71.2 % →" in line]
    assert ["┿" in line for line in lines] == [False, True]


def test_nothing_from_outside_reaches_the_terminal_as_a_control_sequence() -> None:
    for text in (drawn(hostile_diff()), plain_diff(hostile_diff())):
        assert "\x1b[31m" not in text
        assert "\u202e" not in text
        assert "⟨U+001B⟩" in text


@each("long", [1, 400])
def test_markdown_fits_a_comment_however_much_there_is(long: int) -> None:
    made = full_diff(300)
    query = "SELECT x, " * 300 * long
    changes = tuple(
        replace(one, question="why " * long, baseline=replace(one.baseline, query=query)) for one in made.changes
    )
    text = render_diff(replace(made, changes=changes, notes=("n" * 5000,) * 50), "md", cases=200).decode()
    assert len(text) < 60_000
    assert "### Metrics" in text
    assert f"+{300 - 40:,}" in text or "Fixed: 300" in text


def test_markdown_leads_with_the_answer_and_folds_the_cases() -> None:
    text = render_diff(full_diff(), "md").decode()
    assert text.startswith("## `graphix` against `din`\n\n🟢 **Better**: match rose by 2.3 points")
    assert "<details><summary><b>Fixed: 40</b> (wrong in the baseline, right in the candidate)</summary>" in text
    gate = "| **`must-pass tag:smoke`** | ❌ **missed** | all of 12 right | 10 of 12 | 2 of 12 cases | `17, 21` |"
    assert gate in text
    assert text.index("### Gates") < text.index("Fixed: 40") < text.index("### Metrics")


def test_json_has_all_of_it_under_the_names_of_the_model() -> None:
    document = json.loads(render_diff(full_diff(), "json"))
    assert document["format"] == "assay-diff"
    assert document["answer"]["direction"] == "better"
    assert document["counts"]["fixed"] == 40
    assert document["counts"]["otherwise"] == 40
    assert len(document["changes"]) == 9 * 40
    assert document["metrics"][0]["difference"] == 0.023
    assert document["metrics"][0]["direction"] == "better"
    assert document["matching"]["removed"][0] == "gone-0"
    assert document["gates"][1]["missed_by"] == "2 of 12 cases"
    hostile = json.loads(render_diff(hostile_diff(), "json"))
    assert hostile["changes"][0]["question"] == HOSTILE.replace("\udcff", "\\udcff")


def test_an_unknown_format_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"'docx'.*md, json, txt"):
        render_diff(diff(), "docx")


def test_points_and_p_are_rounded() -> None:
    values = (0.023, -0.0005, 0.0004, 0.0, None, 1)
    assert [points(value) for value in values] == ["+2.3", "-0.1", "+0.04", "0.0", "n/a", "+100.0"]
    assert [points_interval(-0.01, 0.02), points_interval(None, None)] == ["[-1.0, +2.0]", ""]
    p_values = (0.0004, 0.0031, 0.04996, 0.27, None)
    assert [p_text(value, alpha=0.05) for value in p_values] == ["< 0.001", "0.003", "0.04996", "0.27", ""]
    assert [some(7), some(873), some(12_345)] == ["7", "880", "13,000"]
