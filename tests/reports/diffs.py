"""Comparisons and leaderboards built by hand, as small or as hostile as a test needs them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from assay.model import (
    CaseChange,
    CaseSide,
    ChangedCase,
    DiffSettings,
    GateResult,
    GroupDiff,
    Leaderboard,
    Limits,
    Matching,
    MetricDiff,
    Provenance,
    Rate,
    RunDiff,
    RunHead,
    RunSettings,
    Standing,
    StandingPair,
)

HOSTILE = (
    "x\x1b[31m\u202e`|[a](http://evil.example) <script>alert(1)</script> @everyone\r\n# boo\n```\n</details>"
    "www.evil.example [bold]b[/bold]\udcff"
)


def head(label: str = "din", **changes: Any) -> RunHead:
    made = RunHead(
        label=label,
        folder=f"runs/{label}",
        settings=RunSettings(
            cases="dev.jsonl",
            predictions=f"{label}.jsonl",
            database="sqlite:///{db_id}.sqlite",
            metrics=("match", "bird_ex"),
            limits=Limits(),
        ),
        provenance=Provenance(assay_version="0.1.0", python_version="3.11.7", platform="Linux x86_64"),
        cases=1034,
        repeats=1,
        headline=Rate(n=1034, numerator=736, unscored=0, value=736 / 1034, low=0.684, high=0.739),
    )
    return replace(made, **changes)


def metric(name: str = "match", **changes: Any) -> MetricDiff:
    """By default the candidate is better for certain."""
    made = MetricDiff(
        metric=name,
        binary=True,
        n=1034,
        unscored=0,
        baseline=0.712,
        candidate=0.735,
        difference=0.023,
        low=0.008,
        high=0.039,
        gained=41,
        lost=17,
        test="mcnemar_exact",
        p_value=0.0031,
        adjusted_p_value=0.0062,
        detectable=0.021,
        cases_needed=873,
    )
    return replace(made, **changes)


WORSE = metric(
    baseline=0.735, candidate=0.712, difference=-0.023, low=-0.039, high=-0.008, gained=17, lost=41, p_value=0.0031
)
UNCLEAR = metric(
    n=120,
    baseline=0.6,
    candidate=0.6167,
    difference=0.0167,
    low=-0.042,
    high=0.075,
    gained=8,
    lost=6,
    p_value=0.79,
    adjusted_p_value=0.79,
    detectable=0.071,
    cases_needed=873,
)


def change(kind: str, case_id: str = "17", **changes: Any) -> CaseChange:
    right = {"fixed": (0, 1), "broken": (1, 0), "still_right": (1, 1)}.get(kind, (0, 0))
    sides = [
        CaseSide(
            case_id=case_id,
            right=one,
            wrong=1 - one,
            unscored=0,
            query=f"SELECT {one}\nFROM singer",
            reason="the same rows" if one else "2 rows are missing",
        )
        for one in right
    ]
    made = CaseChange(
        kind=kind,  # type: ignore[arg-type]
        baseline=sides[0],
        candidate=sides[1],
        question="How many singers are there?",
        database="concert_singer",
        difficulty="easy",
    )
    return replace(made, **changes)


def diff(*changes: CaseChange, **fields: Any) -> RunDiff:
    made = RunDiff(
        baseline=head("din"),
        candidate=head("graphix"),
        settings=DiffSettings(),
        headline_metric="match",
        matching=Matching(paired=1034),
        notes=(),
        metrics=(metric(), metric("bird_ex", p_value=0.2, adjusted_p_value=0.2, low=-0.01)),
        only_baseline_metrics=(),
        only_candidate_metrics=(),
        groups=(),
        changes=changes,
    )
    return replace(made, **fields)


def full_diff(cases: int = 40) -> RunDiff:
    """Everything that a comparison can have."""
    kinds = ("fixed", "broken", "still_right", "still_wrong", "flaky", "unscored", "better", "worse")
    changes = [change(kind, f"{kind}-{number}") for number in range(cases) for kind in kinds]
    changes += [change("still_wrong", f"other-{number}", otherwise=True) for number in range(cases)]
    return diff(
        *changes,
        notes=("The runs were judged by different versions of Assay.",),
        matching=Matching(
            paired=1034,
            renamed=(("q1", "q-1"),),
            changed=(ChangedCase(baseline_id="c1", candidate_id="c1", parts=("gold", "question")),),
            added=("new-1", "new-2"),
            removed=tuple(f"gone-{number}" for number in range(50)),
        ),
        only_candidate_metrics=("ves",),
        groups=tuple(
            GroupDiff(kind=kind, name=name, cases=20, metrics=(metric(n=20, gained=place, lost=0),))  # type: ignore[arg-type]
            for kind, names in (
                ("difficulty", ["easy", "hard", None]),
                ("database", [f"db_{number}" for number in range(20)]),
                ("tag", ["smoke", "join"]),
            )
            for place, name in enumerate(names)
        ),
        gates=(
            GateResult(gate="min match=0.7", passed=True, wanted="at least 70.0 %", found="73.5 %"),
            GateResult(
                gate="must-pass tag:smoke",
                passed=False,
                wanted="all of 12 right",
                found="10 of 12",
                missed_by="2 of 12 cases",
                case_ids=("17", "21"),
            ),
        ),
    )


def hostile_diff() -> RunDiff:
    """Everything that comes from outside is hostile."""

    def spoiled(one: CaseChange, number: int) -> CaseChange:
        side = replace(one.baseline, case_id=f"{HOSTILE}{number}", query=HOSTILE, reason=HOSTILE)
        return replace(
            one,
            baseline=side,
            candidate=replace(one.candidate, case_id=f"{number}{HOSTILE}", query=HOSTILE, reason=HOSTILE),
            question=HOSTILE,
            database=HOSTILE,
            difficulty=HOSTILE,
            tags=(HOSTILE,),
        )

    made = full_diff(6)
    return replace(
        made,
        baseline=head(HOSTILE, folder=HOSTILE),
        candidate=head(f"2{HOSTILE}", folder=HOSTILE),
        notes=(f"Only {HOSTILE} knows.",),
        metrics=(*made.metrics, metric(HOSTILE)),
        only_candidate_metrics=(HOSTILE,),
        changes=tuple(spoiled(one, number) for number, one in enumerate(made.changes)),
        groups=tuple(replace(group, name=HOSTILE) for group in made.groups),
        gates=tuple(
            replace(gate, gate=HOSTILE, wanted=HOSTILE, found=HOSTILE, missed_by=HOSTILE, case_ids=(HOSTILE,))
            for gate in made.gates
        ),
        matching=Matching(
            paired=9,
            renamed=((HOSTILE, HOSTILE),),
            changed=(ChangedCase(baseline_id=HOSTILE, candidate_id="1", parts=("gold",)),),
            added=(HOSTILE,),
            removed=(HOSTILE,),
        ),
    )


def board(*labels: str, apart: tuple[tuple[int, int], ...] = (), **fields: Any) -> Leaderboard:
    """Runs by falling value; the pairs of ``apart`` can be told apart."""
    labels = labels or ("din", "graphix", "few")
    values = [0.8 - place / 50 for place in range(len(labels))]
    pairs = [(first, second) for first in range(len(labels)) for second in range(first + 1, len(labels))]

    def standing(place: int) -> Standing:
        below = sum(1 for pair in apart if pair[0] == place)
        above = sum(1 for pair in apart if pair[1] == place)
        value = values[place]
        return Standing(
            run=head(labels[place]),
            rate=Rate(
                n=1000, numerator=round(value * 1000), unscored=0, value=value, low=value - 0.03, high=value + 0.03
            ),
            rank=place + 1,
            rank_low=1 + above,
            rank_high=len(labels) - below,
            groups="a" if not above else "b",
        )

    made = Leaderboard(
        metric="match",
        settings=DiffSettings(),
        cases=1000,
        left_out=34,
        standings=tuple(map(standing, range(len(labels)))),
        pairs=tuple(
            StandingPair(
                first=first,
                second=second,
                diff=metric(
                    n=1000,
                    baseline=values[first],
                    candidate=values[second],
                    difference=values[second] - values[first],
                    low=values[second] - values[first] - 0.01,
                    high=values[second] - values[first] + 0.01,
                    adjusted_p_value=0.001 if (first, second) in apart else 0.3,
                ),
            )
            for first, second in pairs
        ),
    )
    return replace(made, **fields)
