"""What an SDMX assistant selects: datasets, terms of their dimensions, a range of time."""

from __future__ import annotations

from operator import attrgetter
from typing import Literal

from msgspec import Struct

from assay.model.cases.usage import TokenUsage
from assay.model.failure import Failure


class Term(Struct, frozen=True, kw_only=True):
    """One value of a dimension: a code, and its name if one is known."""

    id: str
    name: str | None = None


class DimensionSelection(Struct, frozen=True, kw_only=True):
    """The terms selected in one dimension of one dataset, in the order given, none twice.

    Without terms and without ``everything`` it explicitly selects nothing.
    """

    dimension: str
    terms: tuple[Term, ...] = ()
    everything: bool = False
    """A wildcard: every code of the dimension. ``terms`` is then empty."""


class TimeRange(Struct, frozen=True, kw_only=True):
    """Periods from ``start`` to ``end``, both inclusive, as SDMX writes periods (``2015``, ``2015-Q1``, ``2015-03``).

    None: open at that end.
    """

    start: str | None = None
    end: str | None = None


class DatasetSelection(Struct, frozen=True, kw_only=True):
    """One query on one dataset. Each dimension occurs at most once; an absent dimension is not restricted."""

    dataset: str
    """The dataset's id as it was given: ``IMF.RES:WEO``, ``IMF.RES:WEO(1.0.0)``, ``IMF.RES,WEO,1.0.0`` or a URN."""
    dimensions: tuple[DimensionSelection, ...] = ()
    time: tuple[TimeRange, ...] | None = None
    """The union of the selected periods. None: nothing is said about time; ``()``: explicitly all periods."""


class Selection(Struct, frozen=True, kw_only=True):
    """A whole data query: the union of its queries, several of which may be on one dataset.

    Without queries nothing is selected.
    """

    datasets: tuple[DatasetSelection, ...] = ()


class Turn(Struct, frozen=True, kw_only=True):
    """One question of a conversation with its target."""

    question: str
    targets: tuple[Selection, ...] = ()
    """The acceptable selections: the closest one counts. Empty: the turn is asked, but not scored."""


class TurnAnswer(Struct, frozen=True, kw_only=True):
    """What the system answered to one question of a conversation."""

    selection: Selection | None = None
    """The selection read from ``raw``. None: not read yet, or ``failure`` says why it could not be read."""
    raw: str | None = None
    """The answer as it came, if its format differs from the targets': a JSON query, a URL."""
    text: str | None = None
    """What the system said in words."""
    latency_s: float | None = None
    tokens: TokenUsage | None = None
    failure: Failure | None = None


TermNote = Literal[
    "unknown_code",
    "unknown_dimension",
    "unknown_dataset",
    "unavailable",
    "name_differs",
    "other_dataset",
    "through_hierarchy",
    "rest_of_the_list",
]
"""What else is known about a scored term.

``unknown_code``: the code list has no such code (invented); ``unknown_dimension``, ``unknown_dataset``: likewise;
``unavailable``: a code of the list for which the dataset has no data, by its constraint; ``name_differs``: the code
is right but its name differs; ``other_dataset``: the code is right in the wrong dataset; ``through_hierarchy``: the
code stands for its children, or they for it; ``rest_of_the_list``: the other codes that a wildcard takes, as one term.
"""


class ScoredTerm(Struct, frozen=True, kw_only=True):
    """A term within a true positive, false positive or false negative list."""

    id: str
    name: str | None = None
    dataset: str | None = None
    note: TermNote | None = None
    count: int = 1
    """How many codes the term stands for: more than one only if a wildcard takes the rest of a code list."""


class DimensionScore(Struct, frozen=True, kw_only=True):
    """How the selected terms of one dimension relate to the target's, over all datasets of the target.

    Each list is in the order of its side: the target's for true positives and false negatives, the
    selection's for false positives. ``precision``, ``recall`` and ``f1`` are None if their
    denominator is empty.
    """

    dimension: str
    in_target: bool
    """False: the target lacks this dimension, and every term selected in it is a false positive."""
    true_positives: tuple[ScoredTerm, ...] = ()
    false_positives: tuple[ScoredTerm, ...] = ()
    false_negatives: tuple[ScoredTerm, ...] = ()
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many codes are true positives, false positives and false negatives."""
        return _codes(self.true_positives), _codes(self.false_positives), _codes(self.false_negatives)


_COUNT = attrgetter("count")


def _codes(terms: tuple[ScoredTerm, ...]) -> int:
    return sum(map(_COUNT, terms))


TimeState = Literal["exact", "overlap", "disjoint", "missing", "unexpected", "not_judged"]
"""``missing``: the target has a range, the selection none; ``unexpected``: the target says that time is not
restricted, the selection restricts it; ``not_judged``: the target says nothing of time."""


class TimeScore(Struct, frozen=True, kw_only=True):
    """How the selected periods of one dataset relate to the target's."""

    dataset: str
    state: TimeState
    target: tuple[TimeRange, ...] | None = None
    selected: tuple[TimeRange, ...] | None = None
    share: float | None = None
    """Days in both over days in either, in [0, 1]; None if a range has an open end or time is not scored."""


