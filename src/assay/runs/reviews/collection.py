"""All reviews of a question set, by their cases."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import msgspec

from assay.errors import UsageError
from assay.model import Agreement, Case, Fingerprint
from assay.model.verdicts.review import Review
from assay.runs.reviews.agreement import agreement
from assay.runs.reviews.deciding import NOTHING, Decided, Settle, decided
from assay.runs.reviews.file import in_force, read_lines

_NAMED_RULES = ("latest", "majority")


class Reviews:
    """The reviews in a file next to a question set, and the rule that settles them if people disagree."""

    def __init__(
        self,
        every: Iterable[Review],
        *,
        path: Path | None = None,
        settle: Settle = "latest",
        lines: Mapping[str, int] | None = None,
        note: str = "",
    ) -> None:
        """Raises UsageError if ``settle`` is neither a rule nor the name of a reviewer."""
        self.every: tuple[Review, ...] = tuple(every)
        """All lines of the file, in its order."""
        self.path = path
        self.settle = settle
        self.lines: Mapping[str, int] = lines or {}
        """The number of each review's line in the file."""
        self.note = note
        """What was ignored in the file: its last line, if it was cut off while it was written."""
        names = sorted({review.reviewer for review in self.every})
        if settle not in (*_NAMED_RULES, *names):
            known = f": {', '.join(names)}" if names else ""
            raise UsageError(f"settle is {settle!r}: write latest, majority, or the name of a reviewer{known}")

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, settle: Settle = "latest") -> Reviews:
        """The reviews of a file. Raises InputError, naming the line, for one that is damaged."""
        numbered, note = read_lines(Path(path))
        lines = {review.id: number for number, review in numbered}
        return cls((review for _, review in numbered), path=Path(path), settle=settle, lines=lines, note=note)

    @cached_property
    def in_force(self) -> tuple[Review, ...]:
        """The reviews that were not taken back, in the file's order."""
        return tuple(in_force(self.every))

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """A hash of the reviews and of the rule that settles them."""
        content = msgspec.json.encode([self.every, self.settle])
        name = "reviews in memory" if self.path is None else self.path.name
        return Fingerprint(name=name, digest=blake2b(content, digest_size=16).hexdigest())

    @cached_property
    def by_case(self) -> Mapping[str, Sequence[Review]]:
        """The reviews in force, by the id of their case."""
        found: defaultdict[str, list[Review]] = defaultdict(list)
        for review in self.in_force:
            found[review.case_id].append(review)
        return dict(found)

    def of(self, case_id: str) -> Sequence[Review]:
        """The reviews of one case that were not taken back, in the file's order."""
        return self.by_case.get(case_id, ())

    def decided(self, case: Case, *, database_hash: str = "", dialect: str = "") -> Decided:
        """What is decided about a case; see `assay.runs.reviews.deciding`."""
        reviews = self.of(case.id)
        if not reviews:
            return NOTHING
        return decided(case, reviews, database_hash=database_hash, settle=self.settle, dialect=dialect)

    def stale(self, cases: Iterable[Case]) -> tuple[tuple[Review, str], ...]:
        """The reviews whose question or gold query has changed, each with what changed."""
        return tuple(pair for case in cases for pair in self.decided(case).stale)

    def unknown(self, case_ids: Iterable[str]) -> tuple[Review, ...]:
        """The reviews of cases that are not among these."""
        known = set(case_ids)
        return tuple(review for review in self.in_force if review.case_id not in known)

    def agreement(self, case_ids: Collection[str] | None = None, *, dialect: str = "") -> Agreement:
        """How far the reviewers agree about these cases (None: about all), and the list of their conflicts."""
        wanted = (review for review in self.in_force if case_ids is None or review.case_id in case_ids)
        return agreement(wanted, settle=self.settle, dialect=dialect)

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"of {self.path}"
        return f"<assay.Reviews {where}: {len(self.in_force)} in force, of {len(self.by_case)} cases>"
