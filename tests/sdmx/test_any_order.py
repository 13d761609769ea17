"""Queries, dimensions, values and periods are sets: no number and no list of terms depends on the order of any."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Literal, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.sdmx.built import query_of, structure_of

import assay
from assay.model import (
    Case,
    DatasetSelection,
    DimensionSelection,
    Selection,
    SelectionScore,
    SelectionSettings,
    Term,
    TimeRange,
    Turn,
)
from assay.scoring.selections.metrics import SELECTION_METRICS
from assay.sdmx.answers.draft import SelectionDraft
from assay.sdmx.scoring import score_selection
from assay.sdmx.structures.identifiers import ArtefactId
from assay.sdmx.structures.known import CodeList, Structures
from many_cases import each

AREAS = {"AM": "Americas", "NAM": "North America", "MEX": "Mexico", "USA": "United States", "CAN": "Canada"}
ITEMS = {"LP": "Population", "GDP": "gross domestic product", "OLD": None}
NAMES = [None, None, "Mexico", "Population", "Wrong", " Mexico ", "Canada"]


def _structures() -> Structures:
    children = {"NAM": (("MEX", "USA"), ("MEX", "USA", "CAN")), "AM": (("NAM",), ("MEX", "CAN"))}
    areas = CodeList(id=ArtefactId(id="CL_AREA"), names=AREAS, children=children)
    first, second, other = (structure_of(id_, AREA=areas, ITEM=ITEMS) for id_ in ("X:A(1.0)", "X:A(2.0)", "X:B(1.0)"))
    area, item = second.dimensions
    second = replace(second, dimensions=(replace(area, available=frozenset({"MEX", "USA"})), item))
    return Structures([first, second, other])


KNOWN = _structures()

terms = st.builds(Term, id=st.sampled_from([*AREAS, "ODD"]), name=st.sampled_from(NAMES))
dimensions = st.one_of(
    st.builds(
        lambda name, held: DimensionSelection(dimension=name, terms=tuple(dict.fromkeys(held))),
        st.sampled_from(["AREA", "ITEM", "FREQ"]),
        st.lists(terms, max_size=5),
    ),
    st.builds(DimensionSelection, dimension=st.sampled_from(["AREA", "ITEM"]), everything=st.just(True)),
)
years = st.none() | st.integers(2015, 2018).map(str)
times = st.none() | st.lists(st.builds(TimeRange, start=years, end=years), max_size=3).map(tuple)
queries = st.builds(
    lambda dataset, held, time: DatasetSelection(
        dataset=dataset, dimensions=tuple({one.dimension: one for one in held}.values()), time=time
    ),
    st.sampled_from(["X:A", "A", "X:A(1.0)", "X:A(2.0)", "X,A,1.0", "X:B", "Y:B", "B"]),
    st.lists(dimensions, max_size=3),
    times,
)
selections = st.lists(queries, max_size=4).map(lambda held: Selection(datasets=tuple(held)))

T = TypeVar("T")


def shuffled(given: Selection, chance: Random) -> Selection:
    """The same selection, with everything in it in another order."""

    def turned(held: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(chance.sample(held, len(held)))

    return Selection(
        datasets=turned(
            tuple(
                replace(
                    query,
                    dimensions=turned(tuple(replace(one, terms=turned(one.terms)) for one in query.dimensions)),
                    time=None if query.time is None else turned(query.time),
                )
                for query in given.datasets
            )
        )
    )


def told(score: SelectionScore) -> dict[str, object]:
    """All that a score says, as far as no order is meant."""
    found: dict[str, object] = {
        name: _as_set(getattr(score, name)) for name in score.__struct_fields__ if name not in ("dimensions", "time")
    }
    found["dimensions"] = {
        each.dimension: {name: _as_set(getattr(each, name)) for name in each.__struct_fields__}
        for each in score.dimensions
    }
    found["time"] = Counter(
        (one.dataset, one.state, one.share, *(None if side is None else frozenset(side) for side in _sides(one)))
        for one in score.time
    )
    return found


def _sides(one: object) -> tuple[tuple[TimeRange, ...] | None, ...]:
    return one.target, one.selected  # type: ignore[attr-defined]


def _as_set(value: object) -> object:
    return Counter(map(repr, value)) if isinstance(value, tuple) else value


@settings(deadline=None, max_examples=300)
@given(
    selections,
    selections,
    st.randoms(use_true_random=False),
    st.booleans(),
    st.sampled_from(["id", "id_and_name"]),
    st.booleans(),
)
def test_no_order_changes_a_score(
    answer: Selection,
    target: Selection,
    chance: Random,
    with_structures: bool,
    match_on: Literal["id", "id_and_name"],
    count_hierarchy: bool,
) -> None:
    known = KNOWN if with_structures else None
    given_settings = SelectionSettings(match_on=match_on, count_hierarchy=count_hierarchy)

    def scored(selected: Selection, *targets: Selection) -> SelectionScore:
        return score_selection(selected, targets, structures=known, settings=given_settings)

    def metrics(score: SelectionScore) -> dict[str, float | None]:
        return {one.name: one.value(score) for one in SELECTION_METRICS}

    accepted = (target, Selection(datasets=target.datasets[1:]), Selection(datasets=target.datasets[:1]))
    assert metrics(scored(answer, *accepted)) == metrics(scored(answer, *reversed(accepted)))
    plain = scored(answer, target)
    other = scored(shuffled(answer, chance), shuffled(target, chance))
    assert metrics(plain) == metrics(other)
    assert told(plain) == told(other)


def _grid(*cubes: tuple[str, str]) -> Selection:
    """One query for each pair of code lists, such as ``("MEX USA", "LP")``, in the dimensions AREA and ITEM."""
    return Selection(
        datasets=tuple(
            query_of(dataset, AREA=areas.split(), ITEM=items.split())
            for areas, items in cubes
            for dataset in ("X:A", "X:B")
        )
    )


@settings(deadline=None, max_examples=100)
@given(st.randoms(use_true_random=False), st.booleans())
def test_the_series_shown_as_an_example_does_not_depend_on_the_order(chance: Random, with_structures: bool) -> None:
    target = _grid(("MEX USA", "LP"), ("CAN NAM", "GDP"), ("AM MEX", "OLD"), ("USA", "OLD GDP"))
    answer = _grid(("MEX CAN", "LP"), ("USA NAM", "GDP"), ("AM USA", "OLD"), ("MEX", "OLD GDP"))
    known = KNOWN if with_structures else None
    plain = score_selection(answer, [target], structures=known)
    other = score_selection(shuffled(answer, chance), [shuffled(target, chance)], structures=known)
    assert plain.missing_series is not None
    assert plain.extra_series is not None
    assert (plain.missing_series, plain.extra_series) == (other.missing_series, other.extra_series)


def _terms(*pairs: tuple[str, str | None]) -> Selection:
    """One query for each term."""
    return Selection(datasets=tuple(query_of("X:A", ITEM=[Term(id=code, name=name)]) for code, name in pairs))


@each("reverse", [False, True])
@each(
    ("selected", "counts", "right"),
    [
        ([("LP", "Wrong"), ("LP", "Population")], (1, 1, 0), [("LP", "Population")]),
        ([("LP", "Wrong"), ("LP", "Worse")], (0, 2, 1), []),
        ([("LP", "Population"), ("LP", " Population")], (1, 0, 0), [("LP", "Population")]),
        ([("LP", None), ("LP", "Population")], (1, 0, 0), [("LP", "Population")]),
        ([("LP", None), ("LP", "Wrong")], (1, 1, 0), [("LP", "Population")]),
        ([("LP", "Wrong"), ("LP", "Population"), ("GDP", "a"), ("GDP", "b")], (1, 3, 0), [("LP", "Population")]),
    ],
)
def test_a_code_under_two_names_is_two_terms(
    selected: list[tuple[str, str | None]], counts: tuple[int, int, int], right: list[tuple[str, str]], reverse: bool
) -> None:
    answer = _terms(*(reversed(selected) if reverse else selected))
    for known in (None, KNOWN):
        score = score_selection(answer, [_terms(("LP", "Population"))], structures=known)
        (item,) = score.dimensions
        assert item.counts == counts
        assert [(term.id, term.name) for term in item.true_positives] == right
        assert score.exact is (counts[1:] == (0, 0))
        assert item.precision == (counts[0] / (counts[0] + counts[1]))
        by_code = score_selection(
            answer, [_terms(("LP", "Population"))], structures=known, settings=SelectionSettings(match_on="id")
        )
        assert by_code.dimensions[0].counts == (1, len({code for code, _ in selected}) - 1, 0)


def test_a_query_keeps_both_names_of_a_code() -> None:
    for names in (["Population", "Wrong"], ["Wrong", "Population"]):
        draft = SelectionDraft()
        for name in names:
            draft.dataset("X:A").add("ITEM", [Term(id="LP", name=name)])
        one = draft.dataset("X:A")
        for name in [*names, None]:
            one.add("ITEM", [Term(id="urn:sdmx:org.sdmx.infomodel.codelist.Code=X:CL_ITEM(1.0).LP", name=name)])
        finished = draft.finish()
        assert {term.name for query in finished.datasets for term in query.dimensions[0].terms} == set(names)
        score = score_selection(finished, [_terms(("LP", "Population"))])
        assert score.dimensions[0].counts == (1, 1, 0)


def test_reason_and_cause_of_a_second_name_say_the_name() -> None:
    for names in (["Population", "Wrong"], ["Wrong", "Population"]):
        answer = _terms(*(("LP", name) for name in names))
        target = _terms(("LP", "Population"))
        case = Case(id="1", question="", turns=(Turn(question="", targets=(target,)),))
        run = assay.evaluate_selections([case], {"1": answer})
        (item,) = run.evidence
        assert item.verdict.reason == "ITEM: 1 too many (LP “Wrong”)"
        assert item.diagnosis.causes[0].message.startswith("ITEM: LP “Wrong” is selected")
