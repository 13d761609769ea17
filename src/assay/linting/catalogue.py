"""All rules: every module in a folder of `assay.linting.rules` is one.

A rule declares itself as ``RULE``. It checks one gold query in ``check_query``, which requires a readable query, or in
``check``, or all cases in ``across``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache, partial
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assay.model.lint import LintRule

if TYPE_CHECKING:
    from assay.linting.gold import CaseGolds, Found, Gold
    from assay.sql.query import Query


class Rule(Struct, frozen=True, kw_only=True):
    """A rule with its check: ``check`` for one gold query, ``across`` for all cases; one of the two is None."""

    about: LintRule
    check: Callable[[Gold], Iterator[Found]] | None
    across: Callable[[Sequence[CaseGolds]], Iterator[tuple[str, int, Found]]] | None


@lru_cache(maxsize=1)
def catalogue() -> tuple[Rule, ...]:
    """Every rule, by what it needs and then by name."""
    package = import_module("assay.linting.rules")
    found = []
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        if module.ispkg:
            continue
        loaded: Any = import_module(module.name)
        about: LintRule = loaded.RULE
        check_query = getattr(loaded, "check_query", None)
        check = getattr(loaded, "check", None) if check_query is None else partial(_check_readable, check_query)
        found.append(Rule(about=about, check=check, across=getattr(loaded, "across", None)))
    order = ("query", "question", "database", "cases", "runs")
    return tuple(sorted(found, key=lambda rule: (order.index(rule.about.needs), rule.about.name)))


def _check_readable(check_query: Callable[[Gold, Query], Iterator[Found]], gold: Gold) -> Iterator[Found]:
    """A rule that reads the query finds nothing in an unreadable one."""
    return iter(()) if gold.query is None else check_query(gold, gold.query)


def rules_by_name() -> dict[str, LintRule]:
    """The description of each rule."""
    return {rule.about.name: rule.about for rule in catalogue()}


def rule_named(name: str) -> LintRule:
    """The rule of that name. Raises KeyError if there is none."""
    return rules_by_name()[name]


def closest_rule(name: str) -> str | None:
    """The most similar rule to an unknown name; a known name itself."""
    names = [rule.about.name for rule in catalogue()]
    if name in names:
        return name
    return next(iter(get_close_matches(name, names, n=1)), None)