class HierarchyEquivalence(Struct, frozen=True, kw_only=True):
    """A code that stands for its children in one of the two selections, while the other names the children."""

    dataset: str
    dimension: str
    parent: Term
    children: tuple[Term, ...]
    selected: Literal["parent", "children"]
    """Which of the two the system's selection has."""
    counted: bool
    """Whether it counted as right."""


class DataScore(Struct, frozen=True, kw_only=True):
    """How the data that the answer's selection returns relate to those of the target."""

    match: bool | None
    """Whether both return the same observations; None: unknown, and ``failure`` says why."""
    reason: str
    failure: Failure | None = None
    target_series: int = 0
    selected_series: int = 0
    shared_series: int = 0
    """Series with at least one observation."""
    target_observations: int = 0
    selected_observations: int = 0
    shared_observations: int = 0
    series_precision: float | None = None
    series_recall: float | None = None
    """Over the series that exist in the data."""


class SelectionScore(Struct, frozen=True, kw_only=True):
    """How one answer's selection relates to the target that it is closest to.

    Macro values are means over dimensions, micro values are of the pooled terms; None if the
    denominator is 0.
    """

    exact: bool
    """Exactly the target's series and, if the target restricts time, exactly its periods."""
    dimensions: tuple[DimensionScore, ...] = ()
    """The target's in its order, then those that only the selection has, in its order."""
    macro_precision: float | None = None
    macro_recall: float | None = None
    macro_f1: float | None = None
    micro_precision: float | None = None
    micro_recall: float | None = None
    micro_f1: float | None = None
    matched_datasets: tuple[str, ...] = ()
    extra_datasets: tuple[str, ...] = ()
    missing_datasets: tuple[str, ...] = ()
    dataset_precision: float | None = None
    dataset_recall: float | None = None
    time: tuple[TimeScore, ...] = ()
    time_range: float | None = None
    """Mean over the datasets whose time is scored: 1 if exact, the share if they overlap, else 0."""
    series_precision: float | None = None
    series_recall: float | None = None
    """Over the series keys that each side selects; None if the queries are too intricate to count them.

    Also None in runs of versions that did not count them.
    """
    missing_series: str | None = None
    extra_series: str | None = None
    """One series of the target alone and one of the selection alone, in words, where only whole queries differ."""
    undecided: bool = False
    """Whether the queries are too intricate to tell if both select the same; ``exact`` False then says nothing."""
    data: DataScore | None = None
    """How both compare on data; None: no data were given."""
    equivalences: tuple[HierarchyEquivalence, ...] = ()
    target_index: int = 0
    """Zero-based index of the acceptable target that the answer was scored by."""
    names_compared: bool = True
    """False if a term was compared by its code alone, since one side had no name for it."""


class TurnScore(Struct, frozen=True, kw_only=True):
    """The result of one turn. ``score`` is None if it has no target, or could not be scored (``failure``)."""

    number: int
    """One-based place among the questions of the conversation."""
    score: SelectionScore | None = None
    failure: Failure | None = None


class TermCounts(Struct, frozen=True, kw_only=True):
    """Pooled terms with their precision, recall and F1: None if the denominator is 0."""

    true_positives: int
    false_positives: int
    false_negatives: int
    precision: float | None
    recall: float | None
    f1: float | None


class DimensionTotal(Struct, frozen=True, kw_only=True):
    """One dimension over all scored turns of a run."""

    dimension: str
    turns: int
    """Turns whose target has the dimension."""
    turns_beyond_target: int
    """Turns that selected in the dimension though their target lacks it."""
    counts: TermCounts
    mean_precision: float | None
    mean_recall: float | None
    """Means over the turns that have the value."""


class SelectionSettings(Struct, frozen=True, kw_only=True):
    """How selections are matched, without secrets."""

    structures: tuple[str, ...] = ()
    """The sources of the structures, as the user named them."""
    match_on: Literal["id_and_name", "id"] = "id_and_name"
    count_hierarchy: bool = False
    """Whether a parent code counts as its children, and the children as their parent."""
    language: str = "en"
    """The language of the names that are taken from code lists."""
    ignored_dimensions: tuple[str, ...] = ()
    """Dimensions that are left out of targets and answers alike."""
    data: str | None = None
    """The source of the data that selections were executed on, as the user named it."""
