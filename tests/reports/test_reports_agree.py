"""No two reports of a run disagree: all are rendered, read back, and held against the run's own numbers."""

from __future__ import annotations

import html
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
import readback
from counted import counted
from handmade import METRICS, Named
from msgspec.structs import replace
from readback import ReadBack, between, reads

import assay
from assay import registry
from assay.model import (
    Count,
    Disagreement,
    Evidence,
    Gates,
    Group,
    Leniency,
    NearMiss,
    NearMissKind,
    Rate,
    Run,
    TokenUsage,
)
from assay.reports.blocks.history import history_report
from assay.reports.blocks.run import RunReport
from assay.reports.console.diff import print_diff
from assay.reports.console.printing import plain_runs, print_leaderboard
from assay.reports.console.run import plain_summary
from assay.reports.diff_formats import render_diff, render_leaderboard
from assay.reports.json.comparisons import runs_json
from assay.reports.json.run import JsonReporter
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate
from assay.runs.store.history import point_of
from drawing import drawn_by

Make = Callable[..., Run]
FORMATS: dict[str, Callable[[Run], ReadBack]] = {
    "console": readback.console,
    **{f"terminal at {width}": readback.terminal(width) for width in readback.WIDTHS},
    "markdown": readback.markdown,
    "html": readback.html,
}


@pytest.fixture
def gated_run(shop_run: Run) -> Run:
    gates = Gates(minimum=(("match", 0.9), ("bird_ex", 0.1)), must_pass=("difficulty:easy",))
    return replace(shop_run, gates=assay.Run(shop_run).check(gates))


@pytest.fixture
def many_databases_run(large_run: Run, build_run: Make) -> Run:
    """More databases and tags than any report shows at once, and 2 cases of 3 with tokens."""
    items = [
        replace(
            item,
            case=replace(item.case, database=f"db_{place * place % 61:02}", tags=(f"tag {place % 31}",)),
            prediction=replace(
                item.prediction, tokens=TokenUsage(input=1000 + place, output=place % 7) if place % 3 else None
            ),
        )
        for place, item in enumerate(large_run.evidence)
    ]
    return build_run(items)


@pytest.fixture
def repeats_run(large_run: Run, build_run: Make) -> Run:
    """Three answers to each of 40 questions: some steady, some not, some unscored."""
    first = large_run.evidence[:40]
    others = large_run.evidence[40:]
    items = []
    for place, item in enumerate(first):
        for repeat in range(3):
            given = item if (place + repeat) % 4 else others[place * 3 + repeat]
            prediction = replace(given.prediction, case_id=item.case.id, repeat=repeat)
            items.append(replace(given, case=item.case, prediction=prediction))
    made = build_run(items)
    return replace(
        made,
        settings=replace(made.settings, repeats=3),
        aggregates=aggregate(summaries_of(items), METRICS, repeats=3),
    )


@pytest.fixture
def lenient_run(large_run: Run, build_run: Make) -> Run:
    """A run that declares leniency, with wrong answers that near misses would excuse."""
    kinds: tuple[NearMissKind, ...] = ("superset_columns", "duplicates_only", "order_only", "missing_rows")
    items = []
    for place, given in enumerate(large_run.evidence[:80]):
        item = given
        if item.outcome == "incorrect" and item.comparison is not None:
            miss = NearMiss(kind=kinds[place % 4], detail="close")
            item = replace(item, comparison=replace(item.comparison, near_misses=(miss,)))
        elif item.outcome == "correct" and place % 5 == 0:
            item = replace(item, verdict=replace(item.verdict, flags=item.verdict.flags | {"lenient"}))
        items.append(item)
    made = build_run(items)
    return replace(made, settings=replace(made.settings, leniency=Leniency(case="ignored", tolerance=1e-6)))


FORGIVEN = "forgiven"


