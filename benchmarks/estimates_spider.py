"""Accuracy without gold on the public systems of spider-dev, by the whole way of `assay estimate`.

Gold's verdict is the person's label. The signals are agreement with one other system, the execution, the lint and a
simulated judge.
"""

from __future__ import annotations

import os
import statistics
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy
from msgspec.structs import replace
from numpy.typing import NDArray

from assay.api.estimating import Reading, agreement, with_signals
from assay.model.verdicts.review import Draw
from assay.runs.estimates.accuracy import estimate_accuracy
from assay.runs.estimates.drawing import draw_cases
from assay.runs.estimates.frame import AGREES, EXECUTES, GOLD, JUDGE, LINT, NOT_EMPTY, Frame, answers_of
from assay.runs.estimates.labels import Label, Labels

Array: TypeAlias = NDArray[numpy.float64]
JUDGES = (None, (0.9, 0.8))
DESIGNS = ("labels alone", "random, all signals", "strata, proportional", "strata, two-phase Neyman")
NUMBERS = (30, 50, 100, 300)
LOWEST, MEAN = 0.92, 0.95


def spider_table(folder: Path, *, samples: int = 150, systems: int | None = None) -> tuple[list[str], list[str]]:
    """The rows of a Markdown table, and what misses the bound."""
    return table_of(frames_of(folder, systems), samples)


def table_of(frames: list[tuple[Frame, Array]], samples: int) -> tuple[list[str], list[str]]:
    """As `spider_table`, of systems that are read."""
    lines = [
        "| judge | design | coverage, mean (lowest) | " + " | ".join(f"width, n = {n}" for n in NUMBERS) + " |",
        "|---" * (3 + len(NUMBERS)) + "|",
    ]
    missed = []
    for judge in JUDGES:
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            given = [judged(frame, truth, judge, number) for number, (frame, truth) in enumerate(frames)]
            found = list(pool.map(partial(measure_all, samples=samples), given, [truth for _, truth in frames]))
        for design in DESIGNS:
            rates = [coverage for one in found for coverage, _ in one[design]]
            widths = [100 * statistics.fmean(one[design][place][1] for one in found) for place in range(len(NUMBERS))]
            name = "none" if judge is None else f"{judge[0]}/{judge[1]}"
            cells = " | ".join(f"{width:.1f}" for width in widths)
            coverage = f"{100 * statistics.fmean(rates):.1f} ({100 * min(rates):.1f})"
            lines.append(f"| {name} | {design} | {coverage} | {cells} |")
            # A rate of so few samples has a standard error of its own: the lowest of all may be three of them below.
            allowed = LOWEST - 3 * (LOWEST * (1 - LOWEST) / samples) ** 0.5
            if statistics.fmean(rates) < MEAN - 0.005 or min(rates) < allowed:
                missed.append(f"spider-dev, judge {name}, {design}: {coverage}")
    return lines, missed


def measure_all(frame: Frame, truth: Array, *, samples: int) -> dict[str, list[tuple[float, float]]]:
    """By design, coverage and width for each number of labels."""
    frame, _, _ = draw_cases(frame, Labels(), 50)  # the strata are made once
    return {design: [measure(frame, truth, design, n, samples) for n in NUMBERS] for design in DESIGNS}


def frames_of(folder: Path, systems: int | None = None) -> list[tuple[Frame, Array]]:
    """The frame of each system, and which of its answers gold's verdict calls right."""
    databases = f"sqlite:///{folder}/database/{{db_id}}/{{db_id}}.sqlite"
    reading = Reading(databases=databases)
    files = sorted((folder / "predictions").iterdir())[:systems]
    runs = [reading.evaluate(str(folder / "dev.jsonl"), str(file), databases) for file in files]
    found = []
    for number, run in enumerate(runs):
        frame = Frame(name=files[number].stem, answers=answers_of(run.evidence))
        frame = with_signals(frame, run, None, reading, judge=None, beside=())
        other = runs[(number + 1) % len(runs)]
        agrees = agreement(run.evidence, other.evidence, reading, databases)
        signals = {name: frame.signals[name] for name in (EXECUTES, NOT_EMPTY, LINT)}
        truth = numpy.array([value or 0.0 for value in frame.signals[GOLD]])
        found.append((replace(frame, signals={**signals, f"{AGREES}another": agrees}), truth))
    return found


def judged(frame: Frame, truth: Array, judge: tuple[float, float] | None, seed: int) -> Frame:
    """The frame with a judge of that sensitivity and specificity."""
    if judge is None:
        return frame
    draw = numpy.random.default_rng(seed).random(len(truth))
    says = numpy.where(truth > 0, draw < judge[0], draw >= judge[1]).astype(float)
    return replace(frame, signals={**frame.signals, JUDGE: says.tolist()})


def measure(frame: Frame, truth: Array, design: str, n: int, samples: int) -> tuple[float, float]:
    """How often the interval holds the truth, and its mean width."""
    accuracy, held, widths = float(truth.mean()), [], []
    bare = replace(frame, signals={})
    for seed in range(samples):
        if design.startswith("strata"):
            labels = queued(frame, truth, n if design.endswith("proportional") else n // 2, seed, Labels())
            if design.endswith("Neyman"):
                labels = queued(frame, truth, n - n // 2, seed, labels)
        else:
            places = numpy.random.default_rng(seed).choice(frame.size, n, replace=False)
            draw = Draw(
                frame=frame.fingerprint,
                size=frame.size,
                round=1,
                method="random",
                seed=seed,
                stratum_size=frame.size,
                stratum_draws=n,
                probability=n / frame.size,
                position=0,
            )
            labels = Labels(labels=tuple(Label(place=int(at), right=truth[at] > 0, draw=draw) for at in places))
        made = estimate_accuracy(bare if design == "labels alone" else frame, labels)
        assert made.interval is not None
        held.append(made.interval.low <= accuracy <= made.interval.high)
        widths.append(made.interval.high - made.interval.low)
    return statistics.fmean(held), statistics.fmean(widths)


def queued(frame: Frame, truth: Array, n: int, seed: int, labels: Labels) -> Labels:
    """The labels with those of one more queue."""
    _, queue, _ = draw_cases(frame, labels, n, seed=seed)
    places = {answer.case_id: place for place, answer in enumerate(frame.answers)}
    new = (Label(place=places[one.case_id], right=truth[places[one.case_id]] > 0, draw=one.draw) for one in queue)
    return Labels(labels=(*labels.labels, *new))
