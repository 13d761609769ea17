"""Summaries of one screen: at most 40 lines, no line wider than the terminal, headline first and last."""

from __future__ import annotations

import io
import re
import shlex
from typing import Any

from diffs import HOSTILE, board, change, diff, full_diff, head, hostile_diff, metric
from handmade import SETTINGS, benchmark_run, broken_gold, make_run, right, unanswered, vacuous, wrong
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console

from assay.model import Count, GateResult, Group, MetricSummary, Rate, RepeatTotals, ReviewTotals, Run, WitnessTotals
from assay.model.lint import LintFinding, LintReport
from assay.reports.blocks.diff import DiffReport
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.values import CaseLink
from assay.reports.screen.diff import diff_screen
from assay.reports.screen.explanation import explanation_screen
from assay.reports.screen.leaderboard import leaderboard_screen
from assay.reports.screen.lines import Line, command, cut, cut_middle, cut_words, line, text_of, wrapped
from assay.reports.screen.lint import lint_screen
from assay.reports.screen.parts import Part, notes_part, screen
from assay.reports.screen.printing import print_run
from assay.reports.screen.run import run_screen, screen_text, telling
from assay.reports.screen.tables import count_lines
from assay.reports.text.explanation import explanation_parts, verdict_line
from assay.reports.text.parts import QueryText, TextPart
from assay.reports.text.plain import columns_of, one_line
from many_cases import each

LINES = 40
NAMES = st.text(
    st.sampled_from("abcXYZ019 _-./\\'\"$`|[]{}äßж語漢字テ한글😀🏳é\u0301\u200d\u202e\x1b\n\t"), min_size=0, max_size=200
)


def reviewed(rate: Rate, ids: tuple[str, ...], **fields: Any) -> ReviewTotals:
    totals = {"reviewers": ("ann",), "decisions": (), "changes": ()} | fields
    groups = dict.fromkeys(("reviewed", "conflicts", "unsure", "pending"), ids)
    return ReviewTotals(before=rate, after=rate, settle="latest", inactive=(), done=3, **groups, **totals)


def gate(name: str, *, found: str = "0.8", missed_by: str | None = "0.1", **fields: Any) -> GateResult:
    return GateResult(gate=name, found=found, missed_by=missed_by, **{"passed": False, "wanted": "0.9", **fields})


RATES = st.builds(
    lambda n, right, unscored: Rate(
        n=n,
        numerator=min(right, n),
        unscored=unscored,
        value=min(right, n) / n if n else None,
        low=0.1 if n else None,
        high=0.9 if n else None,
    ),
    *(st.integers(0, 2_000_000), st.integers(0, 2_000_000), st.integers(0, 100_000)),
)
COUNTS = st.lists(
    st.builds(
        lambda name, count: Count(name=name, count=count, case_ids=("12", "88")),
        st.one_of(NAMES.filter(bool), st.sampled_from(["duplicates", "value_mismatch", "rounding"])),
        st.integers(1, 100_000),
    ),
    max_size=40,
).map(tuple)
GATES = st.lists(
    st.builds(
        lambda name, found, missed, ids: gate(
            name or "min match=0.8", passed=missed is None, found=found, missed_by=missed, case_ids=tuple(ids)
        ),
        *(NAMES, NAMES, st.one_of(st.none(), NAMES), st.lists(NAMES, max_size=30)),
    ),
    max_size=60,
).map(tuple)


