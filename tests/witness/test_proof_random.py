"""Whatever is proved of random pairs survives random databases: one counterexample is a wrong proof."""

from __future__ import annotations

import pytest

from assay.model import Proof
from assay.witness.proof import prove

from .proof_pairs import SCHEMA
from .random_databases import differences, schema_of
from .random_queries import random_pair

SCHEMAS = {dialect: schema_of(SCHEMA, dialect) for dialect in ("sqlite", "duckdb")}


def proved_wrongly(dialect: str, seeds: range, databases: range) -> tuple[int, list[str]]:
    """How many pairs were proved, and which of them some database parts."""
    proved, wrong = 0, []
    for seed in seeds:
        one, other = random_pair(seed)
        if one == other:
            continue
        found = prove(one, other, SCHEMAS[dialect], dialect=dialect, ordered=False)
        if isinstance(found, Proof):
            proved += 1
            wrong += [
                f"{one} | {other} | {text}"
                for text in differences(dialect, SCHEMA, one, other, SCHEMAS["sqlite"], databases)
            ]
    return proved, wrong


@pytest.mark.parametrize("start", [0, 900])
def test_no_random_pair_is_proved_wrongly(start: int) -> None:
    proved, wrong = proved_wrongly("sqlite", range(start, start + 120), range(30))
    assert wrong == []
    assert proved > 2


@pytest.mark.parametrize(("dialect", "databases"), [("sqlite", 40), ("duckdb", 5)])
def test_no_random_pair_of_a_thousand_is_proved_wrongly(dialect: str, databases: int) -> None:
    proved, wrong = proved_wrongly(dialect, range(10_000, 11_000), range(databases))
    assert wrong == []
    assert proved > 25
