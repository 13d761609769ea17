"""Make frozen dataclasses quickly, where a run makes hundreds of thousands of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)
_Value = TypeVar("_Value")


def quickly_made(cls: _Class) -> _Class:
    """A frozen, slotted dataclass of many fields, made in less than half the time. Stands above ``@dataclass``.

    It also gets ``__replace__``, which `remade` calls: several times as fast as `dataclasses.replace`.

    The constructor that `dataclasses` writes sets each field by a call of ``object.__setattr__``, which was a tenth of
    the time of judging a small case. This one has the same signature and sets the fields while the new instance is of
    a class with the same slots that is not frozen. The constructor returns the instance only once it is frozen. For
    two or three fields nothing is gained.
    """
    names = [field.name for field in fields(cls)]
    thawed = type(f"_Thawed{cls.__name__}", (), {"__slots__": tuple(cls.__dict__["__slots__"])})
    given = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    known: dict[str, Any] = {"_set": object.__setattr__, "_thawed": thawed, "_frozen": cls}
    known |= {f"_default_{name}": given[name].default for name in names}
    optional = inspect.Parameter.empty
    parameters = [name if given[name].default is optional else f"{name}=_default_{name}" for name in names]
    lines = [f"def __init__(self, *, {', '.join(parameters)}):", "_set(self, '__class__', _thawed)"]
    for field in fields(cls):
        value = field.name
        if field.default_factory is not MISSING:  # the signature's default is only a placeholder
            known[f"_make_{field.name}"] = field.default_factory
            value = f"_make_{field.name}() if {field.name} is _default_{field.name} else {field.name}"
        lines.append(f"self.{field.name} = {value}")
    lines += ["self.__class__ = _frozen", *(["self.__post_init__()"] if hasattr(cls, "__post_init__") else [])]
    held = ", ".join(f"'{name}': self.{name}" for name in names)
    again = ["def __replace__(self, /, **changes):", f"return _frozen(**{{{held}, **changes}})"]
    exec("\n ".join(lines) + "\n" + "\n ".join(again), known)
    cls.__replace__ = known["__replace__"]  # type: ignore[attr-defined]
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = dict(cls.__init__.__annotations__)  # type: ignore[misc]
    cls.__init__ = made  # type: ignore[misc]
    return cls


def remade(value: _Value, **changes: Any) -> _Value:
    """As `dataclasses.replace`, of a value whose class is `quickly_made`."""
    made: _Value = value.__replace__(**changes)  # type: ignore[attr-defined]
    return made
