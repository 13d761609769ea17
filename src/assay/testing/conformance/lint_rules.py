"""Checks for lint rules, on queries that a rule may meet. A small SQLite database in memory is enough."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct, field
from msgspec.structs import replace

from assay.linting.catalogue import Rule, built_in_rules, rule_of
from assay.linting.gold import Found, GoldDatabase
from assay.linting.trying import found_by, trial
from assay.model import Case
from assay.model.lint import SEVERITIES
from assay.testing.conformance.checks import Check, Gap, checks, named, one_line, same, without_error

_ODD = (
    "",
    "   ",
    "SELECT",
    "SELECT 1; SELECT 2",
    "SELECT * FROM nowhere WHERE absent = 'x'",
    "SELECT name FROM (SELECT 1 AS name) AS t UNION ALL SELECT 'ü😀' ORDER BY 1 LIMIT 0",
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT n FROM c",
    "SELECT count(*) OVER (PARTITION BY 1), CASE WHEN 1 THEN NULL END, 'it''s -- no comment' /* one */",
    "DELETE FROM t",
    "VALUES (1), (2)",
    "SELECT " + " + ".join(["1"] * 300),
    "SELECT " + "(" * 400 + "1" + ")" * 400,
)


class LintRuleAdapter(Struct, frozen=True, kw_only=True):
    """A lint rule with examples."""

    rule: object
    """What is registered: a module, or an object with the same attributes."""
    flagged: tuple[Case | tuple[Case, ...], ...]
    """Examples in which the rule finds something; for a rule that compares cases, each is several cases."""
    accepted: tuple[Case | tuple[Case, ...], ...]
    """Examples in which it finds nothing."""
    schema: str = ""
    """SQL statements for SQLite that create the tables of the examples, with rows. Empty: no database."""
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    """The known gaps by the name of their check."""


def it_describes_itself(adapter: LintRuleAdapter) -> None:
    """RULE has every text, a name that can be typed, a known severity, and one check that fits what it needs."""
    about = _rule(adapter).about
    named(about)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", about.name), f"its name {about.name!r}: use words-with-hyphens"
    for what in ("finds", "why", "remedy", "bad", "good"):
        text = getattr(about, what)
        assert isinstance(text, str), f"its {what} is {text!r}, not a text"
        assert text.strip(), f"its {what} is blank"
    one_line("what it finds", about.finds)
    assert not about.finds.endswith("."), f"what it finds is a sentence: write a clause, not {about.finds!r}"
    for what in ("why", "remedy"):
        assert getattr(about, what).strip().endswith("."), f"its {what} is not a sentence: {getattr(about, what)!r}"


def its_name_is_its_own(adapter: LintRuleAdapter) -> None:
    """No built-in rule has its name."""
    name = _rule(adapter).about.name
    assert name not in {rule.about.name for rule in built_in_rules()}, f"a built-in rule is called {name!r}, too"


def it_finds_what_it_is_for(adapter: LintRuleAdapter) -> None:
    """There are flagged examples, and it finds something in each."""
    assert adapter.flagged, "there is no flagged example: give at least one"
    for cases in _groups(adapter.flagged):
        assert _findings(adapter, cases), f"it finds nothing in {_shown(cases)}"


def it_accepts_what_is_right(adapter: LintRuleAdapter) -> None:
    """There are accepted examples, and it finds nothing in them."""
    assert adapter.accepted, "there is no accepted example: give at least one"
    for cases in _groups(adapter.accepted):
        found = _findings(adapter, cases)
        assert not found, f"it finds {found[0][2].evidence!r} in {_shown(cases)}"


def findings_can_be_shown(adapter: LintRuleAdapter) -> None:
    """Each finding has one sentence as evidence, a known severity, and a place within the query."""
    for cases in _groups(adapter.flagged):
        for case, gold, found in _findings(adapter, cases):
            where = f"the finding in {_shown([case])}"
            one_line(f"{where}: its evidence", found.evidence)
            assert found.severity in (None, *SEVERITIES), f"{where}: its severity is {found.severity!r}"
            if found.remedy is not None:
                one_line(f"{where}: its remedy", found.remedy)
            same(found.root_cause.strip(), found.root_cause, where=f"{where}: its root cause")
            assert 0 <= gold < max(1, case.gold_count), f"{where}: there is no gold query {gold}"
            if found.place is not None and gold < len(case.golds):
                start, end, size = found.place.start, found.place.end, len(case.golds[gold])
                assert 0 <= start <= end <= size, f"{where}: its place {start} to {end} is outside the query's {size}"


def it_never_raises(adapter: LintRuleAdapter) -> None:
    """It finds something or nothing in any text, with and without a database and a question."""
    for query in _ODD:
        case = Case(id="odd", question="", golds=(query,))
        for one in (case, replace(case, question="Which 'x' has more than 3?", context="x means y", database="shop")):
            for with_database in (True, False):
                _findings(adapter, [one, replace(one, id="other")], with_database=with_database)
    _findings(adapter, [])


def it_repeats_itself(adapter: LintRuleAdapter) -> None:
    """The same cases have the same findings, whatever was checked before them."""
    groups = [*_groups(adapter.flagged), *_groups(adapter.accepted)]
    first = [_findings(adapter, cases) for cases in groups]
    again = [_findings(adapter, cases) for cases in reversed(groups)][::-1]
    for cases, one, other in zip(groups, first, again, strict=True):
        same(other, one, where=f"{_shown(cases)}, checked again")


def it_needs_what_it_says(adapter: LintRuleAdapter) -> None:
    """A rule that needs only the query finds the same without a question and without a database."""
    needs = _rule(adapter).about.needs
    if needs not in ("query", "question"):
        return
    for cases in (*_groups(adapter.flagged), *_groups(adapter.accepted)):
        found = _findings(adapter, cases)
        alone = _findings(adapter, cases, with_database=False)
        same(len(alone), len(found), where=f"{_shown(cases)}, findings without a database")
        if needs == "query":
            silent = [replace(case, question="", context=None) for case in cases]
            same(len(_findings(adapter, silent)), len(found), where=f"{_shown(cases)}, findings without a question")


def _rule(adapter: LintRuleAdapter) -> Rule:
    try:
        return rule_of(adapter.rule)
    except ValueError as error:
        raise AssertionError(f"the rule {error}") from error


def _groups(examples: Sequence[Case | tuple[Case, ...]]) -> list[Sequence[Case]]:
    return [(one,) if isinstance(one, Case) else one for one in examples]


def _findings(
    adapter: LintRuleAdapter, cases: Sequence[Case], *, with_database: bool = True
) -> list[tuple[Case, int, Found]]:
    rule = _rule(adapter)
    with _database(adapter, with_database=with_database) as database:
        found = without_error(_shown(cases), lambda: found_by(rule, cases, database))
    for _, _, one in found:
        assert isinstance(one, Found), f"{_shown(cases)}: it yields {type(one).__name__}, not assay.linting.Found"
    return found


@contextmanager
def _database(adapter: LintRuleAdapter, *, with_database: bool) -> Iterator[GoldDatabase | None]:
    if not adapter.schema or not with_database:
        yield None
        return
    with trial(adapter.schema) as database:
        yield database


def _shown(cases: Sequence[Case]) -> str:
    """The queries of the cases, for a message."""
    return " and ".join(repr(query[:80]) for case in cases for query in case.golds) or "no case"


LINT_RULE_CHECKS: tuple[Check[LintRuleAdapter], ...] = checks(
    it_describes_itself,
    its_name_is_its_own,
    it_finds_what_it_is_for,
    it_accepts_what_is_right,
    findings_can_be_shown,
    it_never_raises,
    it_repeats_itself,
    it_needs_what_it_says,
)
"""Every check of a lint rule, in the order in which to read them."""
