"""A lint as one self-contained HTML page, without any script."""

from __future__ import annotations

from assay.linting import rule_named
from assay.model.lint import SEVERITIES, LintReport
from assay.reports.html.page import asset, content_security_policy, template
from assay.reports.lint.table import accuracy_lines, conclusion
from assay.reports.text.plain import visible


def lint_html(report: LintReport) -> bytes:
    """The whole page, UTF-8: the counts, then the findings of each rule."""
    from markupsafe import Markup

    css = asset("report.css") + asset("lint.css")
    groups = []
    for name, count in report.counts().items():
        own = [finding for finding in report.findings if finding.rule == name]
        worst = next(one for one in SEVERITIES if any(finding.severity == one for finding in own))
        groups.append({"about": rule_named(name), "count": count, "worst": worst, "findings": own})
    groups.sort(key=lambda group: SEVERITIES.index(str(group["worst"])))
    text = template("lint.html").render(
        report=report,
        groups=groups,
        roots=report.root_causes(),
        conclusion=conclusion(report),
        accuracies=list(accuracy_lines(report)),
        doubtful=len(report.doubtful()),
        visible=visible,
        css=Markup(css),
        policy=content_security_policy(css, ""),
    )
    return text.encode("utf-8", "backslashreplace")
