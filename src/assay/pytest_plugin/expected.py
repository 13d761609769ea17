"""What is demanded of the whole set: a threshold, and which wrong answers are known already."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pytest

MIN, BASELINE, KNOWN = "assay_min", "assay_baseline", "assay_known_failures"
UPDATE = "--assay-update-known-failures"
_NOTE = "# Cases whose answers are wrong, one id a line: a wrong answer to any other case fails its test.\n"
_EXPECTED = pytest.StashKey["Expected"]()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The demands of pytest's ini file."""

    least: float | None = None
    """The least share of right answers."""
    known: frozenset[str] | None = None
    """Ids of cases, and node ids, whose answers may be wrong; None: neither a list nor a baseline is given."""
    file: Path | None = None
    """The list, to be written anew; None: it stays."""

    def allows(self, case_id: str, node_id: str) -> bool:
        """Whether a wrong answer to the case does not fail its test."""
        if self.known is not None:
            return case_id in self.known or node_id in self.known
        return self.least is not None

    def knows(self, case_id: str, node_id: str) -> bool:
        """Whether a wrong answer to the case is known."""
        return self.known is not None and (case_id in self.known or node_id in self.known)


def expected_of(config: pytest.Config) -> Expected:
    """The demands, read once. Raises pytest.UsageError for what cannot be used."""
    found = config.stash.get(_EXPECTED, None)
    if found is None:
        found = config.stash[_EXPECTED] = _read(config)
    return found


def write_known(path: Path, case_ids: list[str]) -> None:
    """Write the list anew. Raises pytest.UsageError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_NOTE + "".join(f"{one}\n" for one in case_ids), encoding="utf-8")
    except OSError as error:
        raise pytest.UsageError(f"{path}: the known failures cannot be written ({error.strerror})") from error


def _read(config: pytest.Config) -> Expected:
    folder = config.rootpath if config.inipath is None else config.inipath.parent
    least, baseline, listed = (str(config.getini(name) or "").strip() for name in (MIN, BASELINE, KNOWN))
    update = bool(config.getoption(UPDATE))
    if update and not listed:
        raise pytest.UsageError(f"{UPDATE} writes the file that {KNOWN} names: name one in pytest's ini file")
    known: set[str] | None = None
    if listed:
        known = _listed(folder / listed, absent=update)
    if baseline:
        known = (known or set()) | _wrong_in(folder / baseline)
    return Expected(
        least=_share(least) if least else None,
        known=None if known is None else frozenset(known),
        file=folder / listed if update else None,
    )


def _share(text: str) -> float:
    number = text.removesuffix("%").strip()
    try:
        value = float(Decimal(number) / 100 if number != text else Decimal(number))
    except (InvalidOperation, OverflowError):
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise pytest.UsageError(f"{MIN} is {text!r}: write a share of right answers, 0.8 or 80%")
    return value


def _listed(path: Path, *, absent: bool) -> set[str]:
    """The lines of the list without comments; ``absent``: whether there need not be one yet."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if absent:
            return set()
        raise pytest.UsageError(f"{KNOWN} names {path}: there is no such file; {UPDATE} writes it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise pytest.UsageError(
            f"{KNOWN} names {path}, which cannot be read ({getattr(error, 'strerror', None) or error})"
        ) from None
    return {line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")}


def _wrong_in(folder: Path) -> set[str]:
    """The cases whose answers were wrong in a run."""
    from assay.errors import AssayError
    from assay.runs.store.folder import load_run

    try:
        return {item.case.id for item in load_run(folder).evidence if item.outcome == "incorrect"}
    except AssayError as error:
        raise pytest.UsageError(f"{BASELINE}: {error}") from error
