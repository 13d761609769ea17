"""The page of a run on which people review its cases, and what it does for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from assay.api.corrections import GoldTrials
from assay.cli.view.server import LivePage, ServedPage
from assay.errors import InputError
from assay.model import STRICT, Case, Evidence, Leniency, Verdict
from assay.model.verdicts.review import Review, ReviewDecision
from assay.reports.blocks.run import RunReport
from assay.reports.html.data import for_page
from assay.reports.html.run import HtmlReporter
from assay.reports.text.plain import clipped, one_line
from assay.runs.reviews.deciding import decision_said
from assay.runs.reviews.desk import ReviewDesk, ReviewStatus
from assay.runs.reviews.keys import question_hash
from assay.runs.reviews.queue import QueuedCase, pace, review_queue

if TYPE_CHECKING:
    from assay.api.workers import DatabasesInput
    from assay.cli.options.access import Access
    from assay.model import Run

_NOTE, _QUERY, _NAME = 4000, 100_000, 120
"""Characters at most of what a person writes."""
_T = TypeVar("_T")


class _Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page sends: a case by its link, and what is to be done."""

    case: str = ""
    decision: ReviewDecision = "unsure"
    note: str = ""
    gold: str | None = None
    leniency: Leniency = STRICT
    review: str | None = None
    """With undo: the id of the review to take back."""
    since: str = ""
    """The version of the reviews that the page has."""


class OtherRun(Struct, frozen=True, kw_only=True):
    """Another run over the same question set, whose answers are shown, too."""

    name: str
    run: Run


