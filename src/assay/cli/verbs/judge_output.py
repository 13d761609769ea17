"""What `assay judge` prints and writes."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import to_builtins
from msgspec.structs import replace

from assay.cli.messages import say, tell
from assay.cli.options.gates import UNFINISHED
from assay.cli.output import STANDARD_OUTPUT, write_json
from assay.errors import InputError
from assay.llm_judge import JudgedCase, QueryJudge, spending
from assay.model import Rate
from assay.reports.files import replace_file
from assay.reports.text.plain import interval, one_line, percent
from assay.runs.aggregate.rates import mean_of_each, rate_of

if TYPE_CHECKING:
    from assay.api.llm_judging import Labels, MeasuredJudge
    from assay.api.run import Run

_REASONS_SHOWN = 5
_IDS_SHOWN = 10
_REASON_LENGTH = 150


def write_opinions(path: Path, judged: Sequence[JudgedCase], run: Run | None) -> None:
    """Write one JSON object per case. Raises InputError if the file cannot be written."""
    outcomes = {} if run is None else {(one.case.id, one.prediction.repeat): one.outcome for one in run.evidence}
    several = run is not None and run.settings.repeats > 1
    records = (_record(case, outcomes.get((case.case_id, case.repeat)), numbered=several) for case in judged)
    lines = [json.dumps(one, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for one in records]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, b"".join(lines))
    except OSError as error:
        raise InputError(f"{path}: the opinions cannot be written there ({error.strerror})") from error


def _record(case: JudgedCase, outcome: str | None, *, numbered: bool) -> dict[str, Any]:
    opinion = case.opinion
    return {
        "case_id": case.case_id,
        **({"repeat": case.repeat + 1} if numbered else {}),
        "equivalent": case.equivalent,
        "reason": case.reason,
        **({} if outcome is None else {"execution": outcome}),
        "gold_index": case.gold_index,
        "agreement": None if opinion is None else opinion.agreement,
        "position_bias": case.position_bias,
        "votes": [
            {
                "gold_index": index,
                "order": vote.order,
                "sample": vote.sample,
                "equivalent": vote.equivalent,
                "difference": vote.difference,
                "failure": None if vote.failure is None else vote.failure.message,
                "abstained": vote.abstained,
                "input_tokens": None if vote.tokens is None else vote.tokens.input,
                "output_tokens": None if vote.tokens is None else vote.tokens.output,
                "latency_s": vote.latency_s,
                "kept": vote.cached,
            }
            for index, one in enumerate(case.opinions)
            for vote in one.votes
        ],
    }


def show_opinions(
    judge: QueryJudge,
    judged: Sequence[JudgedCase],
    run: Run | None,
    labels: Labels | None,
    *,
    calibrate: bool,
    json_file: Path | None,
) -> None:
    """Print the numbers on standard output, for a person or as JSON. Notes of the model go to standard error."""
    from assay.api.llm_judging import measure_judge

    measured = None
    if calibrate and run is not None:
        measured = measure_judge(run, judged, labels=None if labels is None else labels.by_case)
    opinions = [opinion for case in judged for opinion in case.opinions]
    agreements = [one.agreement for one in opinions if one.agreement is not None and len(one.votes) > 1]
    unscored = Counter(
        case.reason if case.opinion is None else case.opinion.reason for case in judged if case.equivalent is None
    )
    numbers = {
        "judge": judge.model.describe(),
        "cases": len({case.case_id for case in judged}),
        "equivalent": to_builtins(_equivalent(judged)),
        "unscored_reasons": [{"reason": reason, "cases": count} for reason, count in unscored.most_common()],
        "refused": sum(case.abstained for case in judged),
        "without_query": sum(case.equivalent is False and not case.asked for case in judged),
        "pairs_asked": len(opinions),
        "position_bias": sum(one.position_bias for one in opinions) if judge.settings.both_orders else None,
        "agreement": sum(agreements) / len(agreements) if agreements else None,
        "spending": to_builtins(spending(opinions, judge.settings)),
    }
    if json_file is not None:
        if measured is not None:
            numbers["calibration"] = to_builtins(measured)
        write_json(json_file, msgspec.json.format(msgspec.json.encode(numbers), indent=2))
    if json_file == STANDARD_OUTPUT:
        return
    if run is None:
        _show_pair(judged[0])
    _show_numbers(numbers, single=run is None)
    if measured is not None:
        _show_calibration(measured, blank=0 if labels is None else labels.blank)
    for note in getattr(judge.model, "notes", ()):
        tell(f"note: {one_line(note)}")


def exit_if_unjudged(judged: Sequence[JudgedCase]) -> None:
    """Say on standard error which cases lack an opinion, and end with status 3 as an unfinished run does.

    It does so if a case lacks a vote, which the same command asks for again, and if no case has an opinion, unless the
    judge refused. If every vote came and some cases have an opinion, unscored cases stay so, and the status is 0. A
    refusal is an abstention: it is kept, and asking again is for --retry-refusals.
    """
    abstained = Counter(case.reason for case in judged if case.abstained)
    if count := abstained.total():
        cases = "1 case" if count == 1 else f"{count:,} cases"
        reason = one_line(abstained.most_common(1)[0][0], limit=_REASON_LENGTH)
        tell(f"note: the judge abstained on {cases} of {len(judged):,} ({reason}): --retry-refusals asks again")
    asked = [case for case in judged if case.asked and not case.abstained]
    without = [case for case in asked if case.equivalent is None]
    open_ = [case for case in without if case.lacks_votes]
    if open_ or (without and len(without) == len(asked)):
        reason = Counter(case.reason for case in open_ or without).most_common(1)[0][0]
        count = len(open_ or without)
        what = "no pair got a verdict" if len(without) == len(asked) else f"{count:,} of {len(judged):,} could not be"
        sys.stdout.flush()
        advice = "run the same command again to resume" if open_ else "see the reasons"
        say(f"unfinished: {what} ({one_line(reason, limit=_REASON_LENGTH)}): {advice}")
        raise click.exceptions.Exit(UNFINISHED)


def _equivalent(judged: Sequence[JudgedCase]) -> Rate:
    """The rate of equivalent cases; a case that was asked several times counts by the mean of its answers."""
    by_case: dict[str, list[float | None]] = {}
    for case in judged:
        by_case.setdefault(case.case_id, []).append(None if case.equivalent is None else float(case.equivalent))
    once = all(len(values) == 1 for values in by_case.values())
    rate = rate_of(mean_of_each(by_case.values()), binary=once)
    return replace(rate, numerator=int(rate.numerator)) if once else rate


def _show_pair(case: JudgedCase) -> None:
    word = {True: "equivalent", False: "not equivalent", None: "unscored"}[case.equivalent]
    click.echo(f"{word}: {one_line(case.reason, limit=1000)}")


def _show_numbers(numbers: Mapping[str, Any], *, single: bool) -> None:
    click.echo(f"judged by {one_line(numbers['judge'])}")
    if not single:
        if numbers["refused"]:
            _line("abstained", f"{numbers['refused']} of {numbers['cases']}")
        _line("equivalent", _rate(numbers["equivalent"]))
        _line("unscored", f"{numbers['equivalent']['unscored']} of {numbers['cases']}")
        for entry in numbers["unscored_reasons"][:_REASONS_SHOWN]:
            click.echo(f"  {entry['cases']:>4} x {one_line(entry['reason'], limit=_REASON_LENGTH)}")
        more = len(numbers["unscored_reasons"]) - _REASONS_SHOWN
        if more > 0:
            click.echo(f"       and {more} more reasons, see -o FILE")
        if numbers["without_query"]:
            _line("no predicted query", f"{numbers['without_query']}, not equivalent without asking")
    if numbers["agreement"] is not None:
        _line("votes that agree", f"{percent(numbers['agreement'])} on average")
    if numbers["position_bias"] is None:
        _line("position bias", "not looked for: one order was asked")
    else:
        _line("position bias", f"{numbers['position_bias']} of {numbers['pairs_asked']} pairs")
    spent = numbers["spending"]
    same = f", {spent['shared']} with the same prompt as another" if spent["shared"] else ""
    _line("questions", f"{spent['questions']} asked, {spent['kept']} kept from before{same}")
    uncounted = f"; {spent['uncounted']} answers were not counted by the server" if spent["uncounted"] else ""
    _line("tokens", f"{spent['input_tokens']:,} in, {spent['output_tokens']:,} out{uncounted}")
    if spent["cost_usd"] is not None:
        _line("cost", f"{spent['cost_usd']:.4f} USD")


def _show_calibration(measured: MeasuredJudge, *, blank: int) -> None:
    truth = "the verdicts of execution" if measured.truth == "execution" else "labels"
    calibration, table = measured.calibration, measured.calibration.table
    click.echo(f"\nthe judge and {truth}, equivalent being the positive answer")
    click.echo("                          equivalent   not equivalent   (in truth)")
    click.echo(f"  judged equivalent       {table.true_positives:>10}   {table.false_positives:>14}")
    click.echo(f"  judged not equivalent   {table.false_negatives:>10}   {table.true_negatives:>14}")
    for name in ("precision", "recall", "specificity", "accuracy"):
        _line(name, _rate(to_builtins(getattr(calibration, name))))
    kappa = calibration.kappa
    _line(
        "Cohen's kappa",
        "none: both sides always say the same one thing, or nothing"
        if kappa is None
        else f"{kappa.value:.3f}   [{kappa.low:.3f}, {kappa.high:.3f}]",
    )
    left_out = [
        (calibration.unscored, "unscored by the judge"),
        (measured.without_truth, "unscored by execution" if measured.truth == "execution" else "without a label"),
        (measured.not_asked, "without a predicted or a gold query"),
    ]
    _line("left out", ", ".join(f"{count} {why}" for count, why in left_out if count) or "no case")
    if blank:
        click.echo("  1 row of the labels is blank" if blank == 1 else f"  {blank} rows of the labels are blank")
    if measured.disagreements:
        shown = ", ".join(one_line(one) for one in measured.disagreements[:_IDS_SHOWN])
        more = len(measured.disagreements) - _IDS_SHOWN
        _line("disagreements", shown + (f" and {more} more" if more > 0 else ""))


def _line(name: str, value: str) -> None:
    click.echo(f"{name:<20}{value}")


def _rate(rate: Mapping[str, Any]) -> str:
    whole = Rate(**rate)
    counts = f"{rate['numerator']:g} of {rate['n']}"
    return f"{counts:<12}{percent(whole.value):>8}   {interval(whole)}".rstrip()
