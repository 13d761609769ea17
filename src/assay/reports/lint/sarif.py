"""A lint in SARIF 2.1.0, the format that code review on GitHub, GitLab and Azure reads.

A finding's location is the row of its case in the question set if the file says so (``dev.jsonl, line 17``), since
that is the file under review; the location within the query is in the message and in ``properties``.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePath
from urllib.parse import quote

from assay._version import __version__
from assay.linting import rule_named
from assay.model.lint import LintFinding, LintReport
from assay.reports.json.run import document

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LINE = re.compile(r"\bline (\d+)$")


def lint_sarif(report: LintReport) -> bytes:
    """The whole lint, UTF-8, ending in a line break."""
    names = sorted(set(report.rules) | {finding.rule for finding in report.findings})
    places = {name: place for place, name in enumerate(names)}
    run: dict[str, object] = {
        "tool": {
            "driver": {
                "name": "assay lint",
                "version": __version__,
                "rules": [_rule(name) for name in names],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, places[finding.rule], report.name) for finding in report.findings],
        "properties": {"cases": report.cases, "golds": report.golds},
    }
    notes = [{"level": "note", "message": {"text": note}} for note in (*report.notes, *_gaps(report))]
    run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": notes}]
    return document({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _gaps(report: LintReport) -> list[str]:
    return [f"{gap.why}: {len(gap.cases) or report.cases} cases" for gap in report.gaps]


def _rule(name: str) -> dict[str, object]:
    about = rule_named(name)
    return {
        "id": name,
        "shortDescription": {"text": f"Finds {about.finds}."},
        "fullDescription": {"text": about.why},
        "help": {"text": about.remedy},
        "defaultConfiguration": {"level": about.severity},
        "properties": {"needs": about.needs},
    }


def _result(finding: LintFinding, place: int, name: str) -> dict[str, object]:
    where = f"gold {finding.gold + 1}, " if finding.gold else ""
    if finding.line is not None:
        where += f"line {finding.line}, column {finding.column} of the query, "
    shown = f" [{where}{finding.excerpt}]" if finding.excerpt else ""
    identity = "\0".join([finding.rule, finding.case_id, str(finding.gold), finding.query, finding.excerpt])
    return {
        "ruleId": finding.rule,
        "ruleIndex": place,
        "level": finding.severity,
        "message": {"text": f"Case {finding.case_id}: {finding.evidence} {finding.remedy}{shown}"},
        "locations": [_location(finding, name)],
        "partialFingerprints": {
            "assay/v1": hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        },
        "properties": {
            "case": finding.case_id,
            "gold": finding.gold,
            "question": finding.question,
            "query": finding.query,
            "database": finding.database,
            "queryLine": finding.line,
            "queryColumn": finding.column,
            "rootCause": finding.root_cause or None,
        },
    }


def _location(finding: LintFinding, name: str) -> dict[str, object]:
    physical: dict[str, object] = {"artifactLocation": {"uri": quote(PurePath(name).as_posix())}}
    if found := _LINE.search(finding.origin or ""):
        physical["region"] = {"startLine": int(found[1])}
    logical = {"fullyQualifiedName": f"case {finding.case_id}, gold {finding.gold + 1}", "kind": "object"}
    return {"physicalLocation": physical, "logicalLocations": [logical]}
