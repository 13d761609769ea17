"""An estimate of accuracy without gold queries as every format draws it."""

from __future__ import annotations

from collections.abc import Iterable

from assay.model.runs.estimate import Bounds, Drawn, Estimate, EstimatedDifference, SignalFigure
from assay.reports.blocks.values import Column, KeyValues, Name, Number, Row, Section, Table, Text, columns, count
from assay.reports.text.plain import one_line, percent, plural, points

_METHODS = {
    "labels": "the labels alone",
    "cells": "each value of a signal by its share of all answers",
    "cross_fitted": "a regression on the signals, fitted in ten folds",
    "strata": "each stratum by its share of all answers",
    "unequal": "each label by its probability of being drawn",
}


class EstimateReport:
    """An estimate with the text of its numbers. Nothing is computed here."""

    def __init__(self, estimate: Estimate | EstimatedDifference) -> None:
        self.estimate = estimate
        self.confidence = f"{estimate.confidence * 100:g} %"
        self.notes = tuple(map(one_line, estimate.notes))

    @property
    def title(self) -> str:
        """``Accuracy of answers.jsonl, without gold``."""
        made = self.estimate
        if isinstance(made, Estimate):
            return one_line(f"Accuracy of {made.name}, without gold queries")
        return one_line(f"Accuracy of {made.other} minus {made.name}, without gold queries")

    @property
    def lead(self) -> str:
        """The estimate in a sentence."""
        made = self.estimate
        if isinstance(made, Estimate):
            if made.value is None or made.interval is None:
                return f"No label yet: nothing is known of the accuracy of these {made.size:,} answers."
            return f"{percent(made.value)} right {_shares(made.interval)}, {self.confidence} interval."
        if made.value is None or made.interval is None:
            return f"No label yet: {made.different:,} of {made.size:,} questions have different results."
        sure = made.interval.low > 0 or made.interval.high < 0
        word = "no difference is shown" if not sure else "better" if made.value > 0 else "worse"
        word = word if not sure else one_line(f"{made.other} is {word}")
        return f"{points(made.value)} points {_points(made.interval)}, {self.confidence} interval: {word}."

    @property
    def cases(self) -> str:
        """What it is the accuracy of."""
        made = self.estimate
        if made.target == "future":
            return f"Population: future answers. These {made.size:,} are a sample of them."
        noun = "answers" if isinstance(made, Estimate) else "questions"
        return f"Population: these {made.size:,} {noun}."

    @property
    def foot(self) -> str:
        """Below the panel."""
        return f"estimated, {self.confidence} interval"

    @property
    def sections(self) -> tuple[Section, ...]:
        """What stands below the answer."""
        made = self.estimate
        parts = _accuracy(made) if isinstance(made, Estimate) else _difference(made)
        return tuple(one for one in (*parts, *_next(made.drawn)) if one.blocks)


def _accuracy(made: Estimate) -> Iterable[Section]:
    yield Section(
        key="estimate", title="Estimate", blocks=(KeyValues(rows=tuple(_facts(made))),) if made.labels else ()
    )
    if made.strata:
        yield Section(
            key="strata",
            title="Strata" if made.method == "strata" else "Cells",
            blocks=(
                Table(
                    columns=columns("", _right("answers"), _right("labels"), _right("right")),
                    rows=tuple(
                        Row(
                            cells=(
                                Name(text=one_line(one.name)),
                                count(one.size),
                                count(one.labels),
                                _share(one.right, one.labels),
                            )
                        )
                        for one in made.strata
                    ),
                ),
            ),
        )
    if made.signals:
        yield Section(
            key="signals",
            title="Signals",
            blocks=(
                Table(
                    columns=columns("", _right("says yes"), _right("right if yes"), _right("right if no")),
                    rows=tuple(map(_signal, made.signals)),
                ),
            ),
        )


def _facts(made: Estimate) -> Iterable[tuple[str, str]]:
    unsure = f", {made.unsure} not sure or not valid" if made.unsure else ""
    yield "labels", f"{made.labels:,} of {made.size:,} answers, {made.right:,} right{unsure}"
    if made.method is not None:
        yield "method", _METHODS[made.method]
        yield "", f"since {made.why}"
    if made.plain is not None and made.method != "labels":
        what = "labels alone" if made.method in ("cells", "cross_fitted") else "as many random labels"
        yield what, f"{_shares(made.plain)}{_narrower(made.narrower)}"
    if made.judge is not None and made.judge.bias is not None:
        bias = made.judge.bias
        side = "too low" if bias < 0 else "too high"
        of = f" of {made.judge.opinions:,} answers" if made.judge.opinions < made.size else ""
        yield "judge alone", f"{percent(made.judge.says)}{of}, {points(abs(bias), signed=False)} points {side}"
    if made.bounds is not None:
        yield "if those are wrong, or right", _shares(made.bounds)


def _narrower(share: float | None) -> str:
    if share is None:
        return ""
    text = percent(abs(share))
    return f": the signals make it {text} {'narrower' if share >= 0 else 'wider'}"


def _signal(one: SignalFigure) -> Row:
    return Row(
        cells=(
            Name(text=one_line(one.name)),
            Number(value=one.share, text="" if one.share is None else percent(one.share), style="percent"),
            _share(one.right_for, one.labels_for),
            _share(one.right_against, one.labels_against),
        )
    )


def _difference(made: EstimatedDifference) -> Iterable[Section]:
    unsure = f", {made.unsure} not sure or not valid" if made.unsure else ""
    facts = [("different results", f"{made.different:,} of {made.size:,} questions")]
    if made.labels:
        facts.append(("labels", f"{made.labels:,} of these{unsure}"))
        only = f"{made.gains:,} right only in {made.other}, {made.losses:,} only in {made.name}"
        facts.append(("gained, lost", one_line(only)))
    if made.bounds is not None:
        facts.append(("whatever those are", _points(made.bounds)))
    yield Section(key="difference", title="Difference", blocks=(KeyValues(rows=tuple(facts)),))


def _next(drawn: Drawn | None) -> Iterable[Section]:
    if drawn is None:
        return
    lines = [f"{plural(drawn.cases, 'case')} drawn, round {drawn.round}, seed {drawn.seed}: {drawn.queue}"]
    if drawn.expected is not None:
        width = points((drawn.expected.high - drawn.expected.low) / 2, signed=False)
        rates = ", if half of the answers are right" if drawn.assumed else ""
        lines.append(f"Once all are labelled, expect an interval of about ±{width} points{rates}.")
    yield Section(
        key="next",
        title="To label next",
        blocks=(
            Table(
                columns=columns("", _right("answers"), _right("labels"), _right("next")),
                rows=tuple(
                    Row(cells=(Name(text=one_line(one.name or "all")), count(one.size), count(one.labels), count(more)))
                    for one, more in zip(drawn.strata, drawn.more, strict=True)
                ),
            ),
            Text(lines=tuple(map(one_line, lines))),
        ),
    )


def _right(title: str) -> Column:
    return Column(title=title, right=True)


def _share(part: int, whole: int) -> Number:
    return Number(value=part / whole if whole else None, text=f"{part} of {whole}" if whole else "", style="percent")


def _shares(bounds: Bounds) -> str:
    return f"[{_plain(bounds.low)}, {_plain(bounds.high)}]"


def _plain(value: float) -> str:
    return percent(value).removesuffix(" %")


def _points(bounds: Bounds) -> str:
    return f"[{points(bounds.low)}, {points(bounds.high)}]"
