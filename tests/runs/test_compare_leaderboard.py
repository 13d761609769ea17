"""Several runs on one question set: order, letters, ranks, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from assay.errors import InputError, UsageError
from assay.model import Case, DiffSettings, Evidence, Leaderboard, Prediction, Run, SamplingUnit, Score, Verdict
from assay.reports.blocks.diff import DiffReport
from assay.runs.compare.diff import diff_runs
from assay.runs.compare.leaderboard import rank
from assay.stats import clusters_needed
from many_cases import each
from running import run_of


def run(
    name: str, values: Sequence[float | None], *, first: int = 0, gold: str = "g", databases: int | None = None
) -> Run:
    evidence = tuple(
        Evidence(
            case=Case(
                id=str(at),
                question=f"{at}?",
                golds=(gold if at == first else "g",),
                database=None if databases is None else f"db{at % databases}",
            ),
            prediction=Prediction(case_id=str(at), query=name),
            verdict=Verdict(outcome="correct" if value else "incorrect", reason=""),
            scores=(Score(metric="match", value=value),),
        )
        for at, value in enumerate(values, start=first)
    )
    return run_of(*evidence, name=name)


def shares(right: int, of: int = 100) -> list[float]:
    return [1.0] * right + [0.0] * (of - right)


def test_runs_are_ranked_best_first_and_those_that_cannot_be_told_apart_share_a_letter() -> None:
    board = rank([run("worst", shares(20)), run("best", shares(80)), run("nearly", shares(78))])
    assert [(one.run.label, one.rank, one.rank_low, one.rank_high, one.groups) for one in board.standings] == [
        ("best", 1, 1, 2, "a"),
        ("nearly", 2, 1, 2, "a"),
        ("worst", 3, 3, 3, "b"),
    ]
    assert (board.cases, board.left_out, board.notes) == (100, 0, ())
    assert [(pair.first, pair.second) for pair in board.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert board.pairs[0].diff.difference == pytest.approx(-0.02)
    assert (board.standings[0].rate.numerator, board.standings[0].rate.n) == (80, 100)


def test_a_pair_of_a_leaderboard_has_the_numbers_of_its_diff_corrected_across_all_pairs() -> None:
    first, second, third = run("a", shares(80)), run("b", shares(73)), run("c", shares(60))
    board = rank([first, second, third])
    alone = diff_runs(first, second).metrics[0]
    pair = board.pairs[0].diff
    assert (pair.gained, pair.lost, pair.p_value, pair.low, pair.high) == (
        alone.gained,
        alone.lost,
        alone.p_value,
        alone.low,
        alone.high,
    )
    assert pair.adjusted_p_value >= pair.p_value


def test_equal_means_share_a_rank() -> None:
    board = rank([run("a", [1, 0, 1]), run("b", [0, 1, 1]), run("c", [0, 0, 0])])
    assert [(one.run.label, one.rank) for one in board.standings] == [("a", 1), ("b", 1), ("c", 3)]


def test_only_cases_that_all_have_unchanged_and_score_count() -> None:
    board = rank([run("a", [1, 1, 1, 0]), run("b", [1, None, 1, 0]), run("c", [1, 1, 0], first=1, gold="other")])
    # Case 0 is not in c, case 1 was changed there and is unscored in b.
    assert (board.cases, board.left_out) == (2, 2)
    assert "2 cases are not the same in all runs, and excluded." in board.notes
    board = rank([run("a", [1, 1]), run("b", [1, None])])
    assert (board.cases, board.left_out) == (1, 1)
    assert board.notes[0] == "1 case that all runs have is left unscored by at least one of them, and excluded."


def test_what_cannot_be_ranked_is_said() -> None:
    one = run("a", [1])
    with pytest.raises(UsageError, match="at least two runs"):
        rank([one])
    with pytest.raises(InputError, match="no case in common to all 2 runs: a has '0'; b has '7'"):
        rank([one, run("b", [1], first=7)])
    with pytest.raises(InputError, match="none of the 1 case that all 2 runs have"):
        rank([one, run("b", [None])])
    with pytest.raises(InputError, match="has no metric 'f1'"):
        rank([one, one], metric="f1")


NOTHING_CAN_BE = "no two runs can differ significantly"


@each("databases", [None, 5, 8])
@each("count", [2, 3, 5])
@each("alpha", [0.05, 0.01])
def test_a_board_says_so_exactly_where_not_even_all_against_nothing_can_be_told_apart(
    count: int, databases: int | None, alpha: float
) -> None:
    cases = 8 if databases is None else 2 * databases
    runs = [run(f"r{at}", shares(cases if at % 2 else 0, of=cases), databases=databases) for at in range(count)]
    board = rank(runs, settings=DiffSettings(alpha=alpha, resamples=20))
    apart = any((pair.diff.adjusted_p_value or 1.0) <= alpha for pair in board.pairs)
    told = [note for note in board.notes if NOTHING_CAN_BE in note]
    assert len(told) == (not apart)
    needed = clusters_needed(alpha, tests=len(board.pairs))
    assert apart == ((databases or cases) >= needed)
    for note in told:
        assert f"At least {needed} {'cases' if databases is None else 'databases'} are needed" in note


def test_a_board_of_too_few_databases_says_what_would_do_and_what_the_cases_say() -> None:
    runs = [run(f"r{right}", shares(right, of=40), databases=8) for right in (40, 30, 20, 10, 0)]
    board = rank(runs, settings=DiffSettings(resamples=20))
    assert {standing.groups for standing in board.standings} == {"a"}
    few, by_case = board.notes
    assert few == (
        "With 8 databases and 10 pairs no two runs can differ significantly at α = 0.05: flipping "
        "whole databases gives no p below 0.0078, 0.078 after the correction across 10 pairs. At least 9 databases are "
        "needed, or a ranking of 4 runs at most."
    )
    assert by_case.startswith("Tested by case, 10 pairs of 10 differ significantly")
    assert not rank(runs[:4], settings=DiffSettings(resamples=20)).notes
    assert not rank(runs[:1], detailed=True).notes


def test_by_case_a_ranking_over_databases_is_that_over_the_same_cases_of_one_database() -> None:
    def ranked(databases: int | None, unit: SamplingUnit) -> Leaderboard:
        runs = [run(f"r{right}", shares(right, of=40), databases=databases) for right in (40, 25, 24, 5)]
        return rank(runs, settings=DiffSettings(by=unit))

    fixed, plain = ranked(4, "case"), ranked(None, "database")
    assert [(one.groups, one.rank_low, one.rank_high, one.rate) for one in fixed.standings] == [
        (one.groups, one.rank_low, one.rank_high, one.rate) for one in plain.standings
    ]
    assert [pair.diff for pair in fixed.pairs] == [pair.diff for pair in plain.pairs]
    assert len({one.groups for one in fixed.standings}) > 1
    assert {one.groups for one in ranked(4, "database").standings} == {"a"}
    assert fixed.notes == plain.notes


def test_two_runs_over_too_few_cases_say_so() -> None:
    few, enough = ([run("a", shares(size, of=size)), run("b", shares(0, of=size))] for size in (5, 6))
    told = "With 5 cases no difference can be significant at α = 0.05: flipping cases gives no p below 0.062."
    report = DiffReport(diff_runs(*few))
    assert told in report.notes
    assert "some 6 cases would be needed for the one observed" in report.answer.limits
    assert not any("no difference can be" in note for note in DiffReport(diff_runs(*enough)).notes)
