"""Runs over SDMX selections built by hand, from the model alone: what every format has to show of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from handmade import PROVENANCE, Named
from msgspec.structs import replace

from assay.model import (
    Case,
    Count,
    DimensionScore,
    DimensionTotal,
    Evidence,
    Failure,
    Group,
    HierarchyEquivalence,
    Limits,
    MetricSummary,
    Prediction,
    Rate,
    Run,
    RunSettings,
    Score,
    ScoredTerm,
    Selection,
    SelectionScore,
    SelectionSettings,
    SelectionTotals,
    Term,
    TermCounts,
    TimeRange,
    TimeScore,
    Turn,
    TurnAnswer,
    TurnScore,
    Verdict,
)
from assay.model.cases.selection import DatasetSelection, DimensionSelection
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate
from assay.stats import wilson_interval

METRICS = (
    Named("exact_match"),
    *(
        Named(f"{scope}_{figure}", binary=False)
        for scope in ("macro", "micro", "dataset")
        for figure in ("precision", "recall", "f1")
        if (scope, figure) != ("dataset", "f1")
    ),
    Named("time_range", binary=False),
)
SETTINGS = RunSettings(
    cases="cases/imf",
    predictions="predictions/assistant-2.jsonl",
    database="",
    metrics=tuple(metric.name for metric in METRICS),
    limits=Limits(),
    selection=SelectionSettings(structures=("structures/imf",)),
)
WEO = "IMF.RES:WEO"


def rate(right: int, of: int) -> float | None:
    return right / of if of else None


def f1(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def dimension(
    name: str,
    right: Sequence[ScoredTerm] = (),
    extra: Sequence[ScoredTerm] = (),
    missing: Sequence[ScoredTerm] = (),
    *,
    in_target: bool = True,
) -> DimensionScore:
    precision, recall = rate(len(right), len(right) + len(extra)), rate(len(right), len(right) + len(missing))
    if in_target and not (right or extra or missing):
        precision = recall = 1.0  # explicitly empty, and nothing was selected
    elif in_target:
        precision, recall = precision or 0.0, recall or 0.0
    return DimensionScore(
        dimension=name,
        in_target=in_target,
        true_positives=tuple(right),
        false_positives=tuple(extra),
        false_negatives=tuple(missing),
        precision=precision,
        recall=recall,
        f1=f1(precision, recall),
    )


def mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def selection_score(
    dimensions: Sequence[DimensionScore],
    *,
    time: Sequence[TimeScore] = (),
    matched: Sequence[str] = (WEO,),
    extra: Sequence[str] = (),
    missing: Sequence[str] = (),
    equivalences: Sequence[HierarchyEquivalence] = (),
    target_index: int = 0,
    names_compared: bool = True,
) -> SelectionScore:
    tp, fp, fn = terms_of(dimensions)
    judged = [one for one in time if one.state != "not_judged"]
    precision = mean([one.precision for one in dimensions])
    recall = mean([one.recall for one in dimensions if one.in_target])
    return SelectionScore(
        exact=not (fp or fn or extra or missing) and all(one.state == "exact" for one in judged),
        dimensions=tuple(dimensions),
        macro_precision=precision,
        macro_recall=recall,
        macro_f1=f1(precision, recall),
        micro_precision=rate(tp, tp + fp),
        micro_recall=rate(tp, tp + fn),
        micro_f1=f1(rate(tp, tp + fp), rate(tp, tp + fn)),
        matched_datasets=tuple(matched),
        extra_datasets=tuple(extra),
        missing_datasets=tuple(missing),
        dataset_precision=rate(len(matched), len(matched) + len(extra)),
        dataset_recall=rate(len(matched), len(matched) + len(missing)),
        time=tuple(time),
        time_range=mean([1.0 if one.state == "exact" else one.share or 0.0 for one in judged]),
        equivalences=tuple(equivalences),
        target_index=target_index,
        names_compared=names_compared,
    )


def target_of(score: SelectionScore) -> Selection:
    """The target that such a score has, near enough to be shown."""
    sides = [
        DimensionSelection(
            dimension=one.dimension,
            terms=tuple(Term(id=term.id, name=term.name) for term in (*one.true_positives, *one.false_negatives)),
        )
        for one in score.dimensions
        if one.in_target
    ]
    return Selection(datasets=(DatasetSelection(dataset=WEO, dimensions=tuple(sides)),))


def evidence(
    case_id: str,
    turns: Sequence[tuple[str, SelectionScore | Failure | None]],
    *,
    tags: Sequence[str] = (),
    name: str | None = None,
    reason: str | None = None,
    targets: int = 1,
    answers: Sequence[TurnAnswer] | None = None,
) -> Evidence:
    """A case with its questions; a Failure stands for one that was not scored, None for one without target."""
    scores = [found for _, found in turns if isinstance(found, SelectionScore)]
    failure = next((found for _, found in turns if isinstance(found, Failure)), None)
    exact = bool(scores) and all(score.exact for score in scores)
    unscored = not scores
    values: dict[str, float | None] = {"exact_match": None if unscored else float(exact)}
    for metric in METRICS[1:]:
        values[metric.name] = mean([getattr(score, metric.name) for score in scores])
    return Evidence(
        case=Case(
            id=case_id,
            name=name,
            question="\n".join(question for question, _ in turns),
            tags=tuple(tags),
            turns=tuple(
                Turn(
                    question=question,
                    targets=()
                    if found is None
                    else (target_of(found) if isinstance(found, SelectionScore) else Selection(),) * targets,
                )
                for question, found in turns
            ),
        ),
        prediction=Prediction(
            case_id=case_id,
            turns=tuple(answers)
            if answers is not None
            else tuple(
                TurnAnswer(selection=target_of(found) if isinstance(found, SelectionScore) else None)
                for _, found in turns
            ),
        ),
        verdict=Verdict(
            outcome="unscored" if unscored else "correct" if exact else "incorrect",
            reason=reason or ("The selection is the target's." if exact else "The selection is not the target's."),
            failure=failure,
        ),
        scores=tuple(Score(metric=metric.name, value=values[metric.name], failure=failure) for metric in METRICS),
        turns=tuple(
            TurnScore(
                number=number,
                score=found if isinstance(found, SelectionScore) else None,
                failure=found if isinstance(found, Failure) else None,
            )
            for number, (_, found) in enumerate(turns, 1)
        ),
    )


def terms_of(dimensions: Sequence[DimensionScore]) -> tuple[int, int, int]:
    """How many terms are right, too many, and missing."""
    return (
        sum(len(one.true_positives) for one in dimensions),
        sum(len(one.false_positives) for one in dimensions),
        sum(len(one.false_negatives) for one in dimensions),
    )


def counts_of(dimensions: Sequence[DimensionScore]) -> TermCounts:
    tp, fp, fn = terms_of(dimensions)
    precision, recall = rate(tp, tp + fp), rate(tp, tp + fn)
    return TermCounts(
        true_positives=tp,
        false_positives=fp,
        false_negatives=fn,
        precision=precision,
        recall=recall,
        f1=f1(precision, recall),
    )


def counted(named: Sequence[tuple[str, str]]) -> tuple[Count, ...]:
    """Cases by name, from pairs of a name and a case's id."""
    ids: dict[str, dict[str, None]] = {}
    for name, case_id in named:
        ids.setdefault(name, {})[case_id] = None
    return tuple(Count(name=name, count=len(cases), case_ids=tuple(cases)) for name, cases in ids.items())


