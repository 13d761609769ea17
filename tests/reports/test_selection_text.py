"""The details cell: the evaluation method's format to the letter, and what goes beyond it told beside it."""

from __future__ import annotations

import time

from assay.model import (
    Case,
    DimensionScore,
    Failure,
    HierarchyEquivalence,
    ScoredTerm,
    Selection,
    SelectionScore,
    Term,
    TermNote,
    TimeRange,
    TimeScore,
    Turn,
    TurnScore,
)
from assay.reports.cases.selection import periods
from assay.reports.excel.page import CELL_LIMIT
from assay.reports.text.plain import hundredths
from assay.reports.text.selections import cut_at_line, details
from many_cases import each

SEED = """\
[recall: 0.75, precision: 0.80]
True Positives [2]
  * GDP: gross domestic product
  * GDPPC: GDP per capita
False Negatives [0]
False Positives [1]
  * GDP_CONST: gross domestic product constant prices"""

GDP = ScoredTerm(id="GDP", name="gross domestic product")
GDPPC = ScoredTerm(id="GDPPC", name="GDP per capita")
CONST = ScoredTerm(id="GDP_CONST", name="gross domestic product constant prices")


def dimension(
    *positives: ScoredTerm,
    extra: tuple[ScoredTerm, ...] = (),
    missing: tuple[ScoredTerm, ...] = (),
    precision: float | None = 1.0,
    recall: float | None = 1.0,
    name: str = "INDICATOR",
    in_target: bool = True,
) -> DimensionScore:
    return DimensionScore(
        dimension=name,
        in_target=in_target,
        true_positives=positives,
        false_positives=extra,
        false_negatives=missing,
        precision=precision,
        recall=recall,
    )


def one(*dimensions: DimensionScore, **others: object) -> tuple[TurnScore, ...]:
    return (TurnScore(number=1, score=SelectionScore(exact=False, dimensions=dimensions, **others)),)  # type: ignore[arg-type]


def test_a_dimension_reads_as_the_method_writes_it() -> None:
    # The numbers are the method's own sample's, which do not follow from its terms.
    score = dimension(GDP, GDPPC, extra=(CONST,), recall=0.75, precision=0.8)
    assert details(one(score)) == f"INDICATOR\n{SEED}"


def test_dimensions_stand_apart_and_those_beyond_the_target_under_a_heading_of_their_own() -> None:
    text = details(
        one(
            dimension(GDP),
            dimension(ScoredTerm(id="MEX"), name="COUNTRY"),
            dimension(extra=(ScoredTerm(id="A"),), name="FREQ", in_target=False, precision=0.0, recall=None),
            dimension(extra=(ScoredTerm(id="N"),), name="ADJ", in_target=False, precision=0.0, recall=None),
        )
    )
    assert (
        text
        == """\
INDICATOR
[recall: 1.00, precision: 1.00]
True Positives [1]
  * GDP: gross domestic product
False Negatives [0]
False Positives [0]

COUNTRY
[recall: 1.00, precision: 1.00]
True Positives [1]
  * MEX
False Negatives [0]
False Positives [0]

dimensions not in target
FREQ
[recall: n/a, precision: 0.00]
True Positives [0]
False Negatives [0]
False Positives [1]
  * A

ADJ
[recall: n/a, precision: 0.00]
True Positives [0]
False Negatives [0]
False Positives [1]
  * N"""
    )


def test_only_all_reads_1_and_only_none_reads_0() -> None:
    values = (None, 0.0, 1.0, 2 / 3, 0.8, 0.125, 0.999, 0.001)
    assert [hundredths(value) for value in values] == ["n/a", "0.00", "1.00", "0.67", "0.80", "0.13", "0.99", "0.01"]


