"""The trend: what it joins, what it says, and that nothing of it covers anything else."""

from __future__ import annotations

import base64
import hashlib
import random
import re
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from assay.model import Fingerprint, HistoryPoint, Rate, Run
from assay.reports.blocks.history import TrendPoint, TrendSeries, history_report
from assay.reports.console.printing import plain_runs, print_runs
from assay.reports.html.history import NARROW, WIDE, TrendSize, over_time, runs_html, trend_svg, value_axis
from assay.reports.html.run import HtmlReporter
from assay.reports.json.comparisons import runs_json
from assay.runs.store.history import point_of
from drawing import drawn_by
from many_cases import each

SVG = "{http://www.w3.org/2000/svg}"
START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def point(day: float, value: float, name: str = "nightly", *, half: float = 0.05, current: bool = False) -> TrendPoint:
    return TrendPoint(
        at=START + timedelta(days=day),
        value=value,
        low=max(0.0, value - half),
        high=min(1.0, value + half),
        name=name,
        text=f"{value * 100:.1f} %",
        said=f"{name}: {value * 100:.1f} %",
        current=current,
    )


def series(label: str, *points: TrendPoint) -> TrendSeries:
    return TrendSeries(label=label, points=points)


def drawn(every: list[TrendSeries], size: TrendSize = WIDE) -> ElementTree.Element:
    text = str(trend_svg(every, size, title="match over time"))
    return ElementTree.fromstring(text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def boxes(svg: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    """Where each label and tick lies, its characters taken as wide as those of common fonts."""
    found = []
    for text in svg.iter(f"{SVG}text"):
        lines = [span.text or "" for span in text] or [text.text or ""]
        x = float(text.get("x") or text[0].get("x") or 0)
        width, top = max(map(len, lines)) * 7.4, float(text.get("y") or 0) - 11
        left = x - {"middle": width / 2, "end": width, "start": 0.0}[text.get("text-anchor") or "start"]
        found.append((left, top, left + width, top + 16 * len(lines) - 2))
    return found


def meets(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@each("size", [WIDE, NARROW], ids=lambda size: size.name)
@each("seed", range(12))
def test_no_text_covers_another_or_leaves_the_drawing(size: TrendSize, seed: int) -> None:
    chance = random.Random(seed)
    every = [
        series(
            f"set {number}",
            *sorted(
                (
                    point(chance.choice([0, 0.001, 1, 30]) * chance.random(), chance.random(), f"run number {place}")
                    for place in range(chance.choice([1, 2, 9, 60]))
                ),
                key=lambda one: one.at,
            ),
        )
        for number in range(1 + seed % 4)
    ]
    found = boxes(drawn(every, size))
    assert found
    assert not [pair for pair in combinations(found, 2) if meets(*pair)]
    assert all(left >= -1 and right <= size.width + 1 and top >= 0 for left, top, right, _ in found)


def test_a_line_joins_only_runs_over_the_same_cases() -> None:
    svg = drawn([series("a", point(0, 0.5), point(1, 0.6), point(2, 0.7)), series("b", point(1, 0.9))])
    lines = [path.get("d") or "" for path in svg.iter(f"{SVG}path") if path.get("class") == "line"]
    assert [line.count("L") for line in lines] == [2]
    main, other = (
        [mark.tag for mark in group.iter() if mark.get("class") == "dot"]
        for kind in ("main", "other")
        for group in svg.iter(f"{SVG}g")
        if group.get("class") == f"series {kind}"
    )
    assert main == [f"{SVG}circle"] * 3
    assert other == [f"{SVG}path"], "the other series must be told by shape, too"


def test_runs_of_one_second_stand_apart() -> None:
    svg = drawn([series("a", point(0, 0.5, "x"), point(0, 0.5, "y"), point(0, 0.5, "z"))])
    xs = [float(dot.get("cx") or 0) for dot in svg.iter(f"{SVG}circle")]
    assert all(after - before > 50 for before, after in pairwise(sorted(xs)))


def test_longer_pauses_are_wider() -> None:
    svg = drawn([series("a", point(0, 0.5), point(1, 0.5), point(20, 0.5), point(21, 0.5))])
    first, second, third, fourth = (float(dot.get("cx") or 0) for dot in svg.iter(f"{SVG}circle"))
    assert third - second > 5 * (second - first)
    assert second - first == pytest.approx(fourth - third, abs=0.2)


def test_the_chart_is_said_in_words() -> None:
    svg = drawn([series("dev.jsonl", point(0, 0.5, "old"), point(1, 0.7, "best"), point(2, 0.6, "new"))])
    assert svg.get("role") == "img"
    named = (svg.get("aria-labelledby") or "").split()
    texts = {one.get("id"): one.text or "" for one in svg if one.tag in (f"{SVG}title", f"{SVG}desc")}
    assert sorted(texts) == sorted(named)
    assert texts["trend-wide-desc"] == (
        "dev.jsonl: 3 runs, from 50.0 % on 1 Mar 2026 to 60.0 % on 3 Mar 2026; "
        "highest 70.0 % (best), lowest 50.0 % (old)."
    )
    assert [one.text for group in svg.iter(f"{SVG}g") for one in group if one.tag == f"{SVG}title"] == [
        "old: 50.0 %",
        "best: 70.0 %",
        "new: 60.0 %",
    ]


def test_the_reports_own_run_is_ringed_and_the_last_labelled() -> None:
    points = [point(number, 0.5 + 0.001 * number, f"run {number}", current=number == 57) for number in range(200)]
    svg = drawn([series("a", *points)])
    assert [one.get("class") for one in svg.iter(f"{SVG}circle")].count("ring") == 1
    labels = [text.text for text in svg.iter(f"{SVG}text") if "label" in (text.get("class") or "")]
    assert labels == ["69.9 %"], "the ring's own value is in its tooltip"


def test_no_runs_are_no_chart() -> None:
    assert trend_svg([], WIDE, title="x") == ""


@each(("low", "high"), [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.43, 0.91), (0.8, 0.82), (0.0, 1.0), (3.0, 140.0)])
def test_the_axis_holds_the_values_and_nothing_absurd(low: float, high: float) -> None:
    step, bottom, top = value_axis(low, high)
    assert bottom <= low <= high <= top
    assert 2 <= round((top - bottom) / step) <= 10
    if high <= 1:
        assert bottom >= -1e-9
        assert top <= 1 + 1e-9


@pytest.fixture
def points(small_run: Run) -> list[HistoryPoint]:
    """Four runs over two question sets, one unfinished, one damaged."""
    made = []
    for place, (day, digest, name) in enumerate(
        [("01", "aa11", "first <b>&"), ("02", "cc33", "other"), ("05", "aa11", None), ("06", "aa11", "\u202eevil")]
    ):
        run = replace(
            small_run,
            settings=replace(small_run.settings, name=name, tags=("nightly", f"n={place}")),
            provenance=replace(
                small_run.provenance,
                started_at=f"2026-03-{day}T09:30:00Z",
                inputs=(Fingerprint(name="dev.jsonl", digest=digest),),
            ),
        )
        made.append(point_of(run, f"runs/night/{place}"))
    made.append(replace(made[-1], status="running", headline=None, cases=0, folder="runs/half"))
    damaged = HistoryPoint(folder="runs/bad", status="damaged", settings=None, provenance=None, trouble="is cut off")
    return [*made, damaged]


def test_plain_lines_say_everything(points: list[HistoryPoint]) -> None:
    text = plain_runs(history_report(points, folder="runs"))
    lines = text.splitlines()
    assert lines[0] == "6 runs in runs · match, 95 % interval"
    assert re.match(r" *2026-03-01 09:30 +first <b>& +night/0 +nightly, n=0 +din-sql-gpt4 +dev.jsonl #aa11 ", lines[3])
    assert "night/2" in lines[5]
    assert "⟨U+202E⟩evil" in lines[6]
    assert lines[7].endswith("unfinished")
    assert "damaged: bad: is cut off" in lines
    assert any("2 question sets: 3 runs over dev.jsonl #aa11; 1 run over dev.jsonl #cc33" in line for line in lines)


@pytest.mark.parametrize("width", [30, 44, 60, 80, 100, 140, 200])
def test_a_terminal_of_any_width_shows_name_and_headline(points: list[HistoryPoint], width: int) -> None:
    drawn = drawn_by(lambda console: print_runs(points, folder="runs", console=console), width=width)
    rows = [line.rstrip() for line in drawn.splitlines() if re.search(r"%|unfinished$|damaged$", line.rstrip())][1:7]
    assert [row.split()[-1] for row in rows[-2:]] == ["unfinished", "damaged"]
    assert all(len(row) <= max(width, 38) for row in rows)
    assert all("%" in row for row in rows[:4])


@pytest.mark.parametrize("width", range(60, 141, 8))
def test_short_texts_are_cut_on_no_terminal_that_has_room(points: list[HistoryPoint], width: int) -> None:
    """A column's least width is for long texts: with short ones it takes no room from the figures."""
    made = []
    for place, one in enumerate(points[:2]):
        assert one.settings is not None
        short = replace(one.settings, name=None, tags=(), predictions="v2", cases="c")
        made.append(replace(one, settings=short, folder=f"runs/{'ab'[place]}"))
    text = drawn_by(lambda console: print_runs(made, folder="runs", console=console), width=width)
    assert "…" not in text, text


def test_the_page_holds_the_chart_and_every_run_and_loads_nothing(points: list[HistoryPoint]) -> None:
    page = runs_html(points, folder="runs").decode()
    assert page.count('<svg class="trend ') == 2
    assert page.count("<tr>") == 1 + len(points)
    assert "first &lt;b&gt;&amp;" in page
    assert "<b>&amp;" not in page
    assert "\u202e" not in page
    assert "is cut off" in page
    assert page.count("<script>") == page.count("<script") == 1  # its own, which the policy names
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<script|<link|<img|\sstyle=|\son\w+=", markup)
    [css] = re.findall(r"<style>(.*?)</style>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'".replace("'", "&#39;") in page or f"style-src 'sha256-{digest}'" in page


def test_a_runs_page_shows_the_trend_where_it_has_a_history(points: list[HistoryPoint], small_run: Run) -> None:
    assert over_time(small_run) is None
    assert b'id="over-time"' not in HtmlReporter().render(small_run)
    later = replace(
        small_run,
        provenance=replace(
            small_run.provenance,
            started_at="2026-04-01T00:00:00Z",
            inputs=(Fingerprint(name="dev.jsonl", digest="aa11"),),
        ),
        history=tuple(points[:4]),
    )
    page = HtmlReporter().render(later).decode()
    assert page.count('id="over-time"') == 1
    assert page.count('class="ring"') == 2
    assert "The ring marks this run." in page
    assert "dev.jsonl #aa11: 4 runs" in page
    assert "<script>" in page


def test_json_groups_the_runs_by_their_cases(points: list[HistoryPoint]) -> None:
    import json

    document = json.loads(runs_json(points, folder="runs"))
    assert document["format"] == "assay-runs"
    assert [run["question_set"] for run in document["runs"]] == [0, 1, 0, 0, None, None]
    assert [one["digest"] for one in document["question_sets"]] == ["aa11", "cc33"]
    assert document["runs"][-1]["point"]["trouble"] == "is cut off"


def test_a_run_without_scored_cases_is_listed_and_not_drawn(points: list[HistoryPoint]) -> None:
    nothing = replace(points[0], headline=Rate(n=0, numerator=0.0, unscored=6, value=None, low=None, high=None))
    report = history_report([nothing], folder="runs")
    assert " n/a " in plain_runs(report)
    assert report.series == ()
    assert b"<svg" not in runs_html([nothing], folder="runs")
