"""A lint as one JSON document.

Top level: ``format`` (``assay-lint``), ``version``, ``name``, ``database``, ``cases``, ``golds``, ``rules`` (those that
were applied), ``counts`` (findings per rule), ``severities`` (findings per severity), ``doubtful_cases`` (ids with a
warning or an error), ``root_causes`` (those that several findings share: ``cause``,
``database``, ``severity``, the number of ``findings``, ``rules`` and ``cases``), ``findings`` (the fields of
`assay.model.lint.LintFinding`), ``gaps``, ``notes``, ``ignored``,
``accuracies`` (per stored run).
"""

from __future__ import annotations

from msgspec.structs import asdict

from assay.model.lint import SEVERITIES, LintReport
from assay.reports.json.run import document

FORMAT_VERSION = 1


def lint_json(report: LintReport) -> bytes:
    """The whole lint, UTF-8, ending in a line break."""
    doubtful = report.doubtful()
    return document(
        {
            "format": "assay-lint",
            "version": FORMAT_VERSION,
            "name": report.name,
            "database": report.database,
            "cases": report.cases,
            "golds": report.golds,
            "rules": list(report.rules),
            "counts": dict(report.counts()),
            "severities": {one: sum(finding.severity == one for finding in report.findings) for one in SEVERITIES},
            "doubtful_cases": list(dict.fromkeys(one.case_id for one in report.findings if one.case_id in doubtful)),
            "root_causes": [
                {
                    "cause": one.cause,
                    "database": one.database,
                    "severity": one.severity,
                    "findings": len(one.findings),
                    "rules": list(one.rules),
                    "cases": list(one.cases),
                }
                for one in report.root_causes()
            ],
            "findings": [asdict(finding) for finding in report.findings],
            "gaps": [asdict(gap) for gap in report.gaps],
            "notes": list(report.notes),
            "ignored": report.ignored,
            "accuracies": [asdict(one) for one in report.accuracies],
        }
    )
