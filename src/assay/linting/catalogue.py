"""The rules: one module per built-in rule in `assay.linting.rules`, and those of other packages.

A rule has ``RULE``, its description, and exactly one function: ``check_query`` for one readable gold query, ``check``
for one gold query, or ``across`` for all cases. Another package registers such a module, or an object with these
attributes, as an entry point of the group ``assay.lint_rules``, under the name of the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache, partial
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any, get_args

from msgspec import Struct

from assay.errors import PluginError
from assay.model.lint import SEVERITIES, LintRule, RuleNeeds
from assay.ports.plugins import load, package_of, registered

if TYPE_CHECKING:
    from assay.linting.gold import CaseGolds, Found, Gold
    from assay.sql.query import Query

_CHECKS = ("check_query", "check", "across")
_NEEDS: tuple[RuleNeeds, ...] = get_args(RuleNeeds)


class Rule(Struct, frozen=True, kw_only=True):
    """A rule with its check: ``check`` for one gold query, ``across`` for all cases; one of the two is None."""

    about: LintRule
    check: Callable[[Gold], Iterator[Found]] | None
    across: Callable[[Sequence[CaseGolds]], Iterator[tuple[str, int, Found]]] | None
    package: str | None = None
    """The package that adds the rule; None for a built-in one."""


@lru_cache(maxsize=1)
def catalogue() -> tuple[Rule, ...]:
    """Every rule, by what it needs and then by name. Raises PluginError for a rule of a package that is invalid."""
    rules = {rule.about.name: rule for rule in built_in_rules()}
    for name, entry in registered("assay.lint_rules").items():
        package = package_of(entry)
        if name in rules:
            raise PluginError(f"the lint rule {name!r} of {package} has the name of a built-in rule: rename it")
        try:
            rules[name] = rule_of(load("assay.lint_rules", name), package=package)
        except ValueError as error:
            raise PluginError(f"the lint rule {name!r} of {package} {error}") from error
        if rules[name].about.name != name:
            own = rules[name].about.name
            raise PluginError(f"the lint rule {name!r} of {package} calls itself {own!r}: register it as that")
    return _sorted(rules.values())


@lru_cache(maxsize=1)
def built_in_rules() -> tuple[Rule, ...]:
    """The rules of Assay itself, in the order of `catalogue`."""
    package = import_module("assay.linting.rules")
    modules = (module for module in walk_packages(package.__path__, f"{package.__name__}.") if not module.ispkg)
    return _sorted(rule_of(import_module(module.name)) for module in modules)


def _sorted(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple(sorted(rules, key=lambda rule: (_NEEDS.index(rule.about.needs), rule.about.name)))


def rule_of(source: Any, *, package: str | None = None) -> Rule:
    """The rule that a module or an object describes. Raises ValueError that says what is wrong with it."""
    about = getattr(source, "RULE", None)
    if not isinstance(about, LintRule):
        raise ValueError("has no RULE: describe it with assay.model.lint.LintRule")
    if about.severity not in SEVERITIES:
        raise ValueError(f"has the severity {about.severity!r}: use {', '.join(SEVERITIES)}")
    if about.needs not in _NEEDS:
        raise ValueError(f"needs {about.needs!r}: use {', '.join(_NEEDS)}")
    given = [name for name in _CHECKS if callable(getattr(source, name, None))]
    if len(given) != 1:
        has = f"has {' and '.join(given)}" if given else "has no check"
        raise ValueError(f"{has}: define exactly one of the functions {', '.join(_CHECKS)}")
    fitting = ("database", "cases", "runs") if given == ["across"] else ("query", "question", "database")
    if about.needs not in fitting:
        wanted = "check or check_query" if given == ["across"] else "across"
        raise ValueError(f"needs {about.needs!r} and has {given[0]}: define {wanted} instead")
    function = getattr(source, given[0])
    if given == ["across"]:
        return Rule(about=about, check=None, across=function, package=package)
    check = partial(_check_readable, function) if given == ["check_query"] else function
    return Rule(about=about, check=check, across=None, package=package)


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