def test_every_report_says_leniency_beside_the_number_and_what_could_be_forgiven(lenient_run: Run) -> None:
    forgiven = lenient_run.aggregates.forgiven
    assert {one.kind for one in forgiven} == {"superset_columns", "duplicates_only", "order_only"}
    overall = lenient_run.aggregates.overall.rate("match")
    assert overall is not None
    for one in forgiven:
        assert one.count == len(one.case_ids) > 0
        assert (one.rate.n, one.rate.numerator) == (overall.n, overall.numerator + one.count)
    view = RunReport(lenient_run)
    told = "lenient: letter case ignored, tolerance 1e-06"
    assert told in view.tally
    for name in ("console", "md", "html", "xlsx", "junit", "json"):
        text = _text_of(name, lenient_run)
        assert told in text, name
        if name not in ("junit", "json"):
            for row in counted(view, FORGIVEN):
                assert row.name in text, (name, row.name)
    stored = json.loads(JsonReporter().render(lenient_run))
    counts = {one["kind"]: one["count"] for one in stored["aggregates"]["forgiven"]}
    assert counts == {one.kind: one.count for one in forgiven}


def _text_of(name: str, run: Run) -> str:
    if name == "console":
        return plain_summary(RunReport(run))
    rendered = registry.reporter(name).render(run)
    if name != "xlsx":
        return html.unescape(rendered.decode("utf-8")).replace("\\", "")
    with zipfile.ZipFile(io.BytesIO(rendered)) as book:
        return html.unescape("".join(book.read(part).decode("utf-8") for part in book.namelist() if "xl/" in part))


@pytest.fixture
def unscored_run(small_run: Run, build_run: Make) -> Run:
    """Nothing can be scored."""
    [broken] = [item for item in small_run.evidence if item.outcome == "unscored"]
    levels = ("easy", "hard", None)
    return build_run(
        [replace(broken, case=replace(broken.case, id=f"g{place}", difficulty=levels[place % 3])) for place in range(6)]
    )


@pytest.fixture
def graded_run(large_run: Run, build_run: Make) -> Run:
    """The headline is a degree, and what it counts is not what the verdict counts."""
    items = [
        replace(item, scores=tuple(score for score in item.scores if score.metric == "bird_soft_f1"))
        for item in large_run.evidence[:60]
    ]
    made = build_run(items, metrics=[Named("bird_soft_f1", binary=False)])
    return replace(made, settings=replace(made.settings, metrics=("bird_soft_f1",)))


RUNS = (
    "shop_run",
    "sdmx_run",
    "gated_run",
    "lenient_run",
    "many_databases_run",
    "repeats_run",
    "unscored_run",
    "graded_run",
    "small_run",
    "all_failing_run",
)


_MADE: dict[str, Run] = {}
_SHOWN: dict[tuple[str, str], ReadBack] = {}


@pytest.fixture(params=RUNS)
def run(request: pytest.FixtureRequest) -> Run:
    """Each run, made once."""
    if request.param not in _MADE:
        _MADE[request.param] = request.getfixturevalue(request.param)
    return _MADE[request.param]


@pytest.fixture(params=sorted(FORMATS))
def shown(request: pytest.FixtureRequest, run: Run) -> ReadBack:
    """It in each format that is read as text, rendered once."""
    key = (request.node.callspec.params["run"], request.param)
    if key not in _SHOWN:
        _SHOWN[key] = FORMATS[request.param](run)
    return _SHOWN[key]


def rate_of(group: Group, metric: str) -> Rate:
    rate = group.rate(metric)
    assert rate is not None
    return rate


def left_out(shown: ReadBack, rate: Rate) -> str:
    if shown.plain_unscored:
        return f"{rate.unscored:,}"
    return f"{rate.unscored:,} unscored" if rate.unscored else ""


def tally_of(run: Run, metric: str, rate: Rate) -> str:
    """``12 of 30`` where a sum counts cases, else ``mean of 30``."""
    if rate.n == 0:
        return "no scored case"
    values = {score.value for item in run.evidence for score in item.scores if score.metric == metric}
    mean = metric == "bird_soft_f1" or not values <= {0.0, 1.0, None} or run.settings.repeats > 1
    mean = mean or (run.settings.selection is not None and metric != "exact_match")
    return f"mean of {rate.n:,}" if mean else f"{rate.numerator:,.0f} of {rate.n:,}"


