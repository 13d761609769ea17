"""The Details sheet: one row per case, the guide's columns first, then ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from assay.model import Evidence, Run
from assay.reports.cases.case import failures, near_misses, repair, retrieval_line, why
from assay.reports.cases.gold_findings import GoldFindings
from assay.reports.cases.witness import sentence, strength_name, witness_text
from assay.reports.excel.case_sheet import (
    CaseColumn,
    FilledColumns,
    Longest,
    Value,
    metric_column,
    repeat_column,
    review_columns,
    text_column,
    write_cases,
)
from assay.reports.excel.columns import IN_SQL, TIMINGS, WorkbookMetrics
from assay.reports.excel.page import Page
from assay.reports.text.plain import words
from assay.reports.text.results import given_text, golds_text

_LINES = 10
"""How many lines of text a row shows at most; the cell holds the whole text."""
_GOLD_SEPARATOR = "\n-----\n"
"""A line of dashes, which also separates several golds in one cell of an input file."""
_LARGEST_ID = 15  # digits: Excel does not keep more of them exactly
_OTHER_TIMINGS = 20


class DetailsSeen:
    """What the columns of the Details sheet depend on, gathered case by case before the sheet is written."""

    def __init__(self) -> None:
        self.ids, self.difficulties = Longest(), Longest()
        self.plain_ids = True
        """Whether all ids are plain integers."""
        self.optional, self.described = FilledColumns(_optional()), FilledColumns(_described())
        self.timings: dict[str, None] = {}
        """The systems' own names of times, in the order in which they come."""

    def add(self, item: Evidence) -> None:
        """One case."""
        case = item.case
        self.ids.add(case.id)
        self.difficulties.add(case.difficulty)
        self.plain_ids = self.plain_ids and is_plain_integer(case.id)
        self.optional.add(item)
        self.described.add(item)
        for name, _ in item.prediction.timings_s:
            self.timings.setdefault(name)


def write_details(
    page: Page, run: Run, metrics: WorkbookMetrics, seen: DetailsSeen, *, titles: Sequence[str] | None = None
) -> None:
    """Write every case in the question set's order, with the columns of ``titles`` in that order; None: all columns."""
    columns = _columns(run, metrics, seen)
    if titles is not None:
        by_title = {column.title: column for column in columns}
        columns = [by_title[title] for title in titles if title in by_title]
    if metrics.in_sql:
        columns = [replace(column, title=IN_SQL.get(column.title, column.title)) for column in columns]
    write_cases(page, run.evidence, columns, kept=1, lines=_LINES)
    colour_columns(page, columns, last=len(run.evidence))


def colour_columns(page: Page, columns: Sequence[CaseColumn], *, last: int) -> None:
    """Colour verdicts, shares and times down to the row ``last``."""
    last = max(1, last)
    for place, column in enumerate(columns):
        if column.title == "Verdict":
            page.colour_verdicts(1, last, place)
        elif column.style == "percent":
            page.share_bands(1, last, place)
        elif column.title == "total_execution_time":
            scale = {"type": "2_color_scale", "min_color": "#FFFFFF", "max_color": "#F6C48B"}
            page.sheet.conditional_format(1, place, last, place, scale)


def _columns(run: Run, metrics: WorkbookMetrics, seen: DetailsSeen) -> list[CaseColumn]:
    metric_titles = tuple((title, name) for title, name in metrics.guide if name is not None)
    timings: tuple[str, ...] = TIMINGS
    described = _described()
    if metrics.in_sql:  # Denodo's guide has its times in every workbook; elsewhere those without a value are noise
        timings = tuple(name for name in timings if _plain(name) in map(_plain, seen.timings))
        described = seen.described.filled()
    guide = [
        _id_column(seen),
        *repeat_column("Repeat", run),
        text_column("Difficulty", seen.difficulties.width(12, 24), lambda item: item.case.difficulty),
        text_column("VQL Generated", 58, _predicted, style="sql"),
        text_column("Ground Truth VQL", 58, _golds, style="sql"),
        *(metric_column(title, name, metrics.case_style(name)) for title, name in metric_titles),
        *(_timing(name) for name in timings),
    ]
    ours = [
        text_column("Question", 44, lambda item: item.case.question),
        text_column("Verdict", 11, lambda item: item.outcome, style="text"),
        text_column("Reason", 44, lambda item: item.verdict.reason),
        *described,
    ]
    return [
        *guide,
        *ours,
        *_if_any(run, seen),
        *(metric_column(metrics.titles[name], name, metrics.case_style(name)) for name in metrics.others),
    ]


