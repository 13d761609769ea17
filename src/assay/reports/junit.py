"""A run as JUnit XML, for the test reports of CI servers.

The shape is the one that Jenkins' ``junit-10.xsd`` describes and that GitLab, GitHub's reporters, Azure and
CircleCI read: ``testsuites`` with one ``testsuite``, in it ``properties`` and a ``testcase`` a case.

- incorrect: ``failure``. Its message is the reason, its body the evidence.
- unscored because something broke (gold, engine, setup, the judge, or the system could not be asked): ``error``.
  The test could not be carried out, somebody has to act, and a run whose gold is broken must not come out green.
- unscored because there is nothing to compare with (no gold query, no target): ``skipped``. The question was asked
  on purpose and nobody is to blame; CI servers count these and let the build pass.

``time`` is in seconds, 0 where nothing is known: some readers fail where it is missing. ``timestamp`` is in UTC,
without a zone, as the schema has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from xml.etree import ElementTree

from assay.model import Evidence, Run
from assay.reports.build import view_of
from assay.reports.caseview import case_view, failures
from assay.reports.repeats import answer_name
from assay.reports.selection_text import details
from assay.reports.text import clipped, one_line, plural, visible
from assay.reports.view import CaseLink, QueryView, RunView

_ALL_BODIES = 16_000_000
"""Characters of evidence in the whole file: GitLab refuses reports beyond some 30 MB."""
_LONGEST_BODY, _SHORTEST_BODY = 8000, 300
_MESSAGE_LENGTH, _NAME_LENGTH = 400, 160
_CLASS_TAGS = 2
_TAGS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


class JunitReporter:
    """Writes a run as JUnit XML."""

    name = "junit"
    suffix = ".xml"

    def render(self, run: Run) -> bytes:
        """The whole file, in UTF-8."""
        view = view_of(run, detailed=())
        told = [_told(item) for item in run.evidence]
        counts = {attribute: str(told.count(tag)) for tag, attribute in _TAGS.items()}
        times = [_time_s(item) for item in run.evidence]
        total = run.provenance.wall_time_s
        attributes = {
            "name": one_line(view.title),
            "tests": str(len(told)),
            "failures": counts["failures"],
            "errors": counts["errors"],
            "time": _seconds(math.fsum(times) if total is None else total),
        }
        root = ElementTree.Element("testsuites", attributes)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            {
                **attributes,
                "skipped": counts["skipped"],
                "timestamp": _timestamp(run.provenance.started_at),
                "hostname": "localhost",
                "id": "0",
                "package": "assay",
            },
        )
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in _properties(run, view):
            ElementTree.SubElement(properties, "property", {"name": name, "value": value})
        wrong = len(told) - told.count(None)
        room = max(_SHORTEST_BODY, min(_LONGEST_BODY, _ALL_BODIES // max(1, wrong)))
        for item, tag, time_s in zip(run.evidence, told, times, strict=True):
            named = {"classname": _class_name(item), "name": _name(item, answer_name(item, run))}
            case = ElementTree.SubElement(suite, "testcase", {**named, "time": _seconds(time_s)})
            if tag is not None:
                _tell(case, item, tag, room)
        ElementTree.indent(root)
        content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
        return content + b"\n"


def _told(item: Evidence) -> str | None:
    """The element that tells a case's outcome; None for a correct one."""
    if item.outcome == "correct":
        return None
    if item.outcome == "incorrect":
        return "failure"
    failure = item.verdict.failure
    return "skipped" if failure is None or failure.kind == "no_gold" else "error"


def _tell(case: ElementTree.Element, item: Evidence, tag: str, room: int) -> None:
    """What is wrong with a case, as the element ``tag``."""
    reason = one_line(item.verdict.reason, limit=_MESSAGE_LENGTH)
    if tag == "skipped":
        ElementTree.SubElement(case, "skipped", {"message": reason})
        return
    told = ElementTree.SubElement(case, tag, {"message": reason, "type": _type(item)})
    # What XML cannot hold is gone here: control characters and half characters show as marks.
    told.text = clipped("\n\n".join(_body(item)), limit=room)


def _name(item: Evidence, answer: str) -> str:
    """The id first: servers tell by class and name which case of the last run this is."""
    said = item.case.name or item.case.question
    name = f"{item.case.id}, {answer}" if answer else item.case.id
    return one_line(f"{name}: {said}" if said else name, limit=_NAME_LENGTH)