def headline_of(run: Run) -> tuple[str, Rate]:
    names = [summary.metric for summary in run.aggregates.overall.metrics]
    wanted = "exact_match" if run.settings.selection else "match"
    metric = wanted if wanted in names else names[0]
    return metric, rate_of(run.aggregates.overall, metric)


def outcomes_of(run: Run) -> str:
    numbers = run.aggregates
    said = f"{numbers.correct:,} correct, {numbers.incorrect:,} incorrect, {numbers.unscored:,} unscored"
    return f"{said}; {numbers.unanswered:,} unanswered"


def breakdowns(run: Run) -> dict[str, Sequence[Group]]:
    numbers = run.aggregates
    turns = numbers.selection.by_turn if numbers.selection else ()
    tables = {
        "difficulty": numbers.by_difficulty,
        "database": numbers.by_database,
        "tag": numbers.by_tag,
        "turn": turns,
    }
    return {kind: groups for kind, groups in tables.items() if len(groups) > 1}


def name_of(kind: str, group: Group) -> str:
    if group.name is None:
        return f"no {kind}"
    return f"turn {group.name}" if kind == "turn" else group.name


def counts_of(run: Run) -> list[tuple[str, Count]]:
    """Every count with how reports label it: labels are the view's, counts the run's own."""
    view, numbers, totals = RunReport(run), run.aggregates, run.aggregates.selection
    pairs = [("near-misses", numbers.near_misses), ("flags", numbers.flags), ("causes", numbers.causes)]
    if totals:
        pairs.append(("wrong-terms", totals.wrong_terms))
        pairs.append(("periods", totals.time_states))
    found = [(row.name, count) for key, counts in pairs for row, count in zip(counted(view, key), counts, strict=True)]
    failures = counted(view, "failures")
    by_kind = {count.name.partition(": ")[2].replace("_", " "): count for count in numbers.failures}
    assert len(failures) == len(numbers.failures)
    for row in failures:
        count = by_kind.get(row.name) or by_kind["no gold"]
        found.append((row.label, count if count.count == row.count else _same(numbers.failures, row)))
    return found


def _same(counts: Sequence[Count], row: object) -> Count:
    wanted = f"{row.blame}: {row.name}"  # type: ignore[attr-defined]
    return next(count for count in counts if count.name.replace("_", " ") == wanted)


def test_the_headline_its_interval_and_what_it_leaves_out(run: Run, shown: ReadBack) -> None:
    _, rate = headline_of(run)
    assert reads(rate.value) in shown.text
    assert between(rate) in shown.text
    assert f"{rate.unscored:,} unscored" in shown.text
    assert f"{rate.n:,}" in shown.text or rate.n == 0


def test_what_became_of_all_cases(run: Run, shown: ReadBack, request: pytest.FixtureRequest) -> None:
    numbers, (metric, rate) = run.aggregates, headline_of(run)
    name = request.node.callspec.params["shown"]
    if name == "html":
        for count, said in (
            (numbers.correct, "correct"),
            (numbers.incorrect, "incorrect"),
            (numbers.unscored, "unscored"),
            (numbers.unanswered, "unanswered"),
        ):
            assert any(f"{count:,}" in row and any(piece.startswith(said) for piece in row) for row in shown.rows), said
    elif name.startswith("terminal") and run.settings.repeats == 1 and rate.numerator == numbers.correct:
        # The headline says it; who gave no answer is among the notes.
        assert (rate.n, rate.unscored) == (numbers.correct + numbers.incorrect, numbers.unscored), metric
    else:
        assert outcomes_of(run) in shown.text


def test_every_metric(run: Run, shown: ReadBack) -> None:
    for summary in run.aggregates.overall.metrics:
        rate = summary.rate
        pieces = (reads(rate.value), between(rate), tally_of(run, summary.metric, rate), left_out(shown, rate))
        assert shown.holds(summary.metric, *pieces), (summary.metric, pieces)


