"""Tables of how many cases carry a name, what the name means, and which cases they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay.model import CauseGroup, CauseGroupKind, Count
from assay.reports.blocks import repeats
from assay.reports.blocks.run_numbers import RunNumbers
from assay.reports.blocks.values import (
    Bar,
    Bars,
    Column,
    Description,
    Detail,
    Figure,
    Link,
    Name,
    Row,
    Section,
    Table,
    columns,
    count,
    rows,
)
from assay.reports.cases.case import advice_of
from assay.reports.text import meanings
from assay.reports.text.plain import interval, one_line, percent, words

_BLAME_ORDER = {"gold": 0, "target": 0, "setup": 1, "engine": 2, "network": 2, "assay": 3, "judge": 3}
_GROUP_KINDS: Mapping[CauseGroupKind, str] = {
    "difficulty": "difficulty",
    "database": "database",
    "table": "table",
    "column": "column",
    "feature": "gold SQL",
}
_MOST = 25
FIX_FIRST = "Fix first: wrong predictions that one repair makes correct"


def meaning_column() -> Column:
    """What a figure means, wherever there is room for it."""
    return Column(title="meaning", detail="full", least=24)


def figure_table(head: str, rows: Iterable[Row]) -> Table:
    """The table of such rows, whose cells are name, figure and meaning (`figure_row`)."""
    titles = columns(head, "value", meaning_column())
    return Table(columns=titles, rows=tuple(rows), look="figures", headed=False)


def figure_row(
    name: str, shown: Figure, meaning: str, *, leads: bool = False, number: bool = False, link: Link = ()
) -> Row:
    """One figure with its meaning; ``number``: a workbook writes it as a number and not in percent."""
    cells = (Name(text=name, strong=leads, link=link), shown, Description(meaning=meaning))
    return Row(cells=cells, strong=leads, style="number" if number else "percent")


def count_table(
    heads: tuple[str, str],
    rows: Iterable[Row],
    *,
    detail: Detail = "full",
    meaning: str = "meaning",
    bars: bool = False,
    most: int | None = _MOST,
    share: str = "share of cases",
) -> Table:
    """The table of such rows, whose cells are name, count, share, cases and meaning.

    ``heads`` are the titles of name and count; ``detail``: in which form of a report the meanings stand; ``bars``:
    whether a workbook draws the counts, too; ``share`` says what the shares are of.
    """
    name, number = heads
    return Table(
        columns=columns(
            name,
            Column(title=number, strong=True),
            share,
            "case ids",
            Column(title=meaning, detail=detail),
        ),
        rows=tuple(rows),
        look="counts",
        headed=False,
        most=most,
        bars=(1,) if bars else (),
        bars_are="counts",
    )


def sections(report: RunNumbers) -> Iterable[Section]:
    """The tables of counts, in the order that a reader needs; empty tables are left out."""
    numbers, totals = report.numbers, report.numbers.selection

    causes = [
        report.counted(one, words(one.name), advice_of(one.name), link=(("cause", one_line(one.name, limit=80)),))
        for one in numbers.causes
    ]
    wrong = sum(one.count for one in numbers.schema_use)
    use = _named(report, "use", numbers.schema_use, meanings.SCHEMA_USE, of=wrong)
    wrong = sum(one.count for one in numbers.retrieval)
    names = [(meanings.RETRIEVAL_LABELS.get(one.name, one.name), one) for one in numbers.retrieval]
    retrieval = [
        report.counted(one, name, meanings.RETRIEVAL.get(one.name, ""), link=(("retrieval", name),), of=wrong)
        for name, one in names
    ]
    found = report.findings.meanings()
    doubts = [
        report.counted(one, one.name, found.get(one.name, ""), link=(("finding", one.name),))
        for one in report.findings.counts()
    ]
    terms, periods = (totals.wrong_terms, totals.time_states) if totals else ((), ())
    steady = [] if numbers.repeats is None else [*repeats.steadiness(report, numbers.repeats)]
    tables: tuple[tuple[str, str, list[Row]], ...] = (
        ("consistency", "Questions by consistency of their answers", steady),
        ("failures", "Failures, by attribution", _failures(report)),
        ("wrong-terms", "Wrong terms, by kind", _named(report, "term", terms, meanings.TERM_NOTES)),
        (
            "periods",
            "Selected periods, compared with the target's",
            _named(report, "period", periods, meanings.TIME_STATES),
        ),
        ("near-misses", "Near misses", _named(report, "near", numbers.near_misses, meanings.NEAR_MISSES)),
        ("forgiven", "Accuracy if one kind of difference were accepted", _forgiven(report)),
        ("causes", "Causes", causes),
        ("schema-use", "Wrong predictions by schema use", use),
        ("retrieval", "Wrong predictions by retrieval", retrieval),
        ("flags", "Flags", _named(report, "flag", numbers.flags, meanings.FLAGS)),
        ("findings", "Findings about gold queries, by rule", doubts),
    )
    for key, title, made in tables:
        if made:
            shown = made is causes or made is use or made is retrieval
            heads = ("cause" if made is causes else "name", "cases")
            share = "share of these" if made is use or made is retrieval else "share of cases"
            yield Section(
                key=key,
                title=title,
                blocks=(count_table(heads, made, bars=shown, share=share),),
                tab="overview" if made is steady else "causes",
                rank=0 if shown else 3,
            )


def _named(
    report: RunNumbers, facet: str, counts: Sequence[Count], said: Mapping[str, str], *, of: int | None = None
) -> list[Row]:
    """A row for each name of the vocabulary, with its meaning, linked to its cases."""
    named = [(meanings.label_of(one.name), one) for one in counts]
    return [report.counted(one, name, said.get(one.name, ""), link=((facet, name),), of=of) for name, one in named]


def _failures(report: RunNumbers) -> list[Row]:
    """Failures of gold queries, setup, engine and LLM judge first: readers would not look for them."""
    said = meanings.SELECTION_FAILURES if report.of_selections else meanings.FAILURES
    made = []
    for one in report.numbers.failures:
        blame, name = report.failure(one)
        meaning, example = said.get(one.name.partition(": ")[2], ""), report.collected.messages.get(one.name, "")
        link = (("failure", f"{blame}: {name}"),)
        row = report.counted(one, name, meaning, link=link, blame=blame, example=example)
        made.append((_BLAME_ORDER.get(blame, 9), row))
    return [row for _, row in sorted(made, key=lambda entry: entry[0])]


def _forgiven(report: RunNumbers) -> list[Row]:
    """Per kind of near miss, its cases with the accuracy if this kind were forgiven."""
    made = []
    for one in report.numbers.forgiven:
        name = f"{meanings.FORGIVEN.get(one.kind, words(one.kind))}: {percent(one.rate.value)} {interval(one.rate)}"
        counted = Count(name=one.kind, count=one.count, case_ids=one.case_ids)
        meaning, link = meanings.NEAR_MISSES.get(one.kind, ""), (("near", words(one.kind)),)
        made.append(report.counted(counted, name.strip(), meaning, link=link))
    return made


def fix_first(report: RunNumbers) -> Section:
    """What to repair first: on the page as bars, with all answers of that cause."""
    every = {one.name: one.count for one in report.numbers.causes}
    bars, made = [], []
    for one in report.numbers.fix_first:
        name, meaning, link = words(one.name), advice_of(one.name), (("cause", one_line(one.name, limit=80)),)
        made.append(report.counted(one, name, meaning, link=link))
        whole, cases = every.get(one.name, one.count), report.linked(one.case_ids)
        bars.append(Bar(name=name, meaning=meaning, count=whole, part=one.count, cases=cases, link=link))
    title = FIX_FIRST
    # What to do about a cause is read in plain lines, too.
    table = count_table(("name", "cases"), made, detail="both")
    drawn = Bars(
        rows=tuple(bars),
        whole="all wrong predictions with this cause",
        part="correct after this one repair",
        table=table,
    )
    return Section(key="fix-first", title=title, blocks=(drawn,), tab="overview", rank=-1)


def cause_sections(report: RunNumbers) -> Iterable[Section]:
    """The causes by difficulty, database, table, column and feature of SQL: the largest groups of each."""
    tables = []
    for kind, groups in cause_groups(report).items():
        title = "dimension" if report.of_selections and kind == "column" else _GROUP_KINDS[kind]
        made = []
        for group in groups:
            link: Link = ((kind, one_line(group.name, limit=80)),)
            # What a cause is about is known of wrong cases alone.
            link = (*link, ("show", "incorrect")) if kind in ("difficulty", "database") else link
            causes = [f"{one_line(name, limit=60)} {number:,}" for name, number in group.causes[:3]]
            rest = sum(number for _, number in group.causes[3:])
            said = ", ".join([*causes, *([f"others {rest:,}"] if rest else [])])
            made.append((Name(text=one_line(group.name, limit=80)), count(group.count, link=link), said))
        titles = columns(title, Column(title="wrong", strong=True), "causes")
        rows_made, named = rows(made), f"by {title}"
        tables.append(Table(columns=titles, rows=rows_made, look="grouped", title=named, most_in_lines=4, most=8))
    if tables:
        yield Section(
            key="where-causes",
            title="Causes by group",
            blocks=tuple(tables),
            rank=4,
            tab="causes",
            place="bottom",
            folded=True,
        )


def cause_groups(report: RunNumbers) -> dict[CauseGroupKind, list[CauseGroup]]:
    """The groups of wrong answers by kind. A kind with a single group is left out: it repeats the whole."""
    found: dict[CauseGroupKind, list[CauseGroup]] = {}
    for group in report.numbers.cause_groups:
        found.setdefault(group.kind, []).append(group)
    return {kind: groups for kind, groups in found.items() if len(groups) > 1}
