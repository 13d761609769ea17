"""Two runs as one HTML page that needs nothing else: what was fixed and broken, and the same case in both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from assay.model import CaseSummary, Evidence, Run, RunDiff
from assay.reports.blocks.diff import KINDS, DiffReport, kind_of
from assay.reports.blocks.diff_answer import metric_name
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.values import Changes, ShownKind, sections_in
from assay.reports.cases.case import CaseContent, CaseView
from assay.reports.html.data import CaseIndex, Packed, case_facets, for_page
from assay.reports.html.page import page
from assay.reports.html.payload import PairDetail, State
from assay.reports.html.tables import parts, scales

_SCRIPTS = ("page.js", "tabs.js", "columns.js", "sql.js", "browser.js", "case.js", "pair.js", "boot.js")
_STATES: Mapping[ShownKind, tuple[str, str]] = {
    "broken": ("↓", "incorrect"),
    "fixed": ("↑", "correct"),
    "worse": ("↘", "incorrect"),
    "better": ("↗", "correct"),
    "otherwise": ("≠", "unscored"),
    "unscored": ("–", "unscored"),
    "flaky": ("~", "unscored"),
    "still_wrong": ("✗", "still"),
    "still_right": ("✓", "still"),
}
"""Mark and tone of a kind, in the order in which the page has the cases."""


def diff_page(diff: RunDiff, baseline: Run, candidate: Run) -> bytes:
    """The whole page, UTF-8. The two runs are those that were compared: the cases are drawn from them."""
    report = DiffReport(diff)
    # The page has every changed case in its table.
    sections = [one for one in sections_in(report.sections, "full") if not isinstance(one.blocks[0], Changes)]
    kinds = list(_STATES)
    changes = sorted(diff.changes, key=lambda change: kinds.index(kind_of(change)))
    present = [kind for kind in _STATES if kind in report.changes]
    told = {kind: (name[0].upper() + name[1:], meaning) for kind, name, meaning in KINDS}
    states = [
        State(name=kind, label=told[kind][0], meaning=told[kind][1], mark=_STATES[kind][0], tone=_STATES[kind][1])
        for kind in present
    ]
    metrics = [(f"Δ {metric_name(metric)}", False) for metric in report.figures]
    index, packed = CaseIndex(report.headline_metric, states, metrics, case_facets(now=" now")), Packed()
    # Of repeated answers, the first that is not right: the comparison quotes it.
    befores = _drawn(baseline, [change.baseline.case_id for change in changes])
    afters = _drawn(candidate, [change.candidate.case_id for change in changes])
    for change, before, after in zip(changes, befores, afters, strict=True):
        values = (_difference(metric, before[0], after[0]) for metric in report.figures)
        index.add(after[0], after[2], state=present.index(kind_of(change)), values=values)
        packed.add(_detail(report, before, after))
    context = {
        "view": report,
        "parts": parts(sections, run="Runs", metrics="Groups"),
        "scales": scales(sections),
        "states": _STATES,
    }
    return b"".join(page("diff.html", context, data=packed.pieces(index.index()), scripts=_SCRIPTS))


_Shown = tuple[CaseSummary, Evidence, CaseView]


def _drawn(run: Run, case_ids: Sequence[str]) -> Iterator[_Shown]:
    """The cases of those ids, each with its summary and evidence, one after the other."""
    shown: dict[str, tuple[int, bool]] = {}
    """For each case the place of the answer to show, and whether it is right."""
    for place, case in enumerate(run.summaries):
        kept, right = shown.get(case.case_id), case.outcome == "correct"
        if kept is None or (kept[1] and not right):
            shown[case.case_id] = (place, right)
    places = [shown[case_id][0] for case_id in case_ids]
    report = RunReport(run)
    room = report.room(map(run.evidence.__getitem__, places) if report.of_selections else ())
    return (
        (run.summaries[place], (item := run.evidence[place]), report.case(item, room, page=True)) for place in places
    )


def _difference(metric: str, before: CaseSummary, after: CaseSummary) -> float | None:
    """The candidate's value minus the baseline's, for the answers that are shown."""
    was, now = before.score(metric), after.score(metric)
    if was is None or now is None or was.value is None or now.value is None:
        return None
    return now.value - was.value


def _detail(report: DiffReport, before: _Shown, after: _Shown) -> PairDetail:
    now = after[2]
    return PairDetail(
        question=now.question,
        context=now.context,
        name=now.name,
        database=now.database,
        difficulty=now.difficulty,
        tags=now.tags,
        sides=(_side(before, report.baseline), _side(after, report.candidate)),
    )


def _side(shown: _Shown, label: str) -> CaseContent:
    """One run's answer to the case; the question is shown once for both sides."""
    _, item, case = shown
    return replace(for_page(item, case), label=label, **_ONCE)


_ONCE: Mapping[str, Any] = {
    "question": "",
    **dict.fromkeys(("context", "name", "database", "difficulty", "raw", "explanation", "beyond")),
    **dict.fromkeys(("tags", "tables", "failures", "findings", "facts"), ()),
}
"""What a page of two runs shows once for a case, or not at all."""
