"""Values are msgspec Structs: frozen, equal by content, hashed, copied, pickled and written as JSON like any other."""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import assay
import assay.model
from assay.errors import UsageError
from assay.model import Case, CaseOptions, Execution, Failure, Result, Score, Selection, Term, Verdict
from many_cases import each

SOURCE = Path(assay.__file__).parent
VALUES = sorted(
    (
        value
        for value in (getattr(assay.model, name) for name in assay.model.__all__)
        if isinstance(value, type) and issubclass(value, msgspec.Struct)
    ),
    key=lambda cls: cls.__name__,
)
SAMPLES = (
    Case(id="q1", question="How many?", golds=("SELECT 1",), tags=("a",)),
    Execution(query="SELECT 1", status="rows", head=((1, None),), columns=("a", "b")),
    Failure(stage="predict", kind="timeout", blame="system", message="too slow"),
    Score(metric="match", value=1.0),
    Selection(),
    Verdict(outcome="correct", reason="equal", flags=frozenset({"vacuous"})),
)


@each("cls", VALUES, ids=lambda cls: cls.__name__)
def test_every_public_value_is_frozen_and_made_by_keywords(cls: type[Any]) -> None:
    assert cls.__struct_config__.frozen
    assert cls.__match_args__ == ()


def test_the_vocabulary_consists_of_structs() -> None:
    assert len(VALUES) > 80


def test_no_module_defines_a_dataclass() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    named = [path for path, text in texts.items() if "dataclasses" in text]
    found = [
        str(path.relative_to(SOURCE))
        for path in named
        for node in ast.walk(ast.parse(texts[path]))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and "dataclasses" in (getattr(node, "module", None), *(alias.name for alias in node.names))
    ]
    assert found == []


@each("value", SAMPLES, ids=lambda value: type(value).__name__)
def test_a_value_is_frozen_equal_hashed_copied_and_pickled(value: Any) -> None:
    name = type(value).__struct_fields__[0]
    with pytest.raises(AttributeError):
        setattr(value, name, getattr(value, name))
    with pytest.raises(AttributeError):
        delattr(value, name)
    assert len({value, copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))}) == 1
    assert replace(value) == value
    assert repr(value).startswith(f"{type(value).__name__}({name}=")


def test_a_value_decodes_from_its_own_json() -> None:
    case = SAMPLES[0]
    assert msgspec.json.decode(msgspec.json.encode(case), type=Case) == case
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(case), type=Case) == case


@pytest.mark.parametrize("wrong", [{}, {"id": "1"}, {"id": "1", "question": "?", "unknown": 1}])
def test_missing_and_unknown_arguments_are_type_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Case(**wrong)
    with pytest.raises(TypeError):
        Case("1", "?")  # type: ignore[misc]


def test_a_value_checks_its_own_fields() -> None:
    with pytest.raises(UsageError):
        Score(metric="match", value=float("nan"))
    with pytest.raises(UsageError):
        replace(Score(metric="match", value=1.0), value=float("inf"))


def test_a_default_that_can_change_is_created_for_each_value() -> None:
    assert Case(id="1", question="?").options == CaseOptions()


def test_a_class_pattern_matches_by_attribute() -> None:
    match SAMPLES[2]:
        case Failure(blame="system", kind=kind):
            assert kind == "timeout"
        case _:
            pytest.fail("the pattern did not match")


def test_equality_holds_between_values_of_one_class_only() -> None:
    assert Term(id="a") != Selection()
    assert Result.of([(1,)]) == Result.of([(1,)])
