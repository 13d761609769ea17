"""A system: answer with the query of the most similar question that is known. The floor that a model must beat."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from assay import Case, Failure, InputError, Prediction
from assay.systems.options import SystemOptions


class NearestSystem:
    """``nearest:FILE``: a file of JSON Lines with ``question`` and ``sql``.

    The very question that is asked does not count: on its own question set it never copies gold.
    """

    name = "nearest"

    def __init__(self, known: list[tuple[str, frozenset[str], str]], described: str) -> None:
        self._known = known
        self._described = described

    @classmethod
    def open(cls, url: str, options: SystemOptions) -> NearestSystem:
        """Read the examples. Raises InputError, with the place, where they cannot be used: then no run begins."""
        path = Path(url.partition(":")[2])
        try:
            content = path.read_bytes()
            lines = content.decode("utf-8-sig").splitlines()
        except (OSError, ValueError) as error:
            raise InputError(f"{url}: {path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        known = []
        for number, line in enumerate(lines, 1):
            try:
                example = json.loads(line)
                known.append((example["question"].strip(), _words(example["question"]), example["sql"].strip()))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                wanted = 'write {"question": "…", "sql": "…"}'
                raise InputError(f"{path}, line {number}: {line[:60]!r} is no example: {wanted}") from None
        if not known:
            raise InputError(f"{path} holds no example: write one a line")
        digest = hashlib.blake2b(content, digest_size=6).hexdigest()
        return cls(known, f"nearest:{path} ({len(known)} examples, {digest})")

    def describe(self) -> str:
        """Which examples: a run is resumed only where this is the same."""
        return self._described

    def answer(self, case: Case) -> Prediction:
        """The query of the nearest example. Several threads call it at once: it changes nothing."""
        asked, words = case.question.strip(), _words(case.question)
        near = [(_overlap(words, of), sql) for question, of, sql in self._known if question != asked]
        likeness, sql = max(near, key=lambda one: one[0], default=(0.0, ""))
        if not likeness:
            why = "no example shares a word with the question"
            failure = Failure(stage="ask", kind="unanswered", blame="system", message=why)
            return Prediction(case_id=case.id, failure=failure)
        return Prediction(case_id=case.id, query=sql, confidence=likeness)

    def close(self) -> None:
        """There is nothing to release."""


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)