def totals_of(items: Sequence[Evidence]) -> SelectionTotals:
    """What the totals of those cases are; the product's own aggregation is not under test here."""
    scored = [(item.case.id, turn) for item in items for turn in item.turns if turn.score]
    by_dimension: dict[str, list[DimensionScore]] = {}
    for _, turn in scored:
        assert turn.score
        for one in turn.score.dimensions:
            by_dimension.setdefault(one.dimension, []).append(one)
    rows = []
    for name, found in by_dimension.items():
        rows.append(
            DimensionTotal(
                dimension=name,
                turns=sum(one.in_target for one in found),
                turns_beyond_target=sum(not one.in_target for one in found),
                counts=counts_of(found),
                mean_precision=mean([one.precision for one in found]),
                mean_recall=mean([one.recall for one in found if one.in_target]),
            )
        )
    all_scores = [turn.score for _, turn in scored if turn.score]
    notes, states = [], []
    for (case_id, _), score in zip(scored, all_scores, strict=True):
        notes += [(term.note, case_id) for one in score.dimensions for term in one.false_positives if term.note]
        states += [(time.state, case_id) for time in score.time if time.state != "not_judged"]
    return SelectionTotals(
        turns=len(scored),
        micro=counts_of([one for score in all_scores for one in score.dimensions]),
        by_dimension=tuple(rows),
        by_turn=turn_groups([turn for _, turn in scored]) if any(len(item.case.turns) > 1 for item in items) else (),
        wrong_terms=counted(notes),
        time_states=counted(states),
        through_hierarchy=sum(bool(score.equivalences) for score in all_scores),
        compared_by_id_only=sum(not score.names_compared for score in all_scores),
    )


