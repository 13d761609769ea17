"""Ask the solver whether a condition follows from others, row by row; unbounded, since it is about a single row."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from assay.sql.algebra.conditions import holds
from assay.sql.algebra.facts import Facts
from assay.sql.algebra.model import Agg, Call, Col, Const, Sub, Term, parts_of
from assay.sql.algebra.parts import columns_of
from assay.sql.algebra.stopping import UnsupportedSQL

MOST_QUESTIONS = 60
"""The maximum number of solver calls per proof."""
MOST_CONDITIONS = 40
MOST_SOLVER_STEPS = 200_000
TIMEOUT_MS = 2_000


def available() -> bool:
    """Whether the extra ``prove`` is installed."""
    return find_spec("z3") is not None


def row_oracle() -> Callable[[Facts, Term], bool]:
    """A function that says whether a condition follows from facts; it says False after too many calls."""
    asked: dict[object, bool] = {}

    def follows(facts: Facts, wanted: Term) -> bool:
        question = (facts.terms, wanted, facts.padded)
        if question not in asked:
            if len(asked) >= MOST_QUESTIONS or len(facts.terms) > MOST_CONDITIONS:
                return False
            if not _worthwhile(facts, wanted) and not _checks(facts, wanted):
                return False
            asked[question] = _follows(facts, wanted)
        return asked[question]

    return follows


_WORTH = frozenset({"or", "case", "coalesce", "nullif", "add", "sub", "isnull", "same", "nsame", "is", "isnot"})


def _worthwhile(facts: Facts, wanted: Term) -> bool:
    """Whether there is anything that the plain rules cannot decide."""
    return any(
        isinstance(part, Call) and part.op in _WORTH for term in (*facts.terms, wanted) for part in parts_of(term)
    )


def _checks(facts: Facts, wanted: Term) -> list[Term]:
    """The CHECK constraints on the rows in the conditions, except those of left joins."""
    named = {col.source for term in (*facts.terms, wanted) for col in columns_of(term)} - facts.padded
    return [check for source in sorted(named) for check in facts.world.checks.get(source, ())]


def _follows(facts: Facts, wanted: Term) -> bool:
    import z3

    from assay.witness.proof.solver import NO, Encoder, solver, texts_of

    made: dict[Term, tuple[Any, Any]] = {}
    known: list[Any] = []

    def variable(term: Term) -> tuple[Any, Any]:
        chosen = facts.canonical(term)
        if isinstance(chosen, Const):
            return encoder.value(chosen)
        if chosen not in made:
            name = str(len(made))
            null = NO if facts.present(term) else z3.Bool(f"null{name}")
            made[chosen] = (null, z3.Real(f"value{name}"))
        return made[chosen]

    def exists(term: Sub) -> Any:
        token = facts.canonical(term)
        return z3.Bool(f"exists {token!r}")

    checks = _checks(facts, wanted)
    terms = (*facts.terms, wanted, *checks)
    constants = [facts.canonical(part) for term in terms for part in parts_of(term) if isinstance(part, Col | Agg)]
    encoder = Encoder(facts.world, texts_of(*terms, *constants), variable, variable, exists)
    try:
        known += [encoder.truth(term) for term in facts.terms]
        known += [z3.Not(encoder.truth(holds(check, facts.world, wanted=False))) for check in checks]
        goal = encoder.truth(wanted)
    except (UnsupportedSQL, ValueError, z3.Z3Exception):
        return False
    asked = solver(steps=MOST_SOLVER_STEPS, timeout_ms=TIMEOUT_MS)
    asked.add(*known, z3.Not(goal))
    return bool(asked.check() == z3.unsat)
