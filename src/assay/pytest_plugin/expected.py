"""The requirements on the whole set: a threshold, and the wrong answers that are known already."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pytest
from msgspec import Struct

from assay.model import Case

MIN, MAX_UNSCORED = "assay_min", "assay_max_unscored"
BASELINE, KNOWN = "assay_baseline", "assay_known_failures"
UPDATE = "--assay-update-known-failures"
_NOTE = "# Cases whose answers are wrong, one id per line: a wrong answer to any other case fails its test."
WRONG, ABSENT = "wrong", "absent"
"""States of a case: a wrong answer to it is known; the baseline does not have it, or has it with other content."""
_JUDGED = ("correct", "incorrect")
_EXPECTED = pytest.StashKey["Expected"]()


class Baseline(Struct, frozen=True, kw_only=True):
    """What was correct and wrong in a run, by case."""

    folder: str
    wrong: Mapping[tuple[str, Hashable], bool]
    """By id and content."""
    renamed: Mapping[Hashable, bool]
    """By content, if only one case has it."""

    def was_wrong(self, case: Case) -> bool | None:
        """Whether the case was answered wrongly; None if the run does not have it with the same content."""
        from assay.runs.store.compared_cases import content_of

        content = content_of(case)
        return self.wrong.get((case.id, content), self.renamed.get(content))


class Expected(Struct, frozen=True, kw_only=True):
    """The requirements in pytest's ini file."""

    least: float | None = None
    """The minimum share of correct answers."""
    most_unscored: float | None = None
    """The maximum share of unscored cases; None if each of them fails its test."""
    known: frozenset[str] | None = None
    """Ids of cases, and node ids, whose answers may be wrong; None if there is no list."""
    baseline: Baseline | None = None
    list: Path | None = None
    """The file of ``known``."""
    file: Path | None = None
    """The list to update; None if it stays."""

    def state(self, case: Case, node_id: str) -> str | None:
        """``WRONG`` if a wrong answer to the case is known, ``ABSENT`` if the baseline does not have it."""
        listed = self.known is not None and (case.id in self.known or node_id in self.known)
        was = None if self.baseline is None else self.baseline.was_wrong(case)
        if listed or was:
            return WRONG
        return ABSENT if self.baseline is not None and was is None else None

    def allows(self, state: str | None) -> bool:
        """Whether a wrong answer to a case in that state does not fail its test."""
        if self.known is not None or self.baseline is not None:
            return state == WRONG
        return self.least is not None


def expected_of(config: pytest.Config) -> Expected:
    """The requirements, read once. Raises pytest.UsageError for what cannot be used."""
    found = config.stash.get(_EXPECTED, None)
    if found is None:
        found = config.stash[_EXPECTED] = _read(config)
    return found


def write_known(path: Path, outcomes: Mapping[str, str | None], ids: Mapping[str, str]) -> int:
    """Update the list, and return its number of known failures.

    ``outcomes`` and ``ids`` of cases are by node id. Correct cases are removed, wrong ones are added; lines of
    cases that were not evaluated stay, and so do comments. Raises pytest.UsageError if the list cannot be written.
    """
    times = Counter(ids.values())
    right = {name for node, one in outcomes.items() if one == "correct" for name in (node, ids[node])}
    over = right | {name for name, count in times.items() if count > 1}  # a node id tells which of these is meant
    waiting = {name for node, one in outcomes.items() if one not in _JUDGED for name in (node, ids[node])}
    lines = _lines(path) if path.exists() else []
    kept = [line for line in lines or [_NOTE] if not (told := _entries(line)) or told & waiting or not told & over]
    listed = {entry for line in kept for entry in _entries(line)}
    wrong = {
        node if times[ids[node]] > 1 else ids[node]
        for node, one in outcomes.items()
        if one == "incorrect" and listed.isdisjoint((node, ids[node]))
    }
    content = "".join(f"{line}\n" for line in (*kept, *sorted(wrong)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise pytest.UsageError(f"{path}: cannot write the known failures ({error.strerror})") from error
    return sum(1 for line in content.splitlines() if _entries(line))


def unknown_entries(path: Path, ids: Mapping[str, str]) -> list[str]:
    """The lines of the list that match no case; ``ids`` are by node id."""
    names = {*ids, *ids.values()}
    return [line.strip() for line in _lines(path) if (told := _entries(line)) and not told & names]


def _entries(line: str) -> set[str]:
    """The possible entries in a line of the list: all of it, or the text before a comment. None in a comment line."""
    text = line.strip()
    if not text or text.startswith("#"):
        return set()
    return {text, re.split(r"\s#", text, maxsplit=1)[0].strip()}


def _read(config: pytest.Config) -> Expected:
    folder = config.rootpath if config.inipath is None else config.inipath.parent
    least, most, baseline, listed = (
        str(config.getini(name) or "").strip() for name in (MIN, MAX_UNSCORED, BASELINE, KNOWN)
    )
    update = bool(config.getoption(UPDATE))
    if update and not listed:
        raise pytest.UsageError(f"{UPDATE} needs a file to write: set {KNOWN} in pytest's ini file")
    known = None
    if listed and not (update and not (folder / listed).exists()):
        known = frozenset(entry for line in _lines(folder / listed) for entry in _entries(line))
    return Expected(
        least=_share(MIN, least, "correct answers, for example 0.8 or 80%") if least else None,
        most_unscored=_share(MAX_UNSCORED, most, "unscored cases, for example 0.05 or 5%") if most else None,
        known=known if known is not None or not listed else frozenset(),
        baseline=_baseline(folder / baseline) if baseline else None,
        list=folder / listed if listed else None,
        file=folder / listed if update else None,
    )


def _share(name: str, text: str, of: str) -> float:
    number = text.removesuffix("%").strip()
    try:
        value = float(Decimal(number) / 100 if number != text else Decimal(number))
    except (InvalidOperation, OverflowError):
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise pytest.UsageError(f"{name} is {text!r}: use a share of {of}")
    return value


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise pytest.UsageError(f"{KNOWN} names {path}, which does not exist; {UPDATE} writes it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise pytest.UsageError(
            f"{KNOWN} names {path}, which cannot be read ({getattr(error, 'strerror', None) or error})"
        ) from None


def _baseline(folder: Path) -> Baseline:
    """A run as a baseline for the tests."""
    from assay.errors import AssayError
    from assay.runs.store.compared_cases import content_of
    from assay.runs.store.folder import load_run

    wrong: dict[tuple[str, Hashable], bool] = {}
    try:
        for item in load_run(folder).evidence:
            key = item.case.id, content_of(item.case)
            wrong[key] = wrong.get(key, False) or item.outcome == "incorrect"
    except AssayError as error:
        raise pytest.UsageError(f"{BASELINE}: {error}") from error
    contents = Counter(content for _, content in wrong)
    renamed = {content: one for (_, content), one in wrong.items() if contents[content] == 1}
    return Baseline(folder=str(folder), wrong=wrong, renamed=renamed)