def test_every_group_of_those_with_most_cases(run: Run, shown: ReadBack) -> None:
    metric, _ = headline_of(run)
    for kind, groups in breakdowns(run).items():
        most = sorted(groups, key=lambda group: -group.cases)[: shown.group_rows]
        for group in most:
            rate = rate_of(group, metric)
            unscored = "" if shown.plain_unscored and run.settings.selection else left_out(shown, rate)
            pieces = (reads(rate.value), between(rate), tally_of(run, metric, rate), unscored)
            assert shown.holds(name_of(kind, group), *pieces), (kind, group.name, pieces)
        if len(groups) > len(most):
            assert f"and {len(groups) - len(most):,} with fewer cases" in shown.text


def test_every_count(run: Run, shown: ReadBack) -> None:
    for label, count in counts_of(run):
        assert shown.holds(label, f"{count.count:,}"), (label, count)


def test_the_notes_in_their_words(run: Run, shown: ReadBack) -> None:
    for note in RunReport(run).notes:
        assert " ".join(note.split()) in shown.text


def test_disagreements(run: Run, shown: ReadBack, request: pytest.FixtureRequest) -> None:
    metric, _ = headline_of(run)
    markdown = request.node.callspec.params["shown"] == "markdown"
    for found in run.aggregates.disagreements:
        if markdown:
            [heads] = {row for row in shown.rows if row and row[0] == "" and found.first in row}
            counted = [row for row in shown.rows if row[0] == found.first and len(row) == len(heads)]
            place = heads.index(found.second)
            assert any(row[place] == f"{len(found.only_first):,}" for row in counted), found
        elif metric in (found.first, found.second):
            for says, denies, cases in (
                (found.first, found.second, found.only_first),
                (found.second, found.first, found.only_second),
            ):
                name = (says, denies) if any(row[:2] == (says, denies) for row in shown.rows) else None
                if not cases:
                    continue
                if name:
                    assert any(row[:3] == (says, denies, f"{len(cases):,}") for row in shown.rows), (says, denies)
                else:
                    assert shown.holds(f"{says}, not {denies}", f"{len(cases):,}"), (says, denies)


def differing(found: Disagreement) -> int:
    return len({*found.only_first, *found.only_second})


def test_tokens_and_cost(run: Run, shown: ReadBack) -> None:
    usage = run.aggregates.usage
    if usage is None:
        assert "tokens in" not in shown.text
        return
    for name, total in (("tokens in", usage.input), ("tokens out", usage.output), ("tokens in all", usage.total)):
        assert total is None or shown.holds(name, f"{total:,}"), name
    assert usage.cost_usd is None or shown.holds("cost", f"{usage.cost_usd:,.4f} USD")


def test_the_gates(gated_run: Run) -> None:
    assert {result.passed for result in gated_run.gates} == {True, False}
    for name, format_ in FORMATS.items():
        shown = format_(gated_run)
        for result in gated_run.gates:
            if not name.startswith("terminal"):
                assert result.found in shown.text, (name, result)
                assert result.wanted in shown.text, (name, result)
    book, junit = readback.workbook(gated_run), readback.properties(gated_run)
    for result in gated_run.gates:
        assert result.found in book.text
        assert result.found in junit[f"gate.{result.gate}"]


