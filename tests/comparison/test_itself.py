"""A result beside itself: what is said without comparing is what the comparison says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.comparison.answer import Answer
from assay.comparison.compare import compare, compare_with_itself
from assay.model import Cell, ComparisonOptions, Result

CELLS: st.SearchStrategy[Cell] = st.one_of(
    st.none(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=3), st.booleans(), st.just([1])
)
RESULTS = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), max_size=8).map(Result.of))
OPTIONS = st.builds(
    ComparisonOptions,
    columns=st.sampled_from(["any", "strict"]),
    boolean_is_integer=st.booleans(),
    sample_rows=st.sampled_from([0, 2, 20]),
)


@given(result=RESULTS, options=OPTIONS)
def test_a_result_beside_itself_is_what_the_comparison_says(result: Result, options: ComparisonOptions) -> None:
    said = compare_with_itself(result, options)
    if said is not None:
        assert said == compare(result, Answer.bag(result), options)
    else:
        assert not result.rows or not options.boolean_is_integer
