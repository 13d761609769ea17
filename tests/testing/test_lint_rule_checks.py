"""The kit for lint rules: Assay's own rules pass it, and each check finds the fault that it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from assay.linting import Found
from assay.linting.rules.cases import duplicate_question
from assay.linting.rules.database import all_null
from assay.linting.rules.query import null_comparison
from assay.model import Case
from assay.model.lint import LintRule
from assay.sql.query import Span
from assay.testing.conformance import LINT_RULE_CHECKS, Check, Gap, LintRuleAdapter, conform
from many_cases import each

SCHEMA = "CREATE TABLE t(a INTEGER, b INTEGER); INSERT INTO t VALUES (1, NULL), (2, NULL)"


def case(gold: str, question: str = "What is there?", id: str = "1") -> Case:
    return Case(id=id, question=question, golds=(gold,))


OURS = {
    "query": LintRuleAdapter(
        rule=null_comparison,
        flagged=(case("SELECT a FROM t WHERE b = NULL"),),
        accepted=(case("SELECT a FROM t WHERE b IS NULL"),),
        schema=SCHEMA,
    ),
    "database": LintRuleAdapter(
        rule=all_null, flagged=(case("SELECT b FROM t"),), accepted=(case("SELECT a FROM t"),), schema=SCHEMA
    ),
    "cases": LintRuleAdapter(
        rule=duplicate_question,
        flagged=((case("SELECT a FROM t"), case("SELECT b FROM t", id="2")),),
        accepted=((case("SELECT a FROM t"), case("SELECT b FROM t", "Something else?", id="2")),),
        schema=SCHEMA,
    ),
}


@each("check", LINT_RULE_CHECKS, ids=str)
def test_assays_own_rules_pass(check: Check[LintRuleAdapter]) -> None:
    for adapter in OURS.values():
        named = {"its_name_is_its_own": Gap(whose="never", why="it is that rule", shows="a built-in rule is called")}
        conform(replace(adapter, gaps=named), check)


ABOUT = LintRule(
    name="selects-one",
    severity="note",
    needs="query",
    finds="a query that selects 1",
    why="It is a constant.",
    remedy="Select a column.",
    bad="SELECT 1",
    good="SELECT a FROM t",
)
FOUND = Found(evidence="It selects 1.", place=Span(7, 8))


def finds(gold: Any) -> Iterator[Any]:
    if gold.text == "SELECT 1":
        yield FOUND


def rule(about: object = ABOUT, check: Callable[[Any], Any] | None = finds, **more: Any) -> Any:
    functions = {} if check is None else {"check": check}
    return SimpleNamespace(RULE=about, **functions, **more)


def failing(source: Any, **changes: Any) -> dict[str, str]:
    """The checks that fail, with what they say."""
    adapter = LintRuleAdapter(
        rule=source, flagged=(case("SELECT 1"),), accepted=(case("SELECT a FROM t"),), schema=SCHEMA
    )
    found = {}
    for check in LINT_RULE_CHECKS:
        try:
            conform(replace(adapter, **changes), check)
        except AssertionError as error:
            found[check.name] = str(error)
    return found


def test_a_good_rule_passes() -> None:
    assert failing(rule()) == {}


class Forgetful:
    """Finds nothing after a query that it accepts."""

    def __init__(self) -> None:
        self.last = ""

    def __call__(self, gold: Any) -> Iterator[Found]:
        last, self.last = self.last, gold.text
        if last != "SELECT a FROM t":
            yield from finds(gold)


def raises(gold: Any) -> Iterator[Found]:
    yield from finds(gold)
    gold.query.top.node  # noqa: B018 - None if the query cannot be read


def yields(**changes: Any) -> Callable[[Any], Iterator[Any]]:
    return lambda gold: iter([replace(FOUND, **changes)] if gold.text == "SELECT 1" else [])


BROKEN: list[tuple[str, Any, str, str]] = [
    ("no description", rule(about=None), "it_describes_itself", "the rule has no RULE"),
    ("two words", rule(replace(ABOUT, name="two words")), "it_describes_itself", "cannot be used in a list"),
    ("upper case", rule(replace(ABOUT, name="SelectsOne")), "it_describes_itself", "words-with-hyphens"),
    ("blank remedy", rule(replace(ABOUT, remedy=" ")), "it_describes_itself", "its remedy is blank"),
    ("not a sentence", rule(replace(ABOUT, why="because")), "it_describes_itself", "its why is not a sentence"),
    ("a sentence", rule(replace(ABOUT, finds="It selects 1.")), "it_describes_itself", "write a clause"),
    ("severity", rule(replace(ABOUT, severity="fatal")), "it_describes_itself", "has the severity 'fatal'"),
    ("needs", rule(replace(ABOUT, needs="luck")), "it_describes_itself", "needs 'luck'"),
    ("no check", rule(check=None), "it_describes_itself", "has no check"),
    ("two checks", rule(across=lambda cases: iter(())), "it_describes_itself", "has check and across"),
    ("wrong check", rule(replace(ABOUT, needs="cases")), "it_describes_itself", "define across instead"),
    ("taken", rule(replace(ABOUT, name="null-comparison")), "its_name_is_its_own", "a built-in rule is called"),
    ("blind", rule(check=lambda gold: iter(())), "it_finds_what_it_is_for", "it finds nothing in 'SELECT 1'"),
    ("everything", rule(check=lambda gold: iter([FOUND])), "it_accepts_what_is_right", "it finds 'It selects 1.' in"),
    ("blank evidence", rule(check=yields(evidence="")), "findings_can_be_shown", "the text is blank"),
    ("two lines", rule(check=yields(evidence="a\nb")), "findings_can_be_shown", "has several lines"),
    ("odd severity", rule(check=yields(severity="bad")), "findings_can_be_shown", "its severity is 'bad'"),
    ("outside", rule(check=yields(place=Span(7, 99))), "findings_can_be_shown", "7 to 99 is outside the query's 8"),
    ("raises", rule(check=raises), "it_never_raises", "AttributeError"),
    ("not a finding", rule(check=lambda gold: iter(["one"])), "it_never_raises", "it yields str, not assay.linting"),
    ("forgets", rule(check=Forgetful()), "it_repeats_itself", "checked again"),
    (
        "reads the question",
        rule(check=lambda gold: finds(gold) if gold.question else iter(())),
        "it_needs_what_it_says",
        "without a question",
    ),
    (
        "reads the database",
        rule(check=lambda gold: finds(gold) if gold.database else iter(())),
        "it_needs_what_it_says",
        "without a database",
    ),
]


@pytest.mark.parametrize(("source", "check", "said"), [one[1:] for one in BROKEN], ids=[one[0] for one in BROKEN])
def test_each_fault_is_found_by_its_check(source: Any, check: str, said: str) -> None:
    found = failing(source)
    assert said in found.get(check, ""), found


def test_every_check_finds_a_fault() -> None:
    assert {check for _, _, check, _ in BROKEN} == {check.name for check in LINT_RULE_CHECKS}


@pytest.mark.parametrize(("examples", "check"), [("flagged", "it_finds"), ("accepted", "it_accepts")])
def test_without_examples_nothing_is_shown(examples: str, check: str) -> None:
    (name,) = [name for name in failing(rule(), **{examples: ()}) if name.startswith(check)]
    assert f"there is no {examples} example" in failing(rule(), **{examples: ()})[name]
