"""What every format says of several runs."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile

import pytest
from diffs import HOSTILE, board
from msgspec.structs import replace

from assay.model import BoardDetail, BoardGroup, Leaderboard, Rate
from assay.reports.blocks.leaderboard import LeaderboardReport, possible
from assay.reports.blocks.values import Number, Table
from assay.reports.console.printing import plain_leaderboard, print_leaderboard
from assay.reports.diff_formats import render_leaderboard
from assay.reports.screen.leaderboard import leaderboard_screen
from assay.reports.screen.run import screen_text
from drawing import drawn_by
from many_cases import each


def drawn(record: Leaderboard, width: int = 100) -> str:
    return drawn_by(lambda console: print_leaderboard(record, console=console), width=width)


def test_the_headline_says_whether_the_lead_may_be_chance() -> None:
    firm = LeaderboardReport(board(apart=((0, 1), (0, 2))))
    assert firm.lead == "din is first: match 80.0 % [77.0, 83.0], significantly above every other run."
    assert "but its lead over graphix may be chance" in LeaderboardReport(board(apart=((0, 2),))).lead
    assert "its lead over every other run may be chance" in LeaderboardReport(board()).lead


def test_places_letters_and_pairs_are_shown() -> None:
    view = LeaderboardReport(board(apart=((0, 2),)))
    blocks = {section.key: section.blocks[0] for section in view.sections}
    ranking, matrix, pairs = blocks["ranking"], blocks["apart"], blocks["pairs"]
    assert isinstance(ranking, Table)
    assert isinstance(matrix, Table)
    assert isinstance(pairs, Table)
    assert [row.cells[:3] for row in ranking.rows] == [("1", "1-2", "a"), ("2", "1-3", "a"), ("3", "2-3", "b")]
    assert [possible(one) for one in view.board.standings] == ["1-2", "1-3", "2-3"]
    cells = [[cell.text if isinstance(cell, Number) else None for cell in row.cells[1:]] for row in matrix.rows]
    assert cells == [[None, "=", "+4.0"], ["=", None, "="], ["-4.0", "=", None]]
    for pair, row in zip(view.board.pairs, pairs.rows, strict=True):
        difference, interval = str(row.cells[2]), str(row.cells[3])
        assert pair.diff.difference is not None
        assert pair.diff.low is not None
        assert pair.diff.high is not None
        assert float(difference) == pytest.approx(-100 * pair.diff.difference, abs=0.051)
        bounds = [float(one) for one in interval.strip("[]").split(",")]
        assert bounds == pytest.approx([-100 * pair.diff.high, -100 * pair.diff.low], abs=0.051)
        assert float(difference) >= 0.0, "the better run stands first, and lies above"
    text = plain_leaderboard(board(apart=((0, 2),)))
    assert "may be chance" in text
    assert "34 left out, since a run lacks them" in text


def test_no_name_in_the_csv_is_a_formula_and_every_other_stands_as_it_is() -> None:
    names = ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\uff1d1", " =1", "\t=1", "plain", "a=1", "'quoted'"]
    made = render_leaderboard(board(*names), "csv")
    rows = list(csv.DictReader(io.StringIO(made.decode())))
    told = [row["run"] for row in rows]
    assert told[:5] == [f"'{name}" for name in names[:5]]
    assert not any(name.lstrip()[0] in "=+-@" for name in told)
    assert told[-3:] == names[-3:]
    assert float(rows[0]["value"]) == 0.8


@each("width", [40, 80, 140])
def test_a_terminal_of_any_width_holds_it(width: int) -> None:
    text = drawn(board(*(f"run-{number}" for number in range(12)), HOSTILE), width)
    assert max(map(len, text.splitlines())) <= width
    assert "Ranking" in text
    assert "\x1b[31m" not in text


def test_json_has_every_pair() -> None:
    document = json.loads(render_leaderboard(board(apart=((0, 2),)), "json"))
    assert document["format"] == "assay-leaderboard"
    assert [(pair["first"], pair["second"], pair["apart"]) for pair in document["pairs"]] == [
        (0, 1, False),
        (0, 2, True),
        (1, 2, False),
    ]


def test_no_run_at_all_is_said() -> None:
    assert "No runs to rank" in plain_leaderboard(board(standings=(), pairs=()))
    assert "No runs to rank" in drawn(board(standings=(), pairs=()))


def test_pairs_apart_though_their_interval_holds_0_are_explained() -> None:
    told = "An interval can contain 0 although the test finds a significant difference"
    plain = board("din", "few", apart=((0, 1),))
    [pair] = plain.pairs
    several = replace(pair, diff=replace(pair.diff, low=-0.1, high=0.01, clusters=20))
    assert told in " ".join(LeaderboardReport(replace(plain, pairs=(several,))).legend)
    alone = replace(pair, diff=replace(pair.diff, low=-0.1, high=-0.01, clusters=20))
    assert told not in " ".join(LeaderboardReport(replace(plain, pairs=(alone,))).legend)


def test_runs_of_one_value_are_first_together() -> None:
    plain = board("din", "few", "low")
    first, second, third = plain.standings
    equal = replace(second, rate=first.rate, rank=1)
    tied = replace(plain, standings=(first, equal, third))
    told = "No single best run: din and few have the same match, 80.0 % [77.0, 83.0]"
    assert LeaderboardReport(tied).lead == f"{told}, and the lead over low may be chance."
    alone = replace(tied, standings=(first, equal), pairs=plain.pairs[:1])
    assert LeaderboardReport(alone).lead == f"{told}."


def test_a_headline_names_no_more_runs_than_one_reads() -> None:
    plain = board(*(f"run-{number}" for number in range(20)))
    equal = tuple(replace(one, rate=plain.standings[0].rate, rank=1) for one in plain.standings)
    told = LeaderboardReport(replace(plain, standings=equal)).lead
    assert told == "No single best run: run-0 and 19 others have the same match, 80.0 % [77.0, 83.0]."
    apart = LeaderboardReport(board(*(f"run-{number}" for number in range(20)), apart=((0, 19),))).lead
    assert apart.endswith("but its lead over run-1 and 17 others may be chance.")


def test_only_single_yes_or_no_answers_are_counted() -> None:
    plain = board("din", "few")
    first, second = plain.standings
    asked = replace(first, run=replace(first.run, repeats=4))
    report = LeaderboardReport(replace(plain, standings=(asked, second)))
    assert [report.figure(one).tally for one in report.board.standings] == ["mean of 1,000", "780 of 1,000"]


@each("sizes", [(1000, 1000), (1000, 905), (913, 905), (905, 0)])
def test_a_metric_over_fewer_cases_than_the_header_says_of_how_many(sizes: tuple[int, ...]) -> None:
    """Each run has its own: the cases for which the metric is defined depend on the predictions."""
    rates = [
        tuple(
            Rate(n=n, numerator=n // 2, unscored=0, value=0.5 if n else None, low=None, high=None) for n in (1000, size)
        )
        for size in sizes
    ]
    group = BoardGroup(kind="overall", name=None, cases=1000, rates=tuple(rates))
    detail = BoardDetail(
        metrics=("match", "non_empty_match"),
        groups=(group,),
        only_right=((0, 0), (0, 0)),
        alone_right=((), ()),
        alone_wrong=((), ()),
        all_right=0,
        none_right=0,
        cases=(),
    )
    record = board("din", "few", detail=detail)
    (section,) = (one for one in LeaderboardReport(record).sections if one.key == "grid-metrics")
    (table,) = section.blocks
    assert isinstance(table, Table)
    has_fewer = set(sizes) != {1000}
    assert section.aside == ("not over all cases: non_empty_match" if has_fewer else "")
    for row, size in zip(table.rows, sizes, strict=True):
        _, leading, other = row.cells
        assert isinstance(leading, Number)
        assert isinstance(other, Number)
        assert "n=" not in leading.text
        assert other.text.endswith(f"(n={size:,})") == has_fewer
    text = plain_leaderboard(record)
    assert [f"(n={size:,})" in text for size in sizes] == [has_fewer, has_fewer]


def _over_databases() -> Leaderboard:
    plain = board(notes=tuple(f"note {number}: {'long ' * 40}" for number in range(9)))
    pairs = tuple(replace(pair, diff=replace(pair.diff, clusters=20)) for pair in plain.pairs)
    return replace(plain, pairs=pairs, left_out=7)


def test_every_format_says_that_intervals_are_by_case_and_letters_by_database() -> None:
    record = _over_databases()
    said = "Intervals are by case; letters and places are by database (20)"
    assert said in LeaderboardReport(record).cases
    screen = " ".join(screen_text(leaderboard_screen(record, width=60, lines=12)).split())
    assert said in screen
    assert said in " ".join(drawn(record).replace("│", " ").split())
    assert said in " ".join(plain_leaderboard(record).split())
    for format in ("html", "md", "tex"):
        text = render_leaderboard(record, format).decode().replace("\n% ", " ")
        assert said in " ".join(re.sub(r"\\([()])", r"\1", text).split()), format
    by_case = replace(board(), settings=replace(record.settings, by="case"))
    assert "Intervals, letters and places are by case" in LeaderboardReport(by_case).cases


def test_every_column_of_the_latex_table_has_a_header() -> None:
    lines = render_leaderboard(board(), "tex").decode().splitlines()
    heads = lines[lines.index(r"\toprule") + 1].removesuffix(r" \\").split(" & ")
    assert heads[:3] == ["Possible", "Run", "Letters"]
    assert all(heads)


@each("format", ["html", "md", "json", "tex", "xlsx"])
def test_every_format_has_the_notes(format: str) -> None:
    told = "With 8 databases and 10 pairs no two runs can be told apart"
    record = board(notes=(told,))
    assert told in plain_leaderboard(record)
    assert told in drawn(record, 200)
    held = render_leaderboard(record, format)
    if format == "xlsx":
        with zipfile.ZipFile(io.BytesIO(held)) as book:
            held = b"".join(book.read(name) for name in book.namelist() if name.endswith(".xml"))
    assert told in held.decode()