def test_the_workbook(run: Run) -> None:
    book, view, numbers = readback.workbook(run), RunReport(run), run.aggregates
    sheet = "Summary" if run.settings.selection is None else "Statistics"
    title = "Data Query Metrics" if run.settings.selection else f"Metrics: over all cases, {view.confidence} intervals"
    listed = {str(row["Metric"]): row for row in book.section(title, within=sheet)}
    for summary in numbers.overall.metrics:
        cells = listed[summary.metric]
        assert_cells(summary.rate, cells["Value"], cells["Low"], cells["High"], cells["n"], cells["Unscored"])
    metric, rate = headline_of(run)
    assert f"{reads(rate.value)} {between(rate)}".rstrip() in book.text
    assert outcomes_of(run) in book.text
    for kind, groups in breakdowns(run).items():
        rows = book.section(f"{view.headline_name} by {kind}", within=sheet)
        assert [row[kind.capitalize()] for row in rows] == [name_of(kind, group) for group in groups]
        for row, group in zip(rows, groups, strict=True):
            assert row["Turns" if kind == "turn" else "Cases"] == group.cases
            found = (row[name] for name in (metric, "Low", "High", "n", "Unscored"))
            assert_cells(rate_of(group, metric), *found)
    for label, count in counts_of(run):
        assert any(row[:2] == [label, count.count] for row in book.sheets[sheet]), label
    pairs = book.section("Every two metrics that disagree", within=sheet) if numbers.disagreements else []
    told = {(row["One"], row["The other"]): (row["Cases"], row["Only one"], row["Only other"]) for row in pairs}
    assert told == {
        (one.first, one.second): (differing(one), len(one.only_first), len(one.only_second))
        for one in numbers.disagreements
    }
    assert all(note in book.text for note in view.notes)
    usage = numbers.usage
    if usage is not None:
        totals = {
            row["What"]: row["In all"] for row in book.section("Tokens and cost, as the answers say them", within=sheet)
        }
        wanted = {"tokens in": usage.input, "tokens out": usage.output, "tokens in all": usage.total}
        assert {name: totals.get(name) for name in wanted} == {
            name: None if count is None else f"{count:,}" for name, count in wanted.items()
        }
    settings = {row[0]: row[1] for row in book.sheets["Settings"]}
    assert (settings["Scored cases"], settings["Unscored cases"]) == (rate.n, rate.unscored)
    assert_cells(rate, settings["Value"], *_ends(settings), rate.n, rate.unscored)


def _ends(settings: dict[object, object]) -> tuple[object, object]:
    low, high = ([v for name, v in settings.items() if str(name).startswith(f"{end} end")] for end in ("Low", "High"))
    return low[0], high[0]


def assert_cells(rate: Rate, value: object, low: object, high: object, n: object, unscored: object) -> None:
    """Cells hold numbers whole; a blank one is a number that there is not."""
    for cell, wanted in ((value, rate.value), (low, rate.low), (high, rate.high)):
        assert cell == "" if wanted is None else cell == pytest.approx(wanted, abs=1e-12)
    assert (n, unscored) == (rate.n, rate.unscored)


def test_the_json_report(run: Run) -> None:
    document = json.loads(JsonReporter().render(run))
    assert document["aggregates"] == json.loads(msgspec.json.encode(run.aggregates))
    metric, rate = headline_of(run)
    assert document["headline"]["metric"] == metric
    assert {name: document["headline"][name] for name in ("n", "numerator", "unscored", "value", "low", "high")} == {
        name: getattr(rate, name) for name in ("n", "numerator", "unscored", "value", "low", "high")
    }
    assert document["headline"]["text"] == f"{reads(rate.value)} {between(rate)}".rstrip()
    assert document["notes"] == list(RunReport(run).notes)
    assert len(document["cases"]) == len(run.evidence)


def test_the_junit_properties(run: Run) -> None:
    found, (metric, rate) = readback.properties(run), headline_of(run)
    assert outcomes_of(run) in found["outcomes"]
    assert found["headline"].startswith(f"{metric}: {reads(rate.value)} {between(rate)}".rstrip())
    for summary in run.aggregates.overall.metrics:
        rate = summary.rate
        assert found[f"metric.{summary.metric}"] == ("n/a" if rate.value is None else f"{rate.value:.6f}")
        said = found[f"metric.{summary.metric}.n"]
        assert said.startswith(f"{rate.n:,} case")
        assert f", {rate.unscored:,} unscored" in said
        assert rate.low is None or f", {rate.low:.6f} to {rate.high:.6f} at " in said
    notes = [value for name, value in found.items() if name.startswith("note.")]
    assert notes == list(RunReport(run).notes)