class ReviewSite:
    """``/``, the page of a run, and what it asks for.

    It reads reviews, writes and takes back its own, tries a corrected gold query, and shows what other runs answered.
    """

    def __init__(
        self,
        folder: Path,
        file: Path,
        *,
        reviewer: str,
        databases: DatabasesInput | None = None,
        access: Access | None = None,
        others: Sequence[OtherRun] = (),
        settle: str = "latest",
        minutes: float | None = None,
        queue: Callable[..., Sequence[QueuedCase]] = review_queue,
    ) -> None:
        self.token = token_urlsafe(24)
        self._folder, self._file, self._reviewer, self._others = folder, file, reviewer, others
        self._complete = None if access is None else access.completed
        self._databases, self._settle, self._minutes, self._order = databases, settle, minutes, queue
        self._boot = token_urlsafe(6)
        self._page = LivePage([folder], self._draw)
        self._trials: GoldTrials | None = None
        self._lock = Lock()
        self._queries_of: list[dict[str, list[int]]] | None = None

    def find(self, path: str, query: str) -> ServedPage | None:  # noqa: ARG002 - there is one page
        """The page."""
        return self._page.current() if path == "/" else None

    def act(self, path: str, asked: Mapping[str, Any]) -> Mapping[str, object] | None:
        """What the page asks for. Raises AssayError."""
        acts = {"/reviews": self._reviews, "/decide": self._decide, "/undo": self._undo, "/try": self._try}
        act = {**acts, "/answers": self._answers}.get(path)
        if act is None:
            return None
        self._page.current()  # the run may have changed on disk
        try:
            return act(msgspec.convert(asked, _Asked))
        except msgspec.ValidationError as error:
            raise InputError(f"the page asks for something unknown: {error}") from error

    def close(self) -> None:
        """End the worker that executes corrected gold queries."""
        if self._trials is not None:
            self._trials.close()

    def _draw(self) -> bytes:
        from assay.api.run import load_run

        run = load_run(self._folder, reviews=False).record  # they are drawn as they come
        self._desk = ReviewDesk(run, self._file, name=run.settings.name or self._folder.name, settle=self._settle)
        self._report = RunReport(run)
        self._links = [
            self._report.collected.link_of(summary.case_id, summary.repeat).anchor for summary in run.summaries
        ]
        self._places = {link: place for place, link in enumerate(self._links)}
        queue = self._order(
            run, self._desk.reviews, others=[other.run for other in self._others], minutes=self._minutes
        )
        self._desk.draws = {one.index: one.draw for one in queue if one.draw is not None}
        self._queue = [
            (self._links[one.index], [one_line(why, limit=_NOTE) for why in one.why], one_line(one.cluster))
            for one in queue
        ]
        self.close()
        self._trials = GoldTrials(run.settings, self._folder, databases=self._databases, complete=self._complete)
        self._boot = token_urlsafe(6)
        return b"".join(HtmlReporter(reviewing=True).pieces(run))

    def _reviews(self, asked: _Asked) -> Mapping[str, object]:
        """What has changed since the version that the page has; to a page without one, the queue as well."""
        self._desk.refresh()
        boot, _, number = asked.since.partition(".")
        known = int(number) if boot == self._boot and number.isdigit() else 0
        told: dict[str, object] = {
            "version": f"{self._boot}.{self._desk.version}",
            "done": self._desk.done,
            "changed": {
                self._links[place]: self._shown(status) for place, status in self._desk.changed_since(known).items()
            },
        }
        if not known:
            told |= {
                "of": len(self._links),
                "reviewer": one_line(self._reviewer, limit=_NAME),
                "file": str(self._file),
                "queue": self._queue,
                "budget": self._minutes is not None,
                "seconds": pace(self._desk.reviews.every).seconds,
                "fresh": bool(asked.since),
            }
        return told

    def _shown(self, status: ReviewStatus) -> Mapping[str, object]:
        """A status as the page draws it."""
        return {
            "state": status.state,
            "conflict": status.conflict,
            "outcome": status.outcome,
            "by": [one_line(name, limit=_NAME) for name in status.by],
            "mine": self._reviewer in status.by,
            "reviews": [
                {
                    "id": one.review.id,
                    "by": one_line(one.review.reviewer, limit=_NAME),
                    "mine": one.review.reviewer == self._reviewer,
                    "at": one_line(one.review.at, limit=_NAME),
                    "decision": one.review.decision,
                    "said": one_line(decision_said(one.review)),
                    "outcome": one.review.outcome,
                    "note": clipped(one.review.note, limit=_NOTE),
                    "gold": clipped(one.review.gold, limit=_QUERY) if one.review.gold else None,
                    "holds": one.holds,
                    "changed": one.changed,
                    "run": one_line(one.review.run, limit=_NAME),
                }
                for one in status.reviews
            ],
        }

    def _place(self, asked: _Asked) -> int:
        if asked.case not in self._places:
            raise InputError(f"the run has no case {one_line(asked.case, limit=80)!r} any more: load the page again")
        return self._places[asked.case]

    def _draft(self, asked: _Asked) -> tuple[int, Evidence, Review]:
        place = self._place(asked)
        evidence = self._desk.run.evidence[place]
        if asked.decision == "undo":
            raise InputError("name the review to undo by its id")
        if len(asked.note) > _NOTE or len(asked.gold or "") > _QUERY:
            raise InputError(f"a note has at most {_NOTE:,} characters, and a query at most {_QUERY:,}")
        gold = (asked.gold or "").strip() or None
        review = self._desk.draft(
            evidence,
            asked.decision,
            reviewer=self._reviewer,
            note=asked.note.strip(),
            gold=gold if asked.decision == "gold_wrong" else None,
            leniency=asked.leniency if asked.decision == "ambiguous" else STRICT,
            place=place,
        )
        return place, evidence, review

    def _decide(self, asked: _Asked) -> Mapping[str, object]:
        place, evidence, review = self._draft(asked)
        review = self._desk.scored(evidence, review, self._score)
        self._desk.write(place, review)
        return {**self._reviews(asked), "wrote": review.id}

    def _undo(self, asked: _Asked) -> Mapping[str, object]:
        self._desk.refresh()
        undone = self._desk.take_back(self._place(asked), reviewer=self._reviewer, review_id=asked.review)
        return {**self._reviews(asked), "said": decision_said(undone)}

    def _try(self, asked: _Asked) -> Mapping[str, object]:
        """What the answer is by a corrected case, with both results; nothing is written."""
        _, evidence, review = self._draft(asked)
        corrected = self._desk.corrected(evidence, review)
        found = evidence if corrected is None else self._scored(evidence, corrected)
        detail = for_page(found, self._report.case(found, self._report.room([found]), page=True))
        return {"outcome": found.outcome, "detail": msgspec.to_builtins(detail)}

    def _score(self, evidence: Evidence, case: Case) -> Verdict:
        return score_by(self._scored(evidence, case))

    def _scored(self, evidence: Evidence, case: Case) -> Evidence:
        if self._trials is None:
            raise InputError("the run is being read: try again")
        return self._trials.score(evidence, case)

    def _answers(self, asked: _Asked) -> Mapping[str, object]:
        """What other runs, and the run's other answers, say to the same question; equal queries once."""
        place = self._place(asked)
        own = self._desk.run.evidence[place]
        question = question_hash(own.case)
        answers: dict[tuple[str | None, str], dict[str, Any]] = {}
        for name, evidence in self._beside(place, own.case.id):
            if question_hash(evidence.case) != question:
                continue
            known = answers.setdefault((evidence.prediction.query, evidence.outcome), {"names": []})
            known["names"].append(one_line(name, limit=_NAME))
            if "detail" not in known:
                view = self._report.case(evidence, self._report.room([evidence]), page=True)
                known |= {
                    "detail": msgspec.to_builtins(for_page(evidence, view)),
                    "same": evidence.prediction.query is not None and evidence.prediction.query == own.prediction.query,
                }
        return {"answers": list(answers.values()), "runs": len(self._others)}

    def _beside(self, place: int, case_id: str) -> Sequence[tuple[str, Evidence]]:
        """The answers to a question in the other runs, and the other answers to it in this one."""
        with self._lock:
            if self._queries_of is None:
                self._queries_of = []
                for run in (self._desk.run, *(other.run for other in self._others)):
                    places: dict[str, list[int]] = {}
                    for number, summary in enumerate(run.summaries):
                        places.setdefault(summary.case_id, []).append(number)
                    self._queries_of.append(places)
        own, *others = self._queries_of
        found = [
            (f"this run, answer {number + 1}", self._desk.run.evidence[one])
            for number, one in enumerate(own.get(case_id, ()))
            if one != place
        ]
        for other, places in zip(self._others, others, strict=True):
            found += [(other.name, other.run.evidence[one]) for one in places.get(case_id, ())]
        return found


def score_by(found: Evidence) -> Verdict:
    """The verdict by a corrected case. Raises InputError if the corrected gold query itself fails."""
    failure = found.verdict.failure
    if found.outcome == "unscored" and failure is not None and failure.blame == "gold":
        raise InputError(f"the corrected gold query fails: {failure.message}")
    return found.verdict
