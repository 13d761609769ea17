"""How far several reviewers agree: pair by pair, all together, and the cases about which they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay.model import Agreement, Conflict, Kappa, PairAgreement, Review
from assay.reports.blocks.values import (
    Block,
    CaseLink,
    Cell,
    Column,
    Description,
    Name,
    Number,
    Section,
    Table,
    Text,
    columns,
    count,
    figure,
    rows,
)
from assay.reports.text.meanings import REVIEW_DECISIONS
from assay.reports.text.plain import one_line, percent, plural, words

_NAME = 40
_NOTE = 80
_TABLES = 3
"""Pairs whose table is shown: of more reviewers the kappas are enough."""
_SETTLED = {"latest": "the latest decision counts", "majority": "the majority decides"}


def section(agreement: Agreement, links: Mapping[str, CaseLink] | None = None) -> Section:
    """The reviewers of a question set. ``links`` has the cases of the report by id."""
    blocks: list[Block] = [_pairs(agreement.pairs)] if agreement.pairs else []
    blocks.append(Text(lines=tuple(_said(agreement)), quiet=False))
    blocks += [_table(pair) for pair in agreement.pairs[:_TABLES]]
    if agreement.conflicts:
        blocks.append(_conflicts(agreement, links or {}))
    aside = plural(len(agreement.conflicts), "conflict") if agreement.conflicts else ""
    return Section(key="reviewers", title="Reviewers", aside=aside, blocks=tuple(blocks), rank=2)


def _pairs(pairs: Sequence[PairAgreement]) -> Table:
    """The agreement of every two."""

    def line(pair: PairAgreement) -> tuple[Cell, ...]:
        name = Name(text=f"{one_line(pair.first, limit=_NAME)} and {one_line(pair.second, limit=_NAME)}")
        return name, figure(pair.agreed), *_kappa(pair.kappa)

    titles = columns(
        "reviewers",
        Column(title="say the same", counted="answers"),
        Column(title="Cohen's kappa", right=True, strong=True),
        Column(title="interval", right=True),
    )
    foot = "Kappa is the agreement beyond chance: 1 is perfect, 0 is chance. It is low if nearly all answers are alike."
    return Table(columns=titles, rows=rows(map(line, pairs)), look="grid", most=25, foot=foot)


def _kappa(kappa: Kappa | None) -> tuple[Cell, ...]:
    if kappa is None:
        return Number(value=None, text="none"), ""
    return Number(value=kappa.value, text=f"{kappa.value:.2f}", style="number"), f"[{kappa.low:.2f}, {kappa.high:.2f}]"


def _table(pair: PairAgreement) -> Table:
    """What one says, against what the other says."""
    names = [words(outcome) for outcome in pair.outcomes]
    cells = ([count(number) for number in row] for row in pair.table)
    first, second = (one_line(name, limit=_NAME) for name in (pair.first, pair.second))
    return Table(
        title=f"{first} and {second}",
        columns=columns("", *(Column(title=name, right=True) for name in names)),
        rows=rows((Name(text=name), *line) for name, line in zip(names, cells, strict=True)),
        look="grid",
        foot=f"Answers. Rows: {first}; columns: {second}.",
        detail="full",
    )


def _said(agreement: Agreement) -> Iterable[str]:
    """Who decided on how many answers, and how far all agree."""
    people = ", ".join(f"{one_line(name, limit=_NAME)} ({count:,})" for name, count in agreement.reviewers)
    yield f"Answers decided on, by reviewer: {people}." if people else "No answer has a decision."
    if not (shared := agreement.everyone).n:
        yield "No answer has decisions by two people."
        return
    same, low, high = (percent(value) for value in (shared.value, shared.low, shared.high))
    yield f"Of {plural(shared.n, 'answer')} with several reviewers, all say the same of {same} [{low}, {high}]."
    if agreement.fleiss is not None:
        number, interval = (cell.text if isinstance(cell, Number) else cell for cell in _kappa(agreement.fleiss))
        by_all = plural(agreement.fleiss_answers, "answer")
        yield f"Fleiss' kappa is {number} {interval}, over the {by_all} that all {len(agreement.reviewers)} decided on."
    elif len(agreement.reviewers) > 2 and not agreement.fleiss_answers:
        yield "Fleiss' kappa needs answers that all of them decided on: there are none."


def _conflicts(agreement: Agreement, links: Mapping[str, CaseLink]) -> Table:
    """The cases about which reviewers disagree, who said what, and what counts."""

    def line(conflict: Conflict) -> tuple[Cell, ...]:
        link = links.get(conflict.case_id) or CaseLink(id=one_line(conflict.case_id, limit=80), anchor="")
        about = "question" if conflict.about_question else "answer"
        said = "\n".join(map(_decision_said, conflict.reviews))
        counts = "nothing" if conflict.settled is None else one_line(conflict.settled.reviewer, limit=_NAME)
        return (link,), about, Description(meaning=said), counts

    rule = _SETTLED.get(agreement.settle, f"the decision of {one_line(agreement.settle, limit=_NAME)} counts")
    return Table(
        title="Conflicts",
        columns=columns("case", Column(title="about", rank=1), "decisions", Column(title="counts", least=8)),
        rows=rows(map(line, agreement.conflicts)),
        look="grid",
        wraps=True,
        most=50,
        foot=f"If people disagree, {rule} (`--settle`).",
    )


def _decision_said(review: Review) -> str:
    """``Ana: the gold query is wrong (counts orders twice)``."""
    note = f" ({one_line(review.note, limit=_NOTE)})" if review.note else ""
    return f"{one_line(review.reviewer, limit=_NAME)}: {REVIEW_DECISIONS[review.decision]}{note}"
