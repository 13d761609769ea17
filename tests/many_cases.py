"""Many cases of one behaviour in one test, which tries them all and names each that fails."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest


def each(
    names: str | Sequence[str], values: Iterable[Any], *, ids: Callable[[Any], Any] | Iterable[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `pytest.mark.parametrize`, but as one test: pytest's own work for a test takes longer than many a case.

    All cases run, also after one has failed. The failures are raised together, each with a note that names its case:

        @each(("text", "number"), [("1", 1), ("one", 1)])
        def test_a_number_is_read(text, number): ...

    Each case has a `tmp_path`, a `monkeypatch` and a `capsys` of its own. All other fixtures are the same for all
    cases: a test with a server or a file of its own per case stays parametrized.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    alone = isinstance(names, str) and len(arguments) == 1
    sets = [value if _is_param(value) else pytest.param(*((value,) if alone else value)) for value in values]
    ids = ids if ids is None or callable(ids) else list(ids)
    cases = [_case(case, arguments, ids, number) for number, case in enumerate(sets)]
    if not cases:
        raise ValueError(f"no cases for {', '.join(arguments)}")

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        if unknown := set(arguments) - set(signature.parameters):
            raise TypeError(f"{test.__name__} takes no {', '.join(sorted(unknown))}")

        @functools.wraps(test)
        def family(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            skipped: list[str] = []
            for number, (name, given) in enumerate(cases):
                try:
                    with _own(fixtures, number) as own:
                        test(**own, **given)
                except pytest.skip.Exception as reason:
                    skipped.append(f"{name}: {reason}")
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 # raised below
                    failure.add_note(f"case: {name}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(cases)} cases fail", failures)
            if skipped:  # the others have passed
                pytest.skip(f"{len(skipped)} of {len(cases)} cases: {'; '.join(skipped)}")

        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        family.cases = len(cases) * getattr(test, "cases", 1)  # type: ignore[attr-defined]
        family.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return family

    return decorate


@contextmanager
def _own(fixtures: Mapping[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """The fixtures for one case."""
    own = dict(fixtures)
    if "tmp_path" in own:
        own["tmp_path"] /= str(number)
        own["tmp_path"].mkdir()
    for name in {"capsys", "capfd", "capsysbinary", "capfdbinary"} & own.keys():
        own[name].readouterr()
    if "monkeypatch" not in own:
        yield own
        return
    with own["monkeypatch"].context() as own["monkeypatch"]:
        yield own


def _is_param(value: Any) -> bool:
    """Whether it was made by `pytest.param`."""
    return hasattr(value, "marks") and hasattr(value, "values")


def _case(
    case: Any, arguments: list[str], ids: Callable[[Any], Any] | list[str] | None, number: int
) -> tuple[str, dict[str, Any]]:
    """A case's name, and what the test is given."""
    if case.marks:
        raise TypeError(f"a case of a family has no marks of its own: {case}")
    if len(case.values) != len(arguments):
        raise TypeError(f"{len(case.values)} values for {', '.join(arguments)}: {case.values!r}")
    name = case.id
    if name is None and callable(ids):
        name = "-".join(_name(value) if (given := ids(value)) is None else str(given) for value in case.values)
    elif name is None and ids is not None:
        name = ids[number]
    return name or ", ".join(map(_name, case.values)), dict(zip(arguments, case.values, strict=True))


def _name(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
