"""Cases, answers and reviews for tests of what follows from reviews."""

from __future__ import annotations

from itertools import count
from typing import Any

from assay.model import Case, Evidence, Prediction, Review, Verdict
from assay.model.verdicts.review import Draw
from assay.runs.reviews.keys import answer_key, gold_hash, has_result, question_hash

_NUMBERS = count()


def case_of(golds: tuple[str, ...] = ("SELECT 1",), **fields: Any) -> Case:
    return Case(**{"id": "q1", "question": "How many?", "golds": golds} | fields)


def evidence_of(
    case: Case, query: str | None, outcome: str = "incorrect", *, result: str | None = None, **fields: Any
) -> Evidence:
    return Evidence(
        case=case,
        prediction=Prediction(case_id=case.id, query=query),
        verdict=Verdict(outcome=outcome, reason=f"it is {outcome}", **fields),  # type: ignore[arg-type]
        result_hash=result,
    )


def review_of(case: Case, decision: str, answer: Evidence | None = None, **fields: Any) -> Review:
    """A review of an answer, as a page writes it."""
    query, result = (None, None) if answer is None else answer_key(answer)
    return Review(
        **{
            "id": f"r{next(_NUMBERS)}",
            "case_id": case.id,
            "decision": decision,
            "verdict": None if answer is None else answer.outcome,
            "query": query,
            "result": result,
            "has_result": decision != "accept" or answer is None or has_result(answer),
            "reviewer": "Ana",
            "at": "2026-01-01T00:00:00Z",
            "question_hash": question_hash(case),
            "gold_hash": gold_hash(case),
        }
        | fields
    )


def draw_of(**fields: Any) -> Draw:
    """How a case came to be drawn."""
    usual = {"frame": "f", "size": 3, "round": 1, "method": "random", "seed": 1, "stratum_size": 3, "stratum_draws": 1}
    return Draw(**usual | {"probability": 0.5, "position": 0} | fields)