@each(
    ("note", "extra", "missing"),
    [
        ("unknown_code", " (invented code)", " (no such code)"),
        ("unknown_dimension", " (no such dimension)", " (no such dimension)"),
        ("unavailable", " (without data)", " (without data)"),
        ("unknown_dataset", " (no such dataset)", None),
        ("other_dataset", " (right in another dataset)", None),
        ("through_hierarchy", " (through the hierarchy)", None),
        ("rest_of_the_list", " (rest of the list)", None),
        (None, "", ""),
    ],
)
def test_what_is_known_of_a_term_follows_it(note: TermNote | None, extra: str, missing: str | None) -> None:
    """What only the target has is not called invented."""
    term = (ScoredTerm(id="GDPX", note=note),)
    assert details(one(dimension(extra=term))).splitlines()[-1] == f"  * GDPX{extra}"
    assert missing is None or f"  * GDPX{missing}" in details(one(dimension(missing=term))).splitlines()


def test_a_wildcard_is_headed_by_as_many_codes_as_it_takes() -> None:
    rest = ScoredTerm(id="*", name="201 other codes", note="rest_of_the_list", count=201)
    lines = details(one(dimension(extra=(rest,)))).splitlines()
    assert lines[-2:] == ["False Positives [201]", "  * *: 201 other codes (rest of the list)"]


def test_many_codes_with_other_names_take_no_long_time() -> None:
    def named(word: str) -> tuple[ScoredTerm, ...]:
        return tuple(ScoredTerm(id=f"C{n}", name=f"{word} {n}", note="name_differs") for n in range(20_000))

    started = time.process_time()
    lines = details(one(dimension(extra=named("Land"), missing=named("Country")))).splitlines()
    assert time.process_time() - started < 20
    assert "  * C19999: Country 19999 (another name: Land 19999)" in lines


def test_a_right_code_with_another_name_says_the_name_across() -> None:
    selected = ScoredTerm(id="LP", name="Labour", note="name_differs")
    target = ScoredTerm(id="LP", name="Population", note="name_differs")
    lines = details(one(dimension(extra=(selected,), missing=(target,)))).splitlines()
    assert "  * LP: Population (another name: Labour)" in lines
    assert "  * LP: Labour (another name: Population)" in lines
    alone = details(one(dimension(extra=(selected,)))).splitlines()
    assert alone[-1] == "  * LP: Labour (another name)"


def test_datasets_are_named_where_several_take_part() -> None:
    term = ScoredTerm(id="LP", name="Population", dataset="IMF.RES:WEO")
    assert "IMF.RES:WEO" not in details(one(dimension(term), matched_datasets=("IMF.RES:WEO",)))
    text = details(
        one(
            dimension(term, extra=(ScoredTerm(id="LP", dataset="IMF.STA:CPI", note="other_dataset"),)),
            matched_datasets=("IMF.RES:WEO",),
            extra_datasets=("IMF.STA:CPI",),
            missing_datasets=("IMF.STA:BOP",),
        )
    )
    assert "  * LP: Population [IMF.RES:WEO]\n" in text
    assert "  * LP [IMF.STA:CPI] (right in another dataset)\n" in text
    assert text.endswith("\n\ndatasets\n  * missing: IMF.STA:BOP\n  * not in target: IMF.STA:CPI")


def test_what_is_wrong_stands_above_what_is_right() -> None:
    many = tuple(ScoredTerm(id=f"C{number}") for number in range(13))
    wrong = ScoredTerm(id="OTHER")
    right = dimension(GDP, name="RIGHT")
    for place, score in enumerate((dimension(extra=(wrong,)), dimension(missing=(wrong,)))):
        blocks = details(one(right, score)).split("\n\n")
        assert [block.partition("\n")[0] for block in blocks] == ["INDICATOR", "RIGHT"], place
    for terms, first in ((many[:12], "True Positives [12]"), (many, "False Negatives [0]")):
        assert details(one(dimension(*terms, extra=(wrong,)))).split("\n")[2] == first
    assert details(one(dimension(*many))).split("\n")[2] == "True Positives [13]"


