"""Every name that a report may show is explained in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from assay.model import FailureKind, Flag, NearMissKind
from assay.reports.text import meanings
from many_cases import each


@each(
    ("said", "vocabulary"),
    [
        (meanings.NEAR_MISSES, NearMissKind),
        (meanings.FLAGS, Flag),
        (meanings.FAILURES, FailureKind),
        (meanings.SELECTION_FAILURES, FailureKind),
    ],
)
def test_every_name_has_a_meaning_of_its_own(said: Mapping[str, str], vocabulary: Any) -> None:
    assert said.keys() == set(get_args(vocabulary))
    assert len(set(said.values())) == len(said)
