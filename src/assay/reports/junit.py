"""A run as JUnit XML, for the test reports of CI servers.

The shape is the one that Jenkins' ``junit-10.xsd`` describes and that GitLab, GitHub's reporters, Azure and
CircleCI read: ``testsuites`` with one ``testsuite``, in it ``properties`` and one ``testcase`` per case.

- incorrect: ``failure``. Its message is the reason, its body the evidence: the reason, both queries, the first rows
  of each result, and how they differ. It is plain text for a fixed-width font; servers show it as it is.
- unscored because something broke (gold query, engine, setup, the judge, or the system could not be asked): ``error``.
  The test could not be carried out and needs repair; a run with broken gold queries must not pass.
- unscored because there is nothing to compare with (no gold query, no target): ``skipped``. This is intended and no
  fault; CI servers count these and let the build pass.

Each of several answers to one question is a test of its own with its own name: ``12 [answer 2 of 3]: How many …``.

``time`` is in seconds, 0 if it is not known: some readers fail if it is missing. ``timestamp`` is in UTC,
without a zone, as the schema demands.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree

from assay.model import Evidence, Execution, Run
from assay.reports.blocks import reviews
from assay.reports.blocks.collector import answer_name
from assay.reports.blocks.gates import gate_name, missed, state_of
from assay.reports.blocks.repeats import shown_rates
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.values import CaseLink
from assay.reports.cases.case import CaseView, QueryView, case_view, failures, repair, why
from assay.reports.text.plain import clipped, one_line, plural, visible, words
from assay.reports.text.results import head_table
from assay.reports.text.selections import details

_ALL_BODIES = 16_000_000
"""Characters of evidence in the whole file: GitLab refuses reports beyond some 30 MB."""
_LONGEST_BODY, _SHORTEST_BODY = 8000, 300
_MESSAGE_LENGTH, _NAME_LENGTH, _ID_LENGTH = 400, 160, 130
_SHORTEST_QUERY = 200
_NOTE = 40
"""Characters reserved for the blank line after a text and for the note on how much of it is cut."""
_CLASS_TAGS = 2
_TAGS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


class JunitReporter:
    """Writes a run as JUnit XML."""

    name = "junit"
    suffix = ".xml"

    def render(self, run: Run) -> bytes:
        """The whole file, in UTF-8."""
        told: list[str | None] = []
        times = array("d")

        def look(item: Evidence) -> None:
            told.append(_told(item))
            times.append(_time_s(item))

        report = RunReport(run, beside=look)
        counts = {attribute: str(told.count(tag)) for tag, attribute in _TAGS.items()}
        total = run.provenance.wall_time_s
        attributes = {
            "name": one_line(report.title),
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
        for name, value in _properties(run, report):
            ElementTree.SubElement(properties, "property", {"name": name, "value": value})
        wrong = len(told) - told.count(None)
        room = max(_SHORTEST_BODY, min(_LONGEST_BODY, _ALL_BODIES // max(1, wrong)))
        names: Counter[str] = Counter()
        for item, tag, time_s in zip(run.evidence, told, times, strict=True):
            name = _distinct(_name(item, answer_name(item.prediction.repeat, run)), names)
            case = ElementTree.SubElement(
                suite, "testcase", {"classname": _class_name(item), "name": name, "time": _seconds(time_s)}
            )
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


def _tell(case: ElementTree.Element, item: Evidence, tag: str | None, room: int) -> None:
    if tag is None:
        return
    reason = one_line(item.verdict.reason, limit=_MESSAGE_LENGTH)
    if tag == "skipped":
        ElementTree.SubElement(case, "skipped", {"message": reason})
        return
    told = ElementTree.SubElement(case, tag, {"message": reason, "type": _type(item)})
    # The text holds nothing that XML cannot: control characters and lone surrogates show as marks.
    told.text = clipped("\n\n".join(_body(item, room)), limit=room)


def _distinct(name: str, seen: Counter[str]) -> str:
    """A name of its own for each test: servers keep only one test of each name."""
    seen[name] += 1
    return name if seen[name] == 1 else f"{name} ({seen[name]})"


def _name(item: Evidence, answer: str) -> str:
    """The name of a test, id first: servers find the same case in the last run by class and name."""
    name = one_line(item.case.id, limit=_ID_LENGTH)
    if answer:
        name += f" [{answer}]"
    said = one_line(item.case.name or item.case.question)
    return one_line(f"{name}: {said}" if said else name, limit=_NAME_LENGTH)


def _class_name(item: Evidence) -> str:
    """Database and difficulty, or the first tags: Jenkins reads the part before the last dot as a package."""
    case = item.case
    parts = [case.database, case.difficulty] if case.database or case.difficulty else case.tags[:_CLASS_TAGS]
    names = [one_line(part, limit=60).replace(".", "_") for part in parts if part]
    return ".".join(filter(None, names)) or "cases"


def _type(item: Evidence) -> str:
    failure = item.verdict.failure
    if failure is not None:
        return f"{failure.blame}.{failure.kind}"
    return one_line(item.cause, limit=60) if item.cause else item.outcome


def _body(item: Evidence, room: int) -> Iterable[str]:
    """The parts of the evidence, about ``room`` characters in all; the caller puts blank lines between them."""
    opening = [visible(item.verdict.reason), *failures(item)]
    if (reviewed := reviews.of_case(item)) is not None:
        opening.append(f"Reviewed: {': '.join(reviewed)}")
    told = [*(f"Why: {line}" for line in why(item)), *(f"Repair: {line}" for line in repair(item))]
    causes = ["\n".join(told)] if told else []
    if item.turns or item.case.turns:
        return [*opening, *causes, *_conversation(item)]
    shown = case_view(item, CaseLink(id="", anchor=""))
    opening.append(f"Question: {clipped(shown.question, limit=room // 4)}")
    opening += causes
    closing = ["\n".join(f"Near miss: {miss}" for miss in shown.near_misses)] if shown.near_misses else []
    if shown.difference is not None:
        said = f"Difference (- gold only, + predicted only): {shown.difference.summary}"
        closing.append(clipped("\n".join(filter(None, (said, shown.difference.text))), limit=room // 3))
    heads = _heads(item, shown)
    # Long queries are cut before any row is.
    fixed = sum(len(part) + _NOTE for part in (*opening, *closing, *(heading + head for heading, _, head in heads)))
    longest = _longest([len(query or "") + _NOTE for _, query, _ in heads], room - fixed)
    queries = (part for heading, query, head in heads for part in _query(heading, query, head, longest - _NOTE))
    return [*opening, *queries, *closing]


def _longest(lengths: Sequence[int], room: int) -> int:
    """The length to cut longer texts to, so that all texts together fit into the room."""
    for place, length in enumerate(sorted(lengths)):
        share = room // (len(lengths) - place)
        if length > share:
            return share
        room -= length
    return max(lengths, default=0)


def _conversation(item: Evidence) -> Iterable[str]:
    yield f"Question: {visible(item.case.question)}"
    if item.turns:
        yield details(item.turns, case=item.case, limit=_LONGEST_BODY)
    for number, answer in enumerate(item.prediction.turns, start=1):
        said = answer.raw or answer.text
        if said:
            yield f"Answer to turn {number}:\n{clipped(said, limit=2000)}"


def _heads(item: Evidence, shown: CaseView) -> list[tuple[str, str | None, str]]:
    """For gold, then for the prediction: the heading, the query, and the first rows of its result."""
    queries: list[tuple[QueryView, Execution | None]] = [
        (gold, item.gold_executions[place] if place < len(item.gold_executions) else None)
        for place, gold in enumerate(shown.golds)
    ]
    if shown.predicted is not None:
        queries.append((shown.predicted, item.predicted_execution))
    return [
        (f"{query.label} ({query.outcome})", query.query, _rows(query.label, execution)) for query, execution in queries
    ]


def _rows(label: str, execution: Execution | None) -> str:
    table = head_table(execution) if execution is not None else None
    if execution is None or table is None:
        return ""
    whole = len(execution.head) == execution.row_count
    return f"{label}: {'all' if whole else 'first'} {plural(len(execution.head), 'row')}\n{table}"


def _query(heading: str, query: str | None, head: str, longest: int) -> Iterable[str]:
    yield heading if query is None else f"{heading}:\n{clipped(query, limit=max(_SHORTEST_QUERY, longest))}"
    if head:
        yield head


def _time_s(item: Evidence) -> float:
    """The time of the answer as the system reported it, else the time of its query. 0 if neither is known."""
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


def _properties(run: Run, report: RunReport) -> Iterable[tuple[str, str]]:
    """The run's settings, and each metric's rate with its interval and counts."""
    provenance, numbers = run.provenance, run.aggregates
    yield "assay.version", one_line(provenance.assay_version)
    yield from ((name.lower(), one_line(value)) for name, value in report.facts)
    headline = f"{report.headline.text} {report.headline.interval}".rstrip()
    yield "headline", f"{one_line(report.headline_metric)}: {headline} · {report.tally}"
    if report.reviewed:
        yield "headline.reviewed", report.reviewed
    yield "outcomes", report.outcomes
    yield from ((f"note.{place}", note) for place, note in enumerate(report.notes, start=1))
    for gate in run.gates:
        state = f"{state_of(gate)}: wanted {one_line(gate.wanted)}"
        parts = (state, f"found {one_line(gate.found)}", missed(gate, report.links))
        yield f"gate.{gate_name(gate)}", "; ".join(filter(None, parts))
    for metric in report.metrics:
        rate = metric.figure.rate
        yield f"metric.{metric.metric}", "n/a" if rate.value is None else f"{rate.value:.6f}"
        between = "" if rate.low is None or rate.high is None else f", {rate.low:.6f} to {rate.high:.6f}"
        confidence = f" at {report.confidence}" if between else ""
        yield f"metric.{metric.metric}.n", f"{plural(rate.n, 'case')}, {rate.unscored:,} unscored{between}{confidence}"
    for counted in numbers.witnesses.strengths if numbers.witnesses is not None else ():
        yield f"strength.{words(counted.name)}", f"{counted.count:,}"
    for passed in shown_rates(numbers.repeats) if numbers.repeats is not None else ():
        for name, rate in ((f"pass@{passed.k}", passed.any), (f"pass^{passed.k}", passed.all)):
            yield name, "n/a" if rate.value is None else f"{rate.value:.6f}"
    if numbers.selection is not None:
        for name in ("precision", "recall", "f1"):
            value = getattr(numbers.selection.micro, name)
            yield f"pooled.{name}", "n/a" if value is None else f"{value:.6f}"