def _class_name(item: Evidence) -> str:
    """Database and difficulty, or the first tags: Jenkins takes what is before the last dot for a package."""
    case = item.case
    parts = [case.database, case.difficulty] if case.database or case.difficulty else case.tags[:_CLASS_TAGS]
    names = [one_line(part, limit=60).replace(".", "_") for part in parts if part]
    return ".".join(filter(None, names)) or "cases"


def _type(item: Evidence) -> str:
    failure = item.verdict.failure
    if failure is not None:
        return f"{failure.blame}.{failure.kind}"
    return one_line(item.cause, limit=60) if item.cause else item.outcome


def _body(item: Evidence) -> Iterable[str]:
    """The evidence, a blank line to come between its parts."""
    yield visible(item.verdict.reason)
    yield from failures(item)
    if item.turns or item.case.turns:
        yield f"Question: {visible(item.case.question)}"
        if item.turns:
            yield details(item.turns, case=item.case, limit=_LONGEST_BODY)
        for number, answer in enumerate(item.prediction.turns, start=1):
            said = answer.raw or answer.text
            if said:
                yield f"Answer to turn {number}:\n{clipped(said, limit=2000)}"
        return
    shown = case_view(item, CaseLink(id="", anchor=""))
    yield f"Question: {shown.question}"
    yield from map(_query, shown.golds)
    if shown.predicted is not None:
        yield _query(shown.predicted)
    if shown.near_misses:
        yield "\n".join(f"Near miss: {miss}" for miss in shown.near_misses)
    if shown.difference is not None:
        signs = {"matched": " ", "missing": "-", "extra": "+"}
        rows = (
            f"{signs.get(row.state, ' ')} {' | '.join(cell.whole for cell in row.cells)}"
            for row in shown.difference.rows
        )
        yield "\n".join((f"Difference (- gold only, + predicted only): {shown.difference.summary}", *rows))


def _query(query: QueryView) -> str:
    return f"{query.label} ({query.outcome})" + (f":\n{query.query}" if query.query is not None else "")


def _time_s(item: Evidence) -> float:
    """What the answer took: as the system said, else what its query took. 0 where neither is known."""
    told = item.prediction.timing_s("total_execution_time")
    if told is None:
        known = [turn.latency_s for turn in item.prediction.turns if turn.latency_s is not None]
        told = math.fsum(known) if known else None
    if told is None and item.predicted_execution is not None:
        told = item.predicted_execution.wall_time_s
    return told if told is not None and math.isfinite(told) and told > 0.0 else 0.0


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _timestamp(started_at: str | None) -> str:
    """When the run began, never when the report was drawn: the same run gives the same bytes."""
    try:
        started = datetime.fromisoformat(started_at or "")
    except ValueError:
        return "2000-01-01T00:00:00"
    return (started.astimezone(UTC) if started.tzinfo else started).strftime("%Y-%m-%dT%H:%M:%S")


def _properties(run: Run, view: RunView) -> Iterable[tuple[str, str]]:
    """What the run was made with, and each metric's rate with all that is needed to judge it."""
    provenance, numbers = run.provenance, run.aggregates
    yield "assay.version", one_line(provenance.assay_version)
    yield from ((one_line(fact.name).lower(), one_line(fact.value)) for fact in view.facts)
    yield (
        "outcomes",
        ", ".join(
            f"{count:,} {name}"
            for name, count in (
                ("correct", numbers.correct),
                ("incorrect", numbers.incorrect),
                ("unscored", numbers.unscored),
                ("unanswered", numbers.unanswered),
            )
        ),
    )
    for metric in view.metrics:
        rate = metric.figure.rate
        yield f"metric.{metric.metric}", "n/a" if rate.value is None else f"{rate.value:.6f}"
        between = "" if rate.low is None or rate.high is None else f", {rate.low:.6f} to {rate.high:.6f}"
        confidence = f" at {view.confidence}" if between else ""
        yield f"metric.{metric.metric}.n", f"{plural(rate.n, 'case')}, {rate.unscored:,} unscored{between}{confidence}"
    for row in view.repeats.rows if view.repeats else ():
        for name, figure in ((f"pass@{row.k}", row.any), (f"pass^{row.k}", row.all)):
            yield name, "n/a" if figure.rate.value is None else f"{figure.rate.value:.6f}"
    if numbers.selection is not None:
        for name in ("precision", "recall", "f1"):
            value = getattr(numbers.selection.micro, name)
            yield f"pooled.{name}", "n/a" if value is None else f"{value:.6f}"
