"""Two runs as one HTML page that needs nothing else: what was fixed and broken, and the same case in both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay.model import CaseChange, Evidence, Run, RunDiff
from assay.reports.html.data import CHUNK, QUESTION, REASON, case_detail, facets_of_cases, packed
from assay.reports.html.page import page
from assay.reports.html.payload import Answered, Index, Metric, PairDetail, Side, State
from assay.reports.html.tables import scales
from assay.reports.sections.diff import diff_sections
from assay.reports.sections.values import sections_for
from assay.reports.text.plain import distinct, one_line
from assay.reports.views.diff import DiffView, ShownKind
from assay.reports.views.diff_build import KINDS, kind_of, view_of_diff
from assay.reports.views.run import CaseView
from assay.reports.views.run_build import view_of

_SCRIPTS = ("page.js", "sql.js", "browser.js", "case.js", "pair.js", "boot.js")
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
    view = view_of_diff(diff)
    sections = sections_for(diff_sections(view), "page")
    kinds = list(_STATES)
    changes = sorted(diff.changes, key=lambda change: kinds.index(kind_of(change)))
    pairs = list(_pairs(changes, baseline, candidate))
    return page(
        "diff.html",
        {
            "view": view,
            "sections": sections,
            "scales": scales(sections),
            "states": _STATES,
        },
        data=packed(_index(view, changes, pairs), [_detail(view, *pair) for pair in pairs]),
        scripts=_SCRIPTS,
    )


_Pair = tuple[Evidence, CaseView, Evidence, CaseView]


def _pairs(changes: Sequence[CaseChange], baseline: Run, candidate: Run) -> Iterable[_Pair]:
    """Per change both runs' answers; of repeated ones the first that is not right, as the comparison quotes it."""
    left, right = _shown(baseline), _shown(candidate)
    ours = [left[change.baseline.case_id] for change in changes]
    theirs = [right[change.candidate.case_id] for change in changes]
    befores = view_of(baseline, detailed=ours).cases
    afters = view_of(candidate, detailed=theirs).cases
    return zip(ours, befores, theirs, afters, strict=True)


def _shown(run: Run) -> Mapping[str, Evidence]:
    found: dict[str, Evidence] = {}
    for item in run.evidence:
        kept = found.get(item.case.id)
        if kept is None or (kept.outcome == "correct" and item.outcome != "correct"):
            found[item.case.id] = item
    return found


def _index(view: DiffView, changes: Sequence[CaseChange], pairs: Sequence[_Pair]) -> Index:
    kinds = list(map(kind_of, changes))
    present = [kind for kind in _STATES if kind in kinds]
    told = {kind: (name[0].upper() + name[1:], meaning) for kind, name, meaning in KINDS}
    ids = [one_line(change.candidate.case_id, limit=80) for change in changes]
    now = facets_of_cases([item for _, _, item, _ in pairs], [after for _, _, _, after in pairs], now=" now")
    return Index(
        headline=view.headline_metric,
        states=tuple(
            State(name=kind, label=told[kind][0], meaning=told[kind][1], mark=mark, tone=tone)
            for kind, (mark, tone) in _STATES.items()
            if kind in present
        ),
        state=tuple(map(present.index, kinds)),
        id=tuple(ids),
        link=tuple(distinct(ids)),
        answer=(),
        question=tuple(one_line(change.question, limit=QUESTION) for change in changes),
        reason=tuple(
            "" if after.outcome == "correct" else one_line(change.candidate.reason, limit=REASON)
            for change, (_, _, _, after) in zip(changes, pairs, strict=True)
        ),
        facets=tuple(one for one in now if one.values),
        metrics=tuple(
            Metric(name=f"Δ {row.metric}", share=False, value=tuple(_differences(row.figure.diff.metric, pairs)))
            for row in view.metrics
        ),
        time=(None,) * len(changes),
        chunk=CHUNK,
    )


def _differences(metric: str, pairs: Sequence[_Pair]) -> list[float | None]:
    """The candidate's value minus the baseline's, for the answers that are shown."""
    found: list[float | None] = []
    for before, _, after, _ in pairs:
        was, now = before.score(metric), after.score(metric)
        known = was is not None and now is not None and was.value is not None and now.value is not None
        found.append(round(now.value - was.value, 4) if known else None)  # type: ignore[union-attr,operator]
    return found


def _detail(view: DiffView, before: Evidence, was: CaseView, after: Evidence, now: CaseView) -> PairDetail:
    return PairDetail(
        question=now.question,
        context=now.context,
        name=now.name,
        database=now.database,
        difficulty=now.difficulty,
        tags=now.tags,
        sides=(_side(before, was, view.baseline.label), _side(after, now, view.candidate.label)),
    )


def _side(item: Evidence, case: CaseView, label: str) -> Side:
    """One run's answer to the case; the question is shown once for both sides."""
    detail = case_detail(item, case)
    return Side(label=label, **{name: getattr(detail, name) for name in Answered.__struct_fields__})
