"""What the checks of all kinds share: how one is run, and how a known gap is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, Literal, Protocol, TypeVar

from msgspec import Struct


class Gap(Struct, frozen=True, kw_only=True):
    """A check that an implementation is known not to pass."""

    whose: Literal["ours", "upstream", "never"]
    """Who can close it: ``ours`` the implementation's author, ``upstream`` what it is built on, ``never``: it stays."""
    why: str
    shows: str = ""
    """A part of the failure's message: a check that fails with another one is not this gap. Empty: any message."""


class HasGaps(Protocol):
    """What is checked, with the gaps that are known of it, by the names of their checks."""

    @property
    def gaps(self) -> Mapping[str, Gap]: ...


A = TypeVar("A", bound=HasGaps)


class Check(Struct, Generic[A], frozen=True):
    """One thing that an implementation must hold. ``str()`` is its name."""

    name: str
    run: Callable[[A], None]

    def __str__(self) -> str:
        return self.name


def checks(*functions: Callable[[A], None]) -> tuple[Check[A], ...]:
    """A check for each function, by its name."""
    return tuple(Check(function.__name__, function) for function in functions)


def conform(adapter: A, check: Check[A]) -> Gap | None:
    """Run one check. None: it passes. A Gap: it fails as the gap says.

    Raises AssertionError if it fails without a gap or in another way than the gap says, or passes although a gap
    is named.
    """
    gap = adapter.gaps.get(check.name)
    try:
        check.run(adapter)
    except AssertionError as error:
        if gap is None or gap.shows not in str(error):
            raise
        return gap
    assert gap is None, f"{check.name} holds: the gap is closed ({gap.why}); take it off the list"
    return None


T = TypeVar("T")


def same(found: object, expected: object, *, where: str = "") -> None:
    """Assert equality with a message: outside pytest's own files a bare assertion would give none."""
    assert found == expected, f"{where + ': ' if where else ''}found {found!r} in place of {expected!r}"


def without_error(
    what: str, call: Callable[[], T], *, allowed: type[Exception] | tuple[type[Exception], ...] = ()
) -> T:
    """What a call gives; an exception other than those that are allowed fails the check."""
    try:
        return call()
    except allowed:
        raise
    except Exception as error:  # whatever an implementation raises is what the check is to tell
        raise AssertionError(f"{what}: raised {type(error).__name__}: {error}") from error


def one_line(what: str, text: object, secrets: tuple[str, ...] = ()) -> None:
    """Assert that a message is one line that says something, without secrets."""
    assert isinstance(text, str), f"{what}: {text!r} is not a text"
    assert text.strip(), f"{what}: the text is blank"
    assert "\n" not in text, f"{what}: {text!r} has several lines, and reports show one"
    assert not any(secret in text for secret in secrets), f"{what}: the text shows a secret"


def named(kind: object) -> str:
    """The implementation's name, which must be one that can be typed."""
    name = getattr(kind, "name", None)
    one_line("its name", name)
    assert isinstance(name, str)
    assert not set(name) & set(" ,=:/\\'\""), f"its name: {name!r} cannot be used in a list of names"
    return name