def turn_groups(turns: Sequence[TurnScore]) -> tuple[Group, ...]:
    groups = []
    for number in sorted({turn.number for turn in turns}):
        found = [turn.score for turn in turns if turn.number == number and turn.score]
        summaries = []
        for metric in METRICS:
            attribute = "exact" if metric.name == "exact_match" else metric.name
            values = [float(value) for value in (getattr(score, attribute) for score in found) if value is not None]
            low, high = wilson_interval(sum(values), len(values)) or (None, None)
            summaries.append(
                MetricSummary(
                    metric=metric.name,
                    rate=Rate(
                        n=len(values),
                        numerator=sum(values),
                        unscored=len(found) - len(values),
                        value=mean(values),
                        low=low,
                        high=high,
                    ),
                )
            )
        groups.append(Group(kind="turn", name=str(number), cases=len(found), metrics=tuple(summaries)))
    return tuple(groups)


def make_selection_run(items: Sequence[Evidence], *, settings: RunSettings = SETTINGS) -> Run:
    numbers = aggregate(summaries_of(items), METRICS)
    return Run(
        settings=settings,
        provenance=replace(PROVENANCE, engine_versions=()),
        summaries=summaries_of(tuple(items)),
        evidence=tuple(items),
        aggregates=replace(numbers, selection=totals_of(items)),
    )


MEXICO = ScoredTerm(id="MEX", name="Mexico")
POPULATION = ScoredTerm(id="LP", name="Population, Persons for countries / Index for country groups")


def right() -> Evidence:
    """The seed's Mexico case, answered as its target has it."""
    score = selection_score(
        [dimension("INDICATOR", [POPULATION]), dimension("COUNTRY", [MEXICO])],
        time=[TimeScore(dataset=WEO, state="not_judged")],
    )
    return evidence(
        "mexico",
        [("Could you give me the population numbers for Mexico?", score)],
        tags=["imf", "weo"],
        name="could_you_give_me_the_population_numbers_for_mexico",
    )


def extra_gdp() -> Evidence:
    """The seed's GDP example: precision 0.67, recall 1; and a dimension that the target does not have."""
    score = selection_score(
        [
            dimension(
                "INDICATOR",
                [
                    ScoredTerm(id="GDP", name="gross domestic product"),
                    ScoredTerm(id="GDPPC", name="GDP per capita"),
                ],
                [ScoredTerm(id="GDP_CONST", name="gross domestic product constant prices", note="unknown_code")],
            ),
            dimension("FREQUENCY", extra=[ScoredTerm(id="A", name="Annual")], in_target=False),
        ],
        time=[
            TimeScore(
                dataset=WEO,
                state="overlap",
                target=(TimeRange(start="2015", end="2020"),),
                selected=(TimeRange(start="2018", end=None),),
                share=0.5,
            )
        ],
        names_compared=False,
    )
    raw = '{"urn": "IMF.RES:WEO(1.0.0)", "filters": [{"component_code": "INDICATOR", "operator": "in", "values": []}]}'
    return evidence(
        "gdp",
        [("What is the GDP, in all and per person?", score)],
        tags=["imf"],
        reason="INDICATOR: 1 term too many; FREQUENCY is not in the target.",
        targets=2,
        answers=[TurnAnswer(raw=raw, text="Here is the GDP of all countries.")],
    )


