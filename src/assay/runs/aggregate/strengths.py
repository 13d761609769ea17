"""How sure the matches of a run are."""

from __future__ import annotations

from collections.abc import Sequence

from assay.model import Count, Rate, Strength, WitnessTotals
from assay.model.summary import CaseSummary
from assay.model.verdict import MATCH_STRENGTHS
from assay.runs.aggregate.rates import Answers


def witness_totals(summaries: Sequence[CaseSummary], answers: Answers) -> WitnessTotals | None:
    """The matches by their strength, and accuracy as it stands after witnesses; None where nobody looked for any."""
    if not any(case.search is not None for case in summaries):
        return None
    matches = [case for case in summaries if case.outcome == "correct" and case.decision is None]
    ids = {name: [case.case_id for case in matches if case.strength == name] for name in MATCH_STRENGTHS}

    def rate(*wrong: Strength) -> Rate:
        """Accuracy, if the right answers of these strengths are wrong."""
        outcomes = (None if case.outcome == "unscored" else case for case in summaries)
        return answers.rate(
            [None if one is None else float(one.outcome == "correct" and one.strength not in wrong) for one in outcomes]
        )

    return WitnessTotals(
        matches=len(matches),
        searched=sum(case.search is not None for case in matches),
        strengths=tuple(
            Count(name=name, count=len(held), case_ids=tuple(dict.fromkeys(held))) for name, held in ids.items() if held
        ),
        claimed=rate(),
        after=rate("refuted"),
        at_worst=rate("refuted", "conditional"),
    )
