"""Values that are made quickly are frozen dataclasses like any other."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, make_dataclass, replace
from importlib import import_module
from typing import Any

import msgspec
import pytest

from assay.errors import UsageError
from assay.model import Case, CaseOptions, Score
from assay.model.making import quickly_made

MODULES = (
    "assay.model",
    "assay.comparison.answer",
    "assay.runs.plan",
    "assay.runs.scoring_worker",
    "assay.scoring.queries.gold_answers",
)
QUICK = sorted(
    {
        found
        for name in MODULES
        for found in (getattr(import_module(name), each) for each in dir(import_module(name)))
        if isinstance(found, type) and "_thawed" in getattr(found.__init__, "__globals__", ())
    },
    key=lambda cls: cls.__qualname__,
)


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Has a field without a default, one with, and a check."""

    x: int
    y: int = 2

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError(self.x)


@pytest.mark.parametrize("cls", QUICK, ids=lambda cls: cls.__qualname__)
def test_its_constructor_takes_the_fields_as_dataclasses_has_them(cls: type[Any]) -> None:
    said: list[tuple[str, Any, Any]] = [
        (each.name, each.type, field(default=each.default, default_factory=each.default_factory))  # type: ignore[call-overload]
        for each in fields(cls)
    ]
    plain = make_dataclass(cls.__name__, said, frozen=True, kw_only=True)
    assert str(inspect.signature(cls)) == str(inspect.signature(plain))


def test_there_are_such_values() -> None:
    assert {"Evidence", "Execution", "Comparison", "Score", "Work"} <= {cls.__name__ for cls in QUICK}


def test_it_is_frozen_equal_hashed_copied_and_sent_as_any() -> None:
    point = Point(x=1)
    assert type(point) is Point
    assert (point.x, point.y) == (1, 2)
    with pytest.raises(FrozenInstanceError):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.y
    assert point == Point(x=1, y=2) != Point(x=1, y=3)
    assert len({point, Point(x=1), copy.deepcopy(point), pickle.loads(pickle.dumps(point))}) == 1
    assert replace(point, y=5) == Point(x=1, y=5)
    assert msgspec.json.decode(msgspec.json.encode(point), type=Point) == point


@pytest.mark.parametrize("wrong", [{}, {"y": 1}, {"x": 1, "z": 1}])
def test_what_it_cannot_be_made_of_is_an_error(wrong: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="__init__"):
        Point(**wrong)
    with pytest.raises(TypeError):
        Point(1)  # type: ignore[misc]


def test_what_it_checks_of_itself_is_checked() -> None:
    with pytest.raises(ValueError, match="-1"):
        Point(x=-1)
    with pytest.raises(UsageError):
        Score(metric="match", value=float("nan"))


def test_a_default_that_is_made_anew_is_made_anew_each_time() -> None:
    @quickly_made
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Holder:
        values: list[int] = field(default_factory=list)

    one, other = Holder(), Holder()
    assert one.values == other.values == []
    assert one.values is not other.values
    assert Case(id="1", question="?").options == CaseOptions()