def conversation() -> Evidence:
    """Four turns: exact; another dataset and a parent in place of its children; without target; not readable."""
    america = HierarchyEquivalence(
        dataset=WEO,
        dimension="COUNTRY",
        parent=Term(id="NAM", name="North America"),
        children=(Term(id="CAN"), Term(id="MEX"), Term(id="USA")),
        selected="parent",
        counted=False,
    )
    first = selection_score([dimension("COUNTRY", [MEXICO]), dimension("SECTOR")])
    second = selection_score(
        [
            dimension(
                "COUNTRY",
                extra=[ScoredTerm(id="NAM", name="North America", dataset="IMF.STA:CPI", note="through_hierarchy")],
                missing=[ScoredTerm(id=code, dataset=WEO) for code in ("CAN", "MEX", "USA")],
            )
        ],
        extra=["IMF.STA:CPI"],
        time=[TimeScore(dataset=WEO, state="missing", target=(TimeRange(start="2015-Q1", end="2015-Q1"),))],
        equivalences=[america],
    )
    unread = Failure(
        stage="read", kind="unreadable_answer", blame="system", message="'data' is no JSON: it ends within a string"
    )
    return evidence(
        "talk",
        [("Mexico, please.", first), ("And its neighbours?", second), ("Thanks!", None), ("In 2015?", unread)],
        tags=["conversation"],
        reason="Turn 2: the selection is not the target's.",
    )


def unscored() -> Evidence:
    failure = Failure(stage="load", kind="no_gold", blame="gold", message="its target names the dataset '???'")
    return evidence("broken", [("Inflation?", failure)], reason="The target cannot be used.")


def small_selection_run() -> Run:
    return make_selection_run([right(), extra_gdp(), conversation(), unscored()])


def hostile_selection_run(text: str) -> Run:
    """A run in which every text from outside is ``text``."""
    term = ScoredTerm(id=text, name=text, dataset=text, note="name_differs")
    score = selection_score(
        [dimension(text, [term], [term], [term]), dimension(text + "2", extra=[term], in_target=False)],
        matched=[text],
        extra=[text],
        missing=[text],
        time=[
            TimeScore(dataset=text, state="disjoint", target=(TimeRange(start=text, end=text),), selected=()),
        ],
        equivalences=[
            HierarchyEquivalence(
                dataset=text,
                dimension=text,
                parent=Term(id=text, name=text),
                children=(Term(id=text),),
                selected="children",
                counted=True,
            )
        ],
    )
    failure = Failure(stage="read", kind="unreadable_answer", blame="system", message=text)
    item = evidence(
        text,
        [(text, score), (text, failure)],
        tags=[text],
        name=text,
        reason=text,
        answers=[TurnAnswer(raw=text + "raw", text=text, failure=failure)] * 2,
    )
    settings = replace(
        SETTINGS,
        name=text,
        cases=text,
        predictions=text,
        selection=SelectionSettings(structures=(text,), language=text),
    )
    return make_selection_run([item, right()], settings=settings)


def large_selection_run(cases: int, terms: int) -> Run:
    """A run of a size: ``terms`` judged terms a case, most of them right, over four dimensions."""
    source = random.Random(4)
    names = [f"Consumer price index of class {number}, not seasonally adjusted" for number in range(400)]
    each = terms // 4
    items = []
    for number in range(cases):
        dimensions = []
        for name in ("COUNTRY", "INDICATOR", "TYPE_OF_TRANSFORMATION", "FREQUENCY"):
            found = [ScoredTerm(id=f"C{at:05}", name=names[at % 400]) for at in source.sample(range(9999), each)]
            if source.random() < 0.5:
                dimensions.append(dimension(name, found))
            else:
                cut = each // 3
                wrong = [replace(term, note="unknown_code") for term in found[:2]] + found[2:cut]
                dimensions.append(dimension(name, found[2 * cut :], wrong, found[cut : 2 * cut]))
        tag = source.choice(["cpi", "weo", "bop", "dots"])
        items.append(evidence(f"case-{number}", [(f"Question {number}?", selection_score(dimensions))], tags=[tag]))
    return make_selection_run(items)
