"""Several queries on one dataset are a union of series, whatever they come to dimension by dimension."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sdmx.built import query_of, span, structure_of, union_of

from assay.model import Selection, SelectionScore, SelectionSettings
from assay.sdmx import key_sets as cubes
from assay.sdmx.answers.keys import cubes_of
from assay.sdmx.scoring import score_selection
from assay.sdmx.structures.identifiers import ArtefactId
from assay.sdmx.structures.known import CodeList, Structures

LISTS = {"AREA": ("NO", "SE", "DK"), "ITEM": ("CPI", "PPI"), "FREQ": ("A", "M")}
KNOWN = Structures([structure_of("X:DATA(1.0)", **LISTS)])


def union(*queries: dict[str, Any], dataset: str = "X:DATA") -> Selection:
    """Queries whose ``time`` is a first and a last year."""
    timed = [query | {"time": [span(*query["time"])]} if "time" in query else query for query in queries]
    return Selection(datasets=tuple(query_of(dataset, **query) for query in timed))


def score(selected: Selection, *targets: Selection, known: Structures | None = None, **more: object) -> SelectionScore:
    return score_selection(selected, targets, structures=known, settings=SelectionSettings(**more))  # type: ignore[arg-type]


WANTED = union({"AREA": ["NO"], "ITEM": ["CPI", "PPI"]})


def test_a_query_that_does_not_restrict_a_dimension_selects_all_of_it() -> None:
    result = score(union({"AREA": ["NO"], "ITEM": ["CPI"]}, {"ITEM": ["PPI"]}), WANTED, known=KNOWN)
    assert not result.exact
    (area,) = (one for one in result.dimensions if one.dimension == "AREA")
    assert (area.recall, area.counts) == (1.0, (1, 2, 0))
    assert (result.series_recall, result.series_precision) == (1.0, 2 / 4)


def test_queries_that_have_every_code_and_not_every_series_are_not_exact() -> None:
    target = union({"AREA": ["NO", "SE"], "ITEM": ["CPI", "PPI"]})
    result = score(union({"AREA": ["NO"], "ITEM": ["CPI"]}, {"AREA": ["SE"], "ITEM": ["PPI"]}), target)
    assert (result.macro_recall, result.macro_precision) == (1.0, 1.0)
    assert (result.series_recall, result.series_precision) == (0.5, 1.0)
    assert not result.exact
    assert result.missing_series in ("AREA=NO, ITEM=PPI", "AREA=SE, ITEM=CPI")
    assert result.extra_series is None


@pytest.mark.parametrize(
    "queries",
    [
        [{"AREA": ["NO"], "ITEM": ["CPI"]}, {"AREA": ["NO"], "ITEM": ["PPI"]}],
        [{"AREA": ["NO"], "ITEM": ["PPI", "CPI"]}, {"AREA": ["NO"], "ITEM": ["PPI"]}],
        [{"AREA": ["NO"], "ITEM": ["CPI"]}] * 2 + [{"AREA": ["NO"], "ITEM": ["PPI"]}],
    ],
)
def test_the_same_series_in_other_queries_are_exact(queries: list[dict[str, object]]) -> None:
    for known in (None, KNOWN):
        assert score(union(*queries), WANTED, known=known).exact
        assert score(WANTED, union(*queries), known=known).exact


def test_periods_belong_to_their_query() -> None:
    target = union({"ITEM": ["CPI"], "time": (2015, 2017)}, {"ITEM": ["PPI"], "time": (2018, 2020)})
    swapped = union({"ITEM": ["CPI"], "time": (2018, 2020)}, {"ITEM": ["PPI"], "time": (2015, 2017)})
    assert score(target, target).exact
    result = score(swapped, target)
    assert (result.macro_f1, result.time_range, result.series_precision, result.exact) == (1.0, 1.0, 1.0, False)
    assert result.missing_series in ("ITEM=CPI, from 2015-01-01", "ITEM=PPI, from 2018-01-01")
    pieces = union(*({"ITEM": [item], "time": (year, year)} for item in ("CPI", "PPI") for year in range(2015, 2018)))
    assert score(pieces, union({"ITEM": ["CPI", "PPI"], "time": (2015, 2017)})).exact


def test_a_query_without_a_period_is_over_all_of_time() -> None:
    target = union({"ITEM": ["CPI", "PPI"], "time": (2015, 2017)})
    result = score(union({"ITEM": ["CPI"], "time": (2015, 2017)}, {"ITEM": ["PPI"]}), target)
    assert ([one.state for one in result.time], result.exact) == (["missing"], False)
    assert score(union({"ITEM": ["CPI"], "time": (1, 2)}, {"ITEM": ["PPI"]}), union({"ITEM": ["CPI", "PPI"]})).exact


def test_a_query_over_a_range_that_ends_before_it_starts_adds_nothing() -> None:
    assert score(union({"ITEM": ["CPI"]}, {"AREA": ["NO"], "time": (2020, 2015)}), union({"ITEM": ["CPI"]})).exact


def test_where_all_ranges_end_before_they_start_every_series_counts() -> None:
    """A lone such query has its series, so that what is wrong is told dimension by dimension; so have several."""
    target = union({"ITEM": ["CPI", "PPI"], "time": (2015, 2020)})
    backwards = [{"ITEM": [item], "time": (2020, 2015)} for item in ("CPI", "PPI")]
    for queries in (backwards[:1], backwards):
        result = score(union(*queries), target)
        assert (result.exact, result.series_precision, result.series_recall) == (False, 1.0, len(queries) / 2)


def test_names_of_a_dataset_that_mean_the_same_are_one_union() -> None:
    both = union_of(union({"ITEM": ["CPI"]}, dataset="DATA"), union({"ITEM": ["PPI"]}, dataset="X:DATA(1.0)"))
    whole = union({"ITEM": ["CPI", "PPI"]})
    assert score(both, whole).exact
    assert score(whole, both).exact


def test_series_are_counted_over_all_datasets() -> None:
    first = union({"AREA": ["NO", "SE"], "ITEM": ["CPI"]})
    result = score(
        union({"AREA": ["NO"], "ITEM": ["CPI"]}), union_of(first, union({"K": ["1", "2", "3"]}, dataset="X:OTHER"))
    )
    assert (result.series_precision, result.series_recall) == (1.0, 1 / 5)
    assert score(Selection(), Selection()).series_recall == 1.0
    assert score(union({}), Selection()).series_precision == 0.0


def test_a_code_that_counts_as_its_children_does_so_in_each_query() -> None:
    codes = CodeList(id=ArtefactId(id="C"), names=dict.fromkeys(("N", "NO", "SE")), children={"N": (("NO", "SE"),)})
    known = Structures([structure_of("X:DATA", AREA=codes, ITEM=None)])
    target = union({"AREA": ["NO", "SE"], "ITEM": ["CPI", "PPI"]})
    parents = union({"AREA": ["N"], "ITEM": ["CPI"]}, {"AREA": ["N"], "ITEM": ["PPI"]})
    assert score(parents, target, known=known, count_hierarchy=True).exact
    assert not score(parents, target, known=known).exact
    part = union({"AREA": ["N"], "ITEM": ["CPI"]}, {"AREA": ["NO"], "ITEM": ["PPI"]})
    assert not score(part, target, known=known, count_hierarchy=True).exact


def test_a_million_million_series_are_compared_without_writing_them_out() -> None:
    names = [f"D{number}" for number in range(6)]
    codes = [str(number) for number in range(100)]
    whole = union(dict.fromkeys(names, codes))
    halves = [codes[:50], codes[50:]]
    parts = [dict(zip(names, (*cut, *[codes] * 3), strict=True)) for cut in product(halves, repeat=3)]
    assert score(union(*parts), whole).exact
    result = score(union(*parts[:-1]), whole)
    assert (result.macro_recall, result.series_recall, result.exact) == (1.0, 7 / 8, False)
    point = {name: ["7"] for name in names}
    assert score(union(*parts, point), whole).exact


def test_too_intricate_a_target_is_undecided_and_an_answer_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cubes, "MOST_STEPS", 5)
    whole = union({"AREA": LISTS["AREA"], "ITEM": LISTS["ITEM"]})
    pieces = [{"AREA": [area], "ITEM": LISTS["ITEM"]} for area in LISTS["AREA"]]
    told = score(whole, union(*pieces))
    assert (told.exact, told.undecided, told.series_recall) == (False, True, None)
    answer = score(union(*pieces), whole)
    assert (answer.exact, answer.undecided, answer.missing_series) == (False, False, None)
    same = score(union(*pieces), union(*reversed(pieces)))
    assert (same.exact, same.undecided) == (True, False)
    crossed = union({"AREA": ["NO", "DK"], "ITEM": ["CPI"]}, {"AREA": ["SE"], "ITEM": ["PPI"]})
    differing = score(crossed, whole)
    assert (differing.exact, differing.undecided) == (False, False)


# Against a reference that writes out every key


def codes_of(name: str, *, invented: bool) -> st.SearchStrategy[object]:
    known = st.sampled_from([*LISTS[name], "ODD"] if invented else LISTS[name])
    some = st.lists(known, min_size=1, max_size=3, unique=True)
    return st.one_of(some, some, st.just("*"), st.just([]))


def queries(*, invented: bool = False, timed: bool = True) -> st.SearchStrategy[dict[str, object]]:
    year = st.none() | st.integers(2015, 2017)
    optional = {name: codes_of(name, invented=invented) for name in LISTS}
    return st.fixed_dictionaries({}, optional={**optional, "time": st.tuples(year, year)} if timed else optional)  # type: ignore[arg-type]


YEARS = (2014, 2015, 2016, 2017, 2018)


def years_of(query: dict[str, object]) -> list[int]:
    start, end = query.get("time") or (None, None)  # type: ignore[misc]
    return [year for year in YEARS if (start is None or year >= start) and (end is None or year <= end)]


def written_out(several: Iterable[dict[str, object]], every: dict[str, tuple[str, ...]]) -> set[tuple[object, ...]]:
    found: set[tuple[object, ...]] = set()
    for query in several:
        taken = [every[name] if query.get(name, "*") in ("*", []) else query[name] for name in every]
        found |= set(product(*taken, years_of(query)))  # type: ignore[arg-type]
    return found


unions = st.lists(queries(), min_size=1, max_size=4)


@settings(deadline=None, max_examples=400)
@given(unions, unions, st.booleans())
def test_exact_is_equality_of_all_keys_written_out(
    target: list[dict[str, object]], selected: list[dict[str, object]], with_structures: bool
) -> None:
    # What names no structure may have any other code, so one stands for those.
    every = LISTS if with_structures else {name: (*codes, "another") for name, codes in LISTS.items()}
    timed = any("time" in query for query in target)
    wanted, got = written_out(target, every), written_out(selected, every)
    result = score(union(*selected), union(*target), known=KNOWN if with_structures else None)
    if not wanted or not got:
        return  # a range without a day: nothing is to be selected, whatever the dimensions say
    if timed:
        assert result.exact == (wanted == got)
    # Time apart, queries without a day have no series either, unless they stand alone.
    alive = [[query for query in side if years_of(query)] for side in (target, selected)]
    untimed = [{key[:-1] for key in written_out([{**q, "time": (None, None)} for q in side], every)} for side in alive]
    if not timed and all(map(years_of, selected)):
        assert result.exact == (untimed[0] == untimed[1])
    if with_structures:
        both = len(untimed[0] & untimed[1])
        assert result.series_recall == pytest.approx(both / len(untimed[0]))
        assert result.series_precision == pytest.approx(both / len(untimed[1]))


@settings(deadline=None, max_examples=200)
@given(st.lists(queries(invented=True, timed=False), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_a_union_cut_and_shuffled_is_the_same(several: list[dict[str, object]], chance: object) -> None:
    pieces: list[dict[str, object]] = []
    for query in several:
        listed = [name for name, codes in query.items() if isinstance(codes, list) and len(codes) > 1]
        for code in query[listed[0]] if listed else [None]:  # type: ignore[attr-defined]
            pieces.append({**query, listed[0]: [code]} if listed else query)
    chance.shuffle(pieces)  # type: ignore[attr-defined]
    for known in (None, KNOWN):
        assert score(union(*pieces), union(*several), known=known).exact
        assert score(union(*several), union(*pieces), known=known).exact


@given(st.lists(st.fixed_dictionaries({name: st.sampled_from(codes) for name, codes in LISTS.items()}), max_size=9))
def test_keys_are_the_queries_made_of_them(keys: list[dict[str, str]]) -> None:
    made = cubes_of({name: (code,) for name, code in key.items()} for key in keys)
    found = {tuple(one) for cube in made for one in product(*(cube[name] or () for name in LISTS))}
    assert found == {tuple(key[name] for name in LISTS) for key in keys}
    assert len(made) <= len({json.dumps(key) for key in keys})


def test_thousands_of_keys_beside_all_of_them_are_counted() -> None:
    names, codes = [f"D{number}" for number in range(5)], [str(number) for number in range(50)]
    chance = Random(1)
    keys = {tuple(chance.choices(codes, k=len(names))) for _ in range(3000)}
    points = [{name: frozenset((code,)) for name, code in zip(names, key, strict=True)} for key in sorted(keys)]
    whole = [dict.fromkeys(names, frozenset(codes))]
    for one, other in ((points, whole), (points, [*whole, *points])):
        found = cubes.count_keys(one, other, {})
        assert (found.target, found.selected, found.both) == (len(keys), 50**5, len(keys))
        assert found.missing is None
        assert found.extra is not None
        assert tuple(found.extra[name] for name in names) not in keys
