"""Which causes signs point to: what stands alone, what a repair proves, how many are named."""

from __future__ import annotations

from itertools import combinations

from assay.diagnosis import CAUSES
from assay.diagnosis.naming import ALWAYS, MOST_NAMED, READINGS, cause_model, default_cause, name_causes
from assay.diagnosis.signs import Sign
from assay.diagnosis.traits import seen_traits
from assay.sql.differences import Difference, QueryParts, SchemaNames
from many_cases import each

SIGNS = sorted(READINGS)
TRAITS = sorted(seen_traits([], QueryParts(selects=()), QueryParts(selects=()), SchemaNames()))


def sign(name: str) -> Sign:
    return Sign(name=name, difference=Difference(kind="output_changed", clause="SELECT", gold_text=name))


@each("name", SIGNS)
def test_a_difference_that_stands_alone_is_named_by_what_it_is(name: str) -> None:
    for held in ((), TRAITS, TRAITS[::2]):
        assert name_causes([sign(name)], held)[0].kind == default_cause(name)


def test_few_causes_are_named_each_once_and_the_surest_first() -> None:
    for names in combinations(SIGNS[::3], 3):
        named = name_causes([sign(name) for name in names], TRAITS[::4])
        assert 1 <= len(named) <= MOST_NAMED
        assert len({one.kind for one in named}) == len(named)
        likely = [one.probability for one in named]
        assert likely == sorted(likely, reverse=True)
        assert all(0 < one.probability < 1 for one in named)


def test_the_primary_cause_is_one_that_the_repaired_clause_points_to() -> None:
    for first, second in combinations(SIGNS[::4], 2):
        found = [sign(first), sign(second)]
        for place in (0, 1):
            primary = name_causes(found, proved=frozenset({place}))[0]
            assert primary.sign is found[place]
            assert (
                primary.kind in READINGS[found[place].name]
                or cause_model().points_to(primary.kind, primary.sign.name) > 1
            )


def test_every_named_cause_rests_on_a_difference_that_speaks_for_it() -> None:
    for names in combinations(SIGNS[::3], 2):
        for one in name_causes([sign(name) for name in names], TRAITS):
            for_it = cause_model().points_to(one.kind, one.sign.name) > 0
            assert for_it or one.kind == default_cause(one.sign.name)


def test_what_was_learnt_speaks_of_known_causes_signs_and_traits() -> None:
    known = {ALWAYS, *SIGNS, *TRAITS}
    assert set(cause_model().weights) == {kind for readings in READINGS.values() for kind in readings} - {"other"}
    for kind, weights in cause_model().weights.items():
        assert kind in CAUSES
        assert set(weights) <= known, kind
