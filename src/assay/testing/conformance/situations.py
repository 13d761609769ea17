"""What may happen to a case, as a metric sees it: one value for each way, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from assay.model import Blame, Case, Comparison, Execution, Failure, FailureKind, Prediction, Result, Row
from assay.ports import Executions

How = Literal["ran", "fails", "befallen", "without gold"]
"""``ran``: both queries gave rows; ``fails``: the answer fails by its own fault; ``befallen``: by something else;
``without gold``: no gold query ran, so that no answer could be right."""

GOLD = "SELECT id, name FROM customers"
OTHER = "SELECT id, name FROM clients"
_ROWS: tuple[Row, ...] = ((1, "Ada"), (2, None), (2, None))
_ODD: tuple[Row, ...] = (
    (Decimal("1.50"), date(2024, 2, 29), b"\x00", True, float("nan"), 2**70, "\udcff😀", [1, {"a": None}]),
    (None, None, None, None, float("inf"), -0.0, "", []),
)


class Situation(Struct, frozen=True, kw_only=True):
    """One case with all that a metric is given."""

    name: str
    how: How
    case: Case
    prediction: Prediction
    executions: Executions
    comparison: Comparison | None

    def __str__(self) -> str:
        return self.name


def situations() -> tuple[Situation, ...]:
    """Every situation. The first is a prediction with the gold query's own text."""
    return (
        _both("gold's own text", _ROWS, _ROWS, query=GOLD),
        _both("the same rows by another text", _ROWS, _ROWS),
        _both("rows in another order", _ROWS, _ROWS[::-1]),
        _both("a row more", _ROWS, (*_ROWS, (3, "Edith"))),
        _both("a row less", _ROWS, _ROWS[:1]),
        _both("other values", _ROWS, ((9, "x"), (8, "y"), (7, "z"))),
        _both("a column less", _ROWS, ((1,), (2,), (2,))),
        _both("no rows on either side", (), ()),
        _both("no gold rows", (), _ROWS),
        _both("no rows of the answer", _ROWS, ()),
        _both("cells of every type", _ODD, _ODD),
        _both("cells of other types", _ODD, _ROWS),
        _both("many rows", tuple((n, str(n % 7)) for n in range(3000)), tuple((n, str(n % 7)) for n in range(2999))),
        *(_failing(f"an answer with {kind}", status, kind) for status, kind in _OWN_FAULTS),
        _case("no answer", "fails", prediction=_silent("unanswered", "system"), golds=(_ran(GOLD, _ROWS),)),
        _case("an unreachable system", "befallen", prediction=_silent("ask_failed", "network"), golds=_gold_alone()),
        _failing("a lost database", "error", "unreadable_database", blame="engine", how="befallen"),
        _without_gold("a gold query that fails", _ran(OTHER, _ROWS)),
        _without_gold("a gold query and a prediction that fail", _broke(OTHER, "error", "error", "system")),
        _case("a case without a gold query", "without gold", golds=(), predicted=_ran(OTHER, _ROWS)),
        _second_gold(),
        _undecided(),
    )


_OWN_FAULTS: tuple[tuple[Literal["error", "timeout", "refused"], FailureKind], ...] = (
    ("error", "error"),
    ("timeout", "timeout"),
    ("refused", "writes"),
    ("refused", "several_statements"),
    ("error", "no_query"),
    ("error", "crashed"),
)


def _ran(query: str, rows: Sequence[Row]) -> Execution:
    columns = tuple(f"c{n}" for n in range(len(rows[0]) if rows else 2))
    return Execution(
        query=query,
        status="rows" if rows else "empty",
        result=Result(columns=columns, rows=tuple(rows)),
        wall_time_s=0.01,
        row_count=len(rows),
        columns=columns,
    )


def _broke(query: str, status: Literal["error", "timeout", "refused"], kind: FailureKind, blame: Blame) -> Execution:
    failure = Failure(stage="execute", kind=kind, blame=blame, message=f"it came to nothing: {kind}")
    return Execution(query=query, status=status, failure=failure)


def _silent(kind: FailureKind, blame: Blame) -> Prediction:
    failure = Failure(stage="ask", kind=kind, blame=blame, message="the system returned no query")
    return Prediction(case_id="c1", failure=failure)


def _gold_alone() -> tuple[Execution, ...]:
    return (_ran(GOLD, _ROWS),)


def _case(
    name: str,
    how: How,
    *,
    golds: tuple[Execution, ...],
    prediction: Prediction | None = None,
    predicted: Execution | None = None,
    comparison: Comparison | None = None,
) -> Situation:
    case = Case(
        id="c1",
        question="Who are our customers?",
        database="shop",
        golds=tuple(gold.query for gold in golds),
        difficulty="easy",
        tags=("names",),
    )
    if prediction is None:
        prediction = Prediction(case_id="c1", query=predicted.query if predicted is not None else OTHER)
    executions = Executions(golds=golds, predicted=predicted)
    return Situation(name=name, how=how, case=case, prediction=prediction, executions=executions, comparison=comparison)


def _both(name: str, gold: tuple[Row, ...], predicted: tuple[Row, ...], *, query: str = OTHER) -> Situation:
    equal = sorted(map(repr, gold)) == sorted(map(repr, predicted))
    comparison = Comparison(
        equal=equal,
        column_mapping=tuple(range(len(gold[0]))) if gold and equal else (),
        gold_row_count=len(gold),
        predicted_row_count=len(predicted),
        matched_rows=len(gold) if equal else 0,
        missing_rows=0 if equal else len(gold),
        extra_rows=0 if equal else len(predicted),
        vacuous=not gold and equal,
    )
    return _case(name, "ran", golds=(_ran(GOLD, gold),), predicted=_ran(query, predicted), comparison=comparison)


def _failing(
    name: str,
    status: Literal["error", "timeout", "refused"],
    kind: FailureKind,
    *,
    blame: Blame = "system",
    how: How = "fails",
) -> Situation:
    return _case(name, how, golds=_gold_alone(), predicted=_broke(OTHER, status, kind, blame))


def _without_gold(name: str, predicted: Execution) -> Situation:
    return _case(name, "without gold", golds=(_broke(GOLD, "error", "error", "gold"),), predicted=predicted)


def _second_gold() -> Situation:
    golds = (_broke("SELECT id FROM nowhere", "error", "error", "gold"), _ran(GOLD, _ROWS))
    comparison = Comparison(equal=True, column_mapping=(0, 1), gold_row_count=3, predicted_row_count=3, matched_rows=3)
    return _case(
        "a second gold query that runs", "ran", golds=golds, predicted=_ran(OTHER, _ROWS), comparison=comparison
    )


def _undecided() -> Situation:
    comparison = Comparison(equal=False, decided=False, gold_row_count=3, predicted_row_count=3, reason="it took long")
    predicted = _ran(OTHER, _ROWS[::-1])
    return _case("an undecided comparison", "ran", golds=_gold_alone(), predicted=predicted, comparison=comparison)