def fits(lines: list[Line], width: int = 80) -> list[str]:
    """The texts of the lines, of which there are few enough and none is too wide."""
    texts = screen_text(lines).splitlines()
    assert len(lines) == len(texts) <= LINES
    assert all(columns_of(text) <= width and cell_len(text) <= width for text in texts)
    return texts


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """A run with numbers, names and sections of any size."""
    names = [(draw(NAMES) or "x") + str(number) for number in range(draw(st.integers(0, 35)))]
    made = make_run([right(), wrong(), unanswered(), vacuous()])

    def group(kind: str, name: str | None) -> Group:
        metrics = [MetricSummary(metric=one, rate=draw(RATES)) for one in ("match", *names[: 1 if name else None])]
        return Group(kind=kind, name=name, cases=draw(st.integers(0, 9999)), metrics=tuple(metrics))

    def groups(kind: str) -> tuple[Group, ...]:
        return tuple(group(kind, draw(NAMES) or "g") for _ in range(draw(st.integers(0, 25))))

    rate = draw(RATES)
    totals = replace(
        made.aggregates,
        overall=group("all", None),
        by_difficulty=groups("difficulty"),
        by_database=groups("database"),
        fix_first=draw(COUNTS),
        causes=draw(COUNTS),
    )
    if draw(st.booleans()):
        ids = tuple(draw(st.lists(NAMES, max_size=30)))
        reviewers = tuple(draw(st.lists(NAMES, max_size=9)))
        fields = {"reviewers": reviewers, "decisions": draw(COUNTS), "changes": draw(COUNTS)}
        totals = replace(totals, reviews=reviewed(rate, ids, **fields))
    if draw(st.booleans()):
        repeats = RepeatTotals(asked=3, stable_right=1, stable_wrong=2, flaky=("12",), unscored=0, pass_rates=())
        totals = replace(totals, repeats=repeats)
    if draw(st.booleans()):
        sure = dict.fromkeys(("claimed", "after", "at_worst"), rate)
        totals = replace(totals, witnesses=WitnessTotals(matches=9, searched=7, strengths=draw(COUNTS), **sure))
    run_settings = replace(
        SETTINGS,
        name=draw(st.one_of(st.none(), NAMES)),
        cases=draw(NAMES),
        predictions=draw(NAMES),
        database=draw(NAMES),
        metrics=("match", *names),
    )
    return replace(made, aggregates=totals, settings=run_settings, gates=draw(GATES))


@settings(max_examples=60, deadline=None)
@given(run=runs(), folder=st.one_of(st.none(), NAMES), width=st.sampled_from([80, 80, 100, 120]), drawn=st.booleans())
def test_a_run_of_any_size_fits_one_screen(run: Run, folder: str | None, width: int, drawn: bool) -> None:
    report = RunReport(run)
    lines = run_screen(
        report, width=width, drawn=drawn, run_path=folder, earlier=folder, unkept="" if folder else "Nothing is stored."
    )
    texts = fits(lines, width)
    assert texts[0].startswith("Accuracy ")
    headline = max((texts[:count] for count in (1, 2, 3) if texts[:count] == texts[-count:]), key=len, default=[])
    assert report.headline.text in " ".join(headline)
    if any(not gate.passed for gate in run.gates):
        assert any(text.startswith("  ✗ ") for text in texts[-20:])
        assert any(re.match(r"Gates: .* missed", text) for text in texts)


@given(st.integers(20, 200))
@settings(max_examples=20, deadline=None)
def test_a_terminal_of_any_width_shows_no_wider_line(width: int) -> None:
    fits(run_screen(RunReport(benchmark_run(60)), width=width, drawn=True), width)


def test_a_benchmark_of_a_thousand_cases_says_what_matters_in_order() -> None:
    gates = tuple(gate(f"min m{number}=0.9", passed=number != 7) for number in range(9))
    run = replace(benchmark_run(), gates=gates)
    texts = fits(run_screen(RunReport(run), run_path="runs/a", earlier="runs/before"))
    titles = ["Before you trust it", "Accuracy by ", "Other metrics", "Gates: 8 of 9 passed, 1 missed", "Next"]
    places = [next(at for at, text in enumerate(texts) if text.startswith(title)) for title in titles]
    assert places == sorted(places)
    assert "  ✗ min m7=0.9: missed by 0.1; found 0.8" in texts
    assert "assay explain runs/a" in "\n".join(texts)
    assert texts[-1] == texts[0]


def test_the_groups_that_differ_more_are_shown() -> None:
    def spread(kind: str, *rates: int) -> tuple[Group, ...]:
        groups = []
        for number, one in enumerate(rates):
            rate = Rate(n=100, numerator=one, unscored=0, value=one / 100, low=0.1, high=0.9)
            metrics = (MetricSummary(metric="match", rate=rate),)
            groups.append(Group(kind=kind, name=f"{kind} {number}", cases=100, metrics=metrics))
        return tuple(groups)

    run = benchmark_run(20)
    for difficulty, database, expected in (
        ((50, 50), (20, 80), "database"),
        ((20, 80), (50, 50), "difficulty"),
        ((50, 60), (45, 50, 55, 50, 50, 52), "difficulty"),  # more groups differ more by chance alone
        ((50, 50), (50, 50), "difficulty"),
    ):
        groups = {"by_difficulty": spread("difficulty", *difficulty), "by_database": spread("database", *database)}
        totals = replace(run.aggregates, **groups)
        found = telling(RunReport(replace(run, aggregates=totals)))
        assert found is not None
        assert found[0] == expected


