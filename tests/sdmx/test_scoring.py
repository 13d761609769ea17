"""What a selection scores against its target: the seed's example, and the cases beyond it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.sdmx.built import query_of, span, structure_of, union_of

from assay.model import DatasetSelection, DimensionScore, Selection, SelectionScore, SelectionSettings, Term
from assay.sdmx.scoring import score_selection
from assay.sdmx.structures.identifiers import ArtefactId
from assay.sdmx.structures.known import CodeList, Structures
from many_cases import each

WEO = "IMF.RES:WEO"
COUNTRIES = {"MEX": "Mexico", "USA": "United States", "CAN": "Canada", "NAM": "North America", "NO": "Norway"}
INDICATORS = {"LP": "Population", "GDP": "gross domestic product", "GDPPC": "GDP per capita", "OLD": "discontinued"}


def structures(*, available: frozenset[str] | None = None) -> Structures:
    countries = CodeList(id=ArtefactId(id="CL_AREA"), names=COUNTRIES, children={"NAM": (("MEX", "USA", "CAN"),)})
    known = structure_of("IMF.RES:WEO(1.0.0)", COUNTRY=countries, INDICATOR=INDICATORS)
    country, indicator = known.dimensions
    return Structures([replace(known, dimensions=(country, replace(indicator, available=available)))])


def selection(dataset: str = WEO, /, **given: Any) -> Selection:
    return Selection(datasets=(query_of(dataset, **given),))


def score(
    selected: Selection, *targets: Selection, known: Structures | None = None, **settings: object
) -> SelectionScore:
    return score_selection(selected, targets, structures=known, settings=SelectionSettings(**settings))  # type: ignore[arg-type]


def of(result: SelectionScore, name: str) -> DimensionScore:
    return next(one for one in result.dimensions if one.dimension == name)


def ids(terms: object) -> list[str]:
    return [term.id for term in terms]  # type: ignore[attr-defined]


def test_the_example_of_the_method_scores_as_it_says() -> None:
    result = score(selection(INDICATOR=["GDP", "GDPPC", "GDP_CONST"]), selection(INDICATOR=["GDP", "GDPPC"]))

    assert result.macro_precision == pytest.approx(0.67, abs=0.005)
    assert result.macro_recall == 1.0
    indicator = of(result, "INDICATOR")
    assert ids(indicator.true_positives) == ["GDP", "GDPPC"]
    assert ids(indicator.false_positives) == ["GDP_CONST"]
    assert indicator.false_negatives == ()
    assert not result.exact


def test_the_same_selection_is_exact() -> None:
    target = selection(INDICATOR=["LP"], COUNTRY=["MEX"])
    result = score(target, target)
    assert result.exact
    assert (result.macro_precision, result.macro_recall, result.macro_f1, result.micro_f1) == (1, 1, 1, 1)
    assert (result.dataset_precision, result.dataset_recall) == (1, 1)


def test_macro_precision_counts_dimensions_that_the_target_lacks_and_macro_recall_does_not() -> None:
    result = score(selection(INDICATOR=["LP"], FREQUENCY=["A"]), selection(INDICATOR=["LP"]))
    assert result.macro_precision == 0.5
    assert result.macro_recall == 1.0
    assert not of(result, "FREQUENCY").in_target
    assert ids(of(result, "FREQUENCY").false_positives) == ["A"]


def test_nothing_selected_for_a_target_dimension_is_precision_0_and_recall_0() -> None:
    result = score(selection(INDICATOR=["LP"]), selection(INDICATOR=["LP"], COUNTRY=["MEX"]))
    country = of(result, "COUNTRY")
    assert (country.precision, country.recall) == (0.0, 0.0)
    assert (result.macro_precision, result.macro_recall) == (0.5, 0.5)


@each("empty", [{}, {"COUNTRY": []}, {"COUNTRY": "*"}])
def test_an_explicitly_empty_dimension_wants_nothing_selected(empty: dict[str, object]) -> None:
    wanted = selection(INDICATOR=["LP"], COUNTRY=[])
    met = score(selection(INDICATOR=["LP"], **empty), wanted)
    assert (met.exact, of(met, "COUNTRY").precision, of(met, "COUNTRY").recall) == (True, 1, 1)
    missed = score(selection(INDICATOR=["LP"], COUNTRY=["MEX"]), wanted)
    country = of(missed, "COUNTRY")
    assert (country.precision, country.recall, country.in_target, missed.macro_recall) == (0.0, None, True, 1.0)


def test_a_target_that_selects_nothing_is_met_by_nothing() -> None:
    met = score(Selection(), Selection())
    assert met.exact
    assert (met.macro_precision, met.macro_recall) == (1.0, 1.0)
    missed = score(selection(INDICATOR=["LP"]), Selection())
    assert (missed.exact, missed.macro_precision, missed.macro_recall) == (False, 0.0, None)
    assert missed.extra_datasets == (WEO,)


def test_the_right_code_in_the_wrong_dataset_is_wrong_and_said_to_be_right_elsewhere() -> None:
    result = score(selection("IMF.STA:CPI", COUNTRY=["MEX"]), selection(COUNTRY=["MEX"]))
    country = of(result, "COUNTRY")
    assert country.true_positives == ()
    assert [(term.dataset, term.note) for term in country.false_positives] == [("IMF.STA:CPI", "other_dataset")]
    assert [term.dataset for term in country.false_negatives] == [WEO]
    assert (result.missing_datasets, result.extra_datasets) == ((WEO,), ("IMF.STA:CPI",))


@each(
    "written",
    [
        "IMF.RES:WEO",
        "IMF.RES:WEO(1.0.0)",
        "IMF.RES:WEO(1.0+)",
        "IMF.RES,WEO,1.0",
        "IMF.RES,WEO",
        "WEO",
        "urn:sdmx:org.sdmx.infomodel.datastructure.Dataflow=IMF.RES:WEO(1.0)",
    ],
)
@each("target", ["IMF.RES:WEO", "IMF.RES:WEO(1.0.0)", "WEO(1.0)"])
def test_a_dataset_is_the_same_however_its_id_is_written(written: str, target: str) -> None:
    assert score(selection(written, COUNTRY=["MEX"]), selection(target, COUNTRY=["MEX"])).exact


@each("written", ["IMF.RES:WEO(2.0.0)", "IMF.RES:WEO(1.0.1)", "IMF.STA:WEO(1.0.0)", "IMF.RES:weo"])
def test_another_version_agency_or_spelling_is_another_dataset(written: str) -> None:
    result = score(selection(written, COUNTRY=["MEX"]), selection("IMF.RES:WEO(1.0.0)", COUNTRY=["MEX"]))
    assert not result.exact
    assert result.dataset_recall == 0.0


def test_two_versions_in_one_target_are_told_apart() -> None:
    def both(old: list[str], new: list[str]) -> Selection:
        return union_of(selection("IMF.STA:CPI(3.0.1)", COUNTRY=old), selection("IMF.STA:CPI(4.0.0)", COUNTRY=new))

    assert score(both(["MEX"], ["USA"]), both(["MEX"], ["USA"])).exact
    assert not score(both(["USA"], ["MEX"]), both(["MEX"], ["USA"])).exact


def test_names_are_compared_where_both_sides_have_them() -> None:
    target = selection(COUNTRY=[Term(id="MEX", name="Mexico")])
    other = selection(COUNTRY=[Term(id="MEX", name="New Mexico")])
    result = score(other, target)
    assert [term.note for term in of(result, "COUNTRY").false_positives] == ["name_differs"]
    assert ids(of(result, "COUNTRY").false_negatives) == ["MEX"]
    assert score(other, target, match_on="id").exact
    assert score(selection(COUNTRY=[Term(id="MEX", name=" Mexico ")]), target).exact


def test_names_come_from_the_code_list_where_the_answer_has_none() -> None:
    target = selection(COUNTRY=[Term(id="MEX", name="Mexico")])
    bare = selection(COUNTRY=["MEX"])
    known = score(bare, target, known=structures())
    assert known.exact
    assert known.names_compared
    assert of(known, "COUNTRY").true_positives[0].name == "Mexico"
    unknown = score(bare, target)
    assert unknown.exact
    assert not unknown.names_compared
    stale = selection(COUNTRY=[Term(id="MEX", name="Mexiko")])
    assert score(bare, stale, known=structures()).exact, "the answer says no name: the target's is not held against it"


def test_codes_may_be_written_as_urns() -> None:
    urn = "urn:sdmx:org.sdmx.infomodel.codelist.Code=IMF:CL_AREA(1.0).MEX"
    assert score(selection(COUNTRY=[urn]), selection(COUNTRY=["MEX"])).exact


def test_invented_codes_dimensions_and_datasets_are_told_apart() -> None:
    target = selection(COUNTRY=["MEX"])
    known = structures()
    invented = score(selection(COUNTRY=["MEX", "ATLANTIS"]), target, known=known)
    assert [(term.id, term.note) for term in of(invented, "COUNTRY").false_positives] == [("ATLANTIS", "unknown_code")]
    dimension = score(selection(COUNTRY=["MEX"], PLANET=["EARTH"]), target, known=known)
    assert [term.note for term in of(dimension, "PLANET").false_positives] == ["unknown_dimension"]
    dataset = score(selection("IMF.RES:WOE", COUNTRY=["USA"]), target, known=known)
    assert [term.note for term in of(dataset, "COUNTRY").false_positives] == ["unknown_dataset"]
    plain = score(selection(COUNTRY=["MEX", "USA"]), target, known=known)
    assert [term.note for term in of(plain, "COUNTRY").false_positives] == [None]


def test_a_dataset_that_the_target_has_is_nobodys_invention() -> None:
    one = of(score(selection("A:B", X=["1"]), selection("A:B", X=["2"]), known=structures()), "X")
    assert [term.note for term in (*one.false_positives, *one.false_negatives)] == [None, None]


def editions() -> Structures:
    """A dataset in two versions, whose code lists differ in codes and names."""
    old = structure_of("A:B(1.0)", X={"KEPT": "Kept", "OLD": "Old"})
    return Structures([old, structure_of("A:B(2.0)", X={"KEPT": "Kept, revised", "NEW": "New", "N2": "N"})])


@pytest.mark.parametrize(("target", "selected"), [("A:B", "A:B(1.0)"), ("A:B(1.0)", "A:B"), ("B", "A,B,1.0.0")])
def test_a_version_that_one_side_says_gives_both_their_codes_and_names(target: str, selected: str) -> None:
    known = editions()
    result = score(selection(selected, X=["KEPT", "OLD"]), selection(target, X=["KEPT"]), known=known)
    one = of(result, "X")
    assert [(term.id, term.name, term.note) for term in one.true_positives] == [("KEPT", "Kept", None)]
    assert [(term.id, term.note) for term in one.false_positives] == [("OLD", None)]
    every = of(score(selection(selected, X="*"), selection(target, X=["KEPT"]), known=known), "X")
    assert every.counts == (1, 1, 0)


def test_a_code_without_data_is_noted() -> None:
    known = structures(available=frozenset({"LP", "GDP"}))
    result = score(selection(INDICATOR=["LP", "OLD"]), selection(INDICATOR=["LP"]), known=known)
    assert [(term.id, term.note) for term in of(result, "INDICATOR").false_positives] == [("OLD", "unavailable")]


class TestWildcards:
    def test_a_wildcard_is_every_code_of_the_list(self) -> None:
        known = structures()
        assert score(selection(COUNTRY="*"), selection(COUNTRY=list(COUNTRIES)), known=known).exact
        one = of(score(selection(COUNTRY="*"), selection(COUNTRY=["MEX"]), known=known), "COUNTRY")
        assert (one.precision, one.recall) == (1 / 5, 1.0)
        assert one.counts == (1, 4, 0)

    def test_without_a_code_list_the_other_codes_count_as_one(self) -> None:
        one = of(score(selection(COUNTRY="*"), selection(COUNTRY=["MEX"])), "COUNTRY")
        assert (one.precision, one.recall, one.counts) == (0.5, 1.0, (1, 1, 0))

    def test_all_codes_of_a_list_restrict_nothing(self) -> None:
        known = structures()
        everywhere = selection(INDICATOR=["LP"], COUNTRY=list(COUNTRIES))
        assert score(everywhere, selection(INDICATOR=["LP"]), known=known).exact
        assert score(everywhere, selection(INDICATOR=["LP"], COUNTRY="*"), known=known).exact
        assert not score(everywhere, selection(INDICATOR=["LP"])).exact

    def test_all_codes_are_those_with_data(self) -> None:
        known = structures(available=frozenset({"LP", "GDP"}))
        assert score(selection(INDICATOR=["LP", "GDP"]), selection(INDICATOR="*"), known=known).exact

    @pytest.mark.parametrize("selected", [selection(COUNTRY="*"), selection(), selection(COUNTRY=[])])
    def test_a_wanted_wildcard_is_met_by_no_restriction(self, selected: Selection) -> None:
        assert score(selected, selection(COUNTRY="*")).exact

    def test_a_wanted_wildcard_is_not_met_by_some_codes_or_another_dataset(self) -> None:
        some = of(score(selection(COUNTRY=["MEX", "XXX"]), selection(COUNTRY="*"), known=structures()), "COUNTRY")
        assert some.counts == (1, 1, 4)
        assert some.recall == 1 / 5
        none = score(Selection(), selection(COUNTRY="*"), known=structures())
        assert (none.macro_precision, none.macro_recall) == (0.0, 0.0)


class TestHierarchies:
    def test_a_parent_for_the_targets_children_is_reported_and_not_counted(self) -> None:
        target = selection(COUNTRY=["MEX", "USA", "CAN"])
        result = score(selection(COUNTRY=["NAM"]), target, known=structures())
        assert not result.exact
        (found,) = result.equivalences
        assert (found.parent.id, [child.id for child in found.children]) == ("NAM", ["MEX", "USA", "CAN"])
        assert (found.selected, found.counted) == ("parent", False)
        assert of(result, "COUNTRY").false_positives[0].note == "through_hierarchy"
        assert of(result, "COUNTRY").precision == 0.0

    def test_it_counts_where_that_is_wished(self) -> None:
        target = selection(COUNTRY=["MEX", "USA", "CAN", "NO"])
        result = score(selection(COUNTRY=["NO", "NAM"]), target, known=structures(), count_hierarchy=True)
        assert result.exact
        assert ids(of(result, "COUNTRY").true_positives) == ["MEX", "USA", "CAN", "NO"]
        assert [term.note for term in of(result, "COUNTRY").true_positives] == ["through_hierarchy"] * 3 + [None]

    def test_children_stand_for_their_parent_in_the_target(self) -> None:
        selected = selection(COUNTRY=["USA", "CAN", "MEX"])
        result = score(selected, selection(COUNTRY=["NAM"]), known=structures(), count_hierarchy=True)
        assert result.exact
        assert result.equivalences[0].selected == "children"

    def test_some_of_the_children_are_not_the_parent(self) -> None:
        result = score(selection(COUNTRY=["NAM"]), selection(COUNTRY=["MEX", "USA"]), known=structures())
        assert result.equivalences == ()


@each(
    ("wanted", "selected", "state", "share", "exact"),
    [
        ([span(2015, 2020)], [span("2015-01", "2020-12")], "exact", 1.0, True),
        ([span(2015, 2018)], [span(2017, 2020)], "overlap", pytest.approx(1 / 3, abs=0.001), False),
        ([span(2015, 2018)], None, "missing", 0.0, False),
        (None, [span(2015)], "not_judged", None, True),
        ([], [span(2015)], "unexpected", None, False),
    ],
)
def test_a_period_counts_as_the_target_wants_it(
    wanted: object, selected: object, state: str, share: object, exact: bool
) -> None:
    result = score(selection(COUNTRY=["MEX"], time=selected), selection(COUNTRY=["MEX"], time=wanted))
    assert (result.time[0].state, result.exact, result.macro_precision) == (state, exact, 1.0)
    assert share is None or result.time_range == share
    assert share is not None or state == "unexpected" or result.time_range is None


def test_periods_listed_as_terms_are_a_range_and_all_of_time_may_be_left_out() -> None:
    target = selection(COUNTRY=["MEX"], TIME_PERIOD=["2019", "2020"])
    assert score(selection(COUNTRY=["MEX"], time=[span(2019, 2020)]), target).exact
    assert score(selection(COUNTRY=["MEX"]), selection(COUNTRY=["MEX"], time=[])).exact


def test_the_closest_of_several_targets_counts() -> None:
    nominal, real = selection(INDICATOR=["NGDP"], COUNTRY=["MEX"]), selection(INDICATOR=["NGDP_R"], COUNTRY=["MEX"])
    result = score(real, nominal, real)
    assert (result.exact, result.target_index) == (True, 1)
    assert score(selection(COUNTRY=["MEX"]), nominal, real).target_index == 0


def test_terms_of_one_dimension_are_pooled_over_datasets() -> None:
    target = union_of(selection("A:X", COUNTRY=["MEX"]), selection("A:Y", COUNTRY=["USA"]))
    result = score(selection("A:X", COUNTRY=["MEX"]), target)
    assert of(result, "COUNTRY").counts == (1, 0, 1)
    assert result.dataset_recall == 0.5


codes = st.lists(st.sampled_from([*COUNTRIES, "XXX", "YYY"]), max_size=6, unique=True)
selections = st.builds(
    lambda left, right, dataset: selection(dataset, COUNTRY=left, INDICATOR=right),
    codes,
    codes,
    st.sampled_from([WEO, "IMF.STA:CPI"]),
)


@given(selections)
def test_every_selection_meets_itself(one: Selection) -> None:
    for known in (None, structures()):
        assert score(one, one, known=known).exact


@given(selections, selections)
def test_false_positives_one_way_are_false_negatives_the_other(one: Selection, other: Selection) -> None:
    there, back = score(one, other), score(other, one)
    assert there.micro_f1 == back.micro_f1
    assert {(d.dimension, term.id) for d in there.dimensions for term in d.false_positives} == {
        (d.dimension, term.id) for d in back.dimensions for term in d.false_negatives
    }
    assert there.exact == back.exact


@given(selections, selections)
def test_the_order_of_terms_and_datasets_does_not_matter(one: Selection, other: Selection) -> None:
    def turned(query: DatasetSelection) -> DatasetSelection:
        return replace(
            query, dimensions=tuple(replace(part, terms=part.terms[::-1]) for part in query.dimensions[::-1])
        )

    plain = score(one, other)
    reverse = score(*(Selection(datasets=tuple(map(turned, given.datasets[::-1]))) for given in (one, other)))
    assert plain.exact == reverse.exact
    assert plain.macro_f1 == pytest.approx(reverse.macro_f1)
    assert (plain.micro_precision, plain.micro_recall) == (reverse.micro_precision, reverse.micro_recall)