def test_the_list_of_runs(run: Run) -> None:
    report = history_report([point_of(run, "runs/one")], folder="runs")
    _, rate = headline_of(run)
    [table] = report.sections[0].blocks
    titles = [column.title for column in table.columns]
    [row] = table.rows
    found = dict(zip(titles, row.cells, strict=True))
    assert (found["headline"], found["interval"]) == (reads(rate.value), between(rate))
    assert (found["n"], found["unscored"]) == (f"{run.aggregates.cases:,}", f"{rate.unscored:,}")
    assert reads(rate.value) in plain_runs(report)
    [listed] = json.loads(runs_json([point_of(run, "runs/one")], folder="runs"))["runs"]
    assert listed["point"]["headline"]["value"] == rate.value


def test_the_table_of_results(run: Run, tmp_path: Path) -> None:
    import duckdb

    assay.Run(run).save(tmp_path / "run")
    with duckdb.connect() as database:
        rows = database.read_parquet(str(tmp_path / "run" / "results.parquet")).fetchall()
        names = [column[0] for column in database.read_parquet(str(tmp_path / "run" / "results.parquet")).description]
    table = [dict(zip(names, row, strict=True)) for row in rows]
    numbers = run.aggregates
    outcomes = [row["outcome"] for row in table]
    assert [outcomes.count(name) for name in ("correct", "incorrect", "unscored")] == [
        numbers.correct,
        numbers.incorrect,
        numbers.unscored,
    ]
    for summary in numbers.overall.metrics:
        values: dict[str, list[float]] = {}
        for row in table:
            values.setdefault(row["case_id"], []).extend([] if row[summary.metric] is None else [row[summary.metric]])
        means = [sum(one) / len(one) for one in values.values() if one]
        assert (len(means), len(values) - len(means)) == (summary.rate.n, summary.rate.unscored)
        assert summary.rate.value is None or sum(means) / len(means) == pytest.approx(summary.rate.value, abs=1e-9)
    for count in numbers.flags:
        assert len({row["case_id"] for row in table if count.name in row["flags"]}) == count.count
    for count in numbers.near_misses:
        assert len({row["case_id"] for row in table if count.name in row["near_misses"]}) == count.count
    for row, item in zip(table, run.evidence, strict=True):
        _same_facts(row, item)


def _same_facts(row: dict[str, Any], item: Evidence) -> None:
    """Tags, numbers of rows, times and costs of an answer, as its evidence has them."""
    index, predicted, tokens = item.verdict.gold_index or 0, item.predicted_execution, item.prediction.tokens
    gold = item.gold_executions[index] if item.gold_executions else None
    assert (row["tags"], row["cost_usd"]) == (list(item.case.tags), item.prediction.cost_usd)
    assert (row["gold_rows"], row["predicted_rows"]) == (
        None if gold is None else gold.row_count,
        None if predicted is None else predicted.row_count,
    )
    for name, execution in (("gold_s", gold), ("predicted_s", predicted)):
        assert row[name] == (None if execution is None else execution.wall_time_s)
    told = (None,) * 3 if tokens is None else (tokens.input, tokens.output, tokens.total)
    assert (row["input_tokens"], row["output_tokens"], row["total_tokens"]) == told


@pytest.fixture(scope="module")
def two_runs(large_run: Run) -> tuple[Run, Run]:
    """A run, and the same with some answers that were right wrong, some the other way, and some lost."""
    items = list(large_run.evidence[:300])
    right = next(item for item in items if item.outcome == "correct" and not item.verdict.flags)
    wrong = next(item for item in items if item.outcome == "incorrect")
    others = []
    for place, item in enumerate(items[:290]):
        given = wrong if place % 17 == 0 else right if place % 5 == 0 else item
        outcome = replace(given, case=item.case, prediction=replace(given.prediction, case_id=item.case.id))
        others.append(item if item.outcome == "unscored" else outcome)
    return tuple(
        replace(
            large_run,
            summaries=summaries_of(tuple(one)),
            evidence=tuple(one),
            aggregates=aggregate(summaries_of(one), METRICS),
        )
        for one in (items, others)
    )  # type: ignore[return-value]


