"""A lint as plain text and as a page: the counts, then every finding with its place, its evidence and its remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.linting import rule_named
from assay.model.lint import SEVERITIES, LintFinding, LintReport
from assay.reports.text.plain import aligned, one_line, plural, visible

_QUESTION = 150
_QUERY = 300


def lint_text(report: LintReport) -> str:
    """The whole lint for a person, the severest findings first."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: LintReport) -> Iterator[str]:
    for finding in sorted(report.findings, key=lambda one: SEVERITIES.index(one.severity)):
        yield from _finding(finding)
        yield ""
    if report.findings:
        yield from aligned([(rule, f"{count:,}") for rule, count in report.counts().items()])
        yield ""
    if lines := list(root_cause_lines(report)):
        yield "root causes that findings share:"
        yield from (f"  {line}" for line in lines)
        yield ""
    yield conclusion(report)
    yield from accuracy_lines(report)
    yield from gap_lines(report)
    for note in report.notes:
        yield f"note: {one_line(note, limit=300)}"


def gap_lines(report: LintReport) -> Iterator[str]:
    """A line per reason why some rules were not applied to some cases."""
    for gap in report.gaps:
        cases = plural(len(gap.cases), "case") if gap.cases else "all cases"
        named = (
            f" ({one_line(', '.join(gap.cases[:5]), limit=80)}{' …' if len(gap.cases) > 5 else ''})"
            if gap.cases
            else ""
        )
        rules = f", {plural(len(gap.rules), 'rule')} not applied" if gap.rules else ""
        yield f"{cases}{named}: {one_line(gap.why, limit=300)}{rules}"


def root_cause_lines(report: LintReport) -> Iterator[str]:
    """A line for each root cause that several findings share, that of most findings first."""
    for one in report.root_causes():
        count = f"{plural(len(one.findings), 'finding')} in {plural(len(one.cases), 'case')}"
        yield f"{count}: {one_line(one.name, limit=200)}"


def accuracy_lines(report: LintReport) -> Iterator[str]:
    """A sentence per stored run: its accuracy with and without the doubtful cases."""
    for one in report.accuracies:
        with_all, without = _share(one.correct, one.scored), _share(one.sound_correct, one.sound_scored)
        left_out = plural(one.scored - one.sound_scored, "doubtful answer")
        yield f"{one_line(one.run, limit=80)}: {with_all} correct; without {left_out} {without}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} ({part:,} of {whole:,})" if whole else "none scored"


def conclusion(report: LintReport) -> str:
    """One sentence: the number of findings by severity, and of their cases."""
    kinds = [
        plural(count, one) for one in SEVERITIES if (count := sum(item.severity == one for item in report.findings))
    ]
    cases = len({one.case_id for one in report.findings})
    found = f"{', '.join(kinds)} in {plural(cases, 'case')}" if kinds else "nothing found"
    turned_off = f" ({plural(report.ignored, 'finding')} turned off by comments)" if report.ignored else ""
    looked = f"{plural(report.golds, 'gold query', 'gold queries')} of {plural(report.cases, 'case')}"
    unread = len({case for gap in report.unread for case in gap.cases})
    missing = f"; the database of {plural(unread, 'case')} cannot be read, so only rules of the query ran there"
    return f"{found}, of {looked} by {plural(len(report.rules), 'rule')}{turned_off}{missing if unread else ''}"


def _finding(finding: LintFinding) -> Iterator[str]:
    yield visible(f"{finding.severity}  {finding.rule}  {place_of(finding)}")
    yield f"  {one_line(finding.evidence, limit=400)}"
    if finding.question:
        yield f"  question: {one_line(finding.question, limit=_QUESTION)}"
    yield f"  query:    {one_line(finding.query, limit=_QUERY)}"
    yield f"  remedy:   {one_line(finding.remedy, limit=300)}"


def place_of(finding: LintFinding) -> str:
    """``case 17 gold 2:1:8``: the case, which of several gold queries, line and column."""
    place = "" if finding.line is None else f":{finding.line}:{finding.column}"
    gold = f" gold {finding.gold + 1}" if finding.gold else ""
    return visible(f"case {one_line(finding.case_id, limit=60)}{gold}{place}")


def lint_html(report: LintReport) -> bytes:
    """The whole page, UTF-8: the counts, then the findings of each rule."""
    from assay.reports.html.page import NAMES_ONLY, page

    groups = [
        {"about": rule_named(name), **_counted([finding for finding in report.findings if finding.rule == name])}
        for name in report.counts()
    ]
    groups.sort(key=lambda group: group["severities"], reverse=True)  # the rules with most errors first
    total = _counted(report.findings)
    context = {
        "report": report,
        "groups": groups,
        "total": total,
        "severities": [place for place, count in enumerate(total["severities"]) if count],
        "names": [f"{one}s" for one in SEVERITIES],
        "roots": report.root_causes(),
        "conclusion": conclusion(report),
        "accuracies": list(accuracy_lines(report)),
        "doubtful": len(report.doubtful()),
        "visible": visible,
    }
    return b"".join(page("lint.html", context, scripts=NAMES_ONLY, styles=("report.css", "lint.css")))


def _counted(findings: Sequence[LintFinding]) -> dict[str, Any]:
    """Findings, with how many of each severity there are and in how many cases."""
    return {
        "findings": findings,
        "severities": tuple(sum(one.severity == severity for one in findings) for severity in SEVERITIES),
        "cases": len({one.case_id for one in findings}),
    }
