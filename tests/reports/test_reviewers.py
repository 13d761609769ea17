"""How far reviewers agree, in every report and on a terminal."""

from __future__ import annotations

import json
from io import StringIO

import msgspec
import pytest
from rich.console import Console
from tests.runs.reviews.reviewing import review_of

from assay.model import Agreement, Review, Run
from assay.registry import pieces
from assay.reports.blocks.run import RunReport
from assay.reports.console.printing import print_agreement
from assay.runs.reviews.agreement import agreement
from assay.runs.reviews.applying import with_reviews
from assay.runs.reviews.collection import Reviews


def _reviews(run: Run, *names: str) -> list[Review]:
    """Decisions about the run's answers; the second reviewer thinks otherwise of the first one."""
    found = []
    for place, evidence in enumerate(run.evidence):
        if evidence.outcome == "unscored":
            continue
        for number, name in enumerate(names):
            differs = number == 1 and not any(review.reviewer == name for review in found)
            decision = {"correct": "reject", "incorrect": "accept"}[evidence.outcome] if differs else "confirm"
            outcome = {"reject": "incorrect", "accept": "correct"}.get(decision, evidence.outcome)
            found.append(
                review_of(
                    evidence.case,
                    decision,
                    evidence,
                    reviewer=name,
                    outcome=outcome,
                    note="counts\x1b[31m orders twice" if differs else "",
                    at=f"2026-01-01T00:{place:02d}:{number:02d}Z",
                )
            )
    return found


def test_a_run_that_several_people_reviewed_has_a_section_about_them(small_run: Run) -> None:
    run = with_reviews(small_run, Reviews(_reviews(small_run, "Ana", "Ben")))
    (section,) = (section for section in RunReport(run).sections if section.key == "reviewers")
    assert section.heading == "Reviewers: 1 conflict"
    for name in ("md", "html"):
        report = b"".join(pieces(name, run)).decode()
        assert "Ana and Ben" in report
        assert "\x1b" not in report
    assert b"".join(pieces("xlsx", run))
    stored = json.loads(b"".join(pieces("json", run)))["aggregates"]["reviews"]["agreement"]
    assert stored["pairs"][0]["first"] == "Ana"
    assert stored["conflicts"][0]["reviews"][1]["reviewer"] == "Ben"


def test_one_reviewer_has_no_section(small_run: Run) -> None:
    run = with_reviews(small_run, Reviews(_reviews(small_run, "Ana")))
    assert "reviewers" not in {section.key for section in RunReport(run).sections}
    assert run.aggregates.reviews is not None
    assert run.aggregates.reviews.agreement is None


def _printed(found: Agreement, *, terminal: bool) -> str:
    console = Console(file=StringIO(), force_terminal=terminal, width=120, color_system=None)
    print_agreement(found, console=console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_a_terminal_shows_tables_kappa_and_conflicts(small_run: Run, *, terminal: bool) -> None:
    text = _printed(agreement(_reviews(small_run, "Ana", "Ben", "Cleo")), terminal=terminal)
    for part in ("Cohen's kappa", "Ana and Cleo", "Fleiss' kappa is", "the latest decision counts", "orders twice"):
        assert part in text
    assert "\x1b[31m" not in text


def test_nothing_to_compare_is_said(small_run: Run) -> None:
    assert "No answer has decisions by two people." in _printed(agreement(_reviews(small_run, "Ana")), terminal=False)
    assert "No answer has a decision" in _printed(agreement([]), terminal=False)


def test_json_has_all_of_it(small_run: Run) -> None:
    found = msgspec.json.decode(msgspec.json.encode(agreement(_reviews(small_run, "Ana", "Ben"))))
    assert {"reviewers", "pairs", "everyone", "conflicts", "settle"} <= set(found)
    assert len(found["conflicts"]) == 1