def signed(value: float | None) -> str:
    """A difference in points, worked out anew."""
    if value is None:
        return "n/a"
    size = (Decimal(f"{value:.13g}") * 100).quantize(Decimal("0.1"), ROUND_HALF_UP)
    if value and not size:
        size = (Decimal(f"{value:.13g}") * 100).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return f"{size:+}" if value else f"{size}"


def test_reports_of_a_comparison_agree(two_runs: tuple[Run, Run]) -> None:
    record = assay.diff(*two_runs, resamples=200).record
    assert record.groups
    kinds = [change.kind for change in record.changes]
    assert kinds.count("fixed")
    assert kinds.count("broken")
    reports = {
        "console": readback.of_lines(render_diff(record, "txt").decode()),
        "terminal": readback.of_lines(drawn_by(lambda console: print_diff(record, console=console), width=160)),
        "markdown": readback.of_markdown(render_diff(record, "md")),
        "html": readback.of_html(render_diff(record, "html", runs=lambda: two_runs)),
    }
    for name, shown in reports.items():
        for kind in ("fixed", "broken"):
            said = f"{kinds.count(kind):,} {kind}"
            assert said in shown.text, (name, said)
        for note in record.notes:
            assert name == "terminal" or note in shown.text, (name, note)
        for one in record.metrics:
            [flat] = [
                row
                for row in (" ".join(row) for row in shown.rows if row[0] == one.metric)
                if reads(one.baseline) in row and reads(one.candidate) in row
            ]
            assert signed(one.difference) in flat, (name, flat)
            assert f"[{signed(one.low)}, {signed(one.high)}]" in flat, (name, flat)
            assert f"{one.n:,}" in flat, (name, flat)
            assert not one.unscored or f"{one.unscored:,} unscored" in flat, (name, flat)
            assert all(f"{count:,}" in flat for count in (one.gained, one.lost)), (name, flat)
        for group in record.groups:
            [one] = [one for one in group.metrics if one.metric == record.headline_metric]
            label = group.name or f"no {group.kind}"
            found = [" ".join(row) for row in shown.rows if row[0] == label]
            wanted = (reads(one.baseline), reads(one.candidate), signed(one.difference))
            assert any(all(piece in row for piece in wanted) for row in found), (name, label, wanted)
    document = json.loads(render_diff(record, "json"))
    assert document["counts"]["fixed"] == kinds.count("fixed")
    assert document["notes"] == list(record.notes)
    told = [{name: value for name, value in one.items() if name != "direction"} for one in document["metrics"]]
    assert told == json.loads(msgspec.json.encode(record.metrics))
    assert document["groups"] == json.loads(msgspec.json.encode(record.groups))
    # What a run says of itself, it says beside another, too.
    for run, side in zip(two_runs, (record.baseline, record.candidate), strict=True):
        assert side.headline == headline_of(run)[1]


def test_reports_of_a_leaderboard_agree(two_runs: tuple[Run, Run]) -> None:
    third = two_runs[0]
    record = assay.leaderboard([*two_runs, replace(third, settings=replace(third.settings, name="third"))]).record
    reports = {
        "console": readback.of_lines(render_leaderboard(record, "txt").decode()),
        "terminal": readback.of_lines(drawn_by(lambda console: print_leaderboard(record, console=console), width=160)),
        "markdown": readback.of_markdown(render_leaderboard(record, "md")),
    }
    for name, shown in reports.items():
        for standing in record.standings:
            wanted = {standing.run.label, reads(standing.rate.value), between(standing.rate)}
            assert any(wanted <= set(row) for row in shown.rows), (name, wanted)
        for pair in record.pairs if name != "terminal" else ():  # a matrix that says = of what is not told apart
            assert signed(pair.diff.difference).lstrip("+-") in shown.text, (name, pair)
        for note in record.notes:
            assert name == "terminal" or note in shown.text, (name, note)
    document = json.loads(render_leaderboard(record, "json"))
    assert document["standings"] == json.loads(msgspec.json.encode(record.standings))
    assert document["cases"] == record.cases