def _described() -> list[CaseColumn]:
    """What else is known of a case and its answer."""
    return [
        text_column("Flags", 16, lambda item: ", ".join(words(flag) for flag in sorted(item.verdict.flags))),
        text_column("Near misses", 32, lambda item: "\n".join(near_misses(item))),
        text_column("Failure", 40, lambda item: "\n".join(failures(item))),
        text_column("Database", 22, lambda item: item.case.database),
        text_column("Tags", 16, lambda item: ", ".join(item.case.tags)),
        text_column("Explanation", 44, lambda item: item.prediction.explanation),
        text_column("Tables used", 22, lambda item: "\n".join(item.prediction.tables_used)),
        *_tokens(),
    ]


def _id_column(seen: DetailsSeen) -> CaseColumn:
    """Ids as numbers if all of them are plain integers, so that they sort as such; else as the text they are."""
    width = seen.ids.width(11, 28)
    if seen.plain_ids:
        return CaseColumn(title="Question ID", style="id", width=width, value=lambda item: int(item.case.id))
    return text_column("Question ID", width, lambda item: item.case.id, style="name_wrapped")


def is_plain_integer(name: str) -> bool:
    """Whether an id can be written as a number."""
    return name.isascii() and name.isdigit() and len(name) <= _LARGEST_ID and (name == "0" or name[0] != "0")


def _golds(item: Evidence) -> str:
    return _GOLD_SEPARATOR.join(golds_text(item.case))


def _predicted(item: Evidence) -> str | None:
    given = item.prediction.result
    return item.prediction.query if given is None else given_text(given)


def _timing(name: str) -> CaseColumn:
    return CaseColumn(title=name, style="fine_seconds", width=14, value=lambda item: item.prediction.timing_s(name))


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()


def _tokens() -> list[CaseColumn]:
    def of(part: str) -> Callable[[Evidence], Value]:
        return lambda item: getattr(item.prediction.tokens, part, None)

    return [
        CaseColumn(title=f"{part.capitalize()} tokens", style="count", width=10, value=of(part))
        for part in ("input", "output", "total")
    ]


def _optional() -> list[CaseColumn]:
    """Columns that most runs leave empty."""
    return [
        *review_columns(),
        text_column("Cause", 28, lambda item: item.cause),
        text_column("Why", 60, lambda item: "\n".join((*why(item), *repair(item))) or None),
        text_column("Strength", 16, lambda item: strength_name(item) or None),
        text_column("On other databases", 60, _witness),
        text_column("Context", 32, lambda item: item.case.context),
        text_column("Given tables", 22, lambda item: "\n".join(item.prediction.context_tables or ()) or None),
        text_column("Given columns", 28, lambda item: "\n".join(item.prediction.context_columns or ()) or None),
        text_column("Retrieval", 36, lambda item: retrieval_line(item) or None),
        CaseColumn(title="Cost (USD)", style="money", width=11, value=lambda item: item.prediction.cost_usd),
        CaseColumn(
            title="Bytes billed", style="count", width=14, value=lambda item: item.cost and item.cost.bytes_billed
        ),
        text_column("VES detail", 36, _ves_detail),
    ]


def _if_any(run: Run, seen: DetailsSeen) -> list[CaseColumn]:
    """Those of them in which some case has a value, between the lint's findings and the systems' own times."""
    columns = []
    if run.lint is not None and run.lint.findings:
        findings = GoldFindings(run)
        columns.append(
            text_column("Gold query findings", 60, lambda item: "\n".join(findings.of(item.case.id)) or None)
        )
    guide = set(map(_plain, TIMINGS))
    others = [name for name in seen.timings if _plain(name) not in guide]
    return [*columns, *seen.optional.filled(), *map(_timing, others[:_OTHER_TIMINGS])]


def _witness(item: Evidence) -> str | None:
    """The result of the counterexample search, with the counterexample if there is one."""
    if item.refutation is None:
        return None
    return sentence(item) if item.refutation.witness is None else witness_text(item.refutation)


def _ves_detail(item: Evidence) -> str | None:
    """What the reward was computed from: the time ratio, and how sure that is."""
    score = item.score("ves")
    return score.detail if score else None
