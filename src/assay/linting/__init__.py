"""Find errors in gold queries. One file per rule in `assay.linting.rules`; `lint_gold` applies the rules for one gold
query, `lint_across` those that compare all cases."""

from assay.linting.apply import GoldLint, lint_across, lint_gold
from assay.linting.catalogue import catalogue, closest_rule, rule_named
from assay.linting.gold import CaseGolds, Found, Gold, GoldDatabase
from assay.linting.root_causes import shared

__all__ = [
    "CaseGolds",
    "Found",
    "Gold",
    "GoldDatabase",
    "GoldLint",
    "catalogue",
    "closest_rule",
    "lint_across",
    "lint_gold",
    "rule_named",
    "shared",
]
