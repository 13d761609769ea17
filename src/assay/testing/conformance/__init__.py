"""Conformance checks for authors of plug-ins: engines, systems, metrics, case formats, reports and lint rules.

    import pytest
    from assay.testing.conformance import METRIC_CHECKS, MetricAdapter, conform

    @pytest.mark.parametrize("check", METRIC_CHECKS, ids=str)
    def test_my_metric_conforms(check):
        gap = conform(MetricAdapter(metric=MyMetric), check)
        if gap and gap.whose != "never":
            pytest.xfail(f"{gap.whose}: {gap.why}")

For the other kinds: `CHECKS` with `Adapter` for an engine (after `prepare`, which makes two tables), `SYSTEM_CHECKS`
with `SystemAdapter`, `FORMAT_CHECKS` with `FormatAdapter`, `REPORT_CHECKS` with `ReportAdapter`, `LINT_RULE_CHECKS`
with `LintRuleAdapter`. A check that an
implementation cannot pass is named as a `Gap`, with its owner, its reason and what the check then finds. A gap that no
longer shows fails the test, and so does a check that finds something else, so that the list stays true. A gap that
cannot be closed (``never``) is a property of the implementation, and its test passes.
"""

from assay.testing.conformance.checks import Check, Gap, conform
from assay.testing.conformance.engines import CHECKS, STANDARD_TYPES, Adapter, Kind, prepare
from assay.testing.conformance.formats import FORMAT_CHECKS, FormatAdapter
from assay.testing.conformance.lint_rules import LINT_RULE_CHECKS, LintRuleAdapter
from assay.testing.conformance.metrics import METRIC_CHECKS, MetricAdapter
from assay.testing.conformance.reports import REPORT_CHECKS, ReportAdapter
from assay.testing.conformance.systems import SYSTEM_CHECKS, SystemAdapter

__all__ = [
    "CHECKS",
    "FORMAT_CHECKS",
    "LINT_RULE_CHECKS",
    "METRIC_CHECKS",
    "REPORT_CHECKS",
    "STANDARD_TYPES",
    "SYSTEM_CHECKS",
    "Adapter",
    "Check",
    "FormatAdapter",
    "Gap",
    "Kind",
    "LintRuleAdapter",
    "MetricAdapter",
    "ReportAdapter",
    "SystemAdapter",
    "conform",
    "prepare",
]