def test_a_pipe_gets_the_same_summary_as_a_terminal_without_colours() -> None:
    run = benchmark_run(100)
    piped, terminal = io.StringIO(), io.StringIO()
    print_run(run, console=Console(file=piped, force_terminal=False), run_path="runs/a")
    print_run(run, console=Console(file=terminal, force_terminal=True, width=80, no_color=True), run_path="runs/a")
    shown = re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue()).splitlines()
    assert len(piped.getvalue().splitlines()) == len(shown)
    assert shown[-1].rstrip() == piped.getvalue().splitlines()[-1]


@given(words=st.lists(st.text("abc/.-_' ä語", min_size=1, max_size=200), min_size=1, max_size=5))
@settings(deadline=None)
def test_a_command_over_several_lines_is_the_same_command(words: list[str]) -> None:
    lines = command(["assay", *map(shlex.quote, words)], 80)
    text = "\n".join(text_of(one) for one in lines)
    assert all(columns_of(text_of(one)) <= 80 for one in lines)
    if lines:
        assert shlex.split(text.replace("\\\n", "")) == ["assay", *words]


@given(text=NAMES, width=st.integers(1, 60))
def test_texts_are_cut_and_wrapped_within_their_width(text: str, width: int) -> None:
    assert columns_of(cut(text, width)) <= width
    assert columns_of(cut_middle(text, width)) <= width
    lines = [text_of(one) for one in wrapped(text, width + 4, first="  ", rest="    ")]
    assert all(columns_of(one) <= width + 5 for one in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@each("record", [full_diff(), full_diff(400), hostile_diff(), diff(), diff(change("broken"))])
def test_a_comparison_fits_one_screen_and_begins_and_ends_with_its_answer(record: object) -> None:
    report = DiffReport(record)  # type: ignore[arg-type]
    texts = fits(diff_screen(report))
    assert texts[0].startswith(report.lead[:60])
    assert texts[0] in texts[1:]
    if any(not gate.passed for gate in report.diff.gates):
        assert any(text.startswith("  ✗ ") for text in texts[-12:])


@given(names=st.lists(NAMES, min_size=0, max_size=30), gates=GATES, label=NAMES, ids=st.lists(NAMES, max_size=30))
@settings(max_examples=40, deadline=None)
def test_a_comparison_of_any_size_fits_one_screen(
    names: list[str], gates: tuple[GateResult, ...], label: str, ids: list[str]
) -> None:
    record = diff(
        *(change("broken" if number % 2 else "fixed", one) for number, one in enumerate(ids)),
        baseline=head(label, folder=label),
        candidate=head(f"{label}2", folder=f"{label}2"),
        metrics=(metric(), *map(metric, names)),
        notes=tuple(names),
        gates=gates,
    )
    texts = fits(diff_screen(DiffReport(record)))
    assert texts[0] in texts[1:]
    if any(not gate.passed for gate in gates):
        assert any(text.startswith("  ✗ ") for text in texts)


@each("count", [1, 2, 5, 60])
def test_a_leaderboard_begins_with_its_ranking_and_counts_what_it_leaves_out(count: int) -> None:
    record = board(*(f"system-{number}" for number in range(count)))
    texts = fits(leaderboard_screen(record))
    assert any(text.startswith("Ranking by match") for text in texts[:6])
    if count == 60:
        assert any(re.match(r"  and \d+ more: --full", text) for text in texts)


@given(labels=st.lists(NAMES, min_size=2, max_size=9))
@settings(max_examples=40, deadline=None)
def test_a_leaderboard_of_any_names_fits_one_screen(labels: list[str]) -> None:
    fits(leaderboard_screen(board(*labels)))
    fits(leaderboard_screen(board(HOSTILE, *labels)))


FINDINGS = st.builds(
    lambda rule, severity, case, text, line: LintFinding(
        rule=rule,
        severity=severity,
        case_id=case,
        gold=0,
        **dict.fromkeys(("line", "column"), line),
        **dict.fromkeys(("evidence", "remedy", "question", "query"), text),
    ),
    st.sampled_from(["gold-fails", "empty-result", "limit-over-tie"]),
    st.sampled_from(["error", "warning", "note"]),
    NAMES,
    NAMES,
    st.one_of(st.none(), st.integers(1, 9999)),
)


@given(
    findings=st.lists(FINDINGS, max_size=40),
    notes=st.lists(NAMES, max_size=20),
    name=NAMES,
    typed=st.lists(NAMES.filter(bool), max_size=6),
    width=st.integers(40, 120),
)
@settings(max_examples=40, deadline=None)
def test_a_lint_of_any_size_fits_one_screen(
    findings: list[LintFinding], notes: list[str], name: str, typed: list[str], width: int
) -> None:
    report = LintReport(
        name=name,
        rules=("gold-fails",),
        cases=900,
        golds=900,
        findings=tuple(findings),
        gaps=(),
        ignored=0,
        notes=tuple(notes),
    )
    words = ("assay", "lint", *(shlex.quote(one) for one in typed))
    texts = fits(lint_screen(report, width=width, typed=words), width)
    assert not findings or texts[0] == texts[-1] or texts[0] in texts[1:]


BLOCKS = st.lists(NAMES, max_size=60).map("\n".join)
PARTS = st.one_of(
    BLOCKS,
    st.builds(
        lambda text, other, gold: QueryText(text=text, beside=other, is_gold=gold), BLOCKS, BLOCKS, st.booleans()
    ),
)


@given(
    parts=st.lists(PARTS, min_size=1, max_size=30),
    verdicts=st.lists(NAMES.map(one_line), max_size=3),
    width=st.integers(40, 120),
    drawn=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_an_explanation_of_any_parts_fits_one_screen(
    parts: list[TextPart], verdicts: list[str], width: int, drawn: bool
) -> None:
    fits(explanation_screen(parts, width=width, drawn=drawn, verdicts=verdicts), width)


@each("rows", [1, 30, 3000])
@each("separator", [" ", "\n"])
def test_an_explanation_cuts_long_queries_and_says_how_to_see_all(rows: int, separator: str) -> None:
    query = f"SELECT{separator}" + f",{separator}".join(f"column_{number}" for number in range(rows))
    case = replace(wrong().case, golds=(query,), question="語" * rows)
    item = replace(wrong(), case=case, prediction=replace(wrong().prediction, query=query.lower()))
    texts = fits(explanation_screen(explanation_parts(item)))
    assert texts[0] == "case 88: incorrect"
    is_cut = rows == 3000 or (rows == 30 and separator == "\n")
    assert ("--full" in texts[-1]) == is_cut
    assert any("more lines" in text for text in texts) == is_cut


@each("drawn", [False, True])
@each("count", [4, 60, 1034])
@each("failed", [0, 1, 3])
def test_the_first_ten_metrics_are_shown_whatever_else_there_is(count: int, failed: int, drawn: bool) -> None:
    run = benchmark_run(count) if count > 4 else make_run([right(), wrong(), unanswered(), vacuous()])
    rate = Rate(n=9, numerator=3, unscored=1, value=1 / 3, low=0.1, high=0.9)
    names = [f"metric_{number}" for number in range(14)]
    fixed = tuple(
        Count(name=name, count=3, case_ids=tuple(f"case-{number}" for number in range(90)))
        for name in ("duplicates", "value_mismatch", "rounding", "attribute_mismatch", "table_mismatch", "limit")
    )
    overall = replace(
        run.aggregates.overall,
        metrics=(MetricSummary(metric="match", rate=rate), *(MetricSummary(metric=one, rate=rate) for one in names)),
    )
    run = replace(
        run,
        aggregates=replace(run.aggregates, overall=overall, fix_first=fixed),
        settings=replace(run.settings, metrics=("match", *names), database="sqlite:///" + "folder/" * 9 + "db.sqlite"),
        gates=tuple(gate(f"min m{number}=0.9", found="0.8 " * 60, missed_by="0.1 " * 30) for number in range(failed)),
    )
    folder = "runs/" + "a-long-name-" * 6
    texts = fits(run_screen(RunReport(run), run_path=folder, earlier=f"{folder}-before", drawn=drawn))
    shown = [one for one in names if any(re.search(rf"\b{one}\b.* 33\.3 %", text) for text in texts)]
    assert shown[:10] == names[:10]
    assert f"  and {14 - len(shown)} more: --full" in texts or len(shown) == 14
    titles = ("Before you trust it", "Fix first", "Next")
    assert [one for one in titles if not any(text.startswith(one) for text in texts)] == []
    after = texts[texts.index("Next") + 1 :]
    assert len([text for text in after if text.startswith("  ")]) <= 4


@given(text=NAMES, width=st.integers(1, 60))
def test_a_text_is_shortened_at_a_word(text: str, width: int) -> None:
    flat = " ".join(text.split())
    shown = text_of(cut_words(flat, width))
    assert columns_of(shown) <= width
    if flat.isascii() and shown.endswith(" …"):
        assert flat.startswith(f"{shown[:-2]}")
        assert flat[len(shown) - 2 :][:1] in " ,:;" or " " not in shown[:-2].strip()


@each("rows", range(1, 40, 3))
def test_a_long_explanation_ends_with_its_verdict(rows: int) -> None:
    item = wrong()
    query = "SELECT\n" + ",\n".join(f"column_{number}" for number in range(rows))
    item = replace(item, case=replace(item.case, golds=(query,)))
    parts = list(explanation_parts(item))
    texts = fits(explanation_screen(parts, verdicts=[verdict_line(item)]))
    short = len(explanation_screen(parts)) <= 20
    assert (texts[-1] == verdict_line(item)) != short
    assert texts[-1].startswith("case 88: incorrect: ") != short


@each("count", [1, 2, 3])
@each("length", range(60, 250, 19))
def test_the_verdicts_at_the_end_are_cut_at_a_word(count: int, length: int) -> None:
    """One verdict has three lines; several share them."""
    verdict = ("case 1: incorrect: " + "gold (the same) values " * 20)[:length].rsplit(" ", 1)[0]
    texts = fits(explanation_screen(["some line"] * 60, verdicts=[verdict] * count))
    shown = " ".join(" ".join(texts[len(texts) - texts[::-1].index("") :]).split())
    if len(wrapped(verdict, 80, rest="  ")) <= 3 // count:
        assert shown == " ".join([verdict] * count)
    else:
        assert shown.count("case 1: incorrect: ") == shown.count(" …") == count
        assert set(shown.split()) <= {*verdict.split(), "…"}


@given(
    notes=st.lists(st.text("ab (%1.", min_size=1, max_size=400).filter(str.strip), min_size=1, max_size=6),
    others=st.integers(0, 20),
    lines=st.integers(12, LINES),
)
@settings(deadline=None)
def test_no_note_is_cut_while_lines_are_free(notes: list[str], others: int, lines: int) -> None:
    part = notes_part(notes, 80, lines=1, least=len(notes), most=6, rank=2)
    other = Part(title="Others", items=((line("  item"),),) * others, least=1, most=20, rank=1)
    texts = [text_of(one) for one in screen((), [part, other], (), width=80, lines=lines)]
    whole = [text_of(one) for item in part.fuller for one in item]
    of_other = len(other.lines(1, 80)) + 1 if others else 2  # the title and a blank line
    assert len(texts) <= lines
    if len(whole) + 3 + of_other <= lines:
        start = texts.index("Before you trust it") + 1
        assert texts[start : start + len(whole)] == whole


@each("gates", [0, 1, 3])
@each("count", [0, 9])
def test_what_the_witnesses_say_is_shown_whatever_else_there_is(gates: int, count: int) -> None:
    """It was asked for, so it comes before the notes on flags, reviews and files."""
    flagged = replace(
        vacuous(), verdict=replace(vacuous().verdict, flags=frozenset({"vacuous", "lenient", "tie_by_chance"}))
    )
    made = make_run([broken_gold(), unanswered(), right(), wrong(), flagged], unmatched=("x",))
    rate = Rate(n=9, numerator=3, unscored=1, value=1 / 3, low=0.1, high=0.9)
    ids = tuple(f"case-{number}" for number in range(count))
    strengths = (Count(name="proved", count=5, case_ids=()),)
    witnesses = WitnessTotals(matches=9, searched=7, strengths=strengths, claimed=rate, after=rate, at_worst=rate)
    missed = gate("min match=0.9", found="0.8 " * 60, missed_by="0.1 " * 30)
    totals = replace(made.aggregates, reviews=reviewed(rate, ids), witnesses=witnesses)
    run = replace(made, aggregates=totals, gates=(missed,) * gates)
    assert len(RunReport(run).notes) > 6
    assert any(text.startswith("  ! Of 9 matches, 5 are proven right") for text in fits(run_screen(RunReport(run))))


@example(text="1111 %.111 1", width=12, most=1)
@given(text=st.text("ab (%1.", max_size=400), width=st.integers(12, 60), most=st.integers(1, 4))
def test_a_text_over_too_many_lines_ends_at_a_word(text: str, width: int, most: int) -> None:
    texts = [text_of(one) for one in wrapped(text, width, rest="    ", most=most)]
    assert len(texts) <= most
    assert all(columns_of(one) <= width for one in texts)
    shown = " ".join(texts).split()
    unbroken = re.findall(r"\S+(?: %\S*)?", text)  # a number keeps its unit
    if shown and shown[-1] == "…" and max(map(len, unbroken)) <= width - 6:
        assert shown[:-1] == text.split()[: len(shown) - 1]


@each("missed", [1, 2, 3, 4, 8, 9, 30])
@each("passed", [0, 9])
def test_missed_gates_come_before_the_lines_of_other_parts(missed: int, passed: int) -> None:
    """A few with all of their reason, many on one line each."""
    found = "found 78.8 %, baseline 84.6 %: -5.8 points [-10.8, -0.8]; p = 0.62; the interval includes 0"
    gates = tuple(
        gate(
            f"min m{number}=0.9",
            passed=number < passed,
            found=found.removeprefix("found "),
            missed_by="1 point",
            case_ids=("one", "two"),
        )
        for number in range(passed + missed)
    )
    texts = fits(run_screen(RunReport(replace(benchmark_run(), gates=gates)), run_path="runs/a", earlier="runs/before"))
    signs = [text for text in texts if text.startswith("  ✗ ")]
    assert len(signs) >= min(missed, 7)
    assert all("missed by 1 point; found 78.8 %" in text for text in signs)
    if missed <= 3:
        assert " ".join(" ".join(texts).split()).count(f"{found}; cases: one, two") == missed


@given(
    st.lists(st.tuples(NAMES, st.integers(0, 99_999), st.text("abc-19", min_size=1, max_size=24)), max_size=9),
    st.integers(80, 120),
)
def test_each_count_of_cases_names_one(rows: list[tuple[str, int, str]], width: int) -> None:
    counted = [
        (one_line(name) or "x", more + 1, "do this " * 9, [CaseLink(id=case, anchor=case)] * (more + 1))
        for name, more, case in rows
    ]
    for (_, count, _, cases), (shown,) in zip(counted, count_lines(counted, width), strict=True):
        text = text_of(shown)
        assert cases[0].id in text
        assert columns_of(text) <= width
        assert count == 1 or f", +{count - 1:,}" in text or text.count(cases[0].id) > 1


@given(st.integers(1, 10**6), st.sampled_from([60, 80, 100]), st.integers(1, 2), st.text("ab ", max_size=200))
def test_a_note_that_is_cut_keeps_its_accuracy(count: int, width: int, lines: int, words: str) -> None:
    note = f"{count:,} gold queries {words} take tied rows. Without these, accuracy is 84.2 % (829 of 984)."
    part = notes_part([note], width, lines=lines, least=1, most=1, rank=1)
    (cut,), (whole,) = part.items, part.fuller
    assert len(cut) <= lines
    assert "accuracy is 84.2 %" in " ".join(screen_text(cut).split())
    assert " ".join(screen_text(whole).split()) == " ".join(f"! {note}".split())