def test_time_hierarchies_and_the_chosen_target_are_told_in_this_order() -> None:
    turns = one(
        dimension(GDP),
        time=(
            TimeScore(
                dataset="A:B",
                state="overlap",
                target=(TimeRange(start="2015", end="2020"),),
                selected=(TimeRange(start="2018"),),
                share=0.5,
            ),
            TimeScore(dataset="A:C", state="not_judged"),
            TimeScore(dataset="A:D", state="exact", target=(TimeRange(start="2015", end="2015"),)),
        ),
        equivalences=(
            HierarchyEquivalence(
                dataset="A:B",
                dimension="COUNTRY",
                parent=Term(id="G3"),
                children=(Term(id="DE"), Term(id="JP"), Term(id="US")),
                selected="parent",
                counted=True,
            ),
        ),
        target_index=1,
    )
    case = Case(id="1", question="?", turns=(Turn(question="?", targets=(Selection(), Selection())),))
    time, right, *rest = details(turns, case=case).split("\n\n")
    assert right.startswith("INDICATOR\n")
    assert [time, *rest] == [
        "time\n  * A:B: overlap, 50.0 % in common (target: 2015 to 2020; selected: from 2018)\n  * A:D: exact (2015)",
        (
            "equivalent through the hierarchy\n  * Through the hierarchy of COUNTRY, "
            "the parent G3 was selected for its children DE, JP, US, which counts as right."
        ),
        "scored by target 2 of 2 acceptable ones",
    ]


def test_periods_tell_all_from_not_said() -> None:
    assert periods(None) == "nothing said"
    assert periods(()) == "all periods"
    assert periods((TimeRange(end="2020-Q1"), TimeRange(start="2022", end="2023"))) == "until 2020-Q1, 2022 to 2023"


def test_each_turn_has_a_heading_where_there_are_several() -> None:
    failure = Failure(stage="read", kind="unreadable_answer", blame="system", message="no JSON\nin the answer")
    turns = (*one(dimension(GDP)), TurnScore(number=2, failure=failure), TurnScore(number=3))
    blocks = details(turns).split("\n\n")
    assert blocks[0].startswith("Turn 1\nINDICATOR\n[recall")
    rest = ["Turn 2\nnot scored: no JSON in the answer", "Turn 3\nnot scored: the question has no target"]
    assert blocks[1:] == rest


def test_an_empty_selection_for_an_empty_target_says_so() -> None:
    assert details(one()) == "nothing is to be selected, and nothing was"


def test_names_from_outside_stay_on_their_line() -> None:
    term = ScoredTerm(id="A\nFalse Positives [9]", name="x\u202e\x00\ud800 y")
    text = details(one(dimension(term)))
    assert "  * A False Positives [9]: x⟨U+202E⟩⟨U+0000⟩⟨U+D800⟩ y" in text.splitlines()
    assert len(text.splitlines()) == 6


@each("name", ["gross domestic product", "国内総生産 📈"])
def test_a_text_longer_than_a_cell_ends_at_a_line_and_counts_the_rest(name: str) -> None:
    terms = tuple(ScoredTerm(id=f"T{number}", name=name) for number in range(3000))
    whole = details(one(dimension(*terms)))
    text = details(one(dimension(*terms)), limit=CELL_LIMIT)
    assert len(text.encode("utf-16-le")) // 2 <= CELL_LIMIT
    *kept, notice = text.splitlines()
    assert kept == whole.splitlines()[: len(kept)]
    left_out = len(whole.splitlines()) - len(kept)
    assert notice == f"… {left_out:,} more lines (the whole is in the JSON report)"
    assert len(kept) > 500


def test_a_text_that_fits_is_not_cut() -> None:
    exact = "x" * 99 + "\n"
    assert cut_at_line(exact * 20, 2000) == exact * 20
    assert cut_at_line("x" * 3000, 200) == "… 1 more line (the whole is in the JSON report)"
